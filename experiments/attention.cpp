// Scaled dot-product attention with a causal mask: the lesson's first listing.
//
// A query is compared with every key, the scores are divided by sqrt(d_k), hidden ones become -inf, and the
// softmax of each row says where that position looks.
//
//   x: [seq_len, d_model]    query, key, value: [seq_len, d_k]    scores, weights: [seq_len, seq_len]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.1.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"
#include "lab/lesson_inputs.hpp"
#include "lab/python_text.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t seq_len = 5;
  std::size_t d_model = 8;
  std::size_t d_k = 4;
  std::string mask = "causal";
  std::size_t real_tokens = 3;
  std::string cell;
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 1, 4096, "positions").short_form('T');
  options.integer("d-model", p.d_model, 1, 4096, "width of a token").short_form('d');
  options.integer("d-k", p.d_k, 1, 4096, "width of query, key and value");
  options.choice("mask", p.mask, {"causal", "none", "padding"}, "what a position may see");
  options.integer("real-tokens", p.real_tokens, 1, 4096, "with --mask padding: tokens before the padding");
  options
      .text("cell", p.cell, "ROW,COL",
            "the weight that --explain works out; the last row's second unless given")
      .acts_with("explain")
      .no_parameter();
}

Mask chosen_mask(const Params& p) {
  if (p.mask == "causal") return causal_mask(p.seq_len, p.seq_len);
  if (p.mask == "none") return full_mask(p.seq_len, p.seq_len);
  if (p.real_tokens > p.seq_len && p.real_tokens != Params{}.real_tokens) {
    throw Error(ErrorKind::usage,
                fmt::format("--real-tokens: {} is more than the {} positions", p.real_tokens, p.seq_len));
  }
  std::vector<bool> is_real(p.seq_len);
  for (std::size_t key = 0; key < p.seq_len; ++key) is_real[key] = key < p.real_tokens;
  return padding_mask(p.seq_len, is_real);
}

// The output with the fault that was asked for, if any.
Attention attend(const SelfAttentionInputs& in, const Mask& mask, const Context& context) {
  AttentionOptions options;
  if (!context.breaks("no-mask")) options.mask = mask;
  Attention result = attention(in.query, in.key, in.value, options);
  if (context.breaks("mask-after-softmax")) {
    result = attention(in.query, in.key, in.value);
    for (std::size_t i = 0; i < mask.shape(0); ++i) {
      for (std::size_t j = 0; j < mask.shape(1); ++j) {
        if (!mask(i, j)) result.weights(i, j) = 0;
      }
    }
    result.output = matmul(result.weights, in.value);
  }
  if (context.breaks("wrong-axis")) {
    result.weights = transposed(softmax(transposed(result.scores)));
    result.output = matmul(result.weights, in.value);
  }
  return result;
}

double largest_row_sum_error(const Matrix& weights) {
  double worst = 0;
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    double sum = 0;
    for (const double weight : row_of(weights, i)) sum += weight;
    worst = std::max(worst, std::abs(sum - 1));
  }
  return worst;
}

double largest_hidden_weight(const Matrix& weights, const Mask& mask) {
  double worst = 0;
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      if (!mask(i, j)) worst = std::max(worst, std::abs(weights(i, j)));
    }
  }
  return worst;
}

// Replaces each token in turn and looks for a change in an output that must not see it.
double largest_leak(const SelfAttentionInputs& in, const Mask& mask, const Context& context) {
  const Matrix output = attend(in, mask, context).output;
  double worst = 0;
  for (std::size_t token = 0; token < mask.shape(0); ++token) {
    SelfAttentionInputs changed = in;
    // Only the key and value of the token are anything to other positions.
    for (std::size_t c = 0; c < in.key.shape(1); ++c) {
      changed.key(token, c) = -3 * in.key(token, c) + 1;
      changed.value(token, c) = 5 * in.value(token, c) - 2;
    }
    const Matrix other = attend(changed, mask, context).output;
    for (std::size_t i = 0; i < mask.shape(0); ++i) {
      if (mask(i, token)) continue;
      for (std::size_t c = 0; c < output.shape(1); ++c)
        worst = std::max(worst, std::abs(other(i, c) - output(i, c)));
    }
  }
  return worst;
}

