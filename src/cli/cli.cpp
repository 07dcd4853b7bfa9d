// The only file that knows CLI11. It cuts the command line into options and arguments; what an option means,
// and what is refused, stands where the option is declared.
#include "cli/cli.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "core/blas.hpp"
#include "core/error.hpp"
#include "core/kernels/cpu.hpp"
#include "io/utf8.hpp"
#include "lab/version.hpp"

namespace attnlab {
namespace {

[[noreturn]] void wrong_use(const std::string& text) { throw Error(ErrorKind::usage, text); }

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest_word(word, candidates);
  return near.empty() ? "" : fmt::format("did you mean {}? ", near);
}

bool takes_value(const OptionSet& options, const std::string& argument) {
  return std::any_of(options.all().begin(), options.all().end(), [&](const Option& option) {
    return !option.is_flag() && (argument == "--" + option.name ||
                                 (option.letter != 0 && argument == std::string{'-', option.letter}));
  });
}

// CLI11 would take the value of "--check=no" for a yes.
void refuse_value_of_flag(const OptionSet& options, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  if (name.size() == argument.size()) return;
  const auto refuse = [&] {
    wrong_use(fmt::format("{}: it takes no value; leave {} away", name, argument.substr(name.size())));
  };
  if (name == "--help" || name == "-h") refuse();
  for (const Option& option : options.all()) {
    if (option.is_flag() &&
        (name == "--" + option.name || (option.letter != 0 && name == std::string{'-', option.letter}))) {
      refuse();
    }
  }
}

// CLI11 takes "-2" behind "--seq-len" for an option, and "--seq-len=" for one whose value comes next: say
// which it is.
std::vector<std::string> join_values(const std::vector<std::string>& arguments, const OptionSet& options) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (takes_value(options, argument)) {
      if (i + 1 == arguments.size()) wrong_use(fmt::format("{}: a value is missing behind it", argument));
      const std::string& value = arguments[++i];
      if (value.empty()) wrong_use(fmt::format("{}: its value is empty", argument));
      const bool is_short = argument[1] != '-';
      joined.push_back(fmt::format("{}{}{}", argument, is_short ? "" : "=", value));
      continue;
    }
    refuse_value_of_flag(options, argument);
    if (argument.starts_with("--") && argument.ends_with("=")) {
      wrong_use(fmt::format("{}: its value is empty", argument.substr(0, argument.size() - 1)));
    }
    joined.push_back(argument);
  }
  return joined;
}

void refuse_unknown_option(const std::string& argument, const OptionSet& options, const std::string& called) {
  std::vector<std::string> names{"--help"};
  for (const Option& option : options.all()) names.push_back("--" + option.name);
  const std::string name = argument.substr(0, argument.find('='));
  wrong_use(fmt::format("{} is an unknown option of {}: {}see {} --help", name, called,
                        did_you_mean(name, names), called));
}

void check_positionals(const Command& command, const Invocation& invocation, const std::string& called) {
  const Positional& positional = command.positional;
  const std::vector<std::string>& words = invocation.arguments;
  if (words.size() > positional.max) {
    const std::string& extra = words[positional.max];
    if (positional.max == 0)
      wrong_use(fmt::format("{}: {} takes no argument; see {} --help", extra, called, called));
    wrong_use(fmt::format("{}: {} takes at most {} {}", extra, called, positional.max, positional.name));
  }
  if (words.size() < positional.min) {
    wrong_use(fmt::format("{} needs {}: see {} --help", called, positional.name, called));
  }
  for (const std::string& word : words) {
    if (positional.choices.empty() ||
        std::find(positional.choices.begin(), positional.choices.end(), word) != positional.choices.end()) {
      continue;
    }
    wrong_use(fmt::format("{} {} is unknown: {}one of {}", positional.name, word,
                          did_you_mean(word, positional.choices), fmt::join(positional.choices, ", ")));
  }
}

