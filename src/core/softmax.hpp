// Softmax by rows, with the row maximum taken out before the exponential.
#pragma once

#include <span>

#include "core/tensor.hpp"

namespace attnlab {

/// Turns a row of scores into weights that sum to one, in place, and returns the natural logarithm of the sum
/// of the exponentials of the scores. A score of -inf is a hidden key and gets weight exactly 0; a row of
/// nothing else becomes zeros and returns -inf. A NaN among the others makes the weights of the whole row,
/// hidden ones apart, NaN.
double softmax_in_place(std::span<double> row);

/// The softmax of every row of [rows, columns].
Matrix softmax(const Matrix& scores);

}  // namespace attnlab
