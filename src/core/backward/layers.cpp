#include "core/backward/layers.hpp"

#include <cmath>
#include <numbers>

#include "core/backward/product.hpp"
#include "core/backward/rows.hpp"

namespace attnlab {

// Linear: Y = X W.
//   Y_ij = sum_k X_ik W_kj, so dL/dX_ik = sum_j dY_ij W_kj and dL/dW_kj = sum_i X_ik dY_ij:
//   dX = dY W^T, dW = X^T dY.

template <class Real>
void linear_forward(ConstView<Real> input, ConstView<Real> weight, View<Real> output) {
  multiply(input, weight, output);
}

template <class Real>
void linear_backward(ConstView<Real> input, ConstView<Real> weight, ConstView<Real> d_output,
                     View<Real> d_input, View<Real> d_weight) {
  multiply_add(d_output, transposed(weight), d_input);
  multiply_add(transposed(input), d_output, d_weight);
}

// Bias: y = x + b for every row, so db = sum of dy over the rows, and dx = dy needs no code.

template <class Real>
void bias_forward(ConstView<Real> bias, View<Real> output) {
  for (std::size_t i = 0; i < output.rows; ++i)
    for (std::size_t j = 0; j < output.columns; ++j) output(i, j) += bias.data[j];
}

template <class Real>
void bias_backward(ConstView<Real> d_output, View<Real> d_bias) {
  for (std::size_t i = 0; i < d_output.rows; ++i)
    for (std::size_t j = 0; j < d_output.columns; ++j) d_bias.data[j] += d_output(i, j);
}

// Layer norm: h = (x - mean(x)) s with s = 1 / sqrt(var(x) + epsilon), y = g h + b.
//   dg = sum over rows of dy h, db = sum over rows of dy, and with dh = g dy
//   dx = s (dh - mean(dh) - h mean(dh h)):
//   the two means are what x_j does to its row's mean and to its row's deviation.

template <class Real>
void layer_norm_forward(ConstView<Real> input, ConstView<Real> gain, ConstView<Real> bias,
                        NormCache<Real> cache, View<Real> output) {
  const std::size_t d = input.columns;
  for (std::size_t i = 0; i < input.rows; ++i) {
    const Real* x = input.row(i);
    Real* h = cache.normalised.row(i);
    Real* y = output.row(i);
    const Real mean = lane_sum<Real>(d, [=](std::size_t j) { return x[j]; }) / static_cast<Real>(d);
    const Real variance = lane_sum<Real>(d, [=](std::size_t j) { return (x[j] - mean) * (x[j] - mean); }) /
                          static_cast<Real>(d);
    const Real s = 1 / std::sqrt(variance + static_cast<Real>(norm_epsilon));
    cache.inverse_scale.data[i] = s;
    for (std::size_t j = 0; j < d; ++j) {
      h[j] = (x[j] - mean) * s;
      y[j] = gain.data[j] * h[j] + bias.data[j];
    }
  }
}

template <class Real>
void layer_norm_backward(NormCache<Real> cache, ConstView<Real> gain, ConstView<Real> d_output,
                         View<Real> d_input, View<Real> d_gain, View<Real> d_bias) {
  const std::size_t d = d_output.columns;
  const Real* g = gain.data;
  for (std::size_t i = 0; i < d_output.rows; ++i) {
    const Real* h = cache.normalised.row(i);
    const Real* dy = d_output.row(i);
    Real* dx = d_input.row(i);
    const Real s = cache.inverse_scale.data[i];
    const Real mean_dh =
        lane_sum<Real>(d, [=](std::size_t j) { return g[j] * dy[j]; }) / static_cast<Real>(d);
    const Real mean_dh_h =
        lane_sum<Real>(d, [=](std::size_t j) { return g[j] * dy[j] * h[j]; }) / static_cast<Real>(d);
    for (std::size_t j = 0; j < d; ++j) dx[j] += s * (g[j] * dy[j] - mean_dh - h[j] * mean_dh_h);
    for (std::size_t j = 0; j < d; ++j) d_gain.data[j] += dy[j] * h[j];
    for (std::size_t j = 0; j < d; ++j) d_bias.data[j] += dy[j];
  }
}

// RMS norm: h = x s with s = 1 / sqrt(mean(x^2) + epsilon), y = g h. As layer norm without the mean:
//   dg = sum over rows of dy h, and with dh = g dy: dx = s (dh - h mean(dh h)).

template <class Real>
void rms_norm_forward(ConstView<Real> input, ConstView<Real> gain, NormCache<Real> cache, View<Real> output) {
  const std::size_t d = input.columns;
  for (std::size_t i = 0; i < input.rows; ++i) {
    const Real* x = input.row(i);
    const Real mean_square = row_dot(x, x, d) / static_cast<Real>(d);
    const Real s = 1 / std::sqrt(mean_square + static_cast<Real>(norm_epsilon));
    cache.inverse_scale.data[i] = s;
    for (std::size_t j = 0; j < d; ++j) {
      cache.normalised(i, j) = x[j] * s;
      output(i, j) = gain.data[j] * cache.normalised(i, j);
    }
  }
}

template <class Real>
void rms_norm_backward(NormCache<Real> cache, ConstView<Real> gain, ConstView<Real> d_output,
                       View<Real> d_input, View<Real> d_gain) {
  const std::size_t d = d_output.columns;
  const Real* g = gain.data;
  for (std::size_t i = 0; i < d_output.rows; ++i) {
    const Real* h = cache.normalised.row(i);
    const Real* dy = d_output.row(i);
    const Real mean_dh_h =
        lane_sum<Real>(d, [=](std::size_t j) { return g[j] * dy[j] * h[j]; }) / static_cast<Real>(d);
    for (std::size_t j = 0; j < d; ++j) {
      d_input(i, j) += cache.inverse_scale.data[i] * (g[j] * dy[j] - h[j] * mean_dh_h);
      d_gain.data[j] += dy[j] * h[j];
    }
  }
}

// Activation: y = f(x) element by element, dx = dy f'(x).
//   relu'(x) = 1 above 0, else 0; gelu'(x) = Phi(x) + x phi(x), phi the normal density.

namespace {

template <class Real>
Real normal_distribution(Real x) {
  return Real{0.5} * (1 + std::erf(x / std::numbers::sqrt2_v<Real>));
}

template <class Real>
Real activation(ActivationKind kind, Real x) {
  return kind == ActivationKind::relu ? (x > 0 ? x : Real{0}) : x * normal_distribution(x);
}

template <class Real>
Real activation_derivative(ActivationKind kind, Real x) {
  if (kind == ActivationKind::relu) return x > 0 ? Real{1} : Real{0};
  const Real density =
      std::exp(Real{-0.5} * x * x) * std::numbers::inv_sqrtpi_v<Real> / std::numbers::sqrt2_v<Real>;
  return normal_distribution(x) + x * density;
}

}  // namespace

template <class Real>
void activation_forward(ActivationKind kind, ConstView<Real> input, View<Real> output) {
  for (std::size_t i = 0; i < input.rows; ++i)
    for (std::size_t j = 0; j < input.columns; ++j) output(i, j) = activation<Real>(kind, input(i, j));
}

template <class Real>
void activation_backward(ActivationKind kind, ConstView<Real> input, ConstView<Real> d_output,
                         View<Real> d_input) {
  for (std::size_t i = 0; i < input.rows; ++i)
    for (std::size_t j = 0; j < input.columns; ++j)
      d_input(i, j) += d_output(i, j) * activation_derivative<Real>(kind, input(i, j));
}

// Embedding: a look-up is a product with one-hot rows, so its gradient goes to the rows that were looked up.

template <class Real>
void embedding_forward(std::span<const int> tokens, ConstView<Real> table, View<Real> output) {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const Real* row = table.row(static_cast<std::size_t>(tokens[t]));
    for (std::size_t j = 0; j < table.columns; ++j) output(t, j) = row[j];
  }
}

