// `attnlab verify`: every claim of every experiment, or of those named, in one table.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/experiment_runs.hpp"
#include "core/error.hpp"

namespace attnlab {
namespace {

struct VerifyCall {
  Presentation presentation;
  RunSettings settings;
  bool list = false;
  bool perturb = false;
};

std::string counts_line(const std::vector<Check>& checks) {
  std::map<Verdict, int> count;
  for (const Check& check : checks) ++count[check.verdict()];
  return fmt::format("{} claims: {} pass, {} near, {} fail, {} cannot be checked", checks.size(),
                     count[Verdict::pass], count[Verdict::near], count[Verdict::fail],
                     count[Verdict::cannot_check]);
}

std::string claim_line(const Check& check) {
  std::string line =
      fmt::format("  {:<12}  {}: {}", verdict_text(check.verdict()), check.full_id(), check.claim);
  if (check.checkable)
    line += fmt::format(" ({}, expected {})", measured_text(check), expectation_text(check));
  if (!check.reason.empty() && check.verdict() != Verdict::pass) line += "; " + check.reason;
  return line;
}

Table empty_claims_table() {
  return {"claims",
          "Claims",
          {{"id"},
           {"section"},
           {"claim"},
           {"measured"},
           {"expected"},
           {"tolerance"},
           {"standard_error"},
           {"verdict"},
           {"source"}}};
}

Report verify_report(const VerifyCall& call, const std::vector<const Experiment*>& chosen,
                     const Environment& environment) {
  std::vector<ExperimentRun> runs;
  runs.reserve(chosen.size());
  for (const Experiment* experiment : chosen) runs.push_back({.experiment = experiment});
  run_side_by_side(runs, call.settings, environment);
  Report report("Claims of the lesson");
  Table table = empty_claims_table();
  std::string section;
  std::vector<Check> all;
  for (const ExperimentRun& run : runs) {
    if (run.experiment->section != section) {
      if (!section.empty()) report.line("");
      section = run.experiment->section;
      report.line(section);
    }
    for (Check check : run.report.checks()) {
      check.id = run.experiment->name + "/" + check.id;
      report.line(claim_line(check));
      const Cell measured = check.checkable ? Cell{check.measured} : Cell{};
      const Cell expected = check.checkable ? Cell{check.expected} : Cell{};
      const Cell tolerance = check.checkable ? Cell{check.tolerance} : Cell{};
      const Cell error = check.standard_error ? Cell{*check.standard_error} : Cell{};
      table.rows.push_back({check.full_id(), section, check.claim, measured, expected, tolerance, error,
                            verdict_text(check.verdict()), check.source});
      all.push_back(check);
    }
  }
  report.line("");
  report.line(counts_line(all));
  for (Check& check : all) report.check(std::move(check));
  report.data(std::move(table));
  return report;
}

Report list_report(const std::vector<const Experiment*>& chosen) {
  Report report("Claims of the lesson");
  Table table{"claims", "Claims", {{"id"}, {"section"}, {"claim"}, {"slow"}, {"source"}}};
  std::string section;
  for (const Experiment* experiment : chosen) {
    if (experiment->section != section) {
      if (!section.empty()) report.line("");
      section = experiment->section;
      report.line(section);
    }
    for (const Claim& claim : experiment->claims) {
      report.line(fmt::format("  {}/{}: {}{}", experiment->name, claim.id, claim.text,
                              claim.slow ? " (with --slow)" : ""));
      table.rows.push_back({fmt::format("{}/{}", experiment->name, claim.id), section, claim.text, claim.slow,
                            claim.source.empty() ? experiment->source : claim.source});
    }
  }
  report.line("");
  report.line(fmt::format("{} claims", table.rows.size()));
  report.data(std::move(table));
  return report;
}

// Each breakage with the claims that notice it, and the claims that none of their breakages breaks.
Report perturb_report(const VerifyCall& call, const std::vector<const Experiment*>& chosen,
                      const Environment& environment, bool& all_noticed) {
  std::vector<ExperimentRun> runs;
  for (const Experiment* experiment : chosen) {
    runs.push_back({.experiment = experiment});
    for (const Breakage& breakage : experiment->breakages)
      runs.push_back({.experiment = experiment, .breakage = breakage.name});
  }
  run_side_by_side(runs, call.settings, environment);
  Report report("Deliberate breakages and the claims that notice them");
  Table table{"breakages", report.title(), {{"experiment"}, {"breakage"}, {"what"}, {"noticed_by"}}};
  std::map<const Experiment*, std::set<std::string>> noticed;
  for (const ExperimentRun& run : runs) {
    if (run.breakage.empty()) continue;
    std::set<std::string> failed;
    for (const Check& check : run.report.checks()) {
      if (!check.passed()) failed.insert(check.id);
    }
    noticed[run.experiment].insert(failed.begin(), failed.end());
    if (failed.empty()) all_noticed = false;
    const auto& breakages = run.experiment->breakages;
    const auto breakage = std::find_if(breakages.begin(), breakages.end(),
                                       [&](const Breakage& one) { return one.name == run.breakage; });
    const std::string by = failed.empty() ? "nothing" : fmt::format("{}", fmt::join(failed, " "));
    report.line(fmt::format("{}: {}: {}", run.experiment->name, breakage->text, "noticed by " + by));
    table.rows.push_back({run.experiment->name, breakage->name, breakage->text, by});
  }
  std::size_t claims = 0;
  std::vector<std::string> survivors;
  for (const ExperimentRun& run : runs) {
    if (!run.breakage.empty()) continue;
    std::set<std::string> checked;
    for (const Check& check : run.report.checks()) {
      if (check.checkable) checked.insert(check.id);
    }
    claims += checked.size();
    for (const std::string& id : checked) {
      if (noticed[run.experiment].count(id) == 0) survivors.push_back(run.experiment->name + "/" + id);
    }
  }
  report.line("");
  for (const std::string& id : survivors) report.line(fmt::format("{} survives all breakages", id));
  report.line(fmt::format("{} breakages, {} claims: {} survive all of their breakages", table.rows.size(),
                          claims, survivors.size()));
  if (!survivors.empty()) all_noticed = false;
  report.value("survivors", survivors);
  report.data(std::move(table));
  return report;
}

Outcome run(const VerifyCall& call, const std::vector<std::string>& arguments,
            const Environment& environment) {
  const std::vector<const Experiment*> chosen = chosen_experiments(arguments);
  Result result;
  result.name = "verify";
  result.lesson_listing = true;  // the lines of the report are the claims already
  result.parameters = {{"seed", call.settings.seed}, {"slow", call.settings.slow}};
  bool passed = true;
  if (call.list) {
    result.report = list_report(chosen);
  } else if (call.perturb) {
    result.report = perturb_report(call, chosen, environment, passed);
  } else {
    result.report = verify_report(call, chosen, environment);
    passed = result.report.passed();
  }
  Outcome outcome = present(result, call.presentation, environment);
  outcome.status = passed ? 0 : 1;
  return outcome;
}

}  // namespace

Command verify_command() {
  Command command;
  command.name = "verify";
  command.section = "The whole lesson";
  command.summary = "each sentence of the lesson as a claim, measured";
  command.purpose =
      "Runs the experiments with the lesson's settings and prints each claim with what was measured, what "
      "was expected "
      "from elsewhere, and the verdict: pass, near (true in a regime, or nearly), fail, cannot-check. Exits "
      "1 when one "
      "fails. --perturb commits each experiment's deliberate faults instead and shows which claims notice.";
  command.examples = {"attnlab verify", "attnlab verify attention rope --format md",
                      "attnlab verify --perturb"};
  command.positional = experiment_names("the experiments to verify; all unless given");
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto call = std::make_shared<VerifyCall>();
    OptionSet& options = invocation->options;
    options.flag("list", call->list, "show the claims without running").no_parameter();
    options.flag("perturb", call->perturb, "commit each deliberate fault and show which claims notice")
        .no_parameter();
    declare_run_settings(options, call->settings);
    declare_presentation(options, call->presentation);
    invocation->run = [call, &arguments = invocation->arguments](const Environment& environment) {
      return run(*call, arguments, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
