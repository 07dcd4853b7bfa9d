// Decimal text to the nearest double, without the locale.
#pragma once

#include <string_view>

namespace attnlab {

enum class DecimalStatus {
  good,
  not_decimal,  ///< the text is not, or not wholly, a decimal number
  too_large,    ///< beyond the largest double; the result is infinite
};

/// Reads a whole text such as "-1.5e3", ".5" or "5." (no sign but '-', no space, no hexadecimal, no nan, no
/// inf) into the nearest double; a number below the smallest double becomes zero with its sign.
DecimalStatus parse_decimal(std::string_view text, double& result);

}  // namespace attnlab
