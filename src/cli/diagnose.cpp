// `attnlab diagnose`: a caller's result beside the right one, and the known mistake that explains the
// difference.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/operation_call.hpp"
#include "core/error.hpp"
#include "io/array_file.hpp"
#include "operations/diagnosis.hpp"

namespace attnlab {
namespace {

const std::vector<Column> mistake_columns = {{"name"}, {"why"}, {"remedy"}, {"right_when"}};

std::vector<Cell> mistake_row(const Mistake& mistake) {
  return {mistake.name, mistake.why, mistake.remedy, mistake.right_when};
}

void tell(Report& report, const Mistake& mistake) {
  report.line(fmt::format("  {}: {}.", mistake.name, mistake.why));
  report.line(fmt::format("    Remedy: {}.", mistake.remedy));
  if (!mistake.right_when.empty()) report.line(fmt::format("    Right {}.", mistake.right_when));
}

std::string element_text(const Array& array, const std::vector<std::size_t>& index) {
  std::size_t flat = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) flat = flat * array.shape[axis] + index[axis];
  return shortest(array.values[flat]);
}

void tell_difference(Report& report, const Diagnosis& found, const Array& yours) {
  report.line(fmt::format("{} {}: {}", found.result, shape_text(found.expected.shape),
                          found.matches ? "matches" : "differs"));
  report.line(
      fmt::format("largest difference {:.3g} absolute, {:.3g} relative{}", found.difference.max_abs,
                  found.difference.max_rel,
                  found.arithmetic.empty() ? "" : "; " + found.arithmetic + " arithmetic would explain it"));
  report.line(fmt::format("your numbers look like {}", found.precision.name));
  if (found.first_difference) {
    const Array reshaped{found.expected.shape, yours.values};
    report.line(fmt::format("first difference at [{}]: yours {}, right {}; {}",
                            fmt::join(*found.first_difference, ", "),
                            element_text(reshaped, *found.first_difference),
                            element_text(found.expected, *found.first_difference), found.spread));
  }
}

void tell_explanations(Report& report, const Diagnosis& found) {
  if (found.matches) return;
  if (found.explanations.empty()) {
    report.line("No known mistake gives these numbers.");
    if (!found.nearest) return;
    report.line(fmt::format("The nearest is {}, still {:.3g} away:", found.nearest->name(),
                            found.nearest->difference.max_abs));
    for (const Mistake* mistake : found.nearest->mistakes) tell(report, *mistake);
    return;
  }
  report.line(found.explanations.size() == 1 ? "This mistake gives your numbers:"
                                             : "Each of these gives your numbers:");
  for (const Explanation& explanation : found.explanations) {
    if (explanation.mistakes.size() > 1) report.line(fmt::format("  {}, both at once:", explanation.name()));
    for (const Mistake* mistake : explanation.mistakes) tell(report, *mistake);
  }
}

Table mistakes_table(const Diagnosis& found) {
  Table table{"mistakes", "", mistake_columns};
  table.columns.push_back({"explanation"});
  for (std::size_t n = 0; n < found.explanations.size(); ++n) {
    for (const Mistake* mistake : found.explanations[n].mistakes) {
      table.rows.push_back(mistake_row(*mistake));
      table.rows.back().push_back(static_cast<std::int64_t>(n + 1));
    }
  }
  return table;
}

Report report_of(const Diagnosis& found, const Array& yours) {
  Report report;
  tell_difference(report, found, yours);
  tell_explanations(report, found);
  report.value("result", found.result);
  report.value("matches", found.matches);
  report.value("max_abs_difference", found.difference.max_abs);
  report.value("max_rel_difference", found.difference.max_rel);
  report.value("arithmetic", found.arithmetic.empty() ? Value{} : Value{found.arithmetic});
  report.value("first_difference", found.first_difference
                                       ? Value{std::vector<std::int64_t>(found.first_difference->begin(),
                                                                         found.first_difference->end())}
                                       : Value{});
  report.value("spread", found.spread);
  report.value("nearest", found.nearest ? Value{found.nearest->name()} : Value{});
  report.data(mistakes_table(found));
  return report;
}

struct DiagnoseCall {
  std::shared_ptr<OperationCall> call;
  Presentation presentation;
  std::string yours;
  std::string result;
};

Outcome run(const DiagnoseCall& state, const Environment& environment) {
  if (state.yours.empty()) {
    throw Error(ErrorKind::usage, fmt::format("diagnose {} needs --yours: the file of your own result",
                                              state.call->operation->name));
  }
  const Inputs inputs = read_inputs(*state.call);
  const Array yours = read_array(state.yours, read_options(state.call->reading));
  compute(*state.call, inputs);  // errors of the math name the files
  const Trial trial(*state.call->operation, state.call->session->options, inputs);
  const Diagnosis found = diagnose(trial, state.result, yours, "--yours " + state.yours);
  Result result;
  result.name = "diagnose";
  result.report = report_of(found, yours);
  result.values_only = true;
  Outcome outcome = present(result, state.presentation, environment);
  outcome.status = found.matches ? 0 : 1;
  return outcome;
}

Command diagnose_operation(const Operation& operation) {
  Command command;
  command.name = operation.name;
  command.section = operation.family;
  command.summary = operation.summary;
  command.purpose = operation.details;
  command.epilogue = results_help(operation);
  command.start = [&operation] {
    auto state = std::make_shared<DiagnoseCall>();
    state->call = start_call(operation);
    auto invocation = std::make_unique<Invocation>();
    declare_call(invocation->options, *state->call);
    OptionSet own;
    own.file("yours", state->yours, "your own result, required");
    own.text("result", state->result, "NAME", "which result it is; the first of its size unless given");
    declare_presentation(own, state->presentation);
    invocation->options.adopt(own);
    invocation->run = [state](const Environment& environment) { return run(*state, environment); };
    return invocation;
  };
  return command;
}

Outcome list(const std::string& operation, const Presentation& presentation, const Environment& environment) {
  Result result;
  result.name = "diagnose";
  Table table{"mistakes", "", mistake_columns};
  table.columns.insert(table.columns.begin() + 1, {"operations"});
  for (const Mistake& mistake : mistakes()) {
    const auto& in = mistake.operations;
    if (!operation.empty() && std::find(in.begin(), in.end(), operation) == in.end()) continue;
    result.report.line(fmt::format("{}  ({})", mistake.name, fmt::join(in, ", ")));
    result.report.line(fmt::format("  {}.", mistake.why));
    table.rows.push_back(mistake_row(mistake));
    table.rows.back().insert(table.rows.back().begin() + 1, fmt::format("{}", fmt::join(in, " ")));
  }
  result.report.data(std::move(table));
  result.values_only = true;
  return present(result, presentation, environment);
}

}  // namespace

