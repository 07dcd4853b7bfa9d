#include "io/writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace attnlab {
namespace {

namespace fs = std::filesystem;

/// Thrown by the sink to leave the producer when nobody reads any more.
struct ReaderLeft {};

/// The name of the temporary file while there is one, where a signal handler can find it.
std::array<char, PATH_MAX> unfinished_name{};
volatile std::sig_atomic_t unfinished = 0;

[[noreturn]] void fail(const std::string& name, const std::string& reason) {
  throw Error(ErrorKind::io, fmt::format("cannot write {}: {}", name, reason));
}

[[noreturn]] void fail_with(const std::string& name, int error) {
  fail(name, std::generic_category().message(error));
}

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  /// Closes and says whether that worked: some file systems report a full disk only now.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Collects small pieces and writes them through a descriptor.
class BufferedOutput {
 public:
  BufferedOutput(int descriptor, const std::string& name) : descriptor_(descriptor), name_(name) {}

  void append(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > capacity) flush();
    if (bytes.size() > capacity) {
      write_all(bytes);
    } else {
      buffer_.append(bytes);
    }
  }

  void flush() {
    write_all(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 16;

  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
        start_flush(count);
      } else if (errno == EPIPE) {
        throw ReaderLeft{};
      } else if (errno != EINTR) {
        fail_with(name_, errno);
      }
    }
  }

  /// Lets the disk begin with what has been written while more is being made, so that the flush at the end is
  /// short. Pipes and devices refuse this, which is all right.
  void start_flush(ssize_t count) {
    constexpr off_t portion = off_t{16} << 20;
    written_ += count;
    if (written_ - flushed_ < portion) return;
    ::sync_file_range(descriptor_, flushed_, written_ - flushed_, SYNC_FILE_RANGE_WRITE);
    flushed_ = written_;
  }

  int descriptor_;
  const std::string& name_;
  std::string buffer_;
  off_t written_ = 0;
  off_t flushed_ = 0;
};

void produce_into(int descriptor, const std::string& name, const ByteProducer& produce) {
  BufferedOutput output(descriptor, name);
  produce([&](std::string_view bytes) { output.append(bytes); });
  output.flush();
}

/// Writes to an open descriptor of somebody else: a copy of it is closed, which reports late errors as well.
WriteOutcome write_direct(int descriptor, const std::string& name, const ByteProducer& produce) {
  Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  if (copy.number() < 0) fail_with(name, errno);
  try {
    produce_into(copy.number(), name, produce);
  } catch (const ReaderLeft&) {
    return WriteOutcome::reader_left;
  }
  if (!copy.close()) fail_with(name, errno);
  return WriteOutcome::complete;
}

/// The descriptor that a path stands for: standard output, or a number below /dev/fd. Opening such a path
/// anew would lose the place in the file and the append mode.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int number = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

/// The file that a path leads to through symbolic links, also when that file does not exist yet.
fs::path follow_links(const std::string& path) {
  constexpr int most_links = 40;  // as many as Linux follows
  fs::path target = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    if (i == most_links) fail_with(path, ELOOP);
    target = target.parent_path() / fs::read_symlink(target, error);
    if (error) fail_with(path, error.value());
  }
  return target;
}

/// A file beside the target that becomes the target or disappears.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const fs::path& target)
      : name_(name),
        path_((target.parent_path() / ".attnlab-XXXXXX").string()),
        file_(::mkostemp(path_.data(), O_CLOEXEC)) {
    if (file_.number() < 0) fail_with(name, errno);
    if (path_.size() < unfinished_name.size()) {
      *std::copy(path_.begin(), path_.end(), unfinished_name.begin()) = '\0';
      unfinished = 1;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
    unfinished = 0;
  }

  int descriptor() const { return file_.number(); }

  /// Puts the file in the place of the target, with the target's mode and owner if there was one.
  void become(const fs::path& target, const struct stat* old) {
    if (old != nullptr) {
      // Only root may give a file away; a student who replaces a file owns it, which is all right.
      [[maybe_unused]] const int ignored = ::fchown(descriptor(), old->st_uid, old->st_gid);
    }
    const mode_t mode = old != nullptr ? old->st_mode & 07777 : 0666 & ~file_mode_mask();
    if (::fchmod(descriptor(), mode) != 0) fail_with(name_, errno);
    if (::fsync(descriptor()) != 0) fail_with(name_, errno);
    if (!file_.close()) fail_with(name_, errno);
    if (::rename(path_.c_str(), target.c_str()) != 0) fail_with(name_, errno);
    path_.clear();
  }

 private:
  static mode_t file_mode_mask() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return mask;
  }

  const std::string& name_;
  std::string path_;
  Descriptor file_;
};

}  // namespace

WriteOutcome write_output(const std::string& path, const ByteProducer& produce) {
  if (path.empty()) fail("''", "the file name is empty");
  if (const std::optional<int> descriptor = descriptor_of(path)) {
    return write_direct(*descriptor, *descriptor == STDOUT_FILENO ? "standard output" : path, produce);
  }
  const fs::path target = follow_links(path);
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail_with(path, errno);
  if (exists && S_ISDIR(status.st_mode)) fail(path, "it is a folder");
  if (exists && ::access(target.c_str(), W_OK) != 0) fail_with(path, errno);
  if (exists && !S_ISREG(status.st_mode)) {
    Descriptor file(::open(target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (file.number() < 0) fail_with(path, errno);
    return write_direct(file.number(), path, produce);
  }
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  if (!exists && ::access(folder.c_str(), F_OK) != 0)
    fail(path, fmt::format("there is no folder {}", folder));
  TemporaryFile file(path, target);
  produce_into(file.descriptor(), path, produce);
  file.become(target, exists ? &status : nullptr);
  return WriteOutcome::complete;
}

WriteOutcome write_output(const std::string& path, std::string_view bytes) {
  return write_output(path, [&](const ByteSink& sink) { sink(bytes); });
}

void discard_unfinished_output() noexcept {
  if (unfinished != 0) ::unlink(unfinished_name.data());
}

}  // namespace attnlab
