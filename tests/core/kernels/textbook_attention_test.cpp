#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/kernels/array_attention.hpp"
#include "core/kernels/textbook_attention.hpp"

using namespace attnlab;

namespace {

Array draw(std::mt19937& bits, const Shape& shape) {
  std::normal_distribution<double> normal;
  Array array{shape, std::vector<double>(element_count(shape))};
  for (double& number : array.values) number = static_cast<double>(static_cast<float>(normal(bits)));
  return array;
}

std::vector<float> floats(const Array& array) { return {array.values.begin(), array.values.end()}; }

}  // namespace

TEST_CASE("textbook attention: agrees with flash attention whatever is hidden") {
  std::mt19937 bits(1);
  ThreadPool threads(2);
  for (const std::size_t num_queries : {1, 33, 100}) {
    const Array query = draw(bits, {4, num_queries, 24});
    const Array key = draw(bits, {2, 70, 24});
    const Array value = draw(bits, {2, 70, 9});
    for (const int kind : {0, 1, 2, 3}) {
      FlashOptions options;
      options.causal = kind == 1 || kind == 2;
      if (kind >= 2) options.window_left = 11;
      if (kind == 3) options.window_right = 4;
      const Array expected = flash_attention(query, key, value, options, threads).output;
      const std::vector<float> q = floats(query);
      const std::vector<float> k = floats(key);
      const std::vector<float> v = floats(value);
      std::vector<float> output(4 * num_queries * 9, 777.0f);
      const FlashInputs inputs{heads_in_turn(q.data(), num_queries, 24),
                               heads_in_turn(k.data(), 70, 24),
                               heads_in_turn(v.data(), 70, 9),
                               4,
                               2,
                               num_queries,
                               70,
                               24,
                               9};
      const FlashWork work =
          textbook_attention(inputs, heads_in_turn(output.data(), num_queries, 9), options, threads);
      CHECK(work.scratch_floats == num_queries * 70);
      const std::size_t matrices = 4 * num_queries * 70;
      CHECK(work.floats_read == 4 * (num_queries * 24 + std::size_t{70} * (24 + 9)) + 2 * matrices);
      CHECK(work.floats_written == 4 * num_queries * 9 + 2 * matrices);
      for (std::size_t i = 0; i < output.size(); ++i) {
        CHECK(std::abs(static_cast<double>(output[i]) - expected.values[i]) < 2e-6);
      }
    }
  }
}

TEST_CASE("textbook attention: without keys the output is zero") {
  ThreadPool alone(1);
  const std::vector<float> query{1, 2, 3, 4};
  std::vector<float> output(3, 777.0f);
  const FlashInputs inputs{heads_in_turn(query.data(), 2, 2),
                           heads_in_turn(query.data(), 0, 2),
                           heads_in_turn(query.data(), 0, 1),
                           1,
                           1,
                           2,
                           0,
                           2,
                           1};
  textbook_attention(inputs, heads_in_turn(output.data(), 2, 1), {}, alone);
  CHECK(output == std::vector<float>{0, 0, 777});
}

TEST_CASE("textbook attention: a matrix that the machine lacks memory for is refused with the way out") {
  ThreadPool alone(1);
  std::vector<float> row(8);
  const std::size_t length = std::size_t{1} << 24;
  const FlashInputs inputs{
      {row.data(), 0, 0}, {row.data(), 0, 0}, {row.data(), 0, 0}, 1, 1, length, length, 8, 8};
  std::string text;
  try {
    textbook_attention(inputs, {row.data(), 0, 0}, {}, alone);
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text.find("the matrix of 16777216 x 16777216 scores (--method flash needs little) would need "
                  "1048576.0 GiB") == 0);
  CHECK_THROWS_WITH_AS(textbook_attention_bytes(std::size_t{1} << 40, std::size_t{1} << 40),
                       "the matrix of 1099511627776 x 1099511627776 scores would not fit any memory; "
                       "--method flash needs little",
                       Error);
}

TEST_CASE("array attention: one head and several have the shapes of their inputs") {
  std::mt19937 bits(2);
  ThreadPool alone(1);
  const Array query = draw(bits, {2, 5, 4});
  const Array key = draw(bits, {1, 6, 4});
  const Array value = draw(bits, {1, 6, 3});
  const ArrayAttention both = flash_attention(query, key, value, {}, alone);
  CHECK(both.output.shape == Shape{2, 5, 3});
  CHECK(both.log_sum_exp.shape == Shape{2, 5});
  const Array first{{5, 4}, {query.values.begin(), query.values.begin() + 20}};
  const ArrayAttention one = flash_attention(first, {{6, 4}, key.values}, {{6, 3}, value.values}, {}, alone);
  CHECK(one.output.shape == Shape{5, 3});
  CHECK(one.log_sum_exp.shape == Shape{5});
  CHECK(std::equal(one.output.values.begin(), one.output.values.end(), both.output.values.begin()));
}

TEST_CASE("array attention: shapes that do not fit are refused with their names") {
  ThreadPool alone(1);
  const Array flat{{4}, {1, 2, 3, 4}};
  const Array pair{{2, 2}, {1, 2, 3, 4}};
  const Array wide{{1, 4}, {1, 2, 3, 4}};
  CHECK_THROWS_WITH_AS(flash_attention(flat, pair, pair, {}, alone),
                       "query: shape [4] where [tokens, width] or [heads, tokens, width] was expected",
                       Error);
  CHECK_THROWS_WITH_AS(flash_attention(pair, wide, pair, {}, alone),
                       "query [2, 2], key [1, 4] and value [2, 2] do not fit each other", Error);
}
