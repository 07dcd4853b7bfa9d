// What holds for every experiment.
#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "experiments/all.hpp"
#include "support/paths.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("experiments: the list is the folder") {
  std::set<std::string> listed;
  for (const Experiment& experiment : experiments::all()) {
    std::string stem = experiment.name;
    std::replace(stem.begin(), stem.end(), '-', '_');
    listed.insert(stem);
  }
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(source_folder) + "/experiments")) {
    if (entry.path().extension() == ".cpp" && entry.path().stem() != "all") found.insert(entry.path().stem());
  }
  CHECK(listed == found);
}

TEST_CASE("experiments: each says what it is for and where it comes from") {
  for (const Experiment& experiment : experiments::all()) {
    CAPTURE(experiment.name);
    CHECK_FALSE(experiment.title.empty());
    CHECK_FALSE(experiment.summary.empty());
    CHECK_FALSE(experiment.section.empty());
    CHECK_FALSE(experiment.source.empty());
    CHECK_FALSE(experiment.purpose.empty());
    CHECK(experiment.examples.size() == 3);
    std::set<std::string> ids;
    for (const Claim& claim : experiment.claims) CHECK(ids.insert(claim.id).second);
  }
}

TEST_CASE("experiments: with defaults every declared claim is checked and none fails") {
  for (const Experiment& experiment : experiments::all()) {
    CAPTURE(experiment.name);
    const Report report = run_experiment(experiment.name);
    std::set<std::string> checked;
    for (const Check& check : report.checks()) {
      CAPTURE(check.full_id());
      CAPTURE(check.measured);
      CHECK(check.passed());
      CHECK(check.claim != "");
      checked.insert(check.id);
    }
    for (const Claim& claim : experiment.claims) {
      CAPTURE(claim.id);
      if (!claim.slow) CHECK(checked.count(claim.id) == 1);
    }
  }
}

TEST_CASE("experiments: no claim survives all breakages of its experiment") {
  for (const Experiment& experiment : experiments::all()) {
    CAPTURE(experiment.name);
    std::set<std::string> noticed;
    for (const Breakage& breakage : experiment.breakages) {
      CAPTURE(breakage.name);
      const Report report = run_experiment(experiment.name, {}, 466, breakage.name);
      CHECK_FALSE(report.passed());
      for (const Check& check : report.checks()) {
        if (!check.passed()) noticed.insert(check.id);
      }
    }
    const Report right = run_experiment(experiment.name);
    for (const Check& check : right.checks()) {
      CAPTURE(check.full_id());
      if (check.checkable) CHECK(noticed.count(check.id) == 1);
    }
  }
}

TEST_CASE("experiments: figures refer to tables and columns that are there") {
  for (const Experiment& experiment : experiments::all()) {
    const Report report = run_experiment(experiment.name);
    for (const Figure& figure : report.figures()) {
      CAPTURE(experiment.name);
      CAPTURE(figure.name);
      CHECK_FALSE(figure.caption.empty());
      REQUIRE_FALSE(figure.data.empty());
      for (const std::string& name : figure.data) {
        if (figure.kind == FigureKind::heat_map) {
          CHECK(report.find_grid(name) != nullptr);
          continue;
        }
        const Table* table = report.find_table(name);
        REQUIRE(table != nullptr);
        CHECK_NOTHROW(table->column(figure.x_column));
        for (const Series& series : figure.series) CHECK_NOTHROW(table->column(series.column));
      }
    }
  }
}
