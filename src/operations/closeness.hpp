// How near numbers are to those expected, and what their digits tell of the arithmetic behind them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor.hpp"

namespace attnlab {

/// How far numbers are from those expected.
struct Difference {
  double max_abs = 0;   ///< infinite where one is NaN or infinite and the other is not the same
  double max_rel = 0;   ///< of the elements that are expected not to be zero
  double residual = 0;  ///< largest |difference| / (|expected| + largest |expected|), what decides
};

/// Where `largest` is given it stands for the largest expected magnitude. Throws Error(fault) unless both
/// have the same number of elements.
Difference difference(const std::vector<double>& found, const std::vector<double>& expected,
                      std::optional<double> largest = {});
double largest_magnitude(const std::vector<double>& numbers);  ///< of the finite ones
double rms_distance(const std::vector<double>& a, const std::vector<double>& b);

/// What numbers look like: the narrowest type that holds every one, or decimals as printed in a book.
struct Precision {
  std::string name;                     ///< "float64", "float32", "float16", "bfloat16" or "3 decimals"
  double tolerance = 0;                 ///< residual that arithmetic of this kind explains
  std::optional<double> absolute = {};  ///< for decimals instead: half a unit of the last one
  bool explains(const Difference& difference) const;
};
Precision precision_of(const std::vector<double>& numbers);
/// The precisions by name, the least exact first: bfloat16, float16, float32, float64.
const std::vector<Precision>& arithmetics();
/// Numbers of this kind: the nearest value that the type holds. Only the types have one.
double rounded_to(const std::string& precision, double number);

/// Where differences lie: "row 3 only", "from row 2 on", "everywhere". `differs` and `distances` are those of
/// the elements of an array of that shape, in whose rows `num_heads` heads lie side by side.
std::string spread_of(const std::vector<bool>& differs, const std::vector<double>& distances,
                      const Shape& shape, std::size_t num_heads);
double distance(double found, double expected);  ///< infinite between a number and none

}  // namespace attnlab
