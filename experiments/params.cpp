// Parameters, work and memory of a model: the lesson's fourth listing, and the same for any config.json.
//
// Without --config and --model it counts the lesson's GPT-2 small. All figures come from src/accounting; this
// file only chooses the model and tells the figures.
//
// Source: Radford et al. 2019 (GPT-2); Kaplan et al. 2020, section 2.1, for 6 N; Chowdhery et al. 2022,
// appendix B, for 12 L T d; Korthikanti et al. 2022, equation 2, for activations.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "experiments/all.hpp"
#include "io/input.hpp"
#include "lab/counted_model.hpp"
#include "lab/embedded_files.hpp"
#include "lab/model_tables.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::string config;
  std::string model;
  std::string as;
  std::string compare;
  std::string weights;
  std::string emit = "account";
  WhatIf what_if;
  std::string tied = "as-is";
  std::optional<std::int64_t> pad_vocab_to;
  std::optional<std::int64_t> seq_len;
  std::int64_t batch = 1;
  std::int64_t bits = 16;
  std::int64_t weight_bits = 16;
  std::optional<double> budget_gib;
  std::optional<std::int64_t> train_tokens;
  double gpu_flops = 989.4e12;  // an H100's dense bfloat16 products
  double utilisation = 0.4;
  std::optional<std::int64_t> expect;
  bool stored = false;

  /// The lesson's own model: GPT-2 small, as long as its positions.
  bool is_lesson() const { return config.empty() && model.empty(); }
};

/// A size that the chosen model gives unless the option does; `lessons_own` is that of GPT-2 small.
void declare_size(OptionSet& options, const Params& p, const std::string& name,
                  std::optional<std::int64_t>& field, std::int64_t min, std::int64_t max,
                  const std::string& help, std::optional<std::int64_t> lessons_own = {}, char letter = 0) {
  Option& option = options.integer(name, field, min, max, help + "; the model's own unless given");
  option.letter = letter;
  option.get = [&p, &field, lessons_own]() -> Value {
    if (field) return *field;
    return p.is_lesson() && lessons_own ? Value{*lessons_own} : Value{};
  };
}

void declare(OptionSet& options, Params& p) {
  constexpr std::int64_t largest = std::int64_t{1} << 30;
  WhatIf& what_if = p.what_if;
  options.file("config", p.config, "a Hugging Face config.json to count");
  options.text("model", p.model, "MODEL", "an embedded model to count; list shows them");
  options.text("as", p.as, "FAMILY", "count the config as this family, and say so");
  options.text("compare", p.compare, "FILE|MODEL", "a second model beside it");
  declare_size(options, p, "layers", what_if.layers, 1, 100000, "blocks", 12);
  declare_size(options, p, "d-model", what_if.d_model, 1, largest, "width of the model", 768, 'd');
  declare_size(options, p, "heads", what_if.heads, 1, largest, "heads of a block", 12);
  declare_size(options, p, "kv-heads", what_if.kv_heads, 1, largest, "key heads of a block", 12);
  declare_size(options, p, "head-dim", what_if.head_dim, 1, largest, "width of a head", 64);
  declare_size(options, p, "ffn", what_if.ffn, 1, largest, "width of the MLP", 3072);
  declare_size(options, p, "vocab", what_if.vocab, 1, largest, "rows of the token table", 50257);
  declare_size(options, p, "positions", what_if.positions, 1, largest, "longest sequence", 1024);
  declare_size(options, p, "experts", what_if.experts, 1, largest, "routed experts of a block");
  declare_size(options, p, "experts-per-token", what_if.experts_per_token, 1, largest,
               "experts a token visits");
  declare_size(options, p, "window", what_if.window, 0, largest, "keys a token may see, 0 for all");
  options.choice("tied", p.tied, {"as-is", "yes", "no"}, "whether the output matrix is the token table");
  options.integer("pad-vocab-to", p.pad_vocab_to, 1, largest,
                  "round the vocabulary up to a multiple of this");
  declare_size(options, p, "seq-len", p.seq_len, 1, largest,
               "tokens of a sequence (1024 or the model's limit)", 1024, 'T');
  options.integer("batch", p.batch, 1, largest, "sequences");
  options.integer("bits", p.bits, 1, 64, "of a number in the cache");
  options.integer("weight-bits", p.weight_bits, 0, 64, "of a weight, beside the cache in the budget");
  options.real("budget-gib", p.budget_gib, 0, 1e9,
               "memory in GiB: the longest context that fits beside the weights");
  options.integer("train-tokens", p.train_tokens, 1, INT64_MAX, "tokens to train on: FLOPs and GPU hours");
  options.real("gpu-flops", p.gpu_flops, 1, 1e30, "FLOPs a second of one GPU");
  options.real("utilisation", p.utilisation, 1e-6, 1, "share of it that training reaches");
  options.flag("stored", p.stored, "what files and the hub show instead, and why");
  options.file("weights", p.weights, "a .safetensors file or index.json whose tensors should be the model's");
  options.integer("expect", p.expect, 0, INT64_MAX, "exit 1 unless the total is this");
  options.choice("emit", p.emit, {"account", "config"}, "account: all figures; config: the sizes as read");
}

