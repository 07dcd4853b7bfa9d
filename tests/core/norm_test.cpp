#include "core/norm.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

namespace {

NormOptions with_eps(double eps) {
  NormOptions options;
  options.eps = eps;
  return options;
}

}  // namespace

TEST_CASE("norm: layer norm divides the variance by n with eps inside the root") {
  CHECK(difference(normalized(Matrix{{1, 2, 3, 6}}, NormKind::layer),
                   Matrix{{-1.0690434404458735, -0.5345217202229368, 0, 1.6035651606688102}}) == "");
  const double unit = 0.30151134457776363;  // 0.001 / sqrt(1e-6 + 1e-5)
  CHECK(difference(normalized(Matrix{{0.001, -0.001, 0.001, -0.001}}, NormKind::layer),
                   Matrix{{unit, -unit, unit, -unit}}) == "");
}

TEST_CASE("norm: root mean square removes no mean") {
  CHECK(difference(normalized(Matrix{{3, 4}, {1, 2}}, NormKind::rms, with_eps(1e-6)),
                   Matrix{{0.8485281034827336, 1.1313708046436448},
                          {0.6324554055426074, 1.2649108110852147}}) == "");
}

TEST_CASE("norm: a large common offset changes nothing") {
  const Matrix near = normalized(Matrix{{1, 2, 3, 6}}, NormKind::layer);
  for (const double offset : {1e9, -1e12, 1e15}) {
    CAPTURE(offset);
    CHECK(difference(normalized(Matrix{{offset + 1, offset + 2, offset + 3, offset + 6}}, NormKind::layer),
                     near) == "");
  }
}

TEST_CASE("norm: entries near both ends of the range of double are normalised") {
  const Matrix want{{0.848528137423857, 1.131370849898476}};
  CHECK(difference(normalized(Matrix{{3e200, 4e200}}, NormKind::rms), want) == "");
  CHECK(difference(normalized(Matrix{{3e-200, 4e-200}}, NormKind::rms, with_eps(0)), want) == "");
  CHECK(difference(normalized(Matrix{{1.7e308, -1.7e308}}, NormKind::layer), Matrix{{1, -1}}) == "");
  CHECK(difference(normalized(Matrix{{1.7e308, 1.7e308}}, NormKind::layer), zeros(1, 2)) == "");
}

TEST_CASE("norm: a row without spread gives exact zeros with or without eps") {
  for (const double eps : {0.0, 1e-5}) {
    for (const double value : {0.0, 5.0, 0.1, -1e300}) {
      Matrix row = zeros(1, 4099);
      row.fill(value);
      CHECK(difference(normalized(row, NormKind::layer, with_eps(eps)), zeros(1, 4099), 0) == "");
    }
    CHECK(difference(normalized(zeros(1, 3), NormKind::rms, with_eps(eps)), zeros(1, 3), 0) == "");
  }
}

TEST_CASE("norm: gain with offset multiplies and bias is added last") {
  NormOptions options = with_eps(0);
  options.gain = Vector{1, -3};
  options.bias = Vector{10, 20};
  CHECK(difference(normalized(Matrix{{1, -1}}, NormKind::rms, options), Matrix{{11, 23}}) == "");
  options.gain_offset = 1;
  CHECK(difference(normalized(Matrix{{1, -1}}, NormKind::rms, options), Matrix{{12, 22}}) == "");
}

TEST_CASE("norm: rows have mean zero and variance one") {
  const Matrix result = normalized(scattered(5, 33, 4), NormKind::layer, with_eps(0));
  for (std::size_t row = 0; row < 5; ++row) {
    double sum = 0;
    double squares = 0;
    for (const double value : row_of(result, row)) {
      sum += value;
      squares += value * value;
    }
    CHECK(std::abs(sum) < 1e-13);
    CHECK(std::abs(squares - 33) < 1e-12);
  }
}

TEST_CASE("norm: gain and bias of another length are refused by name") {
  NormOptions options;
  options.gain = Vector{1, 1, 1};
  CHECK_THROWS_WITH_AS(normalized(zeros(1, 2), NormKind::rms, options),
                       "gain: length 3 where the rows have width 2", Error);
  options.gain.reset();
  options.bias = Vector{1};
  CHECK_THROWS_WITH_AS(normalized(zeros(1, 2), NormKind::rms, options),
                       "bias: length 1 where the rows have width 2", Error);
}
