#include "operations/discrimination.hpp"

#include <algorithm>
#include <string>

#include "operations/scenes.hpp"

namespace attnlab {
namespace {

constexpr int most_draws = 60;

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

// The axes of a shape as help writes it: "[Tq, heads * d] or .." has "Tq" and "heads * d".
std::vector<std::string> axes_of(const std::string& shape) {
  std::vector<std::string> axes(1);
  for (const char c : shape.substr(0, shape.find(']'))) {
    if (c == ',') {
      axes.emplace_back();
    } else if (c != '[' && (c != ' ' || !axes.back().empty())) {
      axes.back() += c;
    }
  }
  return axes;
}

// The shape with so many more tokens along each axis of tokens.
Shape with_more_tokens(Shape shape, const std::string& described, std::size_t more) {
  const std::vector<std::string> axes = axes_of(described);
  if (axes.size() != shape.size()) return shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (is_one_of(axes[axis], {"T", "Tq", "Tk"})) shape[axis] += more;
  }
  return shape;
}

// The call with random arrays. Flags are drawn as flags; positions and tables of indices stay.
Trial redrawn(const Trial& call, Generator& rng, std::size_t more, double size) {
  Trial drawn(call);
  for (const InputInfo& info : call.operation().inputs) {
    if (!call.inputs.has(info.name)) continue;
    const Shape shape = with_more_tokens(call.inputs.array(info.name).shape, info.shape, more);
    const std::size_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
    if (is_one_of(info.name, {"mask", "key-padding", "dropout-keep"})) {
      const std::size_t empty_row = rows > 1 && size > 1 ? rows / 2 : SIZE_MAX;
      drawn.inputs.set(info.name, flag_array(rng, shape, empty_row));
    } else if (!is_one_of(info.name, {"pos", "q-pos", "k-pos", "pairs", "block-table", "codes"})) {
      Array array = normal_array(rng, shape);
      for (double& value : array.values) value *= size;
      drawn.inputs.set(info.name, array);
    }
  }
  return drawn;
}

std::vector<double> numbers_with(const Trial& call, const Explanation& explanation,
                                 const std::string& result) {
  const std::optional<Results> results = wrong_results(call, explanation.mistakes);
  for (auto& [name, array] : numeric_results(results.value_or(Results{}))) {
    if (name == result) return std::move(array.values);
  }
  return {};
}

// The pairs of explanations whose numbers do not differ clearly.
std::vector<std::pair<std::size_t, std::size_t>> alike_in(const Trial& call, const Diagnosis& found) {
  std::vector<std::vector<double>> numbers;
  for (const Explanation& explanation : found.explanations)
    numbers.push_back(numbers_with(call, explanation, found.result));
  const double clear = std::max(1e-3, 4 * found.precision.tolerance);
  std::vector<std::pair<std::size_t, std::size_t>> alike;
  for (std::size_t a = 0; a < numbers.size(); ++a) {
    for (std::size_t b = a + 1; b < numbers.size(); ++b) {
      const bool comparable = !numbers[a].empty() && numbers[a].size() == numbers[b].size();
      if (!comparable || difference(numbers[a], numbers[b]).residual <= clear) alike.emplace_back(a, b);
    }
  }
  return alike;
}

}  // namespace

Discrimination tell_apart(const Trial& call, const Diagnosis& found, std::uint64_t seed) {
  const std::size_t explanations = found.explanations.size();
  Discrimination best;
  std::size_t fewest_alike = explanations * (explanations - 1) / 2;
  Generator rng(seed);
  for (int draw = 0; draw < most_draws && fewest_alike > 0; ++draw) {
    const std::size_t more = static_cast<std::size_t>(draw) / 3 % 5;
    const Trial drawn = redrawn(call, rng, more, draw % 3 == 2 ? 30 : 1);
    std::vector<std::pair<std::size_t, std::size_t>> alike = alike_in(drawn, found);
    if (alike.size() >= fewest_alike) continue;
    fewest_alike = alike.size();
    best.call.emplace(drawn);
    best.alike = std::move(alike);
  }
  return best;
}

}  // namespace attnlab
