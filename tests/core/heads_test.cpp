#include "core/heads.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/norm.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

namespace {

HeadsOptions of_heads(std::size_t num_heads, std::size_t num_kv_heads) {
  HeadsOptions options;
  options.num_heads = num_heads;
  options.num_kv_heads = num_kv_heads;
  return options;
}

}  // namespace

TEST_CASE("heads: splitting and joining are inverse") {
  const Matrix packed = scattered(3, 6, 1);
  const Matrix joined =
      concatenated({head_columns(packed, 0, 3), head_columns(packed, 1, 3), head_columns(packed, 2, 3)});
  CHECK(difference(joined, packed, 0) == "");
  CHECK_THROWS_WITH_AS(head_columns(packed, 0, 4),
                       "6 columns do not divide into 4 heads: the width must be a multiple", Error);
  CHECK_THROWS_WITH_AS(head_columns(packed, 0, 0), "no heads at all: at least 1 is needed", Error);
  CHECK_THROWS_AS(concatenated({zeros(2, 1), zeros(3, 1)}), Error);
  CHECK(concatenated({}).size() == 0);
}

TEST_CASE("heads: neighbouring query heads share a key head") {
  CHECK(kv_head_of(0, 4, 2) == 0);
  CHECK(kv_head_of(1, 4, 2) == 0);
  CHECK(kv_head_of(2, 4, 2) == 1);
  CHECK(kv_head_of(5, 6, 3) == 2);
  CHECK_THROWS_WITH_AS(kv_head_of(0, 6, 4),
                       "6 query heads do not divide evenly among 4 key heads: give a multiple", Error);
  CHECK_THROWS_WITH_AS(kv_head_of(0, 0, 0), "the number of heads must be positive: at least 1", Error);
}

TEST_CASE("heads: one token returns the values of the shared heads") {
  const HeadsResult result =
      attention_of_heads(Matrix{{1, 2, 3, 4}}, Matrix{{1, 1}}, Matrix{{10, 20}}, of_heads(4, 2));
  CHECK(difference(result.output, Matrix{{10, 10, 20, 20}}) == "");
}

TEST_CASE("heads: each head is attention of its own columns and scaled by its own width") {
  const Matrix query = scattered(5, 8, 1);
  const Matrix key = scattered(6, 4, 2);
  const Matrix value = scattered(6, 6, 3);
  const HeadsResult result = attention_of_heads(query, key, value, of_heads(4, 2));
  for (std::size_t head = 0; head < 4; ++head) {
    const Attention alone = attention(head_columns(query, head, 4), head_columns(key, head / 2, 2),
                                      head_columns(value, head / 2, 2));
    CHECK(difference(head_columns(result.output, head, 4), alone.output) == "");
    CHECK(difference(result.heads[head].weights, alone.weights) == "");
  }
}

TEST_CASE("heads: norm then rotation before the scores and options a head") {
  const Matrix query = scattered(3, 8, 1);
  const Matrix key = scattered(3, 8, 2);
  const Matrix value = scattered(3, 2, 3);
  HeadsOptions options = of_heads(2, 2);
  options.qk_norm = QkNorm{1e-6, Vector{2, 0.5, 1, 3}};
  options.rope = make_rope(4);
  options.query_positions = options.key_positions = {0, 1, 2};
  options.options_of = [](std::size_t head) {
    AttentionOptions own;
    own.scale = head == 0 ? 0.5 : 2.0;
    return own;
  };
  const HeadsResult result = attention_of_heads(query, key, value, options);
  NormOptions norm;
  norm.eps = 1e-6;
  norm.gain = options.qk_norm->gain;
  for (std::size_t head = 0; head < 2; ++head) {
    const auto prepared = [&](const Matrix& packed) {
      return rotated(normalized(head_columns(packed, head, 2), NormKind::rms, norm), {0, 1, 2},
                     *options.rope);
    };
    AttentionOptions own;
    own.scale = head == 0 ? 0.5 : 2.0;
    const Attention alone = attention(prepared(query), prepared(key), head_columns(value, head, 2), own);
    CHECK(difference(head_columns(result.output, head, 2), alone.output) == "");
  }
}

TEST_CASE("heads: blocks give what the full matrix gives") {
  const Matrix query = scattered(5, 8, 1);
  HeadsOptions options = of_heads(2, 2);
  const HeadsResult whole = attention_of_heads(query, query, query, options);
  options.blocks = BlockSizes{2, 3};
  CHECK(difference(attention_of_heads(query, query, query, options).output, whole.output) == "");
}

TEST_CASE("heads: fused projections have two layouts") {
  const Matrix fused{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const Qkv whole = split_qkv(fused, 2, QkvLayout::concatenated);
  CHECK(difference(whole.query, Matrix{{1, 2, 3, 4}}) == "");
  CHECK(difference(whole.key, Matrix{{5, 6, 7, 8}}) == "");
  CHECK(difference(whole.value, Matrix{{9, 10, 11, 12}}) == "");
  const Qkv in_turn = split_qkv(fused, 2, QkvLayout::per_head);
  CHECK(difference(in_turn.query, Matrix{{1, 2, 7, 8}}) == "");
  CHECK(difference(in_turn.key, Matrix{{3, 4, 9, 10}}) == "");
  CHECK(difference(in_turn.value, Matrix{{5, 6, 11, 12}}) == "");
  CHECK_THROWS_AS(split_qkv(zeros(1, 8), 2, QkvLayout::concatenated), Error);
  CHECK_THROWS_AS(split_qkv(zeros(1, 9), 2, QkvLayout::per_head), Error);
  CHECK_THROWS_AS(split_qkv(fused, 0, QkvLayout::concatenated), Error);
  CHECK_THROWS_AS(split_qkv(fused, 0, QkvLayout::per_head), Error);
}

TEST_CASE("heads: the layer projects joins and projects back") {
  const AttentionWeights weights{Matrix{{1, 0}, {0, 1}}, Matrix{{1, 0}, {0, 2}}, Matrix{{1, 2}, {3, 5}},
                                 Matrix{{1, 10}, {100, 1000}}};
  HeadsOptions options = of_heads(2, 2);
  options.options_of = [](std::size_t) {
    AttentionOptions own;
    own.mask = causal_mask(2, 2);
    return own;
  };
  const Matrix x{{1, 2}, {3, -1}};
  CHECK(difference(multi_head_attention(x, x, weights, options),
                   Matrix{{1207, 12070}, {102.7371938343947, 1027.371938343947}}) == "");
}
