// Singular values: how much of a matrix a few directions hold.
#pragma once

#include "core/tensor.hpp"

namespace attnlab {

/// The singular values of a matrix [rows, columns], largest first: [min(rows, columns)]. Accurate to about
/// 1e-15 of the largest. Throws Error(data) for an entry that is not finite.
Vector singular_values(const Matrix& a);

}  // namespace attnlab
