#include "core/induction/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr std::size_t num_shards = 4;

void fill_normal(View<float> matrix, Generator& rng, double deviation) {
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j)
      matrix(i, j) = static_cast<float>(deviation * rng.standard_normal());
}

}  // namespace

ModelWeights<float> random_weights(const ModelShape& shape, Generator& rng) {
  ModelWeights<float> weights(shape);
  const double projection = 1.0 / std::sqrt(static_cast<double>(shape.d_model));
  const double output = projection / std::sqrt(2.0 * static_cast<double>(shape.num_layers));
  fill_normal(weights.token_embedding, rng, 1.0);
  fill_normal(weights.position_embedding, rng, 1.0);
  for (const LayerWeights<float>& layer : weights.layers) {
    fill_normal(layer.attention.query, rng, projection);
    fill_normal(layer.attention.key, rng, projection);
    fill_normal(layer.attention.value, rng, projection);
    fill_normal(layer.attention.output, rng, output);
  }
  fill_normal(weights.unembedding, rng, projection);
  return weights;
}

Trainer::Trainer(const ModelShape& shape, const SequenceRule& rule, const TrainingOptions& options,
                 ModelWeights<float> weights, Generator rng, ThreadPool& threads)
    : rule_(rule),
      options_(options),
      weights_(std::move(weights)),
      rng_(std::move(rng)),
      threads_(threads),
      gradient_(weights_.values.size()),
      adam_(weights_.values.size()) {
  check_rule(rule);
  if (rule.seq_len != shape.seq_len || rule.vocabulary != shape.vocabulary || options.batch == 0)
    throw Error(ErrorKind::usage,
                "training needs sequences of the model's length and vocabulary, at least one a step");
  for (std::size_t shard = 0; shard < num_shards; ++shard)
    shards_.push_back({AttentionOnlyModel<float>(shape), ModelWeights<float>(shape)});
}

double Trainer::step() {
  const std::vector<RepeatedSequence> batch = draw_sequences(rng_, rule_, options_.batch);
  const double predictions = static_cast<double>(options_.batch * (rule_.seq_len - 1));
  threads_.run(num_shards, [&](std::size_t index, std::size_t) {
    Shard& shard = shards_[index];
    std::fill(shard.gradient.values.begin(), shard.gradient.values.end(), 0.0F);
    shard.loss = 0.0;
    for (std::size_t i = index; i < batch.size(); i += num_shards) {
      shard.model.forward(weights_, batch[i].tokens);
      shard.model.backward(weights_, static_cast<float>(1.0 / predictions), shard.gradient);
      for (const double loss : shard.model.losses()) shard.loss += loss;
    }
  });

  double loss = 0.0;
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
  for (const Shard& shard : shards_) {
    loss += shard.loss;
    for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] += shard.gradient.values[i];
  }
  ++steps_done_;
  AdamOptions adam = options_.adam;
  if (steps_done_ < options_.warm_up)
    adam.learning_rate *= static_cast<double>(steps_done_) / static_cast<double>(options_.warm_up);
  adam_.step(adam, gradient_, weights_.values);
  return loss / predictions;
}

}  // namespace attnlab
