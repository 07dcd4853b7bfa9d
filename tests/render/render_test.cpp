#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "render/render.hpp"

using namespace attnlab;

namespace {

Result sample() {
  Result result;
  result.name = "sample";
  result.parameters = {{"seq-len", std::int64_t{2}}, {"style", std::string("half")}, {"none", Value{}}};
  Report& report = result.report;
  report.line("two rows");
  report.table({"spread",
                "Spread",
                {{"d_k"}, {"std"}, {"name"}},
                {{std::int64_t{4}, 0.1, std::string("a,b")},
                 {std::int64_t{64}, std::nan(""), std::string("say \"x\"")}}});
  report.data(Grid{"weights", "Weights", {{2, 2}, {1, 0, 0.25, 0.75}}, {"query", "key"}});
  report.value("total", Int128{1} << 70);
  report.value("empty", std::vector<double>{});
  report.check({.id = "sum", .measured = 1, .expected = 1, .claim = "rows sum to one", .source = "a paper"});
  return result;
}

}  // namespace

TEST_CASE("render: csv quotes what it must and writes numbers that read back") {
  CHECK(render_csv(sample(), {}) == "d_k,std,name\n4,0.1,\"a,b\"\n64,nan,\"say \"\"x\"\"\"\n");
  CHECK(render_csv(sample(), {.table = "weights"}) == "row,column,value\n0,0,1\n0,1,0\n1,0,0.25\n1,1,0.75\n");
  CHECK(render_csv(sample(), {.table = "weights", .wide = true}) == "row,0,1\n0,1,0\n1,0.25,0.75\n");
  CHECK(render_csv(sample(), {.table = "weights", .plain_grid = true}) == "1,0\n0.25,0.75\n");
}

TEST_CASE("render: tsv has no quotes") {
  CHECK(render_tsv(sample(), {}) == "d_k\tstd\tname\n4\t0.1\ta,b\n64\tnan\tsay \"x\"\n");
}

TEST_CASE("render: a table that is not there is refused with those that are") {
  CHECK_THROWS_WITH_AS(render_csv(sample(), {.table = "spraed"}),
                       "--table: spraed is not one of spread, weights", Error);
  CHECK_THROWS_WITH_AS(find_renderer("yaml"), doctest::Contains("--format: yaml is not one of text, csv"),
                       Error);
}

TEST_CASE("render: json is strict and holds all") {
  const auto json = nlohmann::json::parse(render_json(sample(), {}));
  CHECK(json["experiment"] == "sample");
  CHECK(json["parameters"]["seq-len"] == 2);
  CHECK(json["parameters"]["none"].is_null());
  CHECK(json["values"]["weights"] == nlohmann::json::parse("[[1,0],[0.25,0.75]]"));
  CHECK(json["values"]["empty"].empty());
  CHECK(json["tables"]["spread"]["columns"][1]["data"][1] == "NaN");
  CHECK(json["tables"]["weights"]["columns"][2]["name"] == "value");
  CHECK(json["checks"][0]["verdict"] == "pass");
  CHECK(json["checks"][0]["source"] == "a paper");
  CHECK(render_json(sample(), {}).find("1180591620717411303424") != std::string::npos);
}

TEST_CASE("render: json of values alone has their names at the top") {
  Result result = sample();
  result.values_only = true;
  const auto json = nlohmann::json::parse(render_json(result, {}));
  CHECK(json.contains("weights"));
  CHECK_FALSE(json.contains("attnlab"));
}

TEST_CASE("render: ndjson is one object a row") {
  const std::string text = render_ndjson(sample(), {});
  const std::string first = text.substr(0, text.find('\n'));
  CHECK(nlohmann::json::parse(first) == nlohmann::json::parse(R"({"d_k": 4, "std": 0.1, "name": "a,b"})"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("render: text shows lines and tables and then the claims") {
  const std::string text = render_text(sample(), {});
  CHECK(text.starts_with("two rows\n\nSpread\nd_k  std  name"));
  CHECK(text.find("weights") == std::string::npos);
  CHECK(text.find("pass") != std::string::npos);
  Result listing = sample();
  listing.lesson_listing = true;
  CHECK(render_text(listing, {}).find("pass") == std::string::npos);
  CHECK(render_text(listing, {.explain = true}).find("pass") != std::string::npos);
}

TEST_CASE("render: text of one array is NumPy's") {
  CHECK(render_text(sample(), {.table = "weights"}) == "[[1.   0.  ]\n [0.25 0.75]]\n");
}

TEST_CASE("render: npy holds an array or the numbers of a table") {
  const std::string bytes = render_npy(sample(), {.table = "weights"});
  CHECK(bytes.starts_with("\x93NUMPY\x01"));
  CHECK(bytes.find("'shape': (2, 2)") != std::string::npos);
  CHECK(bytes.size() == 128 + 4 * sizeof(double));
  CHECK_THROWS_WITH_AS(render_npy(sample(), {}), doctest::Contains("column name of spread holds words"),
                       Error);
  Result flags;
  flags.report.table({"t", "", {{"flag"}, {"wide"}}, {{true, Int128{1} << 60}}});
  const std::string numbers = render_npy(flags, {});
  double values[2] = {};
  REQUIRE(numbers.size() == 128 + sizeof values);
  std::memcpy(values, numbers.data() + 128, sizeof values);
  CHECK(values[0] == 1);
  CHECK(values[1] == 0x1p60);
}

TEST_CASE("render: markdown escapes what it would obey and has a title") {
  Result result;
  result.report.table({"t", "", {{"a|b"}}, {{std::string("x|y")}}});
  result.report.line("6*L*T*d <= `x`, d_k");
  result.name = "op";
  CHECK(render_markdown(result, {}).find("| a\\|b |\n| --- |\n| x\\|y |\n") != std::string::npos);
  CHECK(render_markdown(result, {}).find("\n6\\*L\\*T\\*d \\<= \\`x\\`, d_k\n") != std::string::npos);
  CHECK(render_markdown(result, {}).starts_with("## op\n"));
}

TEST_CASE("render: the extension of the output tells the format") {
  CHECK(renderer_of_path("a/weights.csv")->name == "csv");
  CHECK(renderer_of_path("x.jsonl")->name == "ndjson");
  CHECK(renderer_of_path("-") == nullptr);
  CHECK(renderer_of_path(".csv") == nullptr);
}

TEST_CASE("render: markdown explains on request") {
  Result result = sample();
  result.report.explain("2 + 2 = 4");
  CHECK(render_markdown(result, {}).find("2 + 2") == std::string::npos);
  CHECK(render_markdown(result, {.explain = true}).find("\n\n    2 + 2 = 4\n\n**Claims**\n") !=
        std::string::npos);
}

TEST_CASE("render: a result without tables is refused by what needs one") {
  Result result;
  result.name = "words";
  result.report.line("one");
  CHECK_THROWS_WITH_AS(render_csv(result, {}),
                       "--format: words has no table to write so; text and json would do", Error);
  CHECK_THROWS_WITH_AS(render_csv(result, {.table = "t"}), "--table: words has no tables", Error);
}
