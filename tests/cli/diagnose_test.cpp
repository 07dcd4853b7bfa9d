#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/writer.hpp"
#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;
using nlohmann::json;

namespace {

// Two queries over two keys, without the scale of 1/sqrt(2): each row is (1, 0) and (0, 1) in turn.
struct Files {
  Scratch scratch;
  std::string identity = scratch.file("i.json", "[[1, 0], [0, 1]]");
  std::vector<std::string> attention(const std::string& yours, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"diagnose", "attention", "--query", identity,  "--key",
                                      identity,   "--value",   identity,  "--yours", yours};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

const char* unscaled = "[[0.7310585786300049, 0.2689414213699951], [0.2689414213699951, 0.7310585786300049]]";
const char* right = "[[0.6697615493266569, 0.3302384506733430], [0.3302384506733430, 0.6697615493266569]]";

}  // namespace

TEST_CASE("diagnose command: the right answer matches with status 0") {
  const Files files;
  const Outcome outcome =
      run_command(files.attention(files.scratch.file("y.json", right), {"--format", "json"}));
  CHECK(outcome.status == 0);
  const json found = json::parse(outcome.output);
  CHECK(found["matches"] == true);
  CHECK(found["max_abs_difference"].get<double>() < 1e-15);
  CHECK(found["first_difference"].is_null());
  CHECK(found["mistakes"].empty());
}

TEST_CASE("diagnose command: a missing scale is named with status 1") {
  const Files files;
  const std::string yours = files.scratch.file("y.json", unscaled);
  const Outcome outcome = run_command(files.attention(yours, {"--format", "json"}));
  CHECK(outcome.status == 1);
  const json found = json::parse(outcome.output);
  CHECK(found["matches"] == false);
  CHECK(found["first_difference"] == json({0, 0}));
  CHECK(found["max_abs_difference"].get<double>() > 0.06);
  CHECK(found["mistakes"].size() == 1);
  CHECK(found["mistakes"][0]["name"] == "scale-missing");
  CHECK(found["mistakes"][0].contains("why"));
  CHECK(found["mistakes"][0].contains("remedy"));
  CHECK(run_command(files.attention(yours)).output.find("scale-missing: ") != std::string::npos);
  CHECK(run_command(files.attention(yours, {"--format", "csv"})).output.starts_with("name,why,remedy"));
}

TEST_CASE("diagnose command: wrong use is one line") {
  const Files files;
  CHECK(run_command({"diagnose", "attention"}).notes ==
        "attnlab: diagnose attention needs --yours: the file of your own result\n");
  CHECK(run_command({"diagnose", "attention"}).status == 2);
  CHECK(run_command({"diagnose"}).status == 2);
  const std::string yours = files.scratch.file("y.json", "[1, 2, 3]");
  const Outcome outcome = run_command(files.attention(yours));
  CHECK(outcome.status == 3);
  CHECK(outcome.output.empty());
  CHECK(outcome.notes.find("y.json: shape [3] where the operation gives output [2, 2]") != std::string::npos);
}

TEST_CASE("diagnose command: the catalogue lists every operation's mistakes") {
  const Outcome outcome = run_command({"diagnose", "--list", "norm", "--format", "json"});
  CHECK(outcome.status == 0);
  CHECK(json::parse(outcome.output)["mistakes"].size() >= 10);
  CHECK(run_command({"diagnose", "--list"}).output.find("scale-missing  (attention") != std::string::npos);
}

TEST_CASE("diagnose command: a mistake is shown beside the right answer in every format") {
  const Outcome text = run_command({"diagnose", "--show", "scale-missing"});
  CHECK(text.status == 0);
  CHECK(text.output.find("weights [5, 5]\n") != std::string::npos);
  CHECK(text.output.find("  0.772  0.228  0.000") != std::string::npos);  // as the lesson prints it
  CHECK(text.output.find("  scaling/unit-variance: divided by sqrt(d_k)") != std::string::npos);
  const json shown =
      json::parse(run_command({"diagnose", "--show", "scale-missing", "--format", "json"}).output);
  CHECK(shown["name"] == "scale-missing");
  CHECK(shown["claim"] == "scaling/unit-variance");
  CHECK(shown["right"].size() == 5);
  CHECK(shown["wrong"][1][0].get<double>() > shown["right"][1][0].get<double>());
  const Outcome csv = run_command({"diagnose", "--show", "scale-missing", "--format", "csv"});
  CHECK(csv.output.starts_with("row,column,right,wrong\n0,0,1,1\n"));
}

TEST_CASE("diagnose command: a mistake that is not known suggests the nearest") {
  const Outcome outcome = run_command({"diagnose", "--show", "scale-misssing"});
  CHECK(outcome.status == 2);
  CHECK(outcome.notes ==
        "attnlab: --show scale-misssing: there is no mistake of that name: did you mean scale-missing? "
        "diagnose --list shows all\n");
}

TEST_CASE("diagnose command: what is not a known mistake is said in words") {
  const Files files;
  const auto output = [&](const char* yours) {
    const Outcome outcome = run_command(files.attention(files.scratch.file("y.json", yours)));
    CHECK(outcome.status == 1);
    return outcome.output;
  };
  const auto ends = [](const std::string& text, const std::string& end) {
    return text.ends_with(end + "\n");
  };
  CHECK(ends(output("[[1, 0], [0.3302384506733431, 0.6697615493266569]]"),
             "Your numbers are right for another setting: --causal"));
  CHECK(ends(output("[[5, 6], [7, 9]]"), "No known mistake gives these numbers, alone or with another."));
  const std::string near = output("[[0.7325123, 0.2674877], [0.2674877, 0.7325123]]");
  CHECK(near.find("with another.\nThe nearest leaves a difference of 0.00145:\n  scale-missing: ") !=
        std::string::npos);
  const std::string gap = output("[[0.6697615493266569, \"NaN\"], [0.3302384506733431, 0.6697615493266569]]");
  CHECK(gap.find("\n1 of yours is NaN or infinite where the right ones are finite; all others match\n") !=
        std::string::npos);
  const std::string gaps = output("[[5, \"NaN\"], [\"Infinity\", 6]]");
  CHECK(gaps.find(
            "\n2 of yours are NaN or infinite where the right ones are finite; others differ as well\n") !=
        std::string::npos);
}

TEST_CASE("diagnose command: on the arrays of the file offered the right answer and each mistake are told") {
  const Files files;
  const std::string tell = files.scratch.path("tell.safetensors");
  const Outcome first =
      run_command(files.attention(files.scratch.file("y.json", right), {"--causal", "--discriminate", tell}));
  CHECK(first.status == 1);
  CHECK(first.output.find("mask-multiplied: ") != std::string::npos);
  CHECK(first.output.find("causal-missing: ") != std::string::npos);
  std::vector<std::string> arrays;
  std::string words;
  for (const std::string name : {"query", "key", "value"}) {
    arrays.insert(arrays.end(), {"--" + name, fmt::format("{}:{}", tell, name)});
    words += fmt::format(" --{} {}:{}", name, tell, name);
  }
  CHECK(
      first.output.ends_with("\n" + tell +
                             " holds arrays on which these explanations differ: compute your result on them, "
                             "then\n  attnlab diagnose attention" +
                             words + " --causal --result output --yours YOURS\n"));
  REQUIRE(first.files.size() == 1);
  CHECK(first.files[0].path == tell);
  write_output(tell, first.files[0].produce);

  const auto call = [&](std::vector<std::string> start, const std::vector<std::string>& end) {
    start.insert(start.end(), arrays.begin(), arrays.end());
    start.insert(start.end(), end.begin(), end.end());
    return run_command(start);
  };
  const auto diagnosed = [&](const std::vector<std::string>& options) {
    std::vector<std::string> end = options;
    end.insert(end.end(), {"--format", "csv", "--table", "output"});
    const std::string yours = files.scratch.file("y.csv", call({"op", "attention"}, end).output);
    return json::parse(
        call({"diagnose", "attention"}, {"--causal", "--yours", yours, "--format", "json"}).output);
  };
  CHECK(diagnosed({"--causal"})["matches"] == true);
  const json missing = diagnosed({});
  CHECK(missing["mistakes"].size() == 1);
  CHECK(missing["mistakes"][0]["name"] == "causal-missing");
}

TEST_CASE("diagnose command: a file is offered that tells explanations apart") {
  const Files files;
  const std::string yours = files.scratch.file("y.json", unscaled);
  const std::string values = files.scratch.file("v.json", "[[1, 0, 0], [0, 1, 0]]");
  const std::string mixed = files.scratch.file(
      "m.json", "[[0.7310585786300049, 0.2689414213699951, 0], [0.2689414213699951, 0.7310585786300049, 0]]");
  const std::string tell = files.scratch.path("tell.safetensors");
  const std::vector<std::string> call = {"diagnose", "attention",    "--query",        files.identity,
                                         "--key",    files.identity, "--value",        values,
                                         "--yours",  mixed,          "--discriminate", tell};
  const Outcome outcome = run_command(call);
  CHECK(outcome.status == 1);
  CHECK(outcome.files.empty());  // only one mistake fits
  CHECK(outcome.output.find("no two explanations to tell apart: " + tell + " is not written") !=
        std::string::npos);
  CHECK(run_command(files.attention(yours, {"--discriminate", "tell.npy"})).status == 2);
}