template <class Real>
void embedding_backward(std::span<const int> tokens, ConstView<Real> d_output, View<Real> d_table) {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    Real* row = d_table.row(static_cast<std::size_t>(tokens[t]));
    for (std::size_t j = 0; j < d_table.columns; ++j) row[j] += d_output(t, j);
  }
}

// Cross-entropy: loss = -log p_y with p = softmax(z), that is log(sum_j exp z_j) - z_y.
//   d loss / d z_j = p_j - [j = y]: what was predicted minus what came.

template <class Real>
void cross_entropy_forward(ConstView<Real> logits, std::span<const int> targets, View<Real> probabilities,
                           std::span<double> losses) {
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const Real target_logit =
        targets[t] == no_target ? Real{0} : logits(t, static_cast<std::size_t>(targets[t]));
    for (std::size_t j = 0; j < logits.columns; ++j) probabilities(t, j) = logits(t, j);
    const SoftmaxSum<Real> total = softmax_row(probabilities.row(t), probabilities.columns);
    losses[t] = targets[t] == no_target ? 0.0
                                        : std::log(static_cast<double>(total.sum)) +
                                              static_cast<double>(total.maximum - target_logit);
  }
}

template <class Real>
void cross_entropy_backward(ConstView<Real> probabilities, std::span<const int> targets,
                            std::type_identity_t<Real> scale, View<Real> d_logits) {
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] == no_target) continue;
    for (std::size_t j = 0; j < d_logits.columns; ++j) d_logits(t, j) += scale * probabilities(t, j);
    d_logits(t, static_cast<std::size_t>(targets[t])) -= scale;
  }
}

