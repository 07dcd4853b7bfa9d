#include "core/heads.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/norm.hpp"

namespace attnlab {
namespace {

// Columns first .. first + width - 1.
Matrix columns_of(const Matrix& packed, std::size_t first, std::size_t width) {
  Matrix part = Matrix::from_shape({packed.shape(0), width});
  for (std::size_t row = 0; row < packed.shape(0); ++row) {
    const std::span<const double> from = row_of(packed, row).subspan(first, width);
    std::copy(from.begin(), from.end(), row_of(part, row).begin());
  }
  return part;
}

std::size_t width_of_part(std::size_t columns, std::size_t num_parts, const char* parts) {
  if (num_parts == 0) throw Error(ErrorKind::data, fmt::format("no {} at all: at least 1 is needed", parts));
  if (columns % num_parts != 0) {
    throw Error(ErrorKind::data,
                fmt::format("{} columns do not divide into {} {}: the width must be a multiple", columns,
                            num_parts, parts));
  }
  return columns / num_parts;
}

void prepare(Matrix& head, const std::vector<double>& positions, const HeadsOptions& options) {
  if (options.qk_norm) {
    NormOptions norm;
    norm.eps = options.qk_norm->eps;
    norm.gain = options.qk_norm->gain;
    head = normalized(head, NormKind::rms, norm);
  }
  if (options.rope) head = rotated(head, positions, *options.rope);
}

}  // namespace

std::size_t head_width(std::size_t columns, std::size_t num_heads) {
  return width_of_part(columns, num_heads, "heads");
}

Matrix head_columns(const Matrix& packed, std::size_t head, std::size_t num_heads) {
  const std::size_t width = head_width(packed.shape(1), num_heads);
  return columns_of(packed, head * width, width);
}

Matrix concatenated(const std::vector<Matrix>& heads) {
  std::size_t width = 0;
  for (const Matrix& head : heads) {
    if (head.shape(0) != heads[0].shape(0)) {
      throw Error(ErrorKind::data, fmt::format("heads {} and {} side by side need equally many rows",
                                               shape_text(heads[0]), shape_text(head)));
    }
    width += head.shape(1);
  }
  Matrix packed = Matrix::from_shape({heads.empty() ? 0 : heads[0].shape(0), width});
  for (std::size_t row = 0; row < packed.shape(0); ++row) {
    auto to = row_of(packed, row).begin();
    for (const Matrix& head : heads) {
      const std::span<const double> from = row_of(head, row);
      to = std::copy(from.begin(), from.end(), to);
    }
  }
  return packed;
}

std::size_t kv_head_of(std::size_t head, std::size_t num_heads, std::size_t num_kv_heads) {
  if (num_kv_heads == 0 || num_heads == 0) {
    throw Error(ErrorKind::data, "the number of heads must be positive: at least 1");
  }
  if (num_heads % num_kv_heads != 0) {
    throw Error(ErrorKind::data,
                fmt::format("{} query heads do not divide evenly among {} key heads: give a multiple",
                            num_heads, num_kv_heads));
  }
  return head / (num_heads / num_kv_heads);
}

Qkv split_qkv(const Matrix& fused, std::size_t num_heads, QkvLayout layout) {
  const std::size_t width = width_of_part(fused.shape(1), 3, "parts q, k and v");
  if (layout == QkvLayout::concatenated) {
    width_of_part(fused.shape(1), num_heads == 0 ? 0 : 3 * num_heads, "parts q, k and v of the heads");
    return {columns_of(fused, 0, width), columns_of(fused, width, width),
            columns_of(fused, 2 * width, width)};
  }
  const std::size_t head_dim = width_of_part(fused.shape(1), 3 * num_heads, "parts q, k and v of the heads");
  std::vector<Matrix> parts[3];
  for (std::size_t head = 0; head < num_heads; ++head) {
    for (std::size_t part = 0; part < 3; ++part) {
      parts[part].push_back(columns_of(fused, (3 * head + part) * head_dim, head_dim));
    }
  }
  return {concatenated(parts[0]), concatenated(parts[1]), concatenated(parts[2])};
}

HeadsResult attention_of_heads(const Matrix& query, const Matrix& key, const Matrix& value,
                               const HeadsOptions& options) {
  HeadsResult result;
  std::vector<Matrix> outputs;
  for (std::size_t head = 0; head < std::max<std::size_t>(options.num_heads, 1); ++head) {
    const std::size_t kv_head = kv_head_of(head, options.num_heads, options.num_kv_heads);
    Matrix head_query = head_columns(query, head, options.num_heads);
    Matrix head_key = head_columns(key, kv_head, options.num_kv_heads);
    const Matrix head_value = head_columns(value, kv_head, options.num_kv_heads);
    prepare(head_query, options.query_positions, options);
    prepare(head_key, options.key_positions, options);
    const AttentionOptions own = options.options_of ? options.options_of(head) : AttentionOptions{};
    result.heads.push_back(options.blocks
                               ? blocked_attention(head_query, head_key, head_value, *options.blocks, own)
                               : attention(head_query, head_key, head_value, own));
    outputs.push_back(result.heads.back().output);
  }
  result.output = concatenated(outputs);
  return result;
}

Matrix multi_head_attention(const Matrix& x, const Matrix& context, const AttentionWeights& weights,
                            const HeadsOptions& options) {
  const HeadsResult heads = attention_of_heads(matmul(x, weights.query), matmul(context, weights.key),
                                               matmul(context, weights.value), options);
  return matmul(heads.output, weights.output);
}

}  // namespace attnlab
