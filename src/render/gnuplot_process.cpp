#include "render/gnuplot_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

/// Both ends of a pipe, closed when they go out of scope.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error(ErrorKind::io, std::string("cannot start gnuplot: ") + std::strerror(errno));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

void write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // gnuplot stopped reading: its own words say why
    at += static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string run_gnuplot(const std::string& script) {
  Pipe input;
  Pipe output;
  Pipe complaints;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read_end(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, complaints.write_end(), STDERR_FILENO);
  // The same picture for the same data: no date in it, no settings of the user's.
  std::string name = "gnuplot";
  std::string no_settings = "-d";
  std::string from_input = "-";
  std::array<char*, 4> arguments{name.data(), no_settings.data(), from_input.data(), nullptr};
  std::string locale = "LC_ALL=C.UTF-8";
  std::string epoch = "SOURCE_DATE_EPOCH=0";
  std::string path = std::string("PATH=") + "/usr/local/bin:/usr/bin:/bin";
  std::string home = "HOME=/nonexistent";
  std::array<char*, 5> environment{locale.data(), epoch.data(), path.data(), home.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    throw Error(ErrorKind::io,
                "gnuplot, which draws svg, png and pdf, is not installed: apt-get install gnuplot-nox");
  }
  if (error != 0) throw Error(ErrorKind::io, std::string("cannot start gnuplot: ") + std::strerror(error));
  input.close_end(0);
  output.close_end(1);
  complaints.close_end(1);
  std::string words;
  std::thread writer([&] {
    write_all(input.write_end(), script);
    input.close_end(1);
  });
  std::thread listener([&] { words = read_all(complaints.read_end()); });
  std::string bytes = read_all(output.read_end());
  writer.join();
  listener.join();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (words.find_first_not_of(" \n") == std::string::npos) words = "it drew nothing and does not say why";
  if (status != 0 || bytes.empty()) throw Error(ErrorKind::io, "gnuplot failed: " + words);
  return bytes;
}

}  // namespace attnlab
