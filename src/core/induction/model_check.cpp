#include "core/induction/model_check.hpp"

#include <algorithm>

#include "core/backward/gradient_check.hpp"

namespace attnlab {

double worst_model_gradient_error(PositionKind positions, bool causal, Generator rng, bool forget_keys) {
  ModelShape shape;
  shape.vocabulary = 5;
  shape.seq_len = 6;
  shape.d_model = 8;
  shape.num_heads = 2;
  shape.positions = positions;
  shape.causal = causal;
  ModelWeights<double> weights(shape);
  ModelWeights<double> gradient(shape);
  std::fill(gradient.values.begin(), gradient.values.end(), 0.0);
  for (double& weight : weights.values) weight += 0.4 * rng.standard_normal();
  const std::vector<int> tokens{3, 1, 4, 3, 1, 4};
  const double scale = 1.0 / static_cast<double>(tokens.size() - 1);
  AttentionOnlyModel<double> model(shape);
  const auto mean_loss = [&] {
    model.forward(weights, tokens);
    double sum = 0.0;
    for (const double loss : model.losses()) sum += loss;
    return scale * sum;
  };
  mean_loss();
  model.backward(weights, scale, gradient);
  if (forget_keys) fill(gradient.layers.front().attention.key, 0);
  const std::size_t count = weights.values.size();
  return worst_gradient_error({weights.values.data(), 1, count, count},
                              {gradient.values.data(), 1, count, count}, mean_loss);
}

}  // namespace attnlab
