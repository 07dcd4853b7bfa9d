// Options that several operations share: who may see whom, heads, rotary embedding and its scaling.
#pragma once

#include <optional>

#include "core/heads.hpp"
#include "core/positions.hpp"
#include "operations/operation.hpp"

namespace attnlab {

/// A rotary embedding as options give it.
struct RotaryParams {
  RopeStyle style = RopeStyle::interleaved;
  double base = 10000;
  std::optional<std::size_t> width;  ///< the whole width of the vectors unless given
  RopeScaling scaling;
  const char* base_option = "base";  ///< what messages call it
  const char* width_option = "rotary-dim";

  /// For vectors of a width; `positions` give the current length of dynamic scaling where none was given.
  /// Throws Error(usage) where the base is 0 or the given width odd.
  Rope rope(std::size_t vector_width, const std::vector<double>& positions) const;
};

/// Declares --style, --base, --rotary-dim and the scaling.
void declare_rotary(OptionSet& options, RotaryParams& rotary);
/// Declares --PREFIXscaling and its settings.
void declare_scaling(OptionSet& options, RopeScaling& scaling, const std::string& prefix = "");

/// What may be asked of attention.
struct AttentionParams {
  std::size_t num_heads = 1;
  std::optional<std::size_t> num_kv_heads;
  bool causal = false;
  CausalAlign causal_align = CausalAlign::bottom_right;
  std::optional<std::size_t> window;
  std::optional<std::size_t> window_left;
  std::optional<std::size_t> window_right;
  bool strided = false;
  std::size_t local = 1;
  std::optional<std::size_t> stride;
  bool hide_polarity = false;  ///< 1 in the mask means hidden
  std::optional<double> scale;
  std::optional<double> alibi_slope;
  bool alibi = false;
  std::optional<RopeStyle> rope;
  RotaryParams rotary;  // its style is not used
  bool qk_norm = false;
  double eps = 1e-5;
  double dropout = 0;
  bool flash = false;
  BlockSizes blocks;
  bool float32 = false;  ///< by the fast kernels
  std::size_t threads = 1;
};

/// The arrays that go with those options: mask, key-padding, bias, q-pos, k-pos, dropout-keep and gain.
std::vector<InputInfo> attention_inputs();
void declare_attention(OptionSet& options, AttentionParams& params);

/// Attention by the float32 kernels, heads side by side. Throws Error(usage) for what they do not offer:
/// anything but heads, causal, windows, scale and blocks of keys.
HeadsResult fast_attention(const AttentionParams& params, const Inputs& inputs);

/// Everything put together for `num_queries` queries and for `num_keys` keys in `key_columns` columns, all
/// heads side by side. Throws Error(usage) for options that contradict each other and Error(data) for arrays
/// that do not fit.
HeadsOptions heads_options(const AttentionParams& params, const Inputs& inputs, std::size_t num_queries,
                           std::size_t num_keys, std::size_t key_columns);

/// Adds weights, lse and scores of the heads: one head gives matrices, several give one more axis in front.
void add_heads(Results& results, const HeadsResult& heads, bool has_weights);

}  // namespace attnlab
