// Approximate attention: a window, strides, a low rank, linear attention, random features. What each saves,
// what it loses, and what it may see.
//
//   query, key, value: [T, d]    error: of the output against exact attention, relative
//
// Random inputs are the hard case: their attention is not of low rank, nor local. The published methods live
// on what trained models are like.
//
// Source: Child et al. 2019 (sparse); Wang et al. 2020 (Linformer); Katharopoulos et al. 2020 (linear);
// Choromanski et al. 2021 (Performer), lemma 2.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/error.hpp"
#include "core/linear_attention.hpp"
#include "core/matmul.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t seq_len = 128;
  std::size_t head_dim = 16;
  std::size_t window = 16;
  std::size_t stride = 16;
  std::size_t rank = 32;
  std::size_t layers = 4;
  std::size_t draws = 20000;
  std::vector<double> norms = {0.25, 0.5, 0.75};
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 8, 2048, "positions").short_form('T');
  options.integer("head-dim", p.head_dim, 2, 256, "width of the head");
  options.integer("window", p.window, 1, 2048, "keys of the sliding window, the query's own included");
  options.integer("stride", p.stride, 1, 2048,
                  "the strided pattern sees its last stride keys and every stride-th");
  options.integer("rank", p.rank, 1, 2048, "rows to which the low-rank form projects the keys");
  options.integer("layers", p.layers, 1, 64, "layers of windows stacked");
  options.integer("draws", p.draws, 1000, 10000000, "random features to average over");
  options.reals("norms", p.norms, 0.05, 1, "lengths of query and key for the random features");
}

struct Inputs {
  Matrix query, key, value, projection;
};

Inputs draw_inputs(const Params& p, Generator& rng) {
  const double shrink = 1 / std::sqrt(static_cast<double>(p.seq_len));
  Inputs in;
  in.query = normal_matrix(rng, p.seq_len, p.head_dim);
  in.key = normal_matrix(rng, p.seq_len, p.head_dim);
  in.value = normal_matrix(rng, p.seq_len, p.head_dim);
  in.projection = normal_matrix(rng, p.rank, p.seq_len, 0, shrink);
  return in;
}

Mask reach_of(const Params& p, const Reach& reach) {
  const std::vector<double> positions = aligned_positions(p.seq_len, p.seq_len, CausalAlign::bottom_right);
  return reach_mask(positions, positions, reach);
}

Mask window_mask(const Params& p, const Context& context) {
  Reach reach;
  reach.causal = !context.breaks("sees-ahead");
  reach.left = static_cast<double>(p.window) - (context.breaks("wide-window") ? 0 : 1);
  return reach_of(p, reach);
}

Mask strided_mask(const Params& p, const Context& context) {
  Reach reach;
  reach.causal = true;
  reach.stride = p.stride;
  reach.local = p.stride + (context.breaks("wide-window") ? 1 : 0);
  return reach_of(p, reach);
}

Matrix masked(const Inputs& in, const Mask& mask) {
  AttentionOptions options;
  options.mask = mask;
  return attention(in.query, in.key, in.value, options).output;
}

double visible_pairs(const Mask& mask) {
  return static_cast<double>(std::count(mask.begin(), mask.end(), true));
}

double relative_error(const Matrix& got, const Matrix& want) {
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = got.data()[i] - want.data()[i];
    squares += off * off;
  }
  return std::sqrt(squares / dot(elements(want), elements(want)));
}

// Pairs by the definition of each pattern, counted one query at a time.
double window_pairs(const Params& p) {
  double pairs = 0;
  for (std::size_t i = 0; i < p.seq_len; ++i) pairs += static_cast<double>(std::min(i + 1, p.window));
  return pairs;
}

double strided_pairs(const Params& p) {
  double pairs = 0;
  for (std::size_t i = 0; i < p.seq_len; ++i) {
    for (std::size_t j = 0; j <= i; ++j) pairs += i - j < p.stride || (i - j) % p.stride == 0 ? 1 : 0;
  }
  return pairs;
}

// Positions that the last one reaches through `layers` masks: a search over the graph of who sees whom.
std::size_t reached(const Mask& mask, std::size_t layers) {
  const std::size_t n = mask.shape(0);
  std::vector<bool> now(n, false);
  now[n - 1] = true;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<bool> next(n, false);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; now[i] && j < n; ++j) next[j] = next[j] || mask(i, j);
    }
    now = next;
  }
  return static_cast<std::size_t>(std::count(now.begin(), now.end(), true));
}

