// Numbers and losses for tests of gradients.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/backward/gradient_check.hpp"
#include "core/backward/view.hpp"

namespace attnlab {

/// Numbers without pattern in [-1, 1], the same on every machine and free of the code under test.
class TestNumbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1.0;
  }
  void fill(View<double> matrix) {
    for (std::size_t i = 0; i < matrix.rows; ++i)
      for (std::size_t j = 0; j < matrix.columns; ++j) matrix(i, j) = next();
  }

 private:
  std::uint64_t state_ = 466;
};

/// Sum of a_ij b_ij: a loss whose gradient with respect to a is b.
inline double inner_product(View<const double> a, View<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) sum += a(i, j) * b(i, j);
  return sum;
}

}  // namespace attnlab
