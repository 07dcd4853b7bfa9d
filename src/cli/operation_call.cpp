#include "cli/operation_call.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

// A result that is no array, as a table of one column.
std::vector<Cell> cells_of(const Value& value) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&value))
    return {words->begin(), words->end()};
  if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value))
    return {wholes->begin(), wholes->end()};
  if (const auto* wide = std::get_if<Int128>(&value)) return {*wide};
  if (const auto* real = std::get_if<double>(&value)) return {*real};
  throw Error(ErrorKind::fault, "a result of an operation is neither an array nor a number nor a list");
}

}  // namespace

std::shared_ptr<OperationCall> start_call(const Operation& operation) {
  auto call = std::make_shared<OperationCall>();
  call->operation = &operation;
  call->session = operation.start();
  call->files.resize(operation.inputs.size());
  return call;
}

void declare_call(OptionSet& options, OperationCall& call) {
  const std::vector<InputInfo>& inputs = call.operation->inputs;
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    options.file(
        inputs[n].name, call.files[n],
        fmt::format("{} {}{}", inputs[n].shape, inputs[n].help, inputs[n].required ? ", required" : ""));
  }
  options.adopt(call.session->options);
  if (!inputs.empty()) declare_array_input(options, call.reading);
}

Inputs read_inputs(const OperationCall& call) {
  const std::vector<InputInfo>& infos = call.operation->inputs;
  std::vector<std::string> missing;
  for (std::size_t n = 0; n < infos.size(); ++n) {
    if (infos[n].required && call.files[n].empty()) missing.push_back("--" + infos[n].name);
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("op {} needs {}: give the file of an array, see op {} --help",
                            call.operation->name, fmt::join(missing, ", "), call.operation->name));
  }
  const ReadOptions options = read_options(call.reading);
  const auto from_input = std::count(call.files.begin(), call.files.end(), "-");
  if (from_input > 1)
    throw Error(ErrorKind::usage, "standard input can be read for one array: give files for the others");
  // Standard input cannot tell its format; files beside it can.
  ReadOptions files = options;
  if (from_input > 0) files.format.reset();
  Inputs inputs;
  for (std::size_t n = 0; n < infos.size(); ++n) {
    if (call.files[n].empty()) continue;
    inputs.set(infos[n].name, read_array(call.files[n], call.files[n] == "-" ? options : files),
               fmt::format("--{} {}", infos[n].name, call.files[n]));
  }
  return inputs;
}

Results compute(const OperationCall& call, const Inputs& inputs) {
  try {
    return call.session->run(inputs);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    const std::string text = error.what();
    // Without arrays, the command line alone shows what is wrong.
    if (inputs.labels().empty())
      throw Error(ErrorKind::usage, fmt::format("op {}: {}", call.operation->name, text));
    if (text.starts_with("--")) throw;
    throw Error(ErrorKind::data, fmt::format("{} ({})", text, inputs.labels()));
  }
}

Report report_of(const Results& results) {
  Report report;
  for (const NamedResult& result : results) {
    if (const auto* array = std::get_if<Array>(&result.value)) {
      report.line(fmt::format("{} {}", result.name, shape_text(array->shape)));
      Grid grid{result.name, result.name, *array};
      grid.whole_numbers = result.whole_numbers;
      report.grid(std::move(grid));
      continue;
    }
    Table table{result.name, "", {{result.name}}};
    for (const Cell& cell : cells_of(result.value)) {
      report.line(fmt::format("{} {}", result.name, exact_text(cell)));
      table.rows.push_back({cell});
    }
    report.value(result.name, result.value);
    report.data(std::move(table));
  }
  return report;
}

std::string results_help(const Operation& operation) {
  std::string text = "results\n";
  for (const ResultInfo& result : operation.results)
    text += fmt::format("  {:<18} {}\n", result.name, result.shape);
  return text + "\nsource\n  " + operation.source + '\n';
}

}  // namespace attnlab
