#include "io/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
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

bool parse_whole(std::string_view text, Int128& result) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return false;
  constexpr Int128 largest = static_cast<Int128>(~UInt128{0} >> 1);
  Int128 magnitude = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    const int digit = c - '0';
    if (magnitude > (largest - digit) / 10) return false;
    magnitude = magnitude * 10 + digit;
  }
  result = negative ? -magnitude : magnitude;
  return true;
}

void append_decimal(std::string& text, double value, SpecialNumbers special) {
  const bool quoted = special == SpecialNumbers::quoted;
  if (std::isnan(value)) {
    text += quoted ? "\"NaN\"" : "nan";
  } else if (std::isinf(value)) {
    if (value < 0) {
      text += quoted ? "\"-Infinity\"" : "-inf";
    } else {
      text += quoted ? "\"Infinity\"" : "inf";
    }
  } else if (value == 0.0 && std::signbit(value)) {
    text += "-0.0";  // "-0" would be read as a whole number, which has no sign
  } else {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}

void append_decimal(std::string& text, std::int64_t value) { text += fmt::format_int(value).c_str(); }
void append_decimal(std::string& text, std::uint64_t value) { text += fmt::format_int(value).c_str(); }

}  // namespace attnlab
