// Why scores are divided by sqrt(d_k): the lesson's second listing.
//
// With entries from N(0, 1) a dot product of d_k terms has variance d_k. Undivided, the scores spread with
// the width of the head and the softmax goes to its best key alone; divided by sqrt(d_k) they keep a spread
// of 1. Saturated, the softmax passes on no gradient: its Jacobian goes to zero.
//
//   query, key: [num_pairs, d_k]    keys: [num_queries, num_keys, d_k]    scores: [num_queries, num_keys]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.1, footnote 4.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

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
  std::size_t saturation_queries = 1000;
};

void declare(OptionSet& options, Params& p) {
  options.integers("d-k", p.d_k, 1, 16384, "widths of a head");
  options.integer("num-pairs", p.num_pairs, 100, 1'000'000, "pairs of query and key for the spread");
  options.integer("num-queries", p.num_queries, 10, 100'000, "sets of keys for the largest weight");
  options.integer("num-keys", p.num_keys, 2, 1024, "keys in a set").short_form('T');
  options.choice("divide", p.divide, {"sqrt", "linear", "none"},
                 "what a scaled score is divided by: sqrt(d_k), d_k, 1");
  options.integer("saturation-queries", p.saturation_queries, 10, 100'000,
                  "queries over which saturation is averaged");
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

// The Frobenius norm of the softmax's Jacobian diag(w) - w w^T at these weights.
double jacobian_norm(std::span<const double> weights) {
  double squares = 0;
  double cubes = 0;
  for (const double weight : weights) {
    squares += weight * weight;
    cubes += weight * weight * weight;
  }
  return std::sqrt(std::max(0.0, squares - 2 * cubes + squares * squares));
}

// Largest weight, entropy and Jacobian norm over many queries, one value a query.
struct Saturation {
  Vector peak, entropy, jacobian;
};

// Means over 40,000 queries with 16 keys, each within 0.001, from NumPy.
struct Recorded {
  std::size_t d_k;
  double peak, peak_sqrt, peak_linear, entropy, jacobian, jacobian_sqrt;
};
const std::vector<Recorded> recorded_means = {
    {4, 0.426, 0.234, 0.134, 1.767, 0.323, 0.297},    {16, 0.685, 0.243, 0.095, 0.902, 0.277, 0.303},
    {64, 0.844, 0.246, 0.077, 0.409, 0.176, 0.305},   {256, 0.922, 0.246, 0.070, 0.195, 0.099, 0.305},
    {1024, 0.961, 0.247, 0.066, 0.093, 0.052, 0.305},
};
constexpr std::size_t widest_recorded = 1024;

// The widths that were asked for, and those of the recorded means.
std::set<std::size_t> saturation_widths(const Params& p) {
  std::set<std::size_t> widths(p.d_k.begin(), p.d_k.end());
  for (const Recorded& recorded : recorded_means) widths.insert(recorded.d_k);
  return widths;
}

// What queries of each width meet. For a given query the scores of independent keys are independent normals
// that spread by the query's length, so the keys themselves need not be drawn; and the first d_k entries of a
// wide query are a query of width d_k, so that all widths share one draw and none depends on which others
// there are.
struct SharedDraw {
  std::map<std::size_t, Vector> lengths;  // of the queries, by width
  Matrix standard_scores;                 // [queries, keys], of queries of length 1
};

SharedDraw draw_queries(const Params& p, const Context& context) {
  const std::set<std::size_t> widths = saturation_widths(p);
  std::vector<Generator> rngs = context.rng().spawn(3);
  SharedDraw draw;
  draw.standard_scores = normal_matrix(rngs[0], p.saturation_queries, p.num_keys);
  for (const std::size_t width : widths) draw.lengths[width] = zeros(p.saturation_queries);
  Vector query = zeros(std::max(widest_recorded, *widths.rbegin()));
  for (std::size_t i = 0; i < p.saturation_queries; ++i) {
    rngs[1].fill_standard_normal(elements(query).first(widest_recorded));
    rngs[2].fill_standard_normal(elements(query).subspan(widest_recorded));
    for (auto& [width, lengths] : draw.lengths) {
      const std::span<const double> entries = elements(std::as_const(query)).first(width);
      lengths(i) = std::sqrt(dot(entries, entries));
      if (context.breaks("narrow-entries")) lengths(i) /= 2;
    }
  }
  return draw;
}

Saturation saturation_of(const SharedDraw& draw, std::size_t d_k, double divide_by) {
  const Vector& lengths = draw.lengths.at(d_k);
  const std::size_t count = lengths.size();
  Saturation found{zeros(count), zeros(count), zeros(count)};
  Vector row = zeros(draw.standard_scores.shape(1));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < row.size(); ++j) row(j) = draw.standard_scores(i, j) * lengths(i) / divide_by;
    softmax_in_place(elements(row));
    found.peak(i) = maximum(elements(row));
    found.entropy(i) = entropy(elements(row));
    found.jacobian(i) = jacobian_norm(elements(row));
  }
  return found;
}

