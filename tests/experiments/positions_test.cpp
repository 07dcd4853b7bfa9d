#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("positions: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Report report = run_experiment("positions", {}, seed);
    for (const Check& check : report.checks()) {
      CAPTURE(check.full_id());
      CAPTURE(check.measured);
      CHECK(check.passed());
    }
  }
}

TEST_CASE("positions: only the learned table has parameters and an end") {
  const Report report = run_experiment("positions", {{"max-positions", "100"}, {"d-model", "6"}});
  const Table& table = *report.find_table("schemes");
  REQUIRE(table.rows.size() == 5);
  for (const auto& row : table.rows) {
    const bool learned = exact_text(row[0]) == "learned";
    CHECK(number_of(row[table.column("parameters")]) == (learned ? 600 : 0));
    CHECK(exact_text(row[table.column("last_position")]) == (learned ? "99" : "any"));
  }
}

TEST_CASE("positions: a text longer than the learned table is refused and says why") {
  CHECK_THROWS_WITH_AS(
      run_experiment("positions", {{"scheme", "learned"}, {"seq-len", "65"}}),
      "--seq-len: 65 needs position 64, but the learned table ends at 63: a position without a row was never "
      "learned; give a larger --max-positions",
      Error);
  CHECK_THROWS_AS(run_experiment("positions", {{"scheme", "learned"}, {"shift", "57"}}), Error);
  CHECK(run_experiment("positions", {{"scheme", "rope"}, {"shift", "100000"}}).passed());
}

TEST_CASE("positions: a learned table refuses the longer text and the others compute it") {
  const Report report = run_experiment("positions");
  const Table& table = *report.find_table("extrapolation");
  REQUIRE(table.rows.size() == 5);
  for (const auto& row : table.rows) {
    const bool learned = exact_text(row[0]) == "learned";
    CHECK(exact_text(row[1]) == (learned ? "refused" : "computed"));
  }
  // Equal scores would put half of the weight on the farther half; random ones nearly so.
  CHECK(std::abs(number_of(table.rows[0][2]) - 0.5) < 0.25);
  CHECK_FALSE(
      run_experiment("positions", {}, 466, "always-alibi").find_check("others-attend-to-it-rope").passed());
}

TEST_CASE("positions: without positions nothing orders the tokens and the claims notice") {
  const Report report = run_experiment("positions", {}, 466, "no-positions");
  for (const char* id : {"order-matters-sinusoidal", "order-matters-rope", "shift-shows-learned"}) {
    CAPTURE(id);
    CHECK_FALSE(report.find_check(id).passed());
  }
  CHECK_FALSE(run_experiment("positions", {}, 466, "wraps-around").find_check("learned-ends").passed());
}

TEST_CASE("positions: an odd width and too few tokens are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("positions", {{"d-k", "3"}}),
                       "--d-k: 3 is odd; rotary pairs need an even width", Error);
  CHECK_THROWS_WITH_AS(run_experiment("positions", {{"seq-len", "2"}}), "--seq-len: 2 is outside [3, 512]",
                       Error);
}
