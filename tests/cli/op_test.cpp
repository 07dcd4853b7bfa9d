// `op` in process, and every field case that it answers, with its arrays as json, npy and csv.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "io/array_file.hpp"
#include "operations/operation.hpp"
#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;
using nlohmann::json;

namespace {

const std::map<std::string, double> specials = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                                {"Infinity", std::numeric_limits<double>::infinity()},
                                                {"-Infinity", -std::numeric_limits<double>::infinity()}};

bool is_word(const json& value) { return value.is_string() && specials.count(value.get<std::string>()) == 0; }

double number(const json& value) {
  return value.is_string() ? specials.at(value.get<std::string>()) : value.get<double>();
}

void flatten(const json& nested, std::size_t depth, Array& array) {
  if (!nested.is_array()) {
    array.values.push_back(number(nested));
    return;
  }
  if (array.shape.size() == depth) array.shape.push_back(nested.size());
  for (const json& part : nested) flatten(part, depth + 1, array);
}

// A file with the array of a case, in the format asked for where it can hold the shape.
std::string written(const Scratch& scratch, const std::string& name, const json& nested,
                    const std::string& format) {
  if (format == "json") return scratch.file(name + ".json", nested.dump());
  Array array;
  flatten(nested, 0, array);
  const bool is_grid = array.shape.size() <= 2 && !array.values.empty();
  std::string path = scratch.path(name + (format == "csv" && is_grid ? ".csv" : ".npy"));
  write_array(path, view_of(array));
  return path;
}

// The words of a case's command line, without the program's name.
std::vector<std::string> arguments_of(const json& one, const Scratch& scratch, const std::string& format) {
  std::istringstream line(one["cli"].get<std::string>());
  std::vector<std::string> words;
  std::string word;
  line >> word;
  while (line >> word) {
    if (word.starts_with("{file:")) {
      word = test_file("cases/" + one["input_files"][word.substr(6, word.size() - 7)].get<std::string>());
    } else if (word.starts_with("{")) {
      const std::string name = word.substr(1, word.size() - 2);
      word = written(scratch, name, one["inputs"][name], format);
    }
    words.push_back(word);
  }
  return words;
}

bool is_close(const json& got, const json& want, double absolute, double relative) {
  if (want.is_null()) return true;
  if (want.is_object()) {
    return std::all_of(want.items().begin(), want.items().end(), [&](const auto& item) {
      return got.contains(item.key()) && is_close(got[item.key()], item.value(), absolute, relative);
    });
  }
  if (want.is_array()) {
    if (!got.is_array() || got.size() != want.size()) return false;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (!is_close(got[i], want[i], absolute, relative)) return false;
    }
    return true;
  }
  if (is_word(want) || is_word(got)) return got == want;
  const double a = number(got);
  const double b = number(want);
  if (std::isnan(b)) return std::isnan(a);
  return a == b || std::abs(a - b) <= absolute + relative * std::abs(b);
}

bool is_met(const json& expected, const json& tolerance, const Outcome& outcome) {
  if (expected["outcome"] == "value") {
    return outcome.status == 0 && is_close(json::parse(outcome.output), expected["values"],
                                           tolerance["abs"].get<double>(), tolerance["rel"].get<double>());
  }
  std::string notes = outcome.notes;
  std::transform(notes.begin(), notes.end(), notes.begin(), [](unsigned char c) { return std::tolower(c); });
  const json& words = expected["stderr_any"];
  return (outcome.status == 2 || outcome.status == 3) && outcome.output.empty() &&
         std::count(notes.begin(), notes.end(), '\n') == 1 &&
         std::any_of(words.begin(), words.end(), [&](const json& word) {
           return notes.find(word.get<std::string>()) != std::string::npos;
         });
}

