#include "operations/scenes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace attnlab {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;
using Shapes = std::vector<std::pair<std::string, Shape>>;

Trial call_of(const std::string& operation, const Options& options) {
  const Operation& called = *find_operation(operation);
  const auto session = called.start();
  for (const auto& [name, text] : options) session->options.set(name, text);
  return {called, session->options, {}};
}

// The options with some more.
Options with(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Array counted(double first, std::size_t count) {
  Array numbers{{count}, {}};
  for (std::size_t n = 0; n < count; ++n) numbers.values.push_back(first + static_cast<double>(n));
  return numbers;
}

// Calls one after the other, their arrays drawn as they come.
struct Scenes {
  Generator rng;
  std::size_t more;  // how much larger than the smallest
  std::vector<Trial> calls = {};

  std::size_t length() const { return 6 + more; }
  std::size_t head_dim() const { return 4 + 2 * (more % 3); }
  std::size_t width() const { return 6 + 2 * more; }

  Trial& add(const std::string& operation, const Options& options, const Shapes& arrays = {}) {
    calls.push_back(call_of(operation, options));
    for (const auto& [name, shape] : arrays) calls.back().inputs.set(name, normal_array(rng, shape));
    return calls.back();
  }

  // Attention of `queries` over `keys`, heads as the options say.
  Trial& attention(const Options& options, std::size_t queries, std::size_t keys) {
    Trial& call = add("attention", options);
    const auto heads = static_cast<std::size_t>(call.number("heads", 1));
    const auto kv_heads = static_cast<std::size_t>(call.number("kv-heads", static_cast<double>(heads)));
    call.inputs.set("query", normal_array(rng, {queries, heads * head_dim()}));
    call.inputs.set("key", normal_array(rng, {keys, kv_heads * head_dim()}));
    call.inputs.set("value", normal_array(rng, {keys, kv_heads * head_dim()}));
    return call;
  }
  Trial& attention(const Options& options) { return attention(options, length(), length()); }
};

void add_attention(Scenes& scenes) {
  const std::size_t length = scenes.length();
  const std::size_t keys = length + 3;
  const Shape all = {length, length};
  const Options causal = {{"causal", ""}};
  scenes.attention(causal);
  scenes.attention({{"heads", "4"}, {"kv-heads", "2"}, {"causal", ""}});
  scenes.attention({{"heads", "2"}});
  scenes.attention(causal, length, keys);
  scenes.attention({{"causal", ""}, {"causal-align", "top-left"}}, length, keys);
  scenes.attention({{"causal", ""}, {"window", "3"}});
  scenes.attention({{"window-left", "2"}, {"window-right", "1"}});
  scenes.attention({{"scale", "0.3"}}).inputs.set("value", normal_array(scenes.rng, {length, 3}));
  scenes.attention({}).inputs.set("mask", flag_array(scenes.rng, all, 2));
  scenes.attention({{"scale", "4000"}}).inputs.set("mask", flag_array(scenes.rng, all));
  scenes.attention({}).inputs.set("key-padding", flag_array(scenes.rng, {length}));
  Trial& padded = scenes.attention(causal);
  padded.inputs.set("mask", flag_array(scenes.rng, all));
  padded.inputs.set("key-padding", flag_array(scenes.rng, {length}));
  Trial& spoiled = scenes.attention({});
  Array value = spoiled.inputs.array("value");
  std::fill_n(value.values.end() - static_cast<std::ptrdiff_t>(value.shape[1]), value.shape[1], std::nan(""));
  spoiled.inputs.set("value", value);
  spoiled.inputs.set("key-padding", flag_array(scenes.rng, {length}));  // hides the last key
  Trial& broken = scenes.attention({});
  Array query = broken.inputs.array("query");
  query.values[1] = std::nan("");
  broken.inputs.set("query", query);
  Trial& low = scenes.attention(causal);
  low.set("scale", -5000);
  low.inputs.set("key", low.inputs.array("query"));

  scenes.attention({}).inputs.set("bias", normal_array(scenes.rng, all));
  Trial& dropping = scenes.attention({{"dropout", "0.25"}});
  dropping.inputs.set("dropout-keep", flag_array(scenes.rng, all));
  scenes.attention({{"dropout", "0.25"}});
  scenes.attention({{"alibi-slope", "0.3"}});
  scenes.attention({{"heads", "3"}, {"alibi", ""}, {"causal", ""}});

  const Options rope = {{"rope", "half"}, {"rope-base", "500"}, {"causal", ""}};
  scenes.attention(rope, length, keys);
  scenes.attention(with(rope, {{"heads", "2"}, {"rope-dim", "2"}}));
  scenes.attention(with(rope, {{"rope-scaling", "yarn"}, {"rope-factor", "4"}}));
  Trial& zero = scenes.attention({{"heads", "2"}, {"qk-norm", "rms"}});
  Array key = zero.inputs.array("key");
  std::fill_n(key.values.begin(), key.shape[1], 0.0);
  zero.inputs.set("key", key);
  Trial& normed = scenes.attention(with(rope, {{"heads", "2"}, {"qk-norm", "rms"}, {"eps", "0.01"}}));
  normed.inputs.set("gain", normal_array(scenes.rng, {scenes.head_dim()}));
}

void add_attention_layers(Scenes& scenes) {
  const std::size_t length = scenes.length();
  const Shapes projections = {
      {"x", {length, 8}}, {"wq", {8, 8}}, {"wk", {8, 8}}, {"wv", {8, 8}}, {"wo", {8, 8}}};
  scenes.add("multi-head", {{"heads", "2"}, {"causal", ""}}, projections);
  scenes.add("multi-head", {{"heads", "4"}, {"kv-heads", "2"}},
             {{"x", {length, 8}}, {"wq", {8, 8}}, {"wk", {8, 4}}, {"wv", {8, 4}}, {"wo", {8, 8}}});
  scenes
      .add("cross-attention", {{"heads", "2"}},
           {{"x-dec", {length, 8}},
            {"x-enc", {length + 2, 6}},
            {"wq", {8, 8}},
            {"wk", {6, 8}},
            {"wv", {6, 8}}})
      .inputs.set("key-padding", flag_array(scenes.rng, {length + 2}));

  Shapes block = projections;
  const std::size_t width = scenes.width();
  for (const auto& [name, shape] : Shapes{{"w1", {8, width}},
                                          {"b1", {width}},
                                          {"w2", {width, 8}},
                                          {"b2", {8}},
                                          {"gain1", {8}},
                                          {"gain2", {8}}})
    block.emplace_back(name, shape);
  for (const char* activation : {"gelu", "gelu-tanh", "relu"})
    scenes.add("block", {{"heads", "2"}, {"causal", ""}, {"activation", activation}}, block);
  Shapes gated = projections;
  for (const auto& [name, shape] :
       Shapes{{"w-gate", {8, width}}, {"w-up", {8, width}}, {"w-down", {width, 8}}})
    gated.emplace_back(name, shape);
  scenes.add("block", {{"norm", "rms"}, {"activation", "swiglu"}}, gated);

  const std::size_t d = scenes.head_dim();
  scenes.add("lookup", {{"temperature", "0.5"}},
             {{"query", {length, d}}, {"keys", {length + 1, d}}, {"values", {length + 1, 3}}});
  scenes.add("lookup", {{"temperature", "0"}},
             {{"query", {1, d}}, {"keys", {length, d}}, {"values", {length, 2}}});
  scenes.add("split-qkv", {{"heads", "2"}}, {{"qkv", {length, 6 * d}}});
  scenes.add("split-qkv", {{"heads", "3"}, {"layout", "per-head"}}, {{"qkv", {length, 9 * d}}});
  scenes.add("low-rank-attention", {},
             {{"query", {length, d}},
              {"key", {length, d}},
              {"value", {length, d}},
              {"e", {3, length}},
              {"f", {3, length}}});
  for (const Options& options : {Options{}, Options{{"causal", ""}}})
    scenes.add("linear-attention", options,
               {{"query", {length, d}}, {"key", {length, d}}, {"value", {length, d}}});
  Trial& faint = scenes.add("linear-attention", {}, {{"value", {length, d}}});
  for (const char* name : {"query", "key"}) {
    Array low = normal_array(scenes.rng, {length, d});
    for (double& x : low.values) x -= 6;  // features of about exp(-6)
    faint.inputs.set(name, low);
  }
}

void add_positions(Scenes& scenes) {
  const std::size_t length = scenes.length();
  const std::size_t width = scenes.width();
  const std::vector<Options> ropes = {
      {{"base", "500000"}},
      {{"base", "500"}, {"rotary-dim", "4"}},
      {{"scaling", "linear"}, {"factor", "4"}},
      {{"style", "half"}, {"scaling", "yarn"}, {"factor", "4"}, {"original-length", "64"}},
      {{"scaling", "ntk"}, {"factor", "3"}},
      {{"scaling", "dynamic"}, {"factor", "2"}, {"length", "300"}, {"original-length", "200"}},
      {{"scaling", "dynamic"}, {"factor", "2"}, {"length", "150"}, {"original-length", "200"}},
      {{"scaling", "llama3"}, {"factor", "8"}, {"original-length", "512"}, {"base", "20000"}}};
  for (const Options& options : ropes) {
    for (const double first : {1001.0, 100001.0})
      scenes.add("rope", options, {{"x", {length, width}}}).inputs.set("pos", counted(first, length));
    Options frequencies = {{"dim", std::to_string(width)}};
    for (const auto& option : options) {
      if (option.first != "rotary-dim" && option.first != "style") frequencies.push_back(option);
    }
    scenes.add("rope-frequencies", frequencies);
  }
  Trial& score = scenes.add("rope-score", {{"scaling", "yarn"}, {"factor", "4"}},
                            {{"query", {1, width}}, {"key", {1, width}}});
  score.inputs.set("pairs", {{3, 2}, {105, 2, 17, 31, 40, 0}});

  const char* heads[] = {"3", "5", "6", "7", "12"};
  scenes.add("alibi-slopes", {{"heads", heads[scenes.more % 5]}});
  scenes.add("sinusoidal", {{"seq-len", std::to_string(length)}, {"d-model", std::to_string(width + 1)}});
  scenes.add("learned-positions", {}, {{"table", {length, 3}}}).inputs.set("pos", counted(0, 3));
  Array mask = flag_array(scenes.rng, {3, length});
  for (std::size_t column = 0; column < length; ++column)
    mask.values[column] = column < 2 ? 0 : 1;  // on the left
  scenes.add("positions", {}).inputs.set("mask", mask);
}

void add_layers(Scenes& scenes) {
  const std::size_t length = scenes.length();
  const std::size_t width = scenes.width();
  for (const char* kind : {"layer", "rms"}) {
    const Options norm = {{"kind", kind}, {"eps", "0.01"}};
    scenes.add("norm", norm, {{"x", {length, width}}, {"gain", {width}}});
    scenes.add("norm", with(norm, {{"offset", "0.5"}}),
               {{"x", {length, width}}, {"gain", {width}}, {"bias", {width}}});
  }
  for (const char* kind : {"gelu", "gelu-tanh", "silu", "relu"})
    scenes.add("activation", {{"kind", kind}}, {{"x", {length, width}}});
  for (const char* kind : {"gelu", "gelu-tanh"}) {
    Trial& tail = scenes.add("activation", {{"kind", kind}});
    tail.inputs.set("x", counted(-9.4 - 0.01 * static_cast<double>(scenes.more), 3));
  }
  Array large = normal_array(scenes.rng, {length, width});
  for (double& x : large.values) x *= 1e200;
  scenes.add("norm", {{"kind", scenes.more % 2 == 0 ? "rms" : "layer"}}).inputs.set("x", large);
  scenes.add("swiglu", {}, {{"gate", {length, width}}, {"up", {length, width}}});
  scenes.add("swiglu-ffn", {},
             {{"x", {length, 4}}, {"w-gate", {4, width}}, {"w-up", {4, width}}, {"w-down", {width, 4}}});
  scenes.add("linear", {}, {{"x", {length, width}}, {"w", {width, width}}, {"bias", {width}}});
  scenes.add("ffn-memory", {}, {{"x", {length, width}}, {"keys", {width, width}}, {"values", {width, 3}}});

  for (const char* renormalize : {"renormalize", "no-renormalize"}) {
    const Options options = {{"k", "2"}, {renormalize, ""}};
    scenes.add("moe-mix", options, {{"logits", {length, 5}}, {"expert-outputs", {5, 3}}});
    Array tied = normal_array(scenes.rng, {length, 5});
    for (double& logit : tied.values) logit = std::round(logit);
    scenes.add("moe-route", options).inputs.set("logits", tied);
    for (double& logit : tied.values) logit += 800;
    scenes.add("moe-route", options).inputs.set("logits", tied);
  }
}

void add_caches(Scenes& scenes) {
  const std::size_t length = scenes.length();
  const std::size_t d = scenes.head_dim();
  const Shapes sequence = {{"query", {length, d}}, {"key", {length, d}}, {"value", {length, d}}};
  const std::string chunks = fmt::format("3,{}", length - 3);
  scenes.add("kv-decode", {{"chunks", chunks}, {"causal", ""}, {"rope", "interleaved"}}, sequence);
  scenes.add("kv-decode", {{"causal", ""}}, sequence);
  for (const char* capacity : {"4", "5"})
    scenes.add("kv-ring", {{"capacity", capacity}},
               {{"query", {2, d}}, {"key", {length, d}}, {"value", {length, d}}});
  Trial& paged = scenes.add("kv-paged", {{"length", std::to_string(3 + scenes.more % 3)}},
                            {{"query", {2, d}}, {"pool-k", {5, 2, d}}, {"pool-v", {5, 2, d}}});
  paged.inputs.set("block-table", {{3}, {4, 1, 2}});
  for (const char* scheme : {"affine", "symmetric"}) {
    Array x = normal_array(scenes.rng, {length, d});
    std::fill_n(x.values.begin(), d, 0.0);
    scenes.add("kv-quantize", {{"scheme", scheme}, {"bits", "4"}}).inputs.set("x", x);
  }
  Array codes = normal_array(scenes.rng, {length, d + 1});
  for (double& code : codes.values) code = std::clamp(std::round(4 * code), -8.0, 7.0);
  scenes.add("kv-pack4", {}).inputs.set("codes", codes);
}

void add_counts(Scenes& scenes) {
  const std::string more = std::to_string(scenes.more + 1);
  const Options cache = {{"layers", "32"}, {"kv-heads", "8"}, {"head-dim", "128"}};
  scenes.add("kv-cache-size", with(cache, {{"length", more + "000"}}));
  scenes.add("kv-cache-size", with(cache, {{"length", more + "000000"}}));
  scenes.add("training-compute", {{"parameters", "124439808"}, {"tokens", more + "000"}});
  scenes.add("training-compute", {{"parameters", "175000000000"}, {"tokens", more + "00000000000"}});
  scenes.add("training-compute", {{"parameters", "300000000"}, {"tokens", more + "0000000000"}});
  for (const char* length : {"70000", "50000"}) scenes.add("score-entries", {{"length", length + more}});
  scenes.add("swiglu-width", {{"d-model", more + "000"}});
}

}  // namespace

Array normal_array(Generator& rng, Shape shape) {
  Array array{std::move(shape), {}};
  array.values.resize(element_count(array.shape));
  rng.fill_standard_normal(array.values);
  return array;
}

Array flag_array(Generator& rng, Shape shape, std::size_t empty_row) {
  Array array = normal_array(rng, std::move(shape));
  const std::size_t columns = array.shape.back();
  for (std::size_t n = 0; n < array.values.size(); ++n) {
    const std::size_t column = n % columns;
    const bool one = column == 0 || (array.values[n] > -0.3 && column + 1 < columns);
    array.values[n] = one && n / columns != empty_row ? 1 : 0;
  }
  return array;
}

std::vector<Trial> scenes(std::size_t size, std::uint64_t seed) {
  Scenes all{Generator(SeedSequence({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(size)})),
             size};
  for (const auto add :
       {add_attention, add_attention_layers, add_positions, add_layers, add_caches, add_counts})
    add(all);
  return std::move(all.calls);
}

}  // namespace attnlab