// The model.

CountedModel load(const Params& p, const WhatIf& what_if) {
  if (!p.config.empty() && !p.model.empty()) {
    throw Error(ErrorKind::usage, "--config and --model: give one of them");
  }
  const ConfigOptions options{p.as, what_if};
  if (!p.config.empty()) return count_model_file(p.config, options);
  return count_embedded_model(p.model.empty() ? "gpt2" : p.model, options);
}

/// The sizes to set: those given, the tie, a padded vocabulary, and in the lesson as many positions as
/// tokens.
WhatIf changes(const Params& p) {
  WhatIf what_if = p.what_if;
  if (p.tied != "as-is") what_if.tied = p.tied == "yes";
  if (p.is_lesson() && p.seq_len && !what_if.positions) what_if.positions = p.seq_len;
  if (p.pad_vocab_to) {
    const std::int64_t vocab = load(p, what_if).config.architecture.vocab;
    if (vocab == 0) throw Error(ErrorKind::usage, "--pad-vocab-to: the model has no token table");
    what_if.vocab = padded_vocabulary(vocab, *p.pad_vocab_to);
  }
  return what_if;
}

Workload workload_of(const Params& p, const Architecture& a) {
  Workload workload;
  workload.seq_len = p.seq_len.value_or(usual_seq_len(a));
  workload.batch = p.batch;
  workload.cache_bits = p.bits;
  workload.weight_bits = p.weight_bits;
  if (p.budget_gib) workload.budget = static_cast<Int128>(*p.budget_gib * 1073741824.0);
  workload.train_tokens = p.train_tokens;
  return workload;
}

// Telling it.

/// The lesson's text, to the letter.
void tell_lesson(Report& report, const ParameterCount& count, const std::vector<AccountGroup>& account,
                 std::int64_t seq_len) {
  const auto figure = [&](const char* name) { return find_figure(account, name)->value; };
  const auto giga = [](Int128 flops) { return static_cast<double>(flops) / 1e9; };
  const BlockParameters block = count.per_block.value();
  report.line(fmt::format("per block: attention {}, MLP {}, norms {} -> {}", with_thousands(block.attention),
                          with_thousands(block.mlp), with_thousands(block.norms),
                          with_thousands(block.total())));
  report.line(fmt::format("embeddings {};  total {} parameters (about {:.0f} M)",
                          with_thousands(count.embedding), with_thousands(count.total),
                          static_cast<double>(count.total) / 1e6));
  report.line(fmt::format(
      "training compute per token is about 6N = {:.2f} GFLOPs, plus attention scores 6*L*T*d = {:.2f} GFLOPs",
      giga(figure("six_n")), giga(figure("attention_6LTd"))));
  report.line(fmt::format("KV cache for one {}-token sequence in 16-bit: {:.0f} MiB", with_thousands(seq_len),
                          static_cast<double>(figure("kv_bytes")) / 1048576));
  report.line(fmt::format(
      "attention score matrix per head per layer at T = {}: {} entries; at T = 32,768: 1,073,741,824",
      with_thousands(seq_len), with_thousands(figure("score_entries"))));
}

void tell_hours(Report& report, const Params& p, const std::vector<AccountGroup>& account) {
  const Quantity* compute = find_figure(account, "training_compute");
  if (compute == nullptr) return;
  const double hours = gpu_hours(compute->value, p.gpu_flops, p.utilisation);
  report.value("gpu_hours", hours);
  if (!p.is_lesson()) {
    report.line("").line(
        fmt::format("{:.4g} FLOPs are {:.6g} GPU hours at {:.4g} FLOP/s and {:.3g} utilisation",
                    compute->real(), hours, p.gpu_flops, p.utilisation));
  }
  report.explain(fmt::format(
      "gpu_hours = FLOPs / (FLOP/s x utilisation x 3600) = {} / ({:.6g} x {:.3g} x 3600) = {:.6g}",
      with_thousands(compute->value), p.gpu_flops, p.utilisation, hours));
}

