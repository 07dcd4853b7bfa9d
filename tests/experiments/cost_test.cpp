#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("cost: attention overtakes at six times the width whatever the width") {
  const Report report = run_experiment("cost", {{"counted-width", "10"}, {"d-model", "4096"}});
  CHECK(report.find_check("crossover-counted").measured == 60);
  CHECK(report.find_check("crossover-model").measured == 24576);
  CHECK(report.passed());
}

TEST_CASE("cost: the table of the model is the formula") {
  const Report report = run_experiment("cost", {{"layers", "1"}, {"d-model", "10"}, {"seq-len", "60"}});
  const Table& table = *report.find_table("model");
  CHECK(number_of(table.rows[0][table.column("linear_gflops")]) == 144000e-9);
  CHECK(number_of(table.rows[0][table.column("scores_share")]) == 0.5);
  CHECK(exact_text(table.rows[0][table.column("score_entries_per_head")]) == "3600");
}

TEST_CASE("cost: a model by name is counted from its own weights") {
  // Llama-2-7B: 32 layers with 4 x 4096^2 weights of attention, 3 x 4096 x 11008 of feed-forward and two
  // norms.
  const Report report = run_experiment("cost", {{"model", "llama-2-7b"}, {"seq-len", "1000"}});
  const Table& table = *report.find_table("model");
  const double blocks = 32.0 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008 + 2 * 4096);
  CHECK(std::abs(number_of(table.rows[0][table.column("linear_gflops")]) - 2 * blocks * 1000 / 1e9) < 1e-6);
  CHECK(std::abs(number_of(table.rows[0][table.column("scores_gflops")]) - 4 * 32 * 4096e6 / 1e9) < 1e-9);
  CHECK_THROWS_AS(run_experiment("cost", {{"model", "llama-9"}}), Error);
}

TEST_CASE("cost: times are marked as the machine's") {
  const Report report = run_experiment("cost");
  for (const char* name : {"counted", "slopes"}) {
    for (const Column& column : report.find_table(name)->columns)
      CHECK(column.machine_dependent == (column.name.find("time") != std::string::npos));
  }
}

TEST_CASE("cost: counted slopes stand beside those of the time and need two lengths") {
  const Report report = run_experiment("cost");
  const Table& slopes = *report.find_table("slopes");
  CHECK(std::abs(number_of(slopes.rows[0][slopes.column("counted_slope")]) - 1) < 1e-9);
  CHECK(std::abs(number_of(slopes.rows[1][slopes.column("counted_slope")]) - 2) < 1e-9);
  CHECK(number_of(slopes.rows[1][slopes.column("time_slope_standard_error")]) >= 0);
  CHECK(run_experiment("cost", {{"counted-len", "32"}}).find_table("slopes") == nullptr);
}

TEST_CASE("cost: work of another order is noticed by the slopes") {
  CHECK_FALSE(run_experiment("cost", {}, 466, "window").find_check("quadratic-slope").passed());
  CHECK_FALSE(run_experiment("cost", {}, 466, "recomputes").find_check("linear-slope").passed());
}

TEST_CASE("cost: a width that does not fit two heads is refused") {
  CHECK_THROWS_WITH_AS(run_experiment("cost", {{"counted-width", "5"}}),
                       "--counted-width: an odd width does not divide by two heads", Error);
}
