#include <cstdlib>

#include <doctest/doctest.h>

#include "cli/command.hpp"
#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

std::string page_of(const std::vector<std::string>& names) {
  std::vector<std::string> arguments{"man"};
  arguments.insert(arguments.end(), names.begin(), names.end());
  const Outcome outcome = run_command(arguments);
  CHECK(outcome.status == 0);
  CHECK(outcome.notes.empty());
  return outcome.output;
}

}  // namespace

TEST_CASE("man: the page of a command shows what help shows") {
  const std::string page = page_of({"scaling"});
  CHECK(page.starts_with(".TH \"ATTNLAB\\-SCALING\" \"1\" "));
  CHECK(page.find(".SH NAME\nattnlab\\-scaling \\- ") != std::string::npos);
  CHECK(page.find(".TP\n.B \\-\\-divide NAME\n") != std::string::npos);
  CHECK(page.find("sqrt, linear, none (default sqrt)") != std::string::npos);
  CHECK(page.find(".SH CLAIMS\n") != std::string::npos);
  CHECK(page.find(".SH SOURCE\n") != std::string::npos);
}

TEST_CASE("man: the page of the program lists every command") {
  const std::string page = page_of({});
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    std::string name;
    for (const char c : command.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
    CHECK(page.find(".TP\n.B " + name + "\n") != std::string::npos);
  }
}

TEST_CASE("man: groff sets every page without a warning" *
          doctest::skip(std::system("command -v groff >/dev/null 2>&1") != 0)) {
  const Scratch scratch;
  std::string all = page_of({});
  for (const Command& command : commands()) all += page_of({command.name});
  scratch.file("all.1", all);
  // A paragraph that a terminal cannot fill evenly is no fault.
  const std::string command =
      "cd '" + scratch.folder.string() + "' && groff -man -Tutf8 -ww -Wbreak all.1 >set.txt 2>warnings.txt";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(content(scratch.path("warnings.txt")).empty());
  CHECK(content(scratch.path("set.txt")).size() > all.size() / 2);
}

TEST_CASE("man: an unknown command is refused") {
  const Outcome outcome = run_command({"man", "scalign"});
  CHECK(outcome.status == 2);
  CHECK(outcome.notes.starts_with("attnlab: COMMAND scalign is unknown: did you mean scaling? one of "));
}