void add_comparison(Report& report, const Params& p, const CountedModel& model,
                    const std::vector<AccountGroup>& account, const CountedModel& other) {
  const Architecture& a = other.config.architecture;
  const auto other_account = account_for(a, other.count, workload_of(p, a));
  report.table(side_by_side("compare", fmt::format("{} beside {}", model.name, other.name), account,
                            model.name, other_account, other.name));
}

/// What the changed sizes change, beside the model as it is.
void add_change(Report& report, const Params& p, const std::vector<AccountGroup>& account) {
  const CountedModel before = load(p, {});
  const Architecture& a = before.config.architecture;
  report.table(side_by_side("change", "What the changed sizes change",
                            account_for(a, before.count, workload_of(p, a)), before.name, account,
                            "changed"));
}

CheckpointComparison compare_weights(const Params& p, const CountedModel& model) {
  try {
    return compare_checkpoint(model.config, read_stored_tensors(p.weights));
  } catch (const Error& error) {
    // What is wrong in a file is no wrong use of the command line.
    if (error.kind() == ErrorKind::data) throw Error(ErrorKind::io, error.what());
    throw;
  }
}

void tell_weights(Report& report, const Params& p, const CountedModel& model) {
  const CheckpointComparison result = compare_weights(p, model);
  const std::string text =
      fmt::format("{}: {} tensors match, {} missing, {} extra, {} of another shape; {} numbers stored",
                  input_name(p.weights), result.matched, result.missing.size(), result.extra.size(),
                  result.other_shape.size(), with_thousands(result.stored_elements));
  report.value("stored_elements", result.stored_elements);
  report.value("tensors_matched", static_cast<std::int64_t>(result.matched));
  report.value("tensors_missing", static_cast<std::int64_t>(result.missing.size()));
  report.value("tensors_extra", static_cast<std::int64_t>(result.extra.size()));
  report.value("tensors_other_shape", static_cast<std::int64_t>(result.other_shape.size()));
  report.line("").line(text);
  Table table = tensors_table(result);
  if (!table.rows.empty()) report.table(std::move(table));
  if (!result.agrees()) report.disagree(text);
}

Report list_models() {
  Report report("Embedded models");
  Table table{
      "models",
      "",
      {{"model"}, {"family"}, {"total"}, {"embedding"}, {"lm_head"}, {"active"}, {"kv_bytes_per_token"}}};
  for (const std::string& name : embedded_model_names()) {
    const CountedModel model = count_embedded_model(name);
    const ParameterCount& c = model.count;
    table.rows.push_back({name, model.config.architecture.model_type, c.total, c.embedding, c.lm_head,
                          c.active, 2 * cache_elements_per_token(model.config.architecture)});
  }
  return report.table(std::move(table));
}

Report emit_config(const CountedModel& model) {
  const Architecture& a = model.config.architecture;
  const AttentionShape& attention = a.main_stack().layers.front().attention;
  Report report("Sizes as read");
  const auto add = [&](const char* name, const Value& value, const std::string& text) {
    report.value(name, value).line(fmt::format("{:<12} {}", name, text));
  };
  const auto add_size = [&](const char* name, std::int64_t size) { add(name, size, std::to_string(size)); };
  add_size("d_model", a.d_model);
  add_size("layers", static_cast<std::int64_t>(a.main_stack().layers.size()));
  add_size("heads", attention.heads);
  add_size("kv_heads", attention.kv_heads);
  add_size("head_dim", attention.key_dim);
  add_size("vocab", a.vocab);
  add_size("ffn", model.config.ffn);
  if (!a.rotary.type.empty()) {
    add("rope_type", a.rotary.type, a.rotary.type);
    add("rope_theta", a.rotary.theta, fmt::format("{}", a.rotary.theta));
    add("rope_factor", a.rotary.factor, fmt::format("{}", a.rotary.factor));
  }
  return report.data(defaults_table(model.config));
}

// Claims.

Int128 weights_of_2017(const char* sizes) {
  // BART's blocks are those of the first Transformer; it had no position table and no norm of the embedding.
  const std::string text = fmt::format(
      "{{\"model_type\": \"bart\", \"vocab_size\": 37000, \"max_position_embeddings\": 1, {}}}", sizes);
  Architecture a = read_model_config(text, "the 2017 Transformer").architecture;
  for (Stack& stack : a.stacks) stack.weights.clear();
  return count_parameters(a).total;
}