// Sharpened until the best visible key wins by 50, soft look-up is hard look-up.
double hard_lookup_error(const SelfAttentionInputs& in, const Mask& mask, const Context& context) {
  const Attention soft = attend(in, mask, context);
  double smallest_gap = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> best_key(mask.shape(0));
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    double best = -std::numeric_limits<double>::infinity();
    double second = best;
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      if (!mask(i, j)) continue;
      const double score = soft.scores(i, j);
      if (score > best) {
        second = best;
        best = score;
        best_key[i] = j;
      } else {
        second = std::max(second, score);
      }
    }
    smallest_gap = std::min(smallest_gap, best - second);
  }
  if (!std::isfinite(smallest_gap)) smallest_gap = 1;  // nobody sees two keys
  SelfAttentionInputs sharp = in;
  for (double& entry : elements(sharp.query)) entry *= 50 / smallest_gap;
  const Matrix hard = attend(sharp, mask, context).output;
  double worst = 0;
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    for (std::size_t c = 0; c < hard.shape(1); ++c) {
      worst = std::max(worst, std::abs(hard(i, c) - in.value(best_key[i], c)));
    }
  }
  return worst;
}

// The first row that sees one key returns that key's value; -1 when there is no such row.
double single_key_error(const Matrix& output, const Matrix& value, const Mask& mask) {
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    std::size_t visible = 0;
    std::size_t key = 0;
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      if (mask(i, j)) key = j, ++visible;
    }
    if (visible != 1) continue;
    double worst = 0;
    for (std::size_t c = 0; c < value.shape(1); ++c)
      worst = std::max(worst, std::abs(output(i, c) - value(key, c)));
    return worst;
  }
  return -1;
}

// Queries, keys and values from the same tokens, by loops over w^T x at each position.
double projection_error(const SelfAttentionInputs& in) {
  const auto error = [&](const Matrix& projected, const Matrix& w) {
    Matrix looped = zeros(in.x.shape(0), w.shape(1));
    for (std::size_t t = 0; t < in.x.shape(0); ++t) {
      for (std::size_t c = 0; c < w.shape(1); ++c) {
        for (std::size_t m = 0; m < w.shape(0); ++m) looped(t, c) += w(m, c) * in.x(t, m);
      }
    }
    return largest_difference(elements(projected), elements(looped));
  };
  return std::max({error(in.query, in.w_query), error(in.key, in.w_key), error(in.value, in.w_value)});
}

// The output by loops over the formula, one query after the other.
double formula_error(const SelfAttentionInputs& in, const Mask& mask, const Matrix& output) {
  Matrix looped = zeros(output.shape(0), output.shape(1));
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      double score = 0;
      for (std::size_t c = 0; c < in.key.shape(1); ++c) score += in.query(i, c) * in.key(j, c);
      const double term = mask(i, j) ? std::exp(score / std::sqrt(static_cast<double>(in.key.shape(1)))) : 0;
      sum += term;
      for (std::size_t c = 0; c < output.shape(1); ++c) looped(i, c) += term * in.value(j, c);
    }
    for (double& entry : row_of(looped, i)) entry /= sum;
  }
  return largest_difference(elements(output), elements(looped));
}

// The weights that the lesson prints, three decimals each.
double distance_from_listing(const Matrix& weights) {
  const std::vector<double> printed = numbers_in_brackets(embedded_file("lesson/attention.txt"));
  if (printed.size() != weights.size()) return std::numeric_limits<double>::quiet_NaN();
  double worst = 0;
  for (std::size_t i = 0; i < printed.size(); ++i)
    worst = std::max(worst, std::abs(printed[i] - weights.data()[i]));
  return worst;
}

bool is_lessons_own(const Params& p, const Context& context) {
  return p.seq_len == 5 && p.d_model == 8 && p.d_k == 4 && p.mask == "causal" &&
         context.seed.entropy() == std::vector<std::uint32_t>{466};
}

