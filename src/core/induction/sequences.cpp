#include "core/induction/sequences.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {

void check_rule(const SequenceRule& rule) {
  const auto require = [](bool fits, const std::string& text) {
    if (!fits) throw Error(ErrorKind::usage, text);
  };
  require(rule.min_period >= 1 && rule.min_period <= rule.max_period,
          fmt::format("period: {} to {} is no range of at least 1", rule.min_period, rule.max_period));
  require(rule.max_period + 2 <= rule.seq_len,
          fmt::format("period: {} leaves nothing to predict in a length of {}; at most {}", rule.max_period,
                      rule.seq_len, rule.seq_len - 2));
  require(!rule.distinct || rule.max_period <= rule.vocabulary,
          fmt::format("period: {} distinct tokens need a vocabulary of as many, not {}", rule.max_period,
                      rule.vocabulary));
}

RepeatedSequence draw_sequence(Generator& rng, const SequenceRule& rule) {
  RepeatedSequence sequence;
  sequence.period =
      static_cast<std::size_t>(rng.integers(static_cast<std::int64_t>(rule.min_period),
                                            static_cast<std::int64_t>(rule.max_period), Endpoint::included));
  sequence.tokens.resize(rule.seq_len);
  if (rule.distinct) {
    const std::vector<std::size_t> order = rng.permutation(rule.vocabulary);
    for (std::size_t t = 0; t < sequence.period; ++t) sequence.tokens[t] = static_cast<int>(order[t]);
  } else {
    for (std::size_t t = 0; t < sequence.period; ++t)
      sequence.tokens[t] = static_cast<int>(rng.integers(0, static_cast<std::int64_t>(rule.vocabulary)));
  }
  for (std::size_t t = sequence.period; t < rule.seq_len; ++t)
    sequence.tokens[t] = sequence.tokens[t - sequence.period];
  return sequence;
}

std::vector<RepeatedSequence> draw_sequences(Generator& rng, const SequenceRule& rule, std::size_t count) {
  std::vector<RepeatedSequence> sequences;
  sequences.reserve(count);
  for (std::size_t i = 0; i < count; ++i) sequences.push_back(draw_sequence(rng, rule));
  return sequences;
}

double bag_of_tokens_loss(const SequenceRule& rule) {
  double sum = 0.0;
  double predictions = 0.0;
  for (std::size_t period = rule.min_period; period <= rule.max_period; ++period) {
    const auto scored = static_cast<double>(rule.seq_len - 1 - period);
    sum += scored * std::log(static_cast<double>(period));
    predictions += scored;
  }
  return sum / predictions;
}

}  // namespace attnlab
