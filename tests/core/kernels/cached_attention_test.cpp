#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/kernels/cached_attention.hpp"

using namespace attnlab;

namespace {

struct Cache {
  std::size_t num_heads;
  std::size_t num_kv_heads;
  std::size_t num_tokens;
  std::size_t head_dim;
  std::vector<float> query;
  std::vector<float> key;
  std::vector<float> value;

  CacheView view() const { return whole_cache(key.data(), value.data(), num_kv_heads, num_tokens, head_dim); }
};

std::vector<float> normals(std::mt19937& bits, std::size_t count) {
  std::normal_distribution<double> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(normal(bits));
  return numbers;
}

Cache draw(std::size_t num_heads, std::size_t num_kv_heads, std::size_t num_tokens, std::size_t head_dim) {
  std::mt19937 bits(static_cast<unsigned>(num_tokens + head_dim));
  Cache cache{num_heads, num_kv_heads, num_tokens, head_dim, {}, {}, {}};
  cache.query = normals(bits, num_heads * head_dim);
  cache.key = normals(bits, num_kv_heads * num_tokens * head_dim);
  cache.value = normals(bits, num_kv_heads * num_tokens * head_dim);
  return cache;
}

std::vector<double> formula(const Cache& c) {
  std::vector<double> output(c.num_heads * c.head_dim);
  for (std::size_t head = 0; head < c.num_heads; ++head) {
    const std::size_t first = head / (c.num_heads / c.num_kv_heads) * c.num_tokens * c.head_dim;
    std::vector<double> scores(c.num_tokens);
    for (std::size_t t = 0; t < c.num_tokens; ++t) {
      for (std::size_t i = 0; i < c.head_dim; ++i) {
        scores[t] += static_cast<double>(c.query[head * c.head_dim + i]) *
                     static_cast<double>(c.key[first + t * c.head_dim + i]) /
                     std::sqrt(static_cast<double>(c.head_dim));
      }
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (std::size_t t = 0; t < c.num_tokens; ++t) {
      for (std::size_t i = 0; i < c.head_dim; ++i) {
        output[head * c.head_dim + i] +=
            scores[t] / sum * static_cast<double>(c.value[first + t * c.head_dim + i]);
      }
    }
  }
  return output;
}

std::vector<float> run(const Cache& c, const CacheView& view, InstructionSet set,
                       std::size_t num_threads = 1) {
  std::vector<float> output(c.num_heads * view.value_dim, 777.0f);
  ThreadPool threads(num_threads);
  cached_attention(c.query, view, output, threads, {}, set);
  return output;
}

// Root mean square of the difference by that of the truth.
double relative_error(const std::vector<float>& got, const std::vector<double>& expected) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  return std::sqrt(difference / size);
}

std::vector<Cache> caches() {
  return {draw(1, 1, 1, 1),    draw(2, 1, 3, 5),      draw(4, 4, 100, 64), draw(8, 2, 1500, 64),
          draw(6, 2, 513, 20), draw(10, 1, 700, 128), draw(3, 3, 70, 200), draw(1, 1, 2000, 16)};
}

}  // namespace

TEST_CASE("cached attention: float32 agrees with float64 on every instruction set") {
  for (const Cache& c : caches()) {
    for (const InstructionSet set : supported_instruction_sets()) {
      CAPTURE(name_of(set));
      CAPTURE(c.num_tokens);
      CHECK(relative_error(run(c, c.view(), set), formula(c)) < 3e-6);
    }
  }
}