void explain_cell(Report& report, const Params& p, const SelfAttentionInputs& in, const Attention& result,
                  const Mask& mask) {
  const auto last = static_cast<std::int64_t>(p.seq_len) - 1;
  const std::vector<std::int64_t> at = p.cell.empty()
                                           ? std::vector<std::int64_t>{last, std::min<std::int64_t>(1, last)}
                                           : parse_integers(p.cell, "--cell", 0, last);
  if (at.size() != 2) throw Error(ErrorKind::usage, "--cell: " + p.cell + " is not ROW,COL");
  const auto row = static_cast<std::size_t>(at[0]);
  const auto column = static_cast<std::size_t>(at[1]);
  const auto listed = [](std::span<const double> values) {
    std::string text;
    for (std::size_t i = 0; i < values.size() && i < 8; ++i)
      text += fmt::format("{}{:.4f}", i > 0 ? ", " : "", values[i]);
    return "[" + text + (values.size() > 8 ? ", ...]" : "]");
  };
  double product = 0;
  for (std::size_t c = 0; c < p.d_k; ++c) product += in.query(row, c) * in.key(column, c);
  const double scale = default_scale(p.d_k);
  report.explain(fmt::format("weight of row {} on column {}", row, column));
  report.explain(fmt::format("  query[{}] = {}", row, listed(row_of(in.query, row))));
  report.explain(fmt::format("  key[{}]   = {}", column, listed(row_of(in.key, column))));
  report.explain(fmt::format("  dot product query . key = {:.6f}", product));
  report.explain(fmt::format("  score = {:.6f} / sqrt({}) = {:.6f}", product, p.d_k, product * scale));
  if (!mask(row, column)) {
    report.explain("  the mask hides this key: score = -inf, exp = 0, weight = 0");
    return;
  }
  double best = -std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t j = 0; j < p.seq_len; ++j) best = std::max(best, result.scores(row, j));
  std::string terms;
  for (std::size_t j = 0; j < p.seq_len; ++j) {
    const double term = std::exp(result.scores(row, j) - best);
    sum += term;
    if (j < 8) terms += fmt::format("{}{:.6f}", j > 0 ? " + " : "", term);
  }
  const double exponential = std::exp(result.scores(row, column) - best);
  report.explain(fmt::format("  largest visible score of the row = {:.6f}, taken out of each", best));
  report.explain(
      fmt::format("  exp({:.6f} - {:.6f}) = {:.6f}", result.scores(row, column), best, exponential));
  report.explain(
      fmt::format("  sum over the row = {}{} = {:.6f}", terms, p.seq_len > 8 ? " + ..." : "", sum));
  report.explain(fmt::format("  weight = {:.6f} / {:.6f} = {:.6f}", exponential, sum, exponential / sum));
}

