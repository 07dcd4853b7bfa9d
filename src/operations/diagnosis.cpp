#include "operations/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/half.hpp"

namespace attnlab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// What the last digits of each arithmetic leave undecided, relative to the largest number: rounding of the
// inputs, of the products and of the result, not of one operation.
const Precision float64{"float64", 1e-12};
const Precision float32{"float32", 4e-6};
const Precision float16{"float16", 4e-3};
const Precision bfloat16{"bfloat16", 3e-2};
const Precision whole_numbers{"whole numbers", 0};  // codes, counts and indices are right or wrong

// A mistake is named only where it is this much nearer than the right answer.
constexpr double clearly_nearer = 8;

double distance(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double away = std::fabs(found - expected);
  return std::isfinite(away) ? away : infinity;
}

double largest_magnitude(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
  }
  return largest;
}

double residual_at(double found, double expected, double largest) {
  const double away = distance(found, expected);
  if (away == 0 || away == infinity) return away;
  return away / (std::fabs(expected) + std::max(largest, std::numeric_limits<double>::min()));
}

template <class Holds>
bool all_of_numbers(const std::vector<double>& numbers, Holds&& holds) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](double number) { return !std::isfinite(number) || holds(number); });
}

bool are_whole(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == std::floor(x); });
}

std::optional<int> decimals_of(const std::vector<double>& numbers) {
  for (int decimals = 2; decimals <= 7; ++decimals) {
    const double unit = std::pow(10.0, decimals);
    if (all_of_numbers(numbers, [&](double number) { return number == std::round(number * unit) / unit; }))
      return decimals;
  }
  return {};
}

std::vector<std::size_t> index_of(std::size_t flat, const Shape& shape) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

// How differences lie in an array whose last axis is a row; `num_heads` heads lie side by side along the rows
// of a matrix.
std::string spread_of(const std::vector<bool>& differs, const std::vector<double>& distances,
                      const Shape& shape, std::size_t num_heads) {
  const std::size_t columns = shape.empty() ? 1 : shape.back();
  const std::size_t rows = differs.size() / std::max<std::size_t>(columns, 1);
  const std::size_t head_dim = columns % num_heads == 0 ? columns / num_heads : columns;
  std::vector<bool> in_row(rows), in_column(columns), in_head(columns / head_dim);
  std::vector<double> of_row(rows);
  for (std::size_t flat = 0; flat < differs.size(); ++flat) {
    of_row[flat / columns] = std::max(of_row[flat / columns], distances[flat]);
    if (!differs[flat]) continue;
    in_row[flat / columns] = true;
    in_column[flat % columns] = true;
    in_head[flat % columns / head_dim] = true;
  }
  const auto count = [](const std::vector<bool>& flags) {
    return std::count(flags.begin(), flags.end(), true);
  };
  const auto first = [](const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) - flags.begin();
  };
  if (rows > 1 && count(in_row) == 1) return fmt::format("row {} only", first(in_row));
  if (in_head.size() > 1 && count(in_head) == 1) return fmt::format("head {} only", first(in_head));
  if (columns > 1 && count(in_column) == 1) return fmt::format("column {} only", first(in_column));
  const std::size_t from = static_cast<std::size_t>(first(in_row));
  if (from > 0 && static_cast<std::size_t>(count(in_row)) == rows - from)
    return fmt::format("from row {} on", from);
  const std::size_t third = rows / 3;
  if (third > 0) {
    const auto largest = [&](std::size_t begin) {
      return *std::max_element(of_row.begin() + static_cast<std::ptrdiff_t>(begin),
                               of_row.begin() + static_cast<std::ptrdiff_t>(begin + third));
    };
    if (largest(rows - third) > 4 * largest(0) && largest(third) > largest(0)) return "growing with the row";
  }
  const auto differing = count(differs);
  if (static_cast<std::size_t>(differing) == differs.size()) return "everywhere";
  return fmt::format("{} of {} elements, in {} of {} rows", differing, differs.size(), count(in_row), rows);
}

std::string names_with_shapes(const std::vector<std::pair<std::string, Array>>& results) {
  std::string text;
  for (const auto& [name, array] : results)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape_text(array.shape));
  return text;
}

