// Positions: sinusoidal encodings, rotary embedding, learned tables, and positions under padding.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor.hpp"

namespace attnlab {

/// Encodings of the positions 0 .. seq_len - 1, [seq_len, d_model]: column 2i is sin(position /
/// base^(2i/d_model)), column 2i + 1 the cosine of the same angle. An odd width has one cosine fewer. Source:
/// Vaswani et al. 2017, section 3.5.
Matrix sinusoidal(std::size_t seq_len, std::size_t d_model, double base = 10000);

/// Which columns make a pair that rotates together.
enum class RopeStyle {
  interleaved,  ///< (0, 1), (2, 3), ...: the paper, GPT-J, Llama as Meta published it
  half,         ///< (i, i + width / 2): GPT-NeoX, and Llama, Mistral and Qwen in Hugging Face's layout
};

/// What a rotary embedding needs to know. Source: Su et al. 2021, section 3.2.2.
struct Rope {
  RopeStyle style = RopeStyle::interleaved;
  std::vector<long double> inv_freq;  ///< one a pair: radians a position
  double attention_factor = 1;        ///< multiplies cosines and sines
};

/// base^(-2i/rotary_dim) for i in 0 .. rotary_dim / 2 - 1. Throws Error(data) for an odd or zero width and
/// for a base that is not a positive finite number.
std::vector<long double> rope_frequencies(std::size_t rotary_dim, double base = 10000);

/// A plain rotary embedding over the first rotary_dim columns. Throws as rope_frequencies.
Rope make_rope(std::size_t rotary_dim, RopeStyle style = RopeStyle::interleaved, double base = 10000);

/// Rotates one vector in place as at `position`, which may be negative, fractional or large: angles are
/// formed and reduced in extended precision, so below 2^31 they are right to 1e-9. Columns beyond the rotary
/// width stay. Throws Error(data) when the vector is narrower than the rotary width.
void rotate(std::span<double> vector, double position, const Rope& rope);

/// `x` [rows, width] with row i rotated as at positions[i]. Throws Error(data) when their numbers differ, and
/// as rotate.
Matrix rotated(const Matrix& x, const std::vector<double>& positions, const Rope& rope);

/// 0, 1, ... count - 1.
std::vector<double> counted_positions(std::size_t count);

}  // namespace attnlab
