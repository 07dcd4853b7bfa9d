#include "core/kv_cache.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::infinity;
using testing::not_a_number;
using testing::scattered;

TEST_CASE("kv_cache: every division into chunks gives the rows of one full pass") {
  const Matrix query = scattered(7, 4, 1);
  const Matrix key = scattered(7, 4, 2);
  const Matrix value = scattered(7, 3, 3);
  DecodeOptions options;
  options.rope = make_rope(4);
  for (const std::optional<std::size_t> window :
       {std::optional<std::size_t>{}, std::optional<std::size_t>{3}}) {
    options.window = window;
    AttentionOptions full;
    Reach reach;
    reach.causal = true;
    if (window) reach.left = static_cast<double>(*window) - 1;
    const std::vector<double> positions = counted_positions(7);
    full.mask = reach_mask(positions, positions, reach);
    const Matrix want = attention(rotated(query, positions, *options.rope),
                                  rotated(key, positions, *options.rope), value, full)
                            .output;
    for (const std::vector<std::size_t>& chunks :
         {std::vector<std::size_t>{7}, {1, 1, 1, 1, 1, 1, 1}, {3, 4}, {5, 1, 1}, {1, 6}}) {
      CHECK(difference(decode_in_chunks(query, key, value, chunks, options), want) == "");
    }
  }
}

TEST_CASE("kv_cache: chunks must add up") {
  const Matrix x = zeros(3, 2);
  CHECK_THROWS_WITH_AS(decode_in_chunks(x, x, x, {2}, {}),
                       "chunks: 1 of 3 tokens are in no chunk: lengths must add up", Error);
  CHECK_THROWS_WITH_AS(decode_in_chunks(x, x, x, {2, 2}, {}), "chunks: more than the 3 tokens there are",
                       Error);
  CHECK_THROWS_WITH_AS(decode_in_chunks(x, x, x, {3, 0}, {}),
                       "chunks: a chunk of 0 tokens feeds nothing: give at least 1", Error);
  CHECK_THROWS_AS(decode_in_chunks(zeros(2, 2), x, x, {3}, {}), Error);
}

TEST_CASE("kv_cache: a ring keeps the newest tokens and overwrites the oldest") {
  const Matrix key{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}};
  const Matrix value{{1}, {2}, {4}, {8}, {16}};
  const RingReading ring = ring_attention(Matrix{{0.5, 0.25}}, key, value, 3);
  CHECK(ring.slot_positions == std::vector<std::int64_t>{3, 4, 2});
  CHECK(ring.logical_order == std::vector<std::size_t>{2, 3, 4});
  CHECK(difference(ring.output, Matrix{{10.745794549451192}}) == "");
}

TEST_CASE("kv_cache: ring queries see what a causal window shows") {
  const Matrix query = scattered(6, 2, 1);
  const Matrix key = scattered(6, 2, 2);
  const Matrix value = scattered(6, 2, 3);
  for (const std::size_t capacity : {1U, 2U, 5U, 6U, 9U}) {
    DecodeOptions window;
    window.window = capacity;
    CHECK(difference(ring_attention(query, key, value, capacity).output,
                     decode_in_chunks(query, key, value, {6}, window)) == "");
  }
  CHECK(ring_attention(query, key, value, 8).slot_positions ==
        std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, -1, -1});
  CHECK_THROWS_WITH_AS(ring_attention(query, key, value, 0),
                       "a ring of capacity 0 holds no token: give at least 1", Error);
  CHECK_THROWS_AS(ring_attention(zeros(7, 2), key, value, 3), Error);
}

TEST_CASE("kv_cache: pages are followed in table order and unused slots are never read") {
  const Matrix keys = scattered(6, 2, 1);
  const Matrix values = scattered(6, 1, 2);
  Matrix second_keys{{not_a_number, 0}, {0, 0}, {0, 0}, {0, infinity}};
  Matrix second_values{{0}, {0}, {not_a_number}, {not_a_number}};
  Matrix first_keys = zeros(4, 2);
  Matrix first_values = zeros(4, 1);
  for (std::size_t token = 0; token < 6; ++token) {
    Matrix& key_block = token < 4 ? first_keys : second_keys;
    Matrix& value_block = token < 4 ? first_values : second_values;
    for (std::size_t c = 0; c < 2; ++c) key_block(token % 4, c) = keys(token, c);
    value_block(token % 4, 0) = values(token, 0);
  }
  const Matrix query = scattered(2, 2, 3);
  const Attention paged = paged_attention(query, {second_keys, zeros(4, 2), first_keys},
                                          {second_values, zeros(4, 1), first_values}, {2, 0, 77}, 4, 6);
  const Attention plain = attention(query, keys, values);
  CHECK(difference(paged.output, plain.output, 0) == "");
  CHECK(difference(paged.weights, plain.weights, 0) == "");
}

