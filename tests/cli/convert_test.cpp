#include <doctest/doctest.h>

#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

/// The command, and what it would write.
Outcome converted(const std::vector<std::string>& words) {
  std::vector<std::string> arguments{"convert"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  Outcome outcome = run_command(arguments);
  if (outcome.produce) outcome.produce([&](std::string_view piece) { outcome.output += piece; });
  return outcome;
}

}  // namespace

TEST_CASE("convert command: the format follows --output or --format") {
  const std::string same = test_file("cases/files/same.npy");
  CHECK(converted({same, "-o", "a.csv"}).output == "1,2\n3,4\n");
  CHECK(converted({same, "-o", "a.csv"}).path == "a.csv");
  CHECK(converted({same, "-o", "-", "--format", "json"}).output == "[[1, 2], [3, 4]]\n");
  CHECK(converted({same, "-o", "a.txt", "--format", "tsv"}).output == "1\t2\n3\t4\n");
  CHECK(converted({test_file("cases/files/two.safetensors:b"), "-o", "b.csv"}).output == "0.5,-0.25\n");
}

TEST_CASE("convert command: what fails is one line with status 2 or 3 and writes nothing") {
  const std::string same = test_file("cases/files/same.npy");
  const Outcome no_output = converted({same});
  CHECK(no_output.status == 2);
  CHECK(no_output.notes ==
        "attnlab: convert needs --output FILE: where to write, and with its extension in which format\n");
  CHECK(converted({same, "-o", "a.xyz"}).status == 2);
  CHECK(converted({same, "-o", "-"}).status == 2);
  const Outcome cut = converted({test_file("cases/files/a_cut.npy"), "-o", "a.csv"});
  CHECK(cut.status == 3);
  CHECK(cut.output.empty());
  CHECK(converted({test_file("cases/files/b_fortran.npy"), "-o", "a.csv"})
            .notes.find("at most two dimensions") != std::string::npos);
}
