// Comparison of numbers in tests, with bounds that say what they mean.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "core/tensor.hpp"

namespace attnlab::testing {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Empty when |got - want| <= bound * max(1, |want|) at every place, else the first place that differs and
/// both numbers. NaN matches NaN and an infinity itself.
std::string difference(std::span<const double> got, std::span<const double> want, double bound = 1e-12);
/// The same with shapes, which must be equal.
std::string difference(const Matrix& got, const Matrix& want, double bound = 1e-12);
std::string difference(const Vector& got, const Vector& want, double bound = 1e-12);

/// A matrix of numbers between -1 and 1 that look random and are the same at every run.
Matrix scattered(std::size_t rows, std::size_t columns, unsigned seed);

}  // namespace attnlab::testing
