// The induction circuit set by hand: what training has to find, written down.
#pragma once

#include "core/induction/model.hpp"

namespace attnlab {

/// An architecture and weights for it.
struct HandSetModel {
  ModelShape shape;
  ModelWeights<float> weights;
};

/// A previous-token head, and in the layer above it a head that looks where its own token came before, one
/// step on, and copies what it finds. One-hot vectors, no norms. With `previous_token` false the first layer
/// is left out: a matching head that has nothing to match. Throws Error(usage) as check_shape.
HandSetModel induction_circuit(std::size_t vocabulary, std::size_t seq_len, bool previous_token = true);

}  // namespace attnlab
