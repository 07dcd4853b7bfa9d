#include "accounting/compute.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

Int128 times(Int128 a, Int128 b) { return checked_multiply(a, b, "the amount of work or memory"); }
Int128 plus(Int128 a, Int128 b) { return checked_add(a, b, "the amount of work or memory"); }
std::string text(Int128 value) { return with_thousands(value); }

/// Width over which one token's scores and mixed values are computed: heads x (key_dim + value_dim).
Int128 score_width(const AttentionShape& a) { return times(a.heads, a.key_dim + a.value_dim); }

/// Sum over the layers that generate (or the only ones), a shared layer once per use.
template <typename Term>
Int128 over_layers(const Stack& stack, Term term) {
  Int128 sum = 0;
  for (auto layer = stack.layers.begin(); layer != stack.layers.end();) {
    // Equal layers follow each other: one term for the whole run.
    const auto end =
        std::find_if(layer, stack.layers.end(), [&](const Layer& next) { return next != *layer; });
    sum = plus(sum, times(term(*layer), times(layer->uses, end - layer)));
    layer = end;
  }
  return sum;
}

Int128 cache_elements(const AttentionShape& a) {
  if (a.latent) return a.key_value_rank + a.rotary_dim;
  return times(a.kv_heads, a.key_dim + a.value_dim);
}

Int128 bytes_of(Int128 elements, std::int64_t bits) { return (times(elements, bits) + 7) / 8; }

/// Weights of one component that one token multiplies with; 0 where it does not.
Int128 multiplied(const Component& row, const std::string& stack) {
  const bool is_here = row.stack == stack || row.stack.empty();
  return is_here && row.use == Use::product ? row.visited : 0;
}

/// Weights that multiply each token of the main stack, the tied output matrix included.
Int128 multiplying_weights(const Architecture& a, const ParameterCount& count) {
  Int128 sum = 0;
  for (const Component& row : count.components) sum = plus(sum, multiplied(row, a.main_stack().name));
  if (a.has_lm_head && a.tied) {
    for (const Weight& table : a.input) {
      if (table.name == "embedding.token.weight") sum = plus(sum, elements_of(table));
    }
  }
  return sum;
}

/// Weights that multiply each position of the encoder, cross-attention's keys and values included.
Int128 multiplying_encoder_weights(const ParameterCount& count) {
  Int128 sum = 0;
  for (const Component& row : count.components) {
    if (row.stack == "encoder" && row.use == Use::product) sum = plus(sum, row.visited);
    if (row.use == Use::source) {
      const Int128 uses = row.name == "conv1.weight" ? 2 : 1;  // two frames for each position
      sum = plus(sum, times(uses, row.visited));
    }
  }
  return sum;
}

Int128 all_pairs_width(const Stack& stack, std::int64_t seq_len) {
  return over_layers(stack, [&](const Layer& layer) {
    return times(score_width(layer.attention), attended_pairs(layer.attention, seq_len));
  });
}

Int128 cross_width(const Stack& stack) {
  return over_layers(stack,
                     [](const Layer& layer) { return layer.cross ? score_width(*layer.cross) : Int128{0}; });
}

/// value / per in lowest terms as far as a whole number goes.
Quantity per_token(std::string name, Int128 value, std::int64_t seq_len, std::string formula,
                   std::string numbers, std::string meaning) {
  const bool whole = value % seq_len == 0;
  return {std::move(name),
          whole ? value / seq_len : value,
          whole ? Int128{1} : Int128{seq_len},
          "FLOPs",
          std::move(formula),
          std::move(numbers),
          std::move(meaning)};
}

Quantity flops(std::string name, Int128 value, std::string formula, std::string numbers,
               std::string meaning) {
  return {std::move(name), value, 1, "FLOPs", std::move(formula), std::move(numbers), std::move(meaning)};
}

Quantity bytes(std::string name, Int128 value, std::string formula, std::string numbers,
               std::string meaning) {
  return {std::move(name), value, 1, "bytes", std::move(formula), std::move(numbers), std::move(meaning)};
}

void check_size(std::int64_t value, const char* name, std::int64_t least) {
  if (value < least) {
    throw Error(ErrorKind::usage, fmt::format("{} must be at least {}, not {}", name, least, value));
  }
}

