#include "operations/arrangement.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "operations/closeness.hpp"

namespace attnlab {
namespace {

Shape without_ones(const Shape& shape) {
  Shape kept;
  for (const std::size_t size : shape) {
    if (size != 1) kept.push_back(size);
  }
  return kept;
}

// [heads, rows, width] as [rows, heads * width].
std::vector<double> heads_side_by_side(const std::vector<double>& values, const Shape& shape) {
  std::vector<double> joined;
  for (std::size_t row = 0; row < shape[1]; ++row) {
    for (std::size_t head = 0; head < shape[0]; ++head) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>((head * shape[1] + row) * shape[2]);
      joined.insert(joined.end(), begin, begin + static_cast<std::ptrdiff_t>(shape[2]));
    }
  }
  return joined;
}

// [rows, columns] as [columns, rows].
std::vector<double> turned(const std::vector<double>& values, const Shape& shape) {
  std::vector<double> result;
  for (std::size_t column = 0; column < shape[1]; ++column) {
    for (std::size_t row = 0; row < shape[0]; ++row) result.push_back(values[row * shape[1] + column]);
  }
  return result;
}

// Infinite where a number is none.
double away_from(const std::vector<double>& values, const Array& expected) {
  const double distance = rms_distance(values, expected.values);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

}  // namespace

Arrangement arranged_like(const Array& expected, const Array& given) {
  const Shape shape = without_ones(given.shape);
  const Shape wanted = without_ones(expected.shape);
  Arrangement as_it_stands{{expected.shape, given.values}, ""};
  if (shape == wanted || wanted.size() != 2) return as_it_stands;
  Arrangement other;
  if (shape.size() == 3 && shape[1] == wanted[0] && shape[0] * shape[2] == wanted[1]) {
    other.array = {expected.shape, heads_side_by_side(given.values, shape)};
    other.note = fmt::format("{}, read as heads of {} positions", shape_text(given.shape), shape[1]);
  } else if (shape.size() == 2 && shape[0] == wanted[1]) {
    other.array = {expected.shape, turned(given.values, shape)};
    other.note = fmt::format("{}, read transposed", shape_text(given.shape));
  } else {
    return as_it_stands;
  }
  return away_from(other.array.values, expected) < away_from(given.values, expected) ? other : as_it_stands;
}

}  // namespace attnlab