void check_field_cases(const std::string& format) {
  int count = 0;
  const json all = json::parse(test_data("cases/cases.json"));
  for (const json& one : all["cases"]) {
    if (!one["cli"].get<std::string>().starts_with("attnlab op ")) continue;
    const Scratch scratch;
    const Outcome outcome = run_command(arguments_of(one, scratch, format));
    bool met = is_met(one["expected"], one["tolerance"], outcome);
    for (const json& other : one.value("also_accept", json::array())) {
      met = met || is_met(other, one["tolerance"], outcome);
    }
    CAPTURE(one["id"].get<std::string>());
    CAPTURE(outcome.output);
    CAPTURE(outcome.notes);
    CHECK(met);
    ++count;
  }
  CHECK(count > 100);
}

}  // namespace

TEST_CASE("op: every field case with its arrays as json") { check_field_cases("json"); }
TEST_CASE("op: every field case with its arrays as npy") { check_field_cases("npy"); }
TEST_CASE("op: every field case with its arrays as csv") { check_field_cases("csv"); }

TEST_CASE("op: alone it lists the operations") {
  const std::string list = run_command({"op"}).output;
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    CHECK(list.find("  " + operation.name + ' ') != std::string::npos);
  }
}

TEST_CASE("op: help gives each array with its shape and each parameter and result") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    const Outcome outcome = run_command({"op", operation.name, "--help"});
    CHECK(outcome.status == 0);
    for (const InputInfo& input : operation.inputs) {
      CAPTURE(input.name);
      CHECK(outcome.output.find("--" + input.name + " FILE") != std::string::npos);
    }
    CHECK((outcome.output.find("\nexamples\n  attnlab op " + operation.name + " --") != std::string::npos) ==
          !operation.inputs.empty());
    for (const ResultInfo& result : operation.results) {
      CHECK(outcome.output.find("  " + result.name + ' ') != std::string::npos);
    }
  }
}

TEST_CASE("op: csv is a plain grid and a table picks the result") {
  const Scratch scratch;
  const std::string x = scratch.file("x.csv", "1,2\n3,4\n");
  const std::vector<std::string> base{"op", "attention", "--query", x,         "--key",
                                      x,    "--value",   x,         "--scale", "0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return run_command(more).output;
  };
  CHECK(with({"--format", "csv"}) == "2,3\n2,3\n");
  CHECK(with({"--format", "csv", "--table", "weights"}) == "0.5,0.5\n0.5,0.5\n");
  CHECK(with({"--tables"}) == "output\nweights\nlse\nscores\n");
  CHECK(with({"--table", "output"}) == "[[2. 3.]\n [2. 3.]]\n");
}

TEST_CASE("op: numbers print as words and as a table of their own") {
  CHECK(run_command({"op", "score-entries", "--length", "65536"}).output == "entries 4294967296\n");
  CHECK(run_command({"op", "score-entries", "--length", "65536", "--format", "csv"}).output ==
        "entries\n4294967296\n");
}

TEST_CASE("op: --input-format tells of standard input and files beside it tell of themselves") {
  const Scratch scratch;
  const std::string x = scratch.file("x.csv", "1,2\n");
  const std::string gain = scratch.file("gain.json", "[2, 4]");
  const int kept = ::dup(STDIN_FILENO);
  const int file = ::open(x.c_str(), O_RDONLY);
  ::dup2(file, STDIN_FILENO);
  const Outcome outcome = run_command(
      {"op", "norm", "--x", "-", "--gain", gain, "--input-format", "csv", "--eps", "0", "--format", "csv"});
  ::dup2(kept, STDIN_FILENO);
  ::close(file);
  ::close(kept);
  CHECK(outcome.notes.empty());
  CHECK(outcome.output == "-2,4\n");
}