TEST_CASE("cached attention: float16 and int8 caches stay within the error of their numbers") {
  for (const Cache& c : caches()) {
    if (c.num_tokens < 4) continue;
    const std::vector<std::uint16_t> key16 = to_float16(c.key);
    const std::vector<std::uint16_t> value16 = to_float16(c.value);
    CacheView half = c.view();
    half.type = CacheType::float16;
    half.key = key16.data();
    half.value = value16.data();
    const Int8Rows key8 = to_int8(c.key, c.head_dim);
    const Int8Rows value8 = to_int8(c.value, c.head_dim);
    CacheView bytes = c.view();
    bytes.type = CacheType::int8;
    bytes.key = key8.codes.data();
    bytes.value = value8.codes.data();
    bytes.key_scale = key8.scales.data();
    bytes.value_scale = value8.scales.data();
    // What the stored numbers stand for gives the exact answer of the stored cache.
    Cache stored = c;
    for (std::size_t i = 0; i < c.key.size(); ++i) {
      stored.key[i] = static_cast<float>(key8.codes[i]) * key8.scales[i / c.head_dim];
      stored.value[i] = static_cast<float>(value8.codes[i]) * value8.scales[i / c.head_dim];
    }
    const std::vector<double> expected = formula(c);
    for (const InstructionSet set : supported_instruction_sets()) {
      CAPTURE(name_of(set));
      CAPTURE(c.num_tokens);
      CAPTURE(c.head_dim);
      const double half_error = relative_error(run(c, half, set), expected);
      CHECK(half_error < 1e-3);
      CHECK(half_error > 1e-5);
      CHECK(relative_error(run(c, bytes, set), formula(stored)) < 3e-6);
      CHECK(relative_error(run(c, bytes, set), expected) < 2e-2);
    }
  }
}

