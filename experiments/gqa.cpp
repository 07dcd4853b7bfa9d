// Grouped-query attention: several query heads share one key and value head.
//
// The cache of generation holds keys and values, so it shrinks by num_heads / num_kv_heads. With as many key
// heads as query heads it is multi-head attention, with one it is multi-query attention, and in between it is
// multi-head attention whose key and value weights are repeated within each group.
//
//   w_query: [d_model, num_heads * head_dim]    w_key, w_value: [d_model, num_kv_heads * head_dim]
//
// Source: Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
// Checkpoints" (2023), section 2; Shazeer, "Fast Transformer Decoding" (2019).
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/heads.hpp"
#include "core/matmul.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t heads = 32;
  std::vector<std::int64_t> kv_heads = {32, 8, 4, 1};
  std::size_t head_dim = 128;
  std::size_t layers = 32;
  std::size_t seq_len = 32768;
  std::size_t bytes = 2;
};

void declare(OptionSet& options, Params& p) {
  options.integer("heads", p.heads, 1, 128, "query heads");
  options.integers("kv-heads", p.kv_heads, 1, 128, "key and value heads to compare");
  options.integer("head-dim", p.head_dim, 1, 1024, "width of a head");
  options.integer("layers", p.layers, 1, 1000, "layers that keep a cache");
  options.integer("seq-len", p.seq_len, 1, 1 << 24, "tokens in the cache").short_form('T');
  options.integer("bytes", p.bytes, 1, 8, "bytes of a number in the cache");
}

// What is computed runs at a small width: equality does not depend on it.
constexpr std::size_t small_head_dim = 4;
constexpr std::size_t small_seq_len = 6;
constexpr std::size_t small_d_model = 16;

AttentionWeights draw_weights(Generator& rng, std::size_t num_heads, std::size_t num_kv_heads) {
  const double shrink = 1 / std::sqrt(static_cast<double>(small_d_model));
  const std::size_t width = num_heads * small_head_dim;
  const std::size_t kv_width = num_kv_heads * small_head_dim;
  return {normal_matrix(rng, small_d_model, width, 0, shrink),
          normal_matrix(rng, small_d_model, kv_width, 0, shrink),
          normal_matrix(rng, small_d_model, kv_width, 0, shrink),
          normal_matrix(rng, width, small_d_model, 0, shrink)};
}

// Each group's columns repeated for every query head of the group.
Matrix repeated_heads(const Matrix& weight, std::size_t num_heads, std::size_t num_kv_heads) {
  std::vector<Matrix> heads;
  for (std::size_t head = 0; head < num_heads; ++head) {
    heads.push_back(head_columns(weight, head / (num_heads / num_kv_heads), num_kv_heads));
  }
  return concatenated(heads);
}

// One key head for each group from several: their mean, as a checkpoint is converted; or their sum, or the
// first.
enum class Pooling { mean, sum, first };

Matrix pooled_heads(const Matrix& weight, std::size_t num_heads, std::size_t num_kv_heads, Pooling pooling) {
  const std::size_t group = num_heads / num_kv_heads;
  std::vector<Matrix> heads;
  for (std::size_t kv_head = 0; kv_head < num_kv_heads; ++kv_head) {
    Matrix pooled = head_columns(weight, kv_head * group, num_heads);
    for (std::size_t member = 1; member < group && pooling != Pooling::first; ++member) {
      const Matrix other = head_columns(weight, kv_head * group + member, num_heads);
      for (std::size_t i = 0; i < pooled.size(); ++i) pooled.data()[i] += other.data()[i];
    }
    if (pooling == Pooling::mean) {
      for (double& entry : pooled) entry /= static_cast<double>(group);
    }
    heads.push_back(std::move(pooled));
  }
  return concatenated(heads);
}

AttentionWeights pooled_weights(const AttentionWeights& w, std::size_t num_heads, std::size_t num_kv_heads,
                                Pooling pooling) {
  return {w.query, pooled_heads(w.key, num_heads, num_kv_heads, pooling),
          pooled_heads(w.value, num_heads, num_kv_heads, pooling), w.output};
}

AttentionWeights repeated_weights(const AttentionWeights& w, std::size_t num_heads,
                                  std::size_t num_kv_heads) {
  return {w.query, repeated_heads(w.key, num_heads, num_kv_heads),
          repeated_heads(w.value, num_heads, num_kv_heads), w.output};
}

Matrix layer(const Matrix& x, const AttentionWeights& w, std::size_t num_heads, std::size_t num_kv_heads) {
  HeadsOptions options;
  options.num_heads = num_heads;
  options.num_kv_heads = num_kv_heads;
  AttentionOptions causal;
  causal.mask = causal_mask(x.shape(0), x.shape(0));
  options.options_of = [&causal](std::size_t) { return causal; };
  return multi_head_attention(x, x, w, options);
}

