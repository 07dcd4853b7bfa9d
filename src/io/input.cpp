#include "io/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace attnlab {
namespace {

/// Smaller files are copied: that costs nothing and does not mind if somebody shortens the file meanwhile.
constexpr std::size_t smallest_mapped = std::size_t{16} << 20;

[[noreturn]] void fail(const std::string& name, const std::string& reason) {
  throw Error(ErrorKind::io, fmt::format("cannot read {}: {}", name, reason));
}

[[noreturn]] void fail_with(const std::string& name, int error) {
  fail(name, std::generic_category().message(error));
}

/// Opens a file for reading, or stands for standard input, which stays open.
class InputDescriptor {
 public:
  explicit InputDescriptor(const std::string& path)
      : number_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
    if (number_ < 0) fail_with(input_name(path), errno);
  }
  InputDescriptor(const InputDescriptor&) = delete;
  InputDescriptor& operator=(const InputDescriptor&) = delete;
  ~InputDescriptor() {
    if (number_ != STDIN_FILENO) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

FileBytes map_file(int descriptor, std::size_t size, const std::string& name) {
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) fail_with(name, errno);
  const int kept = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  std::shared_ptr<const void> owner(address, [size, kept](const void* mapped) {
    ::munmap(const_cast<void*>(mapped), size);
    if (kept >= 0) ::close(kept);
  });
  return {{static_cast<const char*>(address), size}, std::move(owner), kept, 0};
}

std::string name_of(int descriptor) {
  std::error_code unknown;
  const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), unknown);
  return unknown ? "a file" : path.string();
}

void read_block(int descriptor, std::size_t offset, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::pread(descriptor, to, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(name_of(descriptor), errno);
    if (count == 0) fail(name_of(descriptor), "it was shortened while it was read");
    offset += static_cast<std::size_t>(count);
    to += count;
    size -= static_cast<std::size_t>(count);
  }
}

FileBytes read_to_the_end(int descriptor, std::size_t expected, std::size_t longest,
                          const std::string& name) {
  // malloc and realloc because a large block then moves without being copied.
  std::size_t capacity = expected + 1;  // one more, so that the end is seen without growing
  std::size_t size = 0;
  std::unique_ptr<char, decltype(&std::free)> buffer(static_cast<char*>(std::malloc(capacity)), &std::free);
  if (buffer == nullptr) fail(name, "not enough memory");
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.get() + size, capacity - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(name, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size < capacity) continue;
    if (size > longest)
      fail(name, fmt::format("it is longer than {} MiB; give a regular file", longest >> 20));
    capacity *= 2;
    char* larger = static_cast<char*>(std::realloc(buffer.get(), capacity));
    if (larger == nullptr) fail(name, fmt::format("not enough memory after {} bytes", size));
    static_cast<void>(buffer.release());
    buffer.reset(larger);
  }
  const std::string_view bytes(buffer.get(), size);
  return {bytes, std::shared_ptr<const void>(std::move(buffer)), -1, 0};
}

}  // namespace

void for_each_block(const FileBytes& content, std::size_t block_size,
                    const std::function<void(std::string_view)>& action) {
  std::string buffer;
  if (content.descriptor >= 0) buffer.resize(std::min(block_size, content.bytes.size()));
  for (std::size_t done = 0; done < content.bytes.size();) {
    std::string_view block = content.bytes.substr(done, block_size);
    if (content.descriptor >= 0) {
      read_block(content.descriptor, content.offset + done, buffer.data(), block.size());
      block = std::string_view(buffer).substr(0, block.size());
    }
    action(block);
    done += block.size();
  }
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

FileBytes read_bytes(const std::string& path, std::size_t longest_stream) {
  const std::string name = input_name(path);
  if (path.empty()) fail("''", "the file name is empty");
  const InputDescriptor file(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail_with(name, errno);
  if (S_ISDIR(status.st_mode)) fail(name, "it is a folder");
  // Standard input may stand anywhere in its file, so it is always read from there.
  const bool regular = S_ISREG(status.st_mode) && path != "-";
  const auto size = static_cast<std::size_t>(regular ? status.st_size : 0);
  if (size >= smallest_mapped) return map_file(file.number(), size, name);
  return read_to_the_end(file.number(), regular ? size : std::size_t{1} << 16, longest_stream, name);
}

FileBytes own_bytes(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {*owner, owner, -1, 0};
}

}  // namespace attnlab
