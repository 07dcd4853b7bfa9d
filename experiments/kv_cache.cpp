// The key-value cache: what it saves, how it grows, and what makes it smaller.
//
// Keys and values of earlier tokens do not change, so they are kept instead of computed again. A cache holds
// 2 x layers x kv_heads x head_dim x length x users numbers. It shrinks with fewer kv heads, with fewer bits
// (keys by channel, since a few channels are far larger than the rest; values by token), and wastes least in
// pages, where only the last one of a sequence is partly empty.
//
//   key, value: [tokens, width]
//
// Source: Shazeer 2019; Liu et al., "KIVI" (2024); Kwon et al., "PagedAttention" (2023).
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include <fmt/format.h>

#include "accounting/compute.hpp"
#include "core/attention.hpp"
#include "core/kernels/cached_attention.hpp"
#include "core/kv_cache.hpp"
#include "core/matmul.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/counted_model.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::string mode = "all";
  std::int64_t layers = 12;
  std::int64_t kv_heads = 12;
  std::int64_t head_dim = 64;
  std::int64_t seq_len = 1024;
  std::int64_t users = 1;
  std::int64_t bits = 16;
  std::size_t tokens = 48;
  std::size_t width = 16;
  std::size_t window = 8;
  double outlier = 10;
  std::vector<std::int64_t> page = {16, 128};
  std::int64_t mean_length = 1024;
  std::size_t sequences = 4000;
};

void declare(OptionSet& options, Params& p) {
  options.choice("mode", p.mode, {"all", "bytes", "exact", "quant", "paged"}, "which part to run");
  options.integer("layers", p.layers, 1, 1 << 20, "layers of the model");
  options.integer("kv-heads", p.kv_heads, 1, 1 << 20, "key and value heads of a layer");
  options.integer("head-dim", p.head_dim, 1, 1 << 20, "width of a head");
  options.integer("seq-len", p.seq_len, 1, 1 << 30, "tokens of context").short_form('T');
  options.integer("users", p.users, 1, 1 << 30, "sequences held at a time");
  options.integer("bits", p.bits, 1, 64, "bits of a stored number");
  options.integer("num-tokens", p.tokens, 4, 512, "exact and quant: tokens that are generated");
  options.integer("width", p.width, 8, 256, "exact and quant: width of their keys and values");
  options.integer("window", p.window, 1, 512, "exact: slots of the ring");
  options.real("outlier", p.outlier, 0, 1000, "quant: offset of the four outlier channels of the keys");
  options.integers("page", p.page, 1, 1 << 16, "paged: tokens a page");
  options.integer("mean-length", p.mean_length, 1, 1 << 20, "paged: mean tokens of a sequence");
  options.integer("sequences", p.sequences, 100, 1000000, "paged: sequences to simulate");
}

// ---- bytes ----

struct Setting {
  std::string name;
  std::int64_t layers, kv_heads, head_dim, length, users, bits;
};

Int128 bytes_of(const Setting& s, const Context& context) {
  const std::int64_t length = context.breaks("reserves-all") ? 32768 : s.length;
  const Int128 bytes = kv_cache_bytes(s.layers, s.kv_heads, s.head_dim, length, s.users, s.bits);
  return context.breaks("keys-only") ? bytes / 2 : bytes;
}

/// A cache whose size is known.
struct KnownSize {
  Setting setting;
  double bytes;
};

// Published figures: 800 KB a token of OPT-13B (Kwon et al. 2023, section 3), the others from their configs.
std::vector<KnownSize> known_sizes(const Context& context) {
  const std::int64_t groups = context.breaks("all-heads") ? 64 : 8;
  return {{{"gpt2-small", 12, 12, 64, 1024, 1, 16}, 37748736},
          {{"opt-13b-token", 40, 40, 128, 1, 1, 16}, 819200},
          {{"llama-2-7b", 32, 32, 128, 4096, 1, 16}, 2147483648},
          {{"70b-64-heads", 80, 64, 128, 4096, 1, 16}, 10737418240},
          {{"70b-8-heads", 80, groups, 128, 4096, 1, 16}, 1342177280},
          {{"32k-32-heads", 32, 32, 128, 32768, 1, 16}, 17179869184},
          {{"32k-8-heads", 32, 8, 128, 32768, 1, 16}, 4294967296}};
}

