// QK-norm: queries and keys are normalised before their dot product, so that scores stay bounded.
//
// When the projections grow by a factor during training, scores grow by its square and the softmax saturates.
// Vectors of length 1 times a gain g have scores within [-g, g] whatever the weights do; vectors of root mean
// square 1 have scores within sqrt(d_k) after the usual scaling.
//
//   query, key: [seq_len, d_k]    scores, weights: [seq_len, seq_len]
//
// Source: Henry et al., "Query-Key Normalization for Transformers" (2020), section 3.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/norm.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t seq_len = 32;
  std::size_t d_k = 64;
  double gain = 8;
  std::size_t doublings = 6;
  std::string norm = "l2";
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 2, 1024, "positions").short_form('T');
  options.integer("d-k", p.d_k, 1, 1024, "width of query and key");
  options.real("gain", p.gain, 1e-3, 1e3, "factor of the scores of vectors of length 1, learned in practice");
  options.integer("doublings", p.doublings, 1, 40, "how often the weights of both projections double");
  options.choice("norm", p.norm, {"l2", "rms"},
                 "length 1 and a gain, or root mean square 1 and 1 / sqrt(d_k)");
}

// Rows of root mean square 1.
Matrix rms_rows(const Matrix& x) {
  NormOptions exact;
  exact.eps = 0;
  return normalized(x, NormKind::rms, exact);
}

// Rows of length 1.
Matrix unit_rows(const Matrix& x) {
  Matrix out = rms_rows(x);
  for (double& entry : out) entry /= std::sqrt(static_cast<double>(x.shape(1)));
  return out;
}

Matrix scaled_by(Matrix x, double factor) {
  for (double& entry : x) entry *= factor;
  return x;
}

double largest_magnitude(const Matrix& a) {
  double worst = 0;
  for (const double entry : a) worst = std::max(worst, std::abs(entry));
  return worst;
}

double mean_entropy(const Matrix& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.shape(0); ++i) sum += entropy(row_of(weights, i));
  return sum / static_cast<double>(weights.shape(0));
}

enum class Norm { none, l2, rms };

Attention attend(const Matrix& query, const Matrix& key, Norm norm, double gain) {
  AttentionOptions options;
  switch (norm) {
    case Norm::l2:
      options.scale = gain;
      return attention(unit_rows(query), unit_rows(key), key, options);
    case Norm::rms:
      return attention(rms_rows(query), rms_rows(key), key);
    case Norm::none:
      break;
  }
  return attention(query, key, key);
}

