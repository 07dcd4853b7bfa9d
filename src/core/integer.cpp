#include "core/integer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

[[noreturn]] void too_large(const char* what) {
  throw Error(ErrorKind::usage, fmt::format("{} is beyond 127 bits: choose smaller sizes", what));
}

}  // namespace

std::string to_string(Int128 value) {
  UInt128 rest = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  if (value < 0) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string with_thousands(Int128 value) {
  std::string digits = to_string(value);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

Int128 checked_add(Int128 a, Int128 b, const char* what) {
  Int128 sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) too_large(what);
  return sum;
}

Int128 checked_multiply(Int128 a, Int128 b, const char* what) {
  Int128 product = 0;
  if (__builtin_mul_overflow(a, b, &product)) too_large(what);
  return product;
}

}  // namespace attnlab
