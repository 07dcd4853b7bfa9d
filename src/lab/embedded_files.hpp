// The files that travel inside the binary: all of data/, and the page's own style and script.
#pragma once

#include <string_view>
#include <vector>

namespace attnlab {

struct EmbeddedFile {
  std::string_view path;  ///< below data/, or "web/page.css": "lesson/attention.txt"
  std::string_view text;
};

/// All embedded files, in the order of their paths.
const std::vector<EmbeddedFile>& embedded_files();

/// The text of one; throws Error(fault) when there is none of that path.
std::string_view embedded_file(std::string_view path);

}  // namespace attnlab