// Fills in the invocation; true when help was asked for.
bool parse(const Command& command, Invocation& invocation, const std::vector<std::string>& arguments,
           const std::string& called) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  bool help = false;
  app.add_flag("-h,--help", help);
  std::vector<const Option*> given;
  for (const Option& option : invocation.options.all()) {
    const std::string names =
        (option.letter != 0 ? fmt::format("-{},", option.letter) : "") + "--" + option.name;
    if (option.is_flag()) {
      app.add_flag_callback(names, [&option, &given] {
        option.set("");
        given.push_back(&option);
      });
    } else {
      app.add_option_function<std::string>(names,
                                           [&option, &given](const std::string& text) {
                                             option.set(text);
                                             given.push_back(&option);
                                           })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  app.add_option("ARGUMENT", invocation.arguments);
  std::vector<std::string> joined = join_values(arguments, invocation.options);
  std::reverse(joined.begin(), joined.end());  // CLI11 takes the last first
  try {
    app.parse(joined);
  } catch (const CLI::ParseError& error) {
    wrong_use(fmt::format("{}: {}", called, error.what()));
  }
  if (help) return true;
  for (const std::string& extra : app.remaining()) {
    if (extra == "--") continue;  // it only says that no options follow
    if (extra.size() > 1 && extra[0] == '-') refuse_unknown_option(extra, invocation.options, called);
    invocation.arguments.push_back(extra);
  }
  check_positionals(command, invocation, called);
  for (const Option* option : given) {
    const std::string missing = invocation.options.missing_for(*option);
    if (!missing.empty()) wrong_use(fmt::format("--{} has no effect without {}", option->name, missing));
  }
  return false;
}

// What a report of a fault needs.
std::string version_text(const Environment& environment) {
  return fmt::format(
      "attnlab {}\n"
      "compiler: {}\n"
      "BLAS: {}, kernel {}\n"
      "instructions: {}\n"
      "threads: {}\n",
      version(), compiler(), blas_library(), blas_kernel(), name_of(best_instruction_set()),
      environment.cores);
}

Outcome run(const Command& command, const std::vector<std::string>& arguments, const std::string& called,
            const Environment& environment) {
  if (!arguments.empty() && !arguments[0].starts_with('-') && command.subcommand) {
    const std::vector<std::string>& names = command.subcommand_names;
    if (std::find(names.begin(), names.end(), arguments[0]) == names.end()) {
      wrong_use(fmt::format("{} {} is unknown: {}see {}", called, arguments[0],
                            did_you_mean(arguments[0], names), called));
    }
    return run(command.subcommand(arguments[0]), {arguments.begin() + 1, arguments.end()},
               called + " " + arguments[0], environment);
  }
  const std::unique_ptr<Invocation> invocation = command.start();
  if (parse(command, *invocation, arguments, called)) return {.output = command_help(command, called)};
  return invocation->run(environment);
}

Outcome dispatch(const std::vector<std::string>& arguments, const Environment& environment) {
  if (arguments.empty())
    wrong_use("a command is needed, such as attnlab attention; attnlab --help shows all of them");
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h") return {.output = program_help()};
  if (first == "--version") return {.output = version_text(environment)};
  const std::optional<Command> command = find_command(first);
  if (!command) {
    if (first.starts_with('-')) wrong_use(fmt::format("{} is an unknown option: see attnlab --help", first));
    wrong_use(fmt::format("{} is an unknown command: {}see attnlab --help", first,
                          did_you_mean(first, command_names())));
  }
  return run(*command, {arguments.begin() + 1, arguments.end()}, "attnlab " + first, environment);
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::data:
    case ErrorKind::io:
      return 3;
    case ErrorKind::fault:
      return 4;
  }
  return 4;
}

// One line, whatever a library put into its text, a file is called or was typed.
Outcome failure(int status, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return {.status = status, .notes = fmt::format("attnlab: {}\n", printable(text))};
}

}  // namespace

Outcome run_cli(const std::vector<std::string>& arguments, const Environment& environment) {
  try {
    return dispatch(arguments, environment);
  } catch (const Error& error) {
    return failure(exit_status(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return failure(3, "memory ran out: choose smaller sizes");
  } catch (const std::exception& error) {
    return failure(4, fmt::format("a fault of the program: {}", error.what()));
  }
}

}  // namespace attnlab
