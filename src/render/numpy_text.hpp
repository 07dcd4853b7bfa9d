// Text of arrays and numbers exactly as NumPy 1.24 and Python print them: the lesson's listings are compared
// byte for byte with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/tensor.hpp"

namespace attnlab {

/// What numpy.set_printoptions holds, with NumPy's defaults.
struct PrintOptions {
  int precision = 8;             ///< fractional digits at most, 0 or more
  bool suppress = false;         ///< keep small numbers out of exponent form
  std::size_t threshold = 1000;  ///< arrays of more elements show only the ends of their axes
  std::size_t edge_items = 3;    ///< entries at each end of a shortened axis, 1 or more
  std::size_t line_width = 75;   ///< characters a line may take
};

/// str(array): the elements in brackets, without a final line break. Shape [] is a scalar and prints as
/// Python's repr, whatever the options. Throws Error(fault) when shape and number of values differ. Source:
/// NumPy 1.24, numpy.array2string with floatmode "maxprec".
std::string numpy_text(std::span<const double> values, const Shape& shape, const PrintOptions& options = {});
std::string numpy_text(std::span<const float> values, const Shape& shape, const PrintOptions& options = {});
std::string numpy_text(std::span<const std::int64_t> values, const Shape& shape,
                       const PrintOptions& options = {});
std::string numpy_text(std::span<const bool> values, const Shape& shape, const PrintOptions& options = {});
std::string numpy_text(const Vector& a, const PrintOptions& options = {});
std::string numpy_text(const Matrix& a, const PrintOptions& options = {});
std::string numpy_text(const Array& a, const PrintOptions& options = {});

/// numpy.round: scaled by a power of ten, ties to even, scaled back; negative decimals round tens, hundreds
/// ... Differs from Python's round, which works on the exact decimal value.
double numpy_round(double value, int decimals);
Vector numpy_round(const Vector& a, int decimals);
Matrix numpy_round(const Matrix& a, int decimals);

/// repr of a Python float: the shortest text that reads back to the same double, at least ".0", an exponent
/// from 1e16 and below 1e-4; nan, inf, -inf.
std::string python_repr(double value);

/// f"{value:,}" of a Python float: its repr with groups of three in the integer part. Integers:
/// with_thousands.
std::string python_repr_with_thousands(double value);

}  // namespace attnlab
