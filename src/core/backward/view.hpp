// Windows on row-major matrices. The layers of this folder read and write through them, so that the columns
// of one head, the gradient of one weight or a whole array are all the same thing to a formula.
#pragma once

#include <cstddef>
#include <deque>
#include <type_traits>
#include <vector>

namespace attnlab {

/// A window on a row-major matrix that somebody else owns; a vector is a matrix of one row.
template <class Real>
struct View {
  Real* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;  ///< elements from one row to the next

  Real* row(std::size_t index) const { return data + index * stride; }
  Real& operator()(std::size_t row_index, std::size_t column) const { return row(row_index)[column]; }
  operator View<const Real>() const requires(!std::is_const_v<Real>) { return {data, rows, columns, stride}; }
};

/// A window to read through. It takes no part in template deduction: the results of a layer decide its type.
template <class Real>
using ConstView = View<const std::type_identity_t<Real>>;

/// `count` columns from `first` on: one head of a matrix that holds all heads side by side.
template <class Real>
View<Real> columns_of(View<Real> matrix, std::size_t first, std::size_t count) {
  return {matrix.data + first, matrix.rows, count, matrix.stride};
}

/// The first `count` rows.
template <class Real>
View<Real> first_rows(View<Real> matrix, std::size_t count) {
  return {matrix.data, count, matrix.columns, matrix.stride};
}

/// Sets every element.
template <class Real>
void fill(View<Real> matrix, std::type_identity_t<Real> value) {
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j) matrix(i, j) = value;
}

/// Copies element by element; both have the same shape.
template <class Real>
void copy(ConstView<Real> from, View<Real> to) {
  for (std::size_t i = 0; i < to.rows; ++i)
    for (std::size_t j = 0; j < to.columns; ++j) to(i, j) = from(i, j);
}

/// to += from; both have the same shape.
template <class Real>
void add(ConstView<Real> from, View<Real> to) {
  for (std::size_t i = 0; i < to.rows; ++i)
    for (std::size_t j = 0; j < to.columns; ++j) to(i, j) += from(i, j);
}

/// Owns the memory behind views; they stay valid while it lives, also after it is moved.
template <class Real>
class Arena {
 public:
  /// A new [rows, columns] matrix of zeros.
  View<Real> take(std::size_t rows, std::size_t columns) {
    blocks_.emplace_back(rows * columns);
    return {blocks_.back().data(), rows, columns, columns};
  }

 private:
  std::deque<std::vector<Real>> blocks_;
};

}  // namespace attnlab