// Causal linear attention with the matrix of all pairs, as its definition reads.
Matrix parallel_linear(const Inputs& in) {
  const auto feature = [](double x) { return x > 0 ? x + 1 : std::exp(x); };
  Matrix out = zeros(in.query.shape(0), in.value.shape(1));
  for (std::size_t i = 0; i < out.shape(0); ++i) {
    double total = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      double weight = 0;
      for (std::size_t c = 0; c < in.query.shape(1); ++c)
        weight += feature(in.query(i, c)) * feature(in.key(j, c));
      total += weight;
      for (std::size_t c = 0; c < out.shape(1); ++c) out(i, c) += weight * in.value(j, c);
    }
    for (double& entry : row_of(out, i)) entry /= total;
  }
  return out;
}

// The rank by elimination with full pivoting; what falls below 1e-10 of the first pivot counts as zero.
std::size_t rank_of(Matrix a) {
  const std::size_t n = a.shape(0);
  double first = 0;
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t row = step, column = step;
    for (std::size_t i = step; i < n; ++i) {
      for (std::size_t j = step; j < n; ++j) {
        if (std::abs(a(i, j)) > std::abs(a(row, column))) row = i, column = j;
      }
    }
    if (step == 0) first = std::abs(a(row, column));
    if (std::abs(a(row, column)) <= 1e-10 * first) return step;
    for (std::size_t j = 0; j < n; ++j) std::swap(a(step, j), a(row, j));
    for (std::size_t i = 0; i < n; ++i) std::swap(a(i, step), a(i, column));
    for (std::size_t i = step + 1; i < n; ++i) {
      const double factor = a(i, step) / a(step, step);
      for (std::size_t j = step; j < n; ++j) a(i, j) -= factor * a(step, j);
    }
  }
  return n;
}

void check_ranks(Report& report, Generator& rng, const Context& context) {
  constexpr std::size_t n = 48, d = 6;
  const Matrix query = normal_matrix(rng, n, d);
  const Matrix key = normal_matrix(rng, n, d);
  const Matrix scores = matmul(query, key, Transpose::no, Transpose::yes);
  const Matrix weights = attention(query, key, key).weights;
  const bool swap = context.breaks("ranks-swapped");
  report.check({.id = "scores-rank",
                .measured = static_cast<double>(rank_of(swap ? weights : scores)),
                .expected = d});
  report.check({.id = "softmax-raises-rank",
                .measured = static_cast<double>(rank_of(swap ? scores : weights)),
                .expected = n});
}

// The variance of one random feature's estimate of exp(x . y), and the standard error of a sample's variance,
// both relative to the formula; x and y of one length, x . y = -0.3 of its square.
struct FeatureVariance {
  double formula, kurtosis;
};

FeatureVariance positive_variance(double sum_square, double kernel) {
  const double s = sum_square;  // the exponent is normal with this variance
  const double kurtosis = std::exp(4 * s) + 2 * std::exp(3 * s) + 3 * std::exp(2 * s) - 3;
  return {std::exp(s) * kernel * kernel * -std::expm1(-s), kurtosis};
}

FeatureVariance trigonometric_variance(double norm_square, double difference_square) {
  const double r = difference_square;
  const double c1 = std::exp(-r / 2), c2 = std::exp(-2 * r), c3 = std::exp(-4.5 * r), c4 = std::exp(-8 * r);
  const double m2 = (1 + c2) / 2, m3 = (3 * c1 + c3) / 4, m4 = (3 + 4 * c2 + c4) / 8;
  const double variance = m2 - c1 * c1;
  const double fourth = m4 - 4 * c1 * m3 + 6 * c1 * c1 * m2 - 3 * c1 * c1 * c1 * c1;
  const double fall = -std::expm1(-r);
  return {0.5 * std::exp(2 * norm_square) * fall * fall, fourth / (variance * variance)};
}

