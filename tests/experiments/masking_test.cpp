#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("masking: every claim holds for twenty seeds and either padding side") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    for (const char* side : {"right", "left"}) {
      const Report report = run_experiment("masking", {{"padding-side", side}}, seed);
      for (const Check& check : report.checks()) {
        CAPTURE(check.id);
        CAPTURE(check.measured);
        CHECK(check.passed());
      }
    }
  }
}

TEST_CASE("masking: weights lie on and below the diagonal and on real tokens") {
  const Report report = run_experiment("masking", {{"lengths", "4,2"}, {"sequence", "1"}});
  const Grid& both = *report.find_grid("both");
  REQUIRE(both.array.shape == Shape{4, 4});
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      const bool visible = j <= i && j < 2;
      CHECK((both.array.values[4 * i + j] > 0) == visible);
      CHECK(both.hidden[4 * i + j] == !visible);
    }
  }
}

TEST_CASE("masking: a sequence beyond the batch is refused") {
  CHECK(run_experiment("masking", {{"lengths", "4"}}).passed());
  CHECK(run_experiment("masking", {{"sequence", "2"}}).passed());
  CHECK_THROWS_WITH_AS(run_experiment("masking", {{"sequence", "3"}}),
                       "--sequence: 3 is not in the batch, whose last is 2", Error);
}

TEST_CASE("masking: finite fills spread the weight and infinite ones leave no number") {
  const Report report = run_experiment("masking");
  const Table& fills = *report.find_table("fills");
  for (std::size_t row = 0; row < 3; ++row) {
    CAPTURE(row);
    CHECK(number_of(fills.rows[row][1]) == 0.25);
    CHECK(std::isnan(number_of(fills.rows[row][3])));
  }
  CHECK(number_of(fills.rows[1][2]) == 0.25);
  CHECK(std::isnan(number_of(fills.rows[2][2])));  // 1e9 is beyond half precision
}

TEST_CASE("masking: without the mask the future is seen and the claims notice") {
  const Report report = run_experiment("masking", {}, 466, "no-mask");
  for (const char* id : {"future-changes-nothing", "one-pass-is-every-prefix", "padded-equals-alone",
                         "pad-weight-zero", "masked-cannot-copy"}) {
    CAPTURE(id);
    CHECK_FALSE(report.find_check(id).passed());
  }
}

TEST_CASE("masking: a single token is a batch") {
  CHECK(run_experiment("masking", {{"lengths", "1"}}).passed());
}

TEST_CASE("masking: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("masking", {{"lengths", "3,0"}}), "--lengths: 0 is outside [1, 64]",
                       Error);
  CHECK_THROWS_WITH_AS(run_experiment("masking", {{"padding-side", "top"}}),
                       "--padding-side: top is not one of right, left", Error);
}
