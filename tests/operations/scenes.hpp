// Calls of operations on random arrays, in which mistakes are made and looked for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/random/generator.hpp"
#include "operations/mistake.hpp"

namespace attnlab {

/// A call with these options; the arrays are set by the test.
inline Trial call_of(const std::string& operation,
                     const std::vector<std::pair<std::string, std::string>>& options = {}) {
  const Operation& called = *find_operation(operation);
  const auto session = called.start();
  for (const auto& [name, text] : options) session->options.set(name, text);
  return {called, session->options, {}};
}

inline Array normals(Generator& rng, Shape shape) {
  Array array{std::move(shape), {}};
  array.values.resize(element_count(array.shape));
  rng.fill_standard_normal(array.values);
  return array;
}

/// Zeros and ones, with a one at the front of all rows but the one of index `empty_row`.
inline Array flags(Generator& rng, Shape shape, std::size_t empty_row = 1000) {
  Array array = normals(rng, std::move(shape));
  const std::size_t columns = array.shape.back();
  for (std::size_t n = 0; n < array.values.size(); ++n) {
    const bool one = n % columns == 0 || array.values[n] > 0.2;
    array.values[n] = one && n / columns != empty_row ? 1 : 0;
  }
  return array;
}

using Texts = std::vector<std::pair<std::string, std::string>>;

/// Attention over `queries` and `keys` with heads as the options say, query and key `width` wide a head.
inline Trial attention_scene(Generator& rng, const Texts& options, std::size_t queries, std::size_t keys,
                             std::size_t width) {
  Trial call = call_of("attention", options);
  const auto heads = static_cast<std::size_t>(call.number("heads", 1));
  const auto kv_heads = static_cast<std::size_t>(call.number("kv-heads", static_cast<double>(heads)));
  call.inputs.set("query", normals(rng, {queries, heads * width}));
  call.inputs.set("key", normals(rng, {keys, kv_heads * width}));
  call.inputs.set("value", normals(rng, {keys, kv_heads * width}));
  return call;
}

inline Trial scene(Generator& rng, const std::string& operation, const Texts& options,
                   const std::vector<std::pair<std::string, Shape>>& arrays) {
  Trial call = call_of(operation, options);
  for (const auto& [name, shape] : arrays) call.inputs.set(name, normals(rng, shape));
  return call;
}

/// Positions that start at `first`, one a row.
inline Array positions_from(double first, std::size_t count) {
  Array positions{{count}, {}};
  for (std::size_t n = 0; n < count; ++n) positions.values.push_back(first + static_cast<double>(n));
  return positions;
}

/// Five calls of different shapes for every way to call an operation.
inline const std::vector<Trial>& scenes() {
  static const std::vector<Trial> all = [] {
    std::vector<Trial> list;
    Generator rng(SeedSequence{466});
    for (const std::size_t more : {0, 1, 2, 3, 4}) {
      const std::size_t length = 6 + more;
      const std::size_t width = 4 + 2 * (more % 3);
      const Texts causal = {{"heads", "4"}, {"kv-heads", "2"}, {"causal", ""}};
      list.push_back(attention_scene(rng, causal, length, length, width));
      list.push_back(attention_scene(rng, {{"heads", "2"}}, length, length, width));
      list.push_back(attention_scene(rng, {{"causal", ""}}, length, length + 3, width));
      list.push_back(attention_scene(rng, {{"causal", ""}, {"window", "3"}}, length, length, width));
      list.push_back(attention_scene(rng, {{"scale", "0.3"}}, length, length, width));
      list.back().inputs.set("value", normals(rng, {length, width + 1}));
      list.push_back(attention_scene(rng, {}, length, length, width));
      list.back().inputs.set("mask", flags(rng, {length, length}, 2));
      list.push_back(attention_scene(rng, {}, length, length, width));
      list.back().inputs.set("key-padding", flags(rng, {length}));

      const std::string n = std::to_string(length);
      const std::size_t even = 6 + 2 * more;
      for (const Texts& options :
           {Texts{{"base", "500000"}}, Texts{{"base", "500"}, {"rotary-dim", "4"}},
            Texts{{"style", "half"}, {"scaling", "yarn"}, {"factor", "4"}, {"original-length", "64"}},
            Texts{{"scaling", "ntk"}, {"factor", "3"}},
            Texts{{"scaling", "dynamic"}, {"factor", "2"}, {"length", "300"}, {"original-length", "200"}},
            Texts{{"scaling", "dynamic"}, {"factor", "2"}, {"length", "150"}, {"original-length", "200"}},
            Texts{{"scaling", "llama3"}, {"factor", "8"}, {"original-length", "512"}, {"base", "3000"}}}) {
        list.push_back(scene(rng, "rope", options, {{"x", {length, even}}}));
        list.back().inputs.set("pos", positions_from(1001, length));
      }
      list.push_back(scene(rng, "rope-score", {{"scaling", "yarn"}, {"factor", "4"}},
                           {{"query", {1, even}}, {"key", {1, even}}}));
      list.back().inputs.set("pairs", {{2, 2}, {105, 2, 17, 31}});
      for (const char* heads : {"3", "5", "6", "7", "12"})
        if (more == 0) list.push_back(call_of("alibi-slopes", {{"heads", heads}}));
      list.push_back(call_of("sinusoidal", {{"seq-len", n}, {"d-model", std::to_string(even + 1)}}));
      list.push_back(scene(rng, "learned-positions", {}, {{"table", {length, 3}}}));
      list.back().inputs.set("pos", positions_from(0, 3));
      list.push_back(attention_scene(rng, {{"alibi-slope", "0.3"}}, length, length, width));

      for (const char* kind : {"layer", "rms"}) {
        list.push_back(scene(rng, "norm", {{"kind", kind}, {"eps", "0.01"}, {"offset", "0.5"}},
                             {{"x", {length, even}}, {"gain", {even}}, {"bias", {even}}}));
        list.push_back(
            scene(rng, "norm", {{"kind", kind}, {"eps", "0.01"}}, {{"x", {length, even}}, {"gain", {even}}}));
      }
      for (const char* kind : {"gelu", "gelu-tanh", "silu", "relu"})
        list.push_back(scene(rng, "activation", {{"kind", kind}}, {{"x", {length, even}}}));
      list.push_back(scene(rng, "swiglu", {}, {{"gate", {length, even}}, {"up", {length, even}}}));
      list.push_back(
          scene(rng, "swiglu-ffn", {},
                {{"x", {length, 4}}, {"w-gate", {4, even}}, {"w-up", {4, even}}, {"w-down", {even, 4}}}));
      list.push_back(
          scene(rng, "linear", {}, {{"x", {length, even}}, {"w", {even, even}}, {"bias", {even}}}));
      list.push_back(scene(rng, "ffn-memory", {},
                           {{"x", {length, even}}, {"keys", {even, even}}, {"values", {even, 3}}}));
      list.push_back(
          scene(rng, "multi-head", {{"heads", "2"}, {"causal", ""}},
                {{"x", {length, 8}}, {"wq", {8, 8}}, {"wk", {8, 8}}, {"wv", {8, 8}}, {"wo", {8, 8}}}));
      list.push_back(scene(rng, "block", {{"heads", "2"}, {"causal", ""}},
                           {{"x", {length, 8}},
                            {"wq", {8, 8}},
                            {"wk", {8, 8}},
                            {"wv", {8, 8}},
                            {"wo", {8, 8}},
                            {"w1", {8, even}},
                            {"b1", {even}},
                            {"w2", {even, 8}},
                            {"b2", {8}},
                            {"gain1", {8}},
                            {"gain2", {8}}}));
      for (const char* renormalize : {"renormalize", "no-renormalize"})
        list.push_back(scene(rng, "moe-mix", {{"k", "2"}, {renormalize, ""}},
                             {{"logits", {length, 5}}, {"expert-outputs", {5, 3}}}));
    }
    return list;
  }();
  return all;
}

}  // namespace attnlab
