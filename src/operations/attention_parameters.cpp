#include "operations/attention_parameters.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/memory.hpp"

namespace attnlab {
namespace {

constexpr double any = std::numeric_limits<double>::max();
constexpr std::int64_t many = std::int64_t{1} << 31;

// [queries, keys] for all heads, or [heads, queries, keys].
std::vector<Matrix> grids(const Inputs& inputs, const std::string& name, std::size_t num_heads) {
  if (!inputs.has(name)) return {};
  if (inputs.array(name).shape.size() != 3) return {inputs.matrix(name)};
  std::vector<Matrix> all = inputs.matrices(name);
  if (all.size() != num_heads) {
    throw Error(ErrorKind::data, fmt::format("{}: {} grids where {} heads need one each", inputs.label(name),
                                             all.size(), num_heads));
  }
  return all;
}

const Matrix& grid_of(const std::vector<Matrix>& grids, std::size_t head) {
  return grids[grids.size() == 1 ? 0 : head];
}

std::vector<double> positions_of(const Inputs& inputs, const std::string& name, std::vector<double> counted) {
  if (!inputs.has(name)) return counted;
  std::vector<double> positions = inputs.numbers(name);
  if (positions.size() != counted.size()) {
    throw Error(ErrorKind::data, fmt::format("{}: {} positions for {} rows", inputs.label(name),
                                             positions.size(), counted.size()));
  }
  return positions;
}

Reach reach_of(const AttentionParams& params) {
  Reach reach;
  reach.causal = params.causal || params.strided || params.window.has_value();
  if (params.window_left) reach.left = static_cast<double>(*params.window_left);
  if (params.window_right) reach.right = static_cast<double>(*params.window_right);
  if (params.window) {
    const double before = static_cast<double>(*params.window) - 1;
    reach.left = std::min(reach.left.value_or(before), before);
  }
  if (params.strided) {
    reach.local = params.local;
    reach.stride = params.stride;
  }
  return reach;
}

// What order, window, padding and mask leave visible. Order counts places in the sequence, not given
// positions: positions may start anew for each packed text, places do not.
Mask visible(const AttentionParams& params, const Inputs& inputs, std::size_t num_queries,
             std::size_t num_keys) {
  Mask mask = reach_mask(aligned_positions(num_queries, num_keys, params.causal_align),
                         counted_positions(num_keys), reach_of(params));
  if (inputs.has("key-padding")) {
    const std::vector<bool> is_real = inputs.flags("key-padding");
    if (is_real.size() != num_keys) {
      throw Error(ErrorKind::data, fmt::format("{}: length {} where there are {} keys",
                                               inputs.label("key-padding"), is_real.size(), num_keys));
    }
    mask = both(mask, padding_mask(num_queries, is_real));
  }
  if (inputs.has("mask")) {
    const Mask given = inputs.mask("mask");
    if (given.shape() != mask.shape()) {
      throw Error(ErrorKind::data,
                  fmt::format("{}: shape [{}, {}] where [queries, keys] = [{}, {}] was expected",
                              inputs.label("mask"), given.shape(0), given.shape(1), num_queries, num_keys));
    }
    mask = both(mask, params.hide_polarity ? inverted(given) : given);
  }
  return mask;
}

// What multiplies the weights: 1 / (1 - rate) where kept, 0 else.
std::vector<Matrix> dropout_gains(const AttentionParams& params, const Inputs& inputs) {
  std::vector<Matrix> gains = grids(inputs, "dropout-keep", params.num_heads);
  for (Matrix& grid : gains) {
    for (double& value : grid) {
      if (value != 0 && value != 1) {
        throw Error(ErrorKind::data,
                    fmt::format("{}: {} is neither 0 nor 1", inputs.label("dropout-keep"), value));
      }
      value /= 1 - params.dropout;
    }
  }
  return gains;
}

// The ALiBi slope of each head; none where it is not asked for.
std::vector<double> slopes_of(const AttentionParams& params) {
  if (params.alibi_slope) return std::vector<double>(params.num_heads, *params.alibi_slope);
  return params.alibi ? alibi_slopes(params.num_heads) : std::vector<double>{};
}

void add_to_bias(std::optional<Matrix>& bias, Matrix more) {
  if (!bias) {
    bias = std::move(more);
    return;
  }
  if (bias->shape() != more.shape()) {
    throw Error(ErrorKind::data, fmt::format("bias: shape {} where [queries, keys] = {} was expected",
                                             shape_text(*bias), shape_text(more)));
  }
  for (std::size_t i = 0; i < more.size(); ++i) bias->data()[i] += more.data()[i];
}

void check_choices(const AttentionParams& params, const Inputs& inputs) {
  const auto refuse = [](const char* text) { throw Error(ErrorKind::usage, text); };
  if (params.strided && !params.stride) refuse("--pattern strided needs --stride");
  if (inputs.has("gain") && !params.qk_norm) refuse("--gain has no effect without --qk-norm rms");
  if (params.num_kv_heads && params.num_heads % *params.num_kv_heads != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("--heads {} is not a multiple of --kv-heads {}: query heads share them evenly",
                            params.num_heads, *params.num_kv_heads));
  }
  if (params.alibi && params.alibi_slope) refuse("--alibi and --alibi-slope exclude each other");
  if (params.dropout >= 1) refuse("--dropout: 1 would keep nothing: give a rate below 1");
}

}  // namespace

