#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/kernels/flash_attention.hpp"

using namespace attnlab;

namespace {

// A case with arrays of its own; heads one after another, [heads, rows, columns].
struct Case {
  std::size_t num_heads = 1;
  std::size_t num_kv_heads = 1;
  std::size_t num_queries = 1;
  std::size_t num_keys = 1;
  std::size_t head_dim = 8;
  std::size_t value_dim = 8;
  FlashOptions options = {};
  double query_scale = 1.0;

  std::vector<float> query = {};
  std::vector<float> key = {};
  std::vector<float> value = {};

  void draw(unsigned seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<double> normal;
    const auto fill = [&](std::vector<float>& numbers, std::size_t count, double scale) {
      numbers.resize(count);
      for (float& number : numbers) number = static_cast<float>(scale * normal(bits));
    };
    fill(query, num_heads * num_queries * head_dim, query_scale);
    fill(key, num_kv_heads * num_keys * head_dim, 1.0);
    fill(value, num_kv_heads * num_keys * value_dim, 1.0);
  }

  FlashInputs inputs() const {
    return {heads_in_turn(query.data(), num_queries, head_dim),
            heads_in_turn(key.data(), num_keys, head_dim),
            heads_in_turn(value.data(), num_keys, value_dim),
            num_heads,
            num_kv_heads,
            num_queries,
            num_keys,
            head_dim,
            value_dim};
  }

