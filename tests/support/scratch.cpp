#include "support/scratch.hpp"

#include <stdlib.h>

#include <fstream>
#include <iterator>

#include "support/paths.hpp"

namespace attnlab {

namespace fs = std::filesystem;

Scratch::Scratch() {
  std::string name = (fs::temp_directory_path() / "attnlab-test-XXXXXX").string();
  folder = ::mkdtemp(name.data());
}

Scratch::~Scratch() { fs::remove_all(folder); }

std::string Scratch::file(const std::string& name, std::string_view bytes) const {
  std::ofstream(path(name), std::ios::binary) << bytes;
  return path(name);
}

std::size_t Scratch::files() const {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string test_file(const std::string& name) { return std::string(test_data_folder) + "/" + name; }

}  // namespace attnlab
