// A feed-forward layer read as a memory: its first matrix holds keys, its second the values they recall.
//
//   output = sum_i activation(x . key_i + bias_i) value_i    keys, values: [facts, d_model]
//
// Facts are pairs of random unit vectors. Asked with a key, the layer recalls a fact when no other value is
// nearer to its output. A threshold in the activation keeps the other facts silent; without it their small
// coefficients add up to noise, and the memory holds a few facts a dimension.
//
// Source: Geva, Schuster, Berant and Levy, "Transformer Feed-Forward Layers Are Key-Value Memories" (2021).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/feed_forward.hpp"
#include "core/matmul.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/counted_model.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t d_model = 64;
  std::vector<std::int64_t> facts = {64, 256, 1024, 4096};
  std::size_t lookups = 200;
  double threshold = 0.5;
};

void declare(OptionSet& options, Params& p) {
  options.integer("d-model", p.d_model, 2, 1024, "width of keys and values").short_form('d');
  options.integers("facts", p.facts, 2, 1 << 16, "pairs of key and value that the layer holds");
  options.integer("lookups", p.lookups, 1, 10000, "facts that are asked for");
  options.real("threshold", p.threshold, -1, 1, "similarity to a key below which its value stays silent");
}

Matrix unit_rows(Generator& rng, std::size_t rows, std::size_t width) {
  Matrix out = normal_matrix(rng, rows, width);
  for (std::size_t i = 0; i < rows; ++i) {
    const double norm = std::sqrt(dot(row_of(out, i), row_of(out, i)));
    for (double& entry : row_of(out, i)) entry /= norm;
  }
  return out;
}

Matrix first_rows_of(const Matrix& a, std::size_t count) {
  Matrix out = zeros(std::min(count, a.shape(0)), a.shape(1));
  std::copy(a.data(), a.data() + out.size(), out.data());
  return out;
}

// Moves every row down by one: the values of other keys.
Matrix shifted_rows(const Matrix& a) {
  Matrix out = a;
  std::rotate(out.begin(), out.end() - static_cast<std::ptrdiff_t>(a.shape(1)), out.end());
  return out;
}

FeedForward layer_of(const Matrix& keys, const Matrix& values, double threshold) {
  FeedForward layer;
  layer.activation = Activation::relu;
  layer.up = transposed(keys);
  layer.up_bias = zeros(keys.shape(0));
  for (double& bias : elements(*layer.up_bias)) bias = -threshold;
  layer.down = values;
  return layer;
}

// How much of what was asked for comes back: the share of outputs nearest to their own value.
double recalled(const Matrix& output, const Matrix& values) {
  const Matrix similarity = matmul(output, values, Transpose::no, Transpose::yes);
  std::size_t right = 0;
  for (std::size_t i = 0; i < output.shape(0); ++i) right += argmax(row_of(similarity, i)) == i ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(output.shape(0));
}

// The layer by its reading as a memory, in plain loops.
Matrix looked_up(const Matrix& x, const Matrix& keys, const Matrix& values, double threshold) {
  Matrix out = zeros(x.shape(0), values.shape(1));
  for (std::size_t row = 0; row < x.shape(0); ++row) {
    for (std::size_t fact = 0; fact < keys.shape(0); ++fact) {
      double similarity = 0;
      for (std::size_t c = 0; c < x.shape(1); ++c) similarity += x(row, c) * keys(fact, c);
      const double coefficient = std::max(similarity - threshold, 0.0);
      for (std::size_t c = 0; c < values.shape(1); ++c) out(row, c) += coefficient * values(fact, c);
    }
  }
  return out;
}

Table recall_table(const Params& p, const Context& context, Report& report) {
  Table table{"recall",
              "Share of facts recalled",
              {{"facts"}, {"facts_per_dimension"}, {"recall"}, {"recall_linear"}}};
  Generator rng = context.rng();
  for (const std::int64_t count : p.facts) {
    const Matrix keys = unit_rows(rng, static_cast<std::size_t>(count), p.d_model);
    const Matrix values = unit_rows(rng, keys.shape(0), p.d_model);
    const Matrix asked = first_rows_of(keys, p.lookups);
    const FeedForward layer =
        layer_of(keys, context.breaks("other-values") ? shifted_rows(values) : values, p.threshold);
    const Matrix linear_output = matmul(matmul(asked, keys, Transpose::no, Transpose::yes), values);
    const Matrix output = feed_forward(asked, layer);
    const double recall = recalled(context.breaks("no-threshold") ? linear_output : output, values);
    const double linear = recalled(context.breaks("always-threshold") ? output : linear_output, values);
    const double per_dimension = static_cast<double>(count) / static_cast<double>(p.d_model);
    table.rows.push_back({count, per_dimension, recall, linear});
    const std::string label = std::to_string(count);
    if (p.threshold == 0.5 && p.d_model >= 64) {
      report.check({.id = "recall",
                    .label = label,
                    .measured = recall,
                    .relation = Relation::at_least,
                    .expected = 0.99});
    }
    if (p.d_model == 64 && per_dimension > 8) {
      const bool enough = p.lookups >= 100;
      report.check({.id = "linear-forgets",
                    .label = label,
                    .measured = linear,
                    .relation = Relation::at_most,
                    .expected = 0.5,
                    .reason = enough ? "" : "a share needs at least 100 look-ups",
                    .checkable = enough});
    }
    if (count <= 256) {
      const Matrix few = first_rows_of(asked, 5);
      report.check({.id = "sum-of-memories",
                    .label = label,
                    .measured = largest_difference(elements(feed_forward(few, layer)),
                                                   elements(looked_up(few, keys, values, p.threshold))),
                    .tolerance = 1e-12});
    }
  }
  return table;
}

