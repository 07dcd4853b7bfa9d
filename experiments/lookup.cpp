// Soft and hard look-up: attention as a dictionary that can be differentiated.
//
// A query is scored against every key, the softmax turns scores into weights, and the result is the weighted
// average of the values. A hard look-up returns the best key's value alone: it is the limit of small
// temperatures, and its gradient is zero. Four scores are compared: dot product, scaled dot product, general
// (a matrix between query and key) and additive (a small network).
//
//   query: [d_k]    keys: [num_keys, d_k]    values: [num_keys, d_k]    weights: [num_keys]
//
// Source: Bahdanau, Cho and Bengio (2015), appendix A.1.2; Luong, Pham and Manning (2015), section 3.1.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "core/matmul.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

enum class Score { dot, scaled, general, additive };

const std::vector<std::pair<std::string, Score>> score_names = {{"dot", Score::dot},
                                                                {"scaled", Score::scaled},
                                                                {"general", Score::general},
                                                                {"additive", Score::additive}};

struct Params {
  std::size_t num_keys = 8;
  std::size_t d_k = 16;
  std::size_t hidden = 16;
  Score score = Score::scaled;
  std::vector<double> temperatures = {8, 4, 2, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125};
  std::size_t seq_len = 24;
};

void declare(OptionSet& options, Params& p) {
  options.integer("num-keys", p.num_keys, 2, 1024, "keys in the dictionary");
  options.integer("d-k", p.d_k, 1, 256, "width of query, key and value");
  options.integer("hidden", p.hidden, 1, 256, "width of the additive score's network");
  options.choice<Score>("score", p.score, score_names, "how a query is compared with a key");
  options.reals("temperatures", p.temperatures, 1e-6, 1e6, "what scores are divided by");
  options.integer("seq-len", p.seq_len, 1, 256, "queries and keys when operations are counted")
      .short_form('T');
}

struct Dictionary {
  Vector query;
  Matrix keys, values;
  Matrix general;         // [d_k, d_k]
  Matrix w_query, w_key;  // [d_k, hidden], of the additive score
  Vector readout;         // [hidden]
};

Dictionary draw(Generator& rng, const Params& p) {
  const double shrink = 1 / std::sqrt(static_cast<double>(p.d_k));
  Dictionary d;
  d.query = normal_vector(rng, p.d_k);
  d.keys = normal_matrix(rng, p.num_keys, p.d_k);
  d.values = normal_matrix(rng, p.num_keys, p.d_k);
  d.general = normal_matrix(rng, p.d_k, p.d_k, 0, shrink);
  d.w_query = normal_matrix(rng, p.d_k, p.hidden, 0, shrink);
  d.w_key = normal_matrix(rng, p.d_k, p.hidden, 0, shrink);
  d.readout = normal_vector(rng, p.hidden);
  return d;
}

// The score of one key and, in `slope`, its derivative by each entry of the query.
double score_of(const Dictionary& d, Score kind, std::span<const double> query, std::size_t j,
                std::span<double> slope) {
  const std::span<const double> key = row_of(d.keys, j);
  std::fill(slope.begin(), slope.end(), 0.0);
  double score = 0;
  switch (kind) {
    case Score::dot:
    case Score::scaled: {
      const double scale = kind == Score::dot ? 1 : 1 / std::sqrt(static_cast<double>(key.size()));
      for (std::size_t c = 0; c < key.size(); ++c) slope[c] = scale * key[c];
      return scale * dot(query, key);
    }
    case Score::general:
      for (std::size_t c = 0; c < key.size(); ++c) {
        slope[c] = dot(row_of(d.general, c), key);
        score += query[c] * slope[c];
      }
      return score;
    case Score::additive:
      for (std::size_t a = 0; a < d.readout.size(); ++a) {
        double sum = 0;
        for (std::size_t c = 0; c < key.size(); ++c) {
          sum += query[c] * d.w_query(c, a) + key[c] * d.w_key(c, a);
        }
        const double unit = std::tanh(sum);
        score += d.readout(a) * unit;
        for (std::size_t c = 0; c < key.size(); ++c) {
          slope[c] += d.readout(a) * (1 - unit * unit) * d.w_query(c, a);
        }
      }
      return score;
  }
  return score;
}

struct LookUp {
  Vector scores, weights, output;
};

