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
    }
    return list;
  }();
  return all;
}

}  // namespace attnlab