// Sizes by this formula against those that params finds in the models' configs.
void check_against_params(Report& report, const std::vector<KnownSize>& known, const Context& context) {
  const auto equal = [&](const char* label, const Setting& setting, double expected) {
    report.check({.id = "equals-params",
                  .label = label,
                  .measured = static_cast<double>(bytes_of(setting, context)),
                  .expected = expected});
  };
  const auto reserved = [](const char* model, std::int64_t tokens, const char* quantity) {
    CacheOptions options;
    options.seq_len = tokens;
    const CountedModel counted = count_embedded_model(model);
    return find_quantity(cache_size(counted.config.architecture, options), quantity).real();
  };
  equal("gpt2", known[0].setting, reserved("gpt2", 1024, "kv_bytes"));
  equal("llama-2-7b", known[2].setting, reserved("llama-2-7b", 4096, "kv_bytes"));
  equal("llama-2-70b", known[4].setting, reserved("llama-2-70b", 4096, "kv_bytes"));
  const CountedModel llama = count_embedded_model("llama-2-70b");
  const Quantity all_heads =
      find_quantity(cache_alternatives(llama.config.architecture, 16), "kv_multi_head");
  equal("llama-2-70b-all-heads", known[3].setting, 4096 * all_heads.real());
  // 32,768 tokens of which a window keeps 4,096.
  equal("mistral-7b-window", {"", 32, 8, 128, 4096, 1, 16},
        reserved("mistral-7b-v0.1", 32768, "kv_bytes_windowed"));
}

// The cache over the length of the context, and what keeps it smaller.
Table growth_table(const Params& p, const Setting& chosen, const Context& context) {
  Table table{
      "growth",
      fmt::format("Growth with the context: as chosen, for eight times the users, with {} key-value heads, "
                  "in half the bits, and in a ring of {} tokens",
                  std::max<std::int64_t>(1, p.kv_heads / 4), p.seq_len),
      {{"tokens"},
       {"kv_bytes", "bytes"},
       {"users_kv_bytes", "bytes"},
       {"grouped_kv_bytes", "bytes"},
       {"half_bits_kv_bytes", "bytes"},
       {"ring_kv_bytes", "bytes"}}};
  for (std::int64_t factor = 1; factor <= 128; factor *= 2) {
    Setting all = chosen;
    all.length = std::max<std::int64_t>(1, p.seq_len / 4) * factor;
    Setting users = all, grouped = all, half = all, ring = all;
    users.users *= 8;
    grouped.kv_heads = std::max<std::int64_t>(1, p.kv_heads / 4);
    half.bits = std::max<std::int64_t>(1, p.bits / 2);
    ring.length = std::min(all.length, p.seq_len);
    table.rows.push_back({all.length, bytes_of(all, context), bytes_of(users, context),
                          bytes_of(grouped, context), bytes_of(half, context), bytes_of(ring, context)});
  }
  return table;
}

void check_growth(Report& report, const std::vector<KnownSize>& known, const Context& context) {
  const auto ratio = [&](const Setting& more, const Setting& less) {
    return static_cast<double>(bytes_of(more, context)) / static_cast<double>(bytes_of(less, context));
  };
  const Setting& once = known[0].setting;
  const auto doubled = [&](const char* what, auto change) {
    Setting twice = once;
    change(twice);
    report.check({.id = "grows-linearly", .label = what, .measured = ratio(twice, once), .expected = 2});
  };
  doubled("tokens", [](Setting& s) { s.length *= 2; });
  doubled("layers", [](Setting& s) { s.layers *= 2; });
  doubled("kv-heads", [](Setting& s) { s.kv_heads *= 2; });
  doubled("users", [](Setting& s) { s.users *= 2; });
  report.check({.id = "groups-save", .measured = ratio(known[3].setting, known[4].setting), .expected = 8});
  Setting eight_users = known[2].setting;
  eight_users.users = 8;
  const CountedModel llama = count_embedded_model("llama-2-7b");
  report.check({.id = "outgrows-weights",
                .measured = static_cast<double>(bytes_of(eight_users, context)) /
                            (2 * static_cast<double>(llama.count.total)),
                .relation = Relation::at_least,
                .expected = 1});
}

void show_bytes(Report& report, const Params& p, const Context& context) {
  const Setting chosen = {"chosen", p.layers, p.kv_heads, p.head_dim, p.seq_len, p.users, p.bits};
  const std::vector<KnownSize> known = known_sizes(context);
  Table table{"cache",
              "Size of the cache",
              {{"model"}, {"layers"}, {"kv_heads"}, {"head_dim"}, {"tokens"}, {"kv_bytes", "bytes"}}};
  const auto add = [&](const Setting& s) {
    table.rows.push_back({s.name, s.layers, s.kv_heads, s.head_dim, s.length, bytes_of(s, context)});
  };
  add(chosen);
  for (const KnownSize& size : known) {
    add(size.setting);
    report.check({.id = "known-sizes",
                  .label = size.setting.name,
                  .measured = static_cast<double>(bytes_of(size.setting, context)),
                  .expected = size.bytes});
  }
  report.table(std::move(table));
  report.table(growth_table(p, chosen, context));
  check_against_params(report, known, context);
  check_growth(report, known, context);
  report.explain(fmt::format(
      "2 x {} layers x {} kv heads x {} x {} tokens x {} users x {} bits / 8 = {} bytes", p.layers,
      p.kv_heads, p.head_dim, p.seq_len, p.users, p.bits, with_thousands(bytes_of(chosen, context))));
}

