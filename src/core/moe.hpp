// Mixture of experts: which experts a token goes to, and the mix of what they answer.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor.hpp"

namespace attnlab {

/// Where each token goes; row t belongs to token t, the highest logit first.
struct Routing {
  std::vector<std::vector<std::size_t>> experts;  ///< [tokens][chosen]
  Matrix weights;                                 ///< [tokens, chosen]
};

/// The `chosen` experts of highest logit for every row of `logits` [tokens, experts]; ties go to the lower
/// index. The weights are the softmax over all experts, divided by their sum over the chosen ones when
/// `renormalize` is set (Mixtral; the same as a softmax over the chosen logits), else kept as they are
/// (Switch Transformer). Throws Error(data) when `chosen` is 0 or more than there are experts, and for a
/// logit that is NaN or +inf. Source: Shazeer et al. 2017, section 2.1; Fedus, Zoph and Shazeer 2021,
/// section 2.1.
Routing route(const Matrix& logits, std::size_t chosen, bool renormalize);

/// The weighted sum of what the chosen experts answered, [tokens, width]; experts not chosen are not touched.
/// `expert_outputs` is one [experts, width] for every token, or a single one for all.
/// Throws Error(data) when the numbers of tokens or experts differ.
Matrix mix(const Routing& routing, const std::vector<Matrix>& expert_outputs);

}  // namespace attnlab
