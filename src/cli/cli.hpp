// The command line in process: arguments in, an outcome out.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace attnlab {

/// Runs `attnlab ARGUMENTS...`. Throws nothing: an error is one line in `notes` and the exit status of
/// INTERFACE's table (2 wrong use, 3 input or output, 4 a fault of the program).
Outcome run_cli(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace attnlab
