// What a layer costs: T d^2 for projections and feed-forward, T^2 d for attention, and where they meet.
//
// Multiply-adds are counted in the products that run, forward and backward, and compared with the formulas.
//
//   projections 4 T d^2    feed-forward 8 T d^2    scores and their weighted sums 2 T^2 d    (multiply-adds)
//
// Attention overtakes the rest at T = 6 d. Of the N weights each costs one multiply-add forward and two
// backward a token, which is 2 N and 4 N operations.
//
// Source: Vaswani et al. 2017, table 1; Kaplan et al., "Scaling Laws for Neural Language Models" (2020),
// section 2.1.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "accounting/compute.hpp"
#include "core/backward/product.hpp"
#include "core/backward/residual.hpp"
#include "core/error.hpp"
#include "core/power_law.hpp"
#include "experiments/all.hpp"
#include "lab/counted_model.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::string model;
  std::int64_t d_model = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::vector<std::int64_t> seq_len = {128, 1024, 4608, 9216, 32768};
  std::size_t counted_width = 64;
  std::vector<std::int64_t> counted_len = {32, 64, 128, 256};
};

void declare(OptionSet& options, Params& p) {
  options.text("model", p.model, "MODEL",
               "an embedded model in place of d-model and layers; params --model list names them");
  options.integer("d-model", p.d_model, 1, 1 << 20, "width of the model computed by formula").short_form('d');
  options.integer("layers", p.layers, 1, 1 << 20, "its layers");
  options.integer("heads", p.heads, 1, 1 << 20, "its heads");
  options.integers("seq-len", p.seq_len, 1, 1 << 30, "lengths at which it is computed").short_form('T');
  options.integer("counted-width", p.counted_width, 2, 512, "width of the layer that runs, in two heads");
  options.integers("counted-len", p.counted_len, 2, 4096, "lengths at which it runs and is counted");
}

template <class Run>
double counted(Run run) {
  const std::uint64_t before = multiply_adds_done();
  run();
  return static_cast<double>(multiply_adds_done() - before);
}

/// Multiply-adds of one layer, and the time of its attention and of the rest.
struct LayerWork {
  double projections = 0;
  double feed_forward = 0;
  double scores = 0;
  double linear_ms = 0;
  double scores_ms = 0;
  double rest() const { return projections + feed_forward; }
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Runs the products of one layer of two heads on zeros: what is counted does not depend on the numbers.
LayerWork run_layer(std::size_t seq_len, std::size_t d, const Context& context) {
  Arena<double> arena;
  const View<double> x = arena.take(seq_len, d);
  const View<double> y = arena.take(seq_len, d);
  const View<double> hidden = arena.take(seq_len, 4 * d);
  const View<double> square = arena.take(d, d);
  const View<double> expand = arena.take(d, 4 * d);
  const View<double> contract = arena.take(4 * d, d);
  LayerWork work;
  const auto linear = [&](View<double> in, View<double> weight, View<double> out) {
    // As if every token projected its whole prefix again.
    if (context.breaks("recomputes")) {
      for (std::size_t rows = 1; rows < seq_len; ++rows)
        linear_forward(first_rows(in, rows), weight, first_rows(out, rows));
    }
    linear_forward(in, weight, out);
  };
  auto start = std::chrono::steady_clock::now();
  work.projections = counted([&] {
    for (int i = 0; i < 4; ++i) linear(x, square, y);
  });
  work.feed_forward = counted([&] {
    linear(x, expand, hidden);
    linear(hidden, contract, y);
  });
  work.linear_ms = milliseconds_since(start);
  start = std::chrono::steady_clock::now();
  const std::size_t keys = context.breaks("window") ? std::min<std::size_t>(seq_len, 16) : seq_len;
  const View<double> weights = arena.take(keys, keys);
  work.scores = counted([&] {
    for (std::size_t head = 0; head < 2; ++head) {
      const auto of_head = [&](View<double> all) {
        return first_rows(columns_of(all, head * (d / 2), d / 2), keys);
      };
      attention_forward<double>(of_head(x), of_head(x), of_head(x), {.causal = false}, weights, of_head(y));
    }
  });
  work.scores_ms = milliseconds_since(start);
  if (context.breaks("one-product")) work.scores /= 2;
  return work;
}

// The same work three times: what is counted is the same each time, of the times the shortest tells.
LayerWork best_of_three(std::size_t seq_len, std::size_t d, const Context& context) {
  LayerWork work = run_layer(seq_len, d, context);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const LayerWork again = run_layer(seq_len, d, context);
    work.linear_ms = std::min(work.linear_ms, again.linear_ms);
    work.scores_ms = std::min(work.scores_ms, again.scores_ms);
  }
  return work;
}

