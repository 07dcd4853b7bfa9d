// Positions: sinusoidal encodings, rotary embedding, learned tables, and positions under padding.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
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

/// How the frequencies of a model trained on short texts are stretched for long ones.
enum class ScalingKind {
  none,
  linear,  ///< every frequency divided by the factor: Chen et al. 2023 (position interpolation)
  ntk,     ///< base * factor^(d/(d-2)): the fastest stays, the slowest is divided by the factor (bloc97 2023)
  dynamic,  ///< ntk by the current length, and only beyond the trained one (emozilla 2023; Qwen 1)
  yarn,  ///< fast ones kept, slow ones divided, blended by rotations in the trained length: Peng et al. 2023
  llama3,  ///< the same idea, blended by inverse wavelength: Llama 3.1's configuration
};

struct RopeScaling {
  ScalingKind kind = ScalingKind::none;
  double factor = 1;              ///< how many times longer; linear, ntk, dynamic, yarn, llama3
  std::optional<double> length;   ///< current length in tokens; dynamic; the trained one unless given
  double original_length = 2048;  ///< trained length in tokens; dynamic, yarn, llama3
  double low_freq_factor = 1;     ///< llama3: below this many rotations fully divided
  double high_freq_factor = 4;    ///< llama3: above this many rotations kept
  double beta_fast = 32;          ///< yarn: from this many rotations on kept
  double beta_slow = 1;           ///< yarn: up to this many rotations fully divided
  bool whole_bounds = true;       ///< yarn: ramp between whole pair numbers, as Llama-style code has it
  std::optional<double> attention_factor;  ///< yarn: 0.1 ln(factor) + 1 unless given, 1 for a factor up to 1
};

/// A rotary embedding over the first rotary_dim columns. Throws Error(data) as rope_frequencies, and where a
/// scaling has no meaning: a factor or length that is not positive, ntk and dynamic with a width of 2, llama3
/// without low < high, yarn without slow < fast or with a base up to 1.
Rope make_rope(std::size_t rotary_dim, RopeStyle style = RopeStyle::interleaved, double base = 10000,
               const RopeScaling& scaling = {});

/// Rotates one vector in place as at `position`, which may be negative, fractional or large: angles are
/// formed and reduced in extended precision, so below 2^31 they are right to 1e-9. Columns beyond the rotary
/// width stay. Throws Error(data) when the vector is narrower than the rotary width.
void rotate(std::span<double> vector, double position, const Rope& rope);

/// The order of columns that turns vectors of interleaved pairs into vectors of half pairs: [width], the even
/// ones of the rotary width first, then the odd ones, then what does not rotate. Throws Error(data) when the
/// rotary width is odd or wider.
std::vector<std::size_t> interleaved_to_half(std::size_t rotary_dim, std::size_t width);

/// `x` [rows, width] with row i rotated as at positions[i]. Throws Error(data) when their numbers differ, and
/// as rotate.
Matrix rotated(const Matrix& x, const std::vector<double>& positions, const Rope& rope);

/// How large scores at this offset can get: the mean of |S_j| over j, where S_j is the sum of exp(i * offset
/// * frequency) over the first j pairs. (pairs + 1) / 2 at offset 0. Source: Su et al. 2021, section 3.4.3
/// and figure 2.
double rope_decay(const Rope& rope, double offset);

/// 0, 1, ... count - 1.
std::vector<double> counted_positions(std::size_t count);

/// The slopes of ALiBi, one a head: 2^(-8(h+1)/n) for a power of two; else those of the next lower power of
/// two, then every other one of twice that power. Source: Press, Smith and Lewis 2022, section 3 and the
/// authors' code.
std::vector<double> alibi_slopes(std::size_t num_heads);

/// -slope * |query position - key position|, [queries, keys]: what ALiBi adds to the scaled scores.
Matrix alibi_bias(const std::vector<double>& query_positions, const std::vector<double>& key_positions,
                  double slope);

/// Row positions[i] of a learned table [maximum, width] for every i. Throws Error(data) for a position that
/// is not a whole number in 0 .. maximum - 1: a learned table ends there.
Matrix learned_positions(const Matrix& table, const std::vector<double>& positions);

/// Positions of the real tokens of one row counted from 0, skipping padding on either side; 0 at padding.
std::vector<std::size_t> positions_without_padding(const std::vector<bool>& is_real);

}  // namespace attnlab
