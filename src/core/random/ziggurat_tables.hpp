// The tables of the ziggurat: the half normal density cut into 256 pieces of equal area.
#pragma once

#include <array>
#include <cstdint>

namespace attnlab {

/// Where the tail begins.
inline constexpr double ziggurat_tail_start = 3.6541528853610088;

/// For piece i, 0 (with the tail) to 255: `scale` turns random bits into a candidate |x|, which is accepted
/// at once when the bits are below `accept`, and `density` is exp(-x^2 / 2) at the piece's edge. The _f32
/// tables are those for float draws.
struct ZigguratTables {
  std::array<double, 256> scale;
  std::array<double, 256> density;
  std::array<std::uint64_t, 256> accept;  ///< of 52 bits
  std::array<float, 256> scale_f32;
  std::array<float, 256> density_f32;
  std::array<std::uint32_t, 256> accept_f32;  ///< of 23 bits
};

/// The tables of NumPy 1.24, byte for byte.
/// Source: Marsaglia and Tsang, "The Ziggurat Method for Generating Random Variables" (2000), section 2;
/// Doornik, "An Improved Ziggurat Method to Generate Normal Random Samples" (2005).
const ZigguratTables& ziggurat_tables();

}  // namespace attnlab
