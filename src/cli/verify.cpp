// `attnlab verify`: every claim of every experiment, or of those named, in one table.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "experiments/all.hpp"

namespace attnlab {
namespace {

struct VerifyCall {
  Presentation presentation;
  std::string seed = "466";
  bool list = false;
  bool perturb = false;
  bool slow = false;
  int threads = 0;
};

/// One run of an experiment: as it is, or with a breakage.
struct Task {
  const Experiment* experiment = nullptr;
  std::string breakage = {};
  Report report = Report();
  std::exception_ptr error = nullptr;
};

std::vector<const Experiment*> chosen_experiments(const std::vector<std::string>& names) {
  std::vector<const Experiment*> chosen;
  for (const Experiment& experiment : experiments::all()) {
    if (names.empty() || std::find(names.begin(), names.end(), experiment.name) != names.end()) {
      chosen.push_back(&experiment);
    }
  }
  return chosen;
}

void run_task(Task& task, const VerifyCall& call) {
  try {
    Context context;
    context.seed = parse_seed(call.seed);
    context.slow = call.slow;
    context.breakage = task.breakage;
    const std::unique_ptr<Session> session = task.experiment->start();
    task.report = run_session(*task.experiment, *session, context);
  } catch (...) {
    task.error = std::current_exception();
  }
}

// Experiments are independent of each other, so they run side by side; each stays on one thread.
void run_tasks(std::vector<Task>& tasks, const VerifyCall& call, const Environment& environment) {
  const std::size_t wanted =
      call.threads > 0 ? static_cast<std::size_t>(call.threads) : static_cast<std::size_t>(environment.cores);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t at = next++; at < tasks.size(); at = next++) run_task(tasks[at], call);
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min(wanted, tasks.size()); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (const Task& task : tasks) {
    if (task.error) std::rethrow_exception(task.error);
  }
}

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
  std::vector<Task> tasks;
  for (const Experiment* experiment : chosen) tasks.push_back({.experiment = experiment});
  run_tasks(tasks, call, environment);
  Report report("Claims of the lesson");
  Table table = empty_claims_table();
  std::string section;
  std::vector<Check> all;
  for (const Task& task : tasks) {
    if (task.experiment->section != section) {
      if (!section.empty()) report.line("");
      section = task.experiment->section;
      report.line(section);
    }
    for (Check check : task.report.checks()) {
      check.id = task.experiment->name + "/" + check.id;
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
  std::vector<Task> tasks;
  for (const Experiment* experiment : chosen) {
    tasks.push_back({.experiment = experiment});
    for (const Breakage& breakage : experiment->breakages)
      tasks.push_back({.experiment = experiment, .breakage = breakage.name});
  }
  run_tasks(tasks, call, environment);
  Report report("Deliberate breakages and the claims that notice them");
  Table table{"breakages", report.title(), {{"experiment"}, {"breakage"}, {"what"}, {"noticed_by"}}};
  std::map<const Experiment*, std::set<std::string>> noticed;
  for (const Task& task : tasks) {
    if (task.breakage.empty()) continue;
    std::set<std::string> failed;
    for (const Check& check : task.report.checks()) {
      if (!check.passed()) failed.insert(check.id);
    }
    noticed[task.experiment].insert(failed.begin(), failed.end());
    if (failed.empty()) all_noticed = false;
    const auto& breakages = task.experiment->breakages;
    const auto breakage = std::find_if(breakages.begin(), breakages.end(),
                                       [&](const Breakage& one) { return one.name == task.breakage; });
    const std::string by = failed.empty() ? "nothing" : fmt::format("{}", fmt::join(failed, " "));
    report.line(fmt::format("{}: {}: {}", task.experiment->name, breakage->text, "noticed by " + by));
    table.rows.push_back({task.experiment->name, breakage->name, breakage->text, by});
  }
  std::size_t claims = 0;
  std::vector<std::string> survivors;
  for (const Task& task : tasks) {
    if (!task.breakage.empty()) continue;
    std::set<std::string> checked;
    for (const Check& check : task.report.checks()) {
      if (check.checkable) checked.insert(check.id);
    }
    claims += checked.size();
    for (const std::string& id : checked) {
      if (noticed[task.experiment].count(id) == 0) survivors.push_back(task.experiment->name + "/" + id);
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
  result.parameters = {{"seed", call.seed}, {"slow", call.slow}};
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
  command.positional = {
      "EXPERIMENT", "the experiments to verify; all unless given", {}, 0, experiments::all().size()};
  for (const Experiment& experiment : experiments::all())
    command.positional.choices.push_back(experiment.name);
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto call = std::make_shared<VerifyCall>();
    OptionSet& options = invocation->options;
    options.flag("list", call->list, "show the claims without running").no_parameter();
    options.flag("perturb", call->perturb, "commit each deliberate fault and show which claims notice")
        .no_parameter();
    options.flag("slow", call->slow, "also the claims that take longer than a class waits");
    options.text("seed", call->seed, "N", "seed of the NumPy-compatible generator");
    options.integer("threads", call->threads, 0, 1024, "experiments that run side by side; 0 for all cores")
        .no_parameter();
    declare_presentation(options, call->presentation);
    invocation->run = [call, &arguments = invocation->arguments](const Environment& environment) {
      return run(*call, arguments, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
