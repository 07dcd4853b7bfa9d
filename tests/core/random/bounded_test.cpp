#include <doctest/doctest.h>

#include "core/random/bounded.hpp"
#include "core/random/seed_sequence.hpp"

using namespace attnlab;

TEST_CASE("bounded: draws that fall into the uneven rest are rejected as NumPy rejects them") {
  // default_rng(466).integers(0, 3 * 2**30, 12) and the same of 3 * 2**62 + 5 as uint64: a quarter is
  // rejected.
  Pcg64 bits(SeedSequence(466));
  for (const std::uint64_t drawn :
       {587311284U, 1759082770U, 1002725214U, 2249760829U, 1872884140U, 562067563U, 2621136213U, 721484213U,
        943512607U, 522099595U, 1565191508U, 2140304457U})
    CHECK(draw_bounded(bits, (std::uint64_t{3} << 30) - 1) == drawn);
  bits = Pcg64(SeedSequence(466));
  for (const std::uint64_t drawn :
       {2522482762188767004ULL, 8043976134894329920ULL, 11257694316979583087ULL, 4052355793297668534ULL,
        6722446340432763789ULL, 6148721704032171083ULL, 406084873803914850ULL, 1984199165980611340ULL})
    CHECK(draw_bounded(bits, (std::uint64_t{3} << 62) + 4) == drawn);
}

TEST_CASE("bounded: masked draws take the fewest bits that hold the largest and reject what is above") {
  Pcg64 bits(SeedSequence(466));
  Pcg64 plain = bits;
  CHECK(draw_masked(bits, 0) == 0);
  for (int i = 0; i < 50; ++i) {
    std::uint32_t number = 5;
    while (number > 4) number = plain.next32() & 7;
    CHECK(draw_masked(bits, 4) == number);
  }
  const std::uint64_t most = (std::uint64_t{1} << 40) + 3;
  for (int i = 0; i < 20; ++i) {
    std::uint64_t number = most + 1;
    while (number > most) number = plain.next64() & ((std::uint64_t{1} << 41) - 1);
    CHECK(draw_masked(bits, most) == number);
  }
}
