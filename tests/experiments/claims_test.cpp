// The table that maps each sentence of the lesson to the claims that check it.
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"
#include "lab/numbers.hpp"

using namespace attnlab;

namespace {

constexpr std::size_t num_sentences = 62;

// The fields of a line of csv; a field in quotes may hold commas.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<std::vector<std::string>> rows_of_the_table() {
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : split(embedded_file("lesson/claims.csv"), '\n')) {
    if (!line.empty()) rows.push_back(fields_of(line));
  }
  return rows;
}

}  // namespace

TEST_CASE("claims table: every sentence of the lesson has claims or a reason why not") {
  const auto rows = rows_of_the_table();
  REQUIRE(rows.size() == num_sentences + 1);
  CHECK(rows[0] == std::vector<std::string>{"number", "section", "words", "claims", "reason"});
  for (std::size_t number = 1; number <= num_sentences; ++number) {
    CAPTURE(number);
    const std::vector<std::string>& row = rows[number];
    REQUIRE(row.size() == 5);
    CHECK(row[0] == std::to_string(number));
    CHECK_FALSE(row[1].empty());
    CHECK_FALSE(row[2].empty());
    CHECK((!row[3].empty() || !row[4].empty()));
  }
}

TEST_CASE("claims table: every claim it names is declared by an experiment") {
  std::set<std::string> declared;
  for (const Experiment& experiment : experiments::all()) {
    for (const Claim& claim : experiment.claims) declared.insert(experiment.name + "/" + claim.id);
  }
  for (const std::vector<std::string>& row : rows_of_the_table()) {
    if (row[0] == "number" || row[3].empty()) continue;
    for (const std::string_view name : split(row[3], ' ')) {
      CAPTURE(row[0]);
      CAPTURE(name);
      CHECK(declared.count(std::string(name)) == 1);
    }
  }
}

TEST_CASE("claims table: experiments belong to sections of the lesson") {
  std::set<std::string> sections;
  for (const std::vector<std::string>& row : rows_of_the_table()) sections.insert(row[1]);
  for (const Experiment& experiment : experiments::all()) {
    CAPTURE(experiment.name);
    CHECK(sections.count(experiment.section) == 1);
  }
}

TEST_CASE("claims table: the lesson stands on at least a hundred claims") {
  std::size_t declared = 0;
  for (const Experiment& experiment : experiments::all()) declared += experiment.claims.size();
  CHECK(declared >= 100);
}
