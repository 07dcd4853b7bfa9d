// What tests of experiments and of the command line start from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "lab/experiment.hpp"

namespace attnlab {

/// The report of an experiment with these options set, as the command line would set them; `breakage` makes
/// it commit that fault. Throws what the experiment throws.
Report run_experiment(const std::string& name,
                      const std::vector<std::pair<std::string, std::string>>& options = {},
                      std::uint64_t seed = 466, const std::string& breakage = {});

/// The command line in process: a pipe, no colours, UTF-8.
Outcome run_command(const std::vector<std::string>& arguments);

/// The text of a file below tests/data.
std::string test_data(const std::string& path);

}  // namespace attnlab
