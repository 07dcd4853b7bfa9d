#include "core/backward/residual.hpp"

#include <fmt/core.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

/// Calls visit(view, rows, columns) for every weight, in the order in which they lie in memory.
template <class Real, class Visit>
void visit_weights(const StackShape& shape, StackWeights<Real>& weights, Visit visit) {
  const std::size_t d = shape.d_model;
  for (BlockWeights<Real>& block : weights.blocks) {
    visit(block.attention_gain, 1, d);
    visit(block.attention_bias, 1, d);
    visit(block.attention.query, d, d);
    visit(block.attention.key, d, d);
    visit(block.attention.value, d, d);
    visit(block.attention.output, d, d);
    visit(block.feed_forward_gain, 1, d);
    visit(block.feed_forward_bias, 1, d);
    visit(block.expand, d, shape.d_hidden);
    visit(block.expand_bias, 1, shape.d_hidden);
    visit(block.contract, shape.d_hidden, d);
    visit(block.contract_bias, 1, d);
  }
  visit(weights.final_gain, 1, d);
  visit(weights.final_bias, 1, d);
}

}  // namespace

template <class Real>
StackWeights<Real>::StackWeights(const StackShape& shape) : blocks(shape.num_layers) {
  if (shape.num_layers == 0 || shape.seq_len == 0 || shape.d_model == 0 || shape.d_hidden == 0)
    throw Error(ErrorKind::usage, "layers, sequence length and widths must be at least 1");
  if (shape.num_heads == 0 || shape.d_model % shape.num_heads != 0)
    throw Error(ErrorKind::usage,
                fmt::format("{} heads do not divide a width of {}", shape.num_heads, shape.d_model));
  std::size_t count = 0;
  visit_weights(shape, *this,
                [&](View<Real>&, std::size_t rows, std::size_t columns) { count += rows * columns; });
  values.resize(count);
  Real* next = values.data();
  visit_weights(shape, *this, [&](View<Real>& view, std::size_t rows, std::size_t columns) {
    view = {next, rows, columns, columns};
    next += rows * columns;
  });
  for (const BlockWeights<Real>& block : blocks) {
    fill(block.attention_gain, 1);
    fill(block.feed_forward_gain, 1);
  }
  fill(final_gain, 1);
}

template <class Real>
ResidualStack<Real>::ResidualStack(const StackShape& shape) : shape_(shape) {
  rule_.num_heads = shape.num_heads;
  rule_.causal = shape.causal;
  const std::size_t n = shape.seq_len;
  for (std::size_t layer = 0; layer < shape.num_layers; ++layer) {
    blocks_.push_back({make_step(), MultiHeadCache<Real>(arena_, n, shape.d_model, shape.num_heads),
                       make_step(), arena_.take(n, shape.d_hidden), arena_.take(n, shape.d_hidden)});
  }
  final_norm_ = {arena_.take(n, shape.d_model), arena_.take(1, n)};
  for (View<Real>* view : {&last_, &output_, &d_stream_, &d_inside_}) *view = arena_.take(n, shape.d_model);
  for (View<Real>* view : {&d_expanded_, &d_activated_}) *view = arena_.take(n, shape.d_hidden);
}

template <class Real>
typename ResidualStack<Real>::Step ResidualStack<Real>::make_step() {
  const auto take = [this] { return arena_.take(shape_.seq_len, shape_.d_model); };
  return {take(), take(), take(), take(), {take(), arena_.take(1, shape_.seq_len)}};
}

// One step of the stream, with f the sub-layer (attention, or feed-forward):
//
//   pre-norm    y = x + f(norm(x))     dx = dy + norm'(f'(dy))      the gradient passes x unchanged beside f
//   post-norm   y = norm(x + f(x))     dx = ds + f'(ds), ds = norm'(dy)      and here through every norm
//
// where f'(dy) is the gradient of f's input, given that of its output.

template <class Real>
template <class Sublayer>
void ResidualStack<Real>::step_forward(const Step& step, View<Real> gain, View<Real> bias, View<Real> output,
                                       Sublayer sublayer) {
  if (shape_.placement == NormPlacement::pre) {
    layer_norm_forward(step.input, gain, bias, step.norm, step.normalised);
    sublayer(step.normalised, step.change);
    copy(step.input, output);
    add(step.change, output);
  } else {
    sublayer(step.input, step.change);
    copy(step.input, step.sum);
    add(step.change, step.sum);
    layer_norm_forward(step.sum, gain, bias, step.norm, output);
  }
}

