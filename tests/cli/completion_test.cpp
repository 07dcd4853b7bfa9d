#include <array>
#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>

#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

// What a shell command prints, both streams; "exit N" behind it when it fails.
std::string shell(const std::string& command) {
  FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  const int status = pclose(pipe);
  return status == 0 ? text : text + "exit " + std::to_string(status);
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string script_of(const std::string& shell_name) {
  const Outcome outcome = run_command({"completion", shell_name});
  REQUIRE(outcome.status == 0);
  REQUIRE(outcome.notes.empty());
  return outcome.output;
}

bool has_line(const std::string& lines, const std::string& line) {
  return ("\n" + lines).find("\n" + line + "\n") != std::string::npos;
}

// What bash offers for the last of these words, in a folder with some files; one a line.
std::string bash_offers(const std::string& words) {
  const Scratch scratch;
  scratch.file("completion.bash", script_of("bash"));
  scratch.file("q.npy", "");
  scratch.file("notes.txt", "");
  scratch.file("two words.csv", "");
  return shell("cd '" + scratch.folder.string() + "' && bash -c '" + R"(
    source ./completion.bash
    COMP_WORDS=()" +
               words + R"() COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _attnlab
    if ((${#COMPREPLY[@]})); then printf "%s\n" "${COMPREPLY[@]}"; fi')");
}

// The same in fish, without what is said about each.
std::string fish_offers(const std::string& line) {
  const Scratch scratch;
  scratch.file("completion.fish", script_of("fish"));
  scratch.file("q.npy", "");
  scratch.file("notes.txt", "");
  return shell("cd '" + scratch.folder.string() +
               "' && HOME=$PWD fish --no-config -c 'source completion.fish; complete -C \"" + line +
               "\"' | cut -f 1");
}

}  // namespace

TEST_CASE("completion: bash takes the script and offers commands and options") {
  const Scratch scratch;
  CHECK(shell("bash -n '" + scratch.file("completion.bash", script_of("bash")) + "'").empty());
  CHECK(bash_offers("attnlab att") == "attention\n");
  CHECK(bash_offers("attnlab --v") == "--version\n");
  CHECK(has_line(bash_offers("attnlab \"\""), "rope-scaling"));
  CHECK(bash_offers("attnlab scaling --div") == "--divide\n");
  CHECK(has_line(bash_offers("attnlab scaling \"\""), "--seed"));
  CHECK(bash_offers("attnlab nothing --").empty());
}

TEST_CASE("completion: bash offers the words that an option or argument takes") {
  CHECK(bash_offers("attnlab scaling --divide \"\"") == "sqrt\nlinear\nnone\n");
  CHECK(bash_offers("attnlab scaling --divide = l") == "linear\n");
  CHECK(bash_offers("attnlab scaling --divide =") == "sqrt\nlinear\nnone\n");
  CHECK(bash_offers("attnlab scaling --color ne") == "never\n");
  CHECK(bash_offers("attnlab scaling --seed \"\"").empty());
  CHECK(bash_offers("attnlab params --model gpt2-l") == "gpt2-large\n");
  CHECK(bash_offers("attnlab replay pos") == "positions\n");
  CHECK(bash_offers("attnlab man scal") == "scaling\n");
  CHECK(bash_offers("attnlab verify attention sc") == "scaling\n");
  CHECK(bash_offers("attnlab completion \"\"") == "bash\nzsh\nfish\n");
}

TEST_CASE("completion: bash offers operations and files by their extension") {
  CHECK(bash_offers("attnlab op rope-f") == "rope-frequencies\n");
  CHECK(bash_offers("attnlab op attention --que") == "--query\n");
  CHECK(bash_offers("attnlab op attention --query q") == "q.npy\n");
  CHECK(bash_offers("attnlab op attention --query n").empty());
  CHECK(has_line(bash_offers("attnlab inspect \"\""), "two words.csv"));
  CHECK_FALSE(has_line(bash_offers("attnlab inspect \"\""), "notes.txt"));
  CHECK(bash_offers("attnlab scaling -o n") == "notes.txt\n");
}

TEST_CASE("completion: zsh takes the script" * doctest::skip(!installed("zsh"))) {
  const Scratch scratch;
  CHECK(shell("zsh -n '" + scratch.file("_attnlab", script_of("zsh")) + "'").empty());
  CHECK(script_of("zsh").starts_with("#compdef attnlab\n"));
}

TEST_CASE("completion: fish takes the script and offers what bash does" * doctest::skip(!installed("fish"))) {
  const Scratch scratch;
  CHECK(shell("HOME=" + scratch.folder.string() + " fish -n '" +
              scratch.file("attnlab.fish", script_of("fish")) + "'")
            .empty());
  CHECK(fish_offers("attnlab att") == "attention\n");
  CHECK(fish_offers("attnlab scaling --div") == "--divide\n");
  CHECK(fish_offers("attnlab scaling --divide ") == "linear\nnone\nsqrt\n");
  CHECK(fish_offers("attnlab params --model gpt2-l") == "gpt2-large\n");
  CHECK(fish_offers("attnlab op rope-f") == "rope-frequencies\n");
  CHECK(fish_offers("attnlab op attention --query q") == "q.npy\n");
}

TEST_CASE("completion: no shell or an unknown one is refused") {
  const Outcome none = run_command({"completion"});
  CHECK(none.status == 2);
  CHECK(none.notes == "attnlab: attnlab completion needs SHELL: see attnlab completion --help\n");
  const Outcome unknown = run_command({"completion", "fis"});
  CHECK(unknown.status == 2);
  CHECK(unknown.notes == "attnlab: SHELL fis is unknown: did you mean fish? one of bash, zsh, fish\n");
  CHECK(run_command({"completion", ""}).status == 2);
}
