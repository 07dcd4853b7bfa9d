#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "lab/embedded_files.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("scaling: the text is the lesson's second listing") {
  const Report report = run_experiment("scaling");
  std::string text;
  for (const Report::Item& item : report.items()) text += item.text + '\n';
  CHECK(text == embedded_file("lesson/scaling.txt"));
}

TEST_CASE("scaling: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    // The lesson's widths without its largest, which takes longest and is checked at the lesson's seed.
    const Report report = run_experiment("scaling", {{"d-k", "4,64"}}, seed);
    for (const Check& check : report.checks()) {
      CAPTURE(check.full_id());
      CAPTURE(check.measured);
      CHECK(check.passed());
    }
  }
}

TEST_CASE("scaling: stochastic claims give their standard error and are judged by four of them") {
  const Report report = run_experiment("scaling", {{"d-k", "4"}});
  int stochastic = 0;
  for (const Check& check : report.checks()) {
    if (!check.standard_error) continue;
    ++stochastic;
    CAPTURE(check.full_id());
    CHECK(std::abs(check.tolerance - 4 * *check.standard_error) < 1e-15);
    CHECK(*check.standard_error < 0.05);
  }
  CHECK(stochastic == 2 + 5 * 6 + 2);
}

TEST_CASE("scaling: undivided scores saturate and the claims notice") {
  const Report undivided = run_experiment("scaling", {{"d-k", "64"}}, 466, "undivided");
  CHECK(std::abs(undivided.find_check("unit-variance-64").measured - 64) < 6);
  for (const char* id :
       {"unit-variance-64", "peak-sqrt-1024", "jacobian-sqrt-1024", "gradients-vanish-1024"}) {
    CAPTURE(id);
    CHECK_FALSE(undivided.find_check(id).passed());
  }
  const Report narrow = run_experiment("scaling", {{"d-k", "64"}}, 466, "narrow-entries");
  for (const char* id :
       {"root-spread-64", "peak-undivided-16", "entropy-undivided-64", "jacobian-undivided-256"}) {
    CAPTURE(id);
    CHECK_FALSE(narrow.find_check(id).passed());
  }
}

TEST_CASE("scaling: two equal scores have the Jacobian worked out by hand") {
  // With two keys the Jacobian is w (1 - w) [1 -1; -1 1], of norm 2 w (1 - w): at most 1/2.
  const Report report =
      run_experiment("scaling", {{"d-k", "4"}, {"num-keys", "2"}, {"saturation-queries", "500"}});
  const Table& table = *report.find_table("saturation");
  for (const auto& row : table.rows) {
    CHECK(number_of(row[table.column("jacobian_sqrt")]) < 0.5);
    CHECK(number_of(row[table.column("jacobian_sqrt")]) > 0.3);
  }
}

TEST_CASE("scaling: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("scaling", {{"d-k", "0"}}), "--d-k: 0 is outside [1, 16384]", Error);
  CHECK_THROWS_WITH_AS(run_experiment("scaling", {{"divide", "cube"}}),
                       "--divide: cube is not one of sqrt, linear, none", Error);
}