// ---- exact ----

/// Queries, keys and values of a text, and the keys as the cache holds them: with the fault that was asked
/// for.
struct Stored {
  Matrix query, key, value, cached_key;
};

Stored draw_stored(const Params& p, const Context& context) {
  Generator rng = context.rng();
  Stored s;
  s.query = normal_matrix(rng, p.tokens, p.width);
  s.key = normal_matrix(rng, p.tokens, p.width);
  s.value = normal_matrix(rng, p.tokens, p.width);
  s.cached_key = s.key;
  if (context.breaks("late-keys")) {
    std::rotate(s.cached_key.begin(), s.cached_key.end() - static_cast<std::ptrdiff_t>(p.width),
                s.cached_key.end());
  }
  return s;
}

Matrix first_rows_of(const Matrix& a, std::size_t count) {
  Matrix out = zeros(count, a.shape(1));
  std::copy_n(a.data(), out.size(), out.data());
  return out;
}

Matrix last_row(const Matrix& a) {
  Matrix out = zeros(1, a.shape(1));
  std::copy_n(a.data() + a.size() - out.size(), out.size(), out.data());
  return out;
}

Matrix with_row(const Matrix& a, const Matrix& row) {
  Matrix out = zeros(a.shape(0) + 1, row.shape(1));
  std::copy(a.begin(), a.end(), out.begin());
  std::copy(row.begin(), row.end(), out.begin() + static_cast<std::ptrdiff_t>(a.size()));
  return out;
}

std::vector<float> as_floats(const Matrix& a) { return std::vector<float>(a.begin(), a.end()); }

// The last token's attention over a cache of one head, stored in `type`.
std::vector<double> decoded_last(const Stored& s, CacheType type) {
  const std::size_t tokens = s.key.shape(0);
  const std::size_t width = s.key.shape(1);
  const std::vector<float> key = as_floats(s.cached_key);
  const std::vector<float> value = as_floats(s.value);
  std::vector<float> query(width);
  std::copy(row_of(s.query, tokens - 1).begin(), row_of(s.query, tokens - 1).end(), query.begin());
  CacheView cache = whole_cache(key.data(), value.data(), 1, tokens, width);
  cache.type = type;
  const std::vector<std::uint16_t> half_key = to_float16(key);
  const std::vector<std::uint16_t> half_value = to_float16(value);
  const Int8Rows byte_key = to_int8(key, width);
  const Int8Rows byte_value = to_int8(value, width);
  if (type == CacheType::float16) cache.key = half_key.data(), cache.value = half_value.data();
  if (type == CacheType::int8) {
    cache.key = byte_key.codes.data();
    cache.value = byte_value.codes.data();
    cache.key_scale = byte_key.scales.data();
    cache.value_scale = byte_value.scales.data();
    cache.scale_head_stride = tokens;
  }
  std::vector<float> output(width);
  ThreadPool alone(1);
  cached_attention(query, cache, output, alone);
  return std::vector<double>(output.begin(), output.end());
}

Matrix paged_output(const Stored& s, std::size_t page) {
  const std::size_t tokens = s.key.shape(0);
  const std::size_t pages = (tokens + page - 1) / page;
  // Pages lie in the pool in reverse order; what no token fills is NaN, so that reading it would show.
  std::vector<Matrix> keys, values;
  std::vector<double> table;
  for (std::size_t i = 0; i < pages; ++i) {
    const std::size_t first = (pages - 1 - i) * page;
    Matrix key = zeros(page, s.key.shape(1));
    for (double& entry : elements(key)) entry = std::nan("");
    Matrix value = key;
    for (std::size_t slot = 0; slot < page && first + slot < tokens; ++slot) {
      std::copy(row_of(s.cached_key, first + slot).begin(), row_of(s.cached_key, first + slot).end(),
                row_of(key, slot).begin());
      std::copy(row_of(s.value, first + slot).begin(), row_of(s.value, first + slot).end(),
                row_of(value, slot).begin());
    }
    keys.push_back(std::move(key));
    values.push_back(std::move(value));
    table.push_back(static_cast<double>(pages - 1 - i));
  }
  return paged_attention(s.query, keys, values, table, page, tokens).output;
}

