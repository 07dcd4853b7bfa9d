#include <doctest/doctest.h>

#include "core/error.hpp"
#include "lab/options.hpp"

using namespace attnlab;

TEST_CASE("options: each kind sets its field and says its value") {
  int count = 3;
  double power = 0.5;
  bool causal = false;
  std::string style = "half";
  std::vector<std::int64_t> sizes{4, 64};
  std::optional<int> precision;
  OptionSet options;
  options.integer("count", count, 1, 10, "how many").short_form('n');
  options.real("power", power, 0, 1, "to which power");
  options.flag("causal", causal, "hide the future");
  options.choice("style", style, {"half", "interleaved"}, "which pairs");
  options.integers("sizes", sizes, 1, 1024, "which sizes");
  options.integer("precision", precision, 0, 17, "digits");
  CHECK(std::holds_alternative<std::monostate>(options.find("precision")->get()));
  options.set("count", "7");
  options.set("power", "0.25");
  options.set("causal", "");
  options.set("style", "interleaved");
  options.set("sizes", "1:8:x2");
  options.set("precision", "4");
  CHECK(count == 7);
  CHECK(power == 0.25);
  CHECK(causal);
  CHECK(style == "interleaved");
  CHECK(sizes == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK(precision == 4);
  CHECK(std::get<std::int64_t>(options.find("count")->get()) == 7);
  CHECK(std::get<double>(options.find("power")->get()) == 0.25);
  CHECK(options.find("count")->default_text == "3");
  CHECK(options.find("sizes")->default_text == "4,64");
  CHECK(options.find("count")->range == "1 to 10");
}

TEST_CASE("options: an enumeration is told by its words") {
  enum class Pairs { interleaved, half };
  Pairs pairs = Pairs::half;
  OptionSet options;
  options.choice<Pairs>("pairs", pairs, {{"interleaved", Pairs::interleaved}, {"half", Pairs::half}},
                        "which");
  CHECK(options.find("pairs")->default_text == "half");
  options.set("pairs", "interleaved");
  CHECK(pairs == Pairs::interleaved);
  CHECK(std::get<std::string>(options.find("pairs")->get()) == "interleaved");
  CHECK_THROWS_WITH_AS(options.set("pairs", "1"), "--pairs: 1 is not one of interleaved, half", Error);
}

TEST_CASE("options: errors name the option and what would be right") {
  int count = 3;
  std::string path;
  OptionSet options;
  options.integer("count", count, 1, 10, "how many");
  options.file("output", path, "where to");
  CHECK_THROWS_WITH_AS(options.set("count", "11"), "--count: 11 is outside [1, 10]", Error);
  CHECK_THROWS_WITH_AS(options.set("size", "1"), "--size is not an option here", Error);
  CHECK_THROWS_WITH_AS(options.set("output", ""), "--output: the name of a file is empty", Error);
  CHECK_THROWS_AS(options.integer("count", count, 1, 10, "again"), Error);
  CHECK(count == 3);
}

TEST_CASE("options: the nearest word is near") {
  const std::vector<std::string> words{"attention", "scaling", "rope", "rope-scaling"};
  CHECK(nearest_word("attenton", words) == "attention");
  CHECK(nearest_word("ropes", words) == "rope");
  CHECK(nearest_word("scalign", words) == "scaling");
  CHECK(nearest_word("attent", words) == "attention");
  CHECK(nearest_word("rope-", words) == "rope-scaling");
  CHECK(nearest_word("zzzzzz", words).empty());
}
