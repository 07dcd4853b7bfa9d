#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("ffn-memory: as many facts as dimensions are recalled with the nonlinearity and without") {
  const Report report = run_experiment("ffn-memory", {{"facts", "64"}});
  const Table& table = *report.find_table("recall");
  CHECK(number_of(table.rows[0][table.column("recall")]) == 1);
  CHECK(number_of(table.rows[0][table.column("recall_linear")]) > 0.95);
}

TEST_CASE(
    "ffn-memory: a wide linear memory still recalls most at nine facts a dimension and makes no claim") {
  const Report report = run_experiment("ffn-memory", {{"d-model", "256"}, {"facts", "2304"}});
  const Table& table = *report.find_table("recall");
  CHECK(number_of(table.rows[0][table.column("recall_linear")]) > 0.85);
  CHECK_THROWS_AS(report.find_check("linear-forgets-2304"), Error);
}

TEST_CASE("ffn-memory: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("ffn-memory", {{"facts", "64,1024"}}, seed).passed());
  }
}

TEST_CASE("ffn-memory: two thirds of a whole model is near and two thirds of a block holds") {
  const Report report = run_experiment("ffn-memory", {{"facts", "64"}});
  CHECK(report.find_check("two-thirds-of-the-model-small").verdict() == Verdict::near);
  CHECK(report.find_check("two-thirds-of-a-block-small").verdict() == Verdict::pass);
  CHECK(report.find_check("two-thirds-of-a-block-small").measured == 4722432.0 / 7087872.0);
}

TEST_CASE("ffn-memory: a memory without nonlinearity fails its claim") {
  const Report report = run_experiment("ffn-memory", {{"facts", "1024"}}, 466, "no-threshold");
  CHECK_FALSE(report.find_check("recall-1024").passed());
  CHECK_THROWS_WITH_AS(run_experiment("ffn-memory", {{"lookups", "0"}}), "--lookups: 0 is outside [1, 10000]",
                       Error);
}
