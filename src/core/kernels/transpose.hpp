// Transposing squares of lane_count x lane_count numbers in registers.
#pragma once

#include "core/kernels/lanes.hpp"

namespace attnlab {
namespace {

/// Lanes of `a` whose number has the bit `distance` change places with lanes of `b` whose number has not.
template <int distance, int... lane>
inline void exchange(Lanes& a, Lanes& b, std::integer_sequence<int, lane...>) {
  const Lanes from_a = a;
  const Lanes from_b = b;
  a = __builtin_shufflevector(from_a, from_b, ((lane & distance) ? lane_count + (lane ^ distance) : lane)...);
  b = __builtin_shufflevector(from_a, from_b, ((lane & distance) ? lane_count + lane : (lane ^ distance))...);
}

/// Transposes a square of lane_count vectors: first its quarters change places, then the quarters of those,
/// ...
template <int distance = lane_count / 2>
inline void transpose(Lanes* square) {
#pragma GCC unroll 16
  for (int row = 0; row < lane_count; ++row) {
    if ((row & distance) == 0) {
      exchange<distance>(square[row], square[row + distance], std::make_integer_sequence<int, lane_count>{});
    }
  }
  if constexpr (distance > 1) transpose<distance / 2>(square);
}

}  // namespace
}  // namespace attnlab