Report run(const Params& params, const Context& context) {
  Params p = params;
  if (!context.tokens.empty()) p.seq_len = context.tokens.size();
  Report report("Causal attention weights");
  Generator rng = context.rng();
  SelfAttentionInputs in = draw_self_attention(rng, p.seq_len, p.d_model, p.d_k);
  if (context.breaks("other-sequence")) {
    for (double& entry : in.key) entry = -entry;  // keys of the tokens' opposites
  }
  const Mask mask = chosen_mask(p);
  const Attention result = attend(in, mask, context);

  const double row_sum_error = largest_row_sum_error(result.weights);
  const std::string kind = p.mask == "none" ? "" : p.mask + " ";
  report.line(fmt::format("{}attention weights (row = query position, column = key position):", kind));
  Grid weights{"weights", "Attention weights", to_array(result.weights), {"query position", "key position"}};
  weights.row_labels = weights.column_labels = context.tokens;
  for (std::size_t i = 0; i < p.seq_len; ++i) {
    for (std::size_t j = 0; j < p.seq_len; ++j) weights.hidden.push_back(!mask(i, j));
  }
  report.grid(std::move(weights));
  report.line(fmt::format("rows sum to 1: {}   output shape: {}", python_bool(row_sum_error <= 1e-8 + 1e-5),
                          python_shape(result.output)));

  report.data(
      Grid{"output", "Weighted averages of the values", to_array(result.output), {"position", "dimension"}});
  report.data(Grid{"scores",
                   "Scaled scores, -inf where hidden",
                   to_array(result.scores),
                   {"query position", "key position"}});
  report.data(Grid{"query", "Queries", to_array(in.query), {"position", "dimension"}});
  report.data(Grid{"key", "Keys", to_array(in.key), {"position", "dimension"}});
  report.data(Grid{"value", "Values", to_array(in.value), {"position", "dimension"}});
  report.data(Grid{"x", "Token representations", to_array(in.x), {"position", "dimension"}});
  report.data(Grid{"w_query", "Projection to queries", to_array(in.w_query), {"in", "out"}});
  report.data(Grid{"w_key", "Projection to keys", to_array(in.w_key), {"in", "out"}});
  report.data(Grid{"w_value", "Projection to values", to_array(in.w_value), {"in", "out"}});

  if (!context.tokens.empty())
    report.explain(
        "the vectors are drawn at random: the tokens are labels, and no weight says anything of them");
  explain_cell(report, p, in, result, mask);
  if (is_lessons_own(p, context)) {
    report.check(
        {.id = "listing", .measured = distance_from_listing(result.weights), .tolerance = 0.0005 + 1e-12});
  }
  report.check({.id = "projections", .measured = projection_error(in), .tolerance = 1e-9});
  report.check({.id = "formula", .measured = formula_error(in, mask, result.output), .tolerance = 1e-9});
  report.check({.id = "rows-sum-to-one", .measured = row_sum_error, .tolerance = 1e-12});
  report.check({.id = "hidden-weight-zero", .measured = largest_hidden_weight(result.weights, mask)});
  if (p.mask != "padding") {
    const Mask causal = causal_mask(p.seq_len, p.seq_len);
    report.check({.id = "future-weight-zero", .measured = largest_hidden_weight(result.weights, causal)});
  }
  report.check({.id = "no-leak", .measured = largest_leak(in, mask, context)});
  report.check({.id = "hard-lookup", .measured = hard_lookup_error(in, mask, context), .tolerance = 1e-9});
  const double single = single_key_error(result.output, in.value, mask);
  if (single >= 0) report.check({.id = "single-key", .measured = single});

  report.figure({.name = "weights",
                 .title = "Attention weights",
                 .kind = FigureKind::heat_map,
                 .data = {"weights"},
                 .x_axis = {"key position"},
                 .y_axis = {"query position"},
                 .domain = {{0, 1}},
                 .caption = "Each row is a probability distribution over the keys a position may see. "
                            "Vaswani et al. 2017, section 3.2.1."});
  return report;
}

}  // namespace

Experiment attention_experiment() {
  return make_experiment<Params>(
      {.name = "attention",
       .title = "Causal attention weights",
       .summary = "where each position looks, under a causal mask",
       .section = "Attention as soft lookup",
       .source = "Vaswani et al. 2017, section 3.2.1",
       .purpose =
           "Draws token representations and three projections as the lesson does, and prints the attention "
           "weights. --explain works out one of them, query and key to weight.",
       .examples = {"attnlab attention", "attnlab attention --tokens \"the cat sat on it\"",
                    "attnlab attention --explain --cell 3,1"},
       .claims = {{"listing", "the weights are those that the lesson prints, to its three decimals"},
                  {"projections",
                   "queries, keys and values are projections of the same tokens, q = W^T x at each"},
                  {"formula",
                   "all positions at once give what the formula gives at each: softmax(q . k / sqrt(d_k)) v"},
                  {"rows-sum-to-one", "each row of the weights is a probability distribution"},
                  {"hidden-weight-zero", "a key that the mask hides has weight exactly 0"},
                  {"future-weight-zero", "no position gives weight to a later one"},
                  {"no-leak", "changing a hidden token changes no output that may not see it, not by a bit"},
                  {"hard-lookup",
                   "sharpened scores return the value of the best key: soft look-up becomes hard"},
                  {"single-key", "a row that sees one key returns its value exactly"}},
       .breakages = {{"no-mask", "the mask is left out"},
                     {"mask-after-softmax",
                      "hidden weights are zeroed after the softmax, without renormalising"},
                     {"wrong-axis", "the softmax runs over the queries"},
                     {"other-sequence", "the keys come from other tokens"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
