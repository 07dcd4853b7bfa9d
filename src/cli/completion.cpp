// `attnlab completion SHELL`: the script with which a shell completes command lines of attnlab, written from
// the declarations that --help shows.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "lab/counted_model.hpp"

namespace attnlab {
namespace {

// What a shell may offer for a value: these words, and files if it is one.
struct Values {
  std::vector<std::string> words;
  bool files = false;
  std::vector<std::string> extensions = {};  // none for all files

  bool empty() const { return words.empty() && !files; }
};

// An option or argument says by the name of its value what it is: "FILE", "MODEL", "FILE|MODEL". Whatever is
// read is offered by the extensions of what attnlab reads; a file to write can be any.
Values named_values(const std::string& value_name, bool is_written) {
  Values values;
  if (value_name.find("MODEL") != std::string::npos) values.words = embedded_model_names();
  values.files = value_name.find("FILE") != std::string::npos;
  if (!is_written) values.extensions = {"npy", "csv", "tsv", "json", "safetensors"};
  return values;
}

Values values_of(const Option& option) {
  if (!option.choices.empty()) return {option.choices};
  return named_values(option.value_name, option.name == "output");
}

Values values_of(const Positional& positional) {
  if (!positional.choices.empty()) return {positional.choices};
  return named_values(positional.name, false);
}

// A command, or one below it, whose arguments are completed.
struct Place {
  std::string words;  // "scaling", "op attention"
  Command command;
  std::vector<Option> options = {};  // --help first
};

Place place_of(const std::string& words, const Command& command) {
  Place place{words, command};
  Option& help = place.options.emplace_back();
  help.name = "help";
  help.letter = 'h';
  help.help = "show how it is called";
  const std::unique_ptr<Invocation> invocation = command.start();
  place.options.insert(place.options.end(), invocation->options.all().begin(),
                       invocation->options.all().end());
  return place;
}

std::vector<Place> all_places() {
  std::vector<Place> places;
  for (const Command& command : commands()) {
    places.push_back(place_of(command.name, command));
    for (const std::string& name : command.subcommand_names)
      places.push_back(place_of(command.name + " " + name, command.subcommand(name)));
  }
  return places;
}

/// "op|diagnose": the commands that have others below them.
std::string commands_with_subcommands() {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (!command.subcommand_names.empty()) names.push_back(command.name);
  }
  return fmt::format("{}", fmt::join(names, "|"));
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// In single quotes, as bash and zsh read them.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }

// As typed: "--seq-len" and "-T".
std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> all{"--" + option.name};
  if (option.letter != 0) all.push_back({'-', option.letter});
  return all;
}

// bash

std::string bash_answer(const Values& values) {
  std::string answer;
  if (!values.words.empty())
    answer += fmt::format(" words={}", quoted(fmt::format("{}", fmt::join(values.words, " "))));
  if (values.files) {
    answer += values.extensions.empty()
                  ? " files='*'"
                  : fmt::format(" files={}", quoted(fmt::format("{}", fmt::join(values.extensions, " "))));
  }
  return answer;
}

// What bash offers behind an option, as branches `pattern|pattern) answer ;;`. An option that means the same
// wherever it exists has one pattern for all places.
std::string bash_option_values(const std::vector<Place>& places) {
  struct Use {
    std::string place;
    bool is_flag;
    std::string answer;
  };
  std::map<std::string, std::vector<Use>> uses_of;
  for (const Place& place : places) {
    for (const Option& option : place.options) {
      for (const std::string& spelling : spellings(option))
        uses_of[spelling].push_back({place.words, option.is_flag(), bash_answer(values_of(option))});
    }
  }
  std::map<std::string, std::vector<std::string>> patterns_of;
  for (const auto& [spelling, uses] : uses_of) {
    const bool everywhere = std::all_of(uses.begin(), uses.end(), [&first = uses[0]](const Use& use) {
      return use.is_flag == first.is_flag && use.answer == first.answer;
    });
    for (const Use& use : uses) {
      if (use.is_flag) continue;
      patterns_of[use.answer].push_back(everywhere ? "*" + quoted(" " + spelling)
                                                   : quoted(use.place + " " + spelling));
      if (everywhere) break;
    }
  }
  std::string branches;
  for (const auto& [answer, patterns] : patterns_of)
    branches += fmt::format("    {}){} ;;\n", fmt::join(patterns, "|"), answer);
  return branches;
}

std::string bash_place(const Place& place) {
  std::vector<std::string> options;
  for (const Option& option : place.options) options.push_back("--" + option.name);
  Values arguments = values_of(place.command.positional);
  for (const std::string& name : place.command.subcommand_names) arguments.words.push_back(name);
  return fmt::format("    {}) options={}{} ;;\n", quoted(place.words),
                     quoted(fmt::format("{}", fmt::join(options, " "))), bash_answer(arguments));
}

std::string bash_script() {
  const std::vector<Place> places = all_places();
  std::string script = R"(# Completion of attnlab's command line for bash, written by: attnlab completion bash
_attnlab() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local place=${COMP_WORDS[1]} options='' words='' files='' file
  # bash cuts --name=value into three words.
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $place in
)";
  script += fmt::format("    {})\n", commands_with_subcommands());
  script +=
      R"(      if ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[2]} != -* ]]; then place+=" ${COMP_WORDS[2]}"; fi ;;
  esac
  if ((COMP_CWORD == 1)); then place=''; fi
  # Of the place: its options, the words its arguments can be, and the extensions of files they can be.
  case $place in
)";
  script += fmt::format("    '') options='--help --version' words={} ;;\n",
                        quoted(fmt::format("{}", fmt::join(command_names(), " "))));
  for (const Place& place : places) script += bash_place(place);
  script += R"(  esac
  local argument_words=$words argument_files=$files
  words='' files=''
  # Of the value of the option before the cursor.
  case "$place $before" in
)";
  script += bash_option_values(places);
  script += R"(    *)
      if [[ $word == -* ]] || [[ -z $argument_words$argument_files ]]; then
        words=$options
      else
        words=$argument_words files=$argument_files
      fi ;;
  esac
  COMPREPLY=()
  while IFS= read -r file; do
    COMPREPLY+=("$file")
  done < <(compgen -W "$words" -- "$word")
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do
      if [[ -d $file || $files == '*' || " $files " == *" ${file##*.} "* ]]; then COMPREPLY+=("$file"); fi
    done < <(compgen -f -- "$word")
  fi
}
complete -F _attnlab attnlab
)";
  return script;
}

