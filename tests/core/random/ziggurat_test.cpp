#include <algorithm>
#include <bit>
#include <cmath>

#include <doctest/doctest.h>

#include "core/random/seed_sequence.hpp"
#include "core/random/ziggurat.hpp"

using namespace attnlab;

TEST_CASE("ziggurat: a word falls apart into piece and sign and 52 bits") {
  const ZigguratWord word{std::uint64_t{0xE000'0000'0000'0000} | std::uint64_t{5} << 9 | 1 << 8 | 0xAB};
  CHECK(word.piece() == 0xAB);
  CHECK(word.is_negative());
  CHECK(word.magnitude() == 5);
  CHECK_FALSE(word.is_negative_in_tail());
  CHECK(ZigguratWord{1 << 17}.is_negative_in_tail());
}

TEST_CASE("ziggurat: the quick verdict in a wedge is exp's even where the two sides are nearly equal") {
  const ZigguratTables& tables = ziggurat_tables();
  Pcg64 bits(SeedSequence(11));
  std::size_t accepted = 0;
  constexpr std::size_t trials = 200'000;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    const std::size_t piece = 1 + bits.next64() % 255;
    const double inner = piece == 1 ? 0.0 : tables.scale[piece - 1] * 0x1p52;
    const double edge = tables.scale[piece] * 0x1p52;
    const double x = (trial % 2 == 0 ? 1.0 : -1.0) * (inner + (edge - inner) * unit_double(bits.next64()));
    // The height at which the verdict turns, and up to four of its last places around it.
    const double low = tables.density[piece];
    const double span = tables.density[piece - 1] - low;
    const double last_places = static_cast<double>(bits.next64() % 9) - 4.0;
    const double turn =
        (std::exp(-0.5 * x * x) - low) / span * 0x1p53 + last_places * std::max(1.0, low / span);
    const std::uint64_t word = static_cast<std::uint64_t>(std::clamp(turn, 0.0, 0x1p53 - 1.0)) << 11;
    const bool verdict = accept_in_wedge(tables, piece, x, word);
    REQUIRE(accept_in_wedge_quickly(tables, piece, x, word) == verdict);
    accepted += verdict;
    const std::uint64_t anywhere = bits.next64();
    REQUIRE(accept_in_wedge_quickly(tables, piece, x, anywhere) ==
            accept_in_wedge(tables, piece, x, anywhere));
  }
  // Both verdicts were put to the test.
  CHECK(accepted > trials / 4);
  CHECK(accepted < 3 * trials / 4);
}

TEST_CASE("ziggurat: a candidate of no size keeps its sign") {
  // A state with a high half of zero gives out its low half; one word before it is the state to draw from.
  Pcg64 bits;
  bits.state = 2 | 1 << 8;
  bits.advance(-UInt128{1});
  const double zero = draw_normal(bits);
  CHECK(std::bit_cast<std::uint64_t>(zero) == std::bit_cast<std::uint64_t>(-0.0));
}

TEST_CASE("ziggurat: a million normals have the moments and the tail of the normal distribution") {
  Pcg64 bits(SeedSequence(1));
  constexpr int count = 1'000'000;
  double sum = 0.0;
  double squares = 0.0;
  int beyond_three = 0;
  for (int i = 0; i < count; ++i) {
    const double z = draw_normal(bits);
    sum += z;
    squares += z * z;
    beyond_three += std::abs(z) > 3.0;
  }
  // Four standard errors: 1 and sqrt(2) per number; P(|z| > 3) = erfc(3 / sqrt 2) = 0.0026998.
  CHECK(std::abs(sum / count) < 4e-3);
  CHECK(std::abs(squares / count - 1.0) < 4e-3 * std::sqrt(2.0));
  CHECK(std::abs(beyond_three / 1e6 - 0.0026998) < 4.0 * std::sqrt(0.0026998 / count));
}