// How far the last output can be off when no stored key is off by more than key_step and no value by more
// than value_step: scores move by at most d, so each weight by at most a factor exp(2 d), and as the weights
// sum to one the output by at most (exp(2 d) - 1) times the weighted distance of the values from it, plus
// value_step. The kernel's own sums in float32 err by 1e-6.
double largest_error(const Stored& s, double key_step, double value_step) {
  const std::size_t last = s.query.shape(0) - 1;
  double length = 0;
  for (const double entry : row_of(s.query, last)) length += std::abs(entry);
  const double moved = length * key_step / std::sqrt(static_cast<double>(s.query.shape(1)));
  const Attention exact = attention(s.query, s.key, s.value);
  double spread = 0;
  for (std::size_t c = 0; c < s.value.shape(1); ++c) {
    double distance = 0;
    for (std::size_t t = 0; t < s.value.shape(0); ++t)
      distance += exact.weights(last, t) * std::abs(s.value(t, c) - exact.output(last, c));
    spread = std::max(spread, distance);
  }
  return std::expm1(2 * moved) * spread + value_step + 1e-6;
}

// The same by type. float32 and float16 round to 2^-24 and 2^-11 of a number; int8 to half of 1 / 127 of the
// largest of its row.
double largest_error(const Stored& s, CacheType type) {
  const auto magnitude = [](const Matrix& a) {
    double largest = 0;
    for (const double entry : a) largest = std::max(largest, std::abs(entry));
    return largest;
  };
  double step = std::exp2(-24);
  if (type == CacheType::float16) step = std::exp2(-11);
  if (type == CacheType::int8) step = 0.5 / 127;
  return largest_error(s, step * magnitude(s.key), step * magnitude(s.value));
}

/// Multiply-adds that one more token costs, and how often keys were projected for it.
struct StepWork {
  std::int64_t multiply_adds = 0;
  std::int64_t keys_projected = 0;
};

/// The three projections of a layer.
struct Projections {
  Matrix query, key, value;
};

// The output of the last of `known` rows of x, computed from its projections: of all rows, or of the newest
// row beside cached keys and values, which grow by it. Work is counted from the shapes that are multiplied.
std::vector<double> next_output(const Matrix& known, const Projections& w, Matrix* cached_key,
                                Matrix* cached_value, const Context& context, StepWork& work) {
  const auto product = [&](const Matrix& a, const Matrix& b, Transpose transpose_b = Transpose::no) {
    Matrix result = matmul(a, b, Transpose::no, transpose_b);
    work.multiply_adds += static_cast<std::int64_t>(result.size() * a.shape(1));
    return result;
  };
  const bool caches = cached_key != nullptr;
  const bool all_rows = caches ? context.breaks("recomputes") : !context.breaks("forgets");
  const Matrix x = all_rows ? known : last_row(known);
  Matrix key = product(x, w.key);
  Matrix value = product(x, w.value);
  const Matrix query = product(x, w.query);
  work.keys_projected += static_cast<std::int64_t>(key.shape(0));
  if (caches) {
    key = *cached_key = with_row(*cached_key, last_row(key));
    value = *cached_value = with_row(*cached_value, last_row(value));
  }
  Matrix weights = product(query, key, Transpose::yes);
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    // Of t + 1 keys query i sees those up to its own.
    const std::size_t seen = key.shape(0) - weights.shape(0) + i + 1;
    for (double& score : row_of(weights, i)) score /= std::sqrt(static_cast<double>(x.shape(1)));
    std::fill(row_of(weights, i).begin() + static_cast<std::ptrdiff_t>(seen), row_of(weights, i).end(), 0.0);
    softmax_in_place(row_of(weights, i).first(seen));
  }
  const Matrix output = product(weights, value);
  const std::span<const double> last = row_of(output, output.shape(0) - 1);
  return std::vector<double>(last.begin(), last.end());
}