// Multi-head attention, one head after the other, that takes key head 0 for all where `one_for_all`.
Matrix multi_head(const Matrix& x, const AttentionWeights& w, std::size_t num_heads, bool one_for_all) {
  AttentionOptions causal;
  causal.mask = causal_mask(x.shape(0), x.shape(0));
  std::vector<Matrix> outputs;
  for (std::size_t head = 0; head < num_heads; ++head) {
    const std::size_t kv_head = one_for_all ? 0 : head;
    outputs.push_back(attention(matmul(x, head_columns(w.query, head, num_heads)),
                                matmul(x, head_columns(w.key, kv_head, num_heads)),
                                matmul(x, head_columns(w.value, kv_head, num_heads)), causal)
                          .output);
  }
  return matmul(concatenated(outputs), w.output);
}

double root_mean_square(const Matrix& a) {
  return std::sqrt(dot(elements(a), elements(a)) / static_cast<double>(a.size()));
}

double relative_change(const Matrix& got, const Matrix& want) {
  Matrix difference = got;
  for (std::size_t i = 0; i < got.size(); ++i) difference.data()[i] -= want.data()[i];
  return root_mean_square(difference) / root_mean_square(want);
}

std::size_t distinct_kv_heads(std::size_t num_heads, std::size_t num_kv_heads) {
  std::set<std::size_t> used;
  for (std::size_t head = 0; head < num_heads; ++head) used.insert(kv_head_of(head, num_heads, num_kv_heads));
  return used.size();
}

Table published_table() {
  Table table{"ainslie_table_1",
              "Printed in Ainslie et al. 2023, table 1: time of a sample and mean score, not recomputed here",
              {{"model"}, {"time_s", "", true}, {"score"}}};
  table.rows = {
      {"MHA-Large", 0.37, 46.0}, {"MHA-XXL", 1.51, 47.2}, {"MQA-XXL", 0.24, 46.6}, {"GQA-8-XXL", 0.28, 47.1}};
  return table;
}

void compare(Report& report, Table& table, const Params& p, std::size_t num_kv_heads, Generator& rng,
             const Context& context) {
  const std::string label = fmt::format("{}", num_kv_heads);
  const Matrix x = normal_matrix(rng, small_seq_len, small_d_model);
  const AttentionWeights grouped = draw_weights(rng, p.heads, num_kv_heads);
  const AttentionWeights full = draw_weights(rng, p.heads, p.heads);
  const bool one_for_all = context.breaks("one-for-all");
  report.check(
      {.id = "equals-repeated",
       .label = label,
       .measured = largest_difference(elements(layer(x, grouped, p.heads, num_kv_heads)),
                                      elements(multi_head(x, repeated_weights(grouped, p.heads, num_kv_heads),
                                                          p.heads, one_for_all && num_kv_heads > 1))),
       .tolerance = 1e-12});
  if (num_kv_heads == p.heads) {
    report.check({.id = "equals-multi-head",
                  .measured = largest_difference(elements(layer(x, full, p.heads, p.heads)),
                                                 elements(multi_head(x, full, p.heads, one_for_all))),
                  .tolerance = 1e-12});
  }
  // Heads of a group that are equal already lose nothing by pooling.
  const AttentionWeights alike = repeated_weights(grouped, p.heads, num_kv_heads);
  const Pooling pooling = context.breaks("summed") ? Pooling::sum : Pooling::mean;
  if (num_kv_heads < p.heads) {
    report.check(
        {.id = "pooling-equal-heads",
         .label = label,
         .measured = largest_difference(
             elements(layer(x, pooled_weights(alike, p.heads, num_kv_heads, pooling), p.heads, num_kv_heads)),
             elements(layer(x, alike, p.heads, p.heads))),
         .tolerance = 1e-12});
  }
  report.check({.id = "heads-used",
                .label = label,
                .measured = static_cast<double>(one_for_all ? 1 : distinct_kv_heads(p.heads, num_kv_heads)),
                .expected = static_cast<double>(num_kv_heads)});

  const Matrix original = layer(x, full, p.heads, p.heads);
  const auto change_by = [&](Pooling way) {
    return relative_change(layer(x, pooled_weights(full, p.heads, num_kv_heads, way), p.heads, num_kv_heads),
                           original);
  };
  // Entries of keys and values that one token of one layer leaves behind, counted on the arrays.
  const std::size_t kept = context.breaks("nothing-shared") ? p.heads : num_kv_heads;
  const std::size_t cached = matmul(x, grouped.key).size() / small_seq_len / num_kv_heads * kept +
                             matmul(x, grouped.value).size() / small_seq_len / num_kv_heads * kept;
  const auto bytes_of = [&](std::size_t entries) {
    return static_cast<std::int64_t>(entries / small_head_dim * p.head_dim * p.layers * p.bytes);
  };
  const std::int64_t token_bytes = bytes_of(cached);
  const std::int64_t all_heads_bytes = bytes_of(2 * p.heads * small_head_dim);
  const std::int64_t total = token_bytes * static_cast<std::int64_t>(p.seq_len);
  const auto width = static_cast<std::int64_t>(p.heads * p.head_dim);
  const auto kv_width = static_cast<std::int64_t>(kept * p.head_dim);
  table.rows.push_back({static_cast<std::int64_t>(num_kv_heads), token_bytes, total,
                        2 * width * width + 2 * width * kv_width, change_by(Pooling::mean),
                        change_by(Pooling::first)});
  report.check({.id = "cache-ratio",
                .label = label,
                .measured = static_cast<double>(all_heads_bytes) / static_cast<double>(token_bytes),
                .expected = static_cast<double>(p.heads) / static_cast<double>(num_kv_heads)});
  const bool published_setting =
      p.heads == 32 && p.layers == 32 && p.seq_len == 32768 && p.head_dim == 128 && p.bytes == 2;
  if (published_setting && (num_kv_heads == 32 || num_kv_heads == 8)) {
    report.check({.id = "cache-bytes",
                  .label = label,
                  .measured = static_cast<double>(total),
                  .expected = num_kv_heads == 32 ? 17'179'869'184.0 : 4'294'967'296.0});
  }
}

