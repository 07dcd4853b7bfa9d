#include "accounting/parameters.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

Int128 times(Int128 a, Int128 b) { return checked_multiply(a, b, "the number of parameters"); }
Int128 plus(Int128 a, Int128 b) { return checked_add(a, b, "the number of parameters"); }

Component outside_blocks(const Weight& weight, const std::string& stack) {
  Component row{
      weight.name, stack, weight.part, weight.shape, weight.use, 0, weight.copies, weight.active, 0, 0, 0, 0};
  row.per_layer = times(elements_of(weight), weight.copies);
  row.parameters = row.per_layer;
  row.active_once = times(elements_of(weight), weight.active);
  row.visited = row.active_once;
  return row;
}

/// Rows of one stack's blocks: weights of the same name and shape in different layers share a row.
class BlockRows {
 public:
  explicit BlockRows(std::string stack) : stack_(std::move(stack)) {}

  void add(const std::vector<Weight>& weights, Int128 layers, Int128 uses) {
    for (const Weight& weight : weights) {
      Component& row = find(weight);
      const Int128 one = elements_of(weight);
      row.layers += static_cast<std::int64_t>(layers);
      row.per_layer = times(one, weight.copies);
      row.parameters = plus(row.parameters, times(row.per_layer, layers));
      const Int128 active = times(one, weight.active);
      row.active_once = plus(row.active_once, times(active, layers));
      row.visited = plus(row.visited, times(active, times(layers, uses)));
    }
  }
  const std::vector<Component>& rows() const { return rows_; }

 private:
  using Key = std::tuple<std::string, std::vector<std::int64_t>, std::int64_t, std::int64_t>;

  Component& find(const Weight& weight) {
    const Key key{weight.name, weight.shape, weight.copies, weight.active};
    const auto [at, is_new] = places_.try_emplace(key, rows_.size());
    if (is_new) {
      rows_.push_back({weight.name, stack_, weight.part, weight.shape, weight.use, 0, weight.copies,
                       weight.active, 0, 0, 0, 0});
    }
    return rows_[at->second];
  }

  std::string stack_;
  std::vector<Component> rows_;
  std::map<Key, std::size_t> places_;
};

BlockParameters block_parameters(const std::vector<Weight>& weights) {
  BlockParameters block;
  for (const Weight& weight : weights) {
    const Int128 count = times(elements_of(weight), weight.copies);
    Int128& sum = weight.part == Part::attention ? block.attention
                  : weight.part == Part::norms   ? block.norms
                                                 : block.mlp;
    sum = plus(sum, count);
  }
  return block;
}

/// The parameters of one block, while all blocks seen have the same.
class CommonBlock {
 public:
  void see(const BlockParameters& block) {
    if (!first_) first_ = block;
    const bool same =
        block.attention == first_->attention && block.mlp == first_->mlp && block.norms == first_->norms;
    alike_ = alike_ && same;
  }
  std::optional<BlockParameters> common() const { return alike_ ? first_ : std::nullopt; }

 private:
  std::optional<BlockParameters> first_;
  bool alike_ = true;
};

void count_stack(const Stack& stack, std::int64_t d_model, ParameterCount& count, CommonBlock& common) {
  BlockRows rows(stack.name);
  for (auto layer = stack.layers.begin(); layer != stack.layers.end();) {
    // Most stacks repeat one layer: count it once for the whole run.
    const auto end =
        std::find_if(layer, stack.layers.end(), [&](const Layer& next) { return next != *layer; });
    const std::vector<Weight> weights = layer_weights(*layer, d_model);
    rows.add(weights, end - layer, layer->uses);
    common.see(block_parameters(weights));
    layer = end;
  }
  count.blocks = 0;
  for (const Component& row : rows.rows()) {
    count.blocks = plus(count.blocks, row.visited);
    count.components.push_back(row);
  }
  for (const Weight& weight : stack.weights) count.components.push_back(outside_blocks(weight, stack.name));
}

/// Scales of a matrix stored in FP8: one for each 128 x 128 block.
Int128 block_scales(const std::vector<std::int64_t>& shape) {
  Int128 scales = 1;
  for (const std::int64_t size : shape) scales = times(scales, (size + 127) / 128);
  return scales;
}

/// Scales of the quantized matrices of one layer: all but the router.
Int128 layer_scales(const std::vector<Weight>& weights) {
  Int128 scales = 0;
  for (const Weight& weight : weights) {
    const bool quantized = weight.use == Use::product && weight.part != Part::router;
    if (quantized) scales = plus(scales, times(block_scales(weight.shape), weight.copies));
  }
  return scales;
}

Int128 layer_parameters(const std::vector<Weight>& weights) {
  Int128 sum = 0;
  for (const Weight& weight : weights) sum = plus(sum, times(elements_of(weight), weight.copies));
  return sum;
}

/// One more layer, a [d, 2d] projection, three norms, and copies of the token table and the output matrix.
Int128 prediction_module(const Architecture& a) {
  const Int128 d = a.d_model;
  const Int128 module = layer_parameters(layer_weights(a.main_stack().layers.back(), a.d_model)) +
                        times(2 * d, d) + 3 * d + times(2 * Int128{a.vocab}, d);
  return times(module, a.prediction_layers);
}

Int128 quantization_scales(const Architecture& a) {
  Int128 scales = 0;
  for (const Layer& layer : a.main_stack().layers) {
    scales = plus(scales, layer_scales(layer_weights(layer, a.d_model)));
  }
  const Int128 last = layer_scales(layer_weights(a.main_stack().layers.back(), a.d_model));
  return plus(scales, times(last, a.prediction_layers));
}