Table feature_table(const Params& p, Generator& rng, const Context& context, Report& report) {
  Table table{"features",
              "Variance of one random feature's estimate of exp(query . key)",
              {{"norm"}, {"positive"}, {"positive_theory"}, {"trigonometric"}, {"trigonometric_theory"}}};
  const auto count = static_cast<double>(p.draws);
  for (const double norm : p.norms) {
    const double square = norm * norm;
    const double inner = -0.3 * square;
    const double kernel = std::exp(inner);
    std::vector<double> positive(p.draws), trigonometric(p.draws);
    const double across = std::sqrt(square - inner * inner / square);
    for (std::size_t draw = 0; draw < p.draws; ++draw) {
      // Only two directions of the random vector matter: along x, and across it.
      const double along = rng.standard_normal();
      const double other = rng.standard_normal();
      const double with_x = norm * along;
      const double with_y = inner / norm * along + across * other;
      positive[draw] = std::exp(with_x + with_y - square);
      trigonometric[draw] = std::exp(square) * std::cos(with_x - with_y);
    }
    if (context.breaks("features-swapped")) positive.swap(trigonometric);
    const double positive_spread = variance(positive);
    const double trigonometric_spread = variance(trigonometric);
    const FeatureVariance p_theory = positive_variance(2 * square + 2 * inner, kernel);
    const FeatureVariance t_theory = trigonometric_variance(square, 2 * square - 2 * inner);
    table.rows.push_back({norm, positive_spread, p_theory.formula, trigonometric_spread, t_theory.formula});
    const auto compare = [&](const char* kind, double measured, const FeatureVariance& theory) {
      const double error = std::sqrt((theory.kurtosis - 1) / count);
      report.check({.id = "feature-variance",
                    .label = fmt::format("{}-{}", kind, norm),
                    .measured = measured / theory.formula,
                    .expected = 1,
                    .tolerance = 4 * error,
                    .standard_error = error});
    };
    compare("positive", positive_spread, p_theory);
    compare("trigonometric", trigonometric_spread, t_theory);
    if (norm <= 0.3) {
      report.check({.id = "positive-is-not-better",
                    .measured = positive_spread / trigonometric_spread,
                    .relation = Relation::at_least,
                    .expected = 2});
    }
  }
  return table;
}

// What an output before the last position changes by when the last token changes.
template <class Method>
double leak(const Inputs& in, Method method) {
  Inputs changed = in;
  const std::size_t last = in.key.shape(0) - 1;
  for (std::size_t c = 0; c < in.key.shape(1); ++c) {
    changed.key(last, c) += 1;
    changed.value(last, c) -= 2;
  }
  const Matrix before = method(in);
  const Matrix after = method(changed);
  return largest_difference(elements(before).first(last * before.shape(1)),
                            elements(after).first(last * after.shape(1)));
}

Report run(const Params& p, const Context& context) {
  if (p.rank > p.seq_len)
    throw Error(ErrorKind::usage, fmt::format("--rank: {} is more than the {} positions", p.rank, p.seq_len));
  Report report("Approximate attention");
  Generator rng = context.rng();
  const Inputs in = draw_inputs(p, rng);
  const Mask window = window_mask(p, context);
  const Mask strided = strided_mask(p, context);
  const auto low_rank = [](const Inputs& x) {
    return low_rank_attention(x.query, x.key, x.value, x.projection, x.projection).output;
  };
  const auto linear = [&](const Inputs& x) {
    return linear_attention(x.query, x.key, x.value, !context.breaks("sees-ahead"));
  };
  const Matrix causal = masked(in, causal_mask(p.seq_len, p.seq_len));
  const Matrix full = attention(in.query, in.key, in.value).output;
  const auto n = static_cast<double>(p.seq_len);
  const auto d = static_cast<double>(p.head_dim);
  Table table{"methods",
              "Multiply-adds and relative error of the output",
              {{"method"}, {"multiply_adds"}, {"exact_multiply_adds"}, {"relative_error"}}};
  const bool exact_instead = context.breaks("exact-instead");
  const auto add = [&](const char* method, double work, double exact_work, double error) {
    if (exact_instead) work = exact_work + 1, error = 0;
    table.rows.push_back(
        {method, static_cast<std::int64_t>(work), static_cast<std::int64_t>(exact_work), error});
    report.check({.id = "fewer-operations",
                  .label = method,
                  .measured = work / exact_work,
                  .relation = Relation::at_most,
                  .expected = 1});
    report.check({.id = "loses",
                  .label = method,
                  .measured = error,
                  .relation = Relation::at_least,
                  .expected = 0.01});
  };
  const double causal_work = n * (n + 1) * d;
  add("window", 2 * d * visible_pairs(window), causal_work, relative_error(masked(in, window), causal));
  add("strided", 2 * d * visible_pairs(strided), causal_work, relative_error(masked(in, strided), causal));
  add("low-rank", 4 * d * n * static_cast<double>(p.rank), 2 * n * n * d, relative_error(low_rank(in), full));
  add("linear", 2 * n * d * (d + 1), causal_work, relative_error(linear(in), causal));
  report.table(std::move(table));

  report.check(
      {.id = "pairs", .label = "window", .measured = visible_pairs(window), .expected = window_pairs(p)});
  report.check(
      {.id = "pairs", .label = "strided", .measured = visible_pairs(strided), .expected = strided_pairs(p)});
  const double field = static_cast<double>(p.layers * (p.window - 1) + 1);
  report.check({.id = "receptive-field",
                .measured = static_cast<double>(reached(window, p.layers)),
                .expected = std::min(field, n)});
  report.check({.id = "linear-recurrent",
                .measured = largest_difference(elements(linear(in)), elements(parallel_linear(in))),
                .tolerance = 1e-12});
  report.check({.id = "leak", .label = "window", .measured = leak(in, [&](const Inputs& x) {
                                                   return masked(x, window);
                                                 })});
  report.check({.id = "leak", .label = "linear", .measured = leak(in, linear)});
  report.check({.id = "low-rank-leaks",
                .measured = exact_instead ? 0 : leak(in, low_rank),
                .relation = Relation::at_least,
                .expected = 1e-6});
  check_ranks(report, rng, context);
  report.table(feature_table(p, rng, context, report));
  report.check(
      {.id = "trained-is-low-rank",
       .reason = "measured on a trained RoBERTa; attention of random queries and keys is not of low rank",
       .checkable = false});
  report.explain("a window of w keys passes w - 1 positions on each layer: L layers reach L (w - 1) + 1");
  report.explain(
      "beyond lengths of about 2 a random feature's estimate is so heavy-tailed that a sample shows half "
      "its variance, so the comparison stays at 1 and below");
  report.figure({.name = "features",
                 .title = "Variance of random features",
                 .kind = FigureKind::line,
                 .data = {"features"},
                 .x_column = "norm",
                 .series = {{"positive", "positive"},
                            {"positive_theory", "positive, theory", "", true},
                            {"trigonometric", "trigonometric"},
                            {"trigonometric_theory", "trigonometric, theory", "", true}},
                 .x_axis = {"length of query and key"},
                 .y_axis = {"variance", "", Scale::log10},
                 .caption =
                     "Positive features are worse for short vectors and better for long ones. Choromanski et "
                     "al. 2021, lemma 2."});
  report.figure({.name = "methods",
                 .title = "Error of the output",
                 .kind = FigureKind::bars,
                 .data = {"methods"},
                 .x_column = "method",
                 .series = {{"relative_error"}},
                 .x_axis = {"method"},
                 .y_axis = {"relative error"},
                 .caption =
                     "On random inputs every shortcut costs accuracy; trained models are kinder. Wang et al. "
                     "2020, figure 1."});
  return report;
}

}  // namespace