// A text generated token by token, with a cache and without.
void show_work(Report& report, const Params& p, const Context& context) {
  Generator rng = context.rng();
  const Matrix x = normal_matrix(rng, p.tokens, p.width);
  const double shrink = 1 / std::sqrt(static_cast<double>(p.width));
  const Projections w{normal_matrix(rng, p.width, p.width, 0, shrink),
                      normal_matrix(rng, p.width, p.width, 0, shrink),
                      normal_matrix(rng, p.width, p.width, 0, shrink)};
  Table table{"work",
              "Multiply-adds of one more token",
              {{"token"}, {"cached_multiply_adds"}, {"recomputed_multiply_adds"}}};
  Matrix key = zeros(0, p.width);
  Matrix value = zeros(0, p.width);
  StepWork cached_work, all_work, cached_last, all_last;
  double difference = 0;
  for (std::size_t t = 1; t <= p.tokens; ++t) {
    const Matrix known = first_rows_of(x, t);
    cached_last = all_last = {};
    const std::vector<double> cached = next_output(known, w, &key, &value, context, cached_last);
    const std::vector<double> all = next_output(known, w, nullptr, nullptr, context, all_last);
    difference = std::max(difference, largest_difference(cached, all));
    cached_work.keys_projected += cached_last.keys_projected;
    all_work.keys_projected += all_last.keys_projected;
    if ((t & (t - 1)) == 0 || t == p.tokens) {
      table.rows.push_back({static_cast<std::int64_t>(t), cached_last.multiply_adds, all_last.multiply_adds});
    }
  }
  report.table(std::move(table));
  report.line(fmt::format("{} tokens: keys projected {} times with a cache, {} times without", p.tokens,
                          cached_work.keys_projected, all_work.keys_projected));
  const auto count = static_cast<double>(p.tokens);
  const auto width = static_cast<double>(p.width);
  report.check({.id = "equals-recomputed", .label = "generated", .measured = difference, .tolerance = 1e-12});
  report.check({.id = "one-projection-a-token",
                .measured = static_cast<double>(cached_work.keys_projected),
                .expected = count});
  report.check({.id = "recomputing-is-quadratic",
                .measured = static_cast<double>(all_work.keys_projected),
                .expected = count * (count + 1) / 2});
  report.check({.id = "work-of-a-token",
                .label = "cached",
                .measured = static_cast<double>(cached_last.multiply_adds),
                .expected = 3 * width * width + 2 * count * width});
  report.check({.id = "work-of-a-token",
                .label = "recomputed",
                .measured = static_cast<double>(all_last.multiply_adds),
                .expected = count * (3 * width * width + 2 * count * width)});
}

void show_exact(Report& report, const Params& p, const Context& context) {
  const Stored s = draw_stored(p, context);
  AttentionOptions causal;
  causal.mask = causal_mask(p.tokens, p.tokens);
  const Matrix full = attention(s.query, s.key, s.value, causal).output;
  const std::span<const double> last = row_of(full, p.tokens - 1);
  Table table{
      "exact", "Attention with a cache against attention computed again", {{"cache"}, {"largest_error"}}};
  const auto add = [&](const char* id, const std::string& label, double error, double tolerance) {
    table.rows.push_back({label, error});
    report.check({.id = id, .label = label, .measured = error, .tolerance = tolerance});
  };
  const auto decoded = [&](const std::vector<std::size_t>& chunks) {
    return largest_difference(elements(decode_in_chunks(s.query, s.cached_key, s.value, chunks, {})),
                              elements(full));
  };
  add("equals-recomputed", "one-by-one", decoded(std::vector<std::size_t>(p.tokens, 1)), 1e-12);
  add("equals-recomputed", "in-chunks", decoded({p.tokens - 3, 2, 1}), 1e-12);
  add("equals-recomputed", "float32", largest_difference(decoded_last(s, CacheType::float32), last),
      largest_error(s, CacheType::float32));
  add("equals-recomputed", "float16", largest_difference(decoded_last(s, CacheType::float16), last),
      largest_error(s, CacheType::float16));
  add("equals-recomputed", "int8", largest_difference(decoded_last(s, CacheType::int8), last),
      largest_error(s, CacheType::int8));
  const Matrix unmasked = attention(s.query, s.key, s.value).output;
  add("pages-change-nothing", "pages", largest_difference(elements(paged_output(s, 7)), elements(unmasked)),
      1e-12);
  Reach reach;
  reach.causal = true;
  reach.left = static_cast<double>(p.window - 1);
  AttentionOptions windowed;
  const std::vector<double> positions = aligned_positions(p.tokens, p.tokens, CausalAlign::bottom_right);
  windowed.mask = reach_mask(positions, positions, reach);
  add("ring-is-a-window", "ring",
      largest_difference(elements(ring_attention(s.query, s.cached_key, s.value, p.window).output),
                         elements(attention(s.query, s.key, s.value, windowed).output)),
      1e-12);
  report.table(std::move(table));
}

// ---- quant ----

// The largest error of a quantised matrix in half steps of its row or column.
double error_in_half_steps(const Matrix& x, const Matrix& rounded, std::size_t bits, QuantAxis axis) {
  const bool by_row = axis == QuantAxis::row;
  const std::size_t lines = x.shape(by_row ? 0 : 1);
  const std::size_t length = x.shape(by_row ? 1 : 0);
  const auto at = [&](const Matrix& a, std::size_t line, std::size_t i) {
    return by_row ? a(line, i) : a(i, line);
  };
  double worst = 0;
  for (std::size_t line = 0; line < lines; ++line) {
    double low = at(x, line, 0), high = low, error = 0;
    for (std::size_t i = 0; i < length; ++i) {
      low = std::min(low, at(x, line, i));
      high = std::max(high, at(x, line, i));
      error = std::max(error, std::abs(at(x, line, i) - at(rounded, line, i)));
    }
    const double step = (high - low) / (std::pow(2, static_cast<double>(bits)) - 1);
    if (step > 0) worst = std::max(worst, error / (step / 2));
  }
  return worst;
}