Rope RotaryParams::rope(std::size_t vector_width, const std::vector<double>& positions) const {
  if (base == 0) {
    throw Error(ErrorKind::usage, fmt::format("--{}: 0 has no powers: give a positive number", base_option));
  }
  if (width && *width % 2 != 0) {
    throw Error(ErrorKind::usage, fmt::format("--{}: {} columns do not split into pairs: give an even number",
                                              width_option, *width));
  }
  RopeScaling own = scaling;
  if (!own.length && !positions.empty()) {
    own.length = std::max(1.0, *std::max_element(positions.begin(), positions.end()) + 1);
  }
  return make_rope(width.value_or(vector_width), style, base, own);
}

void declare_scaling(OptionSet& options, RopeScaling& scaling, const std::string& prefix) {
  const std::string kind = prefix + "scaling";
  options.choice<ScalingKind>(
      kind, scaling.kind,
      {{"none", ScalingKind::none},
       {"linear", ScalingKind::linear},
       {"ntk", ScalingKind::ntk},
       {"dynamic", ScalingKind::dynamic},
       {"yarn", ScalingKind::yarn},
       {"llama3", ScalingKind::llama3}},
      "how frequencies are stretched for longer texts; yarn: Qwen, DeepSeek; llama3: Llama "
      "3.1 and later");
  options.real(prefix + "factor", scaling.factor, 0, any, "how many times longer than trained")
      .acts_with(kind);
  options
      .real(prefix + "length", scaling.length, 1, any,
            "current length for dynamic; the last position + 1, or the trained length, unless given")
      .acts_with(kind, {"dynamic"});
  options
      .real(prefix + "original-length", scaling.original_length, 1, any,
            "trained length, for dynamic, yarn, llama3")
      .acts_with(kind, {"dynamic", "yarn", "llama3"});
  options
      .real(prefix + "low-freq-factor", scaling.low_freq_factor, 0, any,
            "llama3: rotations in the trained length below which a frequency is fully divided")
      .acts_with(kind, {"llama3"});
  options
      .real(prefix + "high-freq-factor", scaling.high_freq_factor, 0, any,
            "llama3: rotations above which a frequency is kept")
      .acts_with(kind, {"llama3"});
  options
      .real(prefix + "beta-fast", scaling.beta_fast, 0, any,
            "yarn: rotations above which a frequency is kept")
      .acts_with(kind, {"yarn"});
  options
      .real(prefix + "beta-slow", scaling.beta_slow, 0, any,
            "yarn: rotations below which a frequency is fully divided")
      .acts_with(kind, {"yarn"});
  options
      .choice<bool>(
          prefix + "yarn-bounds", scaling.whole_bounds, {{"whole", true}, {"exact", false}},
          "yarn: ramp between bounds rounded outward to whole pairs (Llama-style code, Qwen) or exact "
          "ones (gpt-oss)")
      .acts_with(kind, {"yarn"});
  options
      .real(prefix + "attention-factor", scaling.attention_factor, 0, any,
            "yarn: multiplies cosines and sines; 0.1 ln(factor) + 1 unless given")
      .acts_with(kind, {"yarn"});
}

