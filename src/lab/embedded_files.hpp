// The files of data/ that travel inside the binary.
#pragma once

#include <string_view>
#include <vector>

namespace attnlab {

struct EmbeddedFile {
  std::string_view path;  ///< below data/, e.g. "lesson/attention.txt"
  std::string_view text;
};

/// All embedded files, in the order of their paths.
const std::vector<EmbeddedFile>& embedded_files();

/// The text of one; throws Error(fault) when there is none of that path.
std::string_view embedded_file(std::string_view path);

}  // namespace attnlab
