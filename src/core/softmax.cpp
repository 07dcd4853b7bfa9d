#include "core/softmax.hpp"

#include <cmath>
#include <limits>

#include "core/statistics.hpp"

namespace attnlab {

double softmax_in_place(std::span<double> row) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  if (row.empty()) return hidden;
  const double largest = maximum(row);
  // Where all keys are hidden nothing is subtracted: -inf - -inf would be NaN.
  for (double& value : row) value = value == hidden ? 0.0 : std::exp(value - largest);
  const double sum = pairwise_sum(row);
  // A hidden key stays at zero even where the sum is NaN.
  for (double& value : row) value = value == 0.0 ? 0.0 : value / sum;
  return largest + std::log(sum);
}

Matrix softmax(const Matrix& scores) {
  Matrix weights = scores;
  for (std::size_t row = 0; row < weights.shape(0); ++row) softmax_in_place(row_of(weights, row));
  return weights;
}

}  // namespace attnlab
