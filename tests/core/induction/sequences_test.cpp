#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/induction/sequences.hpp"

using namespace attnlab;

TEST_CASE("sequences: every token repeats after the period and periods fill their range") {
  Generator rng(466);
  std::set<std::size_t> periods;
  for (const RepeatedSequence& sequence : draw_sequences(rng, SequenceRule{}, 500)) {
    periods.insert(sequence.period);
    REQUIRE(sequence.tokens.size() == 64);
    for (std::size_t t = 0; t < 64; ++t) {
      CHECK((sequence.tokens[t] >= 0 && sequence.tokens[t] < 64));
      if (t >= sequence.period) CHECK(sequence.tokens[t] == sequence.tokens[t - sequence.period]);
    }
  }
  CHECK(periods.size() == 25);
  CHECK(*periods.begin() == 8);
  CHECK(*periods.rbegin() == 32);
}

TEST_CASE("sequences: distinct tokens do not come twice within a period") {
  Generator rng(466);
  SequenceRule rule;
  rule.distinct = true;
  for (const RepeatedSequence& sequence : draw_sequences(rng, rule, 50)) {
    const std::set<int> seen(sequence.tokens.begin(),
                             sequence.tokens.begin() + static_cast<std::ptrdiff_t>(sequence.period));
    CHECK(seen.size() == sequence.period);
  }
}

TEST_CASE("sequences: the bag of tokens costs ln of a fixed period and 2.86 for the default periods") {
  SequenceRule rule;
  CHECK(std::abs(bag_of_tokens_loss(rule) - 2.86) < 0.005);
  rule.min_period = rule.max_period = 20;
  CHECK(std::abs(bag_of_tokens_loss(rule) - std::log(20.0)) < 1e-14);
}

TEST_CASE("sequences: periods without room are refused") {
  SequenceRule rule;
  rule.max_period = 63;
  CHECK_THROWS_WITH_AS(check_rule(rule), "period: 63 leaves nothing to predict in a length of 64; at most 62",
                       Error);
  rule.max_period = 7;
  CHECK_THROWS_WITH_AS(check_rule(rule), "period: 8 to 7 is no range of at least 1", Error);
  rule.max_period = 32;
  rule.vocabulary = 16;
  rule.distinct = true;
  CHECK_THROWS_WITH_AS(check_rule(rule), "period: 32 distinct tokens need a vocabulary of as many, not 16",
                       Error);
}
