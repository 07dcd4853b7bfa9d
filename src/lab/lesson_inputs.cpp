#include "lab/lesson_inputs.hpp"

#include <cmath>

#include "core/matmul.hpp"

namespace attnlab {

SelfAttentionInputs draw_self_attention(Generator& rng, std::size_t seq_len, std::size_t d_model,
                                        std::size_t d_k) {
  // NumPy's d_model ** -0.5.
  const double scale = std::pow(static_cast<double>(d_model), -0.5);
  SelfAttentionInputs in;
  in.x = normal_matrix(rng, seq_len, d_model);
  in.w_query = normal_matrix(rng, d_model, d_k, 0.0, scale);
  in.w_key = normal_matrix(rng, d_model, d_k, 0.0, scale);
  in.w_value = normal_matrix(rng, d_model, d_k, 0.0, scale);
  in.query = matmul(in.x, in.w_query);
  in.key = matmul(in.x, in.w_key);
  in.value = matmul(in.x, in.w_value);
  return in;
}

}  // namespace attnlab
