#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("sinusoidal: the text is the lesson's line and its corner of the encoding") {
  const Report report = run_experiment("sinusoidal");
  REQUIRE(report.items().size() == 2);
  CHECK(report.items()[0].text == "sinusoidal PE, positions 0 and 1, first 6 dimensions:");
  CHECK(report.data_names()[0] == "whole");
  const std::vector<double> printed = {0, 1, 0, 1, 0, 1, 0.841, 0.54, 0.311, 0.95, 0.1, 0.995};
  const std::vector<double>& corner = report.find_grid("encoding")->array.values;
  REQUIRE(corner.size() == printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) CHECK(std::abs(corner[i] - printed[i]) <= 0.0005);
}

TEST_CASE("sinusoidal: the claims hold for other sizes and bases") {
  for (const char* size : {"2", "4", "64"}) {
    for (const char* base : {"2", "500", "1000000"}) {
      CAPTURE(size);
      CAPTURE(base);
      const Report report =
          run_experiment("sinusoidal", {{"d-model", size}, {"base", base}, {"seq-len", "300"}});
      for (const Check& check : report.checks()) {
        CAPTURE(check.full_id());
        CAPTURE(check.measured);
        CHECK(check.passed());
      }
    }
  }
  CHECK(run_experiment("sinusoidal", {{"seq-len", "1"}, {"d-model", "1"}}).passed());
  CHECK(run_experiment("sinusoidal", {{"d-model", "7"}}).passed());
}

TEST_CASE("sinusoidal: each fault is noticed by the claim it breaks") {
  CHECK_FALSE(run_experiment("sinusoidal", {}, 466, "halves").find_check("rotation").passed());
  CHECK_FALSE(run_experiment("sinusoidal", {}, 466, "halves").find_check("geometric").passed());
  CHECK_FALSE(run_experiment("sinusoidal", {}, 466, "sines-only").find_check("same-length").passed());
  CHECK_FALSE(run_experiment("sinusoidal", {}, 466, "one-encoding").find_check("unique").passed());
}

TEST_CASE("sinusoidal: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("sinusoidal", {{"seq-len", "0"}}),
                       "--seq-len: 0 is outside [1, 1048576]", Error);
  CHECK_THROWS_AS(run_experiment("sinusoidal", {{"base", "1"}}), Error);
}
