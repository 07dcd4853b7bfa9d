#include "core/linear_attention.hpp"

#include <cmath>
#include <vector>

#include "core/matmul.hpp"

namespace attnlab {
namespace {

// The sums over the keys seen so far. Extended range: features of very negative keys are tiny, but their
// ratio is not.
class FeatureState {
 public:
  FeatureState(std::size_t key_width, std::size_t value_width)
      : value_width_(value_width), key_sum_(key_width, 0), key_value_sum_(key_width * value_width, 0) {}

  void add(std::span<const double> key, std::span<const double> value) {
    for (std::size_t f = 0; f < key.size(); ++f) {
      const long double feature = elu_plus_one(static_cast<long double>(key[f]));
      key_sum_[f] += feature;
      for (std::size_t c = 0; c < value_width_; ++c)
        key_value_sum_[f * value_width_ + c] += feature * value[c];
    }
  }

  void read(std::span<const double> query, std::span<double> output) const {
    std::vector<long double> numerator(value_width_, 0);
    long double denominator = 0;
    for (std::size_t f = 0; f < query.size(); ++f) {
      const long double feature = elu_plus_one(static_cast<long double>(query[f]));
      denominator += feature * key_sum_[f];
      for (std::size_t c = 0; c < value_width_; ++c)
        numerator[c] += feature * key_value_sum_[f * value_width_ + c];
    }
    for (std::size_t c = 0; c < value_width_; ++c) {
      output[c] = denominator == 0 ? 0.0 : static_cast<double>(numerator[c] / denominator);
    }
  }

 private:
  std::size_t value_width_;
  std::vector<long double> key_sum_;        // [features]
  std::vector<long double> key_value_sum_;  // [features, value width]
};

}  // namespace

long double elu_plus_one(long double x) { return x > 0 ? x + 1 : std::exp(x); }

Matrix linear_attention(const Matrix& query, const Matrix& key, const Matrix& value, bool causal,
                        CausalAlign align) {
  check_attention_shapes(query, key, value, {});
  const std::size_t num_keys = key.shape(0);
  const std::vector<double> positions = aligned_positions(query.shape(0), num_keys, align);
  Matrix output = zeros(query.shape(0), value.shape(1));
  FeatureState state(key.shape(1), value.shape(1));
  std::size_t seen = 0;
  for (std::size_t i = 0; i < query.shape(0); ++i) {
    while (seen < num_keys && (!causal || static_cast<double>(seen) <= positions[i])) {
      state.add(row_of(key, seen), row_of(value, seen));
      ++seen;
    }
    state.read(row_of(query, i), row_of(output, i));
  }
  return output;
}

Attention low_rank_attention(const Matrix& query, const Matrix& key, const Matrix& value,
                             const Matrix& key_projection, const Matrix& value_projection) {
  return attention(query, matmul(key_projection, key), matmul(value_projection, value));
}

}  // namespace attnlab