Matrix quantised(const Matrix& x, std::size_t bits, QuantAxis axis, const Context& context) {
  const std::size_t used = context.breaks("bit-missing") ? bits - 1 : bits;
  return quantized(x, QuantScheme::affine, used, axis).dequantized;
}

void show_quant(Report& report, const Params& p, const Context& context) {
  Generator rng = context.rng();
  const std::size_t tokens = 4 * p.tokens;
  const std::size_t width = 2 * p.width;
  const Matrix query = normal_matrix(rng, p.tokens, width);
  Matrix key = normal_matrix(rng, tokens, width);
  const Matrix value = normal_matrix(rng, tokens, width);
  const double offset = context.breaks("no-outliers") ? 0 : p.outlier;
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t c = 0; c < 4; ++c) key(t, c * width / 4) += c % 2 == 0 ? offset : -offset;
  }
  const Matrix exact = attention(query, key, value).output;
  const double size = std::sqrt(dot(elements(exact), elements(exact)));
  const auto relative_error = [&](const Matrix& k, const Matrix& v) {
    Matrix difference = attention(query, k, v).output;
    for (std::size_t i = 0; i < difference.size(); ++i) difference.data()[i] -= exact.data()[i];
    return std::sqrt(dot(elements(difference), elements(difference))) / size;
  };
  Table table{"quantised",
              "Relative error of the output with a quantised cache",
              {{"bits"}, {"keys_by_channel"}, {"keys_by_token"}, {"values_by_channel"}, {"values_by_token"}}};
  for (const std::size_t bits : {8, 4, 2}) {
    const Matrix key_channel = quantised(key, bits, QuantAxis::column, context);
    const Matrix key_token = quantised(key, bits, QuantAxis::row, context);
    const Matrix value_channel = quantised(value, bits, QuantAxis::column, context);
    const Matrix value_token = quantised(value, bits, QuantAxis::row, context);
    const double by_channel = relative_error(key_channel, value);
    const double by_token = relative_error(key_token, value);
    table.rows.push_back({static_cast<std::int64_t>(bits), by_channel, by_token,
                          relative_error(key, value_channel), relative_error(key, value_token)});
    const double worst = std::max({error_in_half_steps(key, key_channel, bits, QuantAxis::column),
                                   error_in_half_steps(key, key_token, bits, QuantAxis::row),
                                   error_in_half_steps(value, value_channel, bits, QuantAxis::column),
                                   error_in_half_steps(value, value_token, bits, QuantAxis::row)});
    report.check({.id = "half-a-step",
                  .label = fmt::format("int{}", bits),
                  .measured = worst,
                  .relation = Relation::at_most,
                  .expected = 1 + 1e-9});
    if (bits == 4 && p.outlier >= 10) {
      report.check({.id = "keys-by-channel",
                    .measured = by_token / by_channel,
                    .relation = Relation::at_least,
                    .expected = 2});
    }
  }
  report.table(std::move(table));
}

// ---- paged ----

// Slots that a sequence takes when pages are given out as its tokens come.
std::int64_t paged_slots(std::int64_t tokens, std::int64_t page, const Context& context) {
  std::int64_t slots = 0;
  for (std::int64_t token = 0; token < tokens; token += page) slots += page;
  return slots + (context.breaks("spare-page") ? page : 0);
}

// Requests as a server sees them: log-normal lengths with mean 321, rounded down, 1 to 2,048 tokens.
constexpr std::int64_t longest_request = 2048;
const double request_log_mean = std::log(321) - 0.5;

std::int64_t draw_request(Generator& rng) {
  const double drawn = std::exp(rng.normal(request_log_mean, 1));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(drawn), 1, longest_request);
}

// The chance that a request has `tokens` or more.
double chance_of_reaching(std::int64_t tokens) {
  if (tokens <= 1) return 1;
  if (tokens > longest_request) return 0;
  return 0.5 * std::erfc((std::log(static_cast<double>(tokens)) - request_log_mean) / std::numbers::sqrt2);
}

/// A way to reserve memory: slots of one request, and those of the average request by summing chances.
struct Scheme {
  std::string name;
  std::function<std::int64_t(std::int64_t tokens)> slots;
  double expected_slots;
};

std::vector<Scheme> reservation_schemes(const Context& context) {
  const bool short_limit = context.breaks("short-limit");
  const auto whole = [short_limit](std::int64_t tokens) {
    return short_limit ? std::max<std::int64_t>(tokens, 512) : longest_request;
  };
  const auto power_of_two = [](std::int64_t tokens) {
    std::int64_t slots = 1;
    while (slots < tokens) slots *= 2;
    return slots;
  };
  const auto pages = [&context](std::int64_t tokens) { return paged_slots(tokens, 16, context); };
  // Beyond 2^m tokens a request takes 2^m slots more; beyond 16 j tokens a page more.
  double powers = 1;
  for (std::int64_t power = 1; power < longest_request; power *= 2)
    powers += static_cast<double>(power) * chance_of_reaching(power + 1);
  double paged = 0;
  for (std::int64_t token = 1; token <= longest_request; token += 16) paged += 16 * chance_of_reaching(token);
  return {{"longest length", whole, longest_request},
          {"power of two", power_of_two, powers},
          {"pages of 16", pages, paged}};
}

