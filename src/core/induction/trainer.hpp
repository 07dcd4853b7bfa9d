// Trains an attention-only transformer on repeated random tokens, step by step, so that the caller decides
// when to look, to report and to stop.
#pragma once

#include <cstddef>
#include <vector>

#include "core/backward/adam.hpp"
#include "core/induction/model.hpp"
#include "core/induction/sequences.hpp"
#include "core/kernels/thread_pool.hpp"

namespace attnlab {

struct TrainingOptions {
  std::size_t batch = 32;    ///< sequences in a step
  std::size_t warm_up = 50;  ///< steps over which the learning rate rises to its value
  AdamOptions adam{.learning_rate = 4e-3, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8};
};

/// Weights drawn for training: embeddings and positions from N(0, 1), projections and unembedding from
/// N(0, 1 / d_model), output projections divided by sqrt(2 layers) besides.
ModelWeights<float> random_weights(const ModelShape& shape, Generator& rng);

/// A model in training. The batch is cut into four parts whatever the number of threads, and their gradients
/// are summed in order: one seed is one curve.
class Trainer {
 public:
  /// Starts from `weights`; sequences are drawn from `rng`; the pool must outlive the trainer. Throws
  /// Error(usage) for shapes or rules that do not fit.
  Trainer(const ModelShape& shape, const SequenceRule& rule, const TrainingOptions& options,
          ModelWeights<float> weights, Generator rng, ThreadPool& threads);

  /// One step on fresh sequences; returns the mean loss in nats over their predictions.
  double step();

  std::size_t steps_done() const { return steps_done_; }
  const ModelWeights<float>& weights() const { return weights_; }
  ModelWeights<float>& weights() { return weights_; }

 private:
  /// A part of the batch with memory of its own.
  struct Shard {
    AttentionOnlyModel<float> model;
    ModelWeights<float> gradient;
    double loss = 0.0;
  };

  SequenceRule rule_;
  TrainingOptions options_;
  ModelWeights<float> weights_;
  Generator rng_;
  ThreadPool& threads_;
  std::vector<Shard> shards_;
  std::vector<float> gradient_;
  Adam<float> adam_;
  std::size_t steps_done_ = 0;
};

}  // namespace attnlab
