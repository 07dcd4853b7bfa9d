// ALiBi: a penalty proportional to distance is added to each score; no positions are added to the input.
//
// Each head has its own slope, a geometric sequence, so some heads look near and some far. With equal scores
// the weight falls by exp(-slope) a position, to 1% of the nearest key's at a distance of ln(100) / slope.
//
//   bias: [seq_len, seq_len], -slope * distance    slopes: [num_heads]
//
// Source: Press, Smith and Lewis, "Train Short, Test Long: Attention with Linear Biases Enables Input Length
// Extrapolation" (2022), section 3.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/error.hpp"
#include "core/positions.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t heads = 8;
  std::size_t seq_len = 16;
  std::size_t head = 0;
  double threshold = 0.01;
};

void declare(OptionSet& options, Params& p) {
  options.integer("heads", p.heads, 1, 64, "heads, each with a slope");
  options.integer("seq-len", p.seq_len, 2, 512, "positions").short_form('T');
  options.integer("head", p.head, 0, 63, "the head whose bias is shown");
  options.real("threshold", p.threshold, 1e-6, 0.99,
               "share of the nearest key's weight where the window ends");
}

// The slopes, with the fault that was asked for, if any.
std::vector<double> slopes_of(std::size_t num_heads, const Context& context) {
  std::vector<double> slopes = alibi_slopes(num_heads);
  if (context.breaks("one-slope")) std::fill(slopes.begin(), slopes.end(), 0.5);
  return slopes;
}

Matrix bias_of(std::size_t num_queries, std::size_t num_keys, double slope, const Context& context) {
  std::vector<double> queries(num_queries);
  for (std::size_t i = 0; i < num_queries; ++i) queries[i] = static_cast<double>(num_keys - num_queries + i);
  Matrix bias = alibi_bias(queries, counted_positions(num_keys), slope);
  for (std::size_t i = 0; i < num_queries; ++i) {
    for (std::size_t j = 0; j < num_keys; ++j) {
      if (context.breaks("by-key-position")) bias(i, j) = -slope * static_cast<double>(j);
      if (context.breaks("squared")) bias(i, j) *= std::abs(queries[i] - static_cast<double>(j));
    }
  }
  return bias;
}

// The rule that needs no power of two: slopes spaced evenly in their exponents.
std::vector<double> geometric_slopes(std::size_t num_heads) {
  std::vector<double> slopes;
  for (std::size_t head = 1; head <= num_heads; ++head) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(head) / static_cast<double>(num_heads)));
  }
  return slopes;
}

// The weights of one query at the end of so many keys whose scores are all equal.
Vector weights_by_distance(std::size_t num_keys, double slope, const Context& context) {
  const Matrix query = zeros(1, 1);
  const Matrix key = zeros(num_keys, 1);
  AttentionOptions options;
  options.bias = bias_of(1, num_keys, slope, context);
  const Attention result = attention(query, key, key, options);
  Vector by_distance = zeros(num_keys);
  for (std::size_t distance = 0; distance < num_keys; ++distance) {
    by_distance(distance) = result.weights(0, num_keys - 1 - distance);
  }
  return by_distance;
}

// The first distance at which a key gets no more than that share of the nearest key's weight.
std::size_t window_of(const Vector& by_distance, double threshold) {
  std::size_t distance = 0;
  while (distance < by_distance.size() && by_distance(distance) > threshold * by_distance(0)) ++distance;
  return distance;
}

void check_slopes(Report& report, const Context& context) {
  const std::vector<double> eight = {1.0 / 2,  1.0 / 4,  1.0 / 8,   1.0 / 16,
                                     1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256};
  report.check({.id = "eight-heads", .measured = largest_difference(slopes_of(8, context), eight)});
  const std::vector<double> sixteen = slopes_of(16, context);
  double worst = std::abs(sixteen[0] - std::sqrt(0.5));
  for (std::size_t head = 1; head < 16; ++head) {
    worst = std::max(worst, std::abs(sixteen[head] / sixteen[head - 1] - std::sqrt(0.5)));
  }
  report.check({.id = "sixteen-heads", .measured = worst, .tolerance = 1e-15});
  // Those of 8 heads, then every other one of 16.
  std::vector<double> twelve = eight;
  for (const double exponent : {0.5, 1.5, 2.5, 3.5}) twelve.push_back(std::exp2(-exponent));
  report.check({.id = "twelve-heads",
                .measured = largest_difference(slopes_of(12, context), twelve),
                .tolerance = 1e-15});

  Table table{"twelve_heads",
              "Slopes of 12 heads, which is no power of two, by two rules",
              {{"head"}, {"authors_code"}, {"evenly_spaced"}}};
  const std::vector<double> even = geometric_slopes(12);
  for (std::size_t head = 0; head < 12; ++head) {
    table.rows.push_back({static_cast<std::int64_t>(head), twelve[head], even[head]});
  }
  report.data(std::move(table));
}

void check_bias(Report& report, const Params& p, double slope, const Context& context) {
  const Matrix bias = bias_of(p.seq_len, p.seq_len, slope, context);
  Matrix by_hand = zeros(p.seq_len, p.seq_len);
  double shift = 0;
  for (std::size_t i = 0; i < p.seq_len; ++i) {
    for (std::size_t j = 0; j < p.seq_len; ++j) {
      by_hand(i, j) = -slope * static_cast<double>(i > j ? i - j : j - i);
      if (i > 0 && j > 0) shift = std::max(shift, std::abs(bias(i, j) - bias(i - 1, j - 1)));
    }
  }
  report.check({.id = "proportional", .measured = largest_difference(elements(bias), elements(by_hand))});
  report.check({.id = "relative", .measured = shift});

  Grid grid{"bias",
            fmt::format("What is added to the scores of head {}", p.head),
            to_array(bias),
            {"query position", "key position"}};
  const Mask causal = causal_mask(p.seq_len, p.seq_len);
  for (const bool visible : causal) grid.hidden.push_back(!visible);
  report.data(std::move(grid));
}

