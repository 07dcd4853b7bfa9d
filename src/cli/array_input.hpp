// The options with which commands read arrays from files.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "io/array_file.hpp"

namespace attnlab {

/// The options as given on the command line.
struct ArrayInput {
  std::string format;
  std::string csv_delimiter = ",";
  std::string csv_decimal = ".";
  bool header = false;
};

/// The FILE of a command that reads one.
Positional array_file_argument();

/// Declares --input-format, --csv-delimiter, --csv-decimal and --header.
void declare_array_input(OptionSet& options, ArrayInput& input);

/// What the readers take; throws Error(usage) for a delimiter or decimal sign of more than one character.
ReadOptions read_options(const ArrayInput& input);

}  // namespace attnlab