Int128 rows_of(const Architecture& a, std::string_view name) {
  for (const Weight& weight : a.input) {
    if (weight.name == name) return weight.shape[0];
  }
  return 0;
}

class Variants {
 public:
  explicit Variants(Int128 total) : total_(total) {}
  void add(std::string reason, Int128 added, bool exact = true) {
    list.push_back({std::move(reason), added, plus(total_, added), exact});
  }
  std::vector<StoredVariant> list;

 private:
  Int128 total_;
};

void add_bert_variants(Variants& variants, const Architecture& a) {
  const Int128 d = a.d_model;
  const Int128 pooler = d * d + d;
  const Int128 masked_lm_head = d * d + 3 * d + a.vocab;
  const Int128 next_sentence = 2 * d + 2;
  if (a.model_class == "BertForMaskedLM") {
    variants.add("the published files hold the pre-training class: pooler and next-sentence head too",
                 pooler + next_sentence);
  } else if (a.model_class == "BertModel") {
    variants.add("the published files hold the pre-training class: masked-token and next-sentence heads too",
                 masked_lm_head + next_sentence);
  }
  variants.add("files written before 2023 also hold the position numbers (integers)",
               rows_of(a, "embedding.position.weight"));
}

}  // namespace

ParameterCount count_parameters(const Architecture& a) {
  ParameterCount count;
  for (const Weight& weight : a.input) count.components.push_back(outside_blocks(weight, ""));
  CommonBlock common;
  for (const Stack& stack : a.stacks) count_stack(stack, a.d_model, count, common);
  for (const Weight& weight : a.output) count.components.push_back(outside_blocks(weight, ""));
  for (const Component& row : count.components) {
    count.total = plus(count.total, row.parameters);
    count.active = plus(count.active, row.active_once);
    if (row.part == Part::embedding) count.embedding = plus(count.embedding, row.parameters);
    if (row.part == Part::lm_head) count.lm_head = plus(count.lm_head, row.parameters);
  }
  count.per_block = common.common();
  return count;
}

std::vector<StoredVariant> stored_variants(const Architecture& a) {
  Variants variants(count_parameters(a).total);
  const Int128 d = a.d_model;
  const Layer& layer = a.main_stack().layers.front();
  const Int128 layers = static_cast<std::int64_t>(a.main_stack().layers.size());
  const Int128 positions = a.max_positions;
  const std::string& type = a.model_type;
  const bool decoder_only = a.stacks.size() == 1 && layer.attention.causal;
  if (decoder_only && a.has_lm_head && a.tied) {
    variants.add("some files store the tied matrix a second time as lm_head.weight (Falcon-7B, Qwen3-0.6B)",
                 times(a.vocab, d));
  }
  if (type == "gpt2") {
    variants.add("the hub's files hold each layer's causal mask, a buffer of positions x positions",
                 times(layers, times(positions, positions)));
  }
  if (type == "gpt_neox") {
    variants.add("the hub's files hold each layer's causal mask, and small rotary buffers not counted here",
                 times(layers, times(positions, positions)), false);
  }
  if (type == "llama") {
    variants.add(
        "files converted before August 2023 (Llama-2) hold the rotary frequencies, head_dim / 2 a layer",
        times(layers, layer.attention.key_dim / 2));
  }
  if (type == "gptj") {
    variants.add("the original program counts norms and output biases on each of 8 shards",
                 7 * (layers * 3 * d + 2 * d) + 8 * d);
  }
  if (type == "bert") add_bert_variants(variants, a);
  if (type == "roberta") {
    variants.add("the file also holds the position numbers (integers)",
                 rows_of(a, "embedding.position.weight"));
  }
  if (type == "xlm-roberta" && a.model_class == "XLMRobertaForMaskedLM") {
    variants.add("the published file also holds the pooler", d * d + d);
  }
  if (type == "t5" || type == "mt5") {
    variants.add("older files hold an unused relative bias table of the decoder's cross-attention",
                 times(a.stacks.front().layers.front().attention.position_buckets, layer.attention.heads));
  }
  if (type == "whisper") {
    for (const Weight& weight : a.stacks.front().weights) {
      if (weight.part != Part::embedding) continue;
      variants.add("the original program keeps the encoder's positions as a buffer", -elements_of(weight));
    }
  }
  if (a.prediction_layers > 0) {
    const Int128 module = prediction_module(a);
    variants.add("with the module that predicts later tokens and its copies of both vocabulary matrices",
                 module);
    variants.add("with that module and, as published in FP8, one scale for each 128 x 128 block",
                 plus(module, quantization_scales(a)));
  }
  return variants.list;
}

std::int64_t padded_vocabulary(std::int64_t vocab, std::int64_t multiple) {
  if (multiple < 1) {
    throw Error(ErrorKind::usage,
                fmt::format("the vocabulary is padded to a multiple of at least 1, not {}", multiple));
  }
  const Int128 padded = (Int128{vocab} + multiple - 1) / multiple * multiple;
  if (padded > INT64_MAX)
    throw Error(ErrorKind::usage, "the padded vocabulary is beyond 63 bits: choose a smaller multiple");
  return static_cast<std::int64_t>(padded);
}

std::int64_t swiglu_width(std::int64_t d_model, std::int64_t multiple_of) {
  if (d_model < 1) throw Error(ErrorKind::usage, fmt::format("d_model must be at least 1, not {}", d_model));
  const Int128 width = Int128{8} * d_model / 3;
  if (width > INT64_MAX)
    throw Error(ErrorKind::usage, "the width is beyond 63 bits: choose a smaller d_model");
  return padded_vocabulary(static_cast<std::int64_t>(width), multiple_of);
}

}  // namespace attnlab
