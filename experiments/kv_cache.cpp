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
#include <numeric>

#include <fmt/format.h>

#include "accounting/compute.hpp"
#include "core/attention.hpp"
#include "core/kernels/cached_attention.hpp"
#include "core/kv_cache.hpp"
#include "core/matmul.hpp"
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

void show_bytes(Report& report, const Params& p, const Context& context) {
  const Setting chosen = {"chosen", p.layers, p.kv_heads, p.head_dim, p.seq_len, p.users, p.bits};
  // Published figures: 800 KB a token of OPT-13B (Kwon et al. 2023, section 3), the others from their
  // configs.
  const std::vector<std::pair<Setting, double>> known = {
      {{"gpt2-small", 12, 12, 64, 1024, 1, 16}, 37748736},
      {{"opt-13b-token", 40, 40, 128, 1, 1, 16}, 819200},
      {{"llama-2-7b", 32, 32, 128, 4096, 1, 16}, 2147483648},
      {{"70b-64-heads", 80, 64, 128, 4096, 1, 16}, 10737418240},
      {{"70b-8-heads", 80, 8, 128, 4096, 1, 16}, 1342177280},
      {{"32k-32-heads", 32, 32, 128, 32768, 1, 16}, 17179869184},
      {{"32k-8-heads", 32, 8, 128, 32768, 1, 16}, 4294967296}};
  Table table{"cache",
              "Size of the cache",
              {{"model"}, {"layers"}, {"kv_heads"}, {"head_dim"}, {"tokens"}, {"kv_bytes", "bytes"}}};
  const auto add = [&](const Setting& s) {
    table.rows.push_back({s.name, s.layers, s.kv_heads, s.head_dim, s.length, bytes_of(s, context)});
  };
  add(chosen);
  for (const auto& [setting, bytes] : known) {
    add(setting);
    report.check({.id = "known-sizes",
                  .label = setting.name,
                  .measured = static_cast<double>(bytes_of(setting, context)),
                  .expected = bytes});
  }
  report.table(std::move(table));

  const CountedModel gpt2 = count_embedded_model("gpt2");
  report.check({.id = "equals-params",
                .measured = static_cast<double>(bytes_of(known[0].first, context)),
                .expected = find_quantity(cache_size(gpt2.config.architecture, {}), "kv_bytes").real()});
  const auto doubled = [&](const char* what, auto change) {
    Setting twice = known[0].first;
    change(twice);
    report.check({.id = "grows-linearly",
                  .label = what,
                  .measured = static_cast<double>(bytes_of(twice, context)) /
                              static_cast<double>(bytes_of(known[0].first, context)),
                  .expected = 2});
  };
  doubled("tokens", [](Setting& s) { s.length *= 2; });
  doubled("layers", [](Setting& s) { s.layers *= 2; });
  doubled("kv-heads", [](Setting& s) { s.kv_heads *= 2; });
  doubled("users", [](Setting& s) { s.users *= 2; });
  Setting eight_users = known[2].first;
  eight_users.users = 8;
  const CountedModel llama = count_embedded_model("llama-2-7b");
  report.check({.id = "outgrows-weights",
                .measured = static_cast<double>(bytes_of(eight_users, context)) /
                            (2 * static_cast<double>(llama.count.total)),
                .relation = Relation::at_least,
                .expected = 1});
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
  add("equals-recomputed", "float32", largest_difference(decoded_last(s, CacheType::float32), last), 5e-6);
  add("equals-recomputed", "float16", largest_difference(decoded_last(s, CacheType::float16), last), 5e-3);
  add("equals-recomputed", "int8", largest_difference(decoded_last(s, CacheType::int8), last), 0.1);
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

  // Rows that the key projection multiplies while a text is generated token by token.
  Generator rng = context.rng();
  const Matrix x = normal_matrix(rng, p.tokens, p.width);
  const Matrix w_key = normal_matrix(rng, p.width, p.width);
  std::int64_t with_cache = 0;
  std::int64_t without = 0;
  for (std::size_t t = 0; t < p.tokens; ++t) {
    Matrix prefix = zeros(t + 1, p.width);
    std::copy(x.data(), x.data() + prefix.size(), prefix.data());
    Matrix newest = zeros(1, p.width);
    std::copy(row_of(x, t).begin(), row_of(x, t).end(), newest.begin());
    with_cache +=
        static_cast<std::int64_t>(matmul(context.breaks("recomputes") ? prefix : newest, w_key).shape(0));
    without += static_cast<std::int64_t>(matmul(context.breaks("forgets") ? newest : prefix, w_key).shape(0));
  }
  report.line(fmt::format("{} tokens: keys projected {} times with a cache, {} times without", p.tokens,
                          with_cache, without));
  const auto count = static_cast<double>(p.tokens);
  report.check(
      {.id = "one-projection-a-token", .measured = static_cast<double>(with_cache), .expected = count});
  report.check({.id = "recomputing-is-quadratic",
                .measured = static_cast<double>(without),
                .expected = count * (count + 1) / 2});
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

  // Requests whose lengths are log-normal with mean 321, up to 2,048 tokens.
  constexpr std::int64_t longest = 2048;
  double used = 0, whole = 0, powers = 0, paged = 0;
  for (std::size_t i = 0; i < p.sequences; ++i) {
    const double drawn = std::exp(rng.normal(std::log(321) - 0.5, 1));
    const std::int64_t length = std::clamp<std::int64_t>(static_cast<std::int64_t>(drawn), 1, longest);
    std::int64_t power = 1;
    while (power < length) power *= 2;
    used += static_cast<double>(length);
    whole +=
        static_cast<double>(context.breaks("short-limit") ? std::max<std::int64_t>(length, 512) : longest);
    powers += static_cast<double>(power);
    paged += static_cast<double>(paged_slots(length, 16, context));
  }
  Table reserved{"reserved",
                 "Share of the reserved memory that holds tokens",
                 {{"scheme"}, {"used_percent", "%"}, {"empty_percent", "%"}}};
  const auto add = [&](const char* scheme, double slots) {
    reserved.rows.push_back({scheme, 100 * used / slots, 100 - 100 * used / slots});
  };
  add("longest length", whole);
  add("power of two", powers);
  add("pages of 16", paged);
  report.table(std::move(reserved));
  report.check(
      {.id = "reserving-wastes", .measured = used / whole, .relation = Relation::at_most, .expected = 0.25});
  report.check(
      {.id = "pages-use", .measured = used / paged, .relation = Relation::at_least, .expected = 0.95});
  report.check(
      {.id = "served",
       .reason = "measured on a server's real requests: 20.4 % of the memory held tokens under reservation, "
                 "96.3 % under pages; fragmentation between requests is not modelled here",
       .checkable = false});
}