/// Models whose four figures are the published ones.
int agreeing_models() {
  int agreeing = 0;
  std::string_view rows = embedded_file("models/expected.csv");
  rows.remove_prefix(rows.find('\n') + 1);
  while (!rows.empty()) {
    const std::string_view row = rows.substr(0, rows.find('\n'));
    rows.remove_prefix(std::min(row.size() + 1, rows.size()));
    const std::string name(row.substr(0, row.find(',')));
    const CountedModel model = count_embedded_model(name);
    const ParameterCount& c = model.count;
    const std::string ours =
        fmt::format("{},{},{},{},{},", name, to_string(c.total), to_string(c.embedding + c.lm_head),
                    to_string(c.active), to_string(2 * cache_elements_per_token(model.config.architecture)));
    agreeing += row.starts_with(ours) ? 1 : 0;
  }
  return agreeing;
}

// Text read left to right, text read whole, and images: twelve of the same block between ends of their own.
void check_one_architecture(Report& report, const Context& context) {
  struct Ends {
    const char* model;
    double parameters;  // all but the blocks, summed by hand
  };
  // Text: tokens and positions, final norm. Images: patches, class token and positions, final norm, 1,000
  // classes.
  const double text_ends = 50257 * 768 + 1024 * 768 + 2 * 768;
  const double image_ends = (768 * 768 + 768) + 768 + 197 * 768 + 2 * 768 + (768 * 1000 + 1000);
  const double left_out = context.breaks("no-biases") ? 9 * 768 : 0;
  for (const Ends& ends : {Ends{"gpt2", text_ends}, Ends{"vit-base-patch16-224", image_ends}}) {
    const CountedModel model = count_embedded_model(ends.model);
    const double block = static_cast<double>(model.count.per_block.value().total()) - left_out;
    report.check({.id = "same-block", .label = ends.model, .measured = block, .expected = 7087872});
    report.check({.id = "own-ends",
                  .label = ends.model,
                  .measured = static_cast<double>(model.count.total) - 12 * block,
                  .expected = ends.parameters});
  }
}

void add_claims(Report& report, const Context& context) {
  const CountedModel gpt2 = count_embedded_model("gpt2");
  const auto account = account_for(gpt2.config.architecture, gpt2.count, {});
  const auto figure = [&](const char* name) { return find_figure(account, name)->real(); };
  const bool twice = context.breaks("tied-matrix-twice");
  const double again = twice ? 50257.0 * 768 : 0;
  const double six_n = context.breaks("tables-in-n") ? figure("six_n_total") : figure("six_n");
  const double cache = context.breaks("keys-only") ? figure("kv_bytes") / 2 : figure("kv_bytes");
  const Int128 base = weights_of_2017(
      R"("d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
         "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048)");
  const Int128 big = weights_of_2017(
      R"("d_model": 1024, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 16,
         "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096)");
  // From here a full score matrix costs what 6 N does.
  const double crossover = six_n / (figure("attention_full_training") / 1024);
  const auto published = [&](const char* label, Int128 ours, double paper) {
    const double doubled = twice ? 2 : 1;
    report.check({.id = "first-transformer",
                  .label = label,
                  .measured = static_cast<double>(ours) * doubled,
                  .expected = paper,
                  .tolerance = 0.005 * paper,
                  .near_tolerance = 0.04 * paper,
                  .reason = "the paper rounds, and does not say what it counts"});
  };
  report.check(
      {.id = "gpt2-total", .measured = static_cast<double>(gpt2.count.total) + again, .expected = 124439808});
  report.check({.id = "published-models", .measured = twice ? 0.0 : agreeing_models(), .expected = 56});
  report.check({.id = "six-n", .measured = six_n, .expected = 510326784});
  report.check({.id = "crossover", .measured = crossover, .expected = 4608, .tolerance = 10});
  report.check({.id = "cache-36-mib", .measured = cache, .expected = 36 * 1048576.0});
  published("base", base, 65e6);
  published("big", big, 213e6);
  check_one_architecture(report, context);
}

void explain(Report& report, const CountedModel& model, const std::vector<AccountGroup>& account) {
  for (const Component& component : model.count.components) report.explain(explained(component));
  for (const AccountGroup& group : account) {
    for (const Quantity& quantity : group.quantities) report.explain(explained(quantity));
  }
}

/// Tables that text shows for a model asked for, and not with the lesson's listing.
void add_tables(Report& report, const Params& p, const CountedModel& model,
                const std::vector<AccountGroup>& account) {
  const auto add = [&report](Table table, bool in_text) {
    if (in_text) {
      report.table(std::move(table));
    } else {
      report.data(std::move(table));
    }
  };
  const bool asked_for = !p.is_lesson();
  add(account_table(account), false);
  add(component_table(model.count), asked_for);
  add(defaults_table(model.config), asked_for && !model.config.defaults.empty());
  add(stored_table(model.config.architecture), p.stored);
}

