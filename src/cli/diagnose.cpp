// `attnlab diagnose`: a caller's result beside the right one, and the known mistake that explains the
// difference.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/diagnosis_report.hpp"
#include "cli/operation_call.hpp"
#include "core/error.hpp"
#include "io/array_file.hpp"

namespace attnlab {
namespace {

constexpr std::uint64_t lessons_seed = 466;

Outcome present_values(Report report, const Presentation& presentation, const Environment& environment) {
  Result result;
  result.name = "diagnose";
  result.report = std::move(report);
  result.values_only = true;
  return present(result, presentation, environment);
}

struct DiagnoseCall {
  std::shared_ptr<OperationCall> call;
  Presentation presentation;
  std::string yours;
  std::string result;
  std::string discriminate;
};

// The arrays of a call by the names of their options.
ByteProducer arrays_file(const Trial& call) {
  auto content = std::make_shared<SafeTensors>();
  for (const InputInfo& info : call.operation().inputs) {
    if (call.inputs.has(info.name))
      content->tensors.push_back({info.name, to_typed(call.inputs.array(info.name))});
  }
  return [content](const ByteSink& sink) { write_safetensors(*content, sink); };
}

Outcome run(const DiagnoseCall& state, const Environment& environment) {
  if (state.yours.empty()) {
    throw Error(ErrorKind::usage, fmt::format("diagnose {} needs --yours: the file of your own result",
                                              state.call->operation->name));
  }
  if (!state.discriminate.empty() && !state.discriminate.ends_with(".safetensors")) {
    throw Error(ErrorKind::usage,
                fmt::format("--discriminate {}: several arrays go into one file: give it a name that "
                            "ends in .safetensors",
                            state.discriminate));
  }
  const Inputs inputs = read_inputs(*state.call);
  const Array yours = read_array(state.yours, read_options(state.call->reading));
  compute(*state.call, inputs);  // errors of the math name the files
  const Trial trial(*state.call->operation, state.call->session->options, inputs);
  const Diagnosis found = diagnose(trial, state.result, yours, "--yours " + state.yours);
  Report report = diagnosis_report(found);
  std::vector<OutputFile> files;
  if (!state.discriminate.empty()) {
    const Discrimination told =
        found.explanations.size() < 2 ? Discrimination{} : tell_apart(trial, found, lessons_seed);
    tell_discrimination(report, found, told, state.discriminate);
    if (told.call) files.push_back({state.discriminate, arrays_file(*told.call)});
  }
  Outcome outcome = present_values(std::move(report), state.presentation, environment);
  outcome.files = std::move(files);
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
    own.file("discriminate", state->discriminate,
             "where several mistakes fit, a .safetensors file to write with arrays that tell them apart");
    declare_presentation(own, state->presentation);
    invocation->options.adopt(own);
    invocation->run = [state](const Environment& environment) { return run(*state, environment); };
    return invocation;
  };
  return command;
}

Outcome show(const std::string& name, const Presentation& presentation, const Environment& environment) {
  const Mistake* mistake = find_mistake(name);
  if (mistake == nullptr) {
    std::vector<std::string> names;
    for (const Mistake& known : mistakes()) names.push_back(known.name);
    const std::string near = nearest_word(name, names);
    const std::string hint = near.empty() ? ";" : fmt::format(": did you mean {}?", near);
    throw Error(
        ErrorKind::usage,
        fmt::format("--show {}: there is no mistake of that name{} diagnose --list shows all", name, hint));
  }
  return present_values(exhibit_report(*mistake), presentation, environment);
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
      "attnlab diagnose --show causal-alignment", "attnlab diagnose --list attention"};
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
      std::string show;
    };
    auto state = std::make_shared<State>();
    auto invocation = std::make_unique<Invocation>();
    invocation->options.flag("list", state->list, "list the known mistakes, those of an operation or all");
    invocation->options.text("show", state->show, "NAME",
                             "a mistake beside the right answer, on the lesson's data where it shows there");
    declare_presentation(invocation->options, state->presentation);
    Invocation* const called = invocation.get();
    invocation->run = [state, called](const Environment& environment) {
      if (!state->show.empty()) return show(state->show, state->presentation, environment);
      if (!state->list)
        throw Error(ErrorKind::usage,
                    "diagnose needs an operation, as op takes it, or --list or --show: see diagnose --help");
      const std::string operation = called->arguments.empty() ? "" : called->arguments[0];
      return present_values(catalogue_report(operation), state->presentation, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
