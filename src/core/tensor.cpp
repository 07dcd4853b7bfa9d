#include "core/tensor.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/memory.hpp"

namespace attnlab {

Vector zeros(std::size_t length) {
  require_memory({length}, "a vector");
  return xt::zeros<double>({length});
}

Matrix zeros(std::size_t rows, std::size_t columns) {
  require_memory({rows, columns}, "a matrix");
  return xt::zeros<double>({rows, columns});
}

Array to_array(const Vector& a) { return {{a.size()}, {a.begin(), a.end()}}; }
Array to_array(const Matrix& a) { return {{a.shape(0), a.shape(1)}, {a.begin(), a.end()}}; }

Vector to_vector(const Array& a, const std::string& what) {
  if (a.shape.size() != 1) {
    throw Error(ErrorKind::data,
                fmt::format("{}: shape {} where a vector was expected", what, shape_text(a.shape)));
  }
  Vector v = Vector::from_shape({a.shape[0]});
  std::copy(a.values.begin(), a.values.end(), v.begin());
  return v;
}

Matrix to_matrix(const Array& a, const std::string& what) {
  if (a.shape.size() != 2) {
    throw Error(ErrorKind::data,
                fmt::format("{}: shape {} where a matrix was expected", what, shape_text(a.shape)));
  }
  Matrix m = Matrix::from_shape({a.shape[0], a.shape[1]});
  std::copy(a.values.begin(), a.values.end(), m.begin());
  return m;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }
std::string shape_text(const Vector& a) { return fmt::format("[{}]", a.size()); }
std::string shape_text(const Matrix& a) { return fmt::format("[{}, {}]", a.shape(0), a.shape(1)); }

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  // A zero anywhere makes the product zero, however large the other sizes are.
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) return 0;
  for (const std::size_t size : shape) {
    if (size > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / count) {
      throw Error(ErrorKind::data,
                  fmt::format("shape {} holds more elements than 63 bits can count", shape_text(shape)));
    }
    count *= size;
  }
  return count;
}

}  // namespace attnlab
