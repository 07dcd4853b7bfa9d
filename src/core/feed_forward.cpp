#include "core/feed_forward.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/matmul.hpp"

namespace attnlab {
namespace {

Matrix sum_of(const Matrix& a, const Matrix& b) {
  if (a.shape() != b.shape()) {
    throw Error(ErrorKind::data,
                fmt::format("a residual sum of {} and {} needs equal shapes: the layer's output must "
                            "be as wide as its input",
                            shape_text(a), shape_text(b)));
  }
  Matrix sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] += b.data()[i];
  return sum;
}

std::size_t strongest_of(std::span<const double> coefficients) {
  std::size_t strongest = 0;
  for (std::size_t i = 1; i < coefficients.size(); ++i) {
    if (std::abs(coefficients[i]) > std::abs(coefficients[strongest])) strongest = i;
  }
  return strongest;
}

}  // namespace

Matrix linear(const Matrix& x, const Matrix& weight, const std::optional<Vector>& bias, WeightLayout layout) {
  Matrix y =
      matmul(x, weight, Transpose::no, layout == WeightLayout::out_in ? Transpose::yes : Transpose::no);
  if (!bias) return y;
  if (bias->size() != y.shape(1)) {
    throw Error(ErrorKind::data,
                fmt::format("bias: length {} where the output has width {}", bias->size(), y.shape(1)));
  }
  for (std::size_t row = 0; row < y.shape(0); ++row) {
    for (std::size_t c = 0; c < y.shape(1); ++c) y(row, c) += (*bias)(c);
  }
  return y;
}

Matrix feed_forward(const Matrix& x, const FeedForward& layer) {
  Matrix hidden = linear(x, layer.up, layer.up_bias);
  if (layer.gate) {
    const Matrix gate = activated(layer.activation, matmul(x, *layer.gate));
    if (gate.shape() != hidden.shape()) {
      throw Error(ErrorKind::data, fmt::format("gate {} and up {} need equal shapes", shape_text(*layer.gate),
                                               shape_text(layer.up)));
    }
    for (std::size_t i = 0; i < hidden.size(); ++i) hidden.data()[i] *= gate.data()[i];
  } else {
    hidden = activated(layer.activation, hidden);
  }
  return linear(hidden, layer.down, layer.down_bias);
}

MemoryReading memory_reading(const Matrix& x, const Matrix& keys, const Matrix& values,
                             const std::optional<Vector>& key_bias, Activation activation) {
  if (keys.shape(0) == 0 || keys.shape(0) != values.shape(0)) {
    throw Error(ErrorKind::data, fmt::format("keys {} and values {} need the same number of rows, at least 1",
                                             shape_text(keys), shape_text(values)));
  }
  MemoryReading reading;
  reading.coefficients = activated(activation, linear(x, keys, key_bias, WeightLayout::out_in));
  reading.output = matmul(reading.coefficients, values);
  for (std::size_t row = 0; row < x.shape(0); ++row) {
    reading.strongest.push_back(strongest_of(row_of(reading.coefficients, row)));
  }
  return reading;
}

Matrix pre_norm_block(const Matrix& x, const Block& block, const HeadsOptions& heads) {
  const Matrix normed = normalized(x, block.norm, block.attention_norm);
  const Matrix y = sum_of(x, multi_head_attention(normed, normed, block.attention, heads));
  return sum_of(y, feed_forward(normalized(y, block.norm, block.feed_forward_norm), block.feed_forward));
}

}  // namespace attnlab
