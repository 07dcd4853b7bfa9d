// An attention-only transformer, small enough to train before a class: embedding, layers of multi-head
// attention around a residual stream, a final norm, and the unembedding. Forward and backward pass for one
// sequence. Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", for the architecture.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/backward/layers.hpp"
#include "core/backward/multi_head.hpp"

namespace attnlab {

/// How the model knows the order of its tokens.
enum class PositionKind {
  none,         ///< by the causal mask alone
  shortformer,  ///< learned vectors added to the inputs of queries and keys only (Press, Smith and Lewis
                ///< 2021)
  learned,      ///< learned vectors added to the token embeddings
  rope,         ///< queries and keys rotated
  alibi,        ///< scores lowered with the distance
};

/// The architecture.
struct ModelShape {
  std::size_t vocabulary = 64;
  std::size_t seq_len = 64;
  std::size_t d_model = 64;
  std::size_t num_layers = 2;
  std::size_t num_heads = 4;
  PositionKind positions = PositionKind::shortformer;
  bool causal = true;      ///< false lets every position see the whole sequence
  bool layer_norm = true;  ///< false leaves out all norms: for weights set by hand

  /// Whether there is a table of position vectors.
  bool has_position_table() const {
    return positions == PositionKind::shortformer || positions == PositionKind::learned;
  }
};

/// Throws Error(usage) when a size is 0 or too large to train here, the heads do not divide d_model, or
/// rotation meets an odd head width.
void check_shape(const ModelShape& shape);

/// The weights of one layer; also their gradients.
template <class Real>
struct LayerWeights {
  View<Real> gain, bias;  ///< [1, d_model], of the norm before the attention
  MultiHeadWeights<Real> attention;
};

/// One array of a model, by its name in a file.
template <class Real>
struct NamedView {
  std::string name;
  View<Real> view;
};

/// All weights of a model, or their gradients, in one stretch of memory.
template <class Real>
class ModelWeights {
 public:
  /// Gains are 1, all else is 0. Throws as check_shape.
  explicit ModelWeights(const ModelShape& shape);
  ModelWeights(const ModelWeights&) = delete;
  ModelWeights& operator=(const ModelWeights&) = delete;
  ModelWeights(ModelWeights&&) noexcept = default;
  ModelWeights& operator=(ModelWeights&&) noexcept = default;

  /// Every array with a name such as "layers.1.query", in the order of memory; an absent position table is
  /// left out.
  std::vector<NamedView<Real>> named();
  std::vector<NamedView<const Real>> named() const;

  View<Real> token_embedding;     ///< [vocabulary, d_model]
  View<Real> position_embedding;  ///< [seq_len, d_model], or empty
  std::vector<LayerWeights<Real>> layers;
  View<Real> final_gain, final_bias;  ///< [1, d_model]
  View<Real> unembedding;             ///< [d_model, vocabulary]
  std::vector<Real> values;           ///< all of the above

 private:
  ModelShape shape_;
};

/// silenced[layer][head]: heads whose output is replaced by zeros. Empty: none.
using Ablation = std::vector<std::vector<bool>>;

/// Forward and backward pass of one sequence; keeps what the backward pass and an observer want to see.
template <class Real>
class AttentionOnlyModel {
 public:
  /// Throws as check_shape, and Error(usage) when the ablation is not empty and has not a flag for every
  /// head.
  explicit AttentionOnlyModel(const ModelShape& shape, const Ablation& ablation = {});

  /// Runs one sequence of seq_len tokens, each below the vocabulary, and keeps everything.
  void forward(const ModelWeights<Real>& weights, std::span<const int> tokens);
  /// Adds to `gradient` that of scale * (sum of losses()) of the last forward.
  void backward(const ModelWeights<Real>& weights, Real scale, ModelWeights<Real>& gradient);

  /// [seq_len] losses in nats: at t that of predicting token t + 1 from tokens 0 to t; 0 at the last.
  std::span<const double> losses() const { return losses_; }
  /// [seq_len, vocabulary] predicted probabilities of the next token.
  View<const Real> probabilities() const { return probabilities_; }
  /// [seq_len, seq_len] attention weights of one head.
  View<const Real> head_weights(std::size_t layer, std::size_t head) const {
    return layers_[layer].attention.head_weights(head);
  }

 private:
  struct Layer {
    View<Real> input;       // the residual stream before the layer
    View<Real> normalised;  // what values see
    View<Real>
        query_key_input;  // what queries and keys see: positions added for shortformer, else the same memory
    NormCache<Real> norm;
    MultiHeadRule<Real> rule;
    MultiHeadCache<Real> attention;
  };

  void normalise(View<Real> gain, View<Real> bias, NormCache<Real> cache, View<Real> input,
                 View<Real> output);
  void normalise_backward(NormCache<Real> cache, View<Real> gain, View<Real> d_output, View<Real> d_input,
                          View<Real> d_gain, View<Real> d_bias);

  ModelShape shape_;
  Arena<Real> arena_;
  View<Real> rope_cosine_, rope_sine_;
  std::vector<Layer> layers_;
  NormCache<Real> final_norm_;
  View<Real> last_, final_,
      change_;  // the stream after all layers, normalised, and what one layer adds to it
  View<Real> probabilities_;
  std::vector<int> tokens_, targets_;
  std::vector<double> losses_;
  View<Real> d_stream_, d_normalised_, d_query_key_input_, d_logits_;
};

}  // namespace attnlab
