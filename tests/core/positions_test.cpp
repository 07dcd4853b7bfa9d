#include "core/positions.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

namespace {

std::vector<double> frequencies(std::size_t rotary_dim, double base, const RopeScaling& scaling) {
  const Rope rope = make_rope(rotary_dim, RopeStyle::half, base, scaling);
  return {rope.inv_freq.begin(), rope.inv_freq.end()};
}

}  // namespace

TEST_CASE("sinusoidal: sines and cosines alternate and an odd width ends with a sine") {
  const Matrix even = sinusoidal(2, 6);
  CHECK(difference(even, Matrix{{0, 1, 0, 1, 0, 1},
                                {0.8414709848078965, 0.5403023058681398, 0.04639922346473127,
                                 0.9989229760406304, 0.002154433023365604, 0.9999976792064809}}) == "");
  const Matrix odd = sinusoidal(2, 5);
  CHECK(difference(odd, Matrix{{0, 1, 0, 1, 0},
                               {0.8414709848078965, 0.5403023058681398, 0.02511622290977378,
                                0.9996845379152098, 0.0006309573026154203}}) == "");
  CHECK(sinusoidal(0, 4).shape(0) == 0);
}

TEST_CASE("rope: both pairings at known values") {
  const Matrix x{{1, 2, 3, 4}};
  CHECK(difference(rotated(x, {1}, make_rope(4)), Matrix{{-1.1426396637476532, 1.922075596544176,
                                                          2.959850667913329, 4.029799501669161}}) == "");
  CHECK(difference(rotated(x, {1}, make_rope(4, RopeStyle::half)),
                   Matrix{{-1.9841106485555497, 1.959900667496664, 2.4623779024123156, 4.019799668334994}}) ==
        "");
}

TEST_CASE("rope: a partial width uses its own exponents and leaves the rest") {
  const Matrix x{{1, 2, 3, 4, 5, 6, 7, 8}};
  CHECK(difference(rotated(x, {2}, make_rope(4, RopeStyle::half)),
                   Matrix{{-3.1440391170241875, 1.9196053465598233, -0.33914308281574546, 4.039197360052977,
                           5, 6, 7, 8}}) == "");
}

