// Several experiments at once, as `verify` and `report` run them.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "lab/experiment.hpp"

namespace attnlab {

/// One run of an experiment with the lesson's settings: as it is, or with a breakage.
struct ExperimentRun {
  const Experiment* experiment = nullptr;
  std::string breakage = {};
  Report report = Report();
  std::exception_ptr error = nullptr;
};

struct RunSettings {
  std::string seed = "466";
  bool slow = false;  ///< also what takes longer than a class waits
  int threads = 0;    ///< experiments that run side by side; 0 for all cores
};

/// Declares --seed, --slow and --threads.
void declare_run_settings(OptionSet& options, RunSettings& settings);

/// The words that the command takes: names of experiments, all of them unless any is given.
Positional experiment_names(const std::string& help);
/// The experiments of these names in the lesson's order; all when there are no names.
std::vector<const Experiment*> chosen_experiments(const std::vector<std::string>& names);

/// Fills in the reports. Throws what the first of the runs threw that failed.
void run_side_by_side(std::vector<ExperimentRun>& runs, const RunSettings& settings,
                      const Environment& environment);

/// A report with what its experiment says of itself, for renderers; without parameters and command line.
Result experiment_result(const Experiment& experiment, Report report);

}  // namespace attnlab