/// Turns d_stream_, the gradient after the step, into the one before it.
template <class Real>
template <class Sublayer>
void ResidualStack<Real>::step_backward(const Step& step, View<Real> gain, View<Real> d_gain,
                                        View<Real> d_bias, Sublayer sublayer) {
  fill(d_inside_, 0);
  if (shape_.placement == NormPlacement::pre) {
    sublayer(step.normalised, d_stream_, d_inside_);
    layer_norm_backward(step.norm, gain, d_inside_, d_stream_, d_gain, d_bias);
  } else {
    layer_norm_backward(step.norm, gain, d_stream_, d_inside_, d_gain, d_bias);
    copy(d_inside_, d_stream_);
    sublayer(step.input, d_inside_, d_stream_);
  }
}

// Feed-forward: y = f(x W_1 + b_1) W_2 + b_2, f the activation.

template <class Real>
void ResidualStack<Real>::feed_forward(const BlockWeights<Real>& weights, const Block& block,
                                       View<const Real> input, View<Real> output) {
  linear_forward(input, weights.expand, block.expanded);
  bias_forward(weights.expand_bias, block.expanded);
  activation_forward(shape_.activation, block.expanded, block.activated);
  linear_forward(block.activated, weights.contract, output);
  bias_forward(weights.contract_bias, output);
}

template <class Real>
void ResidualStack<Real>::feed_forward_backward(const BlockWeights<Real>& weights, const Block& block,
                                                View<const Real> input, View<const Real> d_output,
                                                View<Real> d_input, const BlockWeights<Real>& gradient) {
  fill(d_activated_, 0);
  fill(d_expanded_, 0);
  bias_backward(d_output, gradient.contract_bias);
  linear_backward(block.activated, weights.contract, d_output, d_activated_, gradient.contract);
  activation_backward(shape_.activation, block.expanded, d_activated_, d_expanded_);
  bias_backward(d_expanded_, gradient.expand_bias);
  linear_backward(input, weights.expand, d_expanded_, d_input, gradient.expand);
}

template <class Real>
View<const Real> ResidualStack<Real>::forward(const StackWeights<Real>& weights, View<const Real> input) {
  if (input.rows != shape_.seq_len || input.columns != shape_.d_model)
    throw Error(ErrorKind::fault, "residual stack: the input has another shape than the stack");
  copy(input, blocks_.front().attention_step.input);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const Block& block = blocks_[layer];
    const BlockWeights<Real>& w = weights.blocks[layer];
    const View<Real> next = layer + 1 < blocks_.size() ? blocks_[layer + 1].attention_step.input : last_;
    step_forward(block.attention_step, w.attention_gain, w.attention_bias, block.feed_forward_step.input,
                 [&](View<Real> x, View<Real> y) {
                   multi_head_forward<Real>(rule_, w.attention, x, x, block.attention, y);
                 });
    step_forward(block.feed_forward_step, w.feed_forward_gain, w.feed_forward_bias, next,
                 [&](View<Real> x, View<Real> y) { feed_forward(w, block, x, y); });
  }
  if (shape_.placement == NormPlacement::post) return last_;
  layer_norm_forward(last_, weights.final_gain, weights.final_bias, final_norm_, output_);
  return output_;
}

template <class Real>
View<const Real> ResidualStack<Real>::backward(const StackWeights<Real>& weights, View<const Real> d_output,
                                               StackWeights<Real>& gradient) {
  if (shape_.placement == NormPlacement::post) {
    copy(d_output, d_stream_);
  } else {
    fill(d_stream_, 0);
    layer_norm_backward(final_norm_, weights.final_gain, d_output, d_stream_, gradient.final_gain,
                        gradient.final_bias);
  }
  for (std::size_t layer = blocks_.size(); layer-- > 0;) {
    const Block& block = blocks_[layer];
    const BlockWeights<Real>& w = weights.blocks[layer];
    const BlockWeights<Real>& g = gradient.blocks[layer];
    step_backward(
        block.feed_forward_step, w.feed_forward_gain, g.feed_forward_gain, g.feed_forward_bias,
        [&](View<Real> x, View<Real> dy, View<Real> dx) { feed_forward_backward(w, block, x, dy, dx, g); });
    step_backward(block.attention_step, w.attention_gain, g.attention_gain, g.attention_bias,
                  [&](View<Real> x, View<Real> dy, View<Real> dx) {
                    multi_head_backward<Real>(rule_, w.attention, x, x, block.attention, dy, dx, dx,
                                              g.attention);
                  });
  }
  return d_stream_;
}

template class StackWeights<float>;
template class StackWeights<double>;
template class ResidualStack<float>;
template class ResidualStack<double>;

}  // namespace attnlab