LookUp soft_lookup(const Dictionary& d, Score kind, std::span<const double> query, double temperature) {
  LookUp found{zeros(d.keys.shape(0)), {}, zeros(d.values.shape(1))};
  Vector slope = zeros(query.size());
  for (std::size_t j = 0; j < d.keys.shape(0); ++j) {
    found.scores(j) = score_of(d, kind, query, j, elements(slope));
  }
  found.weights = found.scores;
  for (double& score : found.weights) score /= temperature;
  softmax_in_place(elements(found.weights));
  for (std::size_t j = 0; j < d.keys.shape(0); ++j) {
    for (std::size_t c = 0; c < d.values.shape(1); ++c) {
      found.output(c) += found.weights(j) * d.values(j, c);
    }
  }
  return found;
}

LookUp hard_lookup(const Dictionary& d, Score kind, std::span<const double> query) {
  LookUp found = soft_lookup(d, kind, query, 1);
  const std::size_t best = argmax(elements(found.scores));
  for (std::size_t j = 0; j < d.keys.shape(0); ++j) found.weights(j) = j == best ? 1 : 0;
  for (std::size_t c = 0; c < d.values.shape(1); ++c) found.output(c) = d.values(best, c);
  return found;
}

// Derivatives of every output by every entry of the query, by central differences: [d_k, d_k].
Matrix measured_gradient(const Dictionary& d, Score kind, bool hard) {
  constexpr double step = 1e-5;
  const std::size_t width = d.query.size();
  Matrix gradient = zeros(width, d.values.shape(1));
  for (std::size_t c = 0; c < width; ++c) {
    Vector above = d.query;
    Vector below = d.query;
    above(c) += step;
    below(c) -= step;
    const auto output_at = [&](const Vector& query) {
      return hard ? hard_lookup(d, kind, elements(query)).output
                  : soft_lookup(d, kind, elements(query), 1).output;
    };
    const Vector high = output_at(above);
    const Vector low = output_at(below);
    for (std::size_t v = 0; v < high.size(); ++v) gradient(c, v) = (high(v) - low(v)) / (2 * step);
  }
  return gradient;
}

// The same by the formula: sum over keys of weight * (value - output) * d score / d query.
Matrix formula_gradient(const Dictionary& d, Score kind) {
  const LookUp found = soft_lookup(d, kind, elements(d.query), 1);
  Matrix gradient = zeros(d.query.size(), d.values.shape(1));
  Vector slope = zeros(d.query.size());
  for (std::size_t j = 0; j < d.keys.shape(0); ++j) {
    score_of(d, kind, elements(d.query), j, elements(slope));
    for (std::size_t c = 0; c < slope.size(); ++c) {
      for (std::size_t v = 0; v < d.values.shape(1); ++v) {
        gradient(c, v) += found.weights(j) * (d.values(j, v) - found.output(v)) * slope(c);
      }
    }
  }
  return gradient;
}

struct Work {
  std::int64_t multiply_adds = 0;
  std::int64_t tanhs = 0;
  std::int64_t total() const { return multiply_adds + tanhs; }
};

// `a` times `b` with each multiply-add counted as it is done.
Matrix counted_product(const Matrix& a, const Matrix& b, Work& work) {
  Matrix product = zeros(a.shape(0), b.shape(1));
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < b.shape(1); ++j) {
      for (std::size_t c = 0; c < a.shape(1); ++c) {
        product(i, j) += a(i, c) * b(c, j);
        ++work.multiply_adds;
      }
    }
  }
  return product;
}

// The scores of all queries with all keys; the constant of the scaled score is folded into its queries.
Matrix all_scores(Score kind, const Dictionary& d, const Matrix& query, const Matrix& key, Work& work) {
  if (kind == Score::general) {
    return counted_product(counted_product(query, d.general, work), transposed(key), work);
  }
  if (kind != Score::additive) return counted_product(query, transposed(key), work);
  const Matrix from_query = counted_product(query, d.w_query, work);
  const Matrix from_key = counted_product(key, d.w_key, work);
  Matrix scores = zeros(query.shape(0), key.shape(0));
  for (std::size_t i = 0; i < query.shape(0); ++i) {
    for (std::size_t j = 0; j < key.shape(0); ++j) {
      for (std::size_t a = 0; a < d.readout.size(); ++a) {
        scores(i, j) += d.readout(a) * std::tanh(from_query(i, a) + from_key(j, a));
        ++work.multiply_adds;
        ++work.tanhs;
      }
    }
  }
  return scores;
}

