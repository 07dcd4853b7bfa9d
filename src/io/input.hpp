// The bytes of a file or of standard input, shared by everything that was read from them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace attnlab {

/// Bytes and what keeps them in memory. Copies share the bytes.
struct FileBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// The whole content of a file; "-" is standard input. Large regular files are mapped into memory, not
/// copied; such a file must not be shortened while it is in use. Throws Error(io) "cannot read PATH: REASON".
FileBytes read_bytes(const std::string& path);

/// The name for messages: "standard input" for "-", else the path.
std::string input_name(const std::string& path);

/// Bytes of our own.
FileBytes own_bytes(std::string bytes);

}  // namespace attnlab