TEST_CASE("op: what is missing or wrong is one line that names it") {
  const Scratch scratch;
  const std::string x = scratch.file("x.json", "[[1, 2], [3, 4]]");
  const std::string wide = scratch.file("wide.json", "[[1, 2, 3]]");
  const auto refused = [](const std::vector<std::string>& arguments, int status, const std::string& text) {
    const Outcome outcome = run_command(arguments);
    CAPTURE(outcome.notes);
    CHECK(outcome.status == status);
    CHECK(outcome.output.empty());
    CHECK(outcome.notes == "attnlab: " + text + "\n");
  };
  refused({"op", "attention", "--query", x}, 2,
          "op attention needs --key, --value: give the file of an array, see op attention --help");
  refused({"op", "attention", "--query", x, "--key", wide, "--value", wide}, 3,
          "query [2, 2] and key [1, 3] need rows of equal width (--key " + wide + ", --query " + x +
              ", --value " + wide + ")");
  refused({"op", "rope-frequencies", "--dim", "3"}, 2,
          "op rope-frequencies: rotary width 3 does not split into pairs: an even width of at least 2 does");
  refused({"op", "sinusoidal", "--seq-len", "100000000000000000000"}, 2,
          "--seq-len: 100000000000000000000 is outside [1, 9223372036854775807]");
  refused({"op", "atention"}, 2, "attnlab op atention is unknown: did you mean attention? see attnlab op");
  refused({"op", "kv-quantize", "--x", x, "--scheme", "symmetric", "--bits", "1"}, 2,
          "--bits: 1 leaves symmetric codes no level but 0: give at least 2");
  const std::string three = scratch.file("three.json", "[1, 2, 3]");
  const std::string ones = scratch.file("ones.json", "[1, 1, 1]");
  const auto attention = [&](const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> words{"op", "attention", "--query", x, "--key", x, "--value", x};
    words.insert(words.end(), more.begin(), more.end());
    refused(words, 3, text);
  };
  attention({"--rope", "half", "--q-pos", three}, "--q-pos " + three + ": 3 positions for 2 rows");
  attention({"--key-padding", ones}, "--key-padding " + ones + ": length 3 where there are 2 keys");
  attention({"--mask", ones},
            "--mask " + ones + ": shape [1, 3] where [queries, keys] = [2, 2] was expected");
  attention({"--dropout", "0.5", "--dropout-keep", x}, "--dropout-keep " + x + ": 2 is neither 0 nor 1");
  attention({"--alibi", "--bias", wide},
            "bias: shape [1, 3] where [queries, keys] = [2, 2] was expected (--bias " + wide + ", --key " +
                x + ", --query " + x + ", --value " + x + ")");
  refused({"op", "rope-score", "--query", x, "--key", x, "--pairs", x}, 3,
          "query [2, 2] and key [2, 2]: one row of equal width each was expected (--key " + x + ", --pairs " +
              x + ", --query " + x + ")");
  const std::string row = scratch.file("row.json", "[[1, 2]]");
  refused({"op", "rope-score", "--query", row, "--key", row, "--pairs", wide}, 3,
          "--pairs " + wide + ": shape [1, 3] where [n, 2] was expected, a query and a key position a row");
  CHECK(run_command({"op", "lookup", "--query", "-", "--keys", "-", "--values", "-", "--input-format", "csv"})
            .notes == "attnlab: standard input can be read for one array: give files for the others\n");
}

TEST_CASE("op: integers are those of NumPy") {
  // numpy.random.default_rng(466).integers(-3, 4, 6), NumPy 1.24
  const Outcome outcome = run_command(
      {"op", "rng", "--seed", "466", "--integers", "6", "--low", "-3", "--high", "4", "--format", "json"});
  CHECK(json::parse(outcome.output)["integers"] == json({0, -2, 0, -1, 1, 1}));
}

TEST_CASE("op: the fast kernels take the nearer end of two windows") {
  const Scratch scratch;
  const std::string x = scratch.file("x.json", "[[1, 2], [3, 4], [5, 7]]");
  const auto output = [&](const std::vector<std::string>& windows) {
    std::vector<std::string> words{"op",      "attention", "--query", x,         "--key",    x,
                                   "--value", x,           "--dtype", "float32", "--format", "json"};
    words.insert(words.end(), windows.begin(), windows.end());
    return json::parse(run_command(words).output)["output"];
  };
  const json itself = json::parse("[[1, 2], [3, 4], [5, 7]]");
  CHECK(output({"--window", "1"}) == itself);
  CHECK(output({"--window", "3", "--window-left", "0"}) == itself);
  CHECK(output({"--window", "1", "--window-left", "2"}) == itself);
  CHECK(output({"--window", "2"}) != itself);
}
