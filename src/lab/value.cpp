#include "lab/value.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attnlab {

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";  // whatever its sign bit says
  return fmt::format("{}", value);
}

double number_of(const Cell& cell) {
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* wide = std::get_if<Int128>(&cell)) return static_cast<double>(*wide);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string exact_text(const Cell& cell) {
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* wide = std::get_if<Int128>(&cell)) return to_string(*wide);
  if (const auto* real = std::get_if<double>(&cell)) return shortest(*real);
  if (const auto* word = std::get_if<std::string>(&cell)) return *word;
  return {};
}

}  // namespace attnlab
