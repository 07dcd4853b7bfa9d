#include "core/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/softmax.hpp"

namespace attnlab {
namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

template <typename Grid>
void require_grid(const char* name, const Grid& grid, std::size_t num_queries, std::size_t num_keys) {
  if (grid.shape(0) != num_queries || grid.shape(1) != num_keys) {
    throw Error(ErrorKind::data,
                fmt::format("{}: shape [{}, {}] where [queries, keys] = [{}, {}] was expected", name,
                            grid.shape(0), grid.shape(1), num_queries, num_keys));
  }
}

// Who may be seen by one query: the mask's row where there is one, and no bias of -inf.
std::vector<std::size_t> visible_keys(const AttentionOptions& options, std::size_t query,
                                      std::size_t num_keys) {
  std::vector<std::size_t> visible;
  for (std::size_t j = 0; j < num_keys; ++j) {
    if (options.mask && !(*options.mask)(query, j)) continue;
    if (options.bias && (*options.bias)(query, j) == hidden) continue;
    visible.push_back(j);
  }
  return visible;
}

// The same row in extended range, for dot products that double cannot hold: fills weights, returns the lse.
double extended_row(std::span<const double> query, const Matrix& key, const std::vector<std::size_t>& visible,
                    double scale, const double* bias, std::span<double> weights) {
  std::vector<long double> scores(visible.size());
  long double largest = -std::numeric_limits<long double>::infinity();
  for (std::size_t n = 0; n < visible.size(); ++n) {
    const std::span<const double> key_row = row_of(key, visible[n]);
    long double product = 0;
    for (std::size_t c = 0; c < query.size(); ++c) product += static_cast<long double>(query[c]) * key_row[c];
    scores[n] = product * scale + (bias ? bias[visible[n]] : 0.0);
    if (std::isnan(scores[n]) || scores[n] > largest) largest = scores[n];
    if (std::isnan(largest)) break;
  }
  long double sum = 0;
  for (const long double score : scores) sum += std::exp(score - largest);
  for (std::size_t n = 0; n < visible.size(); ++n) {
    weights[visible[n]] = static_cast<double>(std::exp(scores[n] - largest) / sum);
  }
  return static_cast<double>(largest + std::log(sum));
}

bool all_finite(std::span<const double> row, const std::vector<std::size_t>& places) {
  return std::all_of(places.begin(), places.end(), [&](std::size_t j) { return std::isfinite(row[j]); });
}

}  // namespace

double default_scale(std::size_t key_width) {
  return key_width == 0 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(key_width));
}

void check_attention_shapes(const Matrix& query, const Matrix& key, const Matrix& value,
                            const AttentionOptions& options) {
  if (query.shape(1) != key.shape(1)) {
    throw Error(ErrorKind::data, fmt::format("query {} and key {} need rows of equal width",
                                             shape_text(query), shape_text(key)));
  }
  if (key.shape(0) != value.shape(0)) {
    throw Error(ErrorKind::data, fmt::format("key {} and value {} need the same number of rows",
                                             shape_text(key), shape_text(value)));
  }
  if (options.mask) require_grid("mask", *options.mask, query.shape(0), key.shape(0));
  if (options.bias) require_grid("bias", *options.bias, query.shape(0), key.shape(0));
  if (options.keep_gain) require_grid("dropout keep mask", *options.keep_gain, query.shape(0), key.shape(0));
}

Attention attention(const Matrix& query, const Matrix& key, const Matrix& value,
                    const AttentionOptions& options) {
  check_attention_shapes(query, key, value, options);
  const std::size_t num_queries = query.shape(0);
  const std::size_t num_keys = key.shape(0);
  const double scale = options.scale.value_or(default_scale(key.shape(1)));

  Attention result;
  result.scores = matmul(query, key, Transpose::no, Transpose::yes);
  result.weights = zeros(num_queries, num_keys);
  result.output = zeros(num_queries, value.shape(1));
  result.lse = zeros(num_queries);
  for (std::size_t i = 0; i < num_queries; ++i) {
    const std::vector<std::size_t> visible = visible_keys(options, i, num_keys);
    const double* bias = options.bias ? row_of(*options.bias, i).data() : nullptr;
    const std::span<double> weights = row_of(result.weights, i);
    std::fill(weights.begin(), weights.end(), hidden);
    for (const std::size_t j : visible) weights[j] = result.scores(i, j) * scale + (bias ? bias[j] : 0.0);
    std::copy(weights.begin(), weights.end(), row_of(result.scores, i).begin());

    if (all_finite(weights, visible)) {
      result.lse(i) = softmax_in_place(weights);
    } else {
      std::fill(weights.begin(), weights.end(), 0.0);
      result.lse(i) = extended_row(row_of(query, i), key, visible, scale, bias, weights);
    }
    const std::span<double> output = row_of(result.output, i);
    for (const std::size_t j : visible) {
      if (options.keep_gain) weights[j] *= (*options.keep_gain)(i, j);
      const std::span<const double> value_row = row_of(value, j);
      for (std::size_t c = 0; c < output.size(); ++c) output[c] += weights[j] * value_row[c];
    }
  }
  return result;
}

}  // namespace attnlab
