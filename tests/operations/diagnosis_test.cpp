#include "operations/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/random/generator.hpp"
#include "io/half.hpp"
#include "operations/scenes.hpp"

using namespace attnlab;

namespace {

std::vector<double> numbers(const Results& results, const std::string& name) {
  for (const auto& [result, array] : numeric_results(results)) {
    if (result == name) return array.values;
  }
  return {};
}

template <class Round>
std::vector<double> rounded(std::vector<double> values, Round&& round) {
  for (double& value : values) value = round(value);
  return values;
}

// Whether rounding left nothing but zeros.
bool is_lost(const std::vector<double>& values, const std::vector<double>& exact) {
  return values != exact && std::all_of(values.begin(), values.end(), [](double x) { return x == 0; });
}

bool names(const Diagnosis& found, const std::vector<const Mistake*>& mistakes) {
  return std::any_of(found.explanations.begin(), found.explanations.end(),
                     [&](const Explanation& one) { return one.mistakes == mistakes; });
}

// The numbers that a call gives with mistakes, by the name of the result; none where they cannot be made.
std::vector<std::pair<std::string, Array>> wrong_numbers(const Trial& call,
                                                         const std::vector<const Mistake*>& mistakes) {
  return numeric_results(wrong_results(call, mistakes).value_or(Results{}));
}

// Five calls of different shapes for every way to call an operation.
const std::vector<Trial>& all_scenes() {
  static const std::vector<Trial> all = [] {
    std::vector<Trial> list;
    for (std::size_t size = 0; size < 5; ++size) {
      for (const Trial& scene : scenes(size, 466)) list.push_back(scene);
    }
    return list;
  }();
  return all;
}

bool differs(const Array& wrong, const std::vector<double>& right) {
  if (wrong.values.size() != right.size()) return false;
  const Difference away = difference(wrong.values, right);
  return away.residual > 1e-9;
}

}  // namespace

TEST_CASE("difference: largest absolute and relative difference, NaN and infinity equal only themselves") {
  const double nan = std::nan("");
  const double infinity = HUGE_VAL;
  CHECK(difference({1, 2, 4}, {1, 2.5, 2}).max_abs == 2);
  CHECK(difference({1, 2, 4}, {1, 2.5, 2}).max_rel == 1);
  CHECK(difference({1, 2, 4}, {1, 2.5, 2}).residual == 2 / (2 + 2.5));
  CHECK(difference({nan, infinity}, {nan, infinity}).residual == 0);
  CHECK(difference({nan}, {1}).max_abs == infinity);
  for (const double strange : {nan, infinity}) CHECK(difference({1}, {strange}).residual == infinity);
  CHECK(difference({infinity}, {-infinity}).max_abs == infinity);
  CHECK(difference({}, {}).max_abs == 0);
  CHECK(difference({1e-3}, {0}).max_rel == 0);
  CHECK_THROWS_AS(difference({1}, {1, 2}), Error);
}

TEST_CASE("precision_of: the narrowest type that holds the numbers, or printed decimals") {
  CHECK(precision_of({0.5, -3.15625}).name == "bfloat16");
  CHECK(precision_of({0.5, -3}).name == "2 decimals");  // so short that every type holds them
  CHECK(precision_of({0, 0}).name == "float64");
  CHECK(precision_of({1.0 + 1.0 / 1024}).name == "float16");
  CHECK(precision_of({static_cast<double>(0.1F)}).name == "float32");
  CHECK(precision_of({0.25, 0.37}).name == "2 decimals");
  CHECK(precision_of({0.123, 1.5}).name == "3 decimals");
  CHECK(precision_of({1.0 / 3}).name == "float64");
}

TEST_CASE("diagnose: every mistake has texts of one sentence and operations that exist") {
  std::set<std::string> seen;
  for (const Mistake& mistake : mistakes()) {
    CAPTURE(mistake.name);
    CHECK(seen.insert(mistake.name).second);
    CHECK(!mistake.operations.empty());
    for (const std::string& operation : mistake.operations) CHECK(find_operation(operation) != nullptr);
    for (const std::string& text : {mistake.why, mistake.remedy}) {
      CHECK(text.size() > 10);
      CHECK(text.back() != '.');
    }
    CHECK(find_mistake(mistake.name) == &mistake);
  }
  CHECK(find_mistake("none-of-these") == nullptr);
}

TEST_CASE("diagnose: names every mistake wherever it makes a difference") {
  std::map<std::string, int> found_in;
  for (const Trial& scene : all_scenes()) {
    const Results right = scene.run();
    for (const Mistake* mistake : mistakes_of(scene.operation().name)) {
      if (found_in[mistake->name] == 5) continue;
      for (const auto& [result, wrong] : wrong_numbers(scene, {mistake})) {
        const std::string& name = result;  // Clang 14 captures no structured binding
        if (!differs(wrong, numbers(right, name))) continue;
        CAPTURE(scene.operation().name);
        CAPTURE(mistake->name);
        CAPTURE(name);
        const Diagnosis found = diagnose(scene, name, wrong, "yours");
        CHECK_FALSE(found.matches);
        CHECK(found.first_difference);
        CHECK_FALSE(found.spread.empty());
        CHECK(names(found, {mistake}));
        ++found_in[mistake->name];
        break;
      }
    }
  }
  for (const Mistake& mistake : mistakes()) {
    CAPTURE(mistake.name);
    CHECK(found_in[mistake.name] >= 5);
  }
}

