#include "core/induction/model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr double rope_base = 10000.0;

/// Calls visit(name, view, rows, columns) for every array, in the order in which they lie in memory.
template <class Weights, class Visit>
void visit_weights(const ModelShape& shape, Weights& weights, Visit visit) {
  const std::size_t d = shape.d_model;
  visit("token_embedding", weights.token_embedding, shape.vocabulary, d);
  if (shape.has_position_table()) visit("position_embedding", weights.position_embedding, shape.seq_len, d);
  for (std::size_t index = 0; index < weights.layers.size(); ++index) {
    auto& layer = weights.layers[index];
    const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", index + 1, part); };
    visit(name("norm.gain"), layer.gain, 1, d);
    visit(name("norm.bias"), layer.bias, 1, d);
    visit(name("query"), layer.attention.query, d, d);
    visit(name("key"), layer.attention.key, d, d);
    visit(name("value"), layer.attention.value, d, d);
    visit(name("output"), layer.attention.output, d, d);
  }
  visit("final_norm.gain", weights.final_gain, 1, d);
  visit("final_norm.bias", weights.final_bias, 1, d);
  visit("unembedding", weights.unembedding, d, shape.vocabulary);
}

}  // namespace

void check_shape(const ModelShape& shape) {
  const auto require = [](bool fits, const std::string& text) {
    if (!fits) throw Error(ErrorKind::usage, text);
  };
  const auto require_range = [&](const char* name, std::size_t value, std::size_t low, std::size_t high) {
    require(value >= low && value <= high, fmt::format("{}: {} is outside [{}, {}]", name, value, low, high));
  };
  require_range("vocabulary", shape.vocabulary, 2, 4096);
  require_range("sequence length", shape.seq_len, 2, 1024);
  require_range("d_model", shape.d_model, 1, 4096);
  require_range("layers", shape.num_layers, 1, 16);
  require_range("heads", shape.num_heads, 1, 64);
  require(shape.d_model % shape.num_heads == 0,
          fmt::format("heads: {} do not divide a d_model of {}", shape.num_heads, shape.d_model));
  require(shape.positions != PositionKind::rope || shape.d_model / shape.num_heads % 2 == 0,
          fmt::format("positions: rope turns pairs of columns and a head width of {} is odd",
                      shape.d_model / shape.num_heads));
}

template <class Real>
ModelWeights<Real>::ModelWeights(const ModelShape& shape) : shape_(shape) {
  check_shape(shape);
  layers.resize(shape.num_layers);
  std::size_t count = 0;
  visit_weights(shape, *this, [&](const std::string&, View<Real>&, std::size_t rows, std::size_t columns) {
    count += rows * columns;
  });
  values.resize(count);
  Real* next = values.data();
  visit_weights(shape, *this,
                [&](const std::string&, View<Real>& view, std::size_t rows, std::size_t columns) {
                  view = {next, rows, columns, columns};
                  next += rows * columns;
                });
  for (const LayerWeights<Real>& layer : layers) fill(layer.gain, 1);
  fill(final_gain, 1);
}

template <class Real>
std::vector<NamedView<Real>> ModelWeights<Real>::named() {
  std::vector<NamedView<Real>> list;
  visit_weights(shape_, *this,
                [&](const std::string& name, const View<Real>& view, std::size_t, std::size_t) {
                  list.push_back({name, view});
                });
  return list;
}

template <class Real>
std::vector<NamedView<const Real>> ModelWeights<Real>::named() const {
  std::vector<NamedView<const Real>> list;
  visit_weights(shape_, *this,
                [&](const std::string& name, const View<Real>& view, std::size_t, std::size_t) {
                  list.push_back({name, view});
                });
  return list;
}

template <class Real>
AttentionOnlyModel<Real>::AttentionOnlyModel(const ModelShape& shape, const Ablation& ablation)
    : shape_(shape), targets_(shape.seq_len, no_target), losses_(shape.seq_len) {
  check_shape(shape);
  const bool fits = std::all_of(ablation.begin(), ablation.end(), [&](const std::vector<bool>& heads) {
    return heads.size() == shape.num_heads;
  });
  if (!ablation.empty() && (ablation.size() != shape.num_layers || !fits))
    throw Error(ErrorKind::usage, "an ablation needs a flag for every head of every layer");

  const std::size_t n = shape.seq_len;
  const std::size_t d = shape.d_model;
  if (shape.positions == PositionKind::rope) {
    const std::size_t pairs = d / shape.num_heads / 2;
    rope_cosine_ = arena_.take(n, pairs);
    rope_sine_ = arena_.take(n, pairs);
    rope_angles(rope_base, rope_cosine_, rope_sine_);
  }
  for (std::size_t index = 0; index < shape.num_layers; ++index) {
    const View<Real> normalised = arena_.take(n, d);
    const View<Real> query_key_input =
        shape.positions == PositionKind::shortformer ? arena_.take(n, d) : normalised;
    const MultiHeadRule<Real> rule{
        shape.num_heads, shape.causal, shape.positions == PositionKind::alibi,
        rope_cosine_,    rope_sine_,   ablation.empty() ? std::vector<bool>{} : ablation[index]};
    layers_.push_back({arena_.take(n, d),
                       normalised,
                       query_key_input,
                       {arena_.take(n, d), arena_.take(1, n)},
                       rule,
                       MultiHeadCache<Real>(arena_, n, d, shape.num_heads)});
  }
  final_norm_ = {arena_.take(n, d), arena_.take(1, n)};
  for (View<Real>* view : {&last_, &final_, &change_, &d_stream_, &d_normalised_, &d_query_key_input_})
    *view = arena_.take(n, d);
  probabilities_ = arena_.take(n, shape.vocabulary);
  d_logits_ = arena_.take(n, shape.vocabulary);
}

