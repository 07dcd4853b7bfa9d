// Attention has no notion of order: the last line of the lesson's first listing.
//
// Without positions and without a mask, shuffled tokens give shuffled outputs.
//
//   x: [seq_len, d_model]    query, key, value, output: [seq_len, d_k]    permutation: [seq_len]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.5, which adds positions for that
// reason.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
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

double largest_difference(const Matrix& a, const Matrix& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a.data()[i] - b.data()[i]));
  return worst;
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
  const double difference = largest_difference(expected, permuted_output);

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
  report.explain(fmt::format("largest difference between shuffled output and output of the shuffled = {:.3g}",
                             difference));

  Table table{"differences", "Largest difference after shuffling", {{"case"}, {"difference"}}};
  table.rows.push_back({"no mask, outputs shuffled back", difference});
  report.data(std::move(table));
  report.figure({.name = "differences",
                 .title = "What shuffling the tokens changes",
                 .kind = FigureKind::bars,
                 .data = {"differences"},
                 .x_column = "case",
                 .series = {{"difference"}},
                 .x_axis = {"case"},
                 .y_axis = {"largest difference", "", Scale::log10},
                 .caption = "Attention without positions cannot tell one order from another."});
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
       .purpose = "Shuffles the tokens of the lesson's first listing and compares the outputs.",
       .examples = {"attnlab equivariance", "attnlab equivariance -T 64 --explain",
                    "attnlab equivariance --format json"},
       .claims = {{"equivariant",
                   "without mask and positions, shuffled tokens give the same outputs, shuffled"}},
       .breakages = {{"causal", "a causal mask is left on"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