void show_counted(Report& report, const Params& p, const Context& context) {
  Table table{"counted",
              fmt::format("Multiply-adds of a layer of width {} as counted while it ran", p.counted_width),
              {{"seq_len"},
               {"projections"},
               {"feed_forward"},
               {"scores"},
               {"linear_time_ms", "ms", true},
               {"scores_time_ms", "ms", true}}};
  std::vector<double> lengths, linear, scores, linear_times, score_times;
  const auto d = static_cast<double>(p.counted_width);
  for (const std::int64_t length : p.counted_len) {
    const LayerWork work = best_of_three(static_cast<std::size_t>(length), p.counted_width, context);
    const auto t = static_cast<double>(length);
    lengths.push_back(t);
    linear.push_back(work.rest());
    scores.push_back(work.scores);
    linear_times.push_back(work.linear_ms);
    score_times.push_back(work.scores_ms);
    table.rows.push_back({length, static_cast<std::int64_t>(work.projections),
                          static_cast<std::int64_t>(work.feed_forward),
                          static_cast<std::int64_t>(work.scores), work.linear_ms, work.scores_ms});
    const std::string label = std::to_string(length);
    report.check(
        {.id = "projections", .label = label, .measured = work.projections, .expected = 4 * t * d * d});
    report.check(
        {.id = "feed-forward", .label = label, .measured = work.feed_forward, .expected = 8 * t * d * d});
    report.check({.id = "scores", .label = label, .measured = work.scores, .expected = 2 * t * t * d});
  }
  report.table(std::move(table));
  if (lengths.size() < 2 || lengths.front() == lengths.back()) return;
  const double linear_slope = fit_power_law(lengths, linear).exponent;
  const double score_slope = fit_power_law(lengths, scores).exponent;
  report.check({.id = "linear-slope", .measured = linear_slope, .expected = 1, .tolerance = 1e-9});
  report.check({.id = "quadratic-slope", .measured = score_slope, .expected = 2, .tolerance = 1e-9});
  const PowerLaw linear_time = fit_power_law(lengths, linear_times);
  const PowerLaw score_time = fit_power_law(lengths, score_times);
  report.table(
      {"slopes",
       "Slope over the length in double logarithmic scale: of what was counted, and of the time",
       {{"part"}, {"counted_slope"}, {"time_slope", "", true}, {"time_slope_standard_error", "", true}},
       {{"projections and feed-forward", linear_slope, linear_time.exponent, linear_time.standard_error},
        {"attention", score_slope, score_time.exponent, score_time.standard_error}}});
}

// The shortest sequence whose scores cost as much as the rest of the layer, counted.
double counted_crossover(std::size_t width, const Context& context) {
  Context counting;
  if (context.breaks("one-product")) counting.breakage = context.breakage;
  std::size_t low = 1;
  std::size_t high = 16 * width;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const LayerWork work = run_layer(middle, width, counting);
    if (work.scores >= work.rest()) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<double>(low);
}

// The same for the model, from the pairs of query and key that its attention looks at.
double model_crossover(const Params& p, bool causal, const Context& context) {
  AttentionShape attention;
  attention.causal = causal;
  const Int128 d = p.d_model;
  const Int128 products = context.breaks("one-product") ? 1 : 2;
  std::int64_t low = 1;
  std::int64_t high = 64 * p.d_model;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (products * attended_pairs(attention, middle) * d >= 12 * d * d * middle) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<double>(low);
}

/// Forward operations of a model: of its layers' weights for each token, and of attention for each token and
/// key.
struct ModelWork {
  std::string name;
  Int128 linear, scores;

  /// The length from which attention over all keys costs as much as the rest.
  double crossover() const { return static_cast<double>(linear) / static_cast<double>(scores); }
};

ModelWork work_of(const Params& p) {
  const Int128 width = Int128{p.layers} * p.d_model;
  if (p.model.empty())
    return {fmt::format("{} layers of width {}", p.layers, p.d_model), 24 * width * p.d_model, 4 * width};
  // Training costs three times the forward pass, and the second figure is that of one key.
  const CountedModel model = count_embedded_model(p.model);
  const std::vector<Quantity> training = flops_per_token(model.config.architecture, model.count, 1);
  return {p.model, find_quantity(training, "six_n").value / 3,
          find_quantity(training, "attention_full_training").value / 3};
}

