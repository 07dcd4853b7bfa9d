#include "core/matmul.hpp"

#include <fmt/format.h>
#include <xtensor-blas/xblas.hpp>

#include "core/blas.hpp"
#include "core/error.hpp"

namespace attnlab {

Matrix matmul(const Matrix& a, const Matrix& b, Transpose transpose_a, Transpose transpose_b) {
  const bool turn_a = transpose_a == Transpose::yes;
  const bool turn_b = transpose_b == Transpose::yes;
  const std::size_t rows = a.shape(turn_a ? 1 : 0);
  const std::size_t inner = a.shape(turn_a ? 0 : 1);
  const std::size_t columns = b.shape(turn_b ? 0 : 1);
  if (b.shape(turn_b ? 1 : 0) != inner) {
    throw Error(ErrorKind::data,
                fmt::format("a product of {}{} and {}{} needs equal inner sizes", shape_text(a),
                            turn_a ? " transposed" : "", shape_text(b), turn_b ? " transposed" : ""));
  }
  Matrix product = zeros(rows, columns);
  // BLAS refuses leading dimensions of zero.
  if (rows == 0 || inner == 0 || columns == 0) return product;
  require_blas_memory();
  xt::blas::gemm(a, b, product, turn_a, turn_b);
  return product;
}

Matrix transposed(const Matrix& a) {
  Matrix turned = Matrix::from_shape({a.shape(1), a.shape(0)});
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < a.shape(1); ++j) turned(j, i) = a(i, j);
  }
  return turned;
}

}  // namespace attnlab
