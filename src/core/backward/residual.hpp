// A stack of transformer blocks, with the norms before the sub-layers or after the additions: what reaches
// the first and the last block's weights going backwards depends on that choice alone. Xiong et al. 2020, "On
// Layer Normalization in the Transformer Architecture".
#pragma once

#include <vector>

#include "core/backward/layers.hpp"
#include "core/backward/multi_head.hpp"

namespace attnlab {

enum class NormPlacement {
  pre,   ///< x + sublayer(norm(x)), and one norm after the last block
  post,  ///< norm(x + sublayer(x))
};

/// The architecture of a stack of blocks.
struct StackShape {
  std::size_t num_layers = 1;
  std::size_t seq_len = 1;
  std::size_t d_model = 1;
  std::size_t d_hidden = 1;  ///< width inside the feed-forward layer
  std::size_t num_heads = 1;
  NormPlacement placement = NormPlacement::pre;
  ActivationKind activation = ActivationKind::relu;
  bool causal = false;
};

/// The weights of one block; also their gradients. Vectors are [1, length].
template <class Real>
struct BlockWeights {
  MultiHeadWeights<Real> attention;
  View<Real> attention_gain, attention_bias;        ///< norm of the attention sub-layer
  View<Real> expand, expand_bias;                   ///< [d_model, d_hidden]
  View<Real> contract, contract_bias;               ///< [d_hidden, d_model]
  View<Real> feed_forward_gain, feed_forward_bias;  ///< norm of the feed-forward sub-layer
};

/// All weights of a stack, or their gradients, in one stretch of memory.
template <class Real>
class StackWeights {
 public:
  /// Gains are 1, all else 0. Throws Error(usage) when the heads do not divide d_model or a size is 0.
  explicit StackWeights(const StackShape& shape);
  StackWeights(const StackWeights&) = delete;
  StackWeights(StackWeights&&) noexcept = default;

  std::vector<BlockWeights<Real>> blocks;
  View<Real> final_gain, final_bias;  ///< of the norm after the last block; used with pre-norm only
  std::vector<Real> values;           ///< every weight
};

/// Forward and backward through the stack for one sequence.
template <class Real>
class ResidualStack {
 public:
  explicit ResidualStack(const StackShape& shape);

  /// The output [seq_len, d_model] for an input of that shape; valid until the next call.
  View<const Real> forward(const StackWeights<Real>& weights, View<const Real> input);
  /// Given the gradient of the last forward's output, adds to `gradient` and returns the input's gradient,
  /// valid until the next call.
  View<const Real> backward(const StackWeights<Real>& weights, View<const Real> d_output,
                            StackWeights<Real>& gradient);

 private:
  /// One step of the residual stream: around the attention, or around the feed-forward layer.
  struct Step {
    View<Real> input;       // the stream before
    View<Real> normalised;  // pre: what the sub-layer reads
    View<Real> change;      // what the sub-layer returns
    View<Real> sum;         // post: what the norm reads
    NormCache<Real> norm;
  };
  struct Block {
    Step attention_step;
    MultiHeadCache<Real> attention;
    Step feed_forward_step;
    View<Real> expanded, activated;
  };

  Step make_step();
  template <class Sublayer>
  void step_forward(const Step& step, View<Real> gain, View<Real> bias, View<Real> output, Sublayer sublayer);
  template <class Sublayer>
  void step_backward(const Step& step, View<Real> gain, View<Real> d_gain, View<Real> d_bias,
                     Sublayer sublayer);
  void feed_forward(const BlockWeights<Real>& weights, const Block& block, View<const Real> input,
                    View<Real> output);
  void feed_forward_backward(const BlockWeights<Real>& weights, const Block& block, View<const Real> input,
                             View<const Real> d_output, View<Real> d_input,
                             const BlockWeights<Real>& gradient);

  StackShape shape_;
  MultiHeadRule<Real> rule_;
  Arena<Real> arena_;
  std::vector<Block> blocks_;
  NormCache<Real> final_norm_;
  View<Real> last_, output_;        // the stream after the last block, and after the final norm
  View<Real> d_stream_, d_inside_;  // gradients of the stream, and within the step under way
  View<Real> d_expanded_, d_activated_;
};

}  // namespace attnlab