void check_mean(Report& report, const char* id, std::size_t d_k, const Vector& values, double expected) {
  // The recorded mean has an error of its own.
  const double error = std::hypot(standard_error(elements(values)), 0.001);
  report.check({.id = id,
                .label = fmt::format("{}", d_k),
                .measured = mean(elements(values)),
                .expected = expected,
                .tolerance = 4 * error,
                .standard_error = error});
}

// The ratio of two recorded means, with the errors of all four means.
void check_vanishing(Report& report, const Vector& plain, const Vector& root, const Recorded& recorded) {
  const double ratio = mean(elements(plain)) / mean(elements(root));
  const double expected = recorded.jacobian / recorded.jacobian_sqrt;
  const auto relative = [](const Vector& values, double recorded_mean) {
    return std::hypot(standard_error(elements(values)), 0.001) / recorded_mean;
  };
  const double error =
      expected * std::hypot(relative(plain, recorded.jacobian), relative(root, recorded.jacobian_sqrt));
  report.check({.id = "gradients-vanish",
                .label = fmt::format("{}", recorded.d_k),
                .measured = ratio,
                .expected = expected,
                .tolerance = 4 * error,
                .standard_error = error});
}

void check_recorded(Report& report, const Recorded& recorded, const Saturation& plain, const Saturation& root,
                    const Saturation& linear) {
  check_mean(report, "peak-undivided", recorded.d_k, plain.peak, recorded.peak);
  check_mean(report, "entropy-undivided", recorded.d_k, plain.entropy, recorded.entropy);
  check_mean(report, "jacobian-undivided", recorded.d_k, plain.jacobian, recorded.jacobian);
  check_mean(report, "peak-sqrt", recorded.d_k, root.peak, recorded.peak_sqrt);
  check_mean(report, "jacobian-sqrt", recorded.d_k, root.jacobian, recorded.jacobian_sqrt);
  check_mean(report, "peak-linear", recorded.d_k, linear.peak, recorded.peak_linear);
  if (recorded.d_k >= 256) check_vanishing(report, plain.jacobian, root.jacobian, recorded);
}

void check_saturation(Report& report, const Params& p, const Context& context) {
  Table table{"saturation",
              fmt::format("Softmax over {} keys, means over {} queries (entropy at most {:.3f} nats)",
                          p.num_keys, p.saturation_queries, std::log(static_cast<double>(p.num_keys))),
              {{"d_k"},
               {"peak_undivided"},
               {"peak_sqrt"},
               {"peak_linear"},
               {"entropy_undivided_nats"},
               {"entropy_sqrt_nats"},
               {"jacobian_undivided"},
               {"jacobian_sqrt"}}};
  const SharedDraw draw = draw_queries(p, context);
  for (const std::size_t d_k : saturation_widths(p)) {
    const double width = static_cast<double>(d_k);
    const Saturation plain = saturation_of(draw, d_k, 1);
    const Saturation root = saturation_of(draw, d_k, context.breaks("undivided") ? 1 : std::sqrt(width));
    const Saturation linear = saturation_of(draw, d_k, context.breaks("undivided") ? 1 : width);
    const auto mean_of = [](const Vector& values) { return mean(elements(values)); };
    table.rows.push_back({static_cast<std::int64_t>(d_k), mean_of(plain.peak), mean_of(root.peak),
                          mean_of(linear.peak), mean_of(plain.entropy), mean_of(root.entropy),
                          mean_of(plain.jacobian), mean_of(root.jacobian)});
    for (const Recorded& recorded : recorded_means) {
      if (recorded.d_k == d_k && p.num_keys == 16) check_recorded(report, recorded, plain, root, linear);
    }
  }
  report.data(std::move(table));
}

