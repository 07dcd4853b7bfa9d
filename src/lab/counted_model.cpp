#include "lab/counted_model.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/input.hpp"
#include "lab/embedded_files.hpp"
#include "lab/options.hpp"

namespace attnlab {
namespace {

constexpr std::string_view folder = "models/";
constexpr std::string_view extension = ".json";

CountedModel count(std::string name, ModelConfig config) {
  ParameterCount parameters = count_parameters(config.architecture);
  return {std::move(name), std::move(config), std::move(parameters)};
}

}  // namespace

std::vector<std::string> embedded_model_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(folder) || !file.path.ends_with(extension)) continue;
    names.emplace_back(file.path.substr(folder.size(), file.path.size() - folder.size() - extension.size()));
  }
  return names;
}

bool is_embedded_model(std::string_view name) {
  const std::string path = fmt::format("{}{}{}", folder, name, extension);
  const auto& files = embedded_files();
  return std::any_of(files.begin(), files.end(), [&](const EmbeddedFile& file) { return file.path == path; });
}

CountedModel count_embedded_model(const std::string& name, const ConfigOptions& options) {
  if (!is_embedded_model(name)) {
    const std::string near = nearest_word(name, embedded_model_names());
    throw Error(ErrorKind::usage,
                fmt::format("--model: {} is no embedded model{}; --model list shows them", name,
                            near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
  }
  const std::string_view text = embedded_file(fmt::format("{}{}{}", folder, name, extension));
  return count(name, read_model_config(text, name, options));
}

CountedModel count_model_file(const std::string& path, const ConfigOptions& options) {
  constexpr std::size_t longest_config = std::size_t{64} << 20;
  const FileBytes file = read_bytes(path, longest_config);
  const std::string name = input_name(path);
  try {
    return count(name, read_model_config(file.bytes, name, options));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::data) throw Error(ErrorKind::io, error.what());
    throw;
  }
}

}  // namespace attnlab
