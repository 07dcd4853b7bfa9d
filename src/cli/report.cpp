// `attnlab report`: the lesson, or some of its experiments, as one page.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/experiment_runs.hpp"
#include "core/error.hpp"
#include "render/html.hpp"

namespace attnlab {
namespace {

struct ReportCall {
  RunSettings settings;
  std::string output = "-";
  bool quiet = false;
};

constexpr const char* lessons_seed = "466";

std::string command_of(const Experiment& experiment, const RunSettings& settings) {
  return "attnlab " + experiment.name + (settings.seed == lessons_seed ? "" : " --seed " + settings.seed);
}

Outcome run(const ReportCall& call, const std::vector<std::string>& names, const Environment& environment) {
  if (call.output == "-" && environment.output_is_terminal)
    throw Error(ErrorKind::usage, "--output: a page is no text for the terminal: -o lesson.html writes it");
  const Renderer* renderer = renderer_of_path(call.output);
  if (renderer != nullptr && renderer->name != "html")
    throw Error(ErrorKind::usage,
                fmt::format("--output {}: a page is HTML: -o lesson.html writes it", call.output));
  const std::string script = chart_script(environment);  // before the work, which would be in vain
  std::vector<ExperimentRun> runs;
  for (const Experiment* experiment : chosen_experiments(names)) runs.push_back({.experiment = experiment});
  run_side_by_side(runs, call.settings, environment);
  std::vector<Result> results;
  for (ExperimentRun& one : runs) {
    Result& result = results.emplace_back(experiment_result(*one.experiment, std::move(one.report)));
    result.command = command_of(*one.experiment, call.settings);
  }
  Outcome outcome;
  outcome.path = call.output;
  RenderOptions options;
  options.chart_script = script;
  outcome.output = html_page("Attention and transformers, measured", results, options);
  if (call.output != "-" && !call.quiet) {
    outcome.notes = fmt::format("attnlab: {} {} in {}\n", results.size(),
                                results.size() == 1 ? "experiment" : "experiments", call.output);
  }
  return outcome;
}

}  // namespace

Command report_command() {
  Command command;
  command.name = "report";
  command.section = "Presentation";
  command.summary = "the lesson as one page with figures to explore";
  command.purpose =
      "Runs the experiments with the lesson's settings and writes one page: their text, tables, figures, "
      "claims with verdicts and the commands that print them, under the lesson's sections. The page needs "
      "nothing else and fetches nothing: a browser opens it from the file, and prints it.";
  command.examples = {"attnlab report -o lesson.html", "attnlab report attention masking -o attention.html",
                      "attnlab attention --format html -o weights.html"};
  command.positional = experiment_names("the experiments of the page; all unless given");
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto call = std::make_shared<ReportCall>();
    OptionSet& options = invocation->options;
    options.file("output", call->output, "write there, whole or not at all; - is standard output")
        .short_form('o')
        .no_parameter();
    declare_run_settings(options, call->settings);
    options.flag("quiet", call->quiet, "nothing on standard error but errors").short_form('q').no_parameter();
    invocation->run = [call, &arguments = invocation->arguments](const Environment& environment) {
      return run(*call, arguments, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
