#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("qk-norm: every claim holds for twenty seeds and both norms") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("qk-norm", {}, seed).passed());
    CHECK(run_experiment("qk-norm", {{"norm", "rms"}}, seed).passed());
  }
}

TEST_CASE("qk-norm: plain scores grow fourfold a doubling and normalised ones stay below the gain") {
  const Report report = run_experiment("qk-norm", {{"gain", "3"}, {"doublings", "3"}});
  const Table& table = *report.find_table("growth");
  REQUIRE(table.rows.size() == 4);
  const std::size_t plain = table.column("largest_score_plain");
  const std::size_t normed = table.column("largest_score_normed");
  for (std::size_t row = 1; row < 4; ++row) {
    CAPTURE(row);
    CHECK(std::abs(number_of(table.rows[row][plain]) / number_of(table.rows[row - 1][plain]) - 4) < 1e-12);
    CHECK(number_of(table.rows[row][normed]) <= 3);
  }
}

TEST_CASE("qk-norm: without the norm the bounds break") {
  const Report report = run_experiment("qk-norm", {}, 466, "no-norm");
  for (const char* id : {"length-bound", "rms-bound", "bound-is-reached", "entropy-stays"}) {
    CAPTURE(id);
    CHECK_FALSE(report.find_check(id).passed());
  }
}

TEST_CASE("qk-norm: stability in training is cited and not checked") {
  CHECK(run_experiment("qk-norm").find_check("training-is-stable").verdict() == Verdict::cannot_check);
}

TEST_CASE("qk-norm: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("qk-norm", {{"seq-len", "1"}}), "--seq-len: 1 is outside [2, 1024]",
                       Error);
  CHECK_THROWS_WITH_AS(run_experiment("qk-norm", {{"norm", "batch"}}), "--norm: batch is not one of l2, rms",
                       Error);
}
