// Several heads at the price of one.
//
// Each of num_heads heads works in d_k = d_model / num_heads dimensions, so parameters and matrix products
// cost the same for any number of heads; only the softmax runs once a head. What several heads buy is several
// distributions: two heads read two tokens at once, which one distribution can only blend.
//
//   x: [seq_len, d_model]    w_query, w_key, w_value, w_output: [d_model, d_model]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/heads.hpp"
#include "core/matmul.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/bounds.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t d_model = 512;
  std::size_t seq_len = 64;
  std::vector<std::int64_t> heads = {1, 2, 4, 8, 16};
};

void declare(OptionSet& options, Params& p) {
  options.integer("d-model", p.d_model, 1, 2048, "width of the layer").short_form('d');
  options.integer("seq-len", p.seq_len, 1, 512, "positions").short_form('T');
  options.integers("heads", p.heads, 1, 256, "numbers of heads to compare");
}

AttentionWeights draw_weights(Generator& rng, std::size_t d_model, std::size_t width) {
  const double shrink = 1 / std::sqrt(static_cast<double>(d_model));
  return {normal_matrix(rng, d_model, width, 0, shrink), normal_matrix(rng, d_model, width, 0, shrink),
          normal_matrix(rng, d_model, width, 0, shrink), normal_matrix(rng, width, d_model, 0, shrink)};
}

struct Work {
  std::int64_t multiply_adds = 0;
  std::int64_t exponentials = 0;
};

Matrix counted_product(const Matrix& a, const Matrix& b, Transpose transpose_b, Work& work) {
  Matrix product = matmul(a, b, Transpose::no, transpose_b);
  work.multiply_adds += static_cast<std::int64_t>(product.size() * a.shape(1));
  return product;
}

// The layer with every product and every exponential counted as it is done.
Matrix counted_layer(const Matrix& x, const AttentionWeights& w, std::size_t num_heads, Work& work) {
  const Matrix query = counted_product(x, w.query, Transpose::no, work);
  const Matrix key = counted_product(x, w.key, Transpose::no, work);
  const Matrix value = counted_product(x, w.value, Transpose::no, work);
  std::vector<Matrix> outputs;
  for (std::size_t head = 0; head < num_heads; ++head) {
    const Matrix q = head_columns(query, head, num_heads);
    Matrix scores = counted_product(q, head_columns(key, head, num_heads), Transpose::yes, work);
    for (double& score : scores) score *= default_scale(q.shape(1));
    work.exponentials += static_cast<std::int64_t>(scores.size());
    outputs.push_back(
        counted_product(softmax(scores), head_columns(value, head, num_heads), Transpose::no, work));
  }
  return counted_product(concatenated(outputs), w.output, Transpose::no, work);
}

// The layer by plain loops over heads, positions and dimensions, from its definition.
Matrix looped_layer(const Matrix& x, const AttentionWeights& w, std::size_t num_heads) {
  const std::size_t seq_len = x.shape(0);
  const std::size_t d_model = x.shape(1);
  const std::size_t d_k = d_model / num_heads;
  Matrix joined = zeros(seq_len, d_model);
  for (std::size_t head = 0; head < num_heads; ++head) {
    const auto project = [&](const Matrix& weight, std::size_t t, std::size_t c) {
      double sum = 0;
      for (std::size_t m = 0; m < d_model; ++m) sum += x(t, m) * weight(m, head * d_k + c);
      return sum;
    };
    for (std::size_t i = 0; i < seq_len; ++i) {
      std::vector<double> exponentials(seq_len);
      double total = 0;
      for (std::size_t j = 0; j < seq_len; ++j) {
        double score = 0;
        for (std::size_t c = 0; c < d_k; ++c) score += project(w.query, i, c) * project(w.key, j, c);
        exponentials[j] = std::exp(score / std::sqrt(static_cast<double>(d_k)));
        total += exponentials[j];
      }
      for (std::size_t j = 0; j < seq_len; ++j) {
        for (std::size_t c = 0; c < d_k; ++c) {
          joined(i, head * d_k + c) += exponentials[j] / total * project(w.value, j, c);
        }
      }
    }
  }
  Matrix output = zeros(seq_len, d_model);
  for (std::size_t i = 0; i < seq_len; ++i) {
    for (std::size_t m = 0; m < d_model; ++m) {
      for (std::size_t c = 0; c < d_model; ++c) output(i, m) += joined(i, c) * w.output(c, m);
    }
  }
  return output;
}