template <class Real>
void AttentionOnlyModel<Real>::normalise(View<Real> gain, View<Real> bias, NormCache<Real> cache,
                                         View<Real> input, View<Real> output) {
  if (shape_.layer_norm) {
    layer_norm_forward(input, gain, bias, cache, output);
  } else {
    copy(input, output);
  }
}

template <class Real>
void AttentionOnlyModel<Real>::normalise_backward(NormCache<Real> cache, View<Real> gain, View<Real> d_output,
                                                  View<Real> d_input, View<Real> d_gain, View<Real> d_bias) {
  if (shape_.layer_norm) {
    layer_norm_backward(cache, gain, d_output, d_input, d_gain, d_bias);
  } else {
    add(d_output, d_input);
  }
}

// x_0 = E[token] (+ P for learned positions)
// for each layer:  h = norm(x),  x <- x + attention(queries and keys from h (+ P for shortformer), values
// from h) probabilities = softmax(norm(x) U)
//
// Backwards the same lines from the last to the first. The stream is a sum, so its gradient d_stream passes
// every layer unchanged and each layer adds what comes back through its attention and norm.

template <class Real>
void AttentionOnlyModel<Real>::forward(const ModelWeights<Real>& weights, std::span<const int> tokens) {
  const auto in_vocabulary = [this](int token) {
    return token >= 0 && static_cast<std::size_t>(token) < shape_.vocabulary;
  };
  if (tokens.size() != shape_.seq_len || !std::all_of(tokens.begin(), tokens.end(), in_vocabulary))
    throw Error(ErrorKind::fault,
                "attention-only model: tokens do not fit the model's length and vocabulary");
  tokens_.assign(tokens.begin(), tokens.end());
  std::copy(tokens.begin() + 1, tokens.end(), targets_.begin());

  embedding_forward(tokens, weights.token_embedding, layers_.front().input);
  if (shape_.positions == PositionKind::learned) add(weights.position_embedding, layers_.front().input);
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const LayerWeights<Real>& w = weights.layers[index];
    const View<Real> next = index + 1 < layers_.size() ? layers_[index + 1].input : last_;
    normalise(w.gain, w.bias, layer.norm, layer.input, layer.normalised);
    if (shape_.positions == PositionKind::shortformer) {
      copy(layer.normalised, layer.query_key_input);
      add(weights.position_embedding, layer.query_key_input);
    }
    multi_head_forward<Real>(layer.rule, w.attention, layer.query_key_input, layer.normalised,
                             layer.attention, change_);
    copy(layer.input, next);
    add(change_, next);
  }
  normalise(weights.final_gain, weights.final_bias, final_norm_, last_, final_);
  linear_forward(final_, weights.unembedding, probabilities_);
  cross_entropy_forward(probabilities_, targets_, probabilities_, losses_);
}

template <class Real>
void AttentionOnlyModel<Real>::backward(const ModelWeights<Real>& weights, Real scale,
                                        ModelWeights<Real>& gradient) {
  for (const View<Real>& sum : {d_logits_, d_normalised_, d_stream_}) fill(sum, 0);
  cross_entropy_backward(probabilities_, targets_, scale, d_logits_);
  linear_backward(final_, weights.unembedding, d_logits_, d_normalised_, gradient.unembedding);
  normalise_backward(final_norm_, weights.final_gain, d_normalised_, d_stream_, gradient.final_gain,
                     gradient.final_bias);
  for (std::size_t index = layers_.size(); index-- > 0;) {
    const Layer& layer = layers_[index];
    const LayerWeights<Real>& w = weights.layers[index];
    const LayerWeights<Real>& g = gradient.layers[index];
    fill(d_normalised_, 0);
    fill(d_query_key_input_, 0);
    multi_head_backward<Real>(layer.rule, w.attention, layer.query_key_input, layer.normalised,
                              layer.attention, d_stream_, d_query_key_input_, d_normalised_, g.attention);
    if (shape_.positions == PositionKind::shortformer) add(d_query_key_input_, gradient.position_embedding);
    add(d_query_key_input_, d_normalised_);
    normalise_backward(layer.norm, w.gain, d_normalised_, d_stream_, g.gain, g.bias);
  }
  if (shape_.positions == PositionKind::learned) add(d_stream_, gradient.position_embedding);
  embedding_backward(tokens_, d_stream_, gradient.token_embedding);
}

template class ModelWeights<float>;
template class ModelWeights<double>;
template class AttentionOnlyModel<float>;
template class AttentionOnlyModel<double>;

}  // namespace attnlab
