#include "core/induction/measure.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr std::size_t num_shards = 4;

/// Sums of what an Evaluation has the means of.
struct Sums {
  explicit Sums(const ModelShape& shape)
      : heads(shape.num_layers, std::vector<HeadScores>(shape.num_heads)) {}

  double first_loss = 0.0, repeated_loss = 0.0, hits = 0.0;
  double first_count = 0.0, repeated_count = 0.0, pair_count = 0.0, repeated_query_count = 0.0;
  std::vector<std::vector<HeadScores>> heads;
};

std::size_t most_probable(View<const float> probabilities, std::size_t position) {
  const float* row = probabilities.row(position);
  return static_cast<std::size_t>(std::max_element(row, row + probabilities.columns) - row);
}

void add_losses(const AttentionOnlyModel<float>& model, const RepeatedSequence& sequence, Sums& sums) {
  for (std::size_t t = 0; t + 1 < sequence.tokens.size(); ++t) {
    if (t + 1 <= sequence.period) {
      sums.first_loss += model.losses()[t];
      sums.first_count += 1.0;
    } else {
      sums.repeated_loss += model.losses()[t];
      sums.repeated_count += 1.0;
      if (most_probable(model.probabilities(), t) == static_cast<std::size_t>(sequence.tokens[t + 1]))
        sums.hits += 1.0;
    }
  }
}

void add_head_scores(View<const float> weights, const RepeatedSequence& sequence, HeadScores& scores) {
  const std::vector<int>& tokens = sequence.tokens;
  for (std::size_t t = 1; t < tokens.size(); ++t) scores.previous_token += weights(t, t - 1);
  for (std::size_t t = sequence.period; t < tokens.size(); ++t) {
    scores.strict_induction += weights(t, t - sequence.period + 1);
    for (std::size_t j = 0; j < t; ++j)
      if (tokens[j] == tokens[t]) scores.prefix_matching += weights(t, j + 1);
  }
}

void add_sequence(const ModelShape& shape, const AttentionOnlyModel<float>& model,
                  const RepeatedSequence& sequence, Sums& sums) {
  add_losses(model, sequence, sums);
  for (std::size_t layer = 0; layer < shape.num_layers; ++layer)
    for (std::size_t head = 0; head < shape.num_heads; ++head)
      add_head_scores(model.head_weights(layer, head), sequence, sums.heads[layer][head]);
  sums.pair_count += static_cast<double>(sequence.tokens.size() - 1);
  sums.repeated_query_count += static_cast<double>(sequence.tokens.size() - sequence.period);
}

void add_sums(const Sums& from, Sums& to) {
  for (double Sums::*field : {&Sums::first_loss, &Sums::repeated_loss, &Sums::hits, &Sums::first_count,
                              &Sums::repeated_count, &Sums::pair_count, &Sums::repeated_query_count})
    to.*field += from.*field;
  for (std::size_t layer = 0; layer < to.heads.size(); ++layer)
    for (std::size_t head = 0; head < to.heads[layer].size(); ++head)
      for (double HeadScores::*score :
           {&HeadScores::previous_token, &HeadScores::prefix_matching, &HeadScores::strict_induction})
        to.heads[layer][head].*score += from.heads[layer][head].*score;
}

}  // namespace

double Evaluation::best(double HeadScores::*score, std::size_t layer) const {
  double largest = 0.0;
  for (const HeadScores& head : heads[layer]) largest = std::max(largest, head.*score);
  return largest;
}

Evaluation evaluate(const ModelShape& shape, const ModelWeights<float>& weights,
                    std::span<const RepeatedSequence> sequences, ThreadPool& threads,
                    const Ablation& ablation) {
  if (sequences.empty()) throw Error(ErrorKind::usage, "an evaluation needs at least one sequence");
  std::vector<Sums> shards(num_shards, Sums(shape));
  threads.run(num_shards, [&](std::size_t shard, std::size_t) {
    AttentionOnlyModel<float> model(shape, ablation);
    for (std::size_t i = shard; i < sequences.size(); i += num_shards) {
      model.forward(weights, sequences[i].tokens);
      add_sequence(shape, model, sequences[i], shards[shard]);
    }
  });
  Sums total(shape);
  for (const Sums& shard : shards) add_sums(shard, total);

  Evaluation result{total.first_loss / total.first_count, total.repeated_loss / total.repeated_count,
                    total.hits / total.repeated_count, std::move(total.heads)};
  for (std::vector<HeadScores>& layer : result.heads) {
    for (HeadScores& head : layer) {
      head.previous_token /= total.pair_count;
      head.prefix_matching /= total.repeated_query_count;
      head.strict_induction /= total.repeated_query_count;
    }
  }
  return result;
}

std::vector<std::vector<Matrix>> attention_maps(const ModelShape& shape, const ModelWeights<float>& weights,
                                                std::span<const int> tokens) {
  AttentionOnlyModel<float> model(shape);
  model.forward(weights, tokens);
  std::vector<std::vector<Matrix>> maps(shape.num_layers);
  for (std::size_t layer = 0; layer < shape.num_layers; ++layer) {
    for (std::size_t head = 0; head < shape.num_heads; ++head) {
      const View<const float> weights_of_head = model.head_weights(layer, head);
      Matrix map = zeros(shape.seq_len, shape.seq_len);
      for (std::size_t i = 0; i < shape.seq_len; ++i)
        for (std::size_t j = 0; j < shape.seq_len; ++j) map(i, j) = weights_of_head(i, j);
      maps[layer].push_back(std::move(map));
    }
  }
  return maps;
}

}  // namespace attnlab