Work expected_work(Score kind, const Params& p) {
  const auto t = static_cast<std::int64_t>(p.seq_len);
  const auto width = static_cast<std::int64_t>(p.d_k);
  const auto hidden = static_cast<std::int64_t>(p.hidden);
  if (kind == Score::additive) return {t * t * hidden + 2 * t * width * hidden, t * t * hidden};
  return {t * t * width + (kind == Score::general ? t * width * width : 0), 0};
}

std::int64_t parameters_of(Score kind, const Dictionary& d) {
  std::size_t count = 0;
  if (kind == Score::general) count = d.general.size();
  if (kind == Score::additive) count = d.w_query.size() + d.w_key.size() + d.readout.size();
  return static_cast<std::int64_t>(count);
}

// The distance of a temperature at which the best key wins by 50 from the best key's own value.
double hard_limit_error(const Dictionary& d, Score kind, bool sharpen) {
  const LookUp hard = hard_lookup(d, kind, elements(d.query));
  const double best = maximum(elements(hard.scores));
  double second = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < hard.scores.size(); ++j) {
    if (hard.weights(j) == 0) second = std::max(second, hard.scores(j));
  }
  const double temperature = sharpen ? (best - second) / 50 : 1;
  const LookUp soft = soft_lookup(d, kind, elements(d.query), temperature);
  return largest_difference(elements(soft.output), elements(hard.output));
}

double uniform_limit_error(const Dictionary& d, Score kind, double temperature) {
  const Vector blend = soft_lookup(d, kind, elements(d.query), temperature).output;
  Vector average = zeros(blend.size());
  for (std::size_t c = 0; c < blend.size(); ++c) {
    for (std::size_t j = 0; j < d.values.shape(0); ++j) average(c) += d.values(j, c);
    average(c) /= static_cast<double>(d.values.shape(0));
  }
  return largest_difference(elements(blend), elements(average));
}

void add_figures(Report& report) {
  report.figure({.name = "operations",
                 .title = "Operations of all scores of a sequence",
                 .kind = FigureKind::stacked_bars,
                 .data = {"scores"},
                 .x_column = "score",
                 .series = {{"multiply_adds", "multiply-adds"}, {"tanhs", "tanh"}},
                 .x_axis = {"score"},
                 .y_axis = {"operations"},
                 .caption = "A small network on every pair costs more than a dot product, and its tanh is no "
                            "matrix product. Bahdanau et al. 2015, appendix A.1.2; Luong et al. 2015."});
  report.figure({.name = "temperature",
                 .title = "From a blend to a hard look-up",
                 .kind = FigureKind::line,
                 .data = {"temperatures"},
                 .x_column = "temperature",
                 .series = {{"peak", "largest weight"}, {"entropy_nats", "entropy (nats)"}},
                 .x_axis = {"temperature", "", Scale::log2},
                 .y_axis = {"largest weight, entropy"},
                 .caption = "The colder, the more of the weight goes to the best key."});
}

