#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("flash: counts of memory and traffic are those worked out by hand") {
  const Report report = run_experiment(
      "flash", {{"seq-len", "128"}, {"head-dim", "32"}, {"block-queries", "64"}, {"longest", "64"}});
  const Table& table = *report.find_table("memory");
  const auto cell = [&](const char* column) { return number_of(table.rows[0][table.column(column)]); };
  CHECK(cell("standard_floats") == 128 * 128);
  // Query, key, value and output once, and the scores written, read, written and read.
  CHECK(cell("standard_traffic_floats") == 4 * 128 * 32 + 4 * 128 * 128);
  // Keys and values once for each of two blocks of queries.
  CHECK(cell("tiled_traffic_floats") == 2 * 128 * 32 + 2 * 2 * 128 * 32);
}

TEST_CASE("flash: every claim holds for several seeds, causal and peaked too") {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("flash", {{"seq-len", "64,128"}, {"longest", "64"}}, seed).passed());
    CHECK(run_experiment("flash", {{"seq-len", "70,131"}, {"causal", "true"}, {"longest", "64"}}, seed)
              .passed());
  }
}

TEST_CASE(
    "flash: beyond its limit the standard attention is left out and the tiled one is compared row by row") {
  const Report report = run_experiment(
      "flash",
      {{"seq-len", "256,512,1500"}, {"standard-limit", "600"}, {"longest", "64"}, {"causal", "true"}});
  const Table& table = *report.find_table("memory");
  const auto text = [&](std::size_t row, const char* column) {
    return exact_text(table.rows[row][table.column(column)]);
  };
  CHECK(text(1, "standard_floats") == "262144");
  CHECK(text(2, "standard_floats") == "");
  CHECK(text(2, "tiled_floats") == text(0, "tiled_floats"));
  const double error = number_of(table.rows[2][table.column("tiled_error")]);
  CHECK(error > 0);
  CHECK(error < 1e-6);
  CHECK(report.passed());
}

TEST_CASE("flash: peaked scores give what others give and their own errors") {
  const Report report =
      run_experiment("flash", {{"seq-len", "64,128"}, {"longest", "64"}, {"peaked", "true"}});
  CHECK(report.passed());
  CHECK(run_experiment("flash", {{"seq-len", "600"}, {"longest", "64"}}).passed());
}

TEST_CASE("flash: larger blocks read keys and values less often") {
  const Report report = run_experiment(
      "flash", {{"seq-len", "100"}, {"head-dim", "32"}, {"blocks", "10,64,200"}, {"longest", "64"}});
  const Table& table = *report.find_table("blocks");
  const std::size_t traffic = table.column("tiled_traffic_floats");
  // Queries and outputs once, keys and values 10 times, twice and once.
  CHECK(exact_text(table.rows[0][traffic]) == std::to_string(6400 * 11));
  CHECK(exact_text(table.rows[1][traffic]) == std::to_string(6400 * 3));
  CHECK(exact_text(table.rows[2][traffic]) == std::to_string(6400 * 2));
}

TEST_CASE("flash: storing the scores is noticed") {
  const Report report = run_experiment("flash", {{"seq-len", "128,256"}}, 466, "stores-scores");
  CHECK_FALSE(report.find_check("tiled-memory").passed());
  CHECK_FALSE(report.find_check("never-stored").passed());
}

TEST_CASE("flash: times are marked as the machine's") {
  const Report report = run_experiment("flash", {{"seq-len", "64"}, {"longest", "64"}});
  for (const char* name : {"memory", "blocks"}) {
    for (const Column& column : report.find_table(name)->columns)
      CHECK(column.machine_dependent == (column.name.find("time") != std::string::npos));
  }
  CHECK_THROWS_WITH_AS(run_experiment("flash", {{"seq-len", "1"}}), "--seq-len: 1 is outside [2, 1048576]",
                       Error);
}
