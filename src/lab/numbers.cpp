#include "lab/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr std::size_t max_items = 100'000;

[[noreturn]] void refuse(const std::string& name, std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {} {}", name, text.empty() ? "\"\"" : text, why));
}

std::string interval(double min, double max) {
  const double largest = std::numeric_limits<double>::max();
  if (min <= -largest && max >= largest) return "(-infinity, infinity)";
  if (max >= largest) return fmt::format("[{}, infinity)", min);
  return fmt::format("[{}, {}]", min, max);
}

// from_chars takes no leading plus; "+5" is a number to everybody else.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

template <class Number>
std::vector<Number> expand_range(std::string_view item, const std::string& name, Number min, Number max,
                                 Number (*parse)(std::string_view, const std::string&, Number, Number)) {
  const std::vector<std::string_view> parts = split(item, ':');
  if (parts.size() == 1) return {parse(item, name, min, max)};
  if (parts.size() > 3) refuse(name, item, "is not a range: FIRST:LAST:STEP or FIRST:LAST:xFACTOR");
  const Number first = parse(parts[0], name, min, max);
  const Number last = parse(parts[1], name, min, max);
  std::string_view step_text = parts.size() == 3 ? parts[2] : std::string_view("1");
  const bool geometric = step_text.starts_with('x');
  if (geometric) step_text.remove_prefix(1);
  const Number step =
      parse(step_text, name, std::numeric_limits<Number>::lowest(), std::numeric_limits<Number>::max());
  if (last < first) refuse(name, item, "is a range whose end is below its start");
  if (geometric ? (step <= Number{1} || first <= Number{0}) : step <= Number{0}) {
    refuse(name, item, "is a range that does not grow");
  }
  std::vector<Number> values;
  // The end is included, also where the sum of steps misses it by rounding; no value passes it.
  const double end = static_cast<double>(last) + 1e-12 * std::abs(static_cast<double>(last));
  for (double at = static_cast<double>(first); at <= end;) {
    if (values.size() == max_items)
      refuse(name, item, fmt::format("is a range of more than {} items", max_items));
    values.push_back(std::min(static_cast<Number>(at), last));
    const double index = static_cast<double>(values.size());
    at = geometric ? at * static_cast<double>(step)
                   : static_cast<double>(first) + index * static_cast<double>(step);
  }
  return values;
}

template <class Number>
std::vector<Number> parse_list(std::string_view text, const std::string& name, Number min, Number max,
                               Number (*parse)(std::string_view, const std::string&, Number, Number)) {
  std::vector<Number> values;
  for (const std::string_view item : split(text, ',')) {
    if (item.empty()) refuse(name, text, "has an empty item: a list is 4,64,512");
    const std::vector<Number> more = expand_range(item, name, min, max, parse);
    values.insert(values.end(), more.begin(), more.end());
  }
  if (values.size() > max_items)
    refuse(name, "a list", fmt::format("of more than {} items is too long", max_items));
  return values;
}

// "15e12" and "1.5e6": large counts are written so. Nothing where there is no exponent or the value is not
// whole or beyond what a double holds exactly.
std::optional<std::int64_t> integer_with_exponent(std::string_view digits) {
  if (digits.find_first_of("eE") == std::string_view::npos ||
      digits.find_first_of("xXnN") != std::string_view::npos)
    return {};
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  constexpr double exact = 9007199254740992;  // 2^53
  if (end != digits.data() + digits.size() || error != std::errc()) return {};
  if (value != std::floor(value) || std::abs(value) > exact) return {};
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::int64_t parse_integer(std::string_view text, const std::string& name, std::int64_t min,
                           std::int64_t max) {
  const std::string_view digits = without_plus(text);
  if (const std::optional<std::int64_t> value = integer_with_exponent(digits)) {
    if (*value < min || *value > max) refuse(name, text, fmt::format("is outside [{}, {}]", min, max));
    return *value;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = end == digits.data() + digits.size();
  if (whole && error == std::errc::result_out_of_range)
    refuse(name, text, fmt::format("is outside [{}, {}]", min, max));
  if (!whole || error != std::errc())
    refuse(name, text, fmt::format("is not a whole number in [{}, {}]", min, max));
  if (value < min || value > max) refuse(name, text, fmt::format("is outside [{}, {}]", min, max));
  return value;
}

double parse_real(std::string_view text, const std::string& name, double min, double max) {
  const std::string_view digits = without_plus(text);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = end == digits.data() + digits.size();
  if (whole && error == std::errc::result_out_of_range) {
    refuse(name, text, fmt::format("is beyond the range of double; {} would be right", interval(min, max)));
  }
  if (!whole || error != std::errc() || !std::isfinite(value)) {
    refuse(name, text, fmt::format("is not a finite number in {}", interval(min, max)));
  }
  if (value < min || value > max) refuse(name, text, fmt::format("is outside {}", interval(min, max)));
  return value;
}

std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& name, std::int64_t min,
                                         std::int64_t max) {
  return parse_list<std::int64_t>(text, name, min, max, parse_integer);
}

std::vector<double> parse_reals(std::string_view text, const std::string& name, double min, double max) {
  return parse_list<double>(text, name, min, max, parse_real);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find(separator, start);
    if (end == std::string_view::npos) break;
    items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  items.push_back(text.substr(start));
  return items;
}

}  // namespace attnlab
