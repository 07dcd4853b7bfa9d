// The bytes of a file or of standard input, shared by everything that was read from them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace attnlab {

/// Bytes and what keeps them in memory. Copies share the bytes.
struct FileBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
  int descriptor = -1;  ///< of the mapped file that holds the bytes, open as long as `owner`; -1 for memory
  std::size_t offset = 0;  ///< of the bytes in that file

  FileBytes part(std::size_t begin, std::size_t size) const {
    return {bytes.substr(begin, size), owner, descriptor, offset + begin};
  }
};

/// Calls `action` with consecutive blocks of at most `block_size` bytes that together are all bytes. Those of
/// a mapped file are read into a buffer, which is faster than touching the mapping page by page; throws
/// Error(io) when the file has been shortened meanwhile.
void for_each_block(const FileBytes& content, std::size_t block_size,
                    const std::function<void(std::string_view block)>& action);

/// The whole content of a file; "-" is standard input. Large regular files are mapped into memory, not
/// copied; such a file must not be shortened while it is in use. What is no regular file may bring
/// `longest_stream` bytes: a device without end would otherwise fill the memory of the machine. Throws
/// Error(io) "cannot read PATH: REASON".
FileBytes read_bytes(const std::string& path, std::size_t longest_stream = std::size_t{4} << 30);

/// The name for messages: "standard input" for "-", else the path.
std::string input_name(const std::string& path);

/// Bytes of our own.
FileBytes own_bytes(std::string bytes);

}  // namespace attnlab
