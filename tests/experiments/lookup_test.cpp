#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("lookup: operations and parameters of small scores are the ones counted by hand") {
  // Two queries, two keys, three dimensions, five hidden units.
  const Report report = run_experiment("lookup", {{"seq-len", "2"}, {"d-k", "3"}, {"hidden", "5"}});
  const Table& table = *report.find_table("scores");
  const auto cell = [&](std::size_t row, const char* column) {
    return number_of(table.rows.at(row).at(table.column(column)));
  };
  CHECK(cell(0, "multiply_adds") == 12);
  CHECK(cell(1, "multiply_adds") == 12);
  CHECK(cell(2, "multiply_adds") == 2 * 9 + 12);
  CHECK(cell(3, "multiply_adds") == 2 * 2 * 15 + 4 * 5);
  CHECK(cell(3, "tanhs") == 20);
  CHECK(cell(0, "parameters") == 0);
  CHECK(cell(2, "parameters") == 9);
  CHECK(cell(3, "parameters") == 2 * 15 + 5);
}

TEST_CASE("lookup: the peak rises and the entropy falls as the temperature does") {
  const Report report = run_experiment("lookup");
  const Table& table = *report.find_table("temperatures");
  for (std::size_t row = 1; row < table.rows.size(); ++row) {
    CAPTURE(row);
    CHECK(number_of(table.rows[row][1]) > number_of(table.rows[row - 1][1]));
    CHECK(number_of(table.rows[row][2]) < number_of(table.rows[row - 1][2]));
  }
}

TEST_CASE("lookup: every claim holds for twenty seeds and every score") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    for (const char* score : {"dot", "scaled", "general", "additive"}) {
      CAPTURE(score);
      CHECK(run_experiment("lookup", {{"score", score}}, seed).passed());
    }
  }
}

TEST_CASE("lookup: a hard look-up has no gradient and is noticed where a soft one is expected") {
  const Report report = run_experiment("lookup", {}, 466, "hard-instead");
  for (const char* score : {"dot", "scaled", "general", "additive"}) {
    CHECK_FALSE(report.find_check(std::string("differentiable-") + score).passed());
  }
  CHECK_FALSE(run_experiment("lookup", {}, 466, "soft-instead").find_check("hard-has-no-gradient").passed());
}

TEST_CASE("lookup: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("lookup", {{"num-keys", "1"}}), "--num-keys: 1 is outside [2, 1024]",
                       Error);
  CHECK_THROWS_WITH_AS(run_experiment("lookup", {{"score", "cosine"}}),
                       "--score: cosine is not one of dot, scaled, general, additive", Error);
}
