#include "core/moe.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/softmax.hpp"

namespace attnlab {
namespace {

void require_comparable(std::span<const double> logits, std::size_t token) {
  for (std::size_t expert = 0; expert < logits.size(); ++expert) {
    if (std::isnan(logits[expert]) || (std::isinf(logits[expert]) && logits[expert] > 0)) {
      throw Error(ErrorKind::data, fmt::format("logits: {} at [{}, {}] cannot be ranked: finite numbers can",
                                               logits[expert], token, expert));
    }
  }
}

std::vector<std::size_t> highest(std::span<const double> logits, std::size_t chosen) {
  std::vector<std::size_t> experts(logits.size());
  std::iota(experts.begin(), experts.end(), std::size_t{0});
  std::stable_sort(experts.begin(), experts.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  experts.resize(chosen);
  return experts;
}

}  // namespace

Routing route(const Matrix& logits, std::size_t chosen, bool renormalize) {
  const std::size_t num_experts = logits.shape(1);
  if (chosen < 1 || chosen > num_experts) {
    throw Error(ErrorKind::data,
                fmt::format("{} chosen of {} experts: choose at least 1 and at most all of them", chosen,
                            num_experts));
  }
  Routing routing{{}, zeros(logits.shape(0), chosen)};
  for (std::size_t token = 0; token < logits.shape(0); ++token) {
    const std::span<const double> row = row_of(logits, token);
    require_comparable(row, token);
    const std::vector<std::size_t> experts = highest(row, chosen);
    const std::span<double> weights = row_of(routing.weights, token);
    // The softmax over all experts, or the softmax over the chosen ones, which needs no division afterwards.
    std::vector<double> shares(row.begin(), row.end());
    if (renormalize) {
      shares.clear();
      for (const std::size_t expert : experts) shares.push_back(row[expert]);
    }
    softmax_in_place(shares);
    for (std::size_t n = 0; n < chosen; ++n) weights[n] = shares[renormalize ? n : experts[n]];
    routing.experts.push_back(experts);
  }
  return routing;
}

Matrix mix(const Routing& routing, const std::vector<Matrix>& expert_outputs) {
  const std::size_t num_tokens = routing.experts.size();
  if (expert_outputs.empty() || (expert_outputs.size() != 1 && expert_outputs.size() != num_tokens)) {
    throw Error(ErrorKind::data,
                fmt::format("expert outputs for {} tokens where {} are routed: give one for each, or "
                            "one for all",
                            expert_outputs.size(), num_tokens));
  }
  Matrix output = zeros(num_tokens, expert_outputs[0].shape(1));
  for (std::size_t token = 0; token < num_tokens; ++token) {
    const Matrix& answers = expert_outputs[expert_outputs.size() == 1 ? 0 : token];
    for (std::size_t n = 0; n < routing.experts[token].size(); ++n) {
      const std::size_t expert = routing.experts[token][n];
      if (expert >= answers.shape(0)) {
        throw Error(ErrorKind::data, fmt::format("expert {} is chosen but only {} experts answered", expert,
                                                 answers.shape(0)));
      }
      for (std::size_t c = 0; c < output.shape(1); ++c) {
        output(token, c) += routing.weights(token, n) * answers(expert, c);
      }
    }
  }
  return output;
}

}  // namespace attnlab
