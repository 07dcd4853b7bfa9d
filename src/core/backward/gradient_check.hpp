// Compares a gradient differentiated by hand with finite differences of the loss, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/backward/view.hpp"

namespace attnlab {

/// The worst relative error of `gradient` against finite differences of `loss`, a function of the elements of
/// `input` (fourth order, step 5e-4). Elements below a thousandth of the largest are measured against that
/// thousandth.
template <class Loss>
double worst_gradient_error(View<double> input, View<const double> gradient, Loss loss) {
  std::vector<double> measured;
  std::vector<double> given;
  for (std::size_t i = 0; i < input.rows; ++i) {
    for (std::size_t j = 0; j < input.columns; ++j) {
      const double at = input(i, j);
      const auto loss_at = [&](double offset) {
        input(i, j) = at + offset;
        const double value = loss();
        input(i, j) = at;
        return value;
      };
      const double h = 5e-4;
      measured.push_back((8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h));
      given.push_back(gradient(i, j));
    }
  }
  double largest = 0.0;
  for (const double value : measured) largest = std::max(largest, std::abs(value));
  double worst = 0.0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double size = std::max({std::abs(measured[i]), std::abs(given[i]), 1e-3 * largest, 1e-12});
    const double error = std::abs(measured[i] - given[i]) / size;
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

}  // namespace attnlab