  bool visible(std::size_t i, std::size_t j) const {
    const double position =
        static_cast<double>(i) + static_cast<double>(num_keys) - static_cast<double>(num_queries);
    const double distance = static_cast<double>(j) - position;
    if (options.causal && distance > 0) return false;
    if (options.window_left && -distance > static_cast<double>(*options.window_left)) return false;
    return !options.window_right || distance <= static_cast<double>(*options.window_right);
  }
};

struct Result {
  std::vector<float> output;
  std::vector<float> log_sum_exp;
  FlashWork work;
};

Result run(const Case& c, ThreadPool& threads) {
  // What is not written stays recognisable.
  Result result{std::vector<float>(c.num_heads * c.num_queries * c.value_dim, 777.0f),
                std::vector<float>(c.num_heads * c.num_queries, 777.0f),
                {}};
  result.work = flash_attention(c.inputs(), heads_in_turn(result.output.data(), c.num_queries, c.value_dim),
                                c.options, threads, result.log_sum_exp);
  return result;
}

Result run(const Case& c) {
  ThreadPool alone(1);
  return run(c, alone);
}

// The textbook's formula in plain loops; Number is double for the truth, float for the error to compare with.
template <class Number>
std::vector<double> formula(const Case& c, std::vector<double>* log_sum_exp = nullptr) {
  std::vector<double> output(c.num_heads * c.num_queries * c.value_dim);
  const Number scale = c.options.scale ? static_cast<Number>(*c.options.scale)
                                       : Number(1) / std::sqrt(static_cast<Number>(c.head_dim));
  for (std::size_t head = 0; head < c.num_heads; ++head) {
    const std::size_t kv_head = head / (c.num_heads / c.num_kv_heads);
    for (std::size_t i = 0; i < c.num_queries; ++i) {
      const float* q = &c.query[(head * c.num_queries + i) * c.head_dim];
      std::vector<Number> weights(c.num_keys, 0);
      Number largest = -std::numeric_limits<Number>::infinity();
      std::vector<std::size_t> seen;
      for (std::size_t j = 0; j < c.num_keys; ++j) {
        if (!c.visible(i, j)) continue;
        seen.push_back(j);
        const float* k = &c.key[(kv_head * c.num_keys + j) * c.head_dim];
        Number score = 0;
        for (std::size_t n = 0; n < c.head_dim; ++n)
          score += static_cast<Number>(q[n]) * static_cast<Number>(k[n]);
        weights[j] = score * scale;
        if (weights[j] > largest) largest = weights[j];
      }
      Number sum = 0;
      for (const std::size_t j : seen) sum += weights[j] = std::exp(weights[j] - largest);
      for (std::size_t n = 0; n < c.value_dim; ++n) {
        Number total = 0;
        for (const std::size_t j : seen) {
          total += weights[j] * static_cast<Number>(c.value[(kv_head * c.num_keys + j) * c.value_dim + n]);
        }
        output[(head * c.num_queries + i) * c.value_dim + n] =
            seen.empty() ? 0.0 : static_cast<double>(total / sum);
      }
      if (log_sum_exp) log_sum_exp->push_back(static_cast<double>(largest + std::log(sum)));
    }
  }
  return output;
}

template <class Number>
double largest_difference(const std::vector<Number>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Shapes around the widths of panels, tiles and blocks, and each way to hide keys.
std::vector<Case> cases() {
  std::vector<Case> all = {
      {.num_queries = 1, .num_keys = 1, .head_dim = 1, .value_dim = 1},
      {.num_queries = 1, .num_keys = 300, .head_dim = 3, .value_dim = 5},
      {.num_queries = 300, .num_keys = 1, .head_dim = 16, .value_dim = 7},
      {.num_queries = 47, .num_keys = 129, .head_dim = 64, .value_dim = 64},
      {.num_queries = 193, .num_keys = 257, .head_dim = 40, .value_dim = 33},
      {.num_heads = 6,
       .num_kv_heads = 2,
       .num_queries = 97,
       .num_keys = 131,
       .head_dim = 20,
       .value_dim = 12},
      {.num_heads = 3,
       .num_kv_heads = 1,
       .num_queries = 50,
       .num_keys = 200,
       .head_dim = 80,
       .value_dim = 17},
      {.num_queries = 130, .num_keys = 130, .head_dim = 128, .value_dim = 128},
  };
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    Case causal = all[i];
    causal.options.causal = true;
    all.push_back(causal);
    Case window = causal;
    window.options.window_left = 5;
    all.push_back(window);
    window.options.window_left = 70;
    all.push_back(window);
    Case both = all[i];
    both.options.window_left = 20;
    both.options.window_right = 3;
    all.push_back(both);
    Case small_blocks = causal;
    small_blocks.options.block_queries = 10;
    small_blocks.options.block_keys = 7;
    all.push_back(small_blocks);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].draw(static_cast<unsigned>(i));
  return all;
}

void use(Case& c, InstructionSet set) { c.options.instruction_set = set; }

}  // namespace

TEST_CASE("flash attention: every shape and visibility agrees with float64 on every instruction set") {
  for (Case& c : cases()) {
    std::vector<double> log_sum_exp;
    const std::vector<double> expected = formula<double>(c, &log_sum_exp);
    for (const InstructionSet set : supported_instruction_sets()) {
      use(c, set);
      CAPTURE(name_of(set));
      CAPTURE(c.num_queries);
      CAPTURE(c.num_keys);
      CAPTURE(c.options.causal);
      const Result result = run(c);
      CHECK(largest_difference(result.output, expected) < 2e-6);
      for (std::size_t i = 0; i < log_sum_exp.size(); ++i) {
        const double got = static_cast<double>(result.log_sum_exp[i]);
        CHECK((got == log_sum_exp[i] ||
               std::abs(got - log_sum_exp[i]) < 2e-6 * (1 + std::abs(log_sum_exp[i]))));
      }
    }
  }
}

