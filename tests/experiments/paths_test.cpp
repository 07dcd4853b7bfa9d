#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("paths: nine positions give the paths counted by hand") {
  const Report report = run_experiment("paths", {{"seq-len", "9"}, {"kernel", "3"}, {"window", "4"}});
  const auto& row = report.find_table("paths")->rows.at(0);
  const Table& table = *report.find_table("paths");
  CHECK(number_of(row[table.column("attention")]) == 1);
  CHECK(number_of(row[table.column("recurrence")]) == 8);
  CHECK(number_of(row[table.column("dilated_convolution")]) == 2);  // reaches of 3 and 9
  CHECK(number_of(row[table.column("window")]) == 2);
  CHECK(number_of(row[table.column("recurrence_waits")]) == 9);
}

TEST_CASE("paths: the closed forms hold for many lengths kernels and windows") {
  for (const char* kernel : {"2", "3", "5"}) {
    for (const char* window : {"1", "3", "200"}) {
      const Report report =
          run_experiment("paths", {{"seq-len", "2,3,7,10,27,28,33"}, {"kernel", kernel}, {"window", window}});
      for (const Check& check : report.checks()) {
        CAPTURE(kernel);
        CAPTURE(window);
        CAPTURE(check.full_id());
        CHECK(check.passed());
      }
    }
  }
}

TEST_CASE("paths: the lesson's T is near the T - 1 that the search finds and nothing else is") {
  const Report report = run_experiment("paths", {{"seq-len", "12"}});
  CHECK(report.find_check("recurrence-as-printed-12").verdict() == Verdict::near);
  CHECK(report.find_check("recurrence-12").verdict() == Verdict::pass);
  const Report leaps = run_experiment("paths", {{"seq-len", "12"}}, 466, "leaps");
  CHECK(leaps.find_check("recurrence-as-printed-12").verdict() == Verdict::fail);
  CHECK(leaps.find_check("recurrence-12").verdict() == Verdict::fail);
}

TEST_CASE("paths: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("paths", {{"seq-len", "1"}}), "--seq-len: 1 is outside [2, 512]",
                       Error);
  CHECK_THROWS_WITH_AS(run_experiment("paths", {{"kernel", "1"}}), "--kernel: 1 is outside [2, 64]", Error);
}