TEST_CASE("kv_cache: page tables that do not fit are refused") {
  const std::vector<Matrix> pool{zeros(4, 1), zeros(4, 1)};
  const Matrix query = zeros(1, 1);
  CHECK_THROWS_WITH_AS(paged_attention(query, pool, pool, {0, 1}, 4, 9),
                       "a length of 9 does not fit a block table of 2 blocks of 4 tokens", Error);
  CHECK_THROWS_WITH_AS(paged_attention(query, pool, pool, {0, 2}, 4, 5),
                       "the block table names block 2 of a pool of 2: whole numbers from 0 name one", Error);
  CHECK_THROWS_WITH_AS(paged_attention(query, pool, {zeros(4, 1)}, {0}, 4, 1),
                       "pools of 2 key blocks and 1 value blocks do not belong together", Error);
  CHECK_THROWS_AS(paged_attention(query, pool, pool, {-1}, 4, 1), Error);
  CHECK_THROWS_AS(paged_attention(query, pool, pool, {0.5}, 4, 1), Error);
  CHECK_THROWS_WITH_AS(paged_attention(query, pool, pool, {0, 1}, 2, 3),
                       "the pools hold blocks of 4 and 4 tokens where a block size of 2 was given", Error);
  CHECK_THROWS_AS(paged_attention(query, pool, pool, {0}, 4, std::size_t{1} << 63), Error);
  CHECK(difference(paged_attention(query, pool, pool, {}, 4, 0).output, zeros(1, 1)) == "");
}

TEST_CASE("kv_cache: codes are rounded to the nearest and ranges stand by themselves") {
  const Quantized affine =
      quantized(Matrix{{-1, 0.13, 0.47, 2}, {0.7, 0.7, 0.7, 0.7}}, QuantScheme::affine, 8, QuantAxis::row);
  CHECK(difference(affine.codes, Matrix{{0, 96, 125, 255}, {0, 0, 0, 0}}, 0) == "");
  CHECK(difference(affine.dequantized,
                   Matrix{{-1, 0.12941176470588237, 0.47058823529411764, 2}, {0.7, 0.7, 0.7, 0.7}}) == "");
  CHECK(affine.dequantized(1, 2) == 0.7);
  const Quantized symmetric =
      quantized(Matrix{{-3.81, 1.27, 0.5, 2.54}, {0, 0, 0, 0}}, QuantScheme::symmetric, 8, QuantAxis::row);
  CHECK(difference(symmetric.codes, Matrix{{-127, 42, 17, 85}, {0, 0, 0, 0}}, 0) == "");
  CHECK(difference(symmetric.dequantized, Matrix{{-3.81, 1.26, 0.51, 2.55}, {0, 0, 0, 0}}) == "");
}

TEST_CASE("kv_cache: a range beyond double and columns as ranges") {
  const Quantized wide = quantized(Matrix{{-1.7e308, 1.7e308, 0}}, QuantScheme::affine, 1, QuantAxis::row);
  CHECK(difference(wide.codes, Matrix{{0, 1, 0}}) == "");
  CHECK(difference(wide.dequantized, Matrix{{-1.7e308, 1.7e308, -1.7e308}}) == "");
  const Matrix x = scattered(3, 5, 1);
  Matrix turned = zeros(5, 3);
  for (std::size_t i = 0; i < 15; ++i) turned(i % 5, i / 5) = x(i / 5, i % 5);
  const Quantized columns = quantized(x, QuantScheme::affine, 4, QuantAxis::column);
  const Quantized rows = quantized(turned, QuantScheme::affine, 4, QuantAxis::row);
  for (std::size_t i = 0; i < 15; ++i) CHECK(columns.codes(i / 5, i % 5) == rows.codes(i % 5, i / 5));
}

TEST_CASE("kv_cache: the error of a code is at most half a step") {
  const Matrix x = scattered(4, 50, 9);
  for (const std::size_t bits : {2U, 4U, 8U}) {
    const Quantized codes = quantized(x, QuantScheme::affine, bits, QuantAxis::row);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(std::abs(codes.dequantized.data()[i] - x.data()[i]) <= 1.0 / ((1U << bits) - 1) + 1e-15);
    }
  }
}

TEST_CASE("kv_cache: bits out of range and entries that are not finite are refused") {
  CHECK_THROWS_WITH_AS(quantized(zeros(1, 1), QuantScheme::symmetric, 1, QuantAxis::row),
                       "codes of 1 bits: give from 2 to 16", Error);
  CHECK_THROWS_AS(quantized(zeros(1, 1), QuantScheme::affine, 0, QuantAxis::row), Error);
  CHECK_THROWS_AS(quantized(zeros(1, 1), QuantScheme::affine, 17, QuantAxis::row), Error);
  CHECK_THROWS_WITH_AS(quantized(Matrix{{1, infinity}}, QuantScheme::affine, 8, QuantAxis::column),
                       "inf at [0, 1] has no code: entries must be finite", Error);
  CHECK(quantized(zeros(2, 0), QuantScheme::affine, 8, QuantAxis::row).codes.size() == 0);
  CHECK(quantized(zeros(0, 2), QuantScheme::affine, 8, QuantAxis::column).codes.shape(1) == 2);
}

TEST_CASE("kv_cache: four-bit codes lie low half first in two's complement") {
  const Matrix codes{{7, -7, 3}, {-8, -1, 0}};
  const Matrix bytes = packed_int4(codes);
  CHECK(difference(bytes, Matrix{{151, 3}, {248, 0}}, 0) == "");
  CHECK(difference(unpacked_int4(bytes, 3), codes, 0) == "");
  CHECK_THROWS_WITH_AS(packed_int4(Matrix{{0, 8}}),
                       "code 8 at [0, 1] does not fit four bits: whole numbers from -8 to 7 do", Error);
  CHECK_THROWS_AS(packed_int4(Matrix{{not_a_number}}), Error);
  CHECK_THROWS_AS(packed_int4(Matrix{{0.5}}), Error);
  CHECK_THROWS_AS(unpacked_int4(bytes, 5), Error);
}