const std::pair<std::string, Array>& chosen_result(const std::vector<std::pair<std::string, Array>>& results,
                                                   const std::string& wanted, const Array& yours,
                                                   const std::string& label) {
  const auto found = std::find_if(results.begin(), results.end(), [&](const auto& named) {
    return wanted.empty() ? named.second.values.size() == yours.values.size() : named.first == wanted;
  });
  if (found == results.end() && !wanted.empty()) {
    throw Error(ErrorKind::usage, fmt::format("--result {}: there is none of that name, only {}", wanted,
                                              names_with_shapes(results)));
  }
  if (found == results.end() || found->second.values.size() != yours.values.size()) {
    throw Error(ErrorKind::data, fmt::format("{}: shape {} where the operation gives {}", label,
                                             shape_text(yours.shape), names_with_shapes(results)));
  }
  return *found;
}

// The numbers of one of the results; empty where there is none of that name.
std::vector<double> numbers_of(const Results& results, const std::string& name) {
  for (auto& [result, array] : numeric_results(results)) {
    if (result == name) return std::move(array.values);
  }
  return {};
}

class Search {
 public:
  Search(const Trial& call, const Diagnosis& found, const std::vector<double>& yours)
      : call_(call), found_(found), yours_(yours), candidates_(mistakes_of(call.operation().name)) {}

  std::vector<Explanation> singles() {
    for (const Mistake* mistake : candidates_) attempt({mistake});
    return explanations();
  }

  std::vector<Explanation> pairs() {
    for (std::size_t first = 0; first < possible_.size(); ++first) {
      for (std::size_t second = first + 1; second < possible_.size(); ++second)
        attempt({possible_[first], possible_[second]});
    }
    return explanations();
  }

  std::optional<Explanation> nearest() const {
    const auto best = std::min_element(tried_.begin(), tried_.end(), nearer);
    if (best == tried_.end() || best->difference.residual >= found_.difference.residual) return {};
    return *best;
  }

 private:
  static bool nearer(const Explanation& a, const Explanation& b) {
    return a.difference.residual < b.difference.residual;
  }

  void attempt(std::vector<const Mistake*> some) {
    const std::optional<Results> results = wrong_results(call_, some);
    if (!results) return;
    if (some.size() == 1) possible_.push_back(some[0]);
    const std::vector<double> numbers = numbers_of(*results, found_.result);
    if (numbers.size() == yours_.size()) tried_.push_back({std::move(some), difference(yours_, numbers)});
  }

  bool fits(const Explanation& explanation) const {
    const Difference& away = explanation.difference;
    if (!(away.residual * clearly_nearer <= found_.difference.residual)) return false;
    // Two mistakes have many ways to come near, so they must hit.
    const bool loosely = explanation.mistakes.size() == 1 && found_.precision.name != float64.name &&
                         found_.precision.name != whole_numbers.name;
    return found_.precision.explains(away) || (loosely && bfloat16.explains(away));
  }

  std::vector<Explanation> explanations() const {
    std::vector<Explanation> fitting;
    std::copy_if(tried_.begin(), tried_.end(), std::back_inserter(fitting),
                 [&](const Explanation& one) { return fits(one); });
    std::stable_sort(fitting.begin(), fitting.end(), nearer);
    const auto worse = [&](const Explanation& one) {
      return !found_.precision.explains(one.difference) &&
             one.difference.residual > clearly_nearer * fitting[0].difference.residual;
    };
    while (fitting.size() > 1 && worse(fitting.back())) fitting.pop_back();
    return fitting;
  }

  const Trial& call_;
  const Diagnosis& found_;
  const std::vector<double>& yours_;
  std::vector<const Mistake*> candidates_;
  std::vector<const Mistake*> possible_;
  std::vector<Explanation> tried_;
};

void locate(Diagnosis& diagnosis, const std::vector<double>& yours, std::size_t num_heads) {
  const std::vector<double>& expected = diagnosis.expected.values;
  const double largest = largest_magnitude(expected);
  std::vector<bool> differs;
  std::vector<double> distances;
  for (std::size_t n = 0; n < yours.size(); ++n) {
    distances.push_back(distance(yours[n], expected[n]));
    differs.push_back(
        !diagnosis.precision.explains({distances[n], 0, residual_at(yours[n], expected[n], largest)}));
  }
  const auto first = std::find(differs.begin(), differs.end(), true);
  if (first == differs.end()) return;
  diagnosis.first_difference =
      index_of(static_cast<std::size_t>(first - differs.begin()), diagnosis.expected.shape);
  diagnosis.spread = spread_of(differs, distances, diagnosis.expected.shape, num_heads);
}

}  // namespace

