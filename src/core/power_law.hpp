// The exponent with which one quantity grows with another.
#pragma once

#include <vector>

namespace attnlab {

/// y = c x^exponent, fitted by least squares to logarithms.
struct PowerLaw {
  double exponent;
  double standard_error;  ///< of the exponent, from the scatter around the line; NaN below three points
};

/// The fit through points of positive coordinates. Throws Error(data) when there are fewer than two, as many
/// x as y are not given, or all x are equal.
PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace attnlab
