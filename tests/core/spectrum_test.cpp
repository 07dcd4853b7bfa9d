#include "core/spectrum.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/random/generator.hpp"
#include "core/statistics.hpp"

using namespace attnlab;

TEST_CASE("spectrum: a matrix of two by two has the values computed by hand") {
  // [[3, 0], [4, 5]]: the eigenvalues of its Gram matrix [[25, 20], [20, 25]] are 45 and 5.
  Matrix a = zeros(2, 2);
  a(0, 0) = 3, a(1, 0) = 4, a(1, 1) = 5;
  const Vector values = singular_values(a);
  REQUIRE(values.size() == 2);
  CHECK(std::abs(values(0) - std::sqrt(45.0)) < 1e-14);
  CHECK(std::abs(values(1) - std::sqrt(5.0)) < 1e-14);
}

TEST_CASE("spectrum: a wide and a tall product of two vectors have one value that is not zero") {
  for (const bool wide : {false, true}) {
    CAPTURE(wide);
    Matrix a = wide ? zeros(3, 7) : zeros(7, 3);
    for (std::size_t i = 0; i < a.shape(0); ++i) {
      for (std::size_t j = 0; j < a.shape(1); ++j) a(i, j) = static_cast<double>((i + 1) * (j + 1));
    }
    const Vector values = singular_values(a);
    REQUIRE(values.size() == 3);
    CHECK(std::abs(values(0) - std::sqrt(14.0 * 140.0)) < 1e-12);  // lengths of (1, 2, 3) and (1 .. 7)
    CHECK(values(1) < 1e-13);
  }
}

TEST_CASE("spectrum: squares add up to those of the entries and the largest comes first") {
  Generator rng(SeedSequence{7});
  const Matrix a = normal_matrix(rng, 33, 20);
  const Vector values = singular_values(a);
  CHECK(std::abs(dot(elements(values), elements(values)) / dot(elements(a), elements(a)) - 1) < 1e-14);
  for (std::size_t i = 1; i < values.size(); ++i) CHECK(values(i) <= values(i - 1));
}

TEST_CASE("spectrum: one entry and none") {
  Matrix one = zeros(1, 1);
  one(0, 0) = -2.5;
  CHECK(singular_values(one)(0) == 2.5);
  CHECK(singular_values(zeros(0, 4)).size() == 0);
}

TEST_CASE("spectrum: a number that is not finite is refused") {
  Matrix a = zeros(2, 2);
  a(1, 0) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(singular_values(a),
                       "singular values need finite numbers; the matrix has a NaN or an infinity", Error);
}
