// Why scores are divided by sqrt(d_k): the lesson's second listing.
//
// With entries from N(0, 1) a dot product of d_k terms has variance d_k. Undivided, the scores spread with
// the width of the head and the softmax goes to its best key alone; divided by sqrt(d_k) they keep a spread
// of 1.
//
//   query, key: [num_pairs, d_k]    keys: [num_queries, num_keys, d_k]    scores: [num_queries, num_keys]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.1, footnote 4.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::vector<std::int64_t> d_k = {4, 64, 512};
  std::size_t num_pairs = 5000;
  std::size_t num_queries = 2000;
  std::size_t num_keys = 16;
  std::string divide = "sqrt";
};

void declare(OptionSet& options, Params& p) {
  options.integers("d-k", p.d_k, 1, 16384, "widths of a head");
  options.integer("num-pairs", p.num_pairs, 100, 1'000'000, "pairs of query and key for the spread");
  options.integer("num-queries", p.num_queries, 10, 100'000, "sets of keys for the largest weight");
  options.integer("num-keys", p.num_keys, 2, 1024, "keys in a set").short_form('T');
  options.choice("divide", p.divide, {"sqrt", "linear", "none"},
                 "what a scaled score is divided by: sqrt(d_k), d_k, 1");
}

double divisor(const Params& p, std::size_t d_k) {
  if (p.divide == "none") return 1;
  return p.divide == "linear" ? static_cast<double>(d_k) : std::sqrt(static_cast<double>(d_k));
}

// The dot products of num_pairs queries with as many keys, each drawn row by row; all queries come first in
// the stream, so the keys are drawn by a second generator that starts behind them.
Vector pair_products(Generator& rng, const Params& p, std::size_t d_k) {
  Generator key_rng = rng;
  key_rng.skip_normals(p.num_pairs * d_k);
  Vector query = zeros(d_k);
  Vector key = zeros(d_k);
  Vector products = zeros(p.num_pairs);
  for (double& product : products) {
    rng.fill_standard_normal(elements(query));
    key_rng.fill_standard_normal(elements(key));
    product = dot(elements(query), elements(key));
  }
  rng = key_rng;
  return products;
}

// Scores of one query with num_queries sets of keys. The lesson draws the keys first; they would fill 125 MiB
// at d_k = 512, so they are drawn twice: once to reach the query, once to be used a set at a time.
Matrix key_set_scores(Generator& rng, const Params& p, std::size_t d_k) {
  Generator key_rng = rng;
  rng.skip_normals(p.num_queries * p.num_keys * d_k);
  const Vector query = normal_vector(rng, d_k);
  Matrix keys = zeros(p.num_keys, d_k);
  Matrix scores = zeros(p.num_queries, p.num_keys);
  for (std::size_t i = 0; i < p.num_queries; ++i) {
    key_rng.fill_standard_normal(elements(keys));
    for (std::size_t j = 0; j < p.num_keys; ++j) scores(i, j) = dot(row_of(keys, j), elements(query));
  }
  return scores;
}

double mean_peak(const Matrix& scores, double divide_by) {
  Vector row = zeros(scores.shape(1));
  Vector peaks = zeros(scores.shape(0));
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    for (std::size_t j = 0; j < scores.shape(1); ++j) row(j) = scores(i, j) / divide_by;
    softmax_in_place(elements(row));
    peaks(i) = maximum(elements(row));
  }
  return mean(elements(peaks));
}

bool is_lessons_own(const Params& p, const Context& context) {
  return p.d_k == Params().d_k && p.num_pairs == 5000 && p.num_queries == 2000 && p.num_keys == 16 &&
         p.divide == "sqrt" && context.precision.value_or(3) == 3 &&
         context.seed.entropy() == std::vector<std::uint32_t>{466};
}

