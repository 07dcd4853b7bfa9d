// The layers of a transformer, forward and backward, each beside its formula.
//
// Every layer here maps a sequence of n rows to n rows. The backward pass is given the gradient of the loss
// with respect to the layer's output, written d_output, and returns it for each input and weight by the chain
// rule. It always *adds*: what feeds several places (a weight used at every position, the residual stream
// read by a layer and passed on around it) collects the sum over all of them, and callers start from zeros.
//
// Functions take float, which training uses, and double, in which tests compare them with finite differences.
// Vectors (gains, biases, one number for each position) are views of one row. Sources: Rumelhart, Hinton and
// Williams 1986 for the method; each layer names its own.
#pragma once

#include <span>

#include "core/backward/view.hpp"

namespace attnlab {

/// output = input weight: [n, d_in] [d_in, d_out] -> [n, d_out].
template <class Real>
void linear_forward(ConstView<Real> input, ConstView<Real> weight, View<Real> output);
/// d_input += d_output weight^T, d_weight += input^T d_output.
template <class Real>
void linear_backward(ConstView<Real> input, ConstView<Real> weight, ConstView<Real> d_output,
                     View<Real> d_input, View<Real> d_weight);

/// Adds bias [1, d] to every row of output [n, d].
template <class Real>
void bias_forward(ConstView<Real> bias, View<Real> output);
/// d_bias += the sum over all rows of d_output.
template <class Real>
void bias_backward(ConstView<Real> d_output, View<Real> d_bias);

/// What the backward pass of a norm needs to remember of the forward pass.
template <class Real>
struct NormCache {
  View<Real> normalised;     ///< [n, d], before gain and bias
  View<Real> inverse_scale;  ///< [1, n]: 1 / standard deviation, or 1 / root mean square
};

/// Added to the variance, or to the mean square, below the root.
inline constexpr double norm_epsilon = 1e-5;

/// output = gain * (x - mean) / sqrt(variance + epsilon) + bias, each row by itself. Ba, Kiros and Hinton
/// 2016.
template <class Real>
void layer_norm_forward(ConstView<Real> input, ConstView<Real> gain, ConstView<Real> bias,
                        NormCache<Real> cache, View<Real> output);
/// Adds to d_input [n, d], d_gain and d_bias [1, d].
template <class Real>
void layer_norm_backward(NormCache<Real> cache, ConstView<Real> gain, ConstView<Real> d_output,
                         View<Real> d_input, View<Real> d_gain, View<Real> d_bias);

/// output = gain * x / sqrt(mean of x^2 + epsilon), each row by itself. Zhang and Sennrich 2019.
template <class Real>
void rms_norm_forward(ConstView<Real> input, ConstView<Real> gain, NormCache<Real> cache, View<Real> output);
/// Adds to d_input [n, d] and d_gain [1, d].
template <class Real>
void rms_norm_backward(NormCache<Real> cache, ConstView<Real> gain, ConstView<Real> d_output,
                       View<Real> d_input, View<Real> d_gain);

/// The activation between the two linear maps of a feed-forward layer.
enum class ActivationKind { relu, gelu };

/// relu: max(x, 0). gelu: x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016).
template <class Real>
void activation_forward(ActivationKind kind, ConstView<Real> input, View<Real> output);
/// d_input += d_output * derivative at input; relu's is 0 at 0.
template <class Real>
void activation_backward(ActivationKind kind, ConstView<Real> input, ConstView<Real> d_output,
                         View<Real> d_input);

/// output[t] = table[tokens[t]]; every token is a row of the table.
template <class Real>
void embedding_forward(std::span<const int> tokens, ConstView<Real> table, View<Real> output);
/// d_table[tokens[t]] += d_output[t].
template <class Real>
void embedding_backward(std::span<const int> tokens, ConstView<Real> d_output, View<Real> d_table);

/// Target of a position that predicts nothing, as the last of a sequence.
inline constexpr int no_target = -1;

/// losses[t] = -log softmax(logits[t])[targets[t]] in nats, 0 without target; probabilities [n, vocabulary]
/// is the softmax, for the backward pass (may be the memory of the logits).
template <class Real>
void cross_entropy_forward(ConstView<Real> logits, std::span<const int> targets, View<Real> probabilities,
                           std::span<double> losses);
/// d_logits += scale * (probabilities - one at the target), 0 without target; scale is the weight of one
/// position's loss, 1 / count for a mean.
template <class Real>
void cross_entropy_backward(ConstView<Real> probabilities, std::span<const int> targets,
                            std::type_identity_t<Real> scale, View<Real> d_logits);

}  // namespace attnlab
