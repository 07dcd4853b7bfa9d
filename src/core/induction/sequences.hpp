// What the model is trained on: random tokens that repeat.
#pragma once

#include <cstddef>
#include <vector>

#include "core/random/generator.hpp"

namespace attnlab {

/// `period` random tokens, repeated to the length of the sequence.
struct RepeatedSequence {
  std::vector<int> tokens;
  std::size_t period = 0;
};

/// How sequences are drawn.
struct SequenceRule {
  std::size_t vocabulary = 64;
  std::size_t seq_len = 64;
  std::size_t min_period = 8;
  std::size_t max_period = 32;  ///< the period is uniform between both, ends included
  bool distinct = false;        ///< no token twice within a period
};

/// Throws Error(usage) when the periods are empty, leave no repeated token to predict within the length, or
/// are longer than the vocabulary of distinct tokens.
void check_rule(const SequenceRule& rule);

/// One sequence, by a rule that check_rule accepts.
RepeatedSequence draw_sequence(Generator& rng, const SequenceRule& rule);
std::vector<RepeatedSequence> draw_sequences(Generator& rng, const SequenceRule& rule, std::size_t count);

/// The loss in nats of a model that knows which tokens a period holds but not their order: the mean of
/// ln(period), weighted by the predictions that fall into repeated parts.
double bag_of_tokens_loss(const SequenceRule& rule);

}  // namespace attnlab
