// Whole numbers below a bound, by the two methods that NumPy uses: they draw different numbers from the same
// words.
#pragma once

#include <cstdint>

#include "core/random/pcg64.hpp"

namespace attnlab {

/// A number in [0, max] by multiplying and shifting: what integers and choice draw. Takes no word for max = 0
/// and 32-bit draws for max below 2^32. Source: Lemire, "Fast Random Integer Generation in an Interval"
/// (2019), algorithm 5.
std::uint64_t draw_bounded(Pcg64& bits, std::uint64_t max);

/// A number in [0, max] by masking and rejecting: what shuffle and permutation draw. Words as above.
std::uint64_t draw_masked(Pcg64& bits, std::uint64_t max);

}  // namespace attnlab