// The classic mistake: the memory of [seq_len, heads * d_k] read as [heads, seq_len, d_k] without moving
// anything. Head `head` of it, [seq_len, d_k].
Matrix reshaped_head(const Matrix& packed, std::size_t head, std::size_t num_heads) {
  Matrix out = zeros(packed.shape(0), packed.shape(1) / num_heads);
  const double* first = packed.data() + head * out.size();
  std::copy(first, first + out.size(), out.begin());
  return out;
}

Matrix split_head(const Matrix& packed, std::size_t head, std::size_t num_heads, bool wrong) {
  return wrong ? reshaped_head(packed, head, num_heads) : head_columns(packed, head, num_heads);
}

// How many of the rows [head, position] still belong to that head and position after a split.
std::size_t rows_in_place(std::size_t seq_len, std::size_t num_heads, bool wrong) {
  Matrix labels = zeros(seq_len, num_heads);
  std::iota(labels.begin(), labels.end(), 0.0);
  std::size_t in_place = 0;
  for (std::size_t head = 0; head < num_heads; ++head) {
    const Matrix rows = split_head(labels, head, num_heads, wrong);
    for (std::size_t t = 0; t < seq_len; ++t) {
      if (rows(t, 0) == labels(t, head)) ++in_place;
    }
  }
  return in_place;
}

// The largest change of an earlier position's output when the last token changes, causal, heads split rightly
// or not.
double leak_into_the_past(const Matrix& x, const AttentionWeights& w, std::size_t num_heads, bool wrong) {
  const std::size_t seq_len = x.shape(0);
  AttentionOptions causal;
  causal.mask = causal_mask(seq_len, seq_len);
  const auto joined_heads = [&](const Matrix& input) {
    std::vector<Matrix> outputs;
    for (std::size_t head = 0; head < num_heads; ++head) {
      outputs.push_back(attention(split_head(matmul(input, w.query), head, num_heads, wrong),
                                  split_head(matmul(input, w.key), head, num_heads, wrong),
                                  split_head(matmul(input, w.value), head, num_heads, wrong), causal)
                            .output);
    }
    return concatenated(outputs);
  };
  Matrix changed = x;
  for (double& entry : row_of(changed, seq_len - 1)) entry += 1;
  const Matrix before = joined_heads(x);
  const Matrix after = joined_heads(changed);
  double worst = 0;
  for (std::size_t t = 0; t + 1 < seq_len; ++t) {
    worst = std::max(worst, largest_difference(row_of(before, t), row_of(after, t)));
  }
  return worst;
}

// Two tokens with two features of two dimensions each; wanted is the first feature of token 0 beside the
// second of token 1.
const std::vector<std::vector<double>> two_tokens = {{1, 0, 1, 0}, {0, 1, 0, 1}};
const std::vector<double> wanted = {1, 0, 0, 1};

// How far `blend` (the weight of token 0 in each feature) leaves the result from what is wanted.
double miss(double first_weight, double second_weight) {
  double squares = 0;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    const double weight = c < 2 ? first_weight : second_weight;
    const double got = weight * two_tokens[0][c] + (1 - weight) * two_tokens[1][c];
    squares += (got - wanted[c]) * (got - wanted[c]);
  }
  return std::sqrt(squares);
}

// The best that one distribution over both tokens can do, tried in steps of a thousandth.
double best_of_one_head(bool weights_by_feature) {
  double best = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= 1000; ++step) {
    const double weight = step / 1000.0;
    best = std::min(best, miss(weight, weights_by_feature ? 1 - weight : weight));
  }
  return best;
}

// Two heads wired by hand: the first looks at token 0 and copies its first feature, the second at token 1.
double miss_of_two_heads(bool same_query) {
  Matrix packed = zeros(2, 4);
  for (std::size_t t = 0; t < 2; ++t)
    std::copy(two_tokens[t].begin(), two_tokens[t].end(), row_of(packed, t).begin());
  Matrix query = zeros(1, 4);
  query(0, 0) = 100;                   // head 0 asks for token 0
  query(0, same_query ? 2 : 3) = 100;  // head 1 asks for token 1
  HeadsOptions options;
  options.num_heads = options.num_kv_heads = 2;
  const Matrix output = attention_of_heads(query, packed, packed, options).output;
  return largest_difference(row_of(output, 0), wanted);
}

