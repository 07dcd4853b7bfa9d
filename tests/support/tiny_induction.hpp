// A model and sequences small enough to train in a test.
#pragma once

#include "core/induction/model.hpp"
#include "core/induction/sequences.hpp"

namespace attnlab::testing {

inline ModelShape tiny_shape() {
  ModelShape shape;
  shape.vocabulary = 8;
  shape.seq_len = 16;
  shape.d_model = 16;
  shape.num_heads = 2;
  return shape;
}

inline SequenceRule tiny_rule() { return {.vocabulary = 8, .seq_len = 16, .min_period = 3, .max_period = 6}; }

}  // namespace attnlab::testing
