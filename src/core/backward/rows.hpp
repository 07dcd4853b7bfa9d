// Arithmetic on one row, in loops that the compiler turns into vector instructions. Sums run over sixteen
// partial sums that are added in one fixed order: the same bits with any instruction set.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attnlab {

inline constexpr std::size_t num_lanes = 16;

/// exp(x) for x <= 0, without a call into the C library so that loops around it vectorise. Relative error
/// below 2e-7; exactly 0 below -87, where the result would be denormal. NaN stays NaN.
[[gnu::always_inline]] inline float exp_nonpositive(float x) {
  // exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in [-0.35, 0.35]; ln 2 in two parts keeps r
  // exact.
  const float rounding = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the lowest bits
  const float shifted = x * 1.44269504F + rounding;
  const float n = shifted - rounding;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  // Coefficients of Cephes (Moshier 1992): least error on that interval, not Taylor's.
  const float tail =
      5.0000001201e-1F +
      r * (1.6666665459e-1F +
           r * (4.1665795894e-2F + r * (8.3334519073e-3F + r * (1.3981999507e-3F + r * 1.9875691500e-4F))));
  const float series = 1.0F + (r + r * r * tail);
  // 2^n by writing n into the exponent field.
  const auto exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounding) + 127;
  const auto power =
      std::bit_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(exponent) << 23));
  return x < -87.0F ? 0.0F : series * power;
}

/// exp(x), the reference for the line above: gradients are checked in double.
inline double exp_nonpositive(double x) { return std::exp(x); }

/// Sum over i of term(i), i from 0 to count.
template <class Real, class Term>
[[gnu::always_inline]] inline Real lane_sum(std::size_t count, Term term) {
  std::array<Real, num_lanes> lanes{};
  std::size_t i = 0;
  for (; i + num_lanes <= count; i += num_lanes)
    for (std::size_t lane = 0; lane < num_lanes; ++lane) lanes[lane] += term(i + lane);
  for (std::size_t lane = 0; i + lane < count; ++lane) lanes[lane] += term(i + lane);
  for (std::size_t half = num_lanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/// Largest of `count` >= 1 elements.
template <class Real>
[[gnu::always_inline]] inline Real row_maximum(const Real* row, std::size_t count) {
  std::array<Real, num_lanes> lanes;
  lanes.fill(row[0]);
  std::size_t i = 0;
  for (; i + num_lanes <= count; i += num_lanes)
    for (std::size_t lane = 0; lane < num_lanes; ++lane)
      lanes[lane] = lanes[lane] < row[i + lane] ? row[i + lane] : lanes[lane];
  for (; i < count; ++i) lanes[0] = lanes[0] < row[i] ? row[i] : lanes[0];
  for (std::size_t half = num_lanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane)
      lanes[lane] = lanes[lane] < lanes[lane + half] ? lanes[lane + half] : lanes[lane];
  return lanes[0];
}

/// Sum of a_i b_i.
template <class Real>
[[gnu::always_inline]] inline Real row_dot(const Real* a, const Real* b, std::size_t count) {
  return lane_sum<Real>(count, [=](std::size_t i) { return a[i] * b[i]; });
}

/// What softmax_row divided by: the log of the sum of all exp(x_i) is maximum + log(sum).
template <class Real>
struct SoftmaxSum {
  Real maximum;
  Real sum;  ///< of exp(x_i - maximum)
};

/// Replaces `count` >= 1 elements x by softmax(x). The float version picks the widest instructions of the
/// machine.
SoftmaxSum<float> softmax_row(float* row, std::size_t count);
SoftmaxSum<double> softmax_row(double* row, std::size_t count);

}  // namespace attnlab
