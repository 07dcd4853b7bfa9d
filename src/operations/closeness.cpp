#include "operations/closeness.hpp"

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
const Precision bfloat16{"bfloat16", 3e-2};
const Precision float16{"float16", 4e-3};
const Precision float32{"float32", 4e-6};
const Precision float64{"float64", 1e-12};

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

// As printed, where the digits show anything.
std::optional<int> decimals_of(const std::vector<double>& numbers) {
  for (int decimals = 2; decimals <= 7; ++decimals) {
    const double unit = std::pow(10.0, decimals);
    if (largest_magnitude(numbers) * unit >= 10 &&
        all_of_numbers(numbers, [&](double number) { return number == std::round(number * unit) / unit; }))
      return decimals;
  }
  return {};
}

// Numbers of four significant bits at most, such as 0.5 and 3: every type holds them, so they tell of none.
bool are_short(const std::vector<double>& numbers) {
  return all_of_numbers(numbers, [](double x) {
    int exponent = 0;
    const double sixteenths = std::frexp(x, &exponent) * 16;
    return sixteenths == std::floor(sixteenths);
  });
}

}  // namespace

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

double rms_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t n = 0; n < a.size(); ++n) squares += std::pow(distance(a[n], b[n]), 2);
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(a.size(), 1)));
}

Difference difference(const std::vector<double>& found, const std::vector<double>& expected,
                      std::optional<double> largest) {
  if (found.size() != expected.size())
    throw Error(ErrorKind::fault, "numbers compared with others of another count");
  const double scale = largest.value_or(largest_magnitude(expected));
  Difference result;
  for (std::size_t n = 0; n < found.size(); ++n) {
    const double away = distance(found[n], expected[n]);
    result.max_abs = std::max(result.max_abs, away);
    if (expected[n] != 0 && away > 0)
      result.max_rel = std::max(result.max_rel, away / std::fabs(expected[n]));
    result.residual = std::max(result.residual, residual_at(found[n], expected[n], scale));
  }
  return result;
}

bool Precision::explains(const Difference& difference) const {
  return absolute ? difference.max_abs <= *absolute : difference.residual <= tolerance;
}

Precision precision_of(const std::vector<double>& numbers) {
  for (const Precision& type : {bfloat16, float16, float32}) {
    if (!are_short(numbers) &&
        all_of_numbers(numbers, [&](double x) { return rounded_to(type.name, x) == x; }))
      return type;
  }
  if (const std::optional<int> decimals = decimals_of(numbers))
    return {fmt::format("{} decimals", *decimals), 0, 0.501 * std::pow(10.0, -*decimals)};
  return float64;
}

const std::vector<Precision>& arithmetics() {
  static const std::vector<Precision> all = {bfloat16, float16, float32, float64};
  return all;
}

double rounded_to(const std::string& precision, double number) {
  if (precision == bfloat16.name) return to_double(to_bfloat16(number));
  if (precision == float16.name) return to_double(to_float16(number));
  if (precision == float32.name) return static_cast<double>(static_cast<float>(number));
  return number;
}

std::string spread_of(const std::vector<bool>& differs, const std::vector<double>& distances,
                      const Shape& shape, std::size_t num_heads) {
  const std::size_t columns = shape.empty() ? 1 : std::max<std::size_t>(shape.back(), 1);
  const std::size_t rows = differs.size() / columns;
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

}  // namespace attnlab
