#include "core/random/pcg64.hpp"

#include "core/random/seed_sequence.hpp"

namespace attnlab {

Pcg64::Pcg64(const SeedSequence& seeds) {
  const std::vector<std::uint64_t> words = seeds.generate_state64(4);
  const UInt128 start = (UInt128{words[0]} << 64) | words[1];
  const UInt128 stream = (UInt128{words[2]} << 64) | words[3];
  increment = (stream << 1) | 1;
  state = (increment + start) * multiplier + increment;
}

Pcg64Step Pcg64::steps(UInt128 count) const {
  Pcg64Step total{1, 0};
  for (Pcg64Step doubling{multiplier, increment}; count != 0; count >>= 1) {
    if (count & 1) total = {total.multiplier * doubling.multiplier, doubling(total.increment)};
    doubling = {doubling.multiplier * doubling.multiplier, doubling(doubling.increment)};
  }
  return total;
}

}  // namespace attnlab
