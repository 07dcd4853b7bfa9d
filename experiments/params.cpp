// Parameters and compute of a GPT-2-small-sized decoder: the lesson's fourth listing.
//
// Source: Radford et al. 2019 (GPT-2); Kaplan et al. 2020, section 2.1, for 6N.
#include <fmt/format.h>

#include "core/integer.hpp"
#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::int64_t layers = 12;
  std::int64_t d_model = 768;
  std::int64_t vocab = 50257;
  std::int64_t seq_len = 1024;
  std::int64_t heads = 12;
};

void declare(OptionSet& options, Params& p) {
  options.integer("layers", p.layers, 1, 1 << 20, "blocks");
  options.integer("d-model", p.d_model, 1, 1 << 24, "width of the model").short_form('d');
  options.integer("vocab", p.vocab, 1, 1 << 30, "rows of the token table");
  options.integer("seq-len", p.seq_len, 1, 1 << 30, "positions, learned").short_form('T');
  options.integer("heads", p.heads, 1, 1 << 20, "heads of a block");
}

Report run(const Params& p, const Context&) {
  Report report("Parameters and compute of a decoder");
  const Int128 d = p.d_model;
  const Int128 layers = p.layers;
  const Int128 attention = 4 * d * d + 4 * d;
  const Int128 mlp = 2 * d * (4 * d) + 4 * d + d;
  const Int128 norms = 2 * 2 * d;
  const Int128 block = attention + mlp + norms;
  const Int128 embedding = p.vocab * d + p.seq_len * d;
  const Int128 total = layers * block + embedding + 2 * d;
  const Int128 six_n = 6 * layers * block;
  const Int128 attention_flops = 6 * layers * p.seq_len * d;
  const Int128 kv_bytes = 2 * layers * p.seq_len * d * 2;
  const Int128 score_entries = Int128{p.seq_len} * p.seq_len;
  const auto giga = [](Int128 flops) { return static_cast<double>(flops) / 1e9; };
  report.line(fmt::format("per block: attention {}, MLP {}, norms {} -> {}", with_thousands(attention),
                          with_thousands(mlp), with_thousands(norms), with_thousands(block)));
  report.line(fmt::format("embeddings {};  total {} parameters (about {:.0f} M)", with_thousands(embedding),
                          with_thousands(total), static_cast<double>(total) / 1e6));
  report.line(fmt::format(
      "training compute per token is about 6N = {:.2f} GFLOPs, plus attention scores 6*L*T*d = {:.2f} GFLOPs",
      giga(six_n), giga(attention_flops)));
  report.line(fmt::format("KV cache for one {}-token sequence in 16-bit: {:.0f} MiB",
                          with_thousands(p.seq_len), static_cast<double>(kv_bytes) / 1048576));
  report.line(fmt::format(
      "attention score matrix per head per layer at T = {}: {} entries; at T = 32,768: 1,073,741,824",
      with_thousands(p.seq_len), with_thousands(score_entries)));
  report.value("attention", attention).value("mlp", mlp).value("norms", norms).value("per_block", block);
  report.value("embedding", embedding).value("total", total).value("six_n", six_n);
  report.value("attention_6LTd", attention_flops)
      .value("kv_bytes", kv_bytes)
      .value("score_entries", score_entries);
  return report;
}

}  // namespace

Experiment params_experiment() {
  return make_experiment<Params>(
      {.name = "params",
       .title = "Parameters and compute of a decoder",
       .summary = "parameters, FLOPs and cache bytes of a model",
       .section = "Costs: quadratic attention and the KV cache",
       .source = "Radford et al. 2019; Kaplan et al. 2020, section 2.1",
       .purpose =
           "Counts the parameters of a GPT-2-sized decoder, its training compute per token and its cache.",
       .examples = {"attnlab params", "attnlab params --layers 48 --d-model 1600 --heads 25",
                    "attnlab params --format json"},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
