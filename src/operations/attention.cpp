// Attention: of one head or several, by look-up, in whole layers, from one sequence to another, and
// approximated.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/attention.hpp"
#include "core/error.hpp"
#include "core/heads.hpp"
#include "core/linear_attention.hpp"
#include "core/matmul.hpp"
#include "operations/attention_parameters.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

constexpr const char* family = "Attention";

std::vector<InputInfo> with(std::vector<InputInfo> first, const std::vector<InputInfo>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

const std::vector<InputInfo> query_key_value = {
    {"query", "[Tq, heads * d]", "queries, one a row"},
    {"key", "[Tk, kv-heads * d]", "keys, one a row"},
    {"value", "[Tk, kv-heads * dv]", "values, one a row; they may be wider than keys"}};

Results run_attention(const AttentionParams& params, const Inputs& inputs) {
  if (params.float32) {
    const HeadsResult heads = fast_attention(params, inputs);
    Results results{array_result("output", heads.output)};
    add_heads(results, heads, false);
    return results;
  }
  const Matrix query = inputs.matrix("query");
  const Matrix key = inputs.matrix("key");
  const Matrix value = inputs.matrix("value");
  const HeadsOptions options = heads_options(params, inputs, query.shape(0), key.shape(0), key.shape(1));
  const HeadsResult heads = attention_of_heads(query, key, value, options);
  Results results{array_result("output", heads.output)};
  add_heads(results, heads, !params.flash);
  return results;
}

struct LookupParams {
  double temperature = 1;
};

void declare_attention_and_type(OptionSet& options, AttentionParams& params) {
  declare_attention(options, params);
  options.choice<bool>("dtype", params.float32, {{"float64", false}, {"float32", true}},
                       "float32: the fast kernels, for heads, --causal, windows and --scale");
  options.integer("threads", params.threads, 1, 1024, "threads of the fast kernels");
}

void declare_lookup(OptionSet& options, LookupParams& params) {
  options.real("temperature", params.temperature, 0, std::numeric_limits<double>::max(),
               "divides the scores; 0 is the hard look-up, the value of the best key");
}

Results run_lookup(const LookupParams& params, const Inputs& inputs) {
  const SoftLookup found =
      soft_lookup(inputs.matrix("query"), inputs.matrix("keys"), inputs.matrix("values"), params.temperature);
  return {array_result("output", found.output), array_result("weights", found.weights)};
}

AttentionWeights weights_of(const Inputs& inputs) {
  return {inputs.matrix("wq"), inputs.matrix("wk"), inputs.matrix("wv"), inputs.matrix("wo")};
}

Results run_multi_head(const AttentionParams& params, const Inputs& inputs) {
  const Matrix x = inputs.matrix("x");
  const AttentionWeights weights = weights_of(inputs);
  const HeadsOptions options = heads_options(params, inputs, x.shape(0), x.shape(0), weights.key.shape(1));
  return {array_result("output", multi_head_attention(x, x, weights, options))};
}

struct CrossParams {
  std::size_t num_heads = 1;
};

void declare_cross(OptionSet& options, CrossParams& params) {
  options.integer("heads", params.num_heads, 1, 1 << 20, "heads, side by side along the columns");
}

Results run_cross(const CrossParams& params, const Inputs& inputs) {
  const Matrix decoder = inputs.matrix("x-dec");
  const Matrix encoder = inputs.matrix("x-enc");
  const Matrix query = matmul(decoder, inputs.matrix("wq"));
  const Matrix key = matmul(encoder, inputs.matrix("wk"));
  const Matrix value = matmul(encoder, inputs.matrix("wv"));
  AttentionParams plain;
  plain.num_heads = params.num_heads;
  const HeadsResult heads = attention_of_heads(
      query, key, value, heads_options(plain, inputs, query.shape(0), key.shape(0), key.shape(1)));
  Results results;
  results.push_back(
      array_result("output", inputs.has("wo") ? matmul(heads.output, inputs.matrix("wo")) : heads.output));
  add_heads(results, heads, true);
  return results;
}

struct SplitParams {
  std::size_t num_heads = 1;
  QkvLayout layout = QkvLayout::concatenated;
};

void declare_split(OptionSet& options, SplitParams& params) {
  options.integer("heads", params.num_heads, 1, 1 << 20, "heads in each of q, k and v");
  options.choice<QkvLayout>(
      "layout", params.layout, {{"concatenated", QkvLayout::concatenated}, {"per-head", QkvLayout::per_head}},
      "all q, then all k, then all v (GPT-2, Phi-3), or q, k and v of each head in turn "
      "(GPT-NeoX, BLOOM)");
}

Results run_split(const SplitParams& params, const Inputs& inputs) {
  const Qkv parts = split_qkv(inputs.matrix("qkv"), params.num_heads, params.layout);
  return {array_result("q", parts.query), array_result("k", parts.key), array_result("v", parts.value)};
}

struct LinearAttentionParams {
  bool causal = false;
  CausalAlign causal_align = CausalAlign::bottom_right;
  std::string feature_map = "elu1";
};

void declare_linear_attention(OptionSet& options, LinearAttentionParams& params) {
  options.flag("causal", params.causal, "sums run over the keys up to the query only");
  options.choice<CausalAlign>(
      "causal-align", params.causal_align,
      {{"bottom-right", CausalAlign::bottom_right}, {"top-left", CausalAlign::top_left}},
      "query i sits at i + Tk - Tq, or at i");
  options.choice("feature-map", params.feature_map, {"elu1"}, "elu(x) + 1");
}

Results run_linear_attention(const LinearAttentionParams& params, const Inputs& inputs) {
  return {
      array_result("output", linear_attention(inputs.matrix("query"), inputs.matrix("key"),
                                              inputs.matrix("value"), params.causal, params.causal_align))};
}

struct LowRankParams {
  bool causal = false;
};

void declare_low_rank(OptionSet& options, LowRankParams& params) {
  options.flag("causal", params.causal, "refused: the projection lets the past see the future");
}

Results run_low_rank(const LowRankParams& params, const Inputs& inputs) {
  if (params.causal) {
    throw Error(
        ErrorKind::usage,
        "--causal is not supported by low-rank attention: each projected key mixes in future positions");
  }
  const Matrix projection = inputs.matrix("e");
  const Attention result =
      low_rank_attention(inputs.matrix("query"), inputs.matrix("key"), inputs.matrix("value"), projection,
                         inputs.optional_matrix("f").value_or(projection));
  return {array_result("output", result.output), array_result("weights", result.weights)};
}

}  // namespace

