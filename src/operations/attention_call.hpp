// Where an attention can go wrong, stage by stage, so that two mistakes of different stages combine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "operations/attention_parameters.hpp"
#include "operations/mistake.hpp"

namespace attnlab {

/// A matrix that copies share until one of them changes it.
class SharedMatrix {
 public:
  SharedMatrix() = default;
  SharedMatrix(Matrix matrix) : matrix_(std::make_shared<Matrix>(std::move(matrix))) {}
  operator const Matrix&() const { return *matrix_; }
  std::size_t shape(std::size_t axis) const { return matrix_->shape(axis); }
  const auto& shape() const { return matrix_->shape(); }
  Matrix& own() {
    if (matrix_.use_count() > 1) matrix_ = std::make_shared<Matrix>(*matrix_);
    return *matrix_;
  }

 private:
  std::shared_ptr<Matrix> matrix_;
};

/// An attention as an operation would compute it.
struct AttentionCall {
  AttentionParams params;
  Inputs inputs;                   ///< mask, bias and what else goes with the parameters
  SharedMatrix query, key, value;  ///< heads side by side

  std::size_t num_kv_heads() const { return params.num_kv_heads.value_or(params.num_heads); }
  std::size_t key_width() const { return key.shape(1) / num_kv_heads(); }
  double scale() const { return params.scale.value_or(default_scale(key_width())); }
  HeadsOptions options() const {
    return heads_options(params, inputs, query.shape(0), key.shape(0), key.shape(1));
  }
};

/// One head between scores and output.
struct HeadWeights {
  const AttentionCall& call;
  Matrix scores;                ///< [queries, keys], scaled and biased, nothing hidden
  Mask visible;                 ///< [queries, keys]
  Matrix weights;               ///< [queries, keys], the right ones until a mistake changes them
  bool touches_hidden = false;  ///< multiply hidden values by their weight of 0, which turns NaN into NaN
};

/// The stages of a mistake; each may be empty. The first two are false where it cannot be made.
struct AttentionMistake {
  std::function<bool(AttentionCall&)> call = {};                   ///< changes options and arrays
  std::function<bool(AttentionCall&, HeadsOptions&)> heads = {};   ///< what the heads are given
  std::function<void(HeadWeights&)> weights = {};                  ///< after the softmax
  std::function<void(const AttentionCall&, Matrix&)> output = {};  ///< the heads' outputs side by side
  bool mixes_rows = false;  ///< `weights` of a query depend on other queries
};

/// The results of an operation that is or contains an attention, with `trial.attention` committed. Throws
/// Error(data) where one of them cannot be made.
Results run_attention(const Trial& trial);

/// Some rows of one head, or of all side by side: enough to see that a mistake does not give a caller's
/// numbers.
struct Glimpse {
  std::optional<std::size_t> head = {};
  std::vector<std::size_t> rows = {};
};

/// Scores, weights, output and lse of a glimpse; the output alone of all heads.
struct Glimpsed {
  Attention part;             ///< its rows alone
  std::size_t head = 0;       ///< where the head lies among those that the mistakes leave
  std::size_t num_heads = 1;  ///< that they leave
};

/// Those rows of `call`, with the mistakes committed but for the last stage: what that does to
/// the outputs of all heads is left to the caller. Throws Error(data) where a mistake cannot be made.
Glimpsed glimpse_of_attention(AttentionCall call,
                              const std::vector<std::shared_ptr<const AttentionMistake>>& mistakes,
                              const Glimpse& glimpse);

/// The attention that a trial is or contains.
AttentionCall attention_call(const Trial& trial);

}  // namespace attnlab