namespace {

constexpr double float32_rounding = 4e-6;

// Those that compute in place of the operation, of which a call commits one, or that stand alone in theirs.
const std::set<std::string> made_alone = {"learned-positions-from-1",
                                          "learned-positions-one-less",
                                          "positions-of-columns",
                                          "nibbles-high-first",
                                          "nibbles-unsigned",
                                          "linear-denominator-missing",
                                          "linear-denominator-without-query",
                                          "linear-denominator-epsilon",
                                          "linear-feature-relu",
                                          "linear-feature-exp",
                                          "linear-feature-elu",
                                          "linear-feature-missing",
                                          "linear-causal-missing",
                                          "low-rank-shared-projection"};

// Commits both and diagnoses the numbers; false where they cannot be made together or change nothing.
bool diagnosed_together(const Trial& call, const Mistake* first, const Mistake* second) {
  const auto results = wrong_numbers(call, {first, second});
  if (results.empty()) return false;
  const auto& [name, wrong] = results.front();
  const std::vector<double> right = numbers(call.run(), name);
  // What stays within the rounding of float32 is told as float32's arithmetic.
  if (!differs(wrong, right) || difference(wrong.values, right).residual <= float32_rounding) return false;
  CAPTURE(call.operation().name);
  CAPTURE(first->name);
  CAPTURE(second->name);
  const Diagnosis found = diagnose(call, name, wrong, "yours");
  CHECK_FALSE(found.matches);
  // One mistake, or another setting, that gives the same numbers is told instead.
  const bool alone =
      !found.settings.empty() || (!found.explanations.empty() && found.explanations[0].mistakes.size() == 1);
  CHECK((alone || names(found, {first, second})));
  return true;
}

}  // namespace

TEST_CASE("diagnose: names two mistakes at once") {
  Generator rng(SeedSequence{466});
  std::map<std::string, int> pairs_in;
  std::set<std::string> seen;
  for (const Operation& operation : operations()) {
    std::vector<const Trial*> calls;
    for (const Trial& scene : all_scenes()) {
      if (scene.operation().name == operation.name) calls.push_back(&scene);
    }
    const std::vector<const Mistake*> known = mistakes_of(operation.name);
    if (calls.empty() || known.size() < 2) continue;
    const auto attempt = [&](const Trial& call, std::size_t one, std::size_t other) {
      if (one == other) return;
      const Mistake* first = known[std::min(one, other)];
      const Mistake* second = known[std::max(one, other)];
      if (!diagnosed_together(call, first, second)) return;
      ++pairs_in[operation.name];
      seen.insert({first->name, second->name});
    };
    for (int draw = 0; draw < 400 && pairs_in[operation.name] < 25; ++draw) {
      const std::vector<std::size_t> chosen = rng.choice(known.size(), 2);
      attempt(*calls[rng.choice(calls.size(), 1)[0]], chosen[0], chosen[1]);
    }
    // And each mistake with the first one that it can be made together with on any of the inputs.
    for (std::size_t n = 0; n < known.size(); ++n) {
      for (std::size_t other = 0; other < known.size(); ++other) {
        for (const Trial* call : calls) {
          if (seen.count(known[n]->name) == 0) attempt(*call, n, other);
        }
      }
    }
  }
  CHECK(pairs_in["attention"] >= 25);
  CHECK(pairs_in["block"] >= 25);
  CHECK(pairs_in["rope"] >= 25);
  for (const Mistake& mistake : mistakes()) {
    CAPTURE(mistake.name);
    CHECK(seen.count(mistake.name) != made_alone.count(mistake.name));
  }
}

TEST_CASE("diagnose: the right answer is never accused in any precision") {
  const auto to_float = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  const auto to_bf16 = [](double x) { return to_double(to_bfloat16(x)); };
  const auto to_fp16 = [](double x) { return to_double(to_float16(x)); };
  const auto last_bits = [](double x) { return x * (1 + 3e-15); };
  const auto printed = [](double x) { return std::round(x * 1e4) / 1e4; };
  for (const Trial& scene : all_scenes()) {
    const bool is_count = scene.operation().inputs.empty();
    for (const auto& [result, array] : numeric_results(scene.run())) {
      const std::string& name = result;  // Clang 14 captures no structured binding
      for (const auto& values :
           {array.values, rounded(array.values, last_bits), rounded(array.values, to_float),
            rounded(array.values, to_bf16), rounded(array.values, to_fp16), rounded(array.values, printed)}) {
        if (is_lost(values, array.values)) continue;
        CAPTURE(scene.operation().name);
        CAPTURE(name);
        const Diagnosis found = diagnose(scene, name, {array.shape, values}, "yours");
        CAPTURE(found.precision.name);
        CHECK(found.explanations.empty());
        if (is_count && values != array.values) continue;  // a rounded count is a wrong one
        CHECK(found.matches);
        CHECK_FALSE(found.first_difference);
      }
    }
  }
}

