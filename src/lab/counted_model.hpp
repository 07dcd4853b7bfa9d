// Models by name or file, counted: what experiments on real models start from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accounting/config.hpp"
#include "accounting/parameters.hpp"

namespace attnlab {

struct CountedModel {
  std::string name;  ///< the embedded model's, or the file's
  ModelConfig config;
  ParameterCount count;
};

/// The names of data/models/, in their order: "gpt2", "llama-3-8b" ...
std::vector<std::string> embedded_model_names();
bool is_embedded_model(std::string_view name);

/// Throws Error(usage) for a name that is not embedded, and what read_model_config throws.
CountedModel count_embedded_model(const std::string& name, const ConfigOptions& options = {});

/// The model of a config.json; "-" is standard input. Throws Error(io) when it cannot be read or its content
/// is not sound: whatever is wrong in a file is no wrong use of the command line.
CountedModel count_model_file(const std::string& path, const ConfigOptions& options = {});

}  // namespace attnlab
