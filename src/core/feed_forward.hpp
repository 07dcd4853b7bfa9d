// Feed-forward layers, their reading as a memory, and the transformer block.
#pragma once

#include <optional>
#include <vector>

#include "core/activation.hpp"
#include "core/heads.hpp"
#include "core/norm.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// Which axis of a weight matrix is the input. A square matrix hides a mix-up from every shape check.
enum class WeightLayout {
  in_out,  ///< y = x W: the lesson, GPT-2's Conv1D, JAX
  out_in,  ///< y = x W^T: torch.nn.Linear, so most published checkpoints
};

/// `x` [rows, in] times `weight`, plus `bias` [out] where given: [rows, out]. Throws Error(data) when sizes
/// differ.
Matrix linear(const Matrix& x, const Matrix& weight, const std::optional<Vector>& bias = {},
              WeightLayout layout = WeightLayout::in_out);

/// Weights [in, out] of a feed-forward layer.
struct FeedForward {
  Activation activation = Activation::gelu;
  Matrix up;                        ///< [d_model, hidden]
  std::optional<Vector> up_bias;    ///< [hidden]
  Matrix down;                      ///< [hidden, d_model]
  std::optional<Vector> down_bias;  ///< [d_model]
  std::optional<Matrix> gate;  ///< [d_model, hidden]; with it activation(x gate) * (x up), SwiGLU with silu
};

/// activation(x up + up_bias) down + down_bias, or its gated form: [rows, d_model]. Throws Error(data) when
/// sizes differ. Source: Vaswani et al. 2017, section 3.3; Shazeer 2020, section 2.
Matrix feed_forward(const Matrix& x, const FeedForward& layer);

/// What a feed-forward layer remembers for each row of x.
struct MemoryReading {
  Matrix coefficients;  ///< [rows, memories], activation(x . key + key bias), not normalised
  Matrix output;        ///< [rows, width], the values weighted by the coefficients
  std::vector<std::size_t>
      strongest;  ///< [rows], the memory of largest magnitude, the lower index of equal ones
};

/// The same layer read as a memory of `keys` [memories, d_model] and `values` [memories, width].
/// Throws Error(data) when sizes differ or there is no memory. Source: Geva et al. 2021, section 2.
MemoryReading memory_reading(const Matrix& x, const Matrix& keys, const Matrix& values,
                             const std::optional<Vector>& key_bias, Activation activation);

/// A pre-norm transformer block.
struct Block {
  NormKind norm = NormKind::layer;
  NormOptions attention_norm;
  NormOptions feed_forward_norm;
  AttentionWeights attention;
  FeedForward feed_forward;
};

/// y = x + attention(norm(x)), then y + feed_forward(norm(y)): [rows, d_model]. What is added to is never
/// normalised. Throws Error(data) when sizes differ. Source: Xiong et al. 2020, section 3.
Matrix pre_norm_block(const Matrix& x, const Block& block, const HeadsOptions& heads);

}  // namespace attnlab