Table model_table(const Params& p, const ModelWork& work) {
  Table table{"model",
              fmt::format("Forward operations of {}", work.name),
              {{"seq_len"},
               {"linear_gflops", "GFLOP"},
               {"scores_gflops", "GFLOP"},
               {"scores_share"},
               {"score_entries_per_head"}}};
  for (const std::int64_t length : p.seq_len) {
    const Int128 linear = checked_multiply(work.linear, Int128{length}, "FLOPs");
    const Int128 scores = checked_multiply(work.scores, Int128{length} * length, "FLOPs");
    table.rows.push_back({length, static_cast<double>(linear) / 1e9, static_cast<double>(scores) / 1e9,
                          static_cast<double>(scores) / static_cast<double>(linear + scores),
                          Int128{length} * length});
  }
  return table;
}

// Operations a weight and token, forward and backward, counted in the hand-written passes of two blocks.
void check_six_n(Report& report, const Context& context) {
  StackShape shape;
  shape.num_layers = 2;
  shape.seq_len = 16;
  shape.d_model = 64;
  shape.d_hidden = 256;
  shape.num_heads = 2;
  const StackWeights<double> weights(shape);
  StackWeights<double> gradient(shape);
  ResidualStack<double> stack(shape);
  Arena<double> arena;
  const View<double> input = arena.take(shape.seq_len, shape.d_model);
  const double forward = counted([&] { stack.forward(weights, input); });
  const double backward = counted([&] { stack.backward(weights, input, gradient); });
  // Products between positions hold no weights: two T^2 d of each layer forward, four backward.
  const double between = 2.0 * 16 * 16 * 64 * 2;
  const double weights_and_tokens = 2 * 12 * 64 * 64 * 16;
  const double operations = context.breaks("one-operation") ? 1 : 2;
  report.check(
      {.id = "forward-2n", .measured = operations * (forward - between) / weights_and_tokens, .expected = 2});
  report.check({.id = "backward-4n",
                .measured = operations * (backward - 2 * between) / weights_and_tokens,
                .expected = 4});
}

// The matrix of scores: as large as the code makes it at 1,024 tokens, by formula at 32,768.
void check_score_matrix(Report& report, const Context& context) {
  const auto entries = [&](double queries, double keys) {
    return context.breaks("half-matrix") ? queries * (keys + 1) / 2 : queries * keys;
  };
  Arena<double> arena;
  const MultiHeadCache<double> cache(arena, 1024, 2, 1);
  const View<double> scores = cache.head_weights(0);
  const CountedModel gpt2 = count_embedded_model("gpt2");
  const Quantity large =
      find_quantity(score_size(gpt2.config.architecture, gpt2.count, 32768), "score_entries");
  const double side = std::sqrt(large.real());
  report.check({.id = "score-entries",
                .label = "1024",
                .measured = entries(static_cast<double>(scores.rows), static_cast<double>(scores.columns)),
                .expected = 1048576});
  report.check(
      {.id = "score-entries", .label = "32768", .measured = entries(side, side), .expected = 1073741824});
  report.check({.id = "scores-outgrow-weights",
                .measured = 12 * entries(side, side) / static_cast<double>(gpt2.count.total),
                .relation = Relation::at_least,
                .expected = 100});
  const Int128 tables =
      context.breaks("no-positions") ? gpt2.count.embedding - Int128{1024} * 768 : gpt2.count.embedding;
  report.check({.id = "embeddings", .measured = static_cast<double>(tables), .expected = 39383808});
}

