#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("attention: every claim holds for twenty seeds and every mask") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    for (const char* mask : {"causal", "none", "padding"}) {
      const Report report = run_experiment("attention", {{"mask", mask}}, seed);
      for (const Check& check : report.checks()) {
        CAPTURE(mask);
        CAPTURE(check.full_id());
        CAPTURE(check.measured);
        // Without a mask the future is seen, which is the point of leaving it out.
        CHECK(check.passed() == !(check.id == "future-weight-zero" && std::string(mask) == "none"));
      }
    }
  }
}

TEST_CASE("attention: keys of other tokens and a softmax over queries are noticed") {
  CHECK_FALSE(run_experiment("attention", {}, 466, "other-sequence").find_check("projections").passed());
  CHECK_FALSE(run_experiment("attention", {}, 466, "wrong-axis").find_check("formula").passed());
  CHECK_FALSE(run_experiment("attention", {}, 466, "no-mask").find_check("no-leak").passed());
}

TEST_CASE("attention: more real tokens than positions are refused") {
  CHECK(run_experiment("attention", {{"mask", "padding"}, {"seq-len", "2"}}).passed());
  CHECK_THROWS_WITH_AS(run_experiment("attention", {{"mask", "padding"}, {"real-tokens", "6"}}),
                       "--real-tokens: 6 is more than the 5 positions", Error);
}

TEST_CASE("attention: a cell that is not there is refused") {
  CHECK_THROWS_WITH_AS(run_experiment("attention", {{"cell", "5,0"}}), "--cell: 5 is outside [0, 4]", Error);
  CHECK_THROWS_WITH_AS(run_experiment("attention", {{"cell", "1"}}), "--cell: 1 is not ROW,COL", Error);
}
