// The arrays that everything computes on: xtensor containers of fixed rank, and one of any rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <xtensor/xtensor.hpp>

namespace attnlab {

using Vector = xt::xtensor<double, 1>;
using Matrix = xt::xtensor<double, 2>;

using Shape = std::vector<std::size_t>;

/// An array of any rank, row-major: what files hold and reports carry.
struct Array {
  Shape shape;                 ///< empty for a scalar
  std::vector<double> values;  ///< as many as the product of shape
};

/// [length] zeros. Throws Error(usage) when they do not fit the machine's memory, as all makers of arrays do.
Vector zeros(std::size_t length);
/// [rows, columns] zeros.
Matrix zeros(std::size_t rows, std::size_t columns);

/// The elements of a container in row-major order; valid while it lives and keeps its size.
inline std::span<const double> elements(const Vector& a) { return {a.data(), a.size()}; }
inline std::span<const double> elements(const Matrix& a) { return {a.data(), a.size()}; }
inline std::span<double> elements(Vector& a) { return {a.data(), a.size()}; }
inline std::span<double> elements(Matrix& a) { return {a.data(), a.size()}; }
/// Row `row` of a matrix as a span over its memory.
inline std::span<const double> row_of(const Matrix& a, std::size_t row) {
  return {a.data() + row * a.shape(1), a.shape(1)};
}
inline std::span<double> row_of(Matrix& a, std::size_t row) {
  return {a.data() + row * a.shape(1), a.shape(1)};
}

/// Copies into an array of any rank.
Array to_array(const Vector& a);
Array to_array(const Matrix& a);
/// Copies of an array of the right rank; throws Error(data) naming `what` and its shape for any other rank.
Vector to_vector(const Array& a, const std::string& what);
Matrix to_matrix(const Array& a, const std::string& what);

/// "[3, 4]"; "[]" for a scalar.
std::string shape_text(const Shape& shape);
std::string shape_text(const Vector& a);
std::string shape_text(const Matrix& a);

/// The number of elements of a shape; throws Error(data) when it does not fit 63 bits.
std::size_t element_count(const Shape& shape);

}  // namespace attnlab
