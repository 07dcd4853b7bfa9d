#include <cmath>

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

TEST_CASE("approximations: pairs of the global pattern are those counted by hand") {
  const Report report = run_experiment(
      "approximations",
      {{"seq-len", "8"}, {"window", "2"}, {"global-tokens", "1"}, {"rank", "2"}, {"layers", "2"}});
  // Itself, the one before, and the first: 1 + 2 + 6 x 3.
  CHECK(report.find_check("pairs-global").measured == 21);
  // Row and column of the first token 15; a band of 7 + 2 x 6 among the seven others.
  CHECK(report.find_check("pairs-global-encoder").measured == 34);
  // Two layers of two keys reach three positions, and the global token.
  CHECK(report.find_check("global-carries-nothing").measured == 4);
  CHECK(report.find_check("global-two-steps").measured == 8);
}

TEST_CASE("approximations: the spectrum ends at one and rises above random entries") {
  const Report report =
      run_experiment("approximations", {{"seq-len", "64"}, {"window", "8"}, {"stride", "8"}});
  const Table& table = *report.find_table("spectrum");
  REQUIRE(table.rows.size() == 7);
  const auto cell = [&](std::size_t row, const char* column) {
    return number_of(table.rows[row][table.column(column)]);
  };
  for (const char* column : {"weights_share", "random_share", "random_share_theory", "even_share"})
    CHECK(std::abs(cell(6, column) - 1) < 1e-12);
  CHECK(cell(6, "best_rank_error") == 0);
  for (std::size_t row = 0; row < 6; ++row) {
    CHECK(cell(row, "weights_share") > cell(row, "random_share"));
    CHECK(cell(row, "best_rank_error") > cell(row + 1, "best_rank_error"));
  }
  // Half of a quarter circle's values, the larger half, hold 0.7655 of their sum.
  CHECK(std::abs(cell(5, "random_share_theory") - 0.7655) < 1e-4);
}

TEST_CASE("approximations: many random features come nearer to exact attention than few") {
  const auto error = [](const char* features) {
    const Report report = run_experiment("approximations", {{"features", features}, {"head-dim", "4"}});
    const Table& table = *report.find_table("methods");
    for (const auto& row : table.rows) {
      if (exact_text(row[0]) == "random-features") return number_of(row[table.column("relative_error")]);
    }
    return std::nan("");
  };
  // A sample mean errs like one over the root of its size, and slower where few terms make most of the sum.
  CHECK(error("4096") < error("16") / 2);
}

TEST_CASE("approximations: a future left open is noticed") {
  const Report report = run_experiment("approximations", {}, 466, "sees-ahead");
  CHECK_FALSE(report.find_check("leak-window").passed());
  CHECK_FALSE(report.find_check("leak-linear").passed());
  CHECK_FALSE(report.find_check("leak-random-features").passed());
  CHECK_FALSE(report.find_check("linear-recurrent-linear").passed());
}

TEST_CASE("approximations: a rank above the length and a long vector are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("approximations", {{"rank", "200"}}),
                       "--rank: 200 is more than the 128 positions", Error);
  CHECK_THROWS_WITH_AS(run_experiment("approximations", {{"global-tokens", "129"}}),
                       "--global-tokens: 129 is more than the 128 positions", Error);
  CHECK_THROWS_WITH_AS(run_experiment("approximations", {{"norms", "2"}}), "--norms: 2 is outside [0.05, 1]",
                       Error);
}
