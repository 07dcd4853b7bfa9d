// The one door to BLAS for the layers differentiated by hand.
#pragma once

#include <cstdint>

#include "core/backward/view.hpp"

namespace attnlab {

/// A factor of a product: a matrix, or its transpose.
template <class Real>
struct Factor {
  Factor(View<const Real> of) : matrix(of) {}
  Factor(View<Real> of) : matrix(of) {}
  Factor(View<const Real> of, bool is_transposed) : matrix(of), transposed(is_transposed) {}
  std::size_t rows() const { return transposed ? matrix.columns : matrix.rows; }
  std::size_t columns() const { return transposed ? matrix.rows : matrix.columns; }

  View<const Real> matrix;
  bool transposed = false;
};

template <class Real>
Factor<std::remove_const_t<Real>> transposed(View<Real> matrix) {
  return {matrix, true};
}

/// result = scale * a * b, for float and double; throws Error(fault) when the shapes do not fit. Runs on the
/// calling thread alone, so that the same product has the same bits however many threads call it.
template <class Real>
void multiply(std::type_identity_t<Factor<Real>> a, std::type_identity_t<Factor<Real>> b, View<Real> result,
              std::type_identity_t<Real> scale = 1);

/// result += scale * a * b; otherwise as multiply.
template <class Real>
void multiply_add(std::type_identity_t<Factor<Real>> a, std::type_identity_t<Factor<Real>> b,
                  View<Real> result, std::type_identity_t<Real> scale = 1);

/// Multiply-adds of all products that this thread has done so far: rows x inner x columns each.
std::uint64_t multiply_adds_done();

}  // namespace attnlab