// The two instances: float trains, double is checked.
template void linear_forward(View<const float>, View<const float>, View<float>);
template void linear_backward(View<const float>, View<const float>, View<const float>, View<float>,
                              View<float>);
template void bias_forward(View<const float>, View<float>);
template void bias_backward(View<const float>, View<float>);
template void layer_norm_forward(View<const float>, View<const float>, View<const float>, NormCache<float>,
                                 View<float>);
template void layer_norm_backward(NormCache<float>, View<const float>, View<const float>, View<float>,
                                  View<float>, View<float>);
template void rms_norm_forward(View<const float>, View<const float>, NormCache<float>, View<float>);
template void rms_norm_backward(NormCache<float>, View<const float>, View<const float>, View<float>,
                                View<float>);
template void activation_forward(ActivationKind, View<const float>, View<float>);
template void activation_backward(ActivationKind, View<const float>, View<const float>, View<float>);
template void embedding_forward(std::span<const int>, View<const float>, View<float>);
template void embedding_backward(std::span<const int>, View<const float>, View<float>);
template void cross_entropy_forward(View<const float>, std::span<const int>, View<float>, std::span<double>);
template void cross_entropy_backward(View<const float>, std::span<const int>, float, View<float>);
template void linear_forward(View<const double>, View<const double>, View<double>);
template void linear_backward(View<const double>, View<const double>, View<const double>, View<double>,
                              View<double>);
template void bias_forward(View<const double>, View<double>);
template void bias_backward(View<const double>, View<double>);
template void layer_norm_forward(View<const double>, View<const double>, View<const double>,
                                 NormCache<double>, View<double>);
template void layer_norm_backward(NormCache<double>, View<const double>, View<const double>, View<double>,
                                  View<double>, View<double>);
template void rms_norm_forward(View<const double>, View<const double>, NormCache<double>, View<double>);
template void rms_norm_backward(NormCache<double>, View<const double>, View<const double>, View<double>,
                                View<double>);
template void activation_forward(ActivationKind, View<const double>, View<double>);
template void activation_backward(ActivationKind, View<const double>, View<const double>, View<double>);
template void embedding_forward(std::span<const int>, View<const double>, View<double>);
template void embedding_backward(std::span<const int>, View<const double>, View<double>);
template void cross_entropy_forward(View<const double>, std::span<const int>, View<double>,
                                    std::span<double>);
template void cross_entropy_backward(View<const double>, std::span<const int>, double, View<double>);

}  // namespace attnlab
