#include "core/induction/circuit.hpp"

#include <algorithm>
#include <cmath>

namespace attnlab {

// The residual stream has four rooms, each a one-hot vector or zeros:
//
//   token | position | previous token | copied token
//
// Layer 1, the previous-token head. The query of position t asks for position t - 1, the key of a position is
// the position itself, the value is the token, written to the room of the previous token. Layer 2, the
// matching head. The query is the own token, the key is the previous token: position j matches where token[j
// - 1] = token[t]. The value is the token at j, written to the room of the copied token and read as the
// prediction.
//
// Position 0 has no predecessor and must look at itself, so it would claim to follow its own token: its key
// in layer 2 is lowered by as much as the claim is worth.

HandSetModel induction_circuit(std::size_t vocabulary, std::size_t seq_len, bool previous_token) {
  const float sharpness = 100.0F;  // a match outweighs all else by exp(100)
  const std::size_t token = 0;
  const std::size_t position = token + vocabulary;
  const std::size_t previous = position + seq_len;
  const std::size_t copied = previous + vocabulary;

  ModelShape shape;
  shape.vocabulary = vocabulary;
  shape.seq_len = seq_len;
  shape.d_model = copied + vocabulary;
  shape.num_layers = previous_token ? 2 : 1;
  shape.num_heads = 1;
  shape.positions = PositionKind::learned;
  shape.layer_norm = false;
  ModelWeights<float> weights(shape);

  for (std::size_t v = 0; v < vocabulary; ++v) weights.token_embedding(v, token + v) = 1.0F;
  for (std::size_t t = 0; t < seq_len; ++t) weights.position_embedding(t, position + t) = 1.0F;

  // Scores are divided by sqrt(head_dim), so queries are multiplied by it.
  const float query_scale = sharpness * std::sqrt(static_cast<float>(shape.d_model));
  if (previous_token) {
    const MultiHeadWeights<float>& head = weights.layers[0].attention;
    for (std::size_t t = 0; t < seq_len; ++t) {
      if (t > 0) head.query(position + t, t - 1) = query_scale;
      head.key(position + t, t) = 1.0F;
    }
    for (std::size_t v = 0; v < vocabulary; ++v) {
      head.value(token + v, v) = 1.0F;
      head.output(v, previous + v) = 1.0F;
    }
  }
  const MultiHeadWeights<float>& head = weights.layers.back().attention;
  for (std::size_t v = 0; v < vocabulary; ++v) {
    head.query(token + v, v) = query_scale;
    head.key(previous + v, v) = 1.0F;
    head.key(position, v) = -1.0F;
    head.value(token + v, v) = 1.0F;
    head.output(v, copied + v) = 1.0F;
    weights.unembedding(copied + v, v) = sharpness;
  }
  return {shape, std::move(weights)};
}

}  // namespace attnlab