// zsh

// What stands in brackets or between colons of a specification of _arguments.
std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// ":NAME:ACTION" of _arguments.
std::string zsh_value(const std::string& name, const Values& values) {
  const std::string words = fmt::format("({})", fmt::join(values.words, " "));
  std::string files = "_files";
  if (!values.extensions.empty()) files += fmt::format(" -g \"*.({})\"", fmt::join(values.extensions, "|"));
  std::string action = " ";
  if (!values.words.empty() && values.files) {
    action = fmt::format("{{_alternative \"words:word:{}\" {}}}", words, quoted("files:file:" + files));
  } else if (values.files) {
    action = files;
  } else if (!values.words.empty()) {
    action = words;
  }
  return fmt::format(":{}:{}", zsh_escaped(name), action);
}

std::string zsh_option(const Option& option) {
  const std::vector<std::string> all = spellings(option);
  std::string lines;
  for (const std::string& spelling : all) {
    const bool is_short = spelling[1] != '-';
    std::string entry = fmt::format("({}){}", fmt::join(all, " "), spelling);
    if (!option.is_flag()) entry += is_short ? "+" : "=";
    entry += fmt::format("[{}]", zsh_escaped(option.help));
    if (!option.is_flag()) entry += zsh_value(option.value_name, values_of(option));
    lines += fmt::format("        {}\n", quoted(entry));
  }
  return lines;
}

std::string zsh_place(const Place& place) {
  std::string lines = fmt::format("    {})\n      specs=(\n", quoted(place.words));
  for (const Option& option : place.options) lines += zsh_option(option);
  const Positional& positional = place.command.positional;
  if (positional.max > 0) {
    lines += fmt::format("        {}\n", quoted((positional.max > 1 ? "*" : "") +
                                                zsh_value(positional.name, values_of(positional))));
  }
  return lines + "      ) ;;\n";
}

std::string zsh_entry(const std::string& name, const std::string& summary) {
  return fmt::format("      {}\n", quoted(name + ":" + summary));
}