Report run(const Params& p, const Context& context) {
  Report report("Grouped-query attention");
  Generator rng = context.rng();
  Table table{"cache",
              fmt::format("{} query heads of width {}, {} layers, {} tokens of {} bytes a number", p.heads,
                          p.head_dim, p.layers, p.seq_len, p.bytes),
              {{"kv_heads"},
               {"kv_bytes_per_token"},
               {"kv_bytes"},
               {"attention_parameters_per_layer"},
               {"change_mean_pooled"},
               {"change_first_head"}}};
  for (const std::int64_t count : p.kv_heads) {
    if (static_cast<std::int64_t>(p.heads) % count != 0) {
      throw Error(ErrorKind::usage,
                  fmt::format("--kv-heads: {} do not divide {} query heads", count, p.heads));
    }
    compare(report, table, p, static_cast<std::size_t>(count), rng, context);
  }
  report.table(std::move(table));
  report.data(published_table());
  report.check(
      {.id = "generation-is-faster",
       .reason = "needs trained models and their hardware; the printed times, 6.3 and 5.4 times shorter, are "
                 "in table ainslie_table_1",
       .checkable = false});
  report.explain(
      fmt::format("bytes a token = 2 * layers * kv_heads * head_dim * bytes = 2 * {} * kv_heads * {} * {}",
                  p.layers, p.head_dim, p.bytes));
  report.explain(
      "change_*: root mean square change of the output of a layer of random heads when its key and value "
      "heads are pooled; trained heads are alike, and are trained further after pooling");
  report.figure({.name = "bytes",
                 .title = "Key-value cache of a token",
                 .kind = FigureKind::bars,
                 .data = {"cache"},
                 .x_column = "kv_heads",
                 .series = {{"kv_bytes_per_token"}},
                 .x_axis = {"key and value heads"},
                 .y_axis = {"cache of a token", "bytes"},
                 .caption =
                     "The cache shrinks with the number of key and value heads; queries keep theirs. Shazeer "
                     "2019; Ainslie et al. 2023."});
  return report;
}

}  // namespace

Experiment gqa_experiment() {
  return make_experiment<Params>(
      {.name = "gqa",
       .title = "Grouped-query attention",
       .summary = "multi-head, grouped-query and multi-query attention: equalities, cache, parameters",
       .section = "Multi-head attention",
       .source = "Ainslie et al. 2023, section 2; Shazeer 2019",
       .purpose = "Lets query heads share key and value heads, proves where that equals multi-head "
                  "attention, and counts the "
                  "cache and the parameters. The equalities are computed at a small width, the counts at the "
                  "one asked for.",
       .examples = {"attnlab gqa", "attnlab gqa --heads 64 --kv-heads 64,8 --layers 80 --seq-len 4096",
                    "attnlab gqa --table ainslie_table_1"},
       .claims =
           {{"equals-multi-head", "with a key head for every query head it is multi-head attention"},
            {"equals-repeated",
             "it is multi-head attention whose key and value weights are repeated within each group"},
            {"pooling-equal-heads", "mean-pooling heads that are equal within a group changes nothing",
             "Ainslie et al. 2023, section 2.1"},
            {"heads-used", "the query heads of a layer read as many key heads as there are groups"},
            {"cache-ratio", "the cache shrinks by query heads over key heads, exactly"},
            {"cache-bytes",
             "32 layers of 32 heads keep 17.18 GB for 32,768 tokens in 16 bits, with 8 key heads 4.29 GB"},
            {"generation-is-faster",
             "grouped and multi-query attention generate several times faster at nearly the same quality",
             "Ainslie et al. 2023, table 1"}},
       .breakages = {{"one-for-all", "all query heads read the first key head"},
                     {"nothing-shared", "the cache keeps a key and a value for every query head"},
                     {"summed", "heads are pooled by their sum"}}},
      declare, run);
}

}  // namespace attnlab::experiments
