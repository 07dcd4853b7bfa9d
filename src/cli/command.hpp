// A command as data: how it is called, what --help says, and what it does. Everything but cli.cpp is free of
// CLI11.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/writer.hpp"
#include "lab/options.hpp"
#include "render/render.hpp"

namespace attnlab {

/// What the program knows of where it runs. main fills it in; nothing else asks the system.
struct Environment {
  bool output_is_terminal = false;
  bool error_is_terminal = false;
  bool utf8 = false;        ///< the locale's characters are UTF-8
  bool no_color = false;    ///< NO_COLOR is set to anything
  bool true_color = false;  ///< the terminal shows 24-bit colours
  int columns = 80;         ///< of the terminal
  int cores = 1;
  std::string program_folder = {};  ///< where the program's file lies; empty when unknown
  /// Tells who waits how far a long run has come; empty when nobody watches.
  std::function<void(double fraction, std::string_view what)> progress = {};
};

/// A file that a command writes.
struct OutputFile {
  std::string path;
  ByteProducer produce;
};

/// What a command did: bytes for one destination, text for standard error, and the exit status.
struct Outcome {
  int status = 0;                      ///< 0 done, 1 a claim or comparison failed
  std::string output = {};             ///< written to `path`, whole or not at all
  std::string path = "-";              ///< "-" is standard output
  std::string notes = {};              ///< for standard error
  ByteProducer produce = {};           ///< instead of `output`, for what is too large to hold
  std::vector<OutputFile> files = {};  ///< written first, each whole or not at all
};

/// One call of a command: its options bound, its arguments to be filled in, then run.
struct Invocation {
  OptionSet options;
  std::vector<std::string> arguments;  ///< the words that belong to no option
  std::function<Outcome(const Environment&)> run;
  std::shared_ptr<void> state;  // what `options` and `run` refer to
};

/// The words after a command's name that belong to no option.
struct Positional {
  std::string name;  ///< as help shows it: "FILE"; empty when the command takes none
  std::string help = {};
  std::vector<std::string> choices = {};  ///< the words allowed; empty for any
  std::size_t min = 0;
  std::size_t max = 0;
};

struct Command {
  std::string name;
  std::string section;                     ///< the heading it stands under in `attnlab --help` and `list`
  std::string summary;                     ///< one line
  std::string purpose = {};                ///< paragraphs for --help
  std::vector<std::string> examples = {};  ///< command lines to copy
  std::string epilogue = {};               ///< more for --help, as it is
  Positional positional = {};
  std::function<std::unique_ptr<Invocation>()> start;
  /// The commands below this one (`op attention`); each has its own options. `start` serves a call without
  /// any.
  std::vector<std::string> subcommand_names = {};
  std::function<Command(const std::string&)> subcommand = {};
};

/// Options of every command that shows a result.
struct Presentation {
  std::string format;
  std::string table;
  bool list_tables = false;
  bool wide = false;
  std::string output = "-";
  bool plot = false;
  std::optional<int> precision;
  std::string color = "auto";
  bool quiet = false;
  bool explain = false;
  bool plain_grid = false;  ///< arrays in csv as plain grids; not an option but a trait of the command
};

/// Declares --output, --plot, --precision, --color and --quiet: where it goes and how it looks there.
void declare_destination(OptionSet& options, Presentation& presentation);
/// Declares --format, --table, --tables, --wide, --output, --plot, --precision, --color and --quiet.
void declare_presentation(OptionSet& options, Presentation& presentation);

/// What the terminal shows of a picture: colour and Unicode only where they can be seen.
TerminalStyle terminal_style(const Presentation& presentation, const Environment& environment);

/// The JavaScript that draws the figures of a page, which lies beside the program or where it was installed.
/// Throws Error(io) that says how to get it when it is not there.
std::string chart_script(const Environment& environment);

/// The result in the format asked for, for the destination asked for.
Outcome present(const Result& result, const Presentation& presentation, const Environment& environment);

/// All commands, in the order in which `attnlab --help` shows them.
const std::vector<Command>& commands();
/// Their names, in the same order.
std::vector<std::string> command_names();
/// Makes one command without making all of them; nothing when there is none of that name.
std::optional<Command> find_command(std::string_view name);

/// What `attnlab --help` and `attnlab COMMAND --help` print.
std::string program_help();
std::string command_help(const Command& command, const std::string& called);
/// "attnlab inspect FILE [OPTION...]".
std::string usage_line(const Command& command, const std::string& called);
/// "-T, --seq-len N".
std::string option_usage(const Option& option);
/// What it means, what is allowed, and the default.
std::string option_help(const Option& option);
/// What the exit statuses mean.
std::string exit_status_help();
/// Paragraphs broken at blanks so that no line is longer than `width`, each line behind `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 80);

// One file each.
Command experiment_command(const std::string& name);  // experiment.cpp
Command replay_command();
Command verify_command();
Command list_command();
Command inspect_command();
Command convert_command();
Command op_command();
Command diagnose_command();
Command report_command();
Command completion_command();
Command man_command();

}  // namespace attnlab
