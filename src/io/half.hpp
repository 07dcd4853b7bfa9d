// The two 16-bit floating point types of model files. They are stored, never computed with.
#pragma once

#include <cstdint>

namespace attnlab {

/// IEEE 754 half precision: 1 sign, 5 exponent, 10 fraction bits.
struct Float16 {
  std::uint16_t bits = 0;
};

/// Brain floating point: the upper half of a single precision number.
struct BFloat16 {
  std::uint16_t bits = 0;
};

/// Exact; NaN stays NaN.
double to_double(Float16 value);
double to_double(BFloat16 value);

/// The nearest value, ties to even; what is too large becomes infinite, NaN a quiet NaN.
Float16 to_float16(double value);
BFloat16 to_bfloat16(double value);

}  // namespace attnlab