std::string zsh_script() {
  std::string script = R"(#compdef attnlab
# Completion of attnlab's command line for zsh, written by: attnlab completion zsh
_attnlab() {
  local place=$words[2]
  local -a entries specs
  if (( CURRENT == 2 )); then
    entries=(
)";
  for (const Command& command : commands()) script += zsh_entry(command.name, command.summary);
  script += R"(    )
    _describe -t commands command entries
    _arguments '--help[show the commands]' '--version[show the version]'
    return
  fi
  shift words
  (( CURRENT-- ))
  case $place in
)";
  for (const Command& command : commands()) {
    if (command.subcommand_names.empty()) continue;
    script += fmt::format("    {})\n      entries=(\n", command.name);
    for (const std::string& name : command.subcommand_names)
      script += "  " + zsh_entry(name, command.subcommand(name).summary);
    script += "      ) ;;\n";
  }
  script += R"(  esac
  if (( $#entries && CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe -t operations operation entries
    return
  fi
  if (( $#entries )) && [[ $words[2] != -* ]]; then
    place+=" $words[2]"
    shift words
    (( CURRENT-- ))
  fi
  case $place in
)";
  for (const Place& place : all_places()) script += zsh_place(place);
  script += R"(  esac
  (( $#specs )) && _arguments $specs
}
if [[ $funcstack[1] == _attnlab ]]; then
  _attnlab "$@"
else
  compdef _attnlab attnlab
fi
)";
  return script;
}

// fish

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// The switches of `complete` for a value.
std::string fish_value(const Values& values) {
  std::string offers = fmt::format("{}", fmt::join(values.words, " "));
  if (values.files && !values.extensions.empty())
    offers +=
        fmt::format("{}(__attnlab_files {})", offers.empty() ? "" : " ", fmt::join(values.extensions, " "));
  std::string switches = values.files && values.extensions.empty() ? " -r -F" : " -x";
  if (!offers.empty()) switches += " -a " + fish_quoted(offers);
  return switches;
}

std::string fish_place(const Place& place) {
  const std::string start =
      fmt::format("complete -c attnlab -n {}", fish_quoted("__attnlab_at " + place.words));
  std::string lines;
  for (const std::string& name : place.command.subcommand_names)
    lines +=
        fmt::format("{} -a {} -d {}\n", start, name, fish_quoted(place.command.subcommand(name).summary));
  const Values arguments = values_of(place.command.positional);
  if (!arguments.empty()) lines += start + fish_value(arguments) + '\n';
  for (const Option& option : place.options) {
    const std::string letter = option.letter != 0 ? fmt::format(" -s {}", option.letter) : "";
    const std::string value = option.is_flag() ? "" : fish_value(values_of(option));
    lines += fmt::format("{}{} -l {}{} -d {}\n", start, letter, option.name, value, fish_quoted(option.help));
  }
  return lines;
}

std::string fish_script() {
  std::string script = R"(# Completion of attnlab's command line for fish, written by: attnlab completion fish

# True when the words before the cursor call just this command.
function __attnlab_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l place $words[1]
    switch "$place"
        case )";
  script += replaced(commands_with_subcommands(), "|", " ");
  script += R"(
            if set -q words[2]; and not string match -q -- '-*' $words[2]
                set -a place $words[2]
            end
    end
    test "$place" = "$argv"
end

# Folders, and files of these extensions, that go on from the word at the cursor.
function __attnlab_files
    set -l word (commandline -ct | string replace -r -- '^--[^=]*=' '')
    set -l endings (string join '|' $argv)
    string match -r -- "^.*(?:/|\.(?:$endings))\$" (complete -C "__fish_command_without_completions $word")
end

complete -c attnlab -f
complete -c attnlab -n __attnlab_at -l help -d 'show the commands'
complete -c attnlab -n __attnlab_at -l version -d 'show the version'
)";
  for (const Command& command : commands()) {
    script += fmt::format("complete -c attnlab -n __attnlab_at -a {} -d {}\n", command.name,
                          fish_quoted(command.summary));
  }
  for (const Place& place : all_places()) script += fish_place(place);
  return script;
}

}  // namespace

Command completion_command() {
  Command command;
  command.name = "completion";
  command.section = "Presentation";
  command.summary = "what bash, zsh or fish needs to complete commands and options";
  command.purpose =
      "Prints a script for the shell. It offers commands, operations, options, the words an option takes, "
      "embedded models, and files by their extension.";
  command.examples = {"source <(attnlab completion bash)", "attnlab completion zsh > ~/.zfunc/_attnlab",
                      "attnlab completion fish > ~/.config/fish/completions/attnlab.fish"};
  command.positional = {
      .name = "SHELL", .help = "bash, zsh or fish", .choices = {"bash", "zsh", "fish"}, .min = 1, .max = 1};
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    invocation->run = [&arguments = invocation->arguments](const Environment&) -> Outcome {
      const std::string& shell = arguments.front();
      if (shell == "bash") return {.output = bash_script()};
      if (shell == "zsh") return {.output = zsh_script()};
      return {.output = fish_script()};
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
