#include "io/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attnlab {
namespace {

/// Rounds a double to a binary format of 16 bits with `fraction_bits` after the point. Works on the double
/// itself: a detour through single precision would round twice.
std::uint16_t round_to_16_bits(double value, int fraction_bits) {
  const int exponent_bits = 15 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const unsigned infinity = ((1U << exponent_bits) - 1U) << fraction_bits;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | (1U << (fraction_bits - 1)));
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  if (magnitude == 0.0) return static_cast<std::uint16_t>(sign);
  // Numbers below the smallest normal one share its spacing.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  if (exponent > bias) return static_cast<std::uint16_t>(sign | infinity);
  // A whole number of spacings: the scaling is exact and nearbyint breaks ties to even.
  const double spacings = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
  // The implicit leading one carries into the exponent field by addition, and so does rounding up to
  // infinity.
  const unsigned field = static_cast<unsigned>(exponent + bias - 1) << fraction_bits;
  return static_cast<std::uint16_t>(sign | (field + static_cast<unsigned>(spacings)));
}

}  // namespace

double to_double(Float16 value) {
  const int exponent = (value.bits >> 10) & 0x1F;
  const int fraction = value.bits & 0x3FF;
  double magnitude = 0.0;
  if (exponent == 0x1F) {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    magnitude = fraction * 0x1p-24;
  } else {
    // 2^(exponent - 15) put together from its bits; ldexp would be a call for each element.
    const double power = std::bit_cast<double>(static_cast<std::uint64_t>(exponent - 15 + 1023) << 52);
    magnitude = power * (1.0 + fraction * 0x1p-10);
  }
  return std::copysign(magnitude, (value.bits & 0x8000) != 0 ? -1.0 : 1.0);
}

double to_double(BFloat16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
}

Float16 to_float16(double value) { return {round_to_16_bits(value, 10)}; }
BFloat16 to_bfloat16(double value) { return {round_to_16_bits(value, 7)}; }

}  // namespace attnlab