/// Tables of absolute positions, which no product uses.
Int128 position_rows(const ParameterCount& count) {
  Int128 sum = 0;
  for (const Component& row : count.components) {
    if (row.name.starts_with("embedding.position")) sum = plus(sum, row.parameters);
  }
  return sum;
}

/// All weights one token visits; a shared layer once per use.
Int128 visited_weights(const ParameterCount& count) {
  Int128 sum = 0;
  for (const Component& row : count.components) sum = plus(sum, row.visited);
  return sum;
}

Quantity six_times(std::string name, Int128 weights, std::string which) {
  return flops(std::move(name), times(6, weights), "6 N", fmt::format("6 x {}", text(weights)),
               "N = " + std::move(which));
}

}  // namespace

const Quantity& find_quantity(const std::vector<Quantity>& list, std::string_view name) {
  for (const Quantity& quantity : list) {
    if (quantity.name == name) return quantity;
  }
  throw Error(ErrorKind::fault, fmt::format("no quantity is called {}", name));
}

std::int64_t usual_seq_len(const Architecture& a) {
  return a.max_positions > 0 ? std::min<std::int64_t>(a.max_positions, 1024) : 1024;
}

Int128 attended_pairs(const AttentionShape& a, std::int64_t seq_len) {
  const Int128 length = seq_len;
  if (a.causal) {
    const Int128 reach = a.window > 0 ? std::min<std::int64_t>(a.window, seq_len) : seq_len;
    return times(reach, reach + 1) / 2 + times(length - reach, reach);
  }
  if (a.window == 0) return times(length, length);
  // Half the window on each side, itself in the middle.
  const Int128 side = std::min<std::int64_t>(a.window / 2, seq_len - 1);
  return length + 2 * (times(side, side + 1) / 2 + times(length - 1 - side, side));
}

std::vector<Quantity> flops_per_token(const Architecture& a, const ParameterCount& count,
                                      std::int64_t seq_len) {
  check_size(seq_len, "the sequence length", 1);
  const Stack& stack = a.main_stack();
  const Int128 length = seq_len;
  const Int128 width = over_layers(stack, [](const Layer& layer) { return score_width(layer.attention); });
  const Int128 pairs_width = all_pairs_width(stack, seq_len);
  const Int128 cross = times(cross_width(stack), length);
  const Int128 multiplying = multiplying_weights(a, count);
  const Int128 all = visited_weights(count);
  const Int128 forward =
      plus(times(2, times(multiplying, length)), times(2, plus(pairs_width, times(cross, length))));
  const std::string keys = fmt::format("{} tokens", text(length));

  std::vector<Quantity> list;
  list.push_back(
      six_times("six_n", count.blocks, "the weights of the blocks alone, those that a token visits"));
  list.push_back(six_times("six_n_non_embedding", all - count.embedding - count.lm_head,
                           "all visited weights but tables and output matrix (Kaplan et al. 2020)"));
  list.push_back(six_times("six_n_without_positions", all - position_rows(count),
                           "all visited weights but the position table (Chowdhery et al. 2022)"));
  list.push_back(six_times("six_n_total", all, "all weights that a token visits"));
  list.push_back(
      six_times("six_n_matmul", multiplying, "the weights that multiply, a tied output matrix included"));
  list.push_back(flops("attention_6LTd", times(3, times(width, length)),
                       "6 L T d = 3 T sum of heads (d_k + d_v)",
                       fmt::format("3 x {} x {}", text(length), text(width)),
                       "scores and their mixing: the causal half, or the scores alone (Kaplan et al. 2020)"));
  list.push_back(flops("attention_full_training", times(6, times(width, length)),
                       "12 L T d = 6 T sum of heads (d_k + d_v)",
                       fmt::format("6 x {} x {}", text(length), text(width)),
                       "every query against every key (Chowdhery et al. 2022)"));
  list.push_back(per_token("attention_causal_training", times(6, pairs_width), seq_len,
                           "6 sum of heads (d_k + d_v) x keys seen / T",
                           fmt::format("6 x {} / {}", text(pairs_width), text(length)),
                           "each query its true number of keys, masks and windows included"));
  if (cross > 0) {
    list.push_back(flops("cross_attention_training", times(6, cross), "6 S sum of heads (d_k + d_v)",
                         fmt::format("6 x {}", text(cross)), "against an encoder output of the same length"));
  }
  list.push_back(flops("six_n_total_plus_6LTd", plus(times(6, all), times(3, times(width, length))),
                       "6 N + 6 L T d",
                       fmt::format("6 x {} + 3 x {} x {}", text(all), text(length), text(width)),
                       "N = all weights that a token visits"));
  list.push_back(flops("six_n_matmul_plus_12LTd", plus(times(6, multiplying), times(6, times(width, length))),
                       "6 N + 12 L T d",
                       fmt::format("6 x {} + 6 x {} x {}", text(multiplying), text(length), text(width)),
                       "N = the weights that multiply"));
  list.push_back(flops("forward_matmul_per_token", times(2, multiplying), "2 x weights that multiply",
                       fmt::format("2 x {}", text(multiplying)), "matrix products with weights, forward"));
  list.push_back(per_token("forward_per_token", forward, seq_len, "products with weights + scores and mixing",
                           fmt::format("{} / {}", text(forward), text(length)),
                           "forward, over a sequence of " + keys));
  list.push_back(per_token("backward_per_token", times(2, forward), seq_len, "2 x forward",
                           fmt::format("2 x {} / {}", text(forward), text(length)),
                           "one product for the inputs' gradient, one for the weights'"));
  list.push_back(per_token("training_per_token", times(3, forward), seq_len, "forward + backward",
                           fmt::format("3 x {} / {}", text(forward), text(length)), "the exact sum"));
  list.push_back(per_token("training_recompute_per_token", times(4, forward), seq_len,
                           "2 x forward + backward", fmt::format("4 x {} / {}", text(forward), text(length)),
                           "where activations are computed again in the backward pass"));
  if (a.stacks.size() == 2) {
    const Int128 encoder = multiplying_encoder_weights(count);
    list.push_back(flops("encoder_matmul_per_position", times(2, encoder), "2 x weights that multiply",
                         fmt::format("2 x {}", text(encoder)),
                         "one position of the encoder, with the keys and values it gives cross-attention"));
  }
  return list;
}

