// The program as a process: what signals leave behind, and what a terminal shows.
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/paths.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

// Becomes the program; returns only when there is none.
void become_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments{const_cast<char*>(attnlab_binary)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(attnlab_binary, arguments.data());
}

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 30000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// A file whose conversion takes seconds, though it takes no place on the disk: 2^27 zeros.
void make_long_file(const Scratch& scratch) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (134217728,), }";
  header.resize(128 - 10 - 1, ' ');
  const std::string path =
      scratch.file("long.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n');
  std::filesystem::resize_file(path, 128 + (std::size_t{8} << 27));
}

// Whether bytes are in a file that is neither the input nor the notes.
bool has_unfinished_file(const Scratch& scratch) {
  for (const auto& entry : std::filesystem::directory_iterator(scratch.folder))
    if (entry.path().filename().string().starts_with(".attnlab-") && entry.file_size() > 0) return true;
  return false;
}

struct End {
  int status;
  std::string notes;
  std::size_t files;
};

// How the program ends that gets a signal while it writes a file.
End end_by(int signal) {
  const Scratch scratch;
  make_long_file(scratch);
  const std::string notes = scratch.file("notes", "");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGHUP, SIG_DFL);  // nohup ignores it
    if (std::freopen(notes.c_str(), "w", stderr) != nullptr)
      become_program({"convert", scratch.path("long.npy"), "-o", scratch.path("out.csv")});
    ::_exit(127);
  }
  CHECK(comes_true([&] { return has_unfinished_file(scratch); }));
  ::kill(child, signal);
  End end{};
  ::waitpid(child, &end.status, 0);
  end.notes = content(notes);
  end.files = scratch.files();
  return end;
}

// What a terminal shows of the program until it shows `text`; without one, all of it.
std::string shown_until(const std::string& text, const std::vector<std::string>& words) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::unsetenv("NO_COLOR");
    ::setenv("COLORTERM", "truecolor", 1);
    ::setenv("TERM", "xterm", 1);
    become_program(words);
    ::_exit(127);
  }
  std::string shown;
  char bytes[4096];
  while (text.empty() || shown.find(text) == std::string::npos) {
    const ssize_t count = ::read(terminal, bytes, sizeof bytes);
    if (count <= 0) break;
    shown.append(bytes, static_cast<std::size_t>(count));
  }
  ::kill(child, SIGINT);
  ::waitpid(child, nullptr, 0);
  ::close(terminal);
  return shown;
}

}  // namespace

TEST_CASE("main: a signal leaves no unfinished file") {
  for (const int signal : {SIGTERM, SIGHUP}) {
    const End end = end_by(signal);
    CHECK(WIFSIGNALED(end.status));
    CHECK(WTERMSIG(end.status) == signal);
    CHECK(end.notes.empty());
    CHECK(end.files == 2);
  }
  const End end = end_by(SIGINT);
  CHECK(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 130);
  CHECK(end.files == 2);
}

TEST_CASE("main: an input that is shortened while it is mapped is an error like others") {
  const End end = end_by(SIGBUS);
  CHECK(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 3);
  CHECK(end.notes == "attnlab: cannot read a file: it was shortened while it was read\n");
  CHECK(end.files == 2);
}

TEST_CASE("main: a terminal shows how far a long run is") {
  const std::string shown = shown_until(" %: ", {"induction", "--steps", "100000"});
  CHECK(shown.find(" %: ") != std::string::npos);
  CHECK(shown.starts_with("\r0 %: "));
}

TEST_CASE("main: a terminal that says it has all colours gets them") {
  const std::string shown = shown_until("", {"attention", "--plot"});
  CHECK(shown.find("\x1b[38;2;") != std::string::npos);
}