void declare_rotary(OptionSet& options, RotaryParams& rotary) {
  options.choice<RopeStyle>(
      "style", rotary.style, {{"interleaved", RopeStyle::interleaved}, {"half", RopeStyle::half}},
      "pairs (0,1),(2,3).. as in the paper, GPT-J and Meta's Llama, or (i, i + width/2) as in "
      "GPT-NeoX and Hugging Face's Llama, Mistral, Qwen");
  options.real("base", rotary.base, 0, any, "base of the frequencies; 500000 in Llama 3, 1000000 in Qwen 2");
  options.integer("rotary-dim", rotary.width, 1, many,
                  "columns that rotate, from the left; all unless given");
  declare_scaling(options, rotary.scaling);
}

std::vector<InputInfo> attention_inputs() {
  return {{"mask", "[Tq, Tk]", "1 = may attend (see --mask-polarity)", false},
          {"key-padding", "[Tk]", "1 = real token, 0 = padding that no query sees", false},
          {"bias", "[Tq, Tk] or [heads, Tq, Tk]", "added to the scaled scores; -inf hides", false},
          {"q-pos", "[Tq]", "positions of the queries for rotary embedding and ALiBi", false},
          {"k-pos", "[Tk]", "positions of the keys for rotary embedding and ALiBi", false},
          {"dropout-keep", "[Tq, Tk] or [heads, Tq, Tk]", "1 = weight kept by dropout", false},
          {"gain", "[head width]", "gain of --qk-norm, shared by heads, query and key", false}};
}

void declare_attention(OptionSet& options, AttentionParams& params) {
  options.integer("heads", params.num_heads, 1, 1 << 20, "query heads, side by side along the columns");
  options.integer(
      "kv-heads", params.num_kv_heads, 1, 1 << 20,
      "key and value heads, each shared by heads/kv-heads neighbouring query heads; as many unless given");
  options.flag("causal", params.causal, "no query sees a later key");
  options.choice<CausalAlign>(
      "causal-align", params.causal_align,
      {{"bottom-right", CausalAlign::bottom_right}, {"top-left", CausalAlign::top_left}},
      "query i sits at i + Tk - Tq (FlashAttention, after a cache) or at i (PyTorch's "
      "is_causal)");
  options.integer("window", params.window, 1, many,
                  "a token sees itself and the N - 1 tokens before it (Mistral)");
  options.integer("window-left", params.window_left, 0, many, "furthest key before the query, inclusive");
  options.integer("window-right", params.window_right, 0, many, "furthest key after the query, inclusive");
  options.choice<bool>("pattern", params.strided, {{"none", false}, {"strided", true}},
                       "strided: causal, and only keys nearer than --local or a multiple of --stride away");
  options.integer("local", params.local, 0, many, "strided: keys at distances below N are visible")
      .acts_with("pattern");
  options.integer("stride", params.stride, 1, many, "strided: and those at multiples of N")
      .acts_with("pattern");
  options
      .choice<bool>("mask-polarity", params.hide_polarity, {{"keep", false}, {"drop", true}},
                    "1 in --mask means: may attend (PyTorch's scaled_dot_product_attention) or: hidden "
                    "(nn.MultiheadAttention)")
      .acts_with("mask");
  options.real("scale", params.scale, -any, any,
               "factor of the dot products; 1/sqrt(head width) unless given");
  options.real("alibi-slope", params.alibi_slope, -any, any,
               "ALiBi: slope * distance is subtracted from every score");
  options.flag("alibi", params.alibi, "ALiBi with the usual slope of each head (BLOOM, MPT)");
  options.choice<std::optional<RopeStyle>>(
      "rope", params.rope,
      {{"none", std::nullopt}, {"interleaved", RopeStyle::interleaved}, {"half", RopeStyle::half}},
      "rotary embedding of queries and keys: pairs (0,1),(2,3).. or (i, i + width/2); see op rope");
  options.real("rope-base", params.rotary.base, 0, any, "base of the rotary frequencies").acts_with("rope");
  options.integer("rope-dim", params.rotary.width, 1, many, "columns of a head that rotate; all unless given")
      .acts_with("rope");
  declare_scaling(options, params.rotary.scaling, "rope-");
  options.find("rope-scaling")->acts_with("rope");
  options.choice<bool>(
      "qk-norm", params.qk_norm, {{"none", false}, {"rms", true}},
      "root-mean-square norm of each head's query and key before rotation (Qwen 3, Gemma 3)");
  options.real("eps", params.eps, 0, any, "inside the root of --qk-norm").acts_with("qk-norm");
  options.real("dropout", params.dropout, 0, 1,
               "rate; acts only with --dropout-keep and then divides kept weights by 1 - rate");
  options.choice<bool>("method", params.flash, {{"dense", false}, {"flash", true}},
                       "all scores at once, or exactly the same by blocks without a score matrix");
  options.integer("block-q", params.blocks.queries, 1, many, "queries a block").acts_with("method");
  options.integer("block-k", params.blocks.keys, 1, many, "keys a block").acts_with("method");
}

