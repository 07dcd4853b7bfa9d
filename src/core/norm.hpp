// Layer norm and root-mean-square norm of rows.
#pragma once

#include <optional>
#include <span>

#include "core/tensor.hpp"

namespace attnlab {

enum class NormKind {
  layer,  ///< mean removed, divided by the deviation: Ba, Kiros and Hinton 2016; GPT-2, BERT
  rms,    ///< divided by the root mean square, no mean removed: Zhang and Sennrich 2019; Llama, Mistral, Qwen
};

struct NormOptions {
  double eps = 1e-5;           ///< added to the variance or mean square, inside the root; not negative
  std::optional<Vector> gain;  ///< [width], multiplies; 1 unless given
  std::optional<Vector> bias;  ///< [width], added last; 0 unless given
  double gain_offset = 0;      ///< added to every gain: 1 for models that store gain - 1 (Gemma)
};

/// Normalises one row in place. Sums and squares run in extended range and precision, so neither a large
/// common offset nor entries near the ends of double's range spoil the result. A row without spread becomes
/// zeros (plus the bias). Throws Error(data) when gain or bias have another length.
void normalize(std::span<double> row, NormKind kind, const NormOptions& options = {});

/// Every row of `x` [rows, width] normalised. Throws as normalize.
Matrix normalized(const Matrix& x, NormKind kind, const NormOptions& options = {});

}  // namespace attnlab
