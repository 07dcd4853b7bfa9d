#include "io/convert.hpp"

#include <filesystem>
#include <utility>

namespace attnlab {

ByteProducer conversion(const std::string& source, ArrayFormat format, const ReadOptions& options) {
  ArrayFile content = read_tensors(source, options);
  if (content.format != ArrayFormat::safetensors) {
    content.tensors.front().name =
        source == "-" ? "data" : std::filesystem::path(content.path).stem().string();
  }
  check_writable(content, format);
  return
      [content = std::move(content), format](const ByteSink& sink) { write_tensors(content, format, sink); };
}

}  // namespace attnlab