// The share of what is reserved that holds tokens, simulated and from the distribution of the lengths.
void show_reservation(Report& report, const Params& p, Generator& rng, const Context& context) {
  Vector lengths = zeros(p.sequences);
  for (double& length : lengths) length = static_cast<double>(draw_request(rng));
  double mean_length = 0;
  for (std::int64_t tokens = 1; tokens <= longest_request; ++tokens)
    mean_length += chance_of_reaching(tokens);
  Table table{"reserved",
              "Share of the reserved memory that holds tokens",
              {{"scheme"}, {"used_percent", "%"}, {"empty_percent", "%"}, {"used_percent_predicted", "%"}}};
  for (const Scheme& scheme : reservation_schemes(context)) {
    Vector slots = zeros(p.sequences);
    for (std::size_t i = 0; i < p.sequences; ++i)
      slots(i) = static_cast<double>(scheme.slots(static_cast<std::int64_t>(lengths(i))));
    const double used = mean(elements(lengths)) / mean(elements(slots));
    const double predicted = mean_length / scheme.expected_slots;
    table.rows.push_back({scheme.name, 100 * used, 100 - 100 * used, 100 * predicted});
    // A ratio of means errs as the mean of what its parts differ by.
    Vector residuals = lengths;
    for (std::size_t i = 0; i < p.sequences; ++i) residuals(i) -= used * slots(i);
    const double error = standard_error(elements(residuals)) / mean(elements(slots));
    std::string label = scheme.name;
    std::replace(label.begin(), label.end(), ' ', '-');
    report.check({.id = "reserving-wastes",
                  .label = label,
                  .measured = used,
                  .expected = predicted,
                  .tolerance = 4 * error,
                  .standard_error = error});
  }
  report.table(std::move(table));
  report.check(
      {.id = "served",
       .reason = "measured on a server's real requests: 20.4 % of the memory held tokens under reservation, "
                 "96.3 % under pages; fragmentation between requests is not modelled here",
       .checkable = false});
}

void show_paged(Report& report, const Params& p, const Context& context) {
  Generator rng = context.rng();
  Table waste{"waste",
              "Empty slots of a paged cache",
              {{"page_tokens"}, {"empty_slots"}, {"empty_slots_predicted"}, {"waste_percent", "%"}}};
  const auto count = static_cast<double>(p.sequences);
  for (const std::int64_t page : p.page) {
    double empty = 0, used = 0;
    for (std::size_t i = 0; i < p.sequences; ++i) {
      const std::int64_t length = rng.integers(1, 2 * p.mean_length, Endpoint::included);
      empty += static_cast<double>(paged_slots(length, page, context) - length);
      used += static_cast<double>(length);
    }
    const double predicted = static_cast<double>(page - 1) / 2;
    waste.rows.push_back({page, empty / count, predicted, 100 * empty / (empty + used)});
    if (2 * p.mean_length % page != 0) continue;  // the last page is then not filled evenly
    const double error = std::sqrt(static_cast<double>(page * page - 1) / 12 / count);
    report.check({.id = "half-a-page",
                  .label = std::to_string(page),
                  .measured = empty / count,
                  .expected = predicted,
                  .tolerance = 4 * error,
                  .standard_error = error});
  }
  report.table(std::move(waste));

  show_reservation(report, p, rng, context);
}

