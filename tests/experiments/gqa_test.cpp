#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("gqa: the cache of published models is theirs") {
  // Llama-2-70B has 80 layers and 64 query heads of width 128; 4,096 tokens in 16 bits.
  const Report report =
      run_experiment("gqa", {{"heads", "64"}, {"kv-heads", "64,8"}, {"layers", "80"}, {"seq-len", "4096"}});
  const Table& table = *report.find_table("cache");
  CHECK(exact_text(table.rows[0][table.column("kv_bytes")]) == "10737418240");
  CHECK(exact_text(table.rows[1][table.column("kv_bytes")]) == "1342177280");
}

TEST_CASE("gqa: parameters of a layer are two full and two shared projections") {
  const Report report = run_experiment("gqa", {{"heads", "4"}, {"kv-heads", "4,2,1"}, {"head-dim", "3"}});
  const Table& table = *report.find_table("cache");
  const std::size_t column = table.column("attention_parameters_per_layer");
  CHECK(number_of(table.rows[0][column]) == 4 * 144);
  CHECK(number_of(table.rows[1][column]) == 2 * 144 + 2 * 12 * 6);
  CHECK(number_of(table.rows[2][column]) == 2 * 144 + 2 * 12 * 3);
}

TEST_CASE("gqa: every claim holds for twenty seeds") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("gqa", {{"heads", "6"}, {"kv-heads", "6,3,2,1"}}, seed).passed());
  }
}

TEST_CASE("gqa: reading one key head for all breaks the equalities") {
  const Report report = run_experiment("gqa", {{"heads", "4"}, {"kv-heads", "4,2"}}, 466, "one-for-all");
  CHECK_FALSE(report.find_check("equals-multi-head").passed());
  CHECK_FALSE(report.find_check("equals-repeated-2").passed());
  CHECK_FALSE(report.find_check("heads-used-2").passed());
}

TEST_CASE("gqa: key heads that do not divide the query heads are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("gqa", {{"kv-heads", "5"}}),
                       "--kv-heads: 5 do not divide 32 query heads", Error);
  CHECK_THROWS_WITH_AS(run_experiment("gqa", {{"heads", "0"}}), "--heads: 0 is outside [1, 128]", Error);
}