Report run(const Params& p, const Context& context) {
  if (p.model == "list") return list_models();
  const WhatIf what_if = changes(p);
  const CountedModel model = load(p, what_if);
  if (p.emit == "config") return emit_config(model);
  const Architecture& a = model.config.architecture;
  const Workload workload = workload_of(p, a);
  const auto account = account_for(a, model.count, workload);

  Report report("Parameters, work and memory of a model");
  std::vector<CountedModel> bars = {model};
  if (p.is_lesson()) {
    tell_lesson(report, model.count, account, workload.seq_len);
    add_claims(report, context);
    for (const char* larger : {"gpt2-medium", "gpt2-large"}) bars.push_back(count_embedded_model(larger));
  } else {
    for (std::string& line : model_lines(model, account, workload.seq_len)) report.line(std::move(line));
  }
  for (const AccountGroup& group : account) {
    for (const Quantity& quantity : group.quantities) report.value(quantity.name, value_of(quantity));
  }
  if (p.pad_vocab_to) {
    WhatIf unpadded = what_if;
    unpadded.vocab = p.what_if.vocab;
    report.value("padded_vocab", a.vocab);
    report.value("added", model.count.total - load(p, unpadded).count.total);
  }
  tell_hours(report, p, account);
  add_tables(report, p, model, account);
  if (!p.is_lesson() && !what_if.empty()) add_change(report, p, account);
  if (!p.compare.empty()) {
    bars.push_back(is_embedded_model(p.compare) ? count_embedded_model(p.compare)
                                                : count_model_file(p.compare));
    add_comparison(report, p, model, account, bars.back());
  }
  report.data(parts_table(bars)).figure(parts_figure(bars));
  if (!p.weights.empty()) tell_weights(report, p, model);
  if (p.expect && model.count.total != *p.expect) {
    report.disagree(fmt::format("--expect: the total is {}, not {}", with_thousands(model.count.total),
                                with_thousands(*p.expect)));
  }
  explain(report, model, account);
  return report;
}

}  // namespace

Experiment params_experiment() {
  return make_experiment<Params>(
      {.name = "params",
       .title = "Parameters, work and memory of a model",
       .summary = "parameters, FLOPs and cache bytes of a model",
       .section = "Costs: quadratic attention and the KV cache",
       .source = "Radford et al. 2019; Kaplan et al. 2020, section 2.1; Chowdhery et al. 2022, appendix B",
       .purpose =
           "Counts a model from its config.json, to the last digit and by component: parameters, FLOPs by "
           "every "
           "convention in use, the key-value cache, attention scores and the memory of training. Without "
           "--config "
           "and --model it is the lesson's GPT-2 small. Any size can be changed to see what that changes.",
       .examples = {"attnlab params", "attnlab params --model llama-3-8b --kv-heads 32",
                    "attnlab params --model deepseek-v3 --compare llama-3.1-405b --format csv"},
       .claims =
           {{"gpt2-total",
             "GPT-2 small has 124,439,808 parameters, a quarter of its file's 497,759,232 bytes",
             "the checkpoint of Radford et al. 2019"},
            {"published-models",
             "all 56 embedded models have their published total, embedding, active and cache figures",
             "checkpoints and model cards, named in models/expected.csv"},
            {"six-n", "6 N is 0.51 GFLOPs a token where N counts the blocks alone", "Kaplan et al. 2020"},
            {"crossover", "full attention costs as much as 6 N from T = 6 d on, a few thousand tokens"},
            {"cache-36-mib", "the cache of 1,024 tokens in 16 bits takes 36 MiB"},
            {"first-transformer", "the 2017 models count 63 and 214 million where the paper says 65 and 213",
             "Vaswani et al. 2017, table 3"},
            {"same-block",
             "a block of GPT-2 small, which reads text, and one of ViT-Base, which reads images, have the "
             "same 7,087,872 parameters",
             "Dosovitskiy et al. 2021, table 1"},
            {"own-ends",
             "beyond twelve such blocks they differ in embedding, final norm and classifier alone",
             "Dosovitskiy et al. 2021, section 3.1"}},
       .breakages = {{"tied-matrix-twice", "the tied output matrix is counted a second time"},
                     {"tables-in-n", "N takes in the embedding tables"},
                     {"keys-only", "the cache holds keys and no values"},
                     {"no-biases", "the biases of a block are left out"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments
