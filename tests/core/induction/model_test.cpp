#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/induction/model.hpp"
#include "support/gradients.hpp"

using namespace attnlab;

namespace {

ModelShape small_shape(PositionKind positions) {
  ModelShape shape;
  shape.vocabulary = 5;
  shape.seq_len = 7;
  shape.d_model = 8;
  shape.num_layers = 2;
  shape.num_heads = 2;
  shape.positions = positions;
  return shape;
}

double mean_loss(const AttentionOnlyModel<double>& model) {
  double sum = 0.0;
  for (const double loss : model.losses()) sum += loss;
  return sum / static_cast<double>(model.losses().size() - 1);
}

double worst_error_of_every_weight(const ModelShape& shape, const Ablation& ablation = {}) {
  ModelWeights<double> weights(shape);
  ModelWeights<double> gradient(shape);
  gradient.values.assign(gradient.values.size(), 0.0);
  TestNumbers numbers;
  for (double& weight : weights.values) weight += 0.8 * numbers.next();
  const std::vector<int> tokens{1, 4, 0, 1, 4, 0, 1};
  AttentionOnlyModel<double> model(shape, ablation);
  const auto loss = [&] {
    model.forward(weights, tokens);
    return mean_loss(model);
  };
  loss();
  model.backward(weights, 1.0 / 6.0, gradient);
  const std::size_t count = weights.values.size();
  return worst_gradient_error({weights.values.data(), 1, count, count},
                              {gradient.values.data(), 1, count, count}, loss);
}

}  // namespace

TEST_CASE("attention-only model: gradients of every weight agree with finite differences for all positions") {
  for (const PositionKind positions : {PositionKind::none, PositionKind::shortformer, PositionKind::learned,
                                       PositionKind::rope, PositionKind::alibi}) {
    CAPTURE(static_cast<int>(positions));
    CHECK(worst_error_of_every_weight(small_shape(positions)) <= 1e-6);
  }
}

TEST_CASE("attention-only model: gradients hold without mask without norms and with silenced heads") {
  ModelShape open = small_shape(PositionKind::shortformer);
  open.causal = false;
  CHECK(worst_error_of_every_weight(open) <= 1e-6);
  ModelShape plain = small_shape(PositionKind::learned);
  plain.layer_norm = false;
  CHECK(worst_error_of_every_weight(plain) <= 1e-6);
  CHECK(worst_error_of_every_weight(small_shape(PositionKind::shortformer), {{false, true}, {true, false}}) <=
        1e-6);
}

TEST_CASE("attention-only model: with all projections zero every position predicts from its own token") {
  const ModelShape shape = small_shape(PositionKind::shortformer);
  ModelWeights<double> weights(shape);
  AttentionOnlyModel<double> model(shape);
  const std::vector<int> tokens{0, 1, 2, 3, 4, 0, 1};
  model.forward(weights, tokens);
  for (std::size_t t = 0; t + 1 < tokens.size(); ++t)
    CHECK(std::abs(model.losses()[t] - std::log(5.0)) < 1e-14);
  CHECK(model.losses().back() == 0.0);
}

TEST_CASE("attention-only model: a later token changes no earlier prediction") {
  const ModelShape shape = small_shape(PositionKind::rope);
  ModelWeights<float> weights(shape);
  TestNumbers numbers;
  for (float& weight : weights.values) weight += static_cast<float>(numbers.next());
  AttentionOnlyModel<float> model(shape);
  const auto predicted = [&](const std::vector<int>& tokens) {
    model.forward(weights, tokens);
    std::vector<float> rows;
    for (std::size_t t = 0; t < 4; ++t)
      for (std::size_t v = 0; v < 5; ++v) rows.push_back(model.probabilities()(t, v));
    return rows;
  };
  CHECK(predicted({1, 2, 3, 4, 0, 0, 0}) == predicted({1, 2, 3, 4, 4, 3, 2}));
}

TEST_CASE("attention-only model: the default has 45440 weights and names every array once") {
  ModelWeights<float> weights{ModelShape{}};
  CHECK(weights.values.size() == 45440);
  std::set<std::string> names;
  std::size_t count = 0;
  for (const NamedView<float>& array : weights.named()) {
    names.insert(array.name);
    count += array.view.rows * array.view.columns;
  }
  CHECK(names.size() == weights.named().size());
  CHECK(count == 45440);
  CHECK(names.count("layers.2.query") == 1);
  ModelShape one;
  one.num_layers = 1;
  CHECK(ModelWeights<float>{one}.values.size() == 28928);
}

TEST_CASE("attention-only model: shapes that do not fit are refused with the option and its range") {
  ModelShape shape = small_shape(PositionKind::shortformer);
  shape.num_heads = 3;
  CHECK_THROWS_WITH_AS(check_shape(shape), "heads: 3 do not divide a d_model of 8", Error);
  shape.num_heads = 8;
  shape.positions = PositionKind::rope;
  CHECK_THROWS_WITH_AS(check_shape(shape),
                       "positions: rope turns pairs of columns and a head width of 1 is odd", Error);
  shape.seq_len = 0;
  CHECK_THROWS_WITH_AS(check_shape(shape), "sequence length: 0 is outside [2, 1024]", Error);
  CHECK_THROWS_AS(AttentionOnlyModel<float>(small_shape(PositionKind::none), {{true}}), Error);
}

TEST_CASE("attention-only model: a token outside the vocabulary is refused") {
  const ModelShape shape = small_shape(PositionKind::none);
  ModelWeights<float> weights(shape);
  AttentionOnlyModel<float> model(shape);
  CHECK_THROWS_AS(model.forward(weights, std::vector<int>{0, 1, 2, 3, 5, 0, 0}), Error);
  CHECK_THROWS_AS(model.forward(weights, std::vector<int>{0, 1, 2, 3, -1, 0, 0}), Error);
  CHECK_THROWS_AS(model.forward(weights, std::vector<int>{0, 1}), Error);
}