Report run(const Params& p, const Context& context) {
  Report report("Attention as soft look-up");
  Generator rng = context.rng();
  const Dictionary d = draw(rng, p);

  Table temperatures{"temperatures",
                     "Soft look-up of one query, colder and colder",
                     {{"temperature"}, {"peak"}, {"entropy_nats"}, {"distance_to_hard"}}};
  const Vector hard = hard_lookup(d, p.score, elements(d.query)).output;
  for (const double temperature : p.temperatures) {
    const LookUp soft = soft_lookup(d, p.score, elements(d.query), temperature);
    temperatures.rows.push_back({temperature, maximum(elements(soft.weights)),
                                 entropy(elements(soft.weights)),
                                 largest_difference(elements(soft.output), elements(hard))});
  }
  report.table(std::move(temperatures));

  Table scores{"scores",
               fmt::format("Scores of {} queries with {} keys", p.seq_len, p.seq_len),
               {{"score"}, {"multiply_adds"}, {"tanhs"}, {"parameters"}, {"peak"}}};
  const Matrix query = normal_matrix(rng, p.seq_len, p.d_k);
  const Matrix key = normal_matrix(rng, p.seq_len, p.d_k);
  std::map<Score, Work> work_of;
  for (const auto& [name, kind] : score_names) {
    Work& work = work_of[kind];
    const Matrix all = all_scores(kind, d, query, key, work);
    if (context.breaks("project-twice")) all_scores(kind, d, query, key, work);
    if (kind == Score::dot) {
      const Matrix product = context.breaks("swapped") ? matmul(key, query, Transpose::no, Transpose::yes)
                                                       : matmul(query, key, Transpose::no, Transpose::yes);
      report.check({.id = "one-product",
                    .measured = largest_difference(elements(product), elements(all)),
                    .tolerance = 1e-12});
    }
    LookUp found = soft_lookup(d, kind, elements(d.query), 1);
    if (context.breaks("no-softmax")) found.weights = found.scores;
    scores.rows.push_back(
        {name, work.multiply_adds, work.tanhs, parameters_of(kind, d), maximum(elements(found.weights))});
    report.check({.id = "operations",
                  .label = name,
                  .measured = static_cast<double>(work.total()),
                  .expected = static_cast<double>(expected_work(kind, p).total())});
    report.check({.id = "distribution",
                  .label = name,
                  .measured = std::abs(pairwise_sum(elements(found.weights)) - 1) +
                              std::max(0.0, -*std::min_element(found.weights.begin(), found.weights.end())),
                  .tolerance = 1e-12});
    const bool hard_instead = context.breaks("hard-instead");
    report.check({.id = "differentiable",
                  .label = name,
                  .measured = largest_difference(elements(measured_gradient(d, kind, hard_instead)),
                                                 elements(formula_gradient(d, kind))),
                  .tolerance = 1e-7});
  }
  report.table(std::move(scores));

  const Work dearer = work_of[context.breaks("dot-twice") ? Score::dot : Score::additive];
  report.check(
      {.id = "dot-is-cheaper",
       .measured = static_cast<double>(dearer.total()) / static_cast<double>(work_of[Score::dot].total()),
       .relation = Relation::at_least,
       .expected = 2 * static_cast<double>(p.hidden) / static_cast<double>(p.d_k)});
  report.check({.id = "hard-limit",
                .measured = hard_limit_error(d, p.score, !context.breaks("lukewarm")),
                .tolerance = 1e-9});
  report.check({.id = "uniform-limit",
                .measured = uniform_limit_error(d, p.score, context.breaks("lukewarm") ? 1 : 1e14),
                .tolerance = 1e-9});
  const Matrix flat = measured_gradient(d, p.score, !context.breaks("soft-instead"));
  const Matrix none = zeros(flat.shape(0), flat.shape(1));
  report.check(
      {.id = "hard-has-no-gradient", .measured = largest_difference(elements(flat), elements(none))});
  report.explain(
      fmt::format("additive: 2 T d h + T^2 h multiply-adds and T^2 h tanh with T = {}, d = {}, h = {}",
                  p.seq_len, p.d_k, p.hidden));
  report.explain("d output / d query = sum over keys of weight * (value - output) * d score / d query");
  add_figures(report);
  return report;
}

}  // namespace

Experiment lookup_experiment() {
  return make_experiment<Params>(
      {.name = "lookup",
       .title = "Attention as soft look-up",
       .summary = "soft and hard look-up, and four ways to score a query with a key",
       .section = "Attention as soft lookup",
       .source = "Bahdanau, Cho and Bengio 2015, appendix A.1.2; Luong, Pham and Manning 2015, section 3.1",
       .purpose =
           "Looks one query up in a small dictionary at falling temperatures, from an even blend to the best "
           "key's value alone, and compares dot, scaled, general and additive scores: what they cost, and "
           "that each can be differentiated while a hard look-up cannot.",
       .examples = {"attnlab lookup", "attnlab lookup --score additive --hidden 64",
                    "attnlab lookup --temperatures 4,1,0.1 --explain"},
       .claims =
           {{"operations", "the scores cost as many operations as the formula says"},
            {"distribution", "the weights are a probability distribution, whatever the score"},
            {"differentiable",
             "the output has a gradient by the query, and central differences find what the formula says"},
            {"dot-is-cheaper",
             "additive scores with h hidden units cost at least 2 h / d_k times the operations of dot "
             "products"},
            {"one-product", "all dot products of a sequence are one matrix product",
             "Luong, Pham and Manning 2015, section 3.1"},
            {"hard-limit", "the colder the softmax, the closer to the best key's value alone"},
            {"uniform-limit", "the hotter the softmax, the closer to the plain average of the values"},
            {"hard-has-no-gradient", "a hard look-up does not change with a small change of the query"}},
       .breakages = {{"project-twice", "everything is scored twice"},
                     {"dot-twice", "the dot product is compared with itself"},
                     {"no-softmax", "scores are used as weights"},
                     {"hard-instead", "the look-up that is differentiated is hard"},
                     {"soft-instead", "the look-up said to be hard is soft"},
                     {"swapped", "queries and keys change places"},
                     {"lukewarm", "the temperature stays 1"}}},
      declare, run);
}

}  // namespace attnlab::experiments
