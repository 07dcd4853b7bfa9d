#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "lab/version.hpp"

namespace attnlab {
namespace {

constexpr std::size_t option_column = 28;  // where the help of an option starts

std::string entry(const std::string& left, const std::string& right, std::size_t column) {
  const std::string block = wrapped(right, column);
  if (left.size() + 2 > column) return left + '\n' + block;
  return left + block.substr(left.size());
}

}  // namespace

std::string usage_line(const Command& command, const std::string& called) {
  std::string line = called;
  if (!command.subcommand_names.empty()) line += " [OPERATION]";
  const Positional& positional = command.positional;
  if (positional.max > 0 && command.subcommand_names.empty()) {
    const std::string dots = positional.max > 1 ? "..." : "";
    line += positional.min > 0 ? fmt::format(" {}{}", positional.name, dots)
                               : fmt::format(" [{}{}]", positional.name, dots);
  }
  return line + " [OPTION...]";
}

std::string option_usage(const Option& option) {
  const std::string letter = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "";
  const std::string value = option.is_flag() ? "" : " " + option.value_name;
  return fmt::format("{}--{}{}", letter, option.name, value);
}

std::string option_help(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += fmt::format(": {}", fmt::join(option.choices, ", "));
  std::string facts;
  if (!option.range.empty()) facts = option.range;
  if (!option.default_text.empty())
    facts += (facts.empty() ? "default " : "; default ") + option.default_text;
  return facts.empty() ? text : fmt::format("{} ({})", text, facts);
}

std::string exit_status_help() {
  return "0 done, 1 a claim or comparison failed, 2 wrong use, 3 input or output failed, 4 a fault of the "
         "program.";
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out;
  std::size_t start = 0;
  while (start <= text.size()) {  // one paragraph a line of the text
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string line = margin;
    std::size_t at = start;
    while (at < end) {
      const std::size_t blank = std::min(text.find(' ', at), end);
      const std::string word = text.substr(at, blank - at);
      at = blank + 1;
      if (line.size() > indent && line.size() + 1 + word.size() > width) {
        out += line + '\n';
        line = margin;
      }
      line += (line.size() > indent ? " " : "") + word;
    }
    out += (line.size() > indent ? line : "") + '\n';
    start = end + 1;
  }
  return out;
}

std::string program_help() {
  std::string out = fmt::format(
      "attnlab {}: a lesson on attention and transformers that runs\n\n"
      "usage: attnlab COMMAND [OPTION...]\n"
      "       attnlab COMMAND --help\n",
      version());
  std::string section;
  for (const Command& command : commands()) {
    if (command.section != section) {
      section = command.section;
      out += '\n' + section + '\n';
    }
    out += entry("  " + command.name, command.summary, 20);
  }
  return out + '\n' + wrapped("Exit status: " + exit_status_help(), 0);
}

std::string command_help(const Command& command, const std::string& called) {
  std::string out = wrapped(fmt::format("{}: {}", called, command.summary), 0);
  out += "\nusage: " + usage_line(command, called) + '\n';
  if (!command.purpose.empty()) out += '\n' + wrapped(command.purpose, 0);
  if (!command.examples.empty()) {
    out += "\nexamples\n";
    for (const std::string& example : command.examples) out += "  " + example + '\n';
  }
  if (!command.positional.name.empty() && !command.positional.help.empty()) {
    out += "\narguments\n" + entry("  " + command.positional.name, command.positional.help, option_column);
  }
  if (!command.subcommand_names.empty()) {
    out += "\noperations\n" + wrapped(fmt::format("{}", fmt::join(command.subcommand_names, " ")), 2);
  }
  const std::unique_ptr<Invocation> invocation = command.start();
  if (!invocation->options.all().empty()) {
    out += "\noptions\n";
    for (const Option& option : invocation->options.all()) {
      const std::string margin(option.letter != 0 ? 2 : 6, ' ');
      out += entry(margin + option_usage(option), option_help(option), option_column);
    }
  }
  if (!command.epilogue.empty()) out += '\n' + command.epilogue;
  return out;
}

}  // namespace attnlab
