// Matrix products in double, by OpenBLAS.
#pragma once

#include "core/tensor.hpp"

namespace attnlab {

/// Whether an operand takes part as it is or transposed.
enum class Transpose { no, yes };

/// The product of `a` [rows, inner] and `b` [inner, columns], each read transposed where asked: [rows,
/// columns]. Throws Error(data) when the inner sizes differ. An inner size of zero gives zeros.
Matrix matmul(const Matrix& a, const Matrix& b, Transpose transpose_a = Transpose::no,
              Transpose transpose_b = Transpose::no);

/// a^T, [columns, rows].
Matrix transposed(const Matrix& a);

}  // namespace attnlab
