#include "support/closeness.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace attnlab::testing {

std::string difference(std::span<const double> got, std::span<const double> want, double bound) {
  if (got.size() != want.size())
    return fmt::format("{} numbers where {} were expected", got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
    if (same || std::abs(got[i] - want[i]) <= bound * std::max(1.0, std::abs(want[i]))) continue;
    return fmt::format("element {}: {} where {} was expected", i, got[i], want[i]);
  }
  return {};
}

std::string difference(const Matrix& got, const Matrix& want, double bound) {
  if (got.shape() != want.shape()) {
    return fmt::format("shape {} where {} was expected", shape_text(got), shape_text(want));
  }
  return difference(elements(got), elements(want), bound);
}

std::string difference(const Vector& got, const Vector& want, double bound) {
  return difference(elements(got), elements(want), bound);
}

Matrix scattered(std::size_t rows, std::size_t columns, unsigned seed) {
  Matrix m = zeros(rows, columns);
  std::uint64_t state = 2 * std::uint64_t{seed} + 1;
  for (double& value : m) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<double>(state >> 11) * 0x1p-52 - 1;
  }
  return m;
}

}  // namespace attnlab::testing
