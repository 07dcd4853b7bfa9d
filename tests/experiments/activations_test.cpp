#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("activations: the columns are the functions at their points") {
  const Report report = run_experiment("activations", {{"reach", "1"}, {"step", "0.5"}});
  const Table& table = *report.find_table("activations");
  REQUIRE(table.rows.size() == 5);
  const auto at = [&](std::size_t row, const char* column) {
    return number_of(table.rows[row][table.column(column)]);
  };
  CHECK(std::abs(at(4, "gelu") - 0.8413447460685429) < 1e-15);
  CHECK(std::abs(at(0, "silu") + 0.2689414213699951) < 1e-15);
  CHECK(at(1, "relu") == 0);
  CHECK(at(2, "gelu") == 0);
}

TEST_CASE("activations: a width that three does not divide makes no claim of parity") {
  const Report report = run_experiment("activations", {{"d-model", "512,768"}});
  CHECK_NOTHROW(report.find_check("gated-parity-768"));
  CHECK_THROWS_AS(report.find_check("gated-parity-512"), Error);
  const Table& widths = *report.find_table("widths");
  CHECK(number_of(widths.rows[0][widths.column("gated_hidden")]) == 1365);
}

TEST_CASE("activations: the tanh form in place of GELU is noticed") {
  const Report report = run_experiment("activations", {}, 466, "tanh-for-phi");
  CHECK_FALSE(report.find_check("gelu-definition").passed());
  CHECK(report.find_check("tanh-form").measured == 0);
}

TEST_CASE("activations: options out of range are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("activations", {{"step", "0"}}), "--step: 0 is outside [0.01, 1]",
                       Error);
}