namespace {

// The first scene of attention with its arrays rounded, and the output of that.
std::vector<double> output_of_rounded(const Trial& scene, const std::string& type) {
  Trial rounded(scene);
  for (const char* name : {"query", "key", "value"}) {
    Array array = scene.inputs.array(name);
    for (double& value : array.values) value = rounded_to(type, value);
    rounded.inputs.set(name, array);
  }
  return numbers(rounded.run(), "output");
}

}  // namespace

TEST_CASE("diagnose: what 16-bit arrays give matches in float32 too and says so") {
  for (std::size_t n = 0; n < 9; ++n) {
    const Trial& scene = all_scenes()[n];
    const Shape shape = numeric_results(scene.run())[0].second.shape;
    for (const char* type : {"bfloat16", "float16"}) {
      CAPTURE(n);
      const std::vector<double> exact = output_of_rounded(scene, type);
      const std::vector<double> stored = rounded(exact, [](double x) { return rounded_to("float32", x); });
      const Diagnosis found = diagnose(scene, "output", {shape, stored}, "");
      CHECK(found.matches);
      CHECK(found.arithmetic == type);
      CHECK(found.explanations.empty());
    }
  }
}

TEST_CASE("diagnose: float32 numbers that are one percent off differ") {
  Generator rng(SeedSequence{466});
  for (std::size_t n = 0; n < 10; ++n) {
    CAPTURE(n);
    const Trial& scene = all_scenes()[n];
    Array yours = numeric_results(scene.run())[0].second;
    for (const bool random : {false, true}) {
      Array off = yours;
      for (double& value : off.values) {
        value *= 1 + 0.01 * (random ? rng.standard_normal() : 1);
        value = rounded_to("float32", value);
      }
      const Diagnosis found = diagnose(scene, "output", off, "");
      CHECK_FALSE(found.matches);
      CHECK(found.arithmetic.empty());
      CHECK(found.first_difference);
      CHECK(found.explanations.empty());
    }
  }
}

TEST_CASE("diagnose: a mistake made with 16-bit arrays and stored in float32 is named") {
  const Trial& scene = all_scenes()[0];
  const std::vector<const Mistake*> causal = {find_mistake("causal-missing")};
  Trial rounded_call(scene);
  for (const char* name : {"query", "key", "value"}) {
    Array array = scene.inputs.array(name);
    for (double& value : array.values) value = rounded_to("bfloat16", value);
    rounded_call.inputs.set(name, array);
  }
  Array yours = wrong_numbers(rounded_call, causal)[0].second;
  for (double& value : yours.values) value = rounded_to("float32", value);
  CHECK(names(diagnose(scene, "output", yours, ""), causal));
}

TEST_CASE("diagnose: what no mistake explains is said to be so") {
  const Trial scene = all_scenes().front();
  Array yours = numeric_results(scene.run()).front().second;
  for (std::size_t n = 0; n < yours.values.size(); ++n)
    yours.values[n] = std::sin(static_cast<double>(n * n));
  const Diagnosis found = diagnose(scene, "", yours, "yours");
  CHECK_FALSE(found.matches);
  CHECK(found.explanations.empty());
}

TEST_CASE("diagnose: a result of another name or size is refused") {
  const Trial scene = all_scenes().front();
  CHECK_THROWS_WITH_AS(diagnose(scene, "outputs", {{1}, {1}}, "--yours a.npy"),
                       doctest::Contains("--result outputs: there is none of that name, only output ["),
                       Error);
  CHECK_THROWS_WITH_AS(diagnose(scene, "", {{1}, {1}}, "--yours a.npy"),
                       doctest::Contains("--yours a.npy: shape [1] where the operation gives output ["),
                       Error);
}

TEST_CASE("diagnose: tells how a difference is spread") {
  const Trial scene = all_scenes()[1];  // four heads
  const Array right = numeric_results(scene.run()).front().second;
  const std::size_t columns = right.shape[1];
  Array yours = right;
  yours.values[2 * columns + 1] += 1.0 / 3;
  CHECK(diagnose(scene, "output", yours, "").spread == "row 2 only");
  CHECK(*diagnose(scene, "output", yours, "").first_difference == std::vector<std::size_t>{2, 1});
  yours.values[3 * columns + 2] += 1.0 / 3;
  CHECK(diagnose(scene, "output", yours, "").spread == "head 0 only");
  yours = right;
  for (std::size_t row = 0; row < right.shape[0]; ++row) yours.values[row * columns + columns - 1] += 1.0 / 3;
  yours.values[0] += 1.0 / 3;
  CHECK(diagnose(scene, "output", yours, "").spread.starts_with(std::to_string(right.shape[0] + 1) + " of "));
  yours = right;
  for (double& value : yours.values) value += 1.0 / 3;
  CHECK(diagnose(scene, "output", yours, "").spread == "everywhere");
}