Command diagnose_command() {
  Command command;
  command.name = "diagnose";
  command.section = "Your own arrays";
  command.summary = "what is wrong with your attention: your result against the right one";
  command.purpose =
      "Takes what op OPERATION takes, and --yours FILE with your own result. Says whether it matches, and if "
      "not, where it first differs and which known mistake gives your numbers, why it is wrong and what to "
      "change. Exit status 0 when it matches, 1 when not.";
  command.examples = {
      "attnlab diagnose attention --query q.npy --key k.npy --value v.npy --causal --yours out.npy",
      "attnlab diagnose norm --x x.csv --yours mine.csv --format json", "attnlab diagnose --list attention"};
  for (const Operation& operation : operations()) command.subcommand_names.push_back(operation.name);
  command.subcommand = [](const std::string& name) { return diagnose_operation(*find_operation(name)); };
  command.positional = {.name = "OPERATION",
                        .help = "with --list: only its mistakes",
                        .choices = command.subcommand_names,
                        .min = 0,
                        .max = 1};
  command.start = [] {
    struct State {
      Presentation presentation;
      bool list = false;
    };
    auto state = std::make_shared<State>();
    auto invocation = std::make_unique<Invocation>();
    invocation->options.flag("list", state->list, "list the known mistakes");
    declare_presentation(invocation->options, state->presentation);
    Invocation* const called = invocation.get();
    invocation->run = [state, called](const Environment& environment) {
      if (!state->list)
        throw Error(ErrorKind::usage,
                    "diagnose needs an operation, as op takes it, or --list: see diagnose --help");
      return list(called->arguments.empty() ? "" : called->arguments[0], state->presentation, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
