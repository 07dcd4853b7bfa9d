#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"
#include "support/run.hpp"

using namespace attnlab;

namespace {

void check_refused(const std::vector<std::string>& arguments, int status, const std::string& text) {
  const Outcome outcome = run_command(arguments);
  CAPTURE(outcome.notes);
  CHECK(outcome.status == status);
  CHECK(outcome.output.empty());
  CHECK(std::count(outcome.notes.begin(), outcome.notes.end(), '\n') == 1);
  CHECK(outcome.notes.find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("cli: replay prints the lesson's listings byte for byte") {
  std::string all;
  for (const char* name : {"attention", "scaling", "positions", "accounting"}) {
    CAPTURE(name);
    const std::string lesson(embedded_file(std::string("lesson/") + name + ".txt"));
    CHECK(run_command({"replay", name}).output == lesson);
    all += lesson;
  }
  const Outcome outcome = run_command({"replay", "--check"});
  CHECK(outcome.status == 0);
  CHECK(outcome.output == all);
  CHECK(outcome.notes.find("attention is the lesson's text") != std::string::npos);
  CHECK(run_command({"replay", "--check", "--quiet"}).notes.empty());
}

TEST_CASE("cli: the parts of a listing stand alone") {
  const std::string listing(embedded_file("lesson/attention.txt"));
  CHECK(run_command({"attention"}).output + run_command({"equivariance"}).output == listing);
  const std::string positions(embedded_file("lesson/positions.txt"));
  CHECK(run_command({"sinusoidal"}).output + run_command({"rope"}).output == positions);
  CHECK(run_command({"params"}).output == embedded_file("lesson/accounting.txt"));
}

TEST_CASE("cli: another seed is noticed by replay --check") {
  const Outcome outcome = run_command({"replay", "attention", "--seed", "467", "--check"});
  CHECK(outcome.status == 1);
  CHECK(outcome.notes.find("attention differs from the lesson's text at byte 110, line 3") !=
        std::string::npos);
}

TEST_CASE("cli: replay in JSON is one object keyed by listing") {
  const auto json = nlohmann::json::parse(run_command({"replay", "--format", "json"}).output);
  CHECK(json.size() == 4);
  CHECK(json["attention"]["values"]["permutation"] == nlohmann::json::parse("[4, 1, 0, 2, 3]"));
  CHECK(json["positions"]["values"]["encoding"].size() == 2);
  CHECK(json["accounting"]["values"]["total"] == 124439808);
}

TEST_CASE("cli: replay without a name shows the tables of all listings") {
  const std::string names = run_command({"replay", "--tables"}).output;
  CHECK(names.starts_with("weights\noutput\nscores\n"));
  CHECK(names.find("\nscores_2\ndecay\n") != std::string::npos);
  CHECK(run_command({"replay", "--tables", "--format", "json"}).output == names);
  CHECK(run_command({"replay", "--format", "csv"}).output ==
        run_command({"replay", "attention", "--format", "csv"}).output);
  CHECK(run_command({"replay", "--format", "csv", "--table", "scores_2"}).output ==
        run_command({"rope", "--format", "csv"}).output);
  CHECK(run_command({"replay", "--table", "decay"}).output ==
        run_command({"rope", "--table", "decay"}).output);
  CHECK(run_command({"replay", "--format", "svg", "--table", "nosuch"}).status == 2);
}

TEST_CASE("cli: wrong use is one line and exits 2") {
  check_refused({"sinusoidal", "--seq-len", "3x"}, 2, "--seq-len: 3x is not a whole number");
  check_refused({"sinusoidal", "--seq-len", "-2"}, 2, "--seq-len: -2 is outside");
  check_refused({"sinusoidal", "--seq-len=-2"}, 2, "--seq-len: -2 is outside");
  check_refused({"sinusoidal", "-T", "-2"}, 2, "--seq-len: -2 is outside");
  check_refused({"sinusoidal", "--base", "nan"}, 2, "--base: nan is not a finite number");
  check_refused({"sinusoidal", "--seq-len"}, 2, "--seq-len: a value is missing behind it");
  check_refused({"sinusoidal", "--seq-len", ""}, 2, "--seq-len: its value is empty");
  check_refused({"sinusoidal", "--seq-len="}, 2, "--seq-len: its value is empty");
  check_refused({"sinusoidal", "--sqe-len", "3"}, 2,
                "--sqe-len is an unknown option of attnlab sinusoidal: did you mean --seq-len?");
  check_refused({"attention", "--check=no"}, 2, "--check: it takes no value; leave =no away");
  check_refused({"attention", "--help=yes"}, 2, "--help: it takes no value; leave =yes away");
  check_refused({"attention", "-q=1"}, 2, "-q: it takes no value; leave =1 away");
  check_refused({"attention", "--plot", "--format", "svg"}, 2,
                "--plot: it draws in the terminal, not as svg");
  check_refused({"attention", "--plot", "-o", "weights.CSV"}, 2, "not as csv; without it csv is written");
  check_refused({"inspect", "--", "--nosuch.npy"}, 3, "cannot read --nosuch.npy");
  check_refused({"inspect", "-"}, 2, "standard input needs --input-format");
  check_refused({"attention", "--", "-q"}, 2, "-q: attnlab attention takes no argument");
  check_refused({"sinusoidal", "extra"}, 2, "extra: attnlab sinusoidal takes no argument");
  check_refused({"atention"}, 2, "atention is an unknown command: did you mean attention?");
  check_refused({"--frobnicate"}, 2, "--frobnicate is an unknown option");
  check_refused({"replay", "attentoin"}, 2, "LISTING attentoin is unknown: did you mean attention?");
  check_refused({"replay", "attention", "scaling"}, 2, "at most 1 LISTING");
  check_refused({"attention", "--format", "yaml"}, 2, "--format: yaml is not one of text, csv");
  check_refused({"attention", "--seed", "-1"}, 2, "--seed");
  check_refused({"no\x1b[31m\nsuch"}, 2, "attnlab: no\\x1b[31m such is an unknown command");
  check_refused({"attention", "--tokens", "a\xEF b"}, 2, "--tokens: 'a\\xef' is no printable UTF-8");
  check_refused({"attention", "--tokens", "\x1b[2J b"}, 2, "--tokens: '\\x1b[2J' is no printable UTF-8");
  check_refused({"attention", "--cell", "9,9", "--explain"}, 2, "--cell: 9 is outside [0, 4]");
  check_refused({"rope", "--d-k", "7"}, 2, "--d-k: 7 is odd");
  check_refused({"rope", "--offset", "4"}, 2, "--offset: 4 puts the key of query position 3 before 0");
}

TEST_CASE("cli: an option that changes nothing without another is refused") {
  const std::vector<std::string> arrays = {"op",    "attention", "--query", "q.npy",
                                           "--key", "k.npy",     "--value", "v.npy"};
  const auto refused = [&](std::vector<std::string> more, const std::string& text) {
    std::vector<std::string> arguments = arrays;
    arguments.insert(arguments.end(), more.begin(), more.end());
    check_refused(arguments, 2, text);
  };
  refused({"--rope-base", "5"}, "--rope-base has no effect without --rope interleaved or half");
  refused({"--rope", "none", "--rope-dim", "2"},
          "--rope-dim has no effect without --rope interleaved or half");
  refused({"--rope", "half", "--rope-factor", "2"},
          "--rope-factor has no effect without --rope-scaling linear, ntk, dynamic, yarn or llama3");
  refused({"--rope", "half", "--rope-scaling", "linear", "--rope-beta-fast", "2"},
          "--rope-beta-fast has no effect without --rope-scaling yarn");
  refused({"--eps", "1"}, "--eps has no effect without --qk-norm rms");
  refused({"--block-k", "8"}, "--block-k has no effect without --method flash");
  refused({"--stride", "2"}, "--stride has no effect without --pattern strided");
  refused({"--mask-polarity", "drop"}, "--mask-polarity has no effect without --mask");
  check_refused({"attention", "--cell", "3,1"}, 2, "--cell has no effect without --explain");
  check_refused({"op", "rope", "--x", "q.npy", "--yarn-bounds", "exact"}, 2,
                "--yarn-bounds has no effect without --scaling yarn");
}

TEST_CASE("cli: help and version go to standard output") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"-h"},
                                                    {"--version"},
                                                    {"attention", "--help"},
                                                    {"replay", "-h"}}) {
    const Outcome outcome = run_command(arguments);
    CHECK(outcome.status == 0);
    CHECK_FALSE(outcome.output.empty());
    CHECK(outcome.notes.empty());
  }
  const Outcome bare = run_command({});
  CHECK(bare.status == 2);
  CHECK(bare.notes ==
        "attnlab: a command is needed, such as attnlab attention; attnlab --help shows all of them\n");
}