std::vector<Quantity> inference_flops(const Architecture& a, const ParameterCount& count,
                                      std::int64_t seq_len) {
  check_size(seq_len, "the sequence length", 1);
  const Stack& stack = a.main_stack();
  const Int128 length = seq_len;
  const Int128 multiplying = multiplying_weights(a, count);
  const Int128 cross = times(cross_width(stack), length);
  const Int128 pairs = all_pairs_width(stack, seq_len);
  const Int128 weights = times(2, times(multiplying, length));
  const Int128 scores = times(2, plus(pairs, times(cross, length)));
  std::vector<Quantity> list;
  list.push_back(flops("prefill", plus(weights, scores), "2 N T + 2 sum of heads (d_k + d_v) x pairs",
                       fmt::format("2 x {} x {} + {}", text(multiplying), text(length), text(scores)),
                       fmt::format("reading {} tokens at once, logits for each", text(length))));
  if (!stack.layers.front().attention.causal) return list;
  // The new token sees itself and the context; a window limits it.
  const Int128 seen = over_layers(stack, [&](const Layer& layer) {
    const std::int64_t window = layer.attention.window;
    const Int128 keys = window > 0 ? std::min<Int128>(window, length + 1) : length + 1;
    return times(score_width(layer.attention), keys);
  });
  list.push_back(flops("decode", plus(times(2, multiplying), times(2, plus(seen, cross))),
                       "2 N + 2 sum of heads (d_k + d_v) x keys seen",
                       fmt::format("2 x {} + 2 x {}", text(multiplying), text(plus(seen, cross))),
                       fmt::format("one more token with {} in the cache", text(length))));
  return list;
}

Int128 training_compute(Int128 parameters, Int128 tokens) { return times(6, times(parameters, tokens)); }

double gpu_hours(Int128 flops_total, double flops_per_second, double utilisation) {
  if (!(flops_per_second > 0) || !std::isfinite(flops_per_second)) {
    throw Error(ErrorKind::usage,
                fmt::format("a GPU of {} FLOP/s: a rate above 0 is needed", flops_per_second));
  }
  if (!(utilisation > 0 && utilisation <= 1)) {
    throw Error(ErrorKind::usage,
                fmt::format("a utilisation of {}: above 0 and at most 1 is needed", utilisation));
  }
  return static_cast<double>(flops_total) / (flops_per_second * utilisation * 3600);
}