// The figures of the tables that were made.
void add_figures(Report& report) {
  if (report.find_table("growth") != nullptr) {
    report.figure({.name = "growth",
                   .title = "Growth of the cache",
                   .kind = FigureKind::line,
                   .data = {"growth"},
                   .x_column = "tokens",
                   .series = {{"kv_bytes", "as chosen"},
                              {"users_kv_bytes", "eight times the users"},
                              {"grouped_kv_bytes", "a quarter of the key-value heads"},
                              {"half_bits_kv_bytes", "half the bits"},
                              {"ring_kv_bytes", "a ring"}},
                   .x_axis = {"context", "tokens", Scale::log2},
                   .y_axis = {"size of the cache", "bytes", Scale::log10},
                   .caption =
                       "The cache grows linearly with the context; heads, bits and users move the line, only "
                       "a window ends it. Shazeer 2019."});
  }
  if (report.find_table("reserved") != nullptr) {
    report.figure({.name = "reserved",
                   .title = "Share of the reserved memory that holds tokens",
                   .kind = FigureKind::bars,
                   .data = {"reserved"},
                   .x_column = "scheme",
                   .series = {{"used_percent", "holds tokens"}},
                   .x_axis = {"scheme"},
                   .y_axis = {"share of the memory", "%"},
                   .caption =
                       "Pages waste half of one page a sequence; reservation wastes most of the memory. "
                       "Kwon et al. 2023, figure 2."});
  }
  if (report.find_table("quantised") != nullptr) {
    report.figure({.name = "quantised",
                   .title = "Error of a quantised cache",
                   .kind = FigureKind::bars,
                   .data = {"quantised"},
                   .x_column = "bits",
                   .series = {{"keys_by_channel", "keys by channel"},
                              {"keys_by_token", "keys by token"},
                              {"values_by_token", "values by token"}},
                   .x_axis = {"bits"},
                   .y_axis = {"relative error of the output", "", Scale::log10},
                   .caption = "Outlier channels spoil the range of every token, so keys are quantised by "
                              "channel. Liu et al. 2024, section 3."});
  }
}

Report run(const Params& p, const Context& context) {
  Report report("The key-value cache");
  const auto wanted = [&](const char* part) { return p.mode == "all" || p.mode == part; };
  if (wanted("bytes")) show_bytes(report, p, context);
  if (wanted("exact")) show_exact(report, p, context);
  if (wanted("exact")) show_work(report, p, context);
  if (wanted("quant")) show_quant(report, p, context);
  if (wanted("paged")) show_paged(report, p, context);
  add_figures(report);
  return report;
}

}  // namespace

Experiment kv_cache_experiment() {
  return make_experiment<Params>(
      {.name = "kv-cache",
       .title = "The key-value cache",
       .summary = "what a cache saves, how it grows, and heads, bits and pages that shrink it",
       .section = "Costs: quadratic attention and the KV cache",
       .source = "Kwon et al. 2023; Liu et al. 2024",
       .purpose =
           "Computes cache sizes, generates with a cache and without and compares, quantises keys and values "
           "with outlier channels, and simulates pages against reserving the longest length.",
       .examples = {"attnlab kv-cache",
                    "attnlab kv-cache --mode bytes --layers 32 --kv-heads 8 --head-dim 128 -T 32768",
                    "attnlab kv-cache --mode paged --page 1:256:x2 --format csv"},
       .claims =
           {{"known-sizes", "the caches of known models have their published size"},
            {"equals-params", "the caches are those which params counts for the models"},
            {"grows-linearly", "the cache doubles with tokens, layers, key-value heads and users"},
            {"groups-save", "8 instead of 64 key-value heads take an eighth of the cache",
             "Ainslie et al. 2023"},
            {"outgrows-weights",
             "eight users of 4,096 tokens hold more in the cache of Llama-2-7B than its weights take"},
            {"equals-recomputed", "a cached token gets the output that computing all again gives"},
            {"pages-change-nothing", "a cache in pages gives the output of one that is whole"},
            {"ring-is-a-window", "a ring of slots gives the output of a sliding window"},
            {"one-projection-a-token", "with a cache each token's key is projected once"},
            {"recomputing-is-quadratic", "without one, T tokens project T (T + 1) / 2 keys"},
            {"work-of-a-token",
             "token T costs 3 d^2 + 2 T d multiply-adds with a cache, and T times as many without"},
            {"half-a-step", "no quantised number is off by more than half a step"},
            {"keys-by-channel",
             "at four bits, keys with outlier channels err less than half as much by channel as by token",
             "Liu et al. 2024, section 3"},
            {"half-a-page", "a paged sequence wastes (page - 1) / 2 slots on average"},
            {"reserving-wastes",
             "the share of reserved memory that holds tokens is 15 % at the longest length, 71 % at powers "
             "of two "
             "and 98 % in pages, as the lengths' distribution says"},
            {"served", "paged memory raises the share that holds tokens from 20 to 96 %",
             "Kwon et al. 2023, figure 2"}},
       .breakages = {{"all-heads", "the model with 8 key-value heads keeps 64"},
                     {"keys-only", "the cache holds keys and no values"},
                     {"reserves-all", "the cache reserves 32,768 tokens whatever the length"},
                     {"late-keys", "each slot holds the key of the token before"},
                     {"recomputes", "the cached keys are projected again at each token"},
                     {"forgets", "only the newest key is projected where all should be"},
                     {"bit-missing", "numbers are quantised with one bit fewer"},
                     {"no-outliers", "the keys have no outlier channels"},
                     {"spare-page", "every sequence holds a page more than it fills"},
                     {"short-limit", "512 tokens are reserved instead of 2,048"}}},
      declare, run);
}

}  // namespace attnlab::experiments
