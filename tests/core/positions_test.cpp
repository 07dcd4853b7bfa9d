#include "core/positions.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

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
