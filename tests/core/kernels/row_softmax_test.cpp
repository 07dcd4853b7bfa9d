#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/kernels/row_softmax.hpp"

using namespace attnlab;

namespace {

std::vector<float> normals(std::size_t count, double scale) {
  std::mt19937 bits(static_cast<unsigned>(count));
  std::normal_distribution<double> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(scale * normal(bits));
  return numbers;
}

std::vector<double> plain_softmax(const std::vector<float>& scores, std::size_t columns, double scale) {
  std::vector<double> weights(scores.size());
  for (std::size_t first = 0; first < scores.size(); first += columns) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < columns; ++i)
      largest = std::max(largest, scale * static_cast<double>(scores[first + i]));
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      sum += weights[first + i] = std::exp(scale * static_cast<double>(scores[first + i]) - largest);
    }
    for (std::size_t i = 0; i < columns; ++i) weights[first + i] /= sum;
  }
  return weights;
}

std::vector<float> run(const std::vector<float>& scores, std::size_t columns, float scale, InstructionSet set,
                       std::size_t num_threads = 1) {
  std::vector<float> weights(scores.size(), 777.0f);
  ThreadPool threads(num_threads);
  softmax_rows(scores.data(), weights.data(), scores.size() / columns, columns, scale, threads, set);
  return weights;
}

}  // namespace

TEST_CASE("row softmax: agrees with float64 for odd widths and scales on every instruction set") {
  for (const InstructionSet set : supported_instruction_sets()) {
    for (const std::size_t columns : {1, 2, 15, 16, 17, 63, 64, 65, 129, 1000}) {
      for (const float scale : {1.0f, -0.5f, 30.0f}) {
        const std::vector<float> scores = normals(7 * columns, 2.0);
        const std::vector<double> expected = plain_softmax(scores, columns, static_cast<double>(scale));
        const std::vector<float> weights = run(scores, columns, scale, set);
        for (std::size_t i = 0; i < scores.size(); ++i) {
          // Scores reach 250 in powers of two, where rounding one changes its weight by 1e-5.
          CHECK(std::abs(static_cast<double>(weights[i]) - expected[i]) <=
                (scale > 1 ? 6e-5 : 2e-6) * expected[i] + 1e-30);
        }
      }
    }
  }
}

TEST_CASE("row softmax: in place and past the cache and with threads the bits are the same") {
  constexpr std::size_t columns = 1031;
  constexpr std::size_t rows = 2100;  // more than 8 MiB
  const std::vector<float> scores = normals(rows * columns, 1.0);
  for (const InstructionSet set : supported_instruction_sets()) {
    const std::vector<float> past_cache = run(scores, columns, 1.0f, set);
    CHECK(past_cache == run(scores, columns, 1.0f, set, 3));
    std::vector<float> in_place = scores;
    ThreadPool threads(2);
    softmax_rows(in_place.data(), in_place.data(), rows, columns, 1.0f, threads, set);
    CHECK(past_cache == in_place);
  }
}

TEST_CASE("row softmax: minus infinity is weight zero and a row of it zeros and NaN spoils its row alone") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const InstructionSet set : supported_instruction_sets()) {
    std::vector<float> scores(60, 1.0f);
    for (std::size_t i = 1; i < 20; ++i) scores[i] = -infinity;
    for (std::size_t i = 20; i < 40; ++i) scores[i] = -infinity;
    scores[47] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> weights = run(scores, 20, 1.0f, set);
    CHECK(weights[0] == 1.0f);
    for (std::size_t i = 1; i < 40; ++i) CHECK(weights[i] == 0.0f);
    for (std::size_t i = 40; i < 60; ++i) CHECK(std::isnan(weights[i]));
  }
}

TEST_CASE("row softmax: finite masks as large as floats go leave uniform weights") {
  for (const InstructionSet set : supported_instruction_sets()) {
    const std::vector<float> weights = run(std::vector<float>(8, -1e38f), 8, 1.0f, set);
    for (const float weight : weights) CHECK(weight == 0.125f);
  }
}