TEST_CASE(
    "flash attention: the error on normal inputs is at most 5e-7 and twice that of the formula in "
    "float32") {
  for (const double query_scale : {1.0, 30.0}) {
    for (const bool causal : {false, true}) {
      Case c{.num_queries = 700, .num_keys = 700, .head_dim = 64, .value_dim = 64};
      c.options.causal = causal;
      c.query_scale = query_scale;
      c.draw(11);
      const std::vector<double> expected = formula<double>(c);
      const double of_formula = largest_difference(formula<float>(c), expected);
      for (const InstructionSet set : supported_instruction_sets()) {
        use(c, set);
        CAPTURE(name_of(set));
        CAPTURE(query_scale);
        const double error = largest_difference(run(c).output, expected);
        // Early causal rows are means of a few values and as large as these.
        if (query_scale == 1.0) CHECK(error <= (causal ? 1e-6 : 5e-7));
        CHECK(error <= 2 * of_formula);
      }
    }
  }
}

TEST_CASE("flash attention: the bits are the same for any threads and any block of queries") {
  ThreadPool one(1);
  ThreadPool two(2);
  ThreadPool three(3);
  for (Case& c : cases()) {
    for (const InstructionSet set : supported_instruction_sets()) {
      use(c, set);
      const Result alone = run(c, one);
      CHECK(same_bits(alone.output, run(c, two).output));
      CHECK(same_bits(alone.output, run(c, three).output));
      Case other = c;
      other.options.block_queries = 29;
      CHECK(same_bits(alone.output, run(other, two).output));
      CHECK(same_bits(alone.log_sum_exp, run(other, two).log_sum_exp));
    }
  }
}

TEST_CASE("flash attention: avx2 and avx512 give the same bits") {
  if (best_instruction_set() < InstructionSet::avx512) return;
  for (Case& c : cases()) {
    use(c, InstructionSet::avx2);
    const Result narrow = run(c);
    use(c, InstructionSet::avx512);
    CHECK(same_bits(narrow.output, run(c).output));
  }
}

TEST_CASE("flash attention: what tiles are not exact for is left to vectors") {
  if (best_instruction_set() < InstructionSet::amx) return;
  const float infinity = std::numeric_limits<float>::infinity();
  Case c{
      .num_heads = 2, .num_kv_heads = 1, .num_queries = 70, .num_keys = 170, .head_dim = 40, .value_dim = 33};
  c.options.causal = true;
  c.options.scale = 1.0f;
  c.draw(5);
  const auto same_as_vectors = [&] {
    use(c, InstructionSet::avx512);
    const Result vectors = run(c);
    use(c, InstructionSet::amx);
    const Result tiles = run(c);
    return same_bits(vectors.output, tiles.output) && same_bits(vectors.log_sum_exp, tiles.log_sum_exp) &&
           vectors.work.scores == tiles.work.scores;
  };
  CHECK_FALSE(same_as_vectors());
  for (std::vector<float>* numbers : {&c.query, &c.key, &c.value}) {
    for (const std::size_t place : {std::size_t{0}, numbers->size() / 2, numbers->size() - 1}) {
      const float before = (*numbers)[place];
      // Its pieces would be subnormal, or its products overflow.
      for (const float extreme : {0x1p-61f, -0x1p-149f, 0x1.01p60f, -infinity, std::nanf("")}) {
        (*numbers)[place] = extreme;
        CAPTURE(extreme);
        CHECK(same_as_vectors());
      }
      for (const float moderate : {0.0f, -0.0f}) {
        (*numbers)[place] = moderate;
        CHECK_FALSE(same_as_vectors());
      }
      (*numbers)[place] = before;
    }
  }
}

TEST_CASE("flash attention: tiles keep all 24 bits of a number") {
  if (best_instruction_set() < InstructionSet::amx) return;
  // One key a query at the end of a window of one: the output is the value itself.
  Case c{.num_queries = 90, .num_keys = 90, .head_dim = 32, .value_dim = 64};
  c.options.causal = true;
  c.options.window_left = 0;
  use(c, InstructionSet::amx);
  c.draw(6);
  c.value[0] = 0x1.fffffep59f;
  c.value[1] = -0x1.000002p-60f;
  c.value[2] = 0x1.010101p0f;
  CHECK(same_bits(run(c).output, c.value));
}

