// Attention has no notion of order: the last line of the lesson's first listing.
//
// Without positions and without a mask, shuffled tokens give shuffled outputs. A causal mask alone tells the
// last position of one layer nothing about the order before it, either; but a second layer reads outputs that
// knew different prefixes, and does know: why decoders without positions still work.
//
//   x: [seq_len, d_model]    query, key, value, output: [seq_len, d_k]    permutation: [seq_len]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.5, which adds positions for that
// reason.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/matmul.hpp"
#include "core/positions.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/bounds.hpp"
#include "lab/lesson_inputs.hpp"
#include "lab/python_text.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t seq_len = 5;
  std::size_t d_model = 8;
  std::size_t d_k = 4;
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 1, 2048, "positions").short_form('T');
  options.integer("d-model", p.d_model, 1, 4096, "width of a token").short_form('d');
  options.integer("d-k", p.d_k, 1, 4096, "width of query, key and value");
}

Matrix rows_in_order(const Matrix& a, const std::vector<std::size_t>& order) {
  Matrix out = zeros(a.shape(0), a.shape(1));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::span<const double> row = row_of(a, order[i]);
    std::copy(row.begin(), row.end(), row_of(out, i).begin());
  }
  return out;
}

// The average of all outputs, [width].
Vector pooled(const Matrix& output) {
  Vector mean = zeros(output.shape(1));
  for (std::size_t i = 0; i < output.shape(0); ++i) {
    for (std::size_t c = 0; c < mean.size(); ++c)
      mean(c) += output(i, c) / static_cast<double>(output.shape(0));
  }
  return mean;
}

// The last output of `layers` layers over the tokens in this order, each layer causal.
Vector last_output(const SelfAttentionInputs& in, const SelfAttentionInputs& second,
                   const std::vector<std::size_t>& order, std::size_t layers, const Context& context) {
  AttentionOptions options;
  if (!context.breaks("no-mask")) options.mask = causal_mask(order.size(), order.size());
  Matrix key = rows_in_order(in.key, order);
  if (context.breaks("positions")) {
    const Matrix encoding = sinusoidal(order.size(), key.shape(1));
    for (std::size_t i = 0; i < key.size(); ++i) key.data()[i] += encoding.data()[i];
  }
  Matrix output =
      attention(rows_in_order(in.query, order), key, rows_in_order(in.value, order), options).output;
  if (layers == 2) {
    output = attention(matmul(output, second.w_query), matmul(output, second.w_key),
                       matmul(output, second.w_value), options)
                 .output;
  }
  Vector last = zeros(output.shape(1));
  const std::span<const double> row = row_of(output, order.size() - 1);
  std::copy(row.begin(), row.end(), last.begin());
  return last;
}

Report run(const Params& params, const Context& context) {
  Params p = params;
  if (!context.tokens.empty()) p.seq_len = context.tokens.size();
  Report report("Attention has no notion of order");
  Generator rng = context.rng();
  const SelfAttentionInputs in = draw_self_attention(rng, p.seq_len, p.d_model, p.d_k);
  const std::vector<std::size_t> permutation = rng.permutation(p.seq_len);

  AttentionOptions options;
  if (context.breaks("causal")) options.mask = causal_mask(p.seq_len, p.seq_len);
  const Matrix output = attention(in.query, in.key, in.value, options).output;
  const Matrix permuted_output =
      attention(rows_in_order(in.query, permutation), rows_in_order(in.key, permutation),
                rows_in_order(in.value, permutation), options)
          .output;
  const Matrix expected = rows_in_order(output, permutation);
  const double difference = largest_difference(elements(expected), elements(permuted_output));
  const Vector mean = pooled(output);
  const Vector permuted_mean = pooled(permuted_output);
  const double pooled_difference = largest_difference(elements(mean), elements(permuted_mean));

  report.line(fmt::format("without positions, self-attention is permutation-equivariant: {}",
                          python_bool(all_close(elements(expected), elements(permuted_output)))));
  Grid order{"permutation", "Order of the shuffled tokens", {{p.seq_len}, {}}, {"position"}};
  order.array.values.assign(permutation.begin(), permutation.end());
  order.whole_numbers = true;
  report.data(std::move(order));
  report.data(Grid{"permuted_output",
                   "Output for the shuffled tokens",
                   to_array(permuted_output),
                   {"position", "dimension"}});
  report.check({.id = "equivariant", .measured = difference, .tolerance = 1e-12});
  report.check({.id = "pooled", .measured = pooled_difference, .tolerance = 1e-12});
  report.explain(fmt::format("largest difference between shuffled output and output of the shuffled = {:.3g}",
                             difference));

  Table table{"differences", "Largest difference after shuffling", {{"case"}, {"difference"}}};
  table.rows.push_back({"no mask, outputs shuffled alike", difference});
  table.rows.push_back({"no mask, mean of the outputs", pooled_difference});
  if (p.seq_len > 2) {  // a prefix of one token has one order
    const SelfAttentionInputs second = draw_self_attention(rng, 1, p.d_k, p.d_k);
    std::vector<std::size_t> straight(p.seq_len);
    std::iota(straight.begin(), straight.end(), std::size_t{0});
    std::vector<std::size_t> reversed = straight;
    std::reverse(reversed.begin(), reversed.end() - 1);
    const auto change = [&](std::size_t layers) {
      return largest_difference(elements(last_output(in, second, straight, layers, context)),
                                elements(last_output(in, second, reversed, layers, context)));
    };
    table.rows.push_back({"causal, last output of one layer", change(1)});
    table.rows.push_back({"causal, last output of two layers", change(2)});
    report.check({.id = "causal-one-layer", .measured = change(1), .tolerance = 1e-12});
    report.check({.id = "causal-two-layers",
                  .measured = change(2),
                  .relation = Relation::at_least,
                  .expected = beyond_rounding});
  }
  report.data(std::move(table));
  report.figure(
      {.name = "differences",
       .title = "What shuffling the tokens changes",
       .kind = FigureKind::bars,
       .data = {"differences"},
       .x_column = "case",
       .series = {{"difference"}},
       .x_axis = {"case"},
       .y_axis = {"largest difference", "", Scale::log10},
       .caption = "Attention without positions cannot tell one order from another; two causal layers can."});
  return report;
}

}  // namespace

Experiment equivariance_experiment() {
  return make_experiment<Params>(
      {.name = "equivariance",
       .title = "Attention has no notion of order",
       .summary = "shuffled tokens give shuffled outputs",
       .section = "Positional information",
       .source = "Vaswani et al. 2017, section 3.5",
       .purpose = "Shuffles the tokens of the lesson's first listing and compares the outputs; table "
                  "differences also has "
                  "one and two causal layers whose prefix is put in reverse.",
       .examples = {"attnlab equivariance", "attnlab equivariance -T 64 --explain",
                    "attnlab equivariance --format json"},
       .claims =
           {{"equivariant", "without mask and positions, shuffled tokens give the same outputs, shuffled"},
            {"pooled", "without mask and positions, the mean of the outputs does not know the order"},
            {"causal-one-layer",
             "under a causal mask, the last output of one layer does not know the order of the tokens "
             "before it"},
            {"causal-two-layers",
             "under a causal mask, the last output of two layers knows the order of the tokens before it"}},
       .breakages = {{"causal", "a causal mask is left on"},
                     {"no-mask", "the causal mask is left out"},
                     {"positions", "positions are added to the keys"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
