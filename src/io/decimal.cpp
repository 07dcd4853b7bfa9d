#include "io/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace attnlab {
namespace {

/// Whether a valid decimal number that no double can hold is at least one in magnitude: from_chars does not
/// say whether it was too large or too small.
bool is_large(std::string_view text) {
  const std::size_t exponent_mark = text.find_first_of("eE");
  if (exponent_mark == std::string_view::npos) {
    return text.substr(0, text.find('.')).find_first_of("123456789") != std::string_view::npos;
  }
  // The power of ten of the first digit decides; a long mantissa can outweigh its exponent.
  const std::string_view mantissa = text.substr(0, exponent_mark);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  const double leading = static_cast<double>(point) - static_cast<double>(first);
  double exponent = 0.0;
  const bool negative = text[exponent_mark + 1] == '-';
  for (const char c : text.substr(exponent_mark + 1)) {
    if (c >= '0' && c <= '9') exponent = exponent * 10.0 + (c - '0');
  }
  return leading + (negative ? -exponent : exponent) > 0.0;
}

}  // namespace

DecimalStatus parse_decimal(std::string_view text, double& result) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || (digits[0] != '.' && (digits[0] < '0' || digits[0] > '9')))
    return DecimalStatus::not_decimal;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return DecimalStatus::not_decimal;
  if (error == std::errc()) return DecimalStatus::good;
  const double sign = text.starts_with('-') ? -1.0 : 1.0;
  const bool large = is_large(text);
  result = sign * (large ? std::numeric_limits<double>::infinity() : 0.0);
  return large ? DecimalStatus::too_large : DecimalStatus::good;
}

}  // namespace attnlab
