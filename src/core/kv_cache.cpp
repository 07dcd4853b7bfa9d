#include "core/kv_cache.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/mask.hpp"
#include "core/matmul.hpp"

namespace attnlab {
namespace {

Matrix rows_of(const Matrix& a, std::size_t first, std::size_t count) {
  Matrix part = Matrix::from_shape({count, a.shape(1)});
  std::copy_n(a.data() + first * a.shape(1), count * a.shape(1), part.data());
  return part;
}

void copy_row(const Matrix& from, std::size_t from_row, Matrix& to, std::size_t to_row) {
  const std::span<const double> row = row_of(from, from_row);
  std::copy(row.begin(), row.end(), row_of(to, to_row).begin());
}

// Keys and values of the tokens so far, in order.
struct Cache {
  Matrix key, value;
  std::size_t length = 0;

  void append(const Matrix& new_key, const Matrix& new_value) {
    for (std::size_t row = 0; row < new_key.shape(0); ++row) {
      copy_row(new_key, row, key, length);
      copy_row(new_value, row, value, length);
      ++length;
    }
  }
};

std::vector<double> positions_from(std::size_t first, std::size_t count) {
  std::vector<double> positions = counted_positions(count);
  for (double& position : positions) position += static_cast<double>(first);
  return positions;
}

void require_chunks(const std::vector<std::size_t>& chunks, std::size_t num_tokens) {
  std::size_t rest = num_tokens;
  for (const std::size_t chunk : chunks) {
    if (chunk == 0)
      throw Error(ErrorKind::data, "chunks: a chunk of 0 tokens feeds nothing: give at least 1");
    if (chunk > rest) {
      throw Error(ErrorKind::data, fmt::format("chunks: more than the {} tokens there are", num_tokens));
    }
    rest -= chunk;
  }
  if (rest != 0) {
    throw Error(ErrorKind::data, fmt::format("chunks: {} of {} tokens are in no chunk: lengths must add up",
                                             rest, num_tokens));
  }
}

// Replaces one range of numbers by codes and by what the codes stand for.
void quantize_range(std::span<double> codes, std::span<double> values, QuantScheme scheme, std::size_t bits) {
  // Extended range, because maximum - minimum of doubles need not be a double.
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool affine = scheme == QuantScheme::affine;
  const long double origin = affine ? *low : 0;
  const long double range = affine ? *high - origin : std::max<long double>(std::abs(*low), std::abs(*high));
  if (range == 0) return;  // codes 0, values as they are
  const long double levels = static_cast<long double>((std::size_t{1} << (affine ? bits : bits - 1)) - 1);
  for (std::size_t n = 0; n < codes.size(); ++n) {
    const long double code = std::nearbyint((values[n] - origin) / range * levels);
    codes[n] = static_cast<double>(code) + 0.0;  // no minus zero
    values[n] = static_cast<double>(origin + code * range / levels);
  }
}

}  // namespace

Matrix decode_in_chunks(const Matrix& query, const Matrix& key, const Matrix& value,
                        const std::vector<std::size_t>& chunks, const DecodeOptions& options) {
  check_attention_shapes(query, key, value, {});
  const std::size_t num_tokens = key.shape(0);
  if (query.shape(0) != num_tokens) {
    throw Error(ErrorKind::data, fmt::format("query {} and key {} need the same number of rows, one a token",
                                             shape_text(query), shape_text(key)));
  }
  require_chunks(chunks, num_tokens);
  Reach reach;
  reach.causal = options.causal || options.window.has_value();
  if (options.window) reach.left = static_cast<double>(*options.window) - 1;

  Cache cache{zeros(num_tokens, key.shape(1)), zeros(num_tokens, value.shape(1))};
  Matrix output = zeros(num_tokens, value.shape(1));
  for (const std::size_t chunk : chunks) {
    const std::size_t first = cache.length;
    const std::vector<double> positions = positions_from(first, chunk);
    Matrix new_query = rows_of(query, first, chunk);
    Matrix new_key = rows_of(key, first, chunk);
    if (options.rope) {
      new_query = rotated(new_query, positions, *options.rope);
      new_key = rotated(new_key, positions, *options.rope);
    }
    cache.append(new_key, rows_of(value, first, chunk));
    AttentionOptions attend;
    attend.scale = options.scale;
    attend.mask = reach_mask(positions, counted_positions(cache.length), reach);
    const Attention step = attention(new_query, rows_of(cache.key, 0, cache.length),
                                     rows_of(cache.value, 0, cache.length), attend);
    for (std::size_t row = 0; row < chunk; ++row) copy_row(step.output, row, output, first + row);
  }
  return output;
}

RingReading ring_attention(const Matrix& query, const Matrix& key, const Matrix& value,
                           std::size_t capacity) {
  check_attention_shapes(query, key, value, {});
  const std::size_t num_tokens = key.shape(0);
  if (capacity == 0) throw Error(ErrorKind::data, "a ring of capacity 0 holds no token: give at least 1");
  if (query.shape(0) > num_tokens) {
    throw Error(ErrorKind::data, fmt::format("query {} has more rows than the {} tokens in key",
                                             shape_text(query), num_tokens));
  }
  const std::size_t first_query = num_tokens - query.shape(0);
  const std::size_t num_slots = std::min(capacity, num_tokens);
  Matrix slot_keys = zeros(num_slots, key.shape(1));
  Matrix slot_values = zeros(num_slots, value.shape(1));
  RingReading ring{std::vector<std::int64_t>(capacity, -1), {}, zeros(query.shape(0), value.shape(1))};
  for (std::size_t token = 0; token < num_tokens; ++token) {
    const std::size_t slot = token % capacity;
    copy_row(key, token, slot_keys, slot);
    copy_row(value, token, slot_values, slot);
    ring.slot_positions[slot] = static_cast<std::int64_t>(token);
    if (token < first_query) continue;
    // Attention does not mind the order of its keys, so the ring is read as it lies.
    const std::size_t held = std::min(token + 1, capacity);
    const Matrix own_query = rows_of(query, token - first_query, 1);
    const Attention step = attention(own_query, rows_of(slot_keys, 0, held), rows_of(slot_values, 0, held));
    copy_row(step.output, 0, ring.output, token - first_query);
  }
  for (std::size_t token = num_tokens - num_slots; token < num_tokens; ++token)
    ring.logical_order.push_back(token);
  return ring;
}

Attention paged_attention(const Matrix& query, const std::vector<Matrix>& key_blocks,
                          const std::vector<Matrix>& value_blocks, const std::vector<double>& block_table,
                          std::size_t block_size, std::size_t length) {
  if (key_blocks.size() != value_blocks.size()) {
    throw Error(ErrorKind::data,
                fmt::format("pools of {} key blocks and {} value blocks do not belong together",
                            key_blocks.size(), value_blocks.size()));
  }
  if (block_size == 0) throw Error(ErrorKind::data, "blocks of 0 tokens hold nothing: give at least 1");
  if (length > 0 && (length - 1) / block_size >= block_table.size()) {
    throw Error(ErrorKind::data,
                fmt::format("a length of {} does not fit a block table of {} blocks of {} tokens", length,
                            block_table.size(), block_size));
  }
  const std::size_t key_width = key_blocks.empty() ? query.shape(1) : key_blocks[0].shape(1);
  Matrix key = zeros(length, key_width);
  Matrix value = zeros(length, value_blocks.empty() ? 0 : value_blocks[0].shape(1));
  for (std::size_t token = 0; token < length; ++token) {
    const double block = block_table[token / block_size];
    if (!(block >= 0) || !(block < static_cast<double>(key_blocks.size())) || block != std::floor(block)) {
      throw Error(ErrorKind::data,
                  fmt::format("the block table names block {} of a pool of {}: whole numbers from 0 "
                              "name one",
                              block, key_blocks.size()));
    }
    const std::size_t place = static_cast<std::size_t>(block);
    if (key_blocks[place].shape(0) != block_size || value_blocks[place].shape(0) != block_size) {
      throw Error(ErrorKind::data,
                  fmt::format("the pools hold blocks of {} and {} tokens where a block size of {} "
                              "was given",
                              key_blocks[place].shape(0), value_blocks[place].shape(0), block_size));
    }
    copy_row(key_blocks[place], token % block_size, key, token);
    copy_row(value_blocks[place], token % block_size, value, token);
  }
  return attention(query, key, value);
}

Quantized quantized(const Matrix& x, QuantScheme scheme, std::size_t bits, QuantAxis axis) {
  const std::size_t fewest = scheme == QuantScheme::symmetric ? 2 : 1;
  if (bits < fewest || bits > 16) {
    throw Error(ErrorKind::data, fmt::format("codes of {} bits: give from {} to 16", bits, fewest));
  }
  for (std::size_t row = 0; row < x.shape(0); ++row) {
    for (std::size_t c = 0; c < x.shape(1); ++c) {
      if (std::isfinite(x(row, c))) continue;
      throw Error(ErrorKind::data,
                  fmt::format("{} at [{}, {}] has no code: entries must be finite", x(row, c), row, c));
    }
  }
  if (axis == QuantAxis::column) {
    const Quantized by_row = quantized(transposed(x), scheme, bits, QuantAxis::row);
    return {transposed(by_row.codes), transposed(by_row.dequantized)};
  }
  Quantized result{zeros(x.shape(0), x.shape(1)), x};
  for (std::size_t row = 0; row < x.shape(0) && x.shape(1) > 0; ++row) {
    quantize_range(row_of(result.codes, row), row_of(result.dequantized, row), scheme, bits);
  }
  return result;
}

Matrix packed_int4(const Matrix& codes) {
  const std::size_t count = codes.shape(1);
  Matrix bytes = zeros(codes.shape(0), count / 2 + count % 2);
  for (std::size_t row = 0; row < codes.shape(0); ++row) {
    for (std::size_t n = 0; n < count; ++n) {
      const double code = codes(row, n);
      if (!(code >= -8 && code <= 7) || code != std::floor(code)) {
        throw Error(ErrorKind::data,
                    fmt::format("code {} at [{}, {}] does not fit four bits: whole numbers from -8 to "
                                "7 do",
                                code, row, n));
      }
      const int nibble = static_cast<int>(code) & 0xF;
      bytes(row, n / 2) += n % 2 == 0 ? nibble : nibble << 4;
    }
  }
  return bytes;
}

Matrix unpacked_int4(const Matrix& bytes, std::size_t count) {
  if (bytes.shape(1) != count / 2 + count % 2) {
    throw Error(ErrorKind::data,
                fmt::format("bytes {} do not hold {} codes a row", shape_text(bytes), count));
  }
  Matrix codes = zeros(bytes.shape(0), count);
  for (std::size_t row = 0; row < codes.shape(0); ++row) {
    for (std::size_t n = 0; n < count; ++n) {
      const int byte = static_cast<int>(bytes(row, n / 2));
      const int nibble = n % 2 == 0 ? byte & 0xF : byte >> 4;
      codes(row, n) = nibble < 8 ? nibble : nibble - 16;
    }
  }
  return codes;
}

}  // namespace attnlab
