// Sums, means and deviations, added up in the order in which NumPy adds a contiguous axis.
#pragma once

#include <span>

#include "core/tensor.hpp"

namespace attnlab {

/// The sum by pairwise summation: eight partial sums up to 128 items, halves above, buffers of 8192 one after
/// the other; the bits of NumPy's sum. The rounding error grows with the logarithm of the length.
double pairwise_sum(std::span<const double> values);

/// The sum over the number of values; NaN for none.
double mean(std::span<const double> values);

/// The mean squared deviation from the mean, divided by n (not n - 1); NaN for no values.
double variance(std::span<const double> values);

/// The square root of the variance.
double standard_deviation(std::span<const double> values);

/// The standard error of the mean: the deviation with n - 1 over the square root of n; NaN below two values.
double standard_error(std::span<const double> values);

/// The entropy of weights that sum to one, in nats: 0 when one has all, ln(n) when all are equal.
double entropy(std::span<const double> weights);

/// The largest |a - b| over equal places, 0 for none; NaN when any of them is NaN, and 0 for equal
/// infinities. Throws Error(data) when the lengths differ.
double largest_difference(std::span<const double> a, std::span<const double> b);

/// The sum of products of equal places, added pairwise: [length] and [length] to a number.
/// Throws Error(data) when the lengths differ.
double dot(std::span<const double> a, std::span<const double> b);

/// The largest value; NaN when one of them is NaN. Throws Error(data) for none.
double maximum(std::span<const double> values);

/// The place of the largest value, the first of equal ones. Throws Error(data) for none.
std::size_t argmax(std::span<const double> values);

/// Whether |got - want| <= absolute + relative * |want| for every pair, NaN equal to nothing: numpy.allclose
/// with its own tolerances as defaults. Different lengths are not close.
bool all_close(std::span<const double> got, std::span<const double> want, double relative = 1e-5,
               double absolute = 1e-8);

}  // namespace attnlab
