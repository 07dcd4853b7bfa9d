// One standard normal after the other by the ziggurat method: the plain loop that the fast engines must agree
// with.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/random/pcg64.hpp"
#include "core/random/ziggurat_tables.hpp"

namespace attnlab {

/// What a random word says about the draw it starts.
struct ZigguratWord {
  std::uint64_t word;

  std::size_t piece() const { return word & 255; }
  bool is_negative() const { return (word >> 8 & 1) != 0; }
  std::uint64_t magnitude() const { return word >> 9 & ((std::uint64_t{1} << 52) - 1); }
  /// The sign of a draw from the tail.
  bool is_negative_in_tail() const { return (word >> 17 & 1) != 0; }
};

/// A draw from beyond ziggurat_tail_start; next_word() gives the words it consumes, two a try.
/// The last bit is that of the C library's log1p, as in NumPy.
template <class NextWord>
double draw_tail(bool is_negative, NextWord next_word) {
  constexpr double inverse_start = 1.0 / ziggurat_tail_start;
  for (;;) {
    const double beyond = -inverse_start * std::log1p(-unit_double(next_word()));
    const double height = -std::log1p(-unit_double(next_word()));
    if (height + height > beyond * beyond) {
      return is_negative ? -(ziggurat_tail_start + beyond) : ziggurat_tail_start + beyond;
    }
  }
}

/// Whether candidate x of a piece from 1 up lies below the curve at the height that `word` stands for.
inline bool accept_in_wedge(const ZigguratTables& tables, std::size_t piece, double x, std::uint64_t word) {
  const double low = tables.density[piece];
  return (tables.density[piece - 1] - low) * unit_double(word) + low < std::exp(-0.5 * x * x);
}

/// The same verdict without exp, nearly always, and so without waiting for it. With d = (edge^2 - x^2) / 2
/// the curve is density * e^d; e^d - 1 is compared by its series, and exp decides where that is too close to
/// call.
inline bool accept_in_wedge_quickly(const ZigguratTables& tables, std::size_t piece, double x,
                                    std::uint64_t word) {
  const double low = tables.density[piece];
  const double edge = tables.scale[piece] * 0x1p52;
  const double size = std::abs(x);
  const double d = 0.5 * (edge - size) * (edge + size);
  const double d2 = d * d;
  const double d4 = d2 * d2;
  const double series =
      d + d2 * (1.0 / 2 + d * (1.0 / 6)) + d4 * (1.0 / 24 + d * (1.0 / 120) + d2 * (1.0 / 720));
  const double excess = low * series - (tables.density[piece - 1] - low) * unit_double(word);
  // d is at most 0.73, so the series leaves out less than e^d d^7 / 7! < 5e-4 d^7.
  const double doubt = 5e-4 * d4 * d2 * d + 1e-12;
  if (std::abs(excess) <= doubt) [[unlikely]]
    return accept_in_wedge(tables, piece, x, word);
  return excess > 0.0;
}

/// The next standard normal of the stream, as NumPy's standard_normal().
double draw_normal(Pcg64& bits);

/// The same from 32-bit draws, as NumPy's standard_normal(dtype=float32).
float draw_normal_f32(Pcg64& bits);

}  // namespace attnlab
