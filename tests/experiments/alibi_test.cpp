#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("alibi: windows of eight heads are ln 100 over the slope rounded up") {
  const Report report = run_experiment("alibi");
  const Table& table = *report.find_table("windows");
  // ln 100 = 4.60517, times 2, 4, ... 256.
  const std::vector<double> windows = {10, 19, 37, 74, 148, 295, 590, 1179};
  REQUIRE(table.rows.size() == 8);
  for (std::size_t head = 0; head < 8; ++head) {
    CAPTURE(head);
    CHECK(number_of(table.rows[head][table.column("window_tokens")]) == windows[head]);
  }
}

TEST_CASE("alibi: every claim holds for other heads and thresholds") {
  for (const char* heads : {"1", "3", "12", "16"}) {
    CAPTURE(heads);
    CHECK(run_experiment("alibi", {{"heads", heads}}).passed());
    CHECK(run_experiment("alibi", {{"heads", heads}, {"threshold", "0.3"}}).passed());
  }
}

TEST_CASE("alibi: the bias of three positions is the one written by hand") {
  const Report report = run_experiment("alibi", {{"seq-len", "3"}, {"head", "1"}});
  const std::vector<double> by_hand = {0, -0.25, -0.5, -0.25, 0, -0.25, -0.5, -0.25, 0};
  CHECK(report.find_grid("bias")->array.values == by_hand);
  CHECK(report.find_grid("bias")->hidden[1]);
  CHECK_FALSE(report.find_grid("bias")->hidden[3]);
}

TEST_CASE("alibi: a head beyond the last is refused") {
  CHECK(run_experiment("alibi", {{"head", "7"}}).passed());
  CHECK_THROWS_WITH_AS(run_experiment("alibi", {{"head", "8"}}), "--head: 8 is not below the 8 of --heads",
                       Error);
}

TEST_CASE("alibi: a penalty by the key's position is not relative and the claims notice") {
  const Report report = run_experiment("alibi", {}, 466, "by-key-position");
  CHECK_FALSE(report.find_check("relative").passed());
  CHECK_FALSE(report.find_check("proportional").passed());
}

TEST_CASE("alibi: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("alibi", {{"threshold", "1"}}),
                       "--threshold: 1 is outside [1e-06, 0.99]", Error);
  CHECK_THROWS_WITH_AS(run_experiment("alibi", {{"heads", "0"}}), "--heads: 0 is outside [1, 64]", Error);
}