TEST_CASE("cached attention: the bits are the same for any threads and for pages in any order") {
  const Cache c = draw(4, 2, 1300, 24);
  constexpr std::size_t page_size = 16;
  const std::size_t pages = (c.num_tokens + page_size - 1) / page_size;
  // Page [kv head, slot, width]; the last page comes first in memory, and what is beyond the last token is
  // NaN.
  std::vector<std::uint32_t> table;
  for (std::size_t page = 0; page < pages; ++page)
    table.push_back(static_cast<std::uint32_t>(pages - 1 - page));
  const std::size_t page_floats = 2 * page_size * c.head_dim;
  std::vector<float> key(pages * page_floats, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> value = key;
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t t = 0; t < c.num_tokens; ++t) {
      const std::size_t from = (head * c.num_tokens + t) * c.head_dim;
      const std::size_t to =
          table[t / page_size] * page_floats + (head * page_size + t % page_size) * c.head_dim;
      std::copy_n(c.key.begin() + static_cast<std::ptrdiff_t>(from), c.head_dim,
                  key.begin() + static_cast<std::ptrdiff_t>(to));
      std::copy_n(c.value.begin() + static_cast<std::ptrdiff_t>(from), c.head_dim,
                  value.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  CacheView paged = c.view();
  paged.key = key.data();
  paged.value = value.data();
  paged.head_stride = page_size * c.head_dim;
  paged.block_table = table;
  paged.page_size = page_size;
  paged.page_stride = page_floats;
  for (const InstructionSet set : supported_instruction_sets()) {
    const std::vector<float> whole = run(c, c.view(), set);
    CHECK(whole == run(c, c.view(), set, 2));
    CHECK(whole == run(c, c.view(), set, 3));
    CHECK(whole == run(c, paged, set, 2));
  }
}

TEST_CASE("cached attention: NaN reaches the heads that see it") {
  for (const InstructionSet set : supported_instruction_sets()) {
    Cache c = draw(4, 2, 600, 32);
    c.key[(600 + 599) * 32 + 5] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> output = run(c, c.view(), set);
    for (std::size_t i = 0; i < output.size(); ++i) CHECK(std::isnan(output[i]) == (i >= 64));
  }
}

TEST_CASE("cached attention: an empty cache gives zeros and what does not fit is refused") {
  Cache c = draw(2, 1, 1, 4);
  CacheView empty = c.view();
  empty.num_tokens = 0;
  CHECK(run(c, empty, InstructionSet::sse2) == std::vector<float>(8, 0.0f));

  ThreadPool alone(1);
  std::vector<float> output(8);
  CHECK_THROWS_WITH_AS(
      cached_attention(std::span(c.query).first(6), c.view(), output, alone),
      "cached attention: 6 numbers of query are not a whole number of heads of 4 for each of 1 kv heads",
      Error);
  CHECK_THROWS_WITH_AS(cached_attention(c.query, c.view(), std::span(output).first(4), alone),
                       "cached attention: output has 4 elements, must have 8", Error);
  CacheView flat = c.view();
  flat.value_dim = 0;
  CHECK_THROWS_WITH_AS(cached_attention(c.query, flat, output, alone),
                       "cached attention: head_dim, value_dim and num_kv_heads must be at least 1", Error);
  const std::vector<std::uint32_t> table{0};
  CacheView paged = c.view();
  paged.block_table = table;
  paged.page_size = 2;
  paged.num_tokens = 5;
  CHECK_THROWS_WITH_AS(cached_attention(c.query, paged, output, alone),
                       "cached attention: the block table names 1 pages, 5 tokens need 3", Error);
  CacheView bytes = c.view();
  bytes.type = CacheType::int8;
  CHECK_THROWS_WITH_AS(cached_attention(c.query, bytes, output, alone),
                       "cached attention: int8 needs key_scale and value_scale", Error);
}

TEST_CASE("cached attention: float16 rounds to the nearest and knows subnormal numbers and infinity") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers{0.0f,     -0.0f,    1.0f,     -2.0f,    65504.0f,   65519.0f,
                                   65520.0f, infinity, 0x1p-24f, 0x1p-25f, 0x1.8p-24f, 0x1.ffcp-15f,
                                   0x1p-14f, 0.1f,     2049.0f,  2051.0f};
  const std::vector<std::uint16_t> expected{0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x7c00,
                                            0x0001, 0x0000, 0x0002, 0x0400, 0x0400, 0x2e66, 0x6800, 0x6802};
  CHECK(to_float16(numbers) == expected);
  const std::vector<std::uint16_t> nan =
      to_float16(std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  CHECK((nan[0] & 0x7c00) == 0x7c00);
  CHECK((nan[0] & 0x03ff) != 0);
}

TEST_CASE("cached attention: every float16 is read as the number it stands for on every instruction set") {
  for (const InstructionSet set : supported_instruction_sets()) {
    // With one token the output is its value: widths of 64 halves at a time go through all 65536.
    for (std::uint32_t first = 0; first < 65536; first += 64) {
      std::vector<std::uint16_t> value(64);
      for (std::uint32_t i = 0; i < 64; ++i) value[i] = static_cast<std::uint16_t>(first + i);
      const std::vector<std::uint16_t> key(64);
      const std::vector<float> query(64);
      CacheView view = whole_cache(nullptr, nullptr, 1, 1, 64);
      view.type = CacheType::float16;
      view.key = key.data();
      view.value = value.data();
      std::vector<float> output(64);
      ThreadPool alone(1);
      cached_attention(query, view, output, alone, {}, set);
      for (std::uint32_t i = 0; i < 64; ++i) {
        const std::uint32_t half = first + i;
        const int exponent = static_cast<int>(half >> 10 & 31);
        const int mantissa = static_cast<int>(half & 1023);
        const float sign = half & 0x8000 ? -1.0f : 1.0f;
        const float magnitude =
            exponent == 31
                ? mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity()
            : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                            : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
        const bool same = std::isnan(magnitude) ? std::isnan(output[i]) : output[i] == sign * magnitude;
        if (!same) {
          CAPTURE(name_of(set));
          CAPTURE(half);
          CHECK(output[i] == sign * magnitude);
        }
      }
    }
  }
  CHECK(true);
}

TEST_CASE("cached attention: int8 codes are within half a step and rows of zeros stay zeros") {
  std::mt19937 bits(1);
  std::vector<float> numbers = normals(bits, 60);
  for (std::size_t i = 20; i < 40; ++i) numbers[i] = 0.0f;
  const Int8Rows rows = to_int8(numbers, 20);
  CHECK(rows.scales.size() == 3);
  CHECK(rows.scales[1] == 0.0f);
  for (std::size_t i = 0; i < 60; ++i) {
    const float step = rows.scales[i / 20];
    CHECK(std::abs(static_cast<float>(rows.codes[i]) * step - numbers[i]) <= 0.5001f * step);
  }
  CHECK_THROWS_WITH_AS(to_int8(numbers, 7), "int8: 60 numbers are not rows of 7", Error);
  numbers[3] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(to_int8(numbers, 20), "int8: a number is not finite", Error);
}