TEST_CASE("rope: scores depend on the offset alone, near and far") {
  const Matrix query = scattered(1, 16, 1);
  const Matrix key = scattered(1, 16, 2);
  for (const RopeStyle style : {RopeStyle::interleaved, RopeStyle::half}) {
    const Rope rope = make_rope(16, style);
    const auto score = [&](double m, double n) {
      return dot(elements(rotated(query, {m}, rope)), elements(rotated(key, {n}, rope)));
    };
    for (const double far : {8.0, 100'000.0, 1e6, 1e9}) {
      CAPTURE(far);
      CHECK(std::abs(score(far + 2, far) - score(3, 1)) < 2e-10);
    }
    CHECK(std::abs(score(-1, -3) - score(3, 1)) < 1e-13);
  }
}

TEST_CASE("rope: a far position is exact") {
  // sin(131071) and cos(131071) to 17 digits.
  const Matrix turned = rotated(Matrix{{1, 0}}, {131071}, make_rope(2));
  CHECK(difference(turned, Matrix{{-0.8179834993879491, -0.5752416837547893}}) == "");
}

TEST_CASE("rope: widths and bases that do not rotate are refused") {
  CHECK_THROWS_WITH_AS(rope_frequencies(3),
                       "rotary width 3 does not split into pairs: an even width of at least 2 does", Error);
  CHECK_THROWS_WITH_AS(rope_frequencies(4, 0), "rotary base 0 has no powers: give a positive number", Error);
  CHECK_THROWS_WITH_AS(rotated(zeros(1, 2), {0}, make_rope(4)),
                       "rotary width 4 is wider than the vectors of width 2", Error);
  CHECK_THROWS_WITH_AS(rotated(zeros(2, 4), {0}, make_rope(4)),
                       "1 positions for 2 rows: give one position a row", Error);
}

TEST_CASE("rope scaling: linear and ntk") {
  RopeScaling scaling;
  scaling.factor = 4;
  scaling.kind = ScalingKind::linear;
  CHECK(difference(frequencies(4, 10000, scaling), std::vector<double>{0.25, 0.0025}) == "");
  scaling.kind = ScalingKind::ntk;
  CHECK(difference(frequencies(8, 10000, scaling),
                   std::vector<double>{1, 0.06299605249474366, 0.003968502629920499, 0.00025}) == "");
  CHECK_THROWS_AS(frequencies(2, 10000, scaling), Error);
}

TEST_CASE("rope scaling: dynamic grows only beyond the trained length") {
  RopeScaling scaling;
  scaling.kind = ScalingKind::dynamic;
  scaling.factor = 2;
  scaling.length = 3072;
  CHECK(difference(frequencies(8, 10000, scaling),
                   std::vector<double>{1, 0.07937005259840997, 0.006299605249474365, 0.0005}) == "");
  for (const std::optional<double> length : {std::optional<double>{1024}, std::optional<double>{}}) {
    scaling.length = length;
    CHECK(difference(frequencies(8, 10000, scaling), std::vector<double>{1, 0.1, 0.01, 0.001}) == "");
  }
}

TEST_CASE("rope scaling: yarn keeps fast pairs and divides slow ones") {
  RopeScaling scaling;
  scaling.kind = ScalingKind::yarn;
  scaling.factor = 4;
  CHECK(difference(frequencies(16, 10000, scaling),
                   std::vector<double>{1, 0.31622776601683794, 0.1, 0.025693505988868083, 0.00625,
                                       0.001383496476323666, 0.00025, 7.905694150420948e-05}) == "");
  CHECK(std::abs(make_rope(16, RopeStyle::half, 10000, scaling).attention_factor - 1.138629436111989) <
        1e-15);
  scaling.attention_factor = 0.5;
  CHECK(make_rope(16, RopeStyle::half, 10000, scaling).attention_factor == 0.5);
  // With exact bounds 2.016 and 5.028 the pair 3 lies at (3 - 2.016) / (5.028 - 2.016) of the ramp.
  scaling.whole_bounds = false;
  const double first = 16 * std::log(2048 / (32 * 2 * std::acos(-1.0))) / (2 * std::log(10000.0));
  const double last = 16 * std::log(2048 / (2 * std::acos(-1.0))) / (2 * std::log(10000.0));
  const double ramp = (3 - first) / (last - first);
  CHECK(std::abs(frequencies(16, 10000, scaling)[3] - std::pow(10, -1.5) * (1 - ramp + ramp / 4)) < 1e-15);
  scaling.factor = 1;
  scaling.attention_factor.reset();
  CHECK(make_rope(16, RopeStyle::half, 10000, scaling).attention_factor == 1);
  CHECK(difference(frequencies(16, 10000, scaling), frequencies(16, 10000, {})) == "");
  CHECK_THROWS_AS(frequencies(16, 1, scaling), Error);
}

TEST_CASE("rope scaling: llama3 blends by inverse wavelength") {
  RopeScaling scaling;
  scaling.kind = ScalingKind::llama3;
  scaling.factor = 8;
  scaling.original_length = 8192;
  CHECK(difference(frequencies(16, 500000, scaling),
                   std::vector<double>{1, 0.19392274474868576, 0.03760603093086393, 0.007292664737217109,
                                       0.0005248461609929547, 3.428102195952591e-05, 6.647869871181235e-06,
                                       1.2891731721515574e-06},
                   1e-15) == "");
  scaling.low_freq_factor = 4;
  CHECK_THROWS_WITH_AS(frequencies(16, 500000, scaling),
                       "llama3 scaling needs low-freq-factor below high-freq-factor, not 4 and 4", Error);
  scaling.factor = 0;
  CHECK_THROWS_WITH_AS(frequencies(16, 500000, scaling), "rotary scaling: factor 0 is not a positive number",
                       Error);
}

TEST_CASE("rope scaling: the attention factor multiplies both vectors") {
  Rope rope = make_rope(4);
  const Matrix query = scattered(1, 4, 1);
  const double plain = dot(elements(rotated(query, {5}, rope)), elements(rotated(query, {2}, rope)));
  rope.attention_factor = 3;
  const double scaled = dot(elements(rotated(query, {5}, rope)), elements(rotated(query, {2}, rope)));
  CHECK(std::abs(scaled - 9 * plain) < 1e-14);
}

TEST_CASE("alibi: slopes for powers of two and for other numbers of heads") {
  CHECK(alibi_slopes(8) ==
        std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  CHECK(alibi_slopes(6) == std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  CHECK(alibi_slopes(1) == std::vector<double>{0.00390625});
  CHECK(alibi_slopes(3) == std::vector<double>{0.0625, 0.00390625, 0.25});
  CHECK(alibi_slopes(0).empty());
}

TEST_CASE("alibi: the bias falls with distance on both sides") {
  CHECK(difference(alibi_bias({1, 2}, {0, 1, 2}, 0.25), Matrix{{-0.25, 0, -0.25}, {-0.5, -0.25, 0}}) == "");
}

TEST_CASE("learned positions: rows are looked up from 0 and the table ends") {
  const Matrix table{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  CHECK(difference(learned_positions(table, {3, 0}), Matrix{{7, 8}, {1, 2}}, 0) == "");
  CHECK_THROWS_WITH_AS(
      learned_positions(table, {4}),
      "position 4 is out of range: the table has 4 rows, so whole positions from 0 up to 3, none negative",
      Error);
  for (const double position : {-1.0, 0.5, 1e300, testing::not_a_number, testing::infinity}) {
    CHECK_THROWS_AS(learned_positions(table, {position}), Error);
  }
}

TEST_CASE("positions: padding on either side does not count") {
  CHECK(positions_without_padding({false, false, true, true}) == std::vector<std::size_t>{0, 0, 0, 1});
  CHECK(positions_without_padding({true, false, true}) == std::vector<std::size_t>{0, 0, 1});
}

TEST_CASE("positions: the bound of rotary scores falls from its value at offset 0") {
  const Rope rope = make_rope(128);
  // Sums of complex exponentials in Python's double precision.
  CHECK(rope_decay(rope, 0) == 32.5);
  CHECK(std::abs(rope_decay(rope, 1) - 31.54) < 0.005);
  CHECK(std::abs(rope_decay(rope, 250) - 6.55) < 0.005);
  CHECK(std::abs(rope_decay(rope, -250) - rope_decay(rope, 250)) < 1e-12);
  // One pair: |exp(i * angle)| = 1 at every offset.
  CHECK(std::abs(rope_decay(make_rope(2), 12345) - 1) < 1e-15);
}

TEST_CASE("rope: reordered columns turn one pairing into the other") {
  const std::vector<std::size_t> order = interleaved_to_half(6, 8);
  CHECK(order == std::vector<std::size_t>{0, 2, 4, 1, 3, 5, 6, 7});
  const Matrix x = scattered(1, 8, 3);
  const auto reordered = [&](const Matrix& from) {
    Matrix to = from;
    for (std::size_t c = 0; c < 8; ++c) to(0, c) = from(0, order[c]);
    return to;
  };
  CHECK(difference(rotated(reordered(x), {5}, make_rope(6, RopeStyle::half)),
                   reordered(rotated(x, {5}, make_rope(6)))) == "");
  CHECK_THROWS_WITH_AS(interleaved_to_half(3, 8), "rotary width 3 has no pairs to reorder in a width of 8",
                       Error);
}
