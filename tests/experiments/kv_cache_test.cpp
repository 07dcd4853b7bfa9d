#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("kv-cache: every claim holds for fifty seeds") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("kv-cache", {}, seed).passed());
  }
}

TEST_CASE("kv-cache: the chosen cache is the product of its sizes") {
  const Report report = run_experiment("kv-cache", {{"mode", "bytes"},
                                                    {"layers", "3"},
                                                    {"kv-heads", "2"},
                                                    {"head-dim", "5"},
                                                    {"seq-len", "7"},
                                                    {"users", "11"},
                                                    {"bits", "8"}});
  const Table& table = *report.find_table("cache");
  CHECK(exact_text(table.rows[0][table.column("kv_bytes")]) == "4620");
}

TEST_CASE("kv-cache: the context grows each cache but the ring") {
  const Report report = run_experiment(
      "kv-cache",
      {{"mode", "bytes"}, {"layers", "1"}, {"kv-heads", "4"}, {"head-dim", "1"}, {"seq-len", "8"}});
  const Table& table = *report.find_table("growth");
  REQUIRE(table.rows.size() == 8);
  const auto cell = [&](std::size_t row, const char* column) {
    return exact_text(table.rows[row][table.column(column)]);
  };
  // 2 tokens, and 256: 2 x 4 heads x 2 bytes a token.
  CHECK(cell(0, "kv_bytes") == "32");
  CHECK(cell(7, "tokens") == "256");
  CHECK(cell(7, "kv_bytes") == "4096");
  CHECK(cell(7, "users_kv_bytes") == "32768");
  CHECK(cell(7, "grouped_kv_bytes") == "1024");
  CHECK(cell(7, "half_bits_kv_bytes") == "2048");
  CHECK(cell(7, "ring_kv_bytes") == "128");
}

TEST_CASE("kv-cache: one more token costs what its matrix products multiply") {
  const Report report = run_experiment("kv-cache", {{"mode", "exact"}, {"num-tokens", "5"}, {"width", "8"}});
  const Table& table = *report.find_table("work");
  REQUIRE(table.rows.size() == 4);  // tokens 1, 2, 4 and 5
  // Three projections of 64, and scores and sums of 8 for each of five keys; five times as much without a
  // cache.
  CHECK(exact_text(table.rows[3][table.column("cached_multiply_adds")]) == "272");
  CHECK(exact_text(table.rows[3][table.column("recomputed_multiply_adds")]) == "1360");
}

TEST_CASE("kv-cache: errors of stored types keep within bounds that follow from their steps") {
  const Report report = run_experiment("kv-cache", {{"mode", "exact"}});
  const double whole = report.find_check("equals-recomputed-float32").tolerance;
  const double half = report.find_check("equals-recomputed-float16").tolerance;
  const double byte = report.find_check("equals-recomputed-int8").tolerance;
  CHECK(whole < 5e-6);
  CHECK(half < 0.02);
  CHECK(byte < 0.2);
  CHECK(whole < half);
  CHECK(half < byte);
}

TEST_CASE("kv-cache: a mode runs its part alone") {
  const Report report = run_experiment("kv-cache", {{"mode", "paged"}});
  CHECK(report.find_table("cache") == nullptr);
  CHECK(report.find_table("waste") != nullptr);
}

TEST_CASE("kv-cache: a page of one token wastes nothing") {
  const Report report = run_experiment("kv-cache", {{"mode", "paged"}, {"page", "1"}});
  CHECK(report.find_check("half-a-page-1").measured == 0);
  CHECK(report.find_check("half-a-page-1").expected == 0);
}

TEST_CASE("kv-cache: keys without outlier channels lose nothing by token") {
  const Report report = run_experiment("kv-cache", {{"mode", "quant"}}, 466, "no-outliers");
  CHECK_FALSE(report.find_check("keys-by-channel").passed());
  CHECK(report.find_check("half-a-step-int4").passed());
}

TEST_CASE("kv-cache: options out of range are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("kv-cache", {{"bits", "0"}}), "--bits: 0 is outside [1, 64]", Error);
}
