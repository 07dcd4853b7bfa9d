#include "io/convert.hpp"

#include <filesystem>

namespace attnlab {

WriteOutcome convert_file(const std::string& source, const std::string& output, const ReadOptions& options,
                          std::optional<ArrayFormat> format) {
  const ArrayFormat chosen = output_format(output, format);
  ArrayFile content = read_tensors(source, options);
  if (content.format != ArrayFormat::safetensors) {
    content.tensors.front().name =
        source == "-" ? "data" : std::filesystem::path(content.path).stem().string();
  }
  check_writable(content, chosen);
  return write_output(output, [&](const ByteSink& sink) { write_tensors(content, chosen, sink); });
}

}  // namespace attnlab
