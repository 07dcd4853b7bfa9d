// `attnlab op`: one operation of the math core on arrays from files; without an operation, the list of them.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/operation_call.hpp"

namespace attnlab {
namespace {

Outcome list(const Presentation& presentation, const Environment& environment) {
  Result result;
  result.name = "op";
  Table table{"operations", "", {{"family"}, {"operation"}, {"summary"}, {"source"}}};
  std::string family;
  for (const Operation& operation : operations()) {
    if (operation.family != family) {
      if (!family.empty()) result.report.line("");
      family = operation.family;
      result.report.line(family);
    }
    result.report.line(fmt::format("  {:<20} {}", operation.name, operation.summary));
    table.rows.push_back({family, operation.name, operation.summary, operation.source});
  }
  result.report.data(std::move(table));
  return present(result, presentation, environment);
}

// The files that it cannot do without; nothing for one that reads no files.
std::vector<std::string> examples_of(const Operation& operation) {
  std::string line = "attnlab op " + operation.name;
  bool reads = false;
  for (const InputInfo& input : operation.inputs) {
    if (!input.required) continue;
    line += fmt::format(" --{} {}.npy", input.name, input.name);
    reads = true;
  }
  return reads ? std::vector<std::string>{line} : std::vector<std::string>{};
}

Command operation_command(const Operation& operation) {
  Command command;
  command.name = operation.name;
  command.section = operation.family;
  command.summary = operation.summary;
  command.purpose = operation.details;
  command.examples = examples_of(operation);
  command.epilogue = results_help(operation);
  command.start = [&operation] {
    struct State {
      std::shared_ptr<OperationCall> call;
      Presentation presentation;
    };
    auto state = std::make_shared<State>();
    state->call = start_call(operation);
    state->presentation.plain_grid = true;
    auto invocation = std::make_unique<Invocation>();
    declare_call(invocation->options, *state->call);
    OptionSet presentation;
    declare_presentation(presentation, state->presentation);
    invocation->options.adopt(presentation);  // an input of the same name comes first
    invocation->run = [state](const Environment& environment) {
      Result result;
      result.name = state->call->operation->name;
      result.report = report_of(compute(*state->call, read_inputs(*state->call)));
      result.values_only = true;
      return present(result, state->presentation, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace

Command op_command() {
  Command command;
  command.name = "op";
  command.section = "Your own arrays";
  command.summary = "one operation on arrays from .npy, .csv, .json or .safetensors files";
  command.purpose =
      "Alone it lists the operations; op OPERATION --help gives the arrays with their shapes and the "
      "parameters. "
      "FILE:NAME picks a tensor of a .safetensors file, - is standard input.";
  command.examples = {"attnlab op attention --query q.npy --key k.npy --value v.npy --causal",
                      "attnlab op rope-frequencies --dim 64 --scaling yarn --factor 4 --format json",
                      "attnlab op norm --x x.csv --kind rms --format csv"};
  for (const Operation& operation : operations()) command.subcommand_names.push_back(operation.name);
  command.subcommand = [](const std::string& name) { return operation_command(*find_operation(name)); };
  command.start = [] {
    auto presentation = std::make_shared<Presentation>();
    auto invocation = std::make_unique<Invocation>();
    declare_presentation(invocation->options, *presentation);
    invocation->run = [presentation](const Environment& environment) {
      return list(*presentation, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
