// Attention of one new token to a cache of keys and values, stored whole or in pages, as float32, float16 or
// int8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/kernels/cpu.hpp"
#include "core/kernels/thread_pool.hpp"

namespace attnlab {

/// How a cache stores its numbers.
enum class CacheType {
  float32,
  float16,  ///< IEEE binary16, as its bits in a std::uint16_t
  int8,     ///< codes -127 .. 127; each row of a head has a scale of its own
};

/// A cache of `num_tokens` tokens. Key and value rows of token t and kv head h begin at the element
/// page * page_stride + h * head_stride + slot * token_stride, where page 0 and slot t stand for a cache that
/// is whole, and page block_table[t / page_size], slot t % page_size for one in pages. Scales of int8 are
/// found in the same way at page * scale_page_stride + h * scale_head_stride + slot.
struct CacheView {
  CacheType type = CacheType::float32;
  const void* key = nullptr;
  const void* value = nullptr;
  const float* key_scale = nullptr;  ///< int8 only
  const float* value_scale = nullptr;
  std::size_t num_tokens = 0;
  std::size_t num_kv_heads = 1;
  std::size_t head_dim = 0;
  std::size_t value_dim = 0;  ///< of rows that lie as far apart as those of key
  std::size_t head_stride = 0;
  std::size_t token_stride = 0;
  std::size_t scale_head_stride = 0;
  std::span<const std::uint32_t> block_table = {};  ///< empty for a cache that is whole
  std::size_t page_size = 0;                        ///< tokens a page
  std::size_t page_stride = 0;
  std::size_t scale_page_stride = 0;
};

/// The view of a whole float32 cache [num_kv_heads, num_tokens, head_dim].
CacheView whole_cache(const float* key, const float* value, std::size_t num_kv_heads, std::size_t num_tokens,
                      std::size_t head_dim);

/// softmax(scale query key^T) value for one token: query [num_heads, head_dim] to output [num_heads,
/// value_dim], where consecutive query heads share a kv head. Every key and value is read once. An empty
/// cache gives zeros. `scale` is 1 / sqrt(head_dim) where empty. Throws Error(data) when sizes do not fit or
/// the block table is too short, Error(usage) when the processor lacks the instruction set. Accuracy: about
/// 1e-6 of the output's size for the numbers stored. The bits are the same for any number of threads, and for
/// pages and whole; they differ from a full pass of attention, which sums in another order.
void cached_attention(std::span<const float> query, const CacheView& cache, std::span<float> output,
                      ThreadPool& threads, std::optional<float> scale = {},
                      std::optional<InstructionSet> instruction_set = {});

/// The nearest float16 of each number, ties to even, as bits; beyond 65504 infinity.
std::vector<std::uint16_t> to_float16(std::span<const float> numbers);

/// Rows of codes, each with the scale that gives its numbers back: number = code * scale.
struct Int8Rows {
  std::vector<std::int8_t> codes;
  std::vector<float> scales;  ///< the row's largest magnitude / 127; 0 for a row of zeros
};

/// `numbers` [rows, width] as codes -127 .. 127, rounded to nearest.
/// Throws Error(data) when width does not divide their count or a number is not finite.
Int8Rows to_int8(std::span<const float> numbers, std::size_t width);

}  // namespace attnlab