struct Share {
  std::string model;
  ParameterCount count;
  double layers;
};

// Where the parameters of GPT-2 stand, small and XL.
Table share_table(const Context& context, Report& report) {
  Table table{"share",
              "Share of the parameters that feed-forward layers hold",
              {{"model"}, {"of_a_block"}, {"of_the_model"}}};
  ConfigOptions xl;
  xl.what_if.layers = 48;
  xl.what_if.d_model = 1600;
  xl.what_if.heads = 25;
  ConfigOptions small;
  if (context.breaks("narrow")) small.what_if.ffn = xl.what_if.ffn = 1024;
  const std::vector<Share> models = {{"GPT-2 small", count_embedded_model("gpt2", small).count, 12},
                                     {"GPT-2 XL", count_embedded_model("gpt2", xl).count, 48}};
  for (const Share& one : models) {
    const double mlp = static_cast<double>(one.count.per_block->mlp);
    const double of_block = mlp / static_cast<double>(one.count.per_block->total());
    const double of_model = one.layers * mlp / static_cast<double>(one.count.total);
    table.rows.push_back({one.model, of_block, of_model});
    const std::string label = one.layers == 12 ? "small" : "xl";
    report.check({.id = "two-thirds-of-a-block",
                  .label = label,
                  .measured = of_block,
                  .expected = 2.0 / 3,
                  .tolerance = 0.001});
    report.check({.id = "two-thirds-of-the-model",
                  .label = label,
                  .measured = of_model,
                  .expected = 2.0 / 3,
                  .tolerance = 0.01,
                  .near_tolerance = 0.22,
                  .reason = "two thirds of a block, less of a whole model: the embedding tables count too"});
  }
  return table;
}

Report run(const Params& p, const Context& context) {
  Report report("Feed-forward layers as memories");
  report.table(recall_table(p, context, report));
  report.table(share_table(context, report));
  report.check({.id = "patterns",
                .reason = "a finding about trained models: 65 to 80 % of a key's strongest inputs share a "
                          "pattern that people can name (16 layers, 4,096 keys each)",
                .checkable = false});
  report.explain(fmt::format(
      "another fact's key is similar by chance: spread 1/sqrt({}) = {:.4f}, the threshold {} lies {:.1f} "
      "spreads away",
      p.d_model, 1 / std::sqrt(static_cast<double>(p.d_model)), p.threshold,
      p.threshold * std::sqrt(static_cast<double>(p.d_model))));
  report.explain("a block has 4 d^2 weights in attention and 8 d^2 in its feed-forward layer: 8 / 12 = 2/3");
  report.figure({.name = "recall",
                 .title = "Facts recalled",
                 .kind = FigureKind::line,
                 .data = {"recall"},
                 .x_column = "facts",
                 .series = {{"recall", "with threshold"}, {"recall_linear", "without nonlinearity"}},
                 .x_axis = {"facts stored", "", Scale::log2},
                 .y_axis = {"share recalled"},
                 .caption = "The nonlinearity is what lets a layer hold many more facts than it has "
                            "dimensions. Geva et al. 2021 read layers this way."});
  return report;
}

}  // namespace

Experiment ffn_memory_experiment() {
  return make_experiment<Params>(
      {.name = "ffn-memory",
       .title = "Feed-forward layers as memories",
       .summary = "a feed-forward layer as keys and values, how much it recalls, and its share of a model",
       .section = "The transformer block",
       .source = "Geva et al. 2021, section 2",
       .purpose =
           "Writes random facts into the two matrices of a feed-forward layer, asks for some of them, and "
           "counts how many come back, with the nonlinearity and without. At width 256 the linear memory "
           "lasts "
           "longer: 95 % at nine facts a dimension.",
       .examples = {"attnlab ffn-memory", "attnlab ffn-memory --facts 64:16384:x2 --plot",
                    "attnlab ffn-memory -d 256 --facts 256:4096:x2 --format csv"},
       .claims = {{"sum-of-memories",
                   "the layer is the sum of its values, each weighted by the activation of its key"},
                  {"recall", "with a threshold the layer recalls at least 99 % of its facts, 64 a dimension"},
                  {"linear-forgets",
                   "without the nonlinearity it loses more than half beyond eight facts a dimension"},
                  {"two-thirds-of-a-block", "the feed-forward layer holds two thirds of a block's parameters",
                   "Vaswani et al. 2017, section 3.3: d_ff = 4 d_model"},
                  {"two-thirds-of-the-model",
                   "the feed-forward layers hold about two thirds of a model's parameters",
                   "the checkpoints of Radford et al. 2019"},
                  {"patterns", "keys of trained models respond to patterns that people can name",
                   "Geva et al. 2021, section 3"}},
       .breakages = {{"other-values", "each key is stored with its neighbour's value"},
                     {"no-threshold", "the layer has no nonlinearity"},
                     {"always-threshold", "the comparison keeps the nonlinearity"},
                     {"narrow", "the feed-forward layer is 1,024 wide"}}},
      declare, run);
}

}  // namespace attnlab::experiments