TEST_CASE("cli: no line of help passes 80 columns") {
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    const std::string help = command_help(command, "attnlab " + command.name) + program_help();
    std::size_t start = 0;
    while (start < help.size()) {
      const std::size_t end = help.find('\n', start);
      const std::string line = help.substr(start, end - start);
      CAPTURE(line);
      CHECK((line.size() <= 80 || line.find("attnlab") != std::string::npos));
      start = end + 1;
    }
  }
}

namespace {

// The words of an example up to a pipe or a redirection; quotes hold words together.
std::vector<std::string> words_of_example(const std::string& example) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : example) {
    if (!quoted && (c == '|' || c == '>' || c == '&')) break;
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

TEST_CASE("cli: every example of every experiment runs") {
  for (const Command& command : commands()) {
    for (const std::string& example : command.examples) {
      CAPTURE(example);
      CHECK(example.find("attnlab ") != std::string::npos);
      // Training takes seconds, and files of users are not there.
      if (experiments::find(command.name) == nullptr || command.name == "induction") continue;
      const std::vector<std::string> words = words_of_example(example);
      bool reads_a_file = false;
      for (const std::string& word : words)
        reads_a_file = reads_a_file || word.ends_with("config.json") || word.ends_with(".safetensors");
      if (reads_a_file) continue;
      const Outcome outcome = run_command({words.begin() + 1, words.end()});
      CAPTURE(outcome.notes);
      CHECK(outcome.status == 0);
    }
  }
}

TEST_CASE("cli: the format follows the name of the output") {
  const Outcome outcome = run_command({"attention", "-o", "weights.csv"});
  CHECK(outcome.path == "weights.csv");
  CHECK(outcome.output.starts_with("row,column,value\n0,0,1\n"));
  CHECK(run_command({"attention", "-o", "WEIGHTS.CSV"}).output == outcome.output);
  check_refused({"attention", "-o", "weights.jpg"}, 2,
                "weights.jpg: pictures are written as .svg, .png or .pdf");
}

TEST_CASE("cli: a table that is not there is refused in every format") {
  for (const char* format : {"text", "json", "csv", "svg"}) {
    check_refused({"scaling", "--d-k", "4", "--table", "nosuch", "--format", format}, 2,
                  "--table: nosuch is not one of ");
  }
}

TEST_CASE("cli: --tables lists what --table takes") {
  CHECK(run_command({"attention", "--tables"}).output ==
        "weights\noutput\nscores\nquery\nkey\nvalue\nx\nw_query\nw_key\nw_value\n");
}

TEST_CASE("cli: --check exits 1 when a claim fails and 0 without it") {
  CHECK(run_command({"attention", "--mask", "none"}).status == 0);
  const Outcome outcome = run_command({"attention", "--mask", "none", "--check"});
  CHECK(outcome.status == 1);
  CHECK(outcome.notes.find("claim future-weight-zero fails") != std::string::npos);
  CHECK(run_command({"attention", "--check"}).status == 0);
}

TEST_CASE("cli: tokens label the positions") {
  const std::string text = run_command({"attention", "--tokens", "the cat sat"}).output;
  CHECK(text.find("the") != std::string::npos);
  CHECK(text.find("output shape: (3, 4)") != std::string::npos);
  const auto parameter = [](const char* name) {
    const Outcome outcome = run_command({name, "--tokens", "the cat sat", "--format", "json"});
    return nlohmann::json::parse(outcome.output)["parameters"]["seq-len"];
  };
  for (const char* name : {"attention", "equivariance", "sinusoidal", "positions"})
    CHECK(parameter(name) == 3);
  CHECK(parameter("alibi") == 16);
  CHECK(run_command({"attention", "-T", "3", "--tokens", "the cat sat"}).output == text);
  check_refused({"attention", "-T", "4", "--tokens", "the cat sat"}, 2,
                "--tokens: 3 words where --seq-len is 4");
  CHECK(run_command({"attention", "--tokens", "the cat sat", "--against-default"})
            .output.find("[3, 3]     [5, 5]") != std::string::npos);
}

TEST_CASE("cli: --against-default shows what the choice changed") {
  const std::string text = run_command({"scaling", "--divide", "none", "--against-default"}).output;
  CHECK(text.find("Against the lesson's own setting") != std::string::npos);
  CHECK(text.find("scaling, d_k 64, peak_scaled") != std::string::npos);
}

TEST_CASE("cli: verify shows verdicts and counts them") {
  const Outcome outcome = run_command({"verify", "attention", "--format", "json"});
  CHECK(outcome.status == 0);
  const auto json = nlohmann::json::parse(outcome.output);
  CHECK(json["checks"].size() == 9);
  CHECK(json["checks"][0]["id"] == "attention/listing");
  CHECK(run_command({"verify", "attention"})
            .output.ends_with("9 claims: 9 pass, 0 near, 0 fail, 0 cannot be checked\n"));
  CHECK(run_command({"verify", "attention", "--perturb"}).status == 0);
  CHECK(run_command({"verify", "--list"}).output.find("attention/no-leak") != std::string::npos);
  check_refused({"verify", "nosuch"}, 2, "EXPERIMENT nosuch is unknown");
}

TEST_CASE("cli: sizes beyond the machine's memory are refused before memory is taken") {
  check_refused({"sinusoidal", "-T", "1048576", "-d", "65536"}, 2,
                "encodings of shape [1048576, 65536] need 549755813888 bytes and this machine has");
}

TEST_CASE("cli: arrays of op print as NumPy prints them by itself") {
  CHECK(run_command({"op", "rng", "--seed", "466", "--normal", "2"}).output ==
        "normal [2]\n[ 1.00383816 -0.69350331]\n");
}

TEST_CASE("cli: the version says what a report of a fault needs") {
  const std::string text = run_command({"--version"}).output;
  CHECK(text.starts_with("attnlab 0.1.0\ncompiler: "));
  for (const char* part : {"\nBLAS: OpenBLAS ", ", kernel ", "\ninstructions: ", "\nthreads: 1\n"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}