void add_figures(Report& report, const Params& p) {
  report.figure({.name = "peak",
                 .title = "Largest softmax weight",
                 .kind = FigureKind::line,
                 .data = {"saturation"},
                 .x_column = "d_k",
                 .series = {{"peak_undivided", "undivided"},
                            {"peak_sqrt", "divided by sqrt(d_k)"},
                            {"peak_linear", "divided by d_k"}},
                 .x_axis = {"d_k", "", Scale::log2},
                 .y_axis = {"mean largest weight"},
                 .caption = fmt::format(
                     "Means over {} queries. Undivided, one key takes nearly all the weight as heads grow "
                     "wider; divided by d_k, all keys get the same. Vaswani et al. 2017, footnote 4.",
                     p.saturation_queries)});
  report.figure(
      {.name = "saturation",
       .title = "Norm of the softmax's Jacobian",
       .kind = FigureKind::line,
       .data = {"saturation"},
       .x_column = "d_k",
       .series = {{"jacobian_undivided", "undivided"}, {"jacobian_sqrt", "divided by sqrt(d_k)"}},
       .x_axis = {"d_k", "", Scale::log2},
       .y_axis = {"mean Frobenius norm"},
       .caption = "Undivided, the gradient through the softmax vanishes as heads grow wider. Vaswani et al. "
                  "2017, section 3.2.1."});
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
    Vector products = pair_products(rng, p, d_k);
    if (context.breaks("narrow-entries")) {
      for (double& product : products) product /= 2;
    }
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
    // The deviation's own relative error is half the variance's.
    const double std_error = stds.back() * error / 2;
    report.check({.id = "root-spread",
                  .label = label,
                  .measured = stds.back(),
                  .expected = root,
                  .tolerance = 4 * std_error,
                  .standard_error = std_error});
  }
  report.data(std::move(table));
  report.value("d", p.d_k).value("std", stds).value("peak_unscaled", unscaled).value("peak_scaled", scaled);
  if (is_lessons_own(p, context)) {
    const bool same = !context.breaks("undivided") && listing == embedded_file("lesson/scaling.txt");
    report.check({.id = "listing", .measured = same ? 1.0 : 0.0, .expected = 1});
  }
  check_saturation(report, p, context);
  add_figures(report, p);
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
           "and how much weight the best key takes, undivided and divided. Each line has one query, whose "
           "length its "
           "peaks depend on; the table saturation and the figures average over many queries.",
       .examples = {"attnlab scaling", "attnlab scaling --d-k 1:1024:x2 --format csv",
                    "attnlab scaling --divide linear --explain"},
       .claims =
           {{"listing", "the three lines are those that the lesson prints"},
            {"unit-variance", "divided by sqrt(d_k), dot products have variance 1"},
            {"root-spread", "undivided, they have standard deviation sqrt(d_k)"},
            {"peak-undivided", "undivided, the largest of 16 weights grows towards 1 with the width"},
            {"entropy-undivided", "undivided, the entropy of the weights falls towards 0"},
            {"jacobian-undivided", "undivided, the Jacobian of the softmax falls towards 0"},
            {"peak-sqrt", "divided by sqrt(d_k), the largest weight does not depend on the width"},
            {"jacobian-sqrt",
             "divided by sqrt(d_k), the Jacobian of the softmax does not depend on the width: "
             "gradients flow"},
            {"peak-linear", "divided by d_k, the weights become even: too much"},
            {"gradients-vanish",
             "the undivided Jacobian is a third of the divided one at a width of 256, a sixth at 1,024"}},
       .breakages = {{"undivided", "the scores are not divided"},
                     {"narrow-entries", "query entries have a deviation of 1/2 instead of 1"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
