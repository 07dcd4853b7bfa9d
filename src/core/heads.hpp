// Several heads side by side: splitting and joining, shared key heads, and the projections around them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "core/attention.hpp"
#include "core/positions.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// The columns of one head when `num_heads` lie side by side in `columns`. Throws Error(data) when they do
/// not divide.
std::size_t head_width(std::size_t columns, std::size_t num_heads);

/// The columns of head `head` when `packed` [rows, num_heads * width] holds the heads side by side: [rows,
/// width]. Throws Error(data) when the columns do not divide by the number of heads.
Matrix head_columns(const Matrix& packed, std::size_t head, std::size_t num_heads);

/// Heads [rows, width] side by side along the columns. Throws Error(data) when their rows differ.
Matrix concatenated(const std::vector<Matrix>& heads);

/// The key head that query head `head` reads: head / (num_heads / num_kv_heads), rounded down, so neighbours
/// share. One key head is multi-query attention (Shazeer 2019), several are grouped-query (Ainslie et al.
/// 2023). Throws Error(data) when either number is zero or the first does not divide by the second.
std::size_t kv_head_of(std::size_t head, std::size_t num_heads, std::size_t num_kv_heads);

/// How a fused projection lays out its columns.
enum class QkvLayout {
  concatenated,  ///< all q, then all k, then all v: GPT-2, Phi-3
  per_head,      ///< q, k and v of each head in turn: GPT-NeoX, BLOOM, Falcon
};

struct Qkv {
  Matrix query, key, value;  ///< [rows, width], heads side by side
};

/// The three parts of `fused` [rows, 3 * width]. Throws Error(data) when the columns do not divide.
Qkv split_qkv(const Matrix& fused, std::size_t num_heads, QkvLayout layout);

/// Root-mean-square norm of every head's query and key before the scores (Henry et al. 2020; Qwen 3, Gemma
/// 3).
struct QkNorm {
  double eps = 1e-5;
  std::optional<Vector> gain;  ///< [head width], shared by the heads and by query and key
};

struct HeadsOptions {
  std::size_t num_heads = 1;
  std::size_t num_kv_heads = 1;
  std::optional<QkNorm> qk_norm;        ///< before the rotation
  std::optional<Rope> rope;             ///< before the dot products
  std::vector<double> query_positions;  ///< [queries], for rope
  std::vector<double> key_positions;    ///< [keys], for rope
  /// What else happens in query head `head`; scale, mask, bias. Nothing unless given.
  std::function<AttentionOptions(std::size_t head)> options_of;
  /// Set to compute each head by blocks of this many queries and keys; weights are then not kept.
  std::optional<BlockSizes> blocks;
};

struct HeadsResult {
  std::vector<Attention> heads;  ///< one a query head
  Matrix output;                 ///< [queries, num_heads * value width], the heads' outputs side by side
};

/// Attention of query [queries, num_heads * d], key [keys, num_kv_heads * d] and value [keys, num_kv_heads *
/// dv], each head by itself. Throws Error(data) when widths do not divide by the heads, and as attention.
/// Source: Vaswani et al. 2017, section 3.2.2.
HeadsResult attention_of_heads(const Matrix& query, const Matrix& key, const Matrix& value,
                               const HeadsOptions& options);

/// Weights [in, out] of an attention layer.
struct AttentionWeights {
  Matrix query, key, value, output;
};

/// The whole layer: projections of `x` [queries, d_model] and `context` [keys, d_context], heads, and the
/// output projection, [queries, d_model]. Self-attention when `context` is `x`. Throws as attention_of_heads.
Matrix multi_head_attention(const Matrix& x, const Matrix& context, const AttentionWeights& weights,
                            const HeadsOptions& options);

}  // namespace attnlab
