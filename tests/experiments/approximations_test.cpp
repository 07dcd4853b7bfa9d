#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("approximations: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("approximations", {}, seed).passed());
  }
}

TEST_CASE("approximations: pairs and reach of a small window are those counted by hand") {
  const Report report = run_experiment(
      "approximations", {{"seq-len", "8"}, {"window", "3"}, {"stride", "4"}, {"rank", "2"}, {"layers", "2"}});
  CHECK(report.find_check("pairs-window").measured == 1 + 2 + 6 * 3);
  // The last four keys; from position 4 on also the key four before.
  CHECK(report.find_check("pairs-strided").measured == 1 + 2 + 3 + 4 * 5 + 4);
  CHECK(report.find_check("receptive-field").measured == 5);
}

TEST_CASE("approximations: a future left open is noticed") {
  const Report report = run_experiment("approximations", {}, 466, "sees-ahead");
  CHECK_FALSE(report.find_check("leak-window").passed());
  CHECK_FALSE(report.find_check("leak-linear").passed());
  CHECK_FALSE(report.find_check("linear-recurrent").passed());
}

TEST_CASE("approximations: a rank above the length and a long vector are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("approximations", {{"rank", "200"}}),
                       "--rank: 200 is more than the 128 positions", Error);
  CHECK_THROWS_WITH_AS(run_experiment("approximations", {{"norms", "2"}}), "--norms: 2 is outside [0.05, 1]",
                       Error);
}