Int128 cache_elements_per_token(const Architecture& a) {
  return over_layers(a.main_stack(), [](const Layer& layer) {
    return layer.attention.causal ? cache_elements(layer.attention) : Int128{0};
  });
}

namespace {

/// Numbers held for `seq_len` tokens of one sequence; a layer holds no more than its window where `windowed`.
Int128 cached_elements(const Architecture& a, Int128 seq_len, bool windowed) {
  return over_layers(a.main_stack(), [&](const Layer& layer) {
    if (!layer.attention.causal) return Int128{0};
    const Int128 window = layer.attention.window;
    const Int128 held = windowed && window > 0 ? std::min(window, seq_len) : seq_len;
    return times(cache_elements(layer.attention), held);
  });
}

/// The longest context whose cache fits; -1 when any does.
Int128 longest_that_fits(const Architecture& a, Int128 room, std::int64_t batch, std::int64_t bits,
                         bool windowed) {
  const auto fits = [&](Int128 seq_len) {
    return bytes_of(times(cached_elements(a, seq_len, windowed), batch), bits) <= room;
  };
  Int128 low = 0;
  Int128 high = Int128{1} << 50;
  if (fits(high)) return -1;
  while (high - low > 1) {
    const Int128 middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// Widths of the arrays that one layer keeps for the backward pass, in bytes a token: 16-bit numbers, and a
/// byte for each place of a dropout mask.
Int128 kept_by_attention(const AttentionShape& a, Int128 d) {
  const Int128 query_key_value = times(a.heads, a.key_dim) + times(a.kv_heads, a.key_dim + a.value_dim);
  const Int128 latents = a.query_rank + a.key_value_rank + (a.latent ? a.rotary_dim : 0);
  return 2 * d + 2 * (query_key_value + latents) + 2 * times(a.heads, a.value_dim) + d;
}

Int128 kept_by_mlp(const FeedForwardShape& mlp, Int128 d) {
  if (mlp.width == 0) return 0;
  return 2 * d + times(mlp.gated ? 8 : 4, mlp.width) + d;
}

Int128 kept_by_layer(const Layer& layer, Int128 d) {
  Int128 sum = kept_by_attention(layer.attention, d) + 2 * d * static_cast<std::int64_t>(layer.norms.size());
  if (layer.cross) sum += kept_by_attention(*layer.cross, d);
  if (!layer.experts) return sum + kept_by_mlp(layer.mlp, d);
  return sum + times(layer.experts->per_token, kept_by_mlp(layer.experts->each, d)) +
         kept_by_mlp(layer.experts->shared, d);
}

}  // namespace

std::vector<Quantity> cache_size(const Architecture& a, const CacheOptions& options) {
  check_size(options.seq_len, "the sequence length", 1);
  check_size(options.batch, "the batch", 1);
  check_size(options.bits, "the bits of a number", 1);
  const Int128 elements = cache_elements_per_token(a);
  const Int128 tokens = times(options.seq_len, options.batch);
  const bool latent = a.main_stack().layers.front().attention.latent;
  const std::string formula =
      latent ? "L (latent rank + rotary width) x bits / 8" : "2 L kv_heads head_dim x bits / 8";
  std::vector<Quantity> list;
  list.push_back(bytes("kv_bytes_per_token", bytes_of(elements, options.bits), formula,
                       fmt::format("{} x {} / 8", text(elements), options.bits),
                       "one more token of one sequence"));
  list.push_back(bytes("kv_bytes", bytes_of(times(elements, tokens), options.bits),
                       "bytes a token x T x batch",
                       fmt::format("{} x {} / 8 x {} x {}", text(elements), options.bits,
                                   text(options.seq_len), text(options.batch)),
                       "reserved: every layer holds the whole context"));
  const Int128 windowed = times(cached_elements(a, options.seq_len, true), options.batch);
  list.push_back(bytes("kv_bytes_windowed", bytes_of(windowed, options.bits),
                       "a layer holds at most its window",
                       fmt::format("{} x {} / 8", text(windowed), options.bits),
                       "lower bound: windows free what they no longer see"));
  const Int128 cross = over_layers(a.main_stack(), [](const Layer& layer) {
    return layer.cross ? cache_elements(*layer.cross) : Int128{0};
  });
  if (cross > 0) {
    list.push_back(bytes("cross_kv_bytes", bytes_of(times(cross, tokens), options.bits),
                         "2 L heads head_dim S x bits / 8",
                         fmt::format("{} x {} / 8 x {}", text(cross), options.bits, text(tokens)),
                         "keys and values of as many encoder positions, held once"));
  }
  return list;
}

std::vector<Quantity> cache_alternatives(const Architecture& a, std::int64_t bits) {
  const Stack& stack = a.main_stack();
  const AttentionShape& first = stack.layers.front().attention;
  std::vector<Quantity> list;
  const auto add = [&](std::string name, Int128 elements, std::string meaning) {
    list.push_back(bytes(std::move(name), bytes_of(elements, bits), "numbers a token x bits / 8",
                         fmt::format("{} x {} / 8", text(elements), bits), std::move(meaning)));
  };
  if (!first.causal) return list;
  const auto with_heads = [&](auto heads_of) {
    return over_layers(stack, [&](const Layer& layer) {
      return times(heads_of(layer.attention), layer.attention.key_dim + layer.attention.value_dim);
    });
  };
  add("kv_as_built", cache_elements_per_token(a), "the model as it is");
  add("kv_multi_head", with_heads([](const AttentionShape& it) { return it.heads; }),
      "a key head for each head");
  if (first.heads > 8 && first.heads % 8 == 0) {
    add("kv_eight_groups", with_heads([](const AttentionShape&) { return Int128{8}; }),
        "eight key heads, shared");
  }
  add("kv_multi_query", with_heads([](const AttentionShape&) { return Int128{1}; }), "one key head for all");
  add("kv_latent_576", over_layers(stack, [](const Layer&) { return Int128{576}; }),
      "a latent of 512 and a rotary key of 64, DeepSeek's widths");
  return list;
}

Int128 kv_cache_bytes(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t length,
                      std::int64_t batch, std::int64_t bits) {
  check_size(layers, "the number of layers", 0);
  check_size(kv_heads, "the number of key heads", 0);
  check_size(head_dim, "the head width", 0);
  check_size(length, "the length", 0);
  check_size(batch, "the batch", 0);
  check_size(bits, "the bits of a number", 1);
  return bytes_of(times(times(times(2, layers), times(kv_heads, head_dim)), times(length, batch)), bits);
}

std::vector<Quantity> largest_context(const Architecture& a, const ParameterCount& count, Int128 budget,
                                      std::int64_t batch, std::int64_t bits, std::int64_t weight_bits) {
  check_size(batch, "the batch", 1);
  check_size(bits, "the bits of a number", 1);
  check_size(weight_bits, "the bits of a weight", 0);
  const Int128 weights = bytes_of(count.total, weight_bits);
  const Int128 room = budget - weights;
  const Int128 each = bytes_of(times(cache_elements_per_token(a), batch), bits);
  const std::string numbers = fmt::format("({} - {}) / {}", text(budget), text(weights), text(each));
  const auto row = [&](std::string name, bool windowed, std::string meaning) {
    const Int128 tokens = room < 0 ? 0 : longest_that_fits(a, room, batch, bits, windowed);
    return Quantity{std::move(name),
                    tokens,
                    1,
                    "tokens",
                    "(budget - weights) / cache bytes a token and sequence",
                    numbers,
                    std::move(meaning)};
  };
  return {row("largest_context", false, "every layer holds the whole context"),
          row("largest_context_windowed", true, "windows free what they no longer see; -1 = no limit")};
}

std::vector<Quantity> score_size(const Architecture& a, const ParameterCount& count, std::int64_t seq_len) {
  check_size(seq_len, "the sequence length", 0);
  const Int128 one = times(seq_len, seq_len);
  const std::int64_t heads = a.main_stack().layers.front().attention.heads;
  const Int128 all_heads =
      over_layers(a.main_stack(), [](const Layer& layer) { return Int128{layer.attention.heads}; });
  const Int128 model = times(one, all_heads);
  // The first T with all_heads T^2 above the weights.
  const double near = std::sqrt(static_cast<double>(count.total) / static_cast<double>(all_heads));
  Int128 crossover = static_cast<std::int64_t>(near);
  while (times(all_heads, times(crossover, crossover)) > count.total && crossover > 0) --crossover;
  while (times(all_heads, times(crossover, crossover)) <= count.total) ++crossover;
  const std::string side = text(seq_len);
  const auto entries = [](std::string name, Int128 value, std::string formula, std::string numbers,
                          std::string meaning) {
    return Quantity{std::move(name),   value, 1, "entries", std::move(formula), std::move(numbers),
                    std::move(meaning)};
  };
  std::vector<Quantity> list;
  list.push_back(
      entries("score_entries", one, "T^2", fmt::format("{} x {}", side, side), "one head of one layer"));
  list.push_back(entries("score_entries_layer", times(one, heads), "heads T^2",
                         fmt::format("{} x {} x {}", heads, side, side), "one layer, first as built"));
  list.push_back(entries("score_entries_model", model, "sum of heads T^2",
                         fmt::format("{} x {} x {}", text(all_heads), side, side), "all layers"));
  list.push_back(bytes("score_bytes_layer", times(2, times(one, heads)), "2 heads T^2",
                       fmt::format("2 x {} x {} x {}", heads, side, side), "one layer at 16 bits"));
  list.push_back(bytes("score_bytes_model", times(2, model), "2 sum of heads T^2",
                       fmt::format("2 x {} x {} x {}", text(all_heads), side, side),
                       "all layers at 16 bits"));
  const Int128 tile = std::min<Int128>(128, seq_len);
  list.push_back(bytes("score_bytes_tiled", 4 * tile * tile, "4 x tile^2",
                       fmt::format("4 x {} x {}", text(tile), text(tile)),
                       "what a tiled kernel holds of a head at a time, tiles of 128 at 32 bits"));
  list.push_back(Quantity{
      "score_crossover", crossover, 1, "tokens", "least T with sum of heads T^2 > weights",
      fmt::format("{} x {} x {} > {}", text(all_heads), text(crossover), text(crossover), text(count.total)),
      "from here all layers' scores outnumber the weights"});
  return list;
}

std::vector<Quantity> training_memory(const Architecture& a, const ParameterCount& count,
                                      std::int64_t seq_len, std::int64_t batch) {
  check_size(seq_len, "the sequence length", 1);
  check_size(batch, "the batch", 1);
  const Int128 tokens = times(seq_len, batch);
  Int128 linear = 0;
  Int128 score_heads = 0;
  Int128 layers = 0;
  for (const Stack& stack : a.stacks) {
    linear =
        plus(linear, over_layers(stack, [&](const Layer& layer) { return kept_by_layer(layer, a.d_model); }));
    score_heads = plus(score_heads, over_layers(stack, [](const Layer& layer) {
                         return Int128{layer.attention.heads} + (layer.cross ? layer.cross->heads : 0);
                       }));
    layers = plus(layers, over_layers(stack, [](const Layer&) { return Int128{1}; }));
  }
  const Int128 kept = times(tokens, linear);
  const Int128 scores = times(5, times(score_heads, times(tokens, seq_len)));
  const Int128 inputs = times(2, times(tokens, times(layers, a.d_model)));
  const Int128 state = times(16, count.total);
  const std::string n = text(count.total);
  std::vector<Quantity> list;
  list.push_back(bytes("training_weights", times(2, count.total), "2 N", "2 x " + n, "16-bit weights"));
  list.push_back(bytes("training_gradients", times(2, count.total), "2 N", "2 x " + n, "16-bit gradients"));
  list.push_back(bytes("training_adam", times(12, count.total), "(4 + 4 + 4) N", "12 x " + n,
                       "32-bit weights and Adam's two moments"));
  list.push_back(
      bytes("activations", plus(kept, scores), "T b (sum of widths kept) + 5 T^2 b sum of heads",
            fmt::format("{} x {} + 5 x {} x {} x {}", text(tokens), text(linear), text(tokens), text(seq_len),
                        text(score_heads)),
            "everything kept: T b d (34 + 5 heads T / d) for a block of GPT (Korthikanti et al. 2022)"));
  list.push_back(bytes("activations_tiled", kept, "T b (sum of widths kept)",
                       fmt::format("{} x {}", text(tokens), text(linear)),
                       "scores computed again, as tiled kernels do"));
  list.push_back(bytes("activations_recompute", inputs, "2 T b d L",
                       fmt::format("2 x {} x {} x {}", text(tokens), text(a.d_model), text(layers)),
                       "only each layer's input kept"));
  list.push_back(bytes("training_memory", plus(state, plus(kept, scores)), "16 N + activations",
                       fmt::format("{} + {}", text(state), text(plus(kept, scores))),
                       "weights, gradients, Adam, activations"));
  return list;
}

}  // namespace attnlab
