#include <doctest/doctest.h>

#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

Outcome inspected(const std::string& file, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments{"inspect", test_file("cases/files/" + file)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Outcome outcome = run_command(arguments);
  if (outcome.produce) outcome.produce([&](std::string_view piece) { outcome.output += piece; });
  return outcome;
}

/// The text behind the line with the name of the file.
std::string body(const std::string& file, std::vector<std::string> options = {}) {
  const std::string text = inspected(file, std::move(options)).output;
  return text.substr(text.find('\n') + 1);
}

}  // namespace

TEST_CASE("inspect command: text shows type and layout and range and values as NumPy prints them") {
  CHECK(inspected("same.npy").output.starts_with(test_file("cases/files/same.npy") + ": npy\n"));
  CHECK(body("a_fortran.npy") ==
        "float64 [2, 3], column-major, little endian, 48 bytes\n"
        "min 1, max 6, mean 3.5; 0 NaN, 0 infinite\n"
        "[[1. 2. 3.]\n [4. 5. 6.]]\n");
  CHECK(body("a_bool.npy") ==
        "bool [2, 2], row-major, single bytes, 4 bytes\n"
        "min 0, max 1, mean 0.75; 0 NaN, 0 infinite\n"
        "[[ True False]\n [ True  True]]\n");
  CHECK(body("a_int64.npy").ends_with("[9007199254740993               -1]\n"));
  CHECK(body("a_scalar.npy").ends_with("\n2.5\n"));
  CHECK(body("a_empty.npy") ==
        "float64 [0, 2], row-major, little endian, 0 bytes\nno finite numbers; 0 NaN, 0 infinite\n[]\n");
  CHECK(body("digits.csv", {"--precision", "2"}).find("1.80e+308") != std::string::npos);
}

TEST_CASE("inspect command: numbers beyond int64 keep all digits in text") {
  const Scratch scratch;
  const std::string path = scratch.file("a.csv", "1,18446744073709551615\n");
  CHECK(run_command({"inspect", path}).output.ends_with("[[1, 18446744073709551615]]\n"));
}

TEST_CASE("inspect command: every tensor of a safetensors file is shown under its name") {
  CHECK(body("two.safetensors") ==
        "'made': 'by hand'\n\n"
        "'b'\nfloat64 [2], row-major, little endian, 16 bytes\n"
        "min -0.25, max 0.5, mean 0.125; 0 NaN, 0 infinite\n[ 0.5  -0.25]\n\n"
        "'a'\nfloat32 [2, 2], row-major, little endian, 16 bytes\n"
        "min 1, max 4, mean 2.5; 0 NaN, 0 infinite\n[[1. 2.]\n [3. 4.]]\n");
}

TEST_CASE("inspect command: csv options reach the reader") {
  CHECK(inspected("semicolon.csv", {"--csv-delimiter", ";", "--csv-decimal", ",", "--format", "json"})
            .output.ends_with("\"data\": [[1.5, 2], [-0.25, 300]]}\n"));
  CHECK(
      inspected("bomheader.csv", {"--header", "--format", "json"}).output.ends_with("\"data\": [[1, 2]]}\n"));
  CHECK(inspected("onerow.csv", {"--csv-delimiter", "ab"}).notes ==
        "attnlab: --csv-delimiter: 'ab' is not one character\n");
  const Scratch scratch;
  CHECK(run_command({"inspect", scratch.file("tabs.csv", "1\t2\n"), "--csv-delimiter", "tab"})
            .output.ends_with("[[1. 2.]]\n"));
}

TEST_CASE("inspect command: the format follows the name of the output") {
  const Scratch scratch;
  const std::string file = scratch.file("a.csv", "1,2\n");
  CHECK(run_command({"inspect", file, "-o", "a.txt"}).output == run_command({"inspect", file}).output);
  const Outcome json = run_command({"inspect", file, "-o", "a.json"});
  CHECK(json.status == 0);
  CHECK(json.produce);
  const Outcome other = run_command({"inspect", file, "-o", "b.csv"});
  CHECK(other.status == 2);
  CHECK(other.notes ==
        "attnlab: --output b.csv: inspect writes text and json (--format chooses); convert writes arrays, "
        "--plot draws them\n");
  CHECK(run_command({"inspect", file, "-o", "b.csv", "--format", "text"}).status == 0);
}

TEST_CASE("inspect command: what fails is one line with status 2 or 3") {
  CHECK(run_command({"inspect", "no-such-file.npy"}).notes ==
        "attnlab: cannot read no-such-file.npy: No such file or directory\n");
  CHECK(run_command({"inspect", "no-such-file.npy"}).status == 3);
  CHECK(inspected("a_cut.npy").status == 3);
  CHECK(inspected("a_cut.npy").output.empty());
  CHECK(run_command({"inspect", "-"}).status == 2);
  CHECK(run_command({"inspect"}).status == 2);
}