Report run(const Params& p, const Context& context) {
  if (p.head >= p.heads)
    throw Error(ErrorKind::usage, fmt::format("--head: {} is not below the {} of --heads", p.head, p.heads));
  Report report("Attention with linear biases");
  const std::vector<double> slopes = slopes_of(p.heads, context);
  Table table{
      "windows",
      fmt::format("How far each head looks where scores are equal: weight down to {} of the nearest key's",
                  p.threshold),
      {{"head"}, {"slope"}, {"window_tokens"}, {"weight_of_nearest"}}};
  const double log_share = std::log(1 / p.threshold);
  std::vector<Vector> by_head;
  for (std::size_t head = 0; head < p.heads; ++head) {
    const double reach = log_share / alibi_slopes(p.heads)[head];
    const auto keys = static_cast<std::size_t>(std::min(2 * reach + 2, 20000.0));
    by_head.push_back(weights_by_distance(keys, slopes[head], context));
    const std::size_t window = window_of(by_head.back(), p.threshold);
    table.rows.push_back({static_cast<std::int64_t>(head), slopes[head], static_cast<std::int64_t>(window),
                          by_head.back()(0)});
    report.check({.id = "window",
                  .label = fmt::format("{}", head),
                  .measured = static_cast<double>(window),
                  .expected = std::ceil(reach)});
  }
  report.table(std::move(table));

  Table fall{"fall", "Weight of a key over the nearest key's, equal scores", {{"distance"}}};
  for (std::size_t head = 0; head < p.heads; ++head) fall.columns.push_back({fmt::format("head_{}", head)});
  for (std::size_t distance = 0; distance < 64; ++distance) {
    std::vector<Cell> row{static_cast<std::int64_t>(distance)};
    for (const double slope : slopes) row.emplace_back(std::exp(-slope * static_cast<double>(distance)));
    fall.rows.push_back(std::move(row));
  }
  std::vector<Series> lines;
  for (std::size_t head = 0; head < p.heads; ++head) lines.push_back({fmt::format("head_{}", head)});
  report.data(std::move(fall));

  check_slopes(report, context);
  check_bias(report, p, slopes[p.head], context);
  report.check(
      {.id = "trains-short",
       .reason =
           "needs trained models; Press et al. 2022 print 17.60 against 18.67 perplexity on WikiText-103 "
           "at 3,072 tokens, and 11% less time and memory for 1.3 billion parameters",
       .checkable = false});
  report.explain(
      fmt::format("weight at distance x over weight at 0 = exp(-slope * x); it is {} at x = {:.4f} / slope",
                  p.threshold, log_share));
  report.figure({.name = "fall",
                 .title = "How the weight falls with distance",
                 .kind = FigureKind::line,
                 .data = {"fall"},
                 .x_column = "distance",
                 .series = lines,
                 .x_axis = {"distance", "tokens"},
                 .y_axis = {"weight over the nearest key's"},
                 .caption = "Steep heads look near, flat ones far. Press et al. 2022, section 3."});
  report.figure(
      {.name = "bias",
       .title = "What is added to the scores",
       .kind = FigureKind::heat_map,
       .data = {"bias"},
       .x_axis = {"key position"},
       .y_axis = {"query position"},
       .caption =
           "The penalty grows with the distance and does not depend on where the pair stands. Press et "
           "al. 2022, figure 3."});
  return report;
}

}  // namespace

Experiment alibi_experiment() {
  return make_experiment<Params>(
      {.name = "alibi",
       .title = "Attention with linear biases",
       .summary = "a penalty proportional to distance: slopes, bias and how far each head looks",
       .section = "Positional information",
       .source = "Press, Smith and Lewis 2022, section 3",
       .purpose = "Adds ALiBi's penalty to equal scores and prints each head's slope and the distance at "
                  "which a key's weight "
                  "falls to a hundredth of the nearest one's.",
       .examples = {"attnlab alibi", "attnlab alibi --heads 12 --table twelve_heads",
                    "attnlab alibi --threshold 0.1 --explain"},
       .claims = {{"eight-heads", "8 heads have the slopes 1/2, 1/4, ... 1/256"},
                  {"sixteen-heads", "16 heads start at the root of 1/2 and go on by that factor"},
                  {"twelve-heads", "12 heads have the slopes of 8 and then every other one of 16",
                   "Press, Smith and Lewis 2022, released code"},
                  {"proportional", "the penalty is the slope times the distance"},
                  {"relative", "the penalty depends on the distance alone"},
                  {"window", "a head's weight falls to the threshold at ln(1 / threshold) / slope"},
                  {"trains-short",
                   "models trained on short texts predict longer ones better than with sinusoidal positions",
                   "Press, Smith and Lewis 2022, sections 4 and 5"}},
       .breakages = {{"one-slope", "all heads have the same slope"},
                     {"by-key-position", "the penalty grows with the key's position instead of the distance"},
                     {"squared", "the penalty grows with the square of the distance"}}},
      declare, run);
}

}  // namespace attnlab::experiments
