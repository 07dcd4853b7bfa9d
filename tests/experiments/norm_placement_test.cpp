#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("norm-placement: the slopes are those of theory for several seeds") {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("norm-placement", {}, seed).passed());
  }
}

TEST_CASE("norm-placement: norms that trade places fail every claim on slopes and profiles") {
  const Report report = run_experiment("norm-placement", {{"layers", "2,8,32"}}, 466, "swapped");
  for (const char* id : {"pre-norm-falls", "post-norm-stays", "pre-norm-profile", "post-norm-profile"}) {
    CAPTURE(id);
    CHECK_FALSE(report.find_check(id).passed());
  }
}

TEST_CASE("norm-placement: one depth has no slope and claims none") {
  const Report report = run_experiment("norm-placement", {{"layers", "4"}, {"profile-layers", "4"}});
  CHECK_THROWS_AS(report.find_check("pre-norm-falls"), Error);
  CHECK(report.find_check("true-gradient-pre").passed());
  CHECK_THROWS_WITH_AS(run_experiment("norm-placement", {{"draws", "0"}}), "--draws: 0 is outside [1, 100]",
                       Error);
}
