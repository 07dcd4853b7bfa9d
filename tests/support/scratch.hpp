// A folder of its own for one test, and files in it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace attnlab {

class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::string path(const std::string& name) const { return (folder / name).string(); }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, std::string_view bytes) const;
  /// How many files and folders there are.
  std::size_t files() const;

  std::filesystem::path folder;
};

/// All bytes of a file; empty when it cannot be read.
std::string content(const std::string& path);

/// The path of a file below tests/data.
std::string test_file(const std::string& name);

}  // namespace attnlab
