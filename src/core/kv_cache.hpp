// The key-value cache of generation: decoding in chunks, a ring for windows, pages, and codes of few bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/attention.hpp"
#include "core/positions.hpp"
#include "core/tensor.hpp"

namespace attnlab {

struct DecodeOptions {
  bool causal = true;
  std::optional<std::size_t> window;  ///< a token sees itself and the window - 1 tokens before it
  std::optional<Rope> rope;           ///< rotated by position in the sequence, keys once when they are stored
  std::optional<double> scale;        ///< 1 / sqrt(d) unless given
};

/// Feeds query, key [tokens, d] and value [tokens, width] through a cache in chunks of the given lengths;
/// each chunk's queries see the cache and their own chunk. Returns [tokens, width]: for causal attention the
/// rows of one full pass. Throws Error(data) when shapes do not fit or the chunks do not add up to the
/// tokens.
Matrix decode_in_chunks(const Matrix& query, const Matrix& key, const Matrix& value,
                        const std::vector<std::size_t>& chunks, const DecodeOptions& options);

struct RingReading {
  std::vector<std::int64_t>
      slot_positions;                      ///< [capacity], the position each slot holds; -1 in an empty slot
  std::vector<std::size_t> logical_order;  ///< the positions held, oldest first
  Matrix output;                           ///< [queries, width]
};

/// A cache of `capacity` slots: position p lives in slot p mod capacity, and each token overwrites the
/// oldest. The queries belong to the last tokens, and each sees the newest `capacity` tokens up to its own.
/// Throws Error(data) when shapes do not fit, there are more queries than tokens, or the capacity is zero.
RingReading ring_attention(const Matrix& query, const Matrix& key, const Matrix& value, std::size_t capacity);

/// Attention of query [queries, d] over the first `length` tokens of a paged cache: token t lies in block
/// block_table[t / block_size] at place t mod block_size. Slots after the last token are never read.
/// Throws Error(data) when the table has too few blocks, or names one that the pools do not have.
/// Source: Kwon et al. 2023 (PagedAttention), section 4.
Attention paged_attention(const Matrix& query, const std::vector<Matrix>& key_blocks,
                          const std::vector<Matrix>& value_blocks, const std::vector<double>& block_table,
                          std::size_t block_size, std::size_t length);

enum class QuantScheme {
  affine,     ///< minimum + code * (maximum - minimum) / (2^bits - 1)
  symmetric,  ///< code * largest magnitude / (2^(bits-1) - 1)
};

enum class QuantAxis {
  row,     ///< one range a token, as caches quantise values
  column,  ///< one range a channel, as caches quantise keys (Liu et al. 2024, KIVI)
};

struct Quantized {
  Matrix codes;        ///< whole numbers, as `x`
  Matrix dequantized;  ///< what the codes stand for, as `x`
};

/// `x` rounded to the nearest of 2^bits codes, ties to even. A row (or column) without range has codes 0 and
/// comes back exactly. Throws Error(data) for bits outside 1 .. 16 (affine) or 2 .. 16 (symmetric), and for
/// an entry that is not finite.
Quantized quantized(const Matrix& x, QuantScheme scheme, std::size_t bits, QuantAxis axis);

/// Codes -8 .. 7 [rows, n] as four-bit two's complement, two a byte: element 0 in the low half of byte 0; a
/// last odd one leaves the high half 0. Returns bytes 0 .. 255 [rows, ceil(n / 2)]. Throws Error(data) for
/// any other number.
Matrix packed_int4(const Matrix& codes);

/// The `count` codes a row of such bytes [rows, ceil(count / 2)]: [rows, count]. Throws Error(data) for
/// another width.
Matrix unpacked_int4(const Matrix& bytes, std::size_t count);

}  // namespace attnlab
