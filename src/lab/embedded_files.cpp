#include "lab/embedded_files.hpp"

#include <string>

#include "core/error.hpp"

namespace attnlab {

std::string_view embedded_file(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  throw Error(ErrorKind::fault, "no embedded file " + std::string(path));
}

}  // namespace attnlab
