// What goes wrong in caches, their codes, linear attention, look-ups, fused projections and counts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/kv_cache.hpp"
#include "core/matmul.hpp"
#include "core/softmax.hpp"
#include "operations/attention_call.hpp"

namespace attnlab {
namespace {

using Commit = std::function<bool(Trial&)>;

Commit computed_as(const std::function<Results(const Trial&)>& compute) {
  return [compute](Trial& trial) { return trial.compute_by(compute); };
}

Commit output_as(const std::function<Matrix(const Trial&)>& compute) {
  return computed_as([compute](const Trial& call) { return Results{array_result("output", compute(call))}; });
}

// --- cache

std::vector<std::int64_t> chunk_list(const Trial& trial) {
  for (const Option& option : trial.options().all()) {
    if (option.name == "chunks") return std::get<std::vector<std::int64_t>>(option.get());
  }
  return {};
}

// The chunk each token is fed in: where it begins, and where it ends.
struct Chunk {
  std::size_t begin, end;
};

std::vector<Chunk> chunk_of_tokens(const Trial& trial) {
  const std::size_t tokens = trial.inputs.matrix("key").shape(0);
  std::vector<std::int64_t> lengths = chunk_list(trial);
  if (lengths.empty()) lengths.assign(tokens, 1);
  std::vector<Chunk> chunks;
  for (const std::int64_t length : lengths) {
    const Chunk chunk{chunks.size(), chunks.size() + static_cast<std::size_t>(length)};
    chunks.insert(chunks.end(), static_cast<std::size_t>(length), chunk);
  }
  return chunks;
}

// What a query sees depends on its chunk: keys from `first` up to `last`.
Commit seen_by_chunk(std::size_t (*first)(const Chunk& chunk),
                     std::size_t (*last)(std::size_t query, const Chunk& chunk)) {
  return [first, last](Trial& trial) {
    if (trial.option("causal").empty() || !trial.option("window").empty()) return false;
    const std::vector<Chunk> chunks = chunk_of_tokens(trial);
    Matrix mask = zeros(chunks.size(), chunks.size());
    for (std::size_t query = 0; query < chunks.size(); ++query) {
      for (std::size_t key = first(chunks[query]); key <= last(query, chunks[query]); ++key)
        mask(query, key) = 1;
    }
    trial.attention.push_back(std::make_shared<const AttentionMistake>(
        AttentionMistake{.call = [mask = to_array(mask)](AttentionCall& call) {
          if (call.inputs.has("mask")) return false;
          call.inputs.set("mask", mask);
          return std::exchange(call.params.causal, false);
        }}));
    return true;
  };
}

// Positions that start anew in every chunk.
Commit decoded_with_positions(bool restart_queries, bool restart_keys) {
  return [=](Trial& trial) {
    std::vector<double> restarted;
    for (const Chunk& chunk : chunk_of_tokens(trial))
      restarted.push_back(static_cast<double>(restarted.size() - chunk.begin));
    trial.attention.push_back(std::make_shared<const AttentionMistake>(
        AttentionMistake{.heads = [=](AttentionCall&, HeadsOptions& heads) {
          if (restart_queries) heads.query_positions = restarted;
          if (restart_keys) heads.key_positions = restarted;
          return heads.rope.has_value();
        }}));
    return true;
  };
}

std::vector<Mistake> cache_list() {
  const std::vector<std::string> decode = {"kv-decode"};
  return {
      {"cache-chunk-unmasked", decode,
       "inside a chunk queries see the keys after them once a cache is present",
       "mask with the offset of the cache: key j is visible to query i when j <= i + cached", "",
       seen_by_chunk([](const Chunk&) { return std::size_t{0}; },
                     [](std::size_t, const Chunk& chunk) { return chunk.end - 1; })},
      {"cache-ignored", decode, "each chunk sees only itself", "append new keys and values to the cache", "",
       seen_by_chunk([](const Chunk& chunk) { return chunk.begin; },
                     [](std::size_t query, const Chunk&) { return query; })},
      {"cache-position-reset", decode, "positions start at 0 in every chunk",
       "add the number of cached tokens", "", decoded_with_positions(true, true)},
      {"cache-query-position-reset", decode, "the queries of every chunk are rotated from position 0",
       "add the number of cached tokens to the queries' positions", "", decoded_with_positions(true, false)},
      {"paged-stale-tail",
       {"kv-paged"},
       "slots after the last token are read",
       "stop at the sequence's length",
       "",
       [](Trial& trial) {
         if (trial.option("length").empty()) return false;
         const std::size_t blocks = trial.inputs.numbers("block-table").size();
         const std::size_t size = trial.inputs.matrices("pool-k").at(0).shape(0);
         return trial.set("length", static_cast<double>(blocks * size));
       }},
      {"paged-table-ignored",
       {"kv-paged"},
       "blocks are read in the order of the pool",
       "follow the block table",
       "",
       [](Trial& trial) {
         Array table = trial.inputs.array("block-table");
         for (std::size_t n = 0; n < table.values.size(); ++n) table.values[n] = static_cast<double>(n);
         trial.inputs.set("block-table", table);
         return true;
       }},
      {"ring-slot-order",
       {"kv-ring"},
       "slots are taken for positions, so the order is that of the slots",
       "order slots by the position that they hold",
       "before the ring has wrapped",
       [](Trial& trial) {
         trial.afterwards.push_back([](const Trial&, Results& results) {
           for (NamedResult& result : results) {
             if (result.name != "logical_order") continue;
             std::vector<double>& order = std::get<Array>(result.value).values;
             const std::size_t capacity = order.size();
             std::sort(order.begin(), order.end(), [capacity](double a, double b) {
               return std::fmod(a, static_cast<double>(capacity)) <
                      std::fmod(b, static_cast<double>(capacity));
             });
           }
         });
         return true;
       }},
      {"ring-unbounded",
       {"kv-ring"},
       "older tokens are never overwritten",
       "keep the newest tokens only",
       "",
       [](Trial& trial) {
         return trial.set("capacity", static_cast<double>(trial.inputs.matrix("key").shape(0)));
       }},
  };
}

// --- codes of few bits

// Codes by a formula of the smallest, the largest and the number of bits; rows (or columns, or all) by
// themselves.
struct CodeFormula {
  double (*code)(double x, double low, double high, double bits);
  double (*value)(double code, double low, double high, double bits);
};

Commit coded_as(const std::string& scheme, CodeFormula formula) {
  return [scheme, formula](Trial& trial) {
    if (trial.option("scheme") != scheme) return false;
    return trial.compute_by([formula](const Trial& call) {
      const bool columns = call.option("axis") == "column";
      const Matrix given = call.inputs.matrix("x");
      Matrix codes = columns ? transposed(given) : given;
      Matrix back = codes;
      for (std::size_t row = 0; row < codes.shape(0); ++row) {
        const std::span<double> from = row_of(codes, row);
        const double low = *std::min_element(from.begin(), from.end());
        const double high = *std::max_element(from.begin(), from.end());
        for (std::size_t j = 0; j < from.size(); ++j) {
          from[j] = formula.code(from[j], low, high, call.number("bits"));
          back(row, j) = formula.value(from[j], low, high, call.number("bits"));
        }
      }
      if (columns) {
        codes = transposed(codes);
        back = transposed(back);
      }
      return Results{array_result("codes", codes), array_result("dequantized", back)};
    });
  };
}

double largest(double low, double high) { return std::max(std::fabs(low), std::fabs(high)); }
double affine_step(double low, double high, double levels) { return high > low ? (high - low) / levels : 1; }
double symmetric_step(double low, double high, double levels) {
  return largest(low, high) > 0 ? largest(low, high) / levels : 1;
}
double affine_levels(double bits) { return std::exp2(bits) - 1; }
double symmetric_levels(double bits) { return std::exp2(bits - 1) - 1; }

double affine_back(double code, double low, double high, double bits) {
  return low + code * affine_step(low, high, affine_levels(bits));
}
double symmetric_back(double code, double low, double high, double bits) {
  return code * symmetric_step(low, high, symmetric_levels(bits));
}

std::vector<Mistake> code_list() {
  const std::vector<std::string> in = {"kv-quantize"};
  return {
      {"codes-wrong-axis", in,
       "ranges are taken over tokens where channels were meant, or the other way round",
       "values by token, keys by channel (--axis)", "with --axis the other way",
       [](Trial& trial) { return trial.set("axis", trial.option("axis") == "row" ? "column" : "row"); }},
      {"codes-wrong-scheme", in, "the codes are of the other scheme",
       "use the scheme that reads them (--scheme)", "with --scheme the other way",
       [](Trial& trial) {
         return trial.set("scheme", trial.option("scheme") == "affine" ? "symmetric" : "affine");
       }},
      {"codes-one-range", in, "one range serves the whole array", "take the range of each row or column", "",
       computed_as([](const Trial& call) {
         Trial flat(call.operation(), call.options(), call.inputs);
         const Array x = call.inputs.array("x");
         flat.inputs.set("x", {{1, x.values.size()}, x.values});
         flat.set("axis", "row");
         Results results = flat.run_operation();
         for (NamedResult& result : results) std::get<Array>(result.value).shape = x.shape;
         return results;
       })},
      {"codes-truncated", in, "codes are cut off and not rounded", "round to the nearest code", "",
       coded_as("affine", {[](double x, double low, double high, double bits) {
                             return std::floor((x - low) / affine_step(low, high, affine_levels(bits)));
                           },
                           affine_back})},
      {"codes-truncated-symmetric", in, "codes are cut off towards zero and not rounded",
       "round to the nearest code", "",
       coded_as("symmetric", {[](double x, double low, double high, double bits) {
                                return std::trunc(x / symmetric_step(low, high, symmetric_levels(bits)));
                              },
                              symmetric_back})},
      {"codes-too-many-levels", in, "the range is divided by 2^bits, one level too many",
       "divide by 2^bits - 1", "",
       coded_as("affine", {[](double x, double low, double high, double bits) {
                             return std::min(
                                 std::nearbyint((x - low) / affine_step(low, high, std::exp2(bits))),
                                 affine_levels(bits));
                           },
                           [](double code, double low, double high, double bits) {
                             return low + code * affine_step(low, high, std::exp2(bits));
                           }})},
      {"codes-scale-of-128", in,
       "the largest magnitude is divided by 2^(bits-1), so the codes reach one further",
       "divide by 2^(bits-1) - 1", "",
       coded_as("symmetric", {[](double x, double low, double high, double bits) {
                                return std::nearbyint(x / symmetric_step(low, high, std::exp2(bits - 1)));
                              },
                              [](double code, double low, double high, double bits) {
                                return code * symmetric_step(low, high, std::exp2(bits - 1));
                              }})},
      {"codes-empty-range", in, "a row without range is 0/0", "give such a row codes 0 and its own value", "",
       coded_as("affine", {[](double x, double low, double high, double bits) {
                             return std::nearbyint((x - low) / ((high - low) / affine_levels(bits)));
                           },
                           affine_back})},
      {"codes-empty-range-symmetric", in, "a row of zeros is 0/0", "give such a row codes 0", "",
       coded_as("symmetric", {[](double x, double low, double high, double bits) {
                                return std::nearbyint(x / (largest(low, high) / symmetric_levels(bits)));
                              },
                              symmetric_back})},
      {"codes-offset-missing", in, "the minimum is not added back", "value = minimum + code * step", "",
       coded_as("affine", {[](double x, double low, double high, double bits) {
                             return std::nearbyint((x - low) / affine_step(low, high, affine_levels(bits)));
                           },
                           [](double code, double low, double high, double bits) {
                             return code * affine_step(low, high, affine_levels(bits));
                           }})},
      {"nibbles-high-first",
       {"kv-pack4"},
       "element 0 is in the high half of byte 0",
       "put element 0 into the low half",
       "in formats that store the high half first",
       computed_as([](const Trial& call) {
         const Matrix codes = call.inputs.matrix("codes");
         Matrix bytes = packed_int4(codes);
         for (double& byte : bytes) {
           const auto whole = static_cast<unsigned>(byte);
           byte = (whole & 15U) << 4U | whole >> 4U;
         }
         return Results{array_result("bytes", bytes),
                        array_result("unpacked", unpacked_int4(bytes, codes.shape(1)))};
       })},
      {"nibbles-unsigned",
       {"kv-pack4"},
       "four bits are read as 0 .. 15 and not as -8 .. 7",
       "extend the sign: subtract 16 from 8 on",
       "for unsigned codes",
       computed_as([](const Trial& call) {
         const Matrix codes = call.inputs.matrix("codes");
         Matrix unpacked = codes;
         for (double& code : unpacked) code = code < 0 ? code + 16 : code;
         return Results{array_result("bytes", packed_int4(codes)), array_result("unpacked", unpacked)};
       })},
  };
}

// --- linear attention, look-ups, fused projections, counts

using Feature = double (*)(double x);
double elu1(double x) { return x > 0 ? x + 1 : std::exp(x); }

enum class Denominator { right, missing, with_epsilon, without_query };

Commit linear_as(Feature feature, Denominator denominator) {
  return output_as([feature, denominator](const Trial& call) {
    const auto mapped = [feature](Matrix x) {
      for (double& value : x) value = feature(value);
      return x;
    };
    const Matrix query = mapped(call.inputs.matrix("query"));
    const Matrix key = mapped(call.inputs.matrix("key"));
    const Matrix value = call.inputs.matrix("value");
    const bool top_left = call.option("causal-align") == "top-left";
    const std::vector<double> places = aligned_positions(
        query.shape(0), key.shape(0), top_left ? CausalAlign::top_left : CausalAlign::bottom_right);
    Matrix output = zeros(query.shape(0), value.shape(1));
    for (std::size_t i = 0; i < query.shape(0); ++i) {
      std::vector<double> key_sum(key.shape(1), 0.0);
      Matrix memory = zeros(key.shape(1), value.shape(1));
      for (std::size_t j = 0; j < key.shape(0); ++j) {
        if (!call.option("causal").empty() && static_cast<double>(j) > places[i]) continue;
        for (std::size_t f = 0; f < key.shape(1); ++f) {
          key_sum[f] += key(j, f);
          for (std::size_t c = 0; c < value.shape(1); ++c) memory(f, c) += key(j, f) * value(j, c);
        }
      }
      double sum = 0;
      for (std::size_t f = 0; f < key_sum.size(); ++f) sum += query(i, f) * key_sum[f];
      if (denominator == Denominator::missing) sum = 1;
      if (denominator == Denominator::with_epsilon) sum += 1e-6;
      for (std::size_t f = 0; f < key_sum.size(); ++f) {
        const double divisor = denominator == Denominator::without_query ? key_sum[f] : sum;
        for (std::size_t c = 0; c < value.shape(1); ++c) output(i, c) += query(i, f) * memory(f, c) / divisor;
      }
    }
    return output;
  });
}

std::vector<Mistake> other_list() {
  const std::vector<std::string> linear = {"linear-attention"};
  const std::string map = "use elu(x) + 1: x + 1 above zero, exp(x) below";
  return {
      {"linear-denominator-missing", linear, "the sums are not normalised", "divide by query . sum of keys",
       "", linear_as(elu1, Denominator::missing)},
      {"linear-denominator-without-query", linear,
       "summed keys are divided out feature by feature, without the query",
       "divide by query . sum of keys, one number a row", "", linear_as(elu1, Denominator::without_query)},
      {"linear-denominator-epsilon", linear, "1e-6 in the denominator outweighs small sums",
       "add nothing: elu(x) + 1 is positive", "where sums stay far above 1e-6",
       linear_as(elu1, Denominator::with_epsilon)},
      {"linear-feature-relu", linear, "ReLU is another feature map and can make the sums zero", map, "",
       linear_as([](double x) { return std::max(x, 0.0); }, Denominator::right)},
      {"linear-feature-exp", linear, "exp is another feature map", map, "",
       linear_as([](double x) { return std::exp(x); }, Denominator::right)},
      {"linear-feature-elu", linear, "without the 1, features are negative below zero", map, "",
       linear_as([](double x) { return elu1(x) - 1; }, Denominator::right)},
      {"linear-feature-missing", linear, "queries and keys are not mapped", map, "",
       linear_as([](double x) { return x; }, Denominator::right)},
      {"linear-causal-missing", linear, "the sums run over later keys too",
       "sum the keys up to the query only", "without --causal",
       [](Trial& trial) {
         return !trial.option("causal").empty() && trial.compute_by([](const Trial& call) {
           return Trial(call.operation(), {}, call.inputs).run_operation();
         });
       }},
      {"lookup-temperature-multiplied",
       {"lookup"},
       "scores are multiplied by the temperature",
       "divide the scores by it",
       "for an inverse temperature",
       [](Trial& trial) {
         const double temperature = trial.number("temperature");
         return temperature > 0 && temperature != 1 && trial.set("temperature", 1 / temperature);
       }},
      {"lookup-scaled-by-width",
       {"lookup"},
       "scores are divided by the square root of the width as well",
       "divide by the temperature alone",
       "in scaled dot-product attention",
       [](Trial& trial) {
         const double width = static_cast<double>(trial.inputs.matrix("query").shape(1));
         return trial.set("temperature", trial.number("temperature") * std::sqrt(width));
       }},
      {"lookup-softmax-overflow",
       {"lookup"},
       "exp of large scores overflows, and inf/inf is NaN",
       "subtract the largest score before the exponential; at temperature 0 take the best key",
       "where scores stay below 700",
       computed_as([](const Trial& call) {
         Matrix weights =
             matmul(call.inputs.matrix("query"), call.inputs.matrix("keys"), Transpose::no, Transpose::yes);
         for (std::size_t row = 0; row < weights.shape(0); ++row) {
           double sum = 0;
           for (double& weight : row_of(weights, row))
             sum += weight = std::exp(weight / call.number("temperature"));
           for (double& weight : row_of(weights, row)) weight /= sum;
         }
         return Results{array_result("output", matmul(weights, call.inputs.matrix("values"))),
                        array_result("weights", weights)};
       })},
      {"qkv-layout",
       {"split-qkv"},
       "the fused columns are cut in the other layout",
       "cut as the checkpoint stores them (--layout)",
       "with --layout the other way",
       [](Trial& trial) {
         return trial.number("heads") > 1 &&
                trial.set("layout", trial.option("layout") == "per-head" ? "concatenated" : "per-head");
       }},
      {"qkv-order-kqv",
       {"split-qkv"},
       "the first third is taken for the keys",
       "the order is q, k, v",
       "",
       [](Trial& trial) {
         trial.afterwards.push_back(
             [](const Trial&, Results& results) { std::swap(results[0].value, results[1].value); });
         return true;
       }},
      {"low-rank-shared-projection",
       {"low-rank-attention"},
       "values are projected by the keys' projection",
       "project values by their own (--f)",
       "where both share one projection",
       [](Trial& trial) {
         if (!trial.inputs.has("f")) return false;
         trial.inputs.set("f", trial.inputs.array("e"));
         return true;
       }},
      {"cross-causal",
       {"cross-attention"},
       "the decoder's causal mask hides encoder outputs",
       "let every decoder position see the whole source",
       "in self-attention",
       [](Trial& trial) {
         trial.attention.push_back(
             std::make_shared<const AttentionMistake>(AttentionMistake{.call = [](AttentionCall& call) {
               call.params.causal = true;
               call.params.causal_align = CausalAlign::top_left;
               return true;
             }}));
         return true;
       }},
  };
}

// --- counts

Commit counted_as(const std::function<Int128(const Trial&, Int128 right)>& wrong) {
  return [wrong](Trial& trial) {
    trial.afterwards.push_back([wrong](const Trial& call, Results& results) {
      results[0].value = wrong(call, std::get<Int128>(results[0].value));
    });
    return true;
  };
}

// What a register of so many bits keeps; a signed one only where that is negative, else it is as the other.
Commit wrapped_at(int bits, bool is_signed) {
  return counted_as([bits, is_signed](const Trial&, Int128 right) {
    const Int128 range = Int128{1} << bits;
    const Int128 kept = right % range;
    if (!is_signed) return kept;
    if (kept < range / 2) throw Error(ErrorKind::data, "the sign does not show");
    return kept - range;
  });
}

std::vector<Mistake> count_list() {
  const std::vector<std::string> all = {"kv-cache-size", "training-compute", "score-entries", "swiglu-width"};
  const std::string wide = "count in 64-bit integers or doubles";
  const std::string wider = "count in 128-bit integers or doubles";
  return {
      {"cache-size-keys-only",
       {"kv-cache-size"},
       "values are not counted",
       "count keys and values: twice",
       "",
       counted_as([](const Trial&, Int128 right) { return right / 2; })},
      {"training-without-backward",
       {"training-compute"},
       "only the forward pass is counted",
       "a step is three forward passes: 6 N D",
       "for inference",
       counted_as([](const Trial&, Int128 right) { return right / 3; })},
      {"swiglu-width-of-plain-layer",
       {"swiglu-width"},
       "a gated layer as wide as a plain one has half as many weights again",
       "take two thirds of 4 d, rounded up to the multiple",
       "without a gate",
       counted_as([](const Trial& call, Int128) {
         return Int128{4} * static_cast<Int128>(call.number("d-model"));
       })},
      {"swiglu-width-not-rounded",
       {"swiglu-width"},
       "two thirds of 4 d are not rounded up to the multiple",
       "round up to the multiple",
       "",
       counted_as([](const Trial& call, Int128) {
         return Int128{8} * static_cast<Int128>(call.number("d-model")) / 3;
       })},
      {"overflow-of-32-bits", all, "the count does not fit 32 bits, and what is above is lost", wide, "",
       wrapped_at(32, false)},
      {"overflow-of-32-bits-signed", all, "the count does not fit 31 bits and a sign", wide, "",
       wrapped_at(32, true)},
      {"overflow-of-64-bits", all, "the count does not fit 64 bits, and what is above is lost", wider, "",
       wrapped_at(64, false)},
      {"overflow-of-64-bits-signed", all, "the count does not fit 63 bits and a sign", wider, "",
       wrapped_at(64, true)},
  };
}

}  // namespace

std::vector<Mistake> cache_mistakes() {
  std::vector<Mistake> all;
  for (const auto& some : {cache_list, code_list, other_list, count_list}) {
    std::vector<Mistake> more = some();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace attnlab