Difference difference(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size())
    throw Error(ErrorKind::fault, "numbers compared with others of another count");
  const double largest = largest_magnitude(expected);
  Difference result;
  for (std::size_t n = 0; n < found.size(); ++n) {
    const double away = distance(found[n], expected[n]);
    result.max_abs = std::max(result.max_abs, away);
    if (expected[n] != 0 && away > 0)
      result.max_rel = std::max(result.max_rel, away / std::fabs(expected[n]));
    result.residual = std::max(result.residual, residual_at(found[n], expected[n], largest));
  }
  return result;
}

bool Precision::explains(const Difference& difference) const {
  return absolute ? difference.max_abs <= *absolute : difference.residual <= tolerance;
}

Precision precision_of(const std::vector<double>& numbers) {
  if (all_of_numbers(numbers, [](double x) { return to_double(to_bfloat16(x)) == x; })) return bfloat16;
  if (all_of_numbers(numbers, [](double x) { return to_double(to_float16(x)) == x; })) return float16;
  if (all_of_numbers(numbers, [](double x) { return static_cast<double>(static_cast<float>(x)) == x; }))
    return float32;
  if (const std::optional<int> decimals = decimals_of(numbers))
    return {fmt::format("{} decimals", *decimals), 0, 0.501 * std::pow(10.0, -*decimals)};
  return float64;
}

std::string Explanation::name() const {
  std::string text;
  for (const Mistake* mistake : mistakes) text += (text.empty() ? "" : " and ") + mistake->name;
  return text;
}

std::vector<std::pair<std::string, Array>> numeric_results(const Results& results) {
  std::vector<std::pair<std::string, Array>> numeric;
  for (const NamedResult& result : results) {
    if (const auto* array = std::get_if<Array>(&result.value)) {
      numeric.emplace_back(result.name, *array);
    } else if (const auto* real = std::get_if<double>(&result.value)) {
      numeric.emplace_back(result.name, Array{{}, {*real}});
    } else if (const auto* wide = std::get_if<Int128>(&result.value)) {
      numeric.emplace_back(result.name, Array{{}, {static_cast<double>(*wide)}});
    } else if (const auto* whole = std::get_if<std::int64_t>(&result.value)) {
      numeric.emplace_back(result.name, Array{{}, {static_cast<double>(*whole)}});
    }
  }
  return numeric;
}

Diagnosis diagnose(const Trial& call, const std::string& result, const Array& yours,
                   const std::string& label) {
  const std::vector<std::pair<std::string, Array>> right = numeric_results(call.run());
  Diagnosis diagnosis;
  std::tie(diagnosis.result, diagnosis.expected) = chosen_result(right, result, yours, label);
  diagnosis.precision = precision_of(yours.values);
  if (are_whole(yours.values) && are_whole(diagnosis.expected.values)) diagnosis.precision = whole_numbers;
  diagnosis.difference = difference(yours.values, diagnosis.expected.values);
  for (const Precision& arithmetic : {bfloat16, float16, float32, float64}) {
    if (arithmetic.explains(diagnosis.difference)) diagnosis.arithmetic = arithmetic.name;
  }
  diagnosis.matches = diagnosis.precision.explains(diagnosis.difference);
  if (diagnosis.matches) return diagnosis;

  locate(diagnosis, yours.values, static_cast<std::size_t>(call.number("heads", 1)));
  Search search(call, diagnosis, yours.values);
  diagnosis.explanations = search.singles();
  if (diagnosis.explanations.empty() && !diagnosis.arithmetic.empty() &&
      diagnosis.precision.name != whole_numbers.name &&
      (diagnosis.precision.name == float32.name || diagnosis.arithmetic == float32.name)) {
    // Numbers of float32 may come from 16-bit arithmetic; those of float64 do not.
    diagnosis.matches = true;
    diagnosis.first_difference.reset();
    diagnosis.spread.clear();
    return diagnosis;
  }
  if (diagnosis.explanations.empty()) diagnosis.explanations = search.pairs();
  if (diagnosis.explanations.empty()) diagnosis.nearest = search.nearest();
  return diagnosis;
}

}  // namespace attnlab