HeadsOptions heads_options(const AttentionParams& params, const Inputs& inputs, std::size_t num_queries,
                           std::size_t num_keys, std::size_t key_columns) {
  check_choices(params, inputs);
  if (!params.flash) {
    require_memory({4 * params.num_heads, num_queries, num_keys},
                   "the scores and weights of all heads, kept and returned,",
                   "--method flash --dtype float32 needs little");
  }
  HeadsOptions heads;
  heads.num_heads = params.num_heads;
  heads.num_kv_heads = params.num_kv_heads.value_or(params.num_heads);
  const std::vector<double> query_positions =
      positions_of(inputs, "q-pos", aligned_positions(num_queries, num_keys, params.causal_align));
  const std::vector<double> key_positions = positions_of(inputs, "k-pos", counted_positions(num_keys));
  heads.query_positions = query_positions;
  heads.key_positions = key_positions;
  if (params.qk_norm) heads.qk_norm = QkNorm{params.eps, inputs.optional_vector("gain")};
  if (params.rope) {
    RotaryParams rotary = params.rotary;
    rotary.style = *params.rope;
    rotary.base_option = "rope-base";
    rotary.width_option = "rope-dim";
    heads.rope = rotary.rope(head_width(key_columns, heads.num_kv_heads), key_positions);
  }
  if (params.flash) heads.blocks = params.blocks;

  AttentionOptions shared;
  shared.scale = params.scale;
  shared.mask = visible(params, inputs, num_queries, num_keys);
  const std::vector<Matrix> biases = grids(inputs, "bias", params.num_heads);
  const std::vector<Matrix> gains = dropout_gains(params, inputs);
  const std::vector<double> slopes = slopes_of(params);
  heads.options_of = [=](std::size_t head) {
    AttentionOptions own = shared;
    if (!biases.empty()) own.bias = grid_of(biases, head);
    if (!gains.empty()) own.keep_gain = grid_of(gains, head);
    if (!slopes.empty()) add_to_bias(own.bias, alibi_bias(query_positions, key_positions, slopes[head]));
    return own;
  };
  return heads;
}

void add_heads(Results& results, const HeadsResult& heads, bool has_weights) {
  std::vector<Matrix> weights;
  std::vector<Matrix> scores;
  Matrix lse = zeros(heads.heads.size(), heads.heads[0].lse.size());
  for (std::size_t head = 0; head < heads.heads.size(); ++head) {
    weights.push_back(heads.heads[head].weights);
    scores.push_back(heads.heads[head].scores);
    std::copy(heads.heads[head].lse.begin(), heads.heads[head].lse.end(), row_of(lse, head).begin());
  }
  const bool single = heads.heads.size() == 1;
  if (has_weights)
    results.push_back(single ? array_result("weights", weights[0]) : stacked_result("weights", weights));
  results.push_back(single ? NamedResult{"lse", to_array(heads.heads[0].lse)} : array_result("lse", lse));
  if (has_weights)
    results.push_back(single ? array_result("scores", scores[0]) : stacked_result("scores", scores));
}

}  // namespace attnlab