Experiment approximations_experiment() {
  return make_experiment<Params>(
      {.name = "approximations",
       .title = "Approximate attention",
       .summary = "windows, strides, low rank, linear attention and random features against the exact one",
       .section = "Costs: quadratic attention and the KV cache",
       .source = "Child et al. 2019; Wang et al. 2020; Katharopoulos et al. 2020; Choromanski et al. 2021",
       .purpose = "Computes attention by cheaper ways on random inputs and shows what they save, how far "
                  "they are from "
                  "the exact output, and whether a later token can leak into an earlier output.",
       .examples = {"attnlab approximations", "attnlab approximations -T 512 --window 64 --rank 128",
                    "attnlab approximations --norms 0.1:1:0.1 --draws 200000 --plot"},
       .claims = {{"fewer-operations", "each method does less work than exact attention"},
                  {"loses", "each method's output is off by at least one per cent"},
                  {"pairs", "sparse patterns look at the pairs that their definition names",
                   "Child et al. 2019, section 4.2"},
                  {"receptive-field", "L layers of windows of w keys reach L (w - 1) + 1 positions"},
                  {"linear-recurrent", "linear attention as a recurrence gives what it gives over all pairs",
                   "Katharopoulos et al. 2020, section 3.3"},
                  {"leak", "windows and causal linear attention let no later token into an earlier output"},
                  {"low-rank-leaks",
                   "projecting keys along the sequence lets later tokens into earlier outputs"},
                  {"scores-rank", "query key^T has at most the rank of the head's width"},
                  {"softmax-raises-rank", "the softmax raises the rank to the number of tokens"},
                  {"feature-variance", "the variance of random features is that of the formulas",
                   "Choromanski et al. 2021, lemma 2"},
                  {"positive-is-not-better", "for short queries and keys positive features vary more"},
                  {"trained-is-low-rank", "attention of trained models is nearly of low rank",
                   "Wang et al. 2020, figure 1"}},
       .breakages = {{"sees-ahead", "nothing hides the future"},
                     {"wide-window", "the patterns take one key more"},
                     {"exact-instead", "exact attention is computed in place of each method"},
                     {"ranks-swapped", "scores and weights trade places"},
                     {"features-swapped", "positive and trigonometric features trade places"}}},
      declare, run);
}

}  // namespace attnlab::experiments