Table published_table() {
  Table table{"vaswani_table_3",
              "Printed in Vaswani et al. 2017, table 3, rows (A): English to German, not recomputed here",
              {{"heads"}, {"d_k"}, {"perplexity"}, {"bleu"}}};
  table.rows = {{std::int64_t{1}, std::int64_t{512}, 5.29, 24.9},
                {std::int64_t{4}, std::int64_t{128}, 5.00, 25.5},
                {std::int64_t{8}, std::int64_t{64}, 4.92, 25.8},
                {std::int64_t{16}, std::int64_t{32}, 4.91, 25.8},
                {std::int64_t{32}, std::int64_t{16}, 5.01, 25.4}};
  return table;
}

void check_costs(Report& report, const Params& p, const Context& context, Generator& rng) {
  Table table{"costs",
              fmt::format("One attention layer of width {} over {} positions", p.d_model, p.seq_len),
              {{"heads"}, {"d_k"}, {"parameters"}, {"multiply_adds"}, {"exponentials"}}};
  const Matrix x = normal_matrix(rng, p.seq_len, p.d_model);
  const auto d = static_cast<double>(p.d_model);
  const auto t = static_cast<double>(p.seq_len);
  const AttentionWeights shared = draw_weights(rng, p.d_model, p.d_model);
  for (const std::int64_t count : p.heads) {
    const auto num_heads = static_cast<std::size_t>(count);
    if (p.d_model % num_heads != 0) {
      throw Error(ErrorKind::usage,
                  fmt::format("--heads: {} heads do not divide the width {}", count, p.d_model));
    }
    const bool full_width = context.breaks("full-width-heads") && num_heads > 1;
    const AttentionWeights w = full_width ? draw_weights(rng, p.d_model, p.d_model * num_heads) : shared;
    Work work;
    counted_layer(x, w, num_heads, work);
    if (context.breaks("one-softmax")) work.exponentials /= count;
    const std::size_t parameters = w.query.size() + w.key.size() + w.value.size() + w.output.size();
    table.rows.push_back({count, static_cast<std::int64_t>(w.query.shape(1) / num_heads),
                          static_cast<std::int64_t>(parameters), work.multiply_adds, work.exponentials});
    const std::string label = fmt::format("{}", count);
    report.check({.id = "same-parameters",
                  .label = label,
                  .measured = static_cast<double>(parameters),
                  .expected = 4 * d * d});
    report.check({.id = "same-products",
                  .label = label,
                  .measured = static_cast<double>(work.multiply_adds),
                  .expected = 4 * t * d * d + 2 * t * t * d});
    report.check({.id = "softmax-grows",
                  .label = label,
                  .measured = static_cast<double>(work.exponentials),
                  .expected = static_cast<double>(count) * t * t});
  }
  report.table(std::move(table));
  report.explain(fmt::format("products: 4 T d^2 + 2 T^2 d = {:.0f} for any number of heads, T = {}, d = {}",
                             4 * t * d * d + 2 * t * t * d, p.seq_len, p.d_model));
}

void check_the_split(Report& report, const Context& context, Generator& rng) {
  constexpr std::size_t seq_len = 7;
  constexpr std::size_t num_heads = 3;
  constexpr std::size_t d_model = 12;
  const Matrix x = normal_matrix(rng, seq_len, d_model);
  const AttentionWeights w = draw_weights(rng, d_model, d_model);
  HeadsOptions options;
  options.num_heads = options.num_kv_heads = context.breaks("one-head") ? 1 : num_heads;
  report.check({.id = "plain-loops",
                .measured = largest_difference(elements(multi_head_attention(x, x, w, options)),
                                               elements(looped_layer(x, w, num_heads))),
                .tolerance = 1e-12});
  const bool wrong = !context.breaks("right-split");
  report.check({.id = "wrong-reshape-scatters",
                .measured = static_cast<double>(rows_in_place(seq_len, num_heads, wrong)),
                .expected = static_cast<double>(std::gcd(seq_len - 1, num_heads - 1) + 1)});
  report.check({.id = "wrong-reshape-leaks",
                .measured = leak_into_the_past(x, w, num_heads, wrong),
                .relation = Relation::at_least,
                .expected = beyond_rounding});
  report.check({.id = "right-split-keeps-the-mask",
                .measured = leak_into_the_past(x, w, num_heads, context.breaks("wrong-split"))});
  report.explain(
      fmt::format("read as [heads, T, d_k] without moving anything, row t of head h holds what belongs "
                  "to another head or position, but where h (T - 1) = t (heads - 1): {} rows of {}",
                  std::gcd(seq_len - 1, num_heads - 1) + 1, seq_len * num_heads));
}

