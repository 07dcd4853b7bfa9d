// Work and memory of a transformer: FLOPs by the conventions in use, key-value cache, scores, training
// memory.
//
// A multiply-add is two operations. Every figure is a Quantity: its value, exact in whole numbers, beside the
// formula it came from and that formula with the numbers put in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/architecture.hpp"
#include "accounting/parameters.hpp"
#include "core/integer.hpp"

namespace attnlab {

struct Quantity {
  std::string name;     ///< e.g. "attention_6LTd"
  Int128 value = 0;     ///< the figure is value / per
  Int128 per = 1;       ///< above 1 only where the figure is no whole number
  std::string unit;     ///< "FLOPs", "bytes", "entries", "tokens" ...
  std::string formula;  ///< in the letters of the field, e.g. "6 L T d"
  std::string numbers;  ///< the formula with the numbers put in
  std::string meaning;  ///< one clause

  double real() const { return static_cast<double>(value) / static_cast<double>(per); }
};

/// The one of that name; throws Error(fault) without it.
const Quantity& find_quantity(const std::vector<Quantity>& list, std::string_view name);

/// 1024, or the longest sequence of the model where that is shorter.
std::int64_t usual_seq_len(const Architecture& architecture);

/// How many pairs of query and key attention looks at in a sequence of `seq_len`: causal, windowed or all.
Int128 attended_pairs(const AttentionShape& attention, std::int64_t seq_len);

/// FLOPs of one token in training, by every convention in use: "six_n" and its kin, "attention_6LTd" (Kaplan
/// et al. 2020; the causal half), "attention_full_training" (12 L T d; Chowdhery et al. 2022),
/// "attention_causal_training", "forward_matmul_per_token", forward, backward and recomputation. For an
/// encoder-decoder these are of a token of the decoder; "encoder_matmul_per_position" is the other side.
std::vector<Quantity> flops_per_token(const Architecture& architecture, const ParameterCount& count,
                                      std::int64_t seq_len);

/// FLOPs of reading `seq_len` tokens at once, and of one more token when `seq_len` are in the cache.
std::vector<Quantity> inference_flops(const Architecture& architecture, const ParameterCount& count,
                                      std::int64_t seq_len);

/// 6 N D. Throws Error(usage) beyond 127 bits.
Int128 training_compute(Int128 parameters, Int128 tokens);

/// Hours of one GPU for that many FLOPs at `flops_per_second`, of which `utilisation` in (0, 1] is reached.
/// Throws Error(usage) for a rate or utilisation out of range.
double gpu_hours(Int128 flops, double flops_per_second, double utilisation);

/// Numbers that one more token adds to the cache, all layers. 0 for a model that only encodes.
Int128 cache_elements_per_token(const Architecture& architecture);

struct CacheOptions {
  std::int64_t seq_len = 1024;
  std::int64_t batch = 1;
  std::int64_t bits = 16;  ///< of one stored number
};

/// Bytes of the cache: "kv_bytes_per_token" (of one sequence, before any window), "kv_bytes" (reserved: each
/// layer holds the whole context), "kv_bytes_windowed" (lower bound: a layer holds no more than its window),
/// and "cross_kv_bytes" (keys and values of as many encoder positions, held once).
std::vector<Quantity> cache_size(const Architecture& architecture, const CacheOptions& options);

/// Bytes a token adds if the same model had other key heads: as built, one for each head, groups, one in all,
/// and a latent of DeepSeek's width.
std::vector<Quantity> cache_alternatives(const Architecture& architecture, std::int64_t bits);

/// Bytes of a plain key-value cache: 2 x layers x kv_heads x head_dim x length x batch numbers.
/// Throws Error(usage) when a size is negative or the product passes 127 bits.
Int128 kv_cache_bytes(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t length,
                      std::int64_t batch, std::int64_t bits);

/// Tokens of the longest context whose cache fits into `budget` bytes beside the weights at `weight_bits`:
/// "largest_context" (reserved) and "largest_context_windowed"; -1 = no limit. The model's own limit is not
/// applied.
std::vector<Quantity> largest_context(const Architecture& architecture, const ParameterCount& count,
                                      Int128 budget, std::int64_t batch, std::int64_t bits,
                                      std::int64_t weight_bits);

/// Scores before softmax: "score_entries" (T^2, of one head), of a layer and of the model, bytes at 16 bits,
/// what a tiled kernel holds instead, and "score_crossover" (the T from which all layers' scores outnumber
/// the weights).
std::vector<Quantity> score_size(const Architecture& architecture, const ParameterCount& count,
                                 std::int64_t seq_len);

/// Bytes of training in mixed precision with Adam, 16 a parameter (Rajbhandari et al. 2020, section 3.1), and
/// of the activations (Korthikanti et al. 2022, equation 2, with the widths of this model instead of 4 d).
std::vector<Quantity> training_memory(const Architecture& architecture, const ParameterCount& count,
                                      std::int64_t seq_len, std::int64_t batch);

}  // namespace attnlab