Report run(const Params& p, const Context& context) {
  Report report("QK-norm keeps scores bounded");
  Generator rng = context.rng();
  const Matrix query = normal_matrix(rng, p.seq_len, p.d_k);
  const Matrix key = normal_matrix(rng, p.seq_len, p.d_k);
  const bool without = context.breaks("no-norm");
  const Norm l2 = without ? Norm::none : Norm::l2;
  const Norm rms = without ? Norm::none : Norm::rms;
  const Norm chosen = p.norm == "l2" ? l2 : rms;
  const Norm plain = context.breaks("always-norm") ? Norm::l2 : Norm::none;

  Table table{"growth",
              fmt::format("Both projections grow; mean entropy of the weights (ln {} = {:.4f} nats at most)",
                          p.seq_len, std::log(static_cast<double>(p.seq_len))),
              {{"growth"},
               {"entropy_plain_nats"},
               {"entropy_normed_nats"},
               {"largest_score_plain"},
               {"largest_score_normed"}}};
  double growth = 1;
  double l2_bound = 0;
  double rms_bound = 0;
  std::vector<double> entropies;
  std::vector<double> plain_entropies;
  std::vector<double> plain_scores;
  for (std::size_t t = 0; t <= p.doublings; ++t, growth *= 2) {
    const Matrix grown_query = scaled_by(query, growth);
    const Matrix grown_key = scaled_by(key, growth);
    const Attention normed = attend(grown_query, grown_key, chosen, p.gain);
    const Attention bare = attend(grown_query, grown_key, plain, p.gain);
    entropies.push_back(mean_entropy(normed.weights));
    plain_entropies.push_back(mean_entropy(bare.weights));
    plain_scores.push_back(largest_magnitude(bare.scores));
    table.rows.push_back({growth, plain_entropies.back(), entropies.back(), plain_scores.back(),
                          largest_magnitude(normed.scores)});
    l2_bound =
        std::max(l2_bound, largest_magnitude(attend(grown_query, grown_key, l2, p.gain).scores) / p.gain);
    rms_bound = std::max(rms_bound, largest_magnitude(attend(grown_query, grown_key, rms, p.gain).scores) /
                                        std::sqrt(static_cast<double>(p.d_k)));
  }
  report.table(std::move(table));

  const Attention with_itself = attend(query, query, l2, p.gain);
  double tight = 0;
  for (std::size_t i = 0; i < p.seq_len; ++i)
    tight = std::max(tight, std::abs(with_itself.scores(i, i) / p.gain - 1));
  // A bound that rounding may pass by a few units in the last place.
  report.check(
      {.id = "length-bound", .measured = l2_bound, .relation = Relation::at_most, .expected = 1 + 1e-12});
  report.check(
      {.id = "rms-bound", .measured = rms_bound, .relation = Relation::at_most, .expected = 1 + 1e-12});
  report.check({.id = "bound-is-reached", .measured = tight, .tolerance = 1e-12});
  report.check({.id = "entropy-stays",
                .measured = *std::max_element(entropies.begin(), entropies.end()) -
                            *std::min_element(entropies.begin(), entropies.end()),
                .tolerance = 1e-12});
  report.check({.id = "scores-grow",
                .measured = plain_scores.back() / plain_scores.front() / (growth / 2) / (growth / 2),
                .expected = 1,
                .tolerance = 1e-12});
  report.check({.id = "entropy-collapses",
                .measured = plain_entropies.back() / plain_entropies.front(),
                .relation = Relation::at_most,
                .expected = p.doublings >= 6 ? 0.05 : 1.0});
  report.check(
      {.id = "training-is-stable",
       .reason = "needs long training runs of large models; Dehghani et al. 2023, section 2, report it for "
                 "22 billion parameters",
       .checkable = false});
  report.explain("score = g * (q / |q|) . (k / |k|) = g * cosine, so |score| <= g");
  report.explain(fmt::format("after {} doublings of both projections plain scores are {:.0f} times as large",
                             p.doublings, std::exp2(2.0 * static_cast<double>(p.doublings))));
  report.figure({.name = "entropy",
                 .title = "Entropy of the weights as projections grow",
                 .kind = FigureKind::line,
                 .data = {"growth"},
                 .x_column = "growth",
                 .series = {{"entropy_plain_nats", "plain"}, {"entropy_normed_nats", "normalised"}},
                 .x_axis = {"growth of both projections", "", Scale::log2},
                 .y_axis = {"mean entropy", "nats"},
                 .caption =
                     "Plain scores grow with the square of the weights and the softmax becomes one-hot; "
                     "normalised ones do not move. Henry et al. 2020, section 3."});
  return report;
}

}  // namespace

Experiment qk_norm_experiment() {
  return make_experiment<Params>(
      {.name = "qk-norm",
       .title = "QK-norm keeps scores bounded",
       .summary = "normalised queries and keys: scores stay bounded as the weights grow",
       .section = "Why scale by the square root of the dimension",
       .source = "Henry et al. 2020, section 3",
       .purpose =
           "Doubles the weights of both projections again and again and prints the entropy of the attention "
           "weights and the largest score, with plain and with normalised queries and keys.",
       .examples = {"attnlab qk-norm", "attnlab qk-norm --norm rms --d-k 128",
                    "attnlab qk-norm --gain 20 --explain"},
       .claims = {{"length-bound", "scores of queries and keys of length 1 stay within the gain"},
                  {"rms-bound", "scores of queries and keys of root mean square 1 stay within sqrt(d_k)"},
                  {"bound-is-reached",
                   "a query that points along its key has the largest score there is, the gain"},
                  {"entropy-stays", "the weights do not change as the projections grow"},
                  {"scores-grow", "without the norm scores grow with the square of the projections"},
                  {"entropy-collapses",
                   "without the norm the entropy of the weights falls, in six doublings below a twentieth"},
                  {"training-is-stable", "bounded scores keep long training runs stable",
                   "Dehghani et al. 2023, section 2"}},
       .breakages = {{"no-norm", "queries and keys are not normalised"},
                     {"always-norm", "they are normalised where they should not be"}}},
      declare, run);
}

}  // namespace attnlab::experiments