Report run(const Params& p, const Context& context) {
  if (p.counted_width % 2 != 0)
    throw Error(ErrorKind::usage, "--counted-width: an odd width does not divide by two heads");
  Report report("What a layer costs");
  show_counted(report, p, context);
  const ModelWork work = work_of(p);
  report.table(model_table(p, work));
  const double full = model_crossover(p, false, context);
  const double causal = model_crossover(p, true, context);
  report.line(
      fmt::format("attention costs as much as the rest at T = {:.0f}, or about {:.0f} when a causal mask's "
                  "half is skipped",
                  work.crossover(), 2 * work.crossover()));
  const double width = static_cast<double>(p.d_model);
  if (p.counted_width <= 128) {
    report.check({.id = "crossover",
                  .label = "counted",
                  .measured = counted_crossover(p.counted_width, context),
                  .expected = 6 * static_cast<double>(p.counted_width)});
  }
  report.check({.id = "crossover", .label = "model", .measured = full, .expected = 6 * width});
  report.check({.id = "crossover", .label = "causal", .measured = causal, .expected = 12 * width - 1});
  check_six_n(report, context);
  check_score_matrix(report, context);
  report.explain(fmt::format("2 T^2 d = 12 T d^2 at T = 6 d = 6 x {} = {}", p.d_model, 6 * p.d_model));
  report.explain(
      "the slope of a time is that of the work only at lengths where the work outweighs calls and cold "
      "caches");
  report.explain(
      "forward each weight multiplies once; backward it multiplies the output's gradient, and its own");
  report.explain("gradient takes one more product: 1 + 2 multiply-adds, 2 + 4 operations, 6 N");
  report.figure(
      {.name = "counted",
       .title = "Multiply-adds of a layer",
       .kind = FigureKind::line,
       .data = {"counted"},
       .x_column = "seq_len",
       .series = {{"projections"}, {"feed_forward", "feed-forward"}, {"scores", "scores and weighted sums"}},
       .x_axis = {"sequence length", "tokens", Scale::log2},
       .y_axis = {"multiply-adds", "", Scale::log10},
       .caption = "Slope 1 for what works on each token, slope 2 for attention. Vaswani et al. 2017, "
                  "table 1."});
  report.figure(
      {.name = "model",
       .title = "Operations of the model",
       .kind = FigureKind::line,
       .data = {"model"},
       .x_column = "seq_len",
       .series = {{"linear_gflops", "projections and feed-forward"}, {"scores_gflops", "attention"}},
       .x_axis = {"sequence length", "tokens", Scale::log2},
       .y_axis = {"forward operations", "GFLOP", Scale::log10},
       .caption = "Attention overtakes at T = 6 d, a few thousand tokens. Kaplan et al. 2020, section "
                  "2.1."});
  return report;
}

}  // namespace

Experiment cost_experiment() {
  return make_experiment<Params>(
      {.name = "cost",
       .title = "What a layer costs",
       .summary = "operations against sequence length, counted and by formula, and where attention overtakes",
       .section = "Costs: quadratic attention and the KV cache",
       .source = "Vaswani et al. 2017, table 1; Kaplan et al. 2020, section 2.1",
       .purpose = "Runs the products of a small layer at several lengths and counts their multiply-adds, "
                  "computes those "
                  "of a model by formula, and finds the length from which attention costs more than all the "
                  "rest. Times "
                  "are shown and prove nothing.",
       .examples = {"attnlab cost", "attnlab cost -d 4096 --layers 32 --heads 32 -T 1024:131072:x2",
                    "attnlab cost --counted-len 64:2048:x2 --format csv"},
       .claims = {{"projections", "the four projections cost 4 T d^2 multiply-adds"},
                  {"feed-forward", "the feed-forward layer costs 8 T d^2 multiply-adds"},
                  {"scores", "scores and weighted sums of values cost 2 T^2 d multiply-adds"},
                  {"linear-slope", "projections and feed-forward grow with slope 1 in the length"},
                  {"quadratic-slope", "attention grows with slope 2 in the length"},
                  {"crossover", "attention costs as much as the rest from 6 d tokens on, causally from 12 d"},
                  {"forward-2n", "the forward pass costs 2 operations a weight and token"},
                  {"backward-4n", "the backward pass costs 4 operations a weight and token"},
                  {"score-entries", "the matrix of scores has T x T entries a head"},
                  {"scores-outgrow-weights",
                   "at 32,768 tokens the scores of one layer are a hundred times GPT-2 small's weights"},
                  {"embeddings", "39,383,808 of GPT-2 small's parameters are embeddings",
                   "the checkpoint of Radford et al. 2019"}},
       .breakages = {{"recomputes", "every token projects its whole prefix again"},
                     {"window", "attention looks at 16 tokens only"},
                     {"one-product", "the weighted sum of values is not counted"},
                     {"one-operation", "a multiply-add is counted as one operation"},
                     {"half-matrix", "only the causal half of the scores is counted"},
                     {"no-positions", "the table of positions is left out of the embeddings"}}},
      declare, run);
}

}  // namespace attnlab::experiments
