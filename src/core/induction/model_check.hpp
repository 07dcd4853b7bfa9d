// Whether the gradients of the attention-only transformer are right, as a number that can be shown.
#pragma once

#include "core/induction/model.hpp"
#include "core/random/generator.hpp"

namespace attnlab {

/// The worst relative error of the gradient of any weight of a small two-layer model against finite
/// differences, in double; about 1e-9 when all is right. `forget_keys` loses the gradient of the first
/// layer's keys on the way.
double worst_model_gradient_error(PositionKind positions, bool causal, Generator rng,
                                  bool forget_keys = false);

}  // namespace attnlab
