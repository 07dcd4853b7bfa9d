// An experiment as a command: its own options, those that every experiment has, and the run.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/experiment_runs.hpp"
#include "core/error.hpp"
#include "experiments/all.hpp"
#include "io/utf8.hpp"
#include "lab/difference.hpp"

namespace attnlab {
namespace {

struct ExperimentCall {
  std::unique_ptr<Session> session;
  Presentation presentation;
  std::string seed = "466";
  std::string tokens;
  bool against_default = false;
  bool check = false;
  std::optional<int> threads;
};

std::vector<std::string> token_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    if (printable(word) != word)
      throw Error(ErrorKind::usage, fmt::format("--tokens: {} is no printable UTF-8", excerpt(word)));
    words.push_back(word);
  }
  return words;
}

// A value as one would type it behind its option.
std::string typed_text(const Value& value) {
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value))
    return fmt::format("{}", fmt::join(*whole, ","));
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    std::vector<std::string> texts;
    for (const double real : *reals) texts.push_back(shortest(real));
    return fmt::format("{}", fmt::join(texts, ","));
  }
  return std::visit(
      [](const auto& scalar) -> std::string {
        if constexpr (std::is_constructible_v<Cell, decltype(scalar)>) {
          return exact_text(Cell(scalar));
        } else {
          return "";
        }
      },
      value);
}

// Where a sequence is the words of --tokens, it is as long as they are many, and says so in the parameters.
void fit_to_tokens(const Experiment& experiment, const std::vector<std::string>& tokens, OptionSet& options) {
  const std::vector<std::string> sequences = {"attention", "equivariance", "sinusoidal", "positions"};
  if (tokens.empty() || std::find(sequences.begin(), sequences.end(), experiment.name) == sequences.end())
    return;
  const std::string count = std::to_string(tokens.size());
  const Option& seq_len = *options.find("seq-len");
  const std::string given = typed_text(seq_len.get());
  if (given != seq_len.default_text && given != count)
    throw Error(ErrorKind::usage, fmt::format("--tokens: {} words where --seq-len is {}", count, given));
  seq_len.set(count);
}

Context context_of(const Experiment& experiment, const ExperimentCall& call, const Environment& environment) {
  Context context;
  context.seed = parse_seed(call.seed);
  context.precision = call.presentation.precision;
  context.tokens = token_words(call.tokens);
  context.threads = call.threads.value_or(experiment.any_threads ? environment.cores : 1);
  context.slow = true;  // who asks for one experiment waits for it
  if (environment.progress && !call.presentation.quiet) context.progress = environment.progress;
  return context;
}

// All options that the result depends on, as JSON shows them.
std::vector<std::pair<std::string, Value>> parameters_of(const OptionSet& options) {
  std::vector<std::pair<std::string, Value>> parameters;
  for (const Option& option : options.all()) {
    if (option.in_parameters) parameters.emplace_back(option.name, option.get());
  }
  return parameters;
}

// In quotes where a shell would take it apart.
std::string shell_word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.,:/+=").find(c) != std::string_view::npos;
  });
  return plain && !text.empty() ? text : fmt::format("'{}'", fmt::join(split(text, '\''), "'\\''"));
}

// The command line that gives the same result: what differs from the defaults.
std::string command_line(const std::string& name, const OptionSet& options, const std::string& tokens) {
  std::string line = "attnlab " + name;
  for (const Option& option : options.all()) {
    if (!option.in_parameters) continue;
    const std::string text = typed_text(option.get());
    if (option.is_flag()) {
      if (text == "true") line += " --" + option.name;
    } else if (text != option.default_text) {
      line += fmt::format(" --{} {}", option.name, shell_word(text));
    }
  }
  if (!tokens.empty()) line += " --tokens " + shell_word(tokens);
  return line;
}

// Sizes of an experiment come from the command line, so what does not fit is wrong use, whichever layer
// noticed.
Report run_experiment(const Experiment& experiment, const Session& session, const Context& context) {
  try {
    return run_session(experiment, session, context);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::data) throw Error(ErrorKind::usage, error.what());
    throw;
  }
}

std::string claims_help(const Experiment& experiment) {
  std::string out;
  if (!experiment.claims.empty()) {
    out += "claims\n";
    for (const Claim& claim : experiment.claims)
      out += wrapped(fmt::format("{}: {}", claim.id, claim.text), 2);
    out += '\n';
  }
  return out + "source\n" + wrapped(experiment.source, 2);
}

Outcome run(const Experiment& experiment, ExperimentCall& call, OptionSet& options,
            const Environment& environment) {
  const Context context = context_of(experiment, call, environment);
  fit_to_tokens(experiment, context.tokens, options);
  Result result = experiment_result(experiment, run_experiment(experiment, *call.session, context));
  result.command = command_line(experiment.name, options, call.tokens);
  result.parameters = parameters_of(options);
  if (call.against_default) {
    const std::unique_ptr<Session> default_session = experiment.start();
    Context default_context = context;
    default_context.seed = Context().seed;
    default_context.tokens.clear();
    add_difference(result.report, run_experiment(experiment, *default_session, default_context));
  }
  Outcome outcome = present(result, call.presentation, environment);
  for (const std::string& text : result.report.disagreements()) {
    outcome.status = 1;
    outcome.notes += fmt::format("attnlab: {}\n", text);
  }
  if (call.check && !result.report.passed()) {
    outcome.status = 1;
    for (const Check& check : result.report.checks()) {
      if (!check.passed()) outcome.notes += fmt::format("attnlab: claim {} fails\n", check.full_id());
    }
  }
  return outcome;
}

}  // namespace

Command experiment_command(const std::string& name) {
  const Experiment& experiment = *experiments::find(name);
  Command command;
  command.name = experiment.name;
  command.section = experiment.section;
  command.summary = experiment.summary;
  command.purpose = experiment.purpose;
  command.examples = experiment.examples;
  command.epilogue = claims_help(experiment);
  command.start = [&experiment] {
    auto invocation = std::make_unique<Invocation>();
    auto call = std::make_shared<ExperimentCall>();
    call->session = experiment.start();
    OptionSet& options = invocation->options;
    options.adopt(call->session->options);
    options.text("seed", call->seed, "N", "seed of the NumPy-compatible generator");
    declare_presentation(options, call->presentation);
    options.text("tokens", call->tokens, "TEXT", "labels of the positions, \"the cat sat\"").no_parameter();
    options
        .flag("against-default", call->against_default,
              "beside it, the difference to the lesson's own setting")
        .no_parameter();
    options.flag("explain", call->presentation.explain, "after it, how it came about and each claim")
        .no_parameter();
    options.flag("check", call->check, "exit 1 when a claim fails").no_parameter();
    options
        .integer("threads", call->threads, 1, 1024,
                 "threads; unless given all cores where only speed depends on them, else 1")
        .no_parameter();
    invocation->run = [&experiment, call, &options](const Environment& environment) {
      return run(experiment, *call, options, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
