// Decimal text of numbers, both ways and without the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/integer.hpp"

namespace attnlab {

enum class DecimalStatus {
  good,
  not_decimal,  ///< the text is not, or not wholly, a decimal number
  too_large,    ///< beyond the largest double; the result is infinite
};

/// Reads a whole text such as "-1.5e3", ".5" or "5." (no sign but '-', no space, no hexadecimal, no nan, no
/// inf) into the nearest double; a number below the smallest double becomes zero with its sign.
DecimalStatus parse_decimal(std::string_view text, double& result);

/// Reads a whole text of digits, perhaps after '-'; false for any other text and beyond 127 bits.
bool parse_whole(std::string_view text, Int128& result);

/// How numbers that are not finite are written.
enum class SpecialNumbers {
  plain,   ///< nan, inf, -inf
  quoted,  ///< "NaN", "Infinity", "-Infinity", as strict JSON must
};

/// Appends the shortest text that reads back to the same double; minus zero is "-0.0".
void append_decimal(std::string& text, double value, SpecialNumbers special);
void append_decimal(std::string& text, std::int64_t value);
void append_decimal(std::string& text, std::uint64_t value);

}  // namespace attnlab
