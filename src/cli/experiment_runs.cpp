#include "cli/experiment_runs.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "experiments/all.hpp"

namespace attnlab {
namespace {

void run_one(ExperimentRun& run, const RunSettings& settings) {
  try {
    Context context;
    context.seed = parse_seed(settings.seed);
    context.slow = settings.slow;
    context.breakage = run.breakage;
    const std::unique_ptr<Session> session = run.experiment->start();
    run.report = run_session(*run.experiment, *session, context);
  } catch (...) {
    run.error = std::current_exception();
  }
}

}  // namespace

void declare_run_settings(OptionSet& options, RunSettings& settings) {
  options.flag("slow", settings.slow, "also the claims that take longer than a class waits");
  options.text("seed", settings.seed, "N", "seed of the NumPy-compatible generator");
  options.integer("threads", settings.threads, 0, 1024, "experiments that run side by side; 0 for all cores")
      .no_parameter();
}

Positional experiment_names(const std::string& help) {
  Positional positional{"EXPERIMENT", help, {}, 0, experiments::all().size()};
  for (const Experiment& experiment : experiments::all()) positional.choices.push_back(experiment.name);
  return positional;
}

std::vector<const Experiment*> chosen_experiments(const std::vector<std::string>& names) {
  std::vector<const Experiment*> chosen;
  for (const Experiment& experiment : experiments::all()) {
    if (names.empty() || std::find(names.begin(), names.end(), experiment.name) != names.end()) {
      chosen.push_back(&experiment);
    }
  }
  return chosen;
}

// Experiments are independent of each other, so they run side by side; each stays on one thread.
void run_side_by_side(std::vector<ExperimentRun>& runs, const RunSettings& settings,
                      const Environment& environment) {
  const int wanted = settings.threads > 0 ? settings.threads : environment.cores;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t at = next++; at < runs.size(); at = next++) run_one(runs[at], settings);
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min(static_cast<std::size_t>(wanted), runs.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (const ExperimentRun& run : runs) {
    if (run.error) std::rethrow_exception(run.error);
  }
}

Result experiment_result(const Experiment& experiment, Report report) {
  Result result;
  result.name = experiment.name;
  result.report = std::move(report);
  result.lesson_listing = experiment.lesson_listing;
  result.section = experiment.section;
  result.purpose = experiment.purpose.empty() ? experiment.summary : experiment.purpose;
  result.source = experiment.source;
  return result;
}

}  // namespace attnlab