Report run(const Params& p, const Context& context) {
  Report report("Several heads at the price of one");
  Generator rng = context.rng();
  check_costs(report, p, context, rng);
  report.data(published_table());
  check_the_split(report, context, rng);
  const double one = best_of_one_head(context.breaks("weights-by-feature"));
  const double two = miss_of_two_heads(context.breaks("same-query"));
  report.line("");
  report.line(
      fmt::format("reading one feature of each of two tokens: one head misses by {:.6g} at best, two heads "
                  "by {:.2g}",
                  one, two));
  report.check({.id = "one-head-blends", .measured = one, .expected = 1, .tolerance = 1e-12});
  report.check({.id = "two-heads-read-two", .measured = two, .tolerance = 1e-9});
  report.check(
      {.id = "quality",
       .reason = "needs trained translation models; the printed figures are in table vaswani_table_3",
       .checkable = false});
  report.figure({.name = "products",
                 .title = "Multiply-adds by the number of heads",
                 .kind = FigureKind::bars,
                 .data = {"costs"},
                 .x_column = "heads",
                 .series = {{"multiply_adds", "multiply-adds"}, {"exponentials", "exponentials"}},
                 .x_axis = {"heads"},
                 .y_axis = {"operations", "", Scale::log10},
                 .caption =
                     "The products cost the same for any number of heads; only the softmax grows. Vaswani et "
                     "al. 2017, section 3.2.2."});
  return report;
}

}  // namespace

Experiment heads_experiment() {
  return make_experiment<Params>(
      {.name = "heads",
       .title = "Several heads at the price of one",
       .summary = "what the number of heads costs, what it buys, and the classic wrong reshape",
       .section = "Multi-head attention",
       .source = "Vaswani et al. 2017, section 3.2.2",
       .purpose =
           "Runs one attention layer with several numbers of heads and counts its parameters, multiply-adds "
           "and "
           "exponentials; shows a task that one head cannot do and two can, and what happens when heads are "
           "split by a reshape alone.",
       .examples = {"attnlab heads", "attnlab heads --heads 1,8,64 --seq-len 128",
                    "attnlab heads --table vaswani_table_3"},
       .claims =
           {{"same-parameters", "the parameters are the same for any number of heads"},
            {"same-products", "the matrix products cost the same for any number of heads"},
            {"softmax-grows", "the softmax costs as many exponentials for each head"},
            {"plain-loops",
             "heads side by side and an output projection give what loops over their definition give"},
            {"wrong-reshape-scatters",
             "a reshape without a transposition leaves gcd(T - 1, heads - 1) + 1 rows where they belong"},
            {"wrong-reshape-leaks",
             "after a reshape without a transposition the causal mask no longer hides the future"},
            {"right-split-keeps-the-mask", "heads split by columns keep the causal mask, to the last bit"},
            {"one-head-blends",
             "one distribution cannot read one feature of one token and another of another: it misses by 1"},
            {"two-heads-read-two", "two heads read one feature of one token and another of another exactly"},
            {"quality", "one head translates worse than eight, and too many heads worse again",
             "Vaswani et al. 2017, table 3, rows (A)"}},
       .breakages = {{"full-width-heads", "every head keeps the full width"},
                     {"one-softmax", "one softmax is counted for all heads"},
                     {"one-head", "the heads are not split"},
                     {"right-split", "the reshape said to be wrong is right"},
                     {"wrong-split", "the split said to be right is a reshape"},
                     {"weights-by-feature", "the one head may weight each feature anew"},
                     {"same-query", "both heads ask for the same token"}}},
      declare, run);
}

}  // namespace attnlab::experiments