std::vector<Operation> attention_operations() {
  const std::vector<ResultInfo> attention_results = {
      {"output", "[Tq, heads * dv]"},
      {"weights", "[Tq, Tk] or [heads, Tq, Tk]; not with flash or float32"},
      {"lse", "[Tq] or [heads, Tq]"},
      {"scores", "as weights"}};
  return {
      make_operation<AttentionParams>(
          {.name = "attention",
           .family = family,
           .summary = "scaled dot-product attention with masks, heads and positions",
           .source = "Vaswani et al. 2017, section 3.2",
           .inputs = with(query_key_value, attention_inputs()),
           .results = attention_results,
           .details =
               "softmax(scale * query key^T + bias) value, for each head by itself. Norm comes first, then "
               "rotation, then the scale. A hidden key has weight exactly 0 and is never touched; a query "
               "that "
               "sees no key gives zeros and a log-sum-exp (lse) of -Infinity. Order and windows count places "
               "in "
               "the sequence; --q-pos and --k-pos count for rotary embedding and ALiBi."},
          declare_attention_and_type, run_attention),
      make_operation<LookupParams>(
          {.name = "lookup",
           .family = family,
           .summary = "soft look-up: a softmax over keys at a temperature",
           .source = "Bahdanau, Cho and Bengio 2014, section 3.1",
           .inputs = {{"query", "[Tq, d]", "queries, one a row"},
                      {"keys", "[Tk, d]", "keys, one a row"},
                      {"values", "[Tk, dv]", "values, one a row"}},
           .results = {{"output", "[Tq, dv]"}, {"weights", "[Tq, Tk]"}},
           .details = "softmax(query key^T / temperature) value, without the square root of "
                      "the width. Of equally good keys the hard look-up takes the first."},
          declare_lookup, run_lookup),
      make_operation<AttentionParams>(
          {.name = "multi-head",
           .family = family,
           .summary = "a self-attention layer with its four projections",
           .source = "Vaswani et al. 2017, section 3.2.2",
           .inputs = with({{"x", "[T, d_model]", "tokens, one a row"},
                           {"wq", "[d_model, heads * d]", "query projection, y = x W"},
                           {"wk", "[d_model, kv-heads * d]", "key projection"},
                           {"wv", "[d_model, kv-heads * dv]", "value projection"},
                           {"wo", "[heads * dv, d_model]", "output projection"}},
                          attention_inputs()),
           .results = {{"output", "[T, d_model]"}}},
          declare_attention, run_multi_head),
      make_operation<CrossParams>(
          {.name = "cross-attention",
           .family = family,
           .summary = "a decoder's queries over an encoder's outputs",
           .source = "Vaswani et al. 2017, section 3.2.3",
           .inputs = {{"x-dec", "[Tq, d_model]", "decoder tokens, one a row"},
                      {"x-enc", "[Tk, d_enc]", "encoder outputs, one a row"},
                      {"wq", "[d_model, heads * d]", "query projection, y = x W"},
                      {"wk", "[d_enc, heads * d]", "key projection"},
                      {"wv", "[d_enc, heads * dv]", "value projection"},
                      {"wo", "[heads * dv, d_model]", "output projection", false},
                      {"key-padding", "[Tk]", "1 = real encoder token", false}},
           .results = {{"output", "[Tq, heads * dv]"},
                       {"weights", "[Tq, Tk] or [heads, Tq, Tk]"},
                       {"lse", "[Tq] or [heads, Tq]"},
                       {"scores", "as weights"}},
           .details = "There is no causal mask: a decoder position may see the whole source."},
          declare_cross, run_cross),
      make_operation<SplitParams>(
          {.name = "split-qkv",
           .family = family,
           .summary = "a fused projection cut into q, k and v",
           .source = "the layouts of published checkpoints",
           .inputs = {{"qkv", "[T, 3 * heads * d]", "the fused projection's output"}},
           .results = {{"q", "[T, heads * d]"}, {"k", "as q"}, {"v", "as q"}},
           .details = "Both layouts have the same shape, so only the numbers tell them apart."},
          declare_split, run_split),
      make_operation<LinearAttentionParams>(
          {.name = "linear-attention",
           .family = family,
           .summary = "attention by feature maps, linear in the length",
           .source = "Katharopoulos et al. 2020, section 3.2",
           .inputs = {{"query", "[Tq, d]", "queries, one a row"},
                      {"key", "[Tk, d]", "keys, one a row"},
                      {"value", "[Tk, dv]", "values, one a row"}},
           .results = {{"output", "[Tq, dv]"}},
           .details = "Numerator and denominator both carry the query; nothing is added to the denominator."},
          declare_linear_attention, run_linear_attention),
      make_operation<LowRankParams>(
          {.name = "low-rank-attention",
           .family = family,
           .summary = "attention over keys and values projected along the sequence",
           .source = "Wang et al. 2020 (Linformer), section 4",
           .inputs = {{"query", "[Tq, d]", "queries, one a row"},
                      {"key", "[Tk, d]", "keys, one a row"},
                      {"value", "[Tk, dv]", "values, one a row"},
                      {"e", "[rank, Tk]", "projection of the keys"},
                      {"f", "[rank, Tk]", "projection of the values; e unless given", false}},
           .results = {{"output", "[Tq, dv]"}, {"weights", "[Tq, rank]"}}},
          declare_low_rank, run_low_rank),
  };
}

}  // namespace attnlab
