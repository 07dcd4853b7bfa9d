// The nonlinearities of feed-forward layers, accurate in both tails.
#pragma once

#include "core/tensor.hpp"

namespace attnlab {

enum class Activation {
  gelu,       ///< x Phi(x) with the normal distribution function: BERT
  gelu_tanh,  ///< its approximation by tanh: GPT-2
  relu,       ///< max(x, 0): the transformer of 2017
  silu,       ///< x / (1 + exp(-x)), also called swish: inside SwiGLU
};

/// One value. The relative error stays small where the result is tiny, and the limits at infinity are exact.
/// Source: Hendrycks and Gimpel 2016 (GELU, SiLU).
double activate(Activation kind, double x);

/// Every element of `x`.
Matrix activated(Activation kind, const Matrix& x);

/// silu(gate) * up, element by element. Throws Error(data) when the shapes differ.
/// Source: Shazeer 2020, equation 5.
Matrix swiglu(const Matrix& gate, const Matrix& up);

}  // namespace attnlab
