#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/random/generator.hpp"
#include "operations/diagnosis.hpp"

using namespace attnlab;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// An operation on normal arrays of these shapes.
Trial call_of(const std::string& name, const Settings& settings,
              const std::vector<std::pair<std::string, Shape>>& shapes) {
  const Operation& operation = *find_operation(name);
  const auto session = operation.start();
  for (const auto& [option, text] : settings) session->options.set(option, text);
  Inputs inputs;
  Generator rng(7);
  for (const auto& [input, shape] : shapes) {
    Array array{shape, std::vector<double>(element_count(shape))};
    rng.fill_standard_normal(array.values);
    inputs.set(input, array);
  }
  return Trial(operation, session->options, inputs);
}

Trial attention_of_heads(const Settings& more) {
  Settings settings = {{"heads", "2"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return call_of("attention", settings, {{"query", {5, 8}}, {"key", {5, 8}}, {"value", {5, 8}}});
}

Array output_of(const Trial& call) { return numeric_results(call.run()).front().second; }

}  // namespace

TEST_CASE("diagnose: a result that is right for another setting names the option") {
  const Trial plain = attention_of_heads({});
  const auto settings_for = [&](const Settings& forgotten) {
    const Diagnosis found = diagnose(plain, "output", output_of(attention_of_heads(forgotten)), "yours");
    CHECK_FALSE(found.matches);
    CHECK(found.explanations.empty());
    return found.settings;
  };
  CHECK(settings_for({{"causal", ""}}) == std::vector<std::string>{"--causal"});
  CHECK(settings_for({{"rope", "half"}}) == std::vector<std::string>{"--rope half"});
}

TEST_CASE("diagnose: the order in which frameworks hold heads is no mistake") {
  const Trial call = attention_of_heads({{"causal", ""}});
  const Array right = output_of(call);
  Array heads_first{{1, 2, 5, 4}, {}};
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t column = 0; column < 4; ++column)
        heads_first.values.push_back(right.values[row * 8 + head * 4 + column]);
    }
  }
  const Diagnosis found = diagnose(call, "output", heads_first, "yours");
  CHECK(found.matches);
  CHECK(found.arrangement == "[1, 2, 5, 4], read as heads of 5 positions");
}

TEST_CASE("diagnose: what is no number is counted, and the others are compared") {
  const Trial call = attention_of_heads({});
  Array yours = output_of(call);
  yours.values[11] = std::nan("");
  Diagnosis found = diagnose(call, "output", yours, "yours");
  CHECK_FALSE(found.matches);
  CHECK(found.not_numbers == 1);
  CHECK(found.others_match);
  CHECK(*found.first_difference == std::vector<std::size_t>{1, 3});
  CHECK_FALSE(found.nearest);
  yours.values[0] += 1;
  yours.values[1] = std::numeric_limits<double>::infinity();
  found = diagnose(call, "output", yours, "yours");
  CHECK(found.not_numbers == 2);
  CHECK_FALSE(found.others_match);
}

TEST_CASE("diagnose: a mistake stored in 16 bits is named where its numbers are met to their last bit") {
  const Trial call = call_of("norm", {}, {{"x", {6, 64}}});
  const Mistake& unbiased = *find_mistake("norm-unbiased-variance");
  Trial wrong(call);
  REQUIRE(unbiased.commit(wrong));
  for (const char* type : {"float16", "float32"}) {
    CAPTURE(type);
    Array yours = output_of(wrong);
    for (double& value : yours.values) value = rounded_to(type, value);
    const Diagnosis found = diagnose(call, "", yours, "yours");
    CHECK_FALSE(found.matches);
    REQUIRE_FALSE(found.explanations.empty());
    CHECK(std::any_of(found.explanations.begin(), found.explanations.end(),
                      [&](const Explanation& one) { return one.mistakes[0] == &unbiased; }));
  }
  Array off = output_of(call);
  for (double& value : off.values) value = rounded_to("float16", value * 1.0005);
  CHECK(diagnose(call, "", off, "yours").matches);
}
