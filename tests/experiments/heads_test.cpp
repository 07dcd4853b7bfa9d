#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("heads: parameters and products are the closed forms for any number of heads") {
  const Report report =
      run_experiment("heads", {{"d-model", "12"}, {"seq-len", "5"}, {"heads", "1,2,3,4,6,12"}});
  const Table& table = *report.find_table("costs");
  REQUIRE(table.rows.size() == 6);
  for (const auto& row : table.rows) {
    CHECK(number_of(row[table.column("parameters")]) == 4 * 144);
    CHECK(number_of(row[table.column("multiply_adds")]) == 4 * 5 * 144 + 2 * 25 * 12);
    CHECK(number_of(row[table.column("exponentials")]) == 25 * number_of(row[0]));
    CHECK(number_of(row[table.column("d_k")]) == 12 / number_of(row[0]));
  }
}

TEST_CASE("heads: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("heads", {{"d-model", "16"}, {"seq-len", "4"}}, seed).passed());
  }
}

TEST_CASE("heads: full-width heads cost as many times more and the claims notice") {
  const Report report =
      run_experiment("heads", {{"d-model", "16"}, {"seq-len", "4"}}, 466, "full-width-heads");
  CHECK(report.find_check("same-parameters-1").passed());
  CHECK(report.find_check("same-parameters-16").measured == 16 * 4 * 256);
  CHECK_FALSE(report.find_check("same-parameters-16").passed());
  CHECK_FALSE(report.find_check("same-products-2").passed());
}

TEST_CASE("heads: what needs trained models is cited and not checked") {
  const Report report = run_experiment("heads", {{"d-model", "16"}, {"seq-len", "4"}});
  CHECK(report.find_check("quality").verdict() == Verdict::cannot_check);
  CHECK(report.find_table("vaswani_table_3")->rows.size() == 5);
}

TEST_CASE("heads: options that do not fit are refused with their name") {
  CHECK_THROWS_WITH_AS(run_experiment("heads", {{"heads", "3"}}),
                       "--heads: 3 heads do not divide the width 512", Error);
  CHECK_THROWS_WITH_AS(run_experiment("heads", {{"seq-len", "0"}}), "--seq-len: 0 is outside [1, 512]",
                       Error);
}
