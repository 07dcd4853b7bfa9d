#include "core/power_law.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include "core/error.hpp"

namespace attnlab {

PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.size() < 2)
    throw Error(ErrorKind::data, "a power law is fitted to two points or more, each with an x and a y");
  const auto count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / count;
    mean_y += std::log(y[i]) / count;
  }
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double from_mean = std::log(x[i]) - mean_x;
    products += from_mean * (std::log(y[i]) - mean_y);
    squares += from_mean * from_mean;
  }
  if (squares == 0) throw Error(ErrorKind::data, "a power law needs points at more than one x");
  const double exponent = products / squares;
  if (x.size() == 2) return {exponent, std::numeric_limits<double>::quiet_NaN()};
  double scatter = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = std::log(y[i]) - mean_y - exponent * (std::log(x[i]) - mean_x);
    scatter += residual * residual;
  }
  return {exponent, std::sqrt(scatter / (count - 2) / squares)};
}

}  // namespace attnlab