Report run(const Params& p, const Context& context) {
  Report report("Why scores are divided by sqrt(d_k)");
  Generator rng = context.rng();
  Table table{"scaling",
              "Spread of dot products and largest softmax weight",
              {{"d_k"},
               {"std"},
               {"sqrt_d_k"},
               {"peak_unscaled"},
               {"peak_scaled"},
               {"std_scaled"},
               {"theory_scaled"}}};
  std::vector<double> stds;
  std::vector<double> unscaled;
  std::vector<double> scaled;
  std::string listing;
  for (const std::int64_t width : p.d_k) {
    const auto d_k = static_cast<std::size_t>(width);
    const Vector products = pair_products(rng, p, d_k);
    const Matrix scores = key_set_scores(rng, p, d_k);
    const double root = std::sqrt(static_cast<double>(d_k));
    const double divide_by = context.breaks("undivided") ? 1 : divisor(p, d_k);
    stds.push_back(standard_deviation(elements(products)));
    unscaled.push_back(mean_peak(scores, 1));
    scaled.push_back(mean_peak(scores, divide_by));
    table.rows.push_back(
        {width, stds.back(), root, unscaled.back(), scaled.back(), stds.back() / divide_by, 1.0});
    const std::string text = fmt::format(
        "d_k = {:3}: std of q.k = {:6.{}f} (sqrt(d) = {:5.{}f});  "
        "mean largest softmax weight over {} keys: unscaled {:.{}f}, scaled {:.{}f}",
        d_k, stds.back(), context.digits(2), root, context.digits(2), p.num_keys, unscaled.back(),
        context.digits(3), scaled.back(), context.digits(3));
    report.line(text);
    listing += text + '\n';

    const std::string label = fmt::format("{}", d_k);
    report.explain(
        fmt::format("d_k = {}: a dot product sums {} terms of variance 1: std {:.4f}, sqrt(d_k) {:.4f}; "
                    "divided by {:.4f} it is {:.4f}",
                    d_k, d_k, stds.back(), root, divide_by, stds.back() / divide_by));
    // A product of two normals has kurtosis 9, their sum of d_k terms 3 + 6 / d_k.
    const double error = std::sqrt((2 + 6 / static_cast<double>(d_k)) / static_cast<double>(p.num_pairs));
    const double spread = stds.back() / divide_by;
    report.check({.id = "unit-variance",
                  .label = label,
                  .measured = spread * spread,
                  .expected = 1,
                  .tolerance = 4 * error,
                  .standard_error = error});
  }
  report.data(std::move(table));
  report.value("d", p.d_k).value("std", stds).value("peak_unscaled", unscaled).value("peak_scaled", scaled);
  if (is_lessons_own(p, context)) {
    const bool same = !context.breaks("undivided") && listing == embedded_file("lesson/scaling.txt");
    report.check({.id = "listing", .measured = same ? 1.0 : 0.0, .expected = 1});
  }
  report.figure({.name = "peak",
                 .title = "Largest softmax weight",
                 .kind = FigureKind::line,
                 .data = {"scaling"},
                 .x_column = "d_k",
                 .series = {{"peak_unscaled", "undivided"}, {"peak_scaled", "divided"}},
                 .x_axis = {"d_k", "", Scale::log2},
                 .y_axis = {"mean largest weight"},
                 .caption = "Undivided, one key takes nearly all the weight as heads grow wider. "
                            "Vaswani et al. 2017, footnote 4."});
  return report;
}

}  // namespace

Experiment scaling_experiment() {
  return make_experiment<Params>(
      {.name = "scaling",
       .title = "Why scores are divided by sqrt(d_k)",
       .summary = "spread of scores and largest weight against the width of a head",
       .section = "Why scale by the square root of the dimension",
       .source = "Vaswani et al. 2017, section 3.2.1, footnote 4",
       .purpose =
           "Draws pairs of queries and keys and sets of keys for one query, and prints how dot products "
           "spread "
           "and how much weight the best key takes, undivided and divided. Each width has one query, so its "
           "peaks carry that query's norm.",
       .examples = {"attnlab scaling", "attnlab scaling --d-k 1:1024:x2 --format csv",
                    "attnlab scaling --divide linear --explain"},
       .claims = {{"listing", "the three lines are those that the lesson prints"},
                  {"unit-variance", "divided by sqrt(d_k), dot products have variance 1"}},
       .breakages = {{"undivided", "the scores are not divided"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
