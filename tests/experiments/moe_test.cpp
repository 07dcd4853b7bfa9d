#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("moe: the chance of a drop is the binomial's mean excess") {
  // 16 tokens, 2 experts: the sum over k of (k - 8) C(16, k) / 2^16 above 8, divided by 8, is 102960 / 8 /
  // 65536.
  const Report report = run_experiment("moe", {{"num-tokens", "16"}, {"experts", "2"}, {"chosen", "1"}});
  CHECK(std::abs(report.find_check("dropped-1-of-2").expected - 102960.0 / 2 / 8 / 65536) < 1e-12);
}

TEST_CASE("moe: every claim of loads holds for fifty seeds") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("moe", {{"experts", "8"}}, seed).passed());
  }
}

TEST_CASE("moe: the balance loss is judged by what chance does to small batches") {
  for (const char* tokens : {"16", "64", "256", "4096"}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      CAPTURE(tokens);
      CAPTURE(seed);
      const Report report = run_experiment("moe", {{"num-tokens", tokens}, {"experts", "2,64"}}, seed);
      CHECK(report.find_check("balance-loss-1-of-2").passed());
      CHECK(report.find_check("balance-loss-1-of-64").passed());
      CHECK(report.find_check("balance-loss-2-of-64").passed());
    }
  }
  // At the lesson's 4,096 tokens chance adds less than the hundredth that the claim allows.
  CHECK(run_experiment("moe").find_check("balance-loss-1-of-64").tolerance == 0.01);
}

TEST_CASE("moe: one expert costs what the dense layer costs and two cost twice as much") {
  const Report report = run_experiment("moe", {{"num-tokens", "256"}, {"experts", "8"}});
  CHECK(report.find_check("same-work-1").verdict() == Verdict::pass);
  CHECK(report.find_check("same-work-2").measured == 2);
  CHECK(report.find_check("same-work-2").verdict() == Verdict::near);
}

TEST_CASE("moe: more experts a token than there are is refused") {
  CHECK(run_experiment("moe", {{"experts", "2"}}).passed());
  CHECK_THROWS_WITH_AS(run_experiment("moe", {{"experts", "2,8"}, {"chosen", "9"}}),
                       "--chosen: 9 experts a token are more than the 8 of --experts", Error);
}

TEST_CASE("moe: visiting every expert is noticed") {
  const Report report = run_experiment("moe", {{"num-tokens", "64"}, {"experts", "8"}}, 466, "all-experts");
  CHECK_FALSE(report.find_check("same-work-1").passed());
  CHECK_FALSE(report.find_check("same-work-2").passed());
  CHECK_THROWS_WITH_AS(run_experiment("moe", {{"experts", "1"}}), "--experts: 1 is outside [2, 1024]", Error);
}
