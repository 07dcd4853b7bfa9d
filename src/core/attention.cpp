#include "core/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/memory.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"

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

// The keys from first to end - 1 that one query may see: by the mask where there is one, and by no bias of
// -inf.
std::vector<std::size_t> visible_keys(const AttentionOptions& options, std::size_t query, std::size_t first,
                                      std::size_t end) {
  std::vector<std::size_t> visible;
  for (std::size_t j = first; j < end; ++j) {
    if (options.mask && !(*options.mask)(query, j)) continue;
    if (options.bias && (*options.bias)(query, j) == hidden) continue;
    visible.push_back(j);
  }
  return visible;
}

double bias_at(const AttentionOptions& options, std::size_t i, std::size_t j) {
  return options.bias ? (*options.bias)(i, j) : 0.0;
}

double kept_gain(const AttentionOptions& options, std::size_t i, std::size_t j) {
  return options.keep_gain ? (*options.keep_gain)(i, j) : 1.0;
}

void add_scaled(std::span<double> sum, double weight, std::span<const double> row) {
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weight * row[c];
}

// One query in extended range, for dot products that double cannot hold: fills weights, returns the lse.
double extended_row(const Matrix& query, const Matrix& key, const AttentionOptions& options, double scale,
                    std::size_t i, const std::vector<std::size_t>& visible, std::span<double> weights) {
  std::fill(weights.begin(), weights.end(), 0.0);
  std::vector<long double> scores;
  long double largest = -std::numeric_limits<long double>::infinity();
  for (const std::size_t j : visible) {
    long double product = 0;
    for (std::size_t c = 0; c < key.shape(1); ++c)
      product += static_cast<long double>(query(i, c)) * key(j, c);
    scores.push_back(product * scale + bias_at(options, i, j));
    largest = std::max(largest, scores.back());
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

// What one query has gathered from the blocks so far, relative to the largest score met.
struct RunningRow {
  double largest = hidden;
  double sum = 0;
  bool in_range = true;  // false once a visible score is not finite
};

// Adds a block's visible keys to a query's running sum and to `output`, which holds the weighted sum of
// values.
void add_block(RunningRow& row, const Matrix& query, const Matrix& key, const Matrix& value,
               const AttentionOptions& options, double scale, std::size_t i,
               const std::vector<std::size_t>& visible, std::span<double> output) {
  // A block without a visible key must not touch the running maximum: -inf - -inf is NaN.
  if (visible.empty()) return;
  std::vector<double> scores;
  for (const std::size_t j : visible) {
    scores.push_back(dot(row_of(query, i), row_of(key, j)) * scale + bias_at(options, i, j));
    row.in_range = row.in_range && std::isfinite(scores.back());
  }
  if (!row.in_range) return;
  const double largest = std::max(row.largest, maximum(scores));
  const double shrink = std::exp(row.largest - largest);
  row.largest = largest;
  row.sum *= shrink;
  for (double& sum : output) sum *= shrink;
  for (std::size_t n = 0; n < visible.size(); ++n) {
    const double weight = std::exp(scores[n] - largest);
    row.sum += weight;
    add_scaled(output, weight * kept_gain(options, i, visible[n]), row_of(value, visible[n]));
  }
}

// Divides the gathered values by the gathered weights and returns the lse.
double finish(const RunningRow& row, const Matrix& query, const Matrix& key, const Matrix& value,
              const AttentionOptions& options, double scale, std::size_t i, std::span<double> output) {
  if (!row.in_range) {
    const std::vector<std::size_t> visible = visible_keys(options, i, 0, key.shape(0));
    std::vector<double> weights(key.shape(0));
    const double lse = extended_row(query, key, options, scale, i, visible, weights);
    std::fill(output.begin(), output.end(), 0.0);
    for (const std::size_t j : visible) {
      add_scaled(output, weights[j] * kept_gain(options, i, j), row_of(value, j));
    }
    return lse;
  }
  if (row.largest == hidden) return hidden;
  for (double& sum : output) sum /= row.sum;
  return row.largest + std::log(row.sum);
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
  require_memory({num_queries, num_keys}, "scores of every query with every key");
  const double scale = options.scale.value_or(default_scale(key.shape(1)));

  Attention result;
  result.scores = matmul(query, key, Transpose::no, Transpose::yes);
  result.weights = zeros(num_queries, num_keys);
  result.output = zeros(num_queries, value.shape(1));
  result.lse = zeros(num_queries);
  for (std::size_t i = 0; i < num_queries; ++i) {
    const std::vector<std::size_t> visible = visible_keys(options, i, 0, num_keys);
    const std::span<double> weights = row_of(result.weights, i);
    std::fill(weights.begin(), weights.end(), hidden);
    for (const std::size_t j : visible) weights[j] = result.scores(i, j) * scale + bias_at(options, i, j);
    std::copy(weights.begin(), weights.end(), row_of(result.scores, i).begin());
    result.lse(i) = all_finite(weights, visible)
                        ? softmax_in_place(weights)
                        : extended_row(query, key, options, scale, i, visible, weights);
    for (const std::size_t j : visible) {
      weights[j] *= kept_gain(options, i, j);
      add_scaled(row_of(result.output, i), weights[j], row_of(value, j));
    }
  }
  return result;
}

Attention blocked_attention(const Matrix& query, const Matrix& key, const Matrix& value,
                            const BlockSizes& blocks, const AttentionOptions& options) {
  check_attention_shapes(query, key, value, options);
  if (blocks.queries == 0 || blocks.keys == 0) {
    throw Error(ErrorKind::data, "blocks of 0 queries or keys cover nothing: give at least 1");
  }
  const std::size_t num_queries = query.shape(0);
  const std::size_t num_keys = key.shape(0);
  const double scale = options.scale.value_or(default_scale(key.shape(1)));
  Attention result{zeros(0, 0), zeros(0, 0), zeros(num_queries, value.shape(1)), zeros(num_queries)};
  for (std::size_t first_query = 0; first_query < num_queries;) {
    const std::size_t end_query = first_query + std::min(blocks.queries, num_queries - first_query);
    std::vector<RunningRow> rows(end_query - first_query);
    for (std::size_t first_key = 0; first_key < num_keys;) {
      const std::size_t end_key = first_key + std::min(blocks.keys, num_keys - first_key);
      for (std::size_t i = first_query; i < end_query; ++i) {
        const std::vector<std::size_t> visible = visible_keys(options, i, first_key, end_key);
        add_block(rows[i - first_query], query, key, value, options, scale, i, visible,
                  row_of(result.output, i));
      }
      first_key = end_key;
    }
    for (std::size_t i = first_query; i < end_query; ++i) {
      result.lse(i) =
          finish(rows[i - first_query], query, key, value, options, scale, i, row_of(result.output, i));
    }
    first_query = end_query;
  }
  return result;
}

SoftLookup soft_lookup(const Matrix& query, const Matrix& key, const Matrix& value, double temperature) {
  if (!(temperature >= 0)) {
    throw Error(ErrorKind::data,
                fmt::format("temperature {} is negative: give zero or a positive one", temperature));
  }
  AttentionOptions options;
  options.scale = 1 / temperature;
  if (std::isfinite(*options.scale)) {
    Attention soft = attention(query, key, value, options);
    return {std::move(soft.weights), std::move(soft.output)};
  }
  check_attention_shapes(query, key, value, {});
  const Matrix scores = matmul(query, key, Transpose::no, Transpose::yes);
  SoftLookup hard{zeros(query.shape(0), key.shape(0)), zeros(query.shape(0), value.shape(1))};
  for (std::size_t i = 0; i < query.shape(0); ++i) {
    const std::size_t best = argmax(row_of(scores, i));
    hard.weights(i, best) = 1;
    add_scaled(row_of(hard.output, i), 1, row_of(value, best));
  }
  return hard;
}

}  // namespace attnlab
