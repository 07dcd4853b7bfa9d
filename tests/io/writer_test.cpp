#include "io/writer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "core/error.hpp"
#include "support/scratch.hpp"

using namespace attnlab;
namespace fs = std::filesystem;

namespace {

std::string complaint(const std::string& path, const ByteProducer& produce) {
  try {
    write_output(path, produce);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    return error.what();
  }
  return "written";
}

void hello(const ByteSink& sink) { sink("hello\n"); }

}  // namespace

TEST_CASE("writer: a new file gets all bytes and the mode of the mask") {
  const Scratch scratch;
  const mode_t mask = ::umask(022);
  CHECK(write_output(scratch.path("a"), "one\n") == WriteOutcome::complete);
  ::umask(mask);
  CHECK(content(scratch.path("a")) == "one\n");
  CHECK(fs::status(scratch.path("a")).permissions() == fs::perms{0644});
  CHECK(scratch.files() == 1);
}

TEST_CASE("writer: an old file is replaced and keeps its mode and its other links") {
  const Scratch scratch;
  write_output(scratch.path("a"), "old");
  fs::permissions(scratch.path("a"), fs::perms{0640});
  fs::create_hard_link(scratch.path("a"), scratch.path("other"));
  write_output(scratch.path("a"), "new");
  CHECK(content(scratch.path("a")) == "new");
  CHECK(content(scratch.path("other")) == "old");
  CHECK(fs::status(scratch.path("a")).permissions() == fs::perms{0640});
}

TEST_CASE("writer: symbolic links are followed and stay links") {
  const Scratch scratch;
  fs::create_directory(scratch.folder / "sub");
  write_output(scratch.path("sub/target"), "old");
  fs::create_symlink("sub/target", scratch.path("link"));
  fs::create_symlink("link", scratch.path("link2"));
  write_output(scratch.path("link2"), "new");
  CHECK(content(scratch.path("sub/target")) == "new");
  CHECK(fs::is_symlink(scratch.path("link")));
  CHECK(fs::is_symlink(scratch.path("link2")));
  fs::create_symlink("sub/fresh", scratch.path("dangling"));
  write_output(scratch.path("dangling"), "made");
  CHECK(content(scratch.path("sub/fresh")) == "made");
  fs::create_symlink("loop", scratch.path("loop"));
  CHECK(complaint(scratch.path("loop"), hello) ==
        "cannot write " + scratch.path("loop") + ": Too many levels of symbolic links");
}

TEST_CASE("writer: a producer that fails leaves the old file and no other") {
  const Scratch scratch;
  write_output(scratch.path("a"), "old");
  const auto failing = [](const ByteSink& sink) {
    sink(std::string(200000, 'x'));
    throw Error(ErrorKind::data, "broken");
  };
  CHECK_THROWS_WITH_AS(write_output(scratch.path("a"), failing), "broken", Error);
  CHECK_THROWS_AS(write_output(scratch.path("b"), failing), Error);
  CHECK(content(scratch.path("a")) == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("writer: many small and large pieces arrive in order") {
  const Scratch scratch;
  std::string expected;
  const auto produce = [&](const ByteSink& sink) {
    for (std::size_t i = 0; i < 300; ++i) {
      const std::string piece(i * i, static_cast<char>('a' + i % 26));
      sink(piece);
      expected += piece;
    }
  };
  write_output(scratch.path("a"), produce);
  CHECK(content(scratch.path("a")) == expected);
}

TEST_CASE("writer: what cannot be written is named with the reason") {
  const Scratch scratch;
  CHECK(complaint("", hello) == "cannot write '': the file name is empty");
  CHECK(complaint(scratch.folder.string(), hello) ==
        "cannot write " + scratch.folder.string() + ": it is a folder");
  CHECK(complaint(scratch.path("none/a"), hello) ==
        "cannot write " + scratch.path("none/a") + ": there is no folder " + scratch.path("none"));
  write_output(scratch.path("a"), "x");
  CHECK(complaint(scratch.path("a/b"), hello) == "cannot write " + scratch.path("a/b") + ": Not a directory");
  CHECK(complaint(scratch.path(std::string(300, 'n')), hello).ends_with(": File name too long"));
  CHECK(complaint("/dev/full", hello) == "cannot write /dev/full: No space left on device");
  CHECK(complaint("/dev/fd/987", hello) == "cannot write /dev/fd/987: Bad file descriptor");
}

TEST_CASE("writer: a device is written directly and stays a device") {
  CHECK(write_output("/dev/null", "x") == WriteOutcome::complete);
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("writer: a pipe is written directly and stays a pipe") {
  const Scratch scratch;
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] { received = content(scratch.path("pipe")); });
  write_output(scratch.path("pipe"), "through the pipe");
  reader.join();
  CHECK(received == "through the pipe");
  CHECK(fs::is_fifo(scratch.path("pipe")));
}

TEST_CASE("writer: a reader that left ends the output quietly") {
  const auto old_action = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  std::size_t calls = 0;
  const auto endless = [&](const ByteSink& sink) {
    while (true) {
      ++calls;
      sink(std::string(100000, 'x'));
    }
  };
  CHECK(write_output("/dev/fd/" + std::to_string(ends[1]), endless) == WriteOutcome::reader_left);
  CHECK(calls == 1);
  ::close(ends[1]);
  std::signal(SIGPIPE, old_action);
}

TEST_CASE("writer: a numbered descriptor keeps its place in an appended file") {
  const Scratch scratch;
  write_output(scratch.path("log"), "first\n");
  const int descriptor = ::open(scratch.path("log").c_str(), O_WRONLY | O_APPEND);
  write_output("/dev/fd/" + std::to_string(descriptor), "second\n");
  ::close(descriptor);
  CHECK(content(scratch.path("log")) == "first\nsecond\n");
}
