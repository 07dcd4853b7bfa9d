// The bit generator behind default_rng: PCG64 with its buffer of half a word.
#pragma once

#include <cstdint>

#include "core/integer.hpp"

namespace attnlab {

class SeedSequence;

/// Some steps of the generator at once: state -> multiplier * state + increment, modulo 2^128.
struct Pcg64Step {
  UInt128 multiplier;
  UInt128 increment;

  UInt128 operator()(UInt128 state) const { return multiplier * state + increment; }
};

/// NumPy 1.24's PCG64 (XSL-RR 128/64, output after the step): the same words, halves and state.
/// Source: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms" (2014).
struct Pcg64 {
  UInt128 state = 0;
  UInt128 increment = 1;  ///< odd; picks one of 2^127 streams
  bool has_spare = false;
  std::uint32_t spare = 0;  ///< the high half of a word whose low half was drawn; stale unless has_spare

  Pcg64() = default;
  explicit Pcg64(const SeedSequence& seeds);

  static constexpr UInt128 multiplier = (UInt128{0x2360ED051FC65DA4U} << 64) | 0x4385DF649FCCF645U;

  /// The word that a state stands for.
  static std::uint64_t output(UInt128 state) {
    const auto high = static_cast<std::uint64_t>(state >> 64);
    const std::uint64_t folded = high ^ static_cast<std::uint64_t>(state);
    const auto turn = static_cast<unsigned>(high >> 58);
    return (folded >> turn) | (folded << (-turn & 63U));
  }

  /// The next word; leaves the spare half alone.
  std::uint64_t next64() {
    state = state * multiplier + increment;
    return output(state);
  }

  /// The spare half where there is one, else the low half of the next word, whose high half becomes the
  /// spare.
  std::uint32_t next32() {
    if (has_spare) {
      has_spare = false;
      return spare;
    }
    const std::uint64_t word = next64();
    has_spare = true;
    spare = static_cast<std::uint32_t>(word >> 32);
    return static_cast<std::uint32_t>(word);
  }

  /// `count` steps as one, in about 2 log2(count) multiplications.
  Pcg64Step steps(UInt128 count) const;

  /// Skips `count` words; leaves the spare half alone (NumPy's advance drops it).
  void advance(UInt128 count) { state = steps(count)(state); }

  /// Compares all that NumPy's state holds, a stale spare half too.
  friend bool operator==(const Pcg64&, const Pcg64&) = default;
};

/// A word or half as a double or float in [0, 1): its high 53 or 24 bits.
inline double unit_double(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }
inline float unit_float(std::uint32_t half) { return static_cast<float>(half >> 8) * 0x1p-24F; }

}  // namespace attnlab