TEST_CASE("flash attention: heads side by side in the columns give the same bits as heads in turn") {
  Case c{
      .num_heads = 4, .num_kv_heads = 2, .num_queries = 61, .num_keys = 90, .head_dim = 24, .value_dim = 10};
  c.options.causal = true;
  c.draw(5);
  const auto side_by_side = [](const std::vector<float>& turn, std::size_t heads, std::size_t columns) {
    const std::size_t rows = turn.size() / heads / columns;
    std::vector<float> out(turn.size());
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t n = 0; n < columns; ++n)
          out[(r * heads + h) * columns + n] = turn[(h * rows + r) * columns + n];
      }
    }
    return out;
  };
  const std::vector<float> query = side_by_side(c.query, 4, 24);
  const std::vector<float> key = side_by_side(c.key, 2, 24);
  const std::vector<float> value = side_by_side(c.value, 2, 10);
  FlashInputs inputs = c.inputs();
  inputs.query = heads_in_columns(query.data(), 4, 24);
  inputs.key = heads_in_columns(key.data(), 2, 24);
  inputs.value = heads_in_columns(value.data(), 2, 10);
  std::vector<float> output(std::size_t{61} * 4 * 10);
  ThreadPool threads(2);
  flash_attention(inputs, heads_in_columns(output.data(), 4, 10), c.options, threads);
  CHECK(same_bits(output, side_by_side(run(c).output, 4, 10)));
}

TEST_CASE("flash attention: rows that see no key give zero and minus infinity") {
  for (const InstructionSet set : supported_instruction_sets()) {
    Case c{.num_queries = 70, .num_keys = 20, .head_dim = 4, .value_dim = 3};
    c.options.causal = true;
    use(c, set);
    c.draw(3);
    const Result result = run(c);
    for (std::size_t i = 0; i < 50; ++i) {
      for (std::size_t n = 0; n < 3; ++n) CHECK(result.output[i * 3 + n] == 0.0f);
      CHECK(result.log_sum_exp[i] == -std::numeric_limits<float>::infinity());
    }
    CHECK(largest_difference(result.output, formula<double>(c)) < 1e-6);

    Case no_keys{.num_queries = 2, .num_keys = 0, .head_dim = 4, .value_dim = 3};
    use(no_keys, set);
    no_keys.draw(1);
    CHECK(run(no_keys).output == std::vector<float>(6, 0.0f));
    Case no_queries{.num_queries = 0, .num_keys = 3, .head_dim = 4, .value_dim = 3};
    no_queries.draw(1);
    CHECK(run(no_queries).output.empty());
  }
}

