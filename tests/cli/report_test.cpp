// `attnlab report` and `--format html`: where the drawing script comes from, and what the page tells.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Outcome run_in(const std::string& program_folder, const std::vector<std::string>& arguments) {
  Environment environment;
  environment.utf8 = true;
  environment.program_folder = program_folder;
  return run_cli(arguments, environment);
}

}  // namespace

TEST_CASE("report: without the script that draws it says in one line what to install") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"report", "attention"}, {"attention", "--format", "html"}}) {
    const Outcome outcome = run_in("", words);
    CHECK(outcome.status == 3);
    CHECK(outcome.output.empty());
    CHECK(
        outcome.notes ==
        "attnlab: the page's figures need vega.bundle.js, which this build lacks: install Node.js with npm, "
        "then build and install attnlab again\n");
  }
}

TEST_CASE("report: the script is found beside the program and where both are installed") {
  const Scratch beside;
  beside.file("vega.bundle.js", "draw_beside()");
  CHECK(contains(run_in(beside.folder.string(), {"report", "attention"}).output, "draw_beside()"));
  const Scratch installed;
  std::filesystem::create_directories(installed.folder / "bin");
  std::filesystem::create_directories(installed.folder / "share" / "attnlab");
  installed.file("share/attnlab/vega.bundle.js", "draw_installed()");
  const std::string folder = (installed.folder / "bin").string();
  CHECK(contains(run_in(folder, {"attention", "--format", "html"}).output, "draw_installed()"));
}

TEST_CASE("report: the experiments named stand in the lesson's order with their commands") {
  const Scratch beside;
  beside.file("vega.bundle.js", "");
  const Outcome outcome =
      run_in(beside.folder.string(), {"report", "scaling", "attention", "--seed", "7", "-o", "page.html"});
  CHECK(outcome.status == 0);
  CHECK(outcome.path == "page.html");
  CHECK(outcome.notes == "attnlab: 2 experiments in page.html\n");
  const std::size_t attention = outcome.output.find("<code>attnlab attention --seed 7</code>");
  const std::size_t scaling = outcome.output.find("<code>attnlab scaling --seed 7</code>");
  CHECK(attention < scaling);
  CHECK(scaling != std::string::npos);
  CHECK_FALSE(contains(outcome.output, "attnlab masking"));
}

TEST_CASE("report: a page of one experiment tells the options that differ from the defaults") {
  const Scratch beside;
  beside.file("vega.bundle.js", "");
  const auto page = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "html"});
    return run_in(beside.folder.string(), words).output;
  };
  CHECK(contains(page({"attention"}), "<code>attnlab attention</code>"));
  CHECK(contains(page({"attention", "--seq-len", "7", "--mask", "none", "--seq-len=6"}),
                 "<code>attnlab attention --seq-len 6 --mask none</code>"));
  CHECK(contains(page({"masking", "--lengths", "5:7"}), "<code>attnlab masking --lengths 5,6,7</code>"));
}

TEST_CASE("report: the extension of the file means a page") {
  const Scratch beside;
  beside.file("vega.bundle.js", "");
  const Outcome outcome = run_in(beside.folder.string(), {"attention", "-o", "weights.html"});
  CHECK(outcome.output.starts_with("<!DOCTYPE html>"));
}

TEST_CASE("report: what has no figures is a page without the script") {
  const Outcome outcome = run_in("", {"list", "--format", "html"});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "<h1>Commands by the lesson"));
}

TEST_CASE("report: a page is not written under another format's name") {
  const Outcome outcome = run_in("", {"report", "attention", "-o", "lesson.pdf"});
  CHECK(outcome.status == 2);
  CHECK(outcome.notes == "attnlab: --output lesson.pdf: a page is HTML: -o lesson.html writes it\n");
}

TEST_CASE("report: a page is not written to a terminal") {
  Environment environment;
  environment.output_is_terminal = true;
  const Outcome outcome = run_cli({"report"}, environment);
  CHECK(outcome.status == 2);
  CHECK(outcome.notes == "attnlab: --output: a page is no text for the terminal: -o lesson.html writes it\n");
}