Report run(const Params& p, const Context& context) {
  Report report("The key-value cache");
  const auto wanted = [&](const char* part) { return p.mode == "all" || p.mode == part; };
  if (wanted("bytes")) show_bytes(report, p, context);
  if (wanted("exact")) show_exact(report, p, context);
  if (wanted("quant")) show_quant(report, p, context);
  if (wanted("paged")) show_paged(report, p, context);
  if (wanted("paged")) {
    report.figure({.name = "reserved",
                   .title = "What reserved memory holds",
                   .kind = FigureKind::stacked_bars,
                   .data = {"reserved"},
                   .x_column = "scheme",
                   .series = {{"used_percent", "tokens"}, {"empty_percent", "empty"}},
                   .x_axis = {"scheme"},
                   .y_axis = {"share of the memory", "%"},
                   .caption =
                       "Pages waste half of one page a sequence; reservation wastes most of the memory. "
                       "Kwon et al. 2023, figure 2."});
  }
  if (wanted("quant")) {
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
            {"equals-params", "the cache is that which params counts for GPT-2 small"},
            {"grows-linearly", "the cache doubles with tokens, layers, key-value heads and users"},
            {"outgrows-weights",
             "eight users of 4,096 tokens hold more in the cache of Llama-2-7B than its weights take"},
            {"equals-recomputed", "a cached token gets the output that computing all again gives"},
            {"pages-change-nothing", "a cache in pages gives the output of one that is whole"},
            {"ring-is-a-window", "a ring of slots gives the output of a sliding window"},
            {"one-projection-a-token", "with a cache each token's key is projected once"},
            {"recomputing-is-quadratic", "without one, T tokens project T (T + 1) / 2 keys"},
            {"half-a-step", "no quantised number is off by more than half a step"},
            {"keys-by-channel",
             "at four bits, keys with outlier channels err less than half as much by channel as by token",
             "Liu et al. 2024, section 3"},
            {"half-a-page", "a paged sequence wastes (page - 1) / 2 slots on average"},
            {"reserving-wastes", "reserving the longest length leaves three quarters of the memory empty"},
            {"pages-use", "pages of 16 tokens leave less than 5 % empty"},
            {"served", "paged memory raises the share that holds tokens from 20 to 96 %",
             "Kwon et al. 2023, figure 2"}},
       .breakages = {{"keys-only", "the cache holds keys and no values"},
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
