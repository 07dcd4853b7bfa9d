// What a trained model can do and which of its heads does it.
// Olsson et al. 2022, "In-context Learning and Induction Heads", for the scores.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/induction/model.hpp"
#include "core/induction/sequences.hpp"
#include "core/kernels/thread_pool.hpp"

namespace attnlab {

/// Mean attention weights of one head, each in [0, 1].
struct HeadScores {
  double previous_token = 0.0;    ///< from t to t - 1
  double prefix_matching = 0.0;   ///< from t, repeated, to all positions after an earlier copy of token t
  double strict_induction = 0.0;  ///< from t, repeated, to t - period + 1 only
};

/// Means over sequences. A prediction is repeated when its target's predecessor was seen before: target index
/// > period.
struct Evaluation {
  double first_loss = 0.0;         ///< nats, on predictions that are not repeated
  double repeated_loss = 0.0;      ///< nats, on those that are
  double repeated_accuracy = 0.0;  ///< share of repeated predictions whose most probable token comes
  std::vector<std::vector<HeadScores>> heads;  ///< [layer][head]

  /// The largest of one score in a layer.
  double best(double HeadScores::*score, std::size_t layer) const;
};

/// Runs the sequences on the threads of the pool; the result does not depend on their number. Throws
/// Error(usage) without sequences.
Evaluation evaluate(const ModelShape& shape, const ModelWeights<float>& weights,
                    std::span<const RepeatedSequence> sequences, ThreadPool& threads,
                    const Ablation& ablation = {});

/// Attention weights [seq_len, seq_len] of every head for one sequence, [layer][head].
std::vector<std::vector<Matrix>> attention_maps(const ModelShape& shape, const ModelWeights<float>& weights,
                                                std::span<const int> tokens);

}  // namespace attnlab
