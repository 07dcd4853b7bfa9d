#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("kv-cache: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
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
