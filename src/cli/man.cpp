// `attnlab man [COMMAND]`: manual pages, written from the declarations that --help shows.
#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "lab/version.hpp"

namespace attnlab {
namespace {

// Text that troff sets as it is, one line of it.
std::string escaped(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";  // else a request
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':  // a bare one is set as a hyphen, which no shell takes
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string header(const std::string& name, const std::string& summary) {
  return fmt::format(
      ".TH \"{}\" \"1\" \"\" \"attnlab {}\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n",
      escaped(upper(name)), version(), escaped(name), escaped(summary));
}

std::string section(const std::string& title) { return ".SH " + escaped(upper(title)) + '\n'; }

std::string entry(const std::string& term, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", escaped(term), escaped(text));
}

// The lines of a text, each set by `set`.
template <class Set>
std::string each_line(const std::string& text, Set set) {
  std::string out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    out += set(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

std::string paragraphs(const std::string& text) {
  bool first = true;  // stands behind a heading, which starts a paragraph itself
  return each_line(text, [&first](const std::string& line) {
    return (std::exchange(first, false) ? "" : ".PP\n") + escaped(line) + '\n';
  });
}

std::string as_typed(const std::vector<std::string>& lines) {
  std::string out = ".nf\n";
  for (const std::string& line : lines) out += escaped(line) + '\n';
  return out + ".fi\n";
}

// Help's own layout: headings at the margin, each above lines that are set as they are.
std::string with_headings(const std::string& text) {
  bool in_lines = false;
  std::string out = each_line(text, [&](const std::string& line) {
    std::string set;
    if (line.empty()) return set;
    const bool is_heading = line[0] != ' ';
    if (in_lines == is_heading) set += in_lines ? ".fi\n" : ".nf\n";
    in_lines = !is_heading;
    return set + (is_heading ? section(line) : escaped(line.substr(line.find_first_not_of(' '))) + '\n');
  });
  return in_lines ? out + ".fi\n" : out;
}

std::string exit_status() { return section("exit status") + paragraphs(exit_status_help()); }

std::string program_page() {
  std::string page = header("attnlab", "a lesson on attention and transformers that runs");
  page += section("synopsis") + ".B attnlab\n.I COMMAND\n[OPTION...]\n.br\n.B attnlab \\-\\-version\n";
  page +=
      section("description") +
      paragraphs(
          "Each experiment is a command. Without options it is the lesson's own setting; its options vary "
          "one "
          "choice at a time, and its claims are measured. attnlab COMMAND --help says how each is called; "
          "so does its manual page, attnlab-COMMAND(1).");
  page += section("commands");
  std::string heading;
  for (const Command& command : commands()) {
    if (command.section != heading) {
      heading = command.section;
      page += ".SS " + escaped(heading) + '\n';
    }
    page += entry(command.name, command.summary);
  }
  page += exit_status();
  page += section("environment") + entry("NO_COLOR", "set to anything: no colours, whatever --color says") +
          entry("COLORTERM", "truecolor or 24bit: colours of 24 bits in the terminal");
  page += section("examples") + as_typed({"attnlab replay --check", "attnlab attention --explain",
                                          "attnlab scaling --plot", "attnlab verify"});
  return page;
}

std::string command_page(const Command& command) {
  const std::string called = "attnlab " + command.name;
  std::string page = header("attnlab-" + command.name, command.summary);
  page += section("synopsis") + escaped(usage_line(command, called)) + '\n';
  if (!command.purpose.empty()) page += section("description") + paragraphs(command.purpose);
  if (!command.positional.name.empty()) {
    page += section("arguments") + entry(command.positional.name, command.positional.help);
  }
  if (!command.subcommand_names.empty()) {
    page += section("operations");
    for (const std::string& name : command.subcommand_names)
      page += entry(name, command.subcommand(name).summary);
  }
  const std::unique_ptr<Invocation> invocation = command.start();
  page += section("options");
  for (const Option& option : invocation->options.all())
    page += entry(option_usage(option), option_help(option));
  page += entry("-h, --help", "show how it is called");
  if (!command.epilogue.empty()) page += with_headings(command.epilogue);
  if (!command.examples.empty()) page += section("examples") + as_typed(command.examples);
  return page + exit_status() + section("see also") + ".BR attnlab (1)\n";
}

}  // namespace

Command man_command() {
  Command command;
  command.name = "man";
  command.section = "Presentation";
  command.summary = "the manual page of attnlab or of one command";
  command.purpose =
      "Prints the page in troff's language, as man reads it. Where attnlab is installed, man attnlab and man "
      "attnlab-COMMAND show the same pages.";
  command.examples = {"attnlab man | man -l -", "attnlab man scaling | man -l -",
                      "attnlab man scaling > attnlab-scaling.1"};
  command.positional = {.name = "COMMAND",
                        .help = "a command; attnlab itself unless given",
                        .choices = command_names(),
                        .max = 1};
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    invocation->run = [&arguments = invocation->arguments](const Environment&) -> Outcome {
      if (arguments.empty()) return {.output = program_page()};
      return {.output = command_page(*find_command(arguments.front()))};
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab
