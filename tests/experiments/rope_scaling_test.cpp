#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("rope-scaling: every claim holds or is near for other sizes") {
  CHECK(run_experiment("rope-scaling").passed());
  const Report llama3 =
      run_experiment("rope-scaling", {{"base", "500000"}, {"trained-length", "8192"}, {"factor", "32"}});
  for (const Check& check : llama3.checks()) {
    CAPTURE(check.full_id());
    CAPTURE(check.measured);
    CHECK(check.passed());
  }
  CHECK(run_experiment("rope-scaling", {{"head-dim", "4"}, {"factor", "1.5"}}, 7).passed());
}

TEST_CASE("rope-scaling: 600 holds to 4096 tokens and is only near at 8192") {
  const Report report = run_experiment("rope-scaling");
  CHECK(report.find_check("interpolation-600-2048").verdict() == Verdict::pass);
  CHECK(report.find_check("interpolation-600-4096").verdict() == Verdict::pass);
  CHECK(report.find_check("interpolation-600-8192").verdict() == Verdict::near);
}

TEST_CASE("rope-scaling: wavelengths of a small head are those worked out by hand") {
  // Width 4, base 100: frequencies 1 and 1/10.
  const Report report = run_experiment("rope-scaling", {{"head-dim", "4"}, {"base", "100"}, {"factor", "2"}});
  const Table& table = *report.find_table("wavelengths");
  const double turn = 2 * 3.141592653589793;
  CHECK(std::abs(number_of(table.rows[0][table.column("none")]) - turn) < 1e-12);
  CHECK(std::abs(number_of(table.rows[1][table.column("none")]) - 10 * turn) < 1e-11);
  CHECK(std::abs(number_of(table.rows[1][table.column("linear")]) - 20 * turn) < 1e-11);
  // base 100 * 2^(4/2) = 400, so the second frequency is 1/20.
  CHECK(std::abs(number_of(table.rows[1][table.column("ntk")]) - 20 * turn) < 1e-11);
}

TEST_CASE("rope-scaling: frequencies left as they are fail the claims on scaling") {
  const Report report = run_experiment("rope-scaling", {}, 466, "unscaled");
  for (const char* id :
       {"linear-divides-all", "ntk-divides-the-slowest", "ntk-base-8", "yarn-temperature-2"}) {
    CAPTURE(id);
    CHECK_FALSE(report.find_check(id).passed());
  }
}

TEST_CASE("rope-scaling: an odd width and a factor below 1 are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("rope-scaling", {{"head-dim", "5"}}),
                       "--head-dim: 5 is odd; rotary pairs need an even width", Error);
  CHECK_THROWS_WITH_AS(run_experiment("rope-scaling", {{"factor", "0.5"}}),
                       "--factor: 0.5 is outside [1.001, 1024]", Error);
}
