#include "core/feed_forward.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

TEST_CASE("linear: the layout decides which axis is the input") {
  const Matrix x{{1, 2}};
  const Matrix weight{{1, 2}, {3, 4}};
  CHECK(difference(linear(x, weight), Matrix{{7, 10}}) == "");
  CHECK(difference(linear(x, weight, {}, WeightLayout::out_in), Matrix{{5, 11}}) == "");
  CHECK(difference(linear(x, weight, Vector{1, -1}), Matrix{{8, 9}}) == "");
  CHECK_THROWS_WITH_AS(linear(x, weight, Vector{1, 2, 3}), "bias: length 3 where the output has width 2",
                       Error);
}

TEST_CASE("feed_forward: plain and gated forms") {
  FeedForward layer;
  layer.activation = Activation::relu;
  layer.up = Matrix{{1, -1}};
  layer.up_bias = Vector{0, 1};
  layer.down = Matrix{{2}, {5}};
  layer.down_bias = Vector{100};
  CHECK(difference(feed_forward(Matrix{{3}, {-2}}, layer), Matrix{{106}, {115}}) == "");
  const Matrix x = scattered(3, 4, 1);
  FeedForward gated;
  gated.activation = Activation::silu;
  gated.up = scattered(4, 6, 2);
  gated.gate = scattered(4, 6, 3);
  gated.down = scattered(6, 4, 4);
  const Matrix want = matmul(swiglu(matmul(x, *gated.gate), matmul(x, gated.up)), gated.down);
  CHECK(difference(feed_forward(x, gated), want) == "");
  gated.gate = scattered(4, 5, 3);
  CHECK_THROWS_WITH_AS(feed_forward(x, gated), "gate [4, 5] and up [4, 6] need equal shapes", Error);
}

TEST_CASE("memory_reading: rows of keys score and nothing is normalised") {
  const MemoryReading reading = memory_reading(Matrix{{1, -1, 2}}, Matrix{{1, 0, 2}, {0, 1, -1}, {1, 1, 0}},
                                               Matrix{{1, 0}, {0, 1}, {2, 2}}, {}, Activation::gelu);
  CHECK(difference(reading.coefficients, Matrix{{4.999998566742141, -0.0040496940948902835, 0}}) == "");
  CHECK(difference(reading.output, Matrix{{4.999998566742141, -0.0040496940948902835}}) == "");
  CHECK(reading.strongest == std::vector<std::size_t>{0});
}

TEST_CASE("memory_reading: the strongest is the largest magnitude and the first of equal ones") {
  const Matrix keys{{0.1}, {-2}, {-2}};
  const MemoryReading reading =
      memory_reading(Matrix{{1}, {0}}, keys, zeros(3, 1), Vector{0, -1, -1}, Activation::silu);
  CHECK(reading.strongest == std::vector<std::size_t>{1, 1});
  CHECK_THROWS_WITH_AS(memory_reading(zeros(1, 2), zeros(0, 2), zeros(0, 2), {}, Activation::relu),
                       "keys [0, 2] and values [0, 2] need the same number of rows, at least 1", Error);
}

TEST_CASE("pre_norm_block: the input itself is added back") {
  const Matrix x = scattered(3, 4, 1);
  Block block;
  block.attention = {scattered(4, 4, 2), scattered(4, 4, 3), scattered(4, 4, 4), zeros(4, 4)};
  block.feed_forward.up = scattered(4, 5, 5);
  block.feed_forward.down = zeros(5, 4);
  CHECK(difference(pre_norm_block(x, block, {}), x, 0) == "");
  block.feed_forward.down = scattered(5, 4, 6);
  Matrix want = feed_forward(normalized(x, NormKind::layer), block.feed_forward);
  for (std::size_t i = 0; i < want.size(); ++i) want.data()[i] += x.data()[i];
  CHECK(difference(pre_norm_block(x, block, {}), want) == "");
}

TEST_CASE("pre_norm_block: the feed-forward layer reads and joins the sum that attention left") {
  const Matrix x = scattered(3, 4, 1);
  Block block;
  block.attention = {scattered(4, 4, 2), scattered(4, 4, 3), scattered(4, 4, 4), scattered(4, 4, 5)};
  block.feed_forward.up = scattered(4, 5, 6);
  block.feed_forward.down = scattered(5, 4, 7);
  const Matrix normed = normalized(x, NormKind::layer);
  Matrix sum = multi_head_attention(normed, normed, block.attention, {});
  for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] += x.data()[i];
  Matrix want = feed_forward(normalized(sum, NormKind::layer), block.feed_forward);
  for (std::size_t i = 0; i < want.size(); ++i) want.data()[i] += sum.data()[i];
  CHECK(difference(pre_norm_block(x, block, {}), want) == "");
}

TEST_CASE("pre_norm_block: an output of another width is refused") {
  Block block;
  block.attention = {zeros(4, 4), zeros(4, 4), zeros(4, 4), zeros(4, 3)};
  CHECK_THROWS_WITH_AS(pre_norm_block(zeros(2, 4), block, {}),
                       "a residual sum of [2, 4] and [2, 3] needs equal shapes: the layer's output must be "
                       "as wide as its input",
                       Error);
}