TEST_CASE("flash attention: NaN and infinity reach exactly the rows that see them") {
  const float bad_numbers[] = {std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::infinity()};
  for (const InstructionSet set : supported_instruction_sets()) {
    for (const float bad : bad_numbers) {
      for (const int array : {0, 1, 2}) {
        Case c{.num_queries = 300, .num_keys = 300, .head_dim = 16, .value_dim = 16};
        c.options.causal = true;
        c.options.window_left = 150;
        use(c, set);
        c.draw(9);
        // Tiles leave such numbers to vectors, so theirs are the rows to compare with.
        use(c, std::min(set, InstructionSet::avx512));
        const Result clean = run(c);
        use(c, set);
        std::vector<float>& spoilt = array == 0 ? c.query : array == 1 ? c.key : c.value;
        spoilt[100 * 16 + 3] = bad;
        const Result result = run(c);
        CAPTURE(name_of(set));
        CAPTURE(array);
        for (std::size_t i = 0; i < 300; ++i) {
          CAPTURE(i);
          const bool concerned = array == 0 ? i == 100 : i >= 100 && i <= 250;
          for (std::size_t n = 0; n < 16; ++n) {
            const float got = result.output[i * 16 + n];
            if (!concerned) {
              CHECK(got == clean.output[i * 16 + n]);
            } else if (array == 2) {
              CHECK(std::isfinite(got) == (n != 3));
            } else if (std::isnan(bad)) {
              CHECK(std::isnan(got));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("flash attention: scores in the hundreds and equal scores stay exact") {
  for (const InstructionSet set : supported_instruction_sets()) {
    Case peaked{.num_queries = 150, .num_keys = 150, .head_dim = 32, .value_dim = 8, .query_scale = 200.0};
    use(peaked, set);
    peaked.draw(2);
    CHECK(largest_difference(run(peaked).output, formula<double>(peaked)) < 2e-4);

    Case equal{.num_queries = 5, .num_keys = 1000, .head_dim = 4, .value_dim = 1};
    use(equal, set);
    equal.draw(2);
    std::fill(equal.query.begin(), equal.query.end(), 0.0f);
    for (std::size_t j = 0; j < 1000; ++j) equal.value[j] = static_cast<float>(j);
    for (const float mean : run(equal).output) CHECK(std::abs(mean - 499.5f) < 1e-4f);
  }
}

TEST_CASE("flash attention: a given scale takes the place of one over the root of the width") {
  Case c{.num_queries = 9, .num_keys = 9, .head_dim = 4, .value_dim = 4};
  c.options.scale = 0.0f;
  c.draw(4);
  std::vector<double> means(4);
  for (std::size_t i = 0; i < 36; ++i) means[i % 4] += static_cast<double>(c.value[i]) / 9;
  const Result result = run(c);
  for (std::size_t i = 0; i < 36; ++i)
    CHECK(std::abs(static_cast<double>(result.output[i]) - means[i % 4]) < 1e-6);
}

TEST_CASE("flash attention: working memory does not grow with the length and work is counted") {
  std::vector<std::size_t> scratch;
  for (const std::size_t length : {192, 768, 1536}) {
    Case c{.num_queries = length, .num_keys = length, .head_dim = 16, .value_dim = 16};
    c.options.block_queries = 192;
    c.draw(1);
    const FlashWork work = run(c).work;
    scratch.push_back(work.scratch_floats);
    CHECK(work.scores == length * length);
    CHECK(work.floats_read == length * 16 + length / 192 * length * 32);
    CHECK(work.floats_written == length * 16);
    c.options.causal = true;
    const std::size_t causal = run(c).work.scores;
    CHECK(causal >= length * (length + 1) / 2);
    CHECK(causal <= length * (length + 32) / 2);
  }
  CHECK(scratch[0] == scratch[1]);
  CHECK(scratch[1] == scratch[2]);
}

TEST_CASE("flash attention: impossible requests are refused with their reason") {
  Case c{.num_heads = 4, .num_kv_heads = 3, .num_queries = 2, .num_keys = 2};
  c.draw(1);
  CHECK_THROWS_WITH_AS(run(c), "flash attention: 4 query heads cannot share 3 kv heads evenly", Error);
  Case no_block{.num_queries = 2, .num_keys = 2};
  no_block.options.block_keys = 0;
  no_block.draw(1);
  CHECK_THROWS_WITH_AS(run(no_block), "flash attention: block_keys is 0, must be from 1 to 1099511627776",
                       Error);
  Case narrow{.num_queries = 2, .num_keys = 2, .head_dim = 0};
  narrow.draw(1);
  CHECK_THROWS_WITH_AS(run(narrow), "flash attention: head_dim is 0, must be from 1 to 1099511627776", Error);
  Case wrong_size{.num_queries = 2, .num_keys = 2};
  wrong_size.draw(1);
  std::vector<float> output(16);
  std::vector<float> log_sum_exp(3);
  ThreadPool alone(1);
  CHECK_THROWS_WITH_AS(
      flash_attention(wrong_size.inputs(), heads_in_turn(output.data(), 2, 8), {}, alone, log_sum_exp),
      "flash attention: log_sum_exp has 3 elements, must have 2", Error);
}
