#include "accounting/config.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "accounting/config_keys.hpp"
#include "accounting/families.hpp"
#include "core/error.hpp"
#include "io/json.hpp"

namespace attnlab {
namespace {

constexpr std::int64_t most_layers = 100000;

/// What stands after the blocks, told by the end of the class name.
enum class Head {
  none,
  encoder_only,
  language_model,
  masked_tokens,
  pre_training,
  sequence,
  tokens,
  span,
  image
};

struct ClassEnding {
  std::string_view ending;
  Head head;
};

constexpr ClassEnding class_endings[] = {
    {"ForCausalLM", Head::language_model},
    {"LMHeadModel", Head::language_model},
    {"ForConditionalGeneration", Head::language_model},
    {"ForMaskedLM", Head::masked_tokens},
    {"ForPreTraining", Head::pre_training},
    {"ForSequenceClassification", Head::sequence},
    {"ForTokenClassification", Head::tokens},
    {"ForQuestionAnswering", Head::span},
    {"ForImageClassification", Head::image},
    {"EncoderModel", Head::encoder_only},
    {"Model", Head::none},
};

/// Which heads a family can have.
bool fits(Head head, const Family& family) {
  switch (family.form) {
    case Form::decoder:
      return head == Head::none || head == Head::language_model || head == Head::sequence;
    case Form::encoder:
      if (head == Head::pre_training) return family.sentence_head;
      return head != Head::encoder_only && head != Head::language_model && head != Head::image;
    case Form::encoder_decoder:
      return head == Head::none || head == Head::encoder_only || head == Head::language_model;
    case Form::vision:
      return head == Head::none || head == Head::image;
  }
  return false;
}

/// Sizes of one layer as the file gives them.
struct LayerSizes {
  PerLayer heads;
  PerLayer kv_heads;
  std::vector<std::int64_t> head_dim;
  PerLayer ffn;
};

/// Builds the architecture of one file, in the order its parts act.
class Builder {
 public:
  Builder(const Family& family, ConfigKeys& keys, const WhatIf& what_if)
      : family_(family), keys_(keys), what_if_(what_if) {}

  ModelConfig build() {
    read_class();
    refuse_idle_overrides();
    refuse_names_of_others();
    width_ = keys_.needed_or(what_if_.d_model, "--d-model", family_.keys.width, "the width of the model");
    model_.d_model = width_.value;
    if (!family_.keys.vocab.empty()) {
      model_.vocab =
          keys_.needed_or(what_if_.vocab, "--vocab", family_.keys.vocab, "the rows of the token table").value;
    }
    embedding_width_ = model_.d_model;
    if (!family_.keys.embedding_width.empty()) {
      if (const auto found = keys_.size(family_.keys.embedding_width)) embedding_width_ = found->value;
    }
    model_.tied = what_if_.tied.value_or(keys_.flag(family_.tied));
    switch (family_.form) {
      case Form::decoder:
        build_decoder();
        break;
      case Form::encoder:
        build_encoder();
        break;
      case Form::encoder_decoder:
        build_encoder_decoder();
        break;
      case Form::vision:
        build_vision();
        break;
    }
    read_rotary();
    result_.defaults = keys_.defaults_taken();
    result_.architecture = std::move(model_);
    result_.family = &family_;
    return std::move(result_);
  }

 private:
  // What other families call a size that this file leaves to its class: passing it over would look like an
  // answer.
  void refuse_names_of_others() const {
    const auto refuse = [&](std::string_view own, std::string_view others) {
      if (own.empty() || keys_.find(own) != nullptr || keys_.is_null(own)) return;
      for (const std::string_view name : words(others)) {
        if (keys_.find(name) != nullptr && !is_read(name))
          keys_.fail(name, fmt::format("{} calls this {}", family_.model_type, words(own).front()));
      }
    };
    for (const Family& other : families()) {
      refuse(family_.keys.kv_heads, other.keys.kv_heads);
      refuse(family_.keys.head_dim, other.keys.head_dim);
      refuse(family_.keys.ffn, other.keys.ffn);
      refuse(family_.moe.count, other.moe.count);
    }
  }

  // Whether this family reads a key, for whatever it means to it.
  bool is_read(std::string_view name) const {
    const Keys& k = family_.keys;
    const MoeKeys& m = family_.moe;
    for (const std::string_view aliases :
         {k.width, k.layers, k.heads, k.kv_heads, k.head_dim, k.ffn, k.vocab, k.positions, k.embedding_width,
          k.decoder_layers, k.decoder_heads, k.decoder_ffn, k.encoder_positions, m.count, m.per_token,
          m.width, m.shared_count, m.shared_width}) {
      const std::vector<std::string_view> own = words(aliases);
      if (std::find(own.begin(), own.end(), name) != own.end()) return true;
    }
    return false;
  }

  // What the command line says and this family has no place for: passing it over would look like an answer.
  void refuse_idle_overrides() {
    const auto refuse = [&](bool given, const char* option, const char* missing) {
      if (!given) return;
      throw Error(ErrorKind::usage, fmt::format("{}: {} has {}", option, family_.model_type, missing));
    };
    if (family_.moe.count.empty()) {
      refuse(what_if_.experts.has_value(), "--experts", "no experts");
      refuse(what_if_.experts_per_token.has_value(), "--experts-per-token", "no experts");
    }
    if (family_.form == Form::vision) {
      refuse(what_if_.vocab.has_value(), "--vocab", "no token table");
      refuse(what_if_.tied.has_value(), "--tied", "no token table");
      refuse(what_if_.positions.has_value(), "--positions", "one position for each patch of the image");
    }
  }

  // Heads.

  void read_class() {
    model_.model_type = family_.model_type;
    model_.model_class = family_.usual_class;
    const JsonValue* list = keys_.find("architectures");
    if (list == nullptr) {
      keys_.took("architectures", model_.model_class, "the usual class of the family");
    } else {
      const JsonValue::Array* names = list->array();
      const bool is_name = names != nullptr && !names->empty() && names->front().string() != nullptr;
      if (!is_name) keys_.fail("architectures", "a list of class names is needed");
      model_.model_class = *names->front().string();
    }
    for (const ClassEnding& known : class_endings) {
      if (!std::string_view(model_.model_class).ends_with(known.ending)) continue;
      head_ = known.head;
      if (fits(head_, family_)) return;
      break;
    }
    keys_.fail("architectures", fmt::format("the class {} of {} is not counted; one like {} is",
                                            model_.model_class, family_.model_type, family_.usual_class));
  }

  void output(std::string name, Part part, std::vector<std::int64_t> shape, Use use) {
    model_.output.push_back({std::move(name), part, std::move(shape), use});
  }
  void output_dense(const std::string& name, std::int64_t out, std::int64_t in, bool bias, Use use) {
    output(name + ".weight", Part::head, {out, in}, use);
    if (bias) output(name + ".bias", Part::head, {out}, Use::added);
  }

  /// The product with the vocabulary, its own matrix where it is not the token table.
  void add_vocabulary_head() {
    model_.has_lm_head = true;
    if (!model_.tied) output("lm_head.weight", Part::lm_head, {model_.vocab, embedding_width_}, Use::product);
  }

  std::int64_t labels() {
    if (const auto count = keys_.size("num_labels")) return count->value;
    if (const JsonValue* names = keys_.find("id2label"); names != nullptr && names->object() != nullptr) {
      return static_cast<std::int64_t>(names->object()->size());
    }
    keys_.took("num_labels", "2", "the class default");
    return 2;
  }

  void add_decoder_head() {
    if (head_ == Head::language_model) {
      add_vocabulary_head();
      if (family_.head_bias) output("lm_head.bias", Part::head, {model_.vocab}, Use::added);
    }
    if (head_ == Head::sequence) output_dense("classifier", labels(), model_.d_model, false, Use::sequence);
  }

  void add_pooler() { output_dense("pooler", model_.d_model, model_.d_model, true, Use::sequence); }

  /// A dense layer and a norm, as wide as the token table.
  void add_transform(Use use) {
    const bool bias = family_.norm == Norm::gain_and_bias;  // ModernBERT has neither this bias nor the norm's
    output_dense("transform", embedding_width_, model_.d_model, bias, use);
    output("transform_norm.weight", Part::head, {embedding_width_}, Use::added);
    if (bias) output("transform_norm.bias", Part::head, {embedding_width_}, Use::added);
  }

  void add_encoder_head() {
    const bool pooled = family_.pooler && (head_ == Head::none || head_ == Head::pre_training);
    if (pooled) add_pooler();
    if (head_ == Head::masked_tokens || head_ == Head::pre_training) {
      add_transform(Use::product);
      add_vocabulary_head();
      output("output.bias", Part::head, {model_.vocab}, Use::added);
    }
    if (head_ == Head::pre_training) output_dense("sentence_head", 2, model_.d_model, true, Use::sequence);
    if (head_ == Head::sequence || head_ == Head::tokens || head_ == Head::span) {
      const Use use = head_ == Head::sequence ? Use::sequence : Use::product;
      if (family_.classifier_transform) {
        add_transform(use);
      } else if (head_ == Head::sequence) {
        // RoBERTa and DistilBERT have a dense layer of the pooler's shape instead.
        output_dense(family_.sentence_head ? "pooler" : "classifier_dense", model_.d_model, model_.d_model,
                     true, use);
      }
      output_dense("classifier", head_ == Head::span ? 2 : labels(), model_.d_model, true, use);
    }
  }

  // Tables and stems.

  void input(std::string name, Part part, std::vector<std::int64_t> shape, Use use = Use::added) {
    model_.input.push_back({std::move(name), part, std::move(shape), use});
  }

  static void add_norm(std::vector<Weight>& weights, const std::string& name, std::int64_t width, Norm norm) {
    if (norm == Norm::none) return;
    weights.push_back({name + ".weight", Part::norms, {width}, Use::added});
    if (norm == Norm::gain_and_bias) weights.push_back({name + ".bias", Part::norms, {width}, Use::added});
  }

  void add_tables() {
    input("embedding.token.weight", Part::embedding, {model_.vocab, embedding_width_});
    if (family_.positions == Positions::learned) {
      const std::int64_t rows =
          keys_.needed_or(what_if_.positions, "--positions", family_.keys.positions, "the longest sequence")
              .value;
      input("embedding.position.weight", Part::embedding, {rows + family_.position_offset, table_width()});
      model_.max_positions = std::max<std::int64_t>(rows - family_.position_padding, 1);
    } else {
      read_max_positions();
    }
    if (family_.token_types) {
      const std::int64_t types = keys_.needed("type_vocab_size", "the rows of the token type table", 0).value;
      if (types > 0) input("embedding.type.weight", Part::embedding, {types, table_width()});
    }
    if (family_.embedding_norm) add_norm(model_.input, "embedding_norm", table_width(), family_.norm);
    if (embedding_width_ != model_.d_model) {
      const bool is_decoder = family_.form == Form::decoder;  // OPT's projections have no bias, ALBERT's has
      input("embedding_projection.weight", Part::stem, {model_.d_model, embedding_width_}, Use::product);
      if (!is_decoder) input("embedding_projection.bias", Part::stem, {model_.d_model});
    }
  }

  /// Positions are added after OPT's projection and before ALBERT's.
  std::int64_t table_width() const {
    return family_.form == Form::decoder ? model_.d_model : embedding_width_;
  }

  void read_max_positions() {
    if (what_if_.positions) {
      model_.max_positions = *what_if_.positions;
    } else if (const auto found = keys_.size(family_.keys.positions)) {
      model_.max_positions = found->value;
    }
  }

  // Layers.

  std::int64_t layer_count(std::string_view aliases) {
    const Sized layers = keys_.needed_or(what_if_.layers, "--layers", aliases, "the number of layers");
    if (layers.value > most_layers)
      keys_.fail(layers.origin, fmt::format("{} layers; at most {} are counted", layers.value, most_layers));
    return layers.value;
  }

  PerLayer alike(std::int64_t value, std::string origin, std::int64_t layers) const {
    return {std::vector<std::int64_t>(static_cast<std::size_t>(layers), value), std::move(origin)};
  }

  PerLayer per_layer_or(std::optional<std::int64_t> replacement, const char* option, std::string_view aliases,
                        const char* meaning, std::int64_t layers) {
    if (replacement) return alike(*replacement, option, layers);
    if (auto found = keys_.per_layer(aliases, layers)) return *std::move(found);
    keys_.needed(aliases, meaning);  // says that it is missing
    return {};
  }

  PerLayer read_kv_heads(const PerLayer& heads, std::int64_t layers) {
    if (what_if_.kv_heads) return alike(*what_if_.kv_heads, "--kv-heads", layers);
    if (family_.key_heads == KeyHeads::multi_query && keys_.flag({"multi_query", true})) {
      return alike(1, "multi_query", layers);
    }
    if (family_.key_heads == KeyHeads::falcon && !keys_.flag({"new_decoder_architecture", false})) {
      // The older Falcon has one key head or as many as heads, whatever the key says.
      return keys_.flag({"multi_query", true}) ? alike(1, "multi_query", layers) : heads;
    }
    if (family_.keys.kv_heads.empty()) return heads;
    if (auto found = keys_.per_layer(family_.keys.kv_heads, layers)) return *std::move(found);
    keys_.took(words(family_.keys.kv_heads).front(), fmt::format("{}", heads.values.front()),
               "as many as heads");
    return heads;
  }

  std::vector<std::int64_t> read_head_dim(const PerLayer& heads, std::int64_t layers) {
    if (what_if_.head_dim) return alike(*what_if_.head_dim, "", layers).values;
    if (!family_.keys.head_dim.empty()) {
      if (auto found = keys_.per_layer(family_.keys.head_dim, layers)) return found->values;
    }
    std::vector<std::int64_t> result;
    for (const std::int64_t count : heads.values) {
      if (model_.d_model % count != 0) {
        keys_.fail(heads.origin,
                   fmt::format("{} heads do not divide {} {}: choose a divisor, or give head_dim", count,
                               width_.origin, model_.d_model));
      }
      result.push_back(model_.d_model / count);
    }
    if (!family_.keys.head_dim.empty()) {
      keys_.took(family_.keys.head_dim, fmt::format("{}", result.front()),
                 fmt::format("{} / {}", width_.origin, heads.origin));
    }
    return result;
  }

  PerLayer read_ffn(std::string_view aliases, std::int64_t layers) {
    if (what_if_.ffn) return alike(*what_if_.ffn, "--ffn", layers);
    if (!aliases.empty()) {
      if (auto found = keys_.per_layer(aliases, layers)) return *std::move(found);
    }
    if (family_.ffn_multiple == 0) keys_.needed(aliases, "the width of the MLP");
    const std::int64_t width = family_.ffn_multiple * model_.d_model;
    if (!aliases.empty()) {
      keys_.took(words(aliases).front(), fmt::format("{}", width),
                 fmt::format("{} x {}", family_.ffn_multiple, width_.origin));
    }
    return alike(width, width_.origin, layers);
  }

  LayerSizes read_sizes(std::int64_t layers, std::string_view heads_key, std::string_view ffn_key) {
    LayerSizes sizes;
    sizes.heads = per_layer_or(what_if_.heads, "--heads", heads_key, "the number of heads", layers);
    sizes.kv_heads = family_.latent ? sizes.heads : read_kv_heads(sizes.heads, layers);
    for (std::size_t i = 0; i < sizes.heads.values.size(); ++i) {
      const std::int64_t heads = sizes.heads.values[i];
      const std::int64_t kv_heads = sizes.kv_heads.values[i];
      if (heads % kv_heads != 0) {
        keys_.fail(sizes.kv_heads.origin, fmt::format("{} key heads do not divide {} heads ({})", kv_heads,
                                                      heads, sizes.heads.origin));
      }
    }
    if (!family_.latent) sizes.head_dim = read_head_dim(sizes.heads, layers);
    sizes.ffn = read_ffn(ffn_key, layers);
    result_.ffn = sizes.ffn.values.front();
    return sizes;
  }

  /// Facts that all layers share.
  AttentionShape common_attention() {
    AttentionShape a;
    a.query_bias = a.value_bias = keys_.flag(family_.query_value_bias);
    a.key_bias = a.query_bias && family_.key_bias;
    a.output_bias = keys_.flag(family_.output_bias);
    if (family_.query_key_norm != QueryKeyNorm::none && keys_.flag(family_.query_key_norm_used)) {
      a.query_key_norm = family_.query_key_norm;
      a.query_key_norm_bias = family_.query_key_norm_bias;
    }
    a.sinks = family_.sinks;
    a.causal = family_.form == Form::decoder || family_.form == Form::encoder_decoder;
    if (family_.latent) read_latent(a);
    return a;
  }

  void read_latent(AttentionShape& a) {
    if (what_if_.kv_heads || what_if_.head_dim) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: latent attention has neither key heads nor one head width",
                              what_if_.kv_heads ? "--kv-heads" : "--head-dim"));
    }
    a.latent = true;
    // A null query rank says that queries are not compressed; only an absent one is the class default.
    if (!keys_.is_null("q_lora_rank"))
      a.query_rank = keys_.needed("q_lora_rank", "the rank of the query").value;
    a.key_value_rank = keys_.needed("kv_lora_rank", "the rank of keys and values").value;
    a.rotary_dim = keys_.needed("qk_rope_head_dim", "the width of the rotary key").value;
    a.key_dim = a.rotary_dim + keys_.needed("qk_nope_head_dim", "the width of a head's other key").value;
    a.value_dim = keys_.needed("v_head_dim", "the width of a head's value").value;
  }

  static void set_sizes(AttentionShape& a, const LayerSizes& sizes, std::size_t layer) {
    a.heads = sizes.heads.values[layer];
    a.kv_heads = sizes.kv_heads.values[layer];
    if (!a.latent) a.key_dim = a.value_dim = sizes.head_dim[layer];
  }

  std::vector<NormSite> read_norms() {
    std::string_view names = family_.norms;
    if (keys_.flag(family_.parallel)) names = "attention_norm";
    if (family_.key_heads == KeyHeads::falcon && keys_.flag({"new_decoder_architecture", false})) {
      names = "parallel_attention_norm parallel_mlp_norm";
    }
    std::vector<NormSite> sites;
    for (const std::string_view name : words(names)) sites.push_back({std::string(name), family_.norm});
    return sites;
  }

  std::vector<std::int64_t> windows(std::int64_t layers) {
    std::vector<std::int64_t> result(static_cast<std::size_t>(layers), 0);
    const WindowPattern pattern = family_.window;
    if (what_if_.window) return alike(*what_if_.window, "", layers).values;
    if (pattern == WindowPattern::none || !keys_.flag(family_.window_used)) return result;
    if (keys_.is_null(family_.window_key)) return result;
    const auto window = keys_.size(family_.window_key, 0);
    if (!window) return result;
    if (const JsonValue* types = keys_.find("layer_types"))
      return windows_by_type(*types, window->value, layers);
    std::int64_t every = 1;
    if (pattern == WindowPattern::all_but_every_sixth) every = every_nth("sliding_window_pattern", 6);
    if (pattern == WindowPattern::local_encoder) every = every_nth("global_attn_every_n_layers", 3);
    const std::int64_t first =
        pattern == WindowPattern::after_max_window_layers
            ? keys_.needed("max_window_layers", "the first layer with a window", 0).value
            : 0;
    for (std::int64_t i = 0; i < layers; ++i) {
      const bool looks_through = (pattern == WindowPattern::all) ||
                                 (pattern == WindowPattern::even_layers && i % 2 == 0) ||
                                 (pattern == WindowPattern::all_but_every_sixth && (i + 1) % every != 0) ||
                                 (pattern == WindowPattern::local_encoder && i % every != 0) ||
                                 (pattern == WindowPattern::after_max_window_layers && i >= first);
      if (looks_through) result[static_cast<std::size_t>(i)] = window->value;
    }
    return result;
  }

  std::int64_t every_nth(const char* key, std::int64_t otherwise) {
    if (const auto found = keys_.size(key)) return found->value;
    keys_.took(key, fmt::format("{}", otherwise), "the class default");
    return otherwise;
  }

  std::vector<std::int64_t> windows_by_type(const JsonValue& types, std::int64_t window,
                                            std::int64_t layers) {
    const JsonValue::Array* list = types.array();
    if (list == nullptr || list->empty())
      keys_.fail("layer_types", "a list with a type for each layer is needed");
    const auto named = static_cast<std::int64_t>(list->size());
    if (named != layers && !what_if_.layers) {
      keys_.fail("layer_types",
                 fmt::format("a list of {} for {} layers; one type each is needed", named, layers));
    }
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < layers; ++i) {
      // Where an option asks for more layers than the file lists, the pattern goes on.
      const std::string* type = (*list)[static_cast<std::size_t>(i % named)].string();
      const bool slides = type != nullptr && *type == "sliding_attention";
      if (!slides && (type == nullptr || *type != "full_attention")) {
        keys_.fail("layer_types",
                   fmt::format("layer {} is {}; sliding_attention and full_attention are counted", i,
                               type == nullptr ? "no string" : *type));
      }
      result.push_back(slides ? window : 0);
    }
    return result;
  }

  // Experts.

  std::optional<Experts> read_experts() {
    const MoeKeys& moe = family_.moe;
    if (moe.count.empty()) return std::nullopt;
    std::optional<Sized> count = keys_.size(moe.count);
    if (what_if_.experts) count = Sized{*what_if_.experts, "--experts"};
    if (!count) return std::nullopt;
    Experts experts;
    experts.count = count->value;
    const Sized per_token = keys_.needed_or(what_if_.experts_per_token, "--experts-per-token", moe.per_token,
                                            "the experts that a token visits");
    if (per_token.value > experts.count) {
      keys_.fail(per_token.origin, fmt::format("{} experts a token are more than the {} of {}",
                                               per_token.value, experts.count, count->origin));
    }
    experts.per_token = per_token.value;
    experts.each = {keys_.needed(moe.width, "the width of an expert").value, family_.gated, moe.bias};
    if (what_if_.ffn && moe.width == family_.keys.ffn) experts.each.width = *what_if_.ffn;
    experts.shared = {read_shared_width(experts.each.width), family_.gated, moe.bias};
    experts.shared_gate = moe.shared_gate && experts.shared.width > 0;
    experts.router_bias = moe.bias;
    experts.correction_bias = moe.correction_bias;
    return experts;
  }

  std::int64_t read_shared_width(std::int64_t expert_width) {
    const MoeKeys& moe = family_.moe;
    if (!moe.shared_width.empty())
      return keys_.needed(moe.shared_width, "the width of the shared expert", 0).value;
    if (moe.shared_count.empty()) return 0;
    const auto count = keys_.size(moe.shared_count, 0);
    return count ? count->value * expert_width : 0;
  }

  std::vector<bool> expert_layers(std::int64_t layers) {
    const MoeKeys& moe = family_.moe;
    std::vector<bool> result(static_cast<std::size_t>(layers), true);
    const std::int64_t first =
        moe.first_dense.empty() ? 0 : keys_.needed(moe.first_dense, "the layers without experts", 0).value;
    const std::int64_t step =
        moe.step.empty() ? 1 : keys_.needed(moe.step, "every how many layers have experts").value;
    for (std::int64_t i = 0; i < layers; ++i) {
      const bool on_step = moe.step_from_zero ? i % step == 0 : (i + 1) % step == 0;
      result[static_cast<std::size_t>(i)] = i >= first && on_step;
    }
    if (moe.plain_layers.empty()) return result;
    const JsonValue* list = keys_.find(moe.plain_layers);
    if (list == nullptr) return result;
    if (list->array() == nullptr) keys_.fail(moe.plain_layers, "a list of layers is needed");
    for (const JsonValue& entry : *list->array()) {
      Int128 layer = 0;
      const bool is_layer = entry.number() != nullptr && to_integer(*entry.number(), layer) && layer >= 0;
      if (!is_layer || (layer >= layers && !what_if_.layers)) {
        keys_.fail(moe.plain_layers, fmt::format("each entry is a layer from 0 to {}", layers - 1));
      }
      if (layer < layers) result[static_cast<std::size_t>(layer)] = false;
    }
    return result;
  }

  // Stacks.

  Stack plain_stack(std::string name, std::int64_t layers, const LayerSizes& sizes) {
    const AttentionShape common = common_attention();
    const std::vector<NormSite> norms = read_norms();
    const std::vector<std::int64_t> window = windows(layers);
    const std::optional<Experts> experts = read_experts();
    const std::vector<bool> has_experts = experts ? expert_layers(layers) : std::vector<bool>();
    const bool all_experts = std::find(has_experts.begin(), has_experts.end(), false) == has_experts.end();
    if (what_if_.ffn && experts && all_experts && family_.moe.width != family_.keys.ffn) {
      throw Error(ErrorKind::usage,
                  "--ffn: every MLP of the model is made of experts, which keep their width");
    }
    const bool mlp_bias = keys_.flag(family_.mlp_bias);
    Stack stack{std::move(name), {}, {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
      Layer layer;
      layer.attention = common;
      set_sizes(layer.attention, sizes, i);
      layer.attention.window = window[i];
      layer.mlp = {sizes.ffn.values[i], family_.gated, mlp_bias};
      if (experts && has_experts[i]) layer.experts = experts;
      layer.norms = norms;
      stack.layers.push_back(std::move(layer));
    }
    return stack;
  }

  void build_decoder() {
    add_tables();
    const std::int64_t layers = layer_count(family_.keys.layers);
    Stack stack = plain_stack("", layers, read_sizes(layers, family_.keys.heads, family_.keys.ffn));
    // OPT's 350M model normalises after each block and has no last norm.
    if (family_.model_type != "opt" || keys_.flag({"do_layer_norm_before", true})) {
      add_norm(stack.weights, "final_norm", model_.d_model, family_.norm);
    }
    model_.stacks.push_back(std::move(stack));
    if (embedding_width_ != model_.d_model) {
      output("output_projection.weight", Part::head, {embedding_width_, model_.d_model}, Use::product);
    }
    add_decoder_head();
    if (const auto extra = keys_.size("num_nextn_predict_layers", 0); extra && family_.latent) {
      model_.prediction_layers = extra->value;
    }
  }

  void build_encoder() {
    add_tables();
    std::int64_t layers = layer_count(family_.keys.layers);
    std::int64_t uses = 1;
    if (family_.model_type == "albert") share_layers(layers, uses);
    Stack stack = plain_stack("", layers, read_sizes(layers, family_.keys.heads, family_.keys.ffn));
    for (Layer& layer : stack.layers) layer.uses = uses;
    if (family_.window == WindowPattern::local_encoder) {
      // ModernBERT's embedding is normalised already, so its first attention is not.
      stack.layers.front().norms.erase(stack.layers.front().norms.begin());
    }
    if (family_.final_norm) add_norm(stack.weights, "final_norm", model_.d_model, family_.norm);
    model_.stacks.push_back(std::move(stack));
    add_encoder_head();
  }

  /// ALBERT stores `groups` of inner layers and passes each of them layers / groups times.
  void share_layers(std::int64_t& layers, std::int64_t& uses) {
    const Sized groups = keys_.needed("num_hidden_groups", "the groups of shared layers");
    const std::int64_t inner = keys_.needed("inner_group_num", "the layers of one group").value;
    if (layers % groups.value != 0) {
      keys_.fail(groups.origin, fmt::format("{} groups do not divide {} layers", groups.value, layers));
    }
    uses = layers / groups.value;
    if (groups.value * inner > most_layers) keys_.fail("inner_group_num", "more layers than are counted");
    layers = groups.value * inner;
  }

  void read_gating(bool& gated) {
    const auto kind = keys_.text("feed_forward_proj");
    if (!kind) return;
    gated = kind->starts_with("gated");
  }

  void build_encoder_decoder() {
    input("embedding.token.weight", Part::embedding, {model_.vocab, model_.d_model});
    read_max_positions();
    bool gated = family_.gated;
    read_gating(gated);
    const Keys& names = family_.keys;
    const std::int64_t encoder_layers = layer_count(names.layers);
    Stack encoder =
        plain_stack("encoder", encoder_layers, read_sizes(encoder_layers, names.heads, names.ffn));
    const std::int64_t encoder_ffn = result_.ffn;
    for (Layer& layer : encoder.layers) layer.attention.causal = false;
    finish_stack(encoder, gated, encoder_positions());
    model_.stacks.push_back(std::move(encoder));
    if (head_ == Head::encoder_only) {
      result_.ffn = encoder_ffn;
      return;
    }

    std::int64_t decoder_layers = encoder_layers;
    if (keys_.find(names.decoder_layers) != nullptr) decoder_layers = layer_count(names.decoder_layers);
    const std::string_view heads = names.decoder_heads.empty() ? names.heads : names.decoder_heads;
    const std::string_view ffn = names.decoder_ffn.empty() ? names.ffn : names.decoder_ffn;
    Stack decoder = plain_stack("decoder", decoder_layers, read_sizes(decoder_layers, heads, ffn));
    for (Layer& layer : decoder.layers) {
      layer.cross = layer.attention;
      layer.cross->causal = false;
      layer.norms.insert(layer.norms.begin() + 1, {"cross_attention_norm", family_.norm});
    }
    finish_stack(decoder, gated, model_.max_positions);
    model_.stacks.push_back(std::move(decoder));
    if (head_ == Head::language_model) add_vocabulary_head();
  }

  std::int64_t encoder_positions() {
    if (family_.keys.encoder_positions.empty()) return model_.max_positions;
    return keys_.needed(family_.keys.encoder_positions, "the positions of the encoder").value;
  }

  /// What each of two stacks has besides its blocks.
  void finish_stack(Stack& stack, bool gated, std::int64_t positions) {
    for (Layer& layer : stack.layers) layer.mlp.gated = gated;
    if (family_.positions == Positions::relative) {
      stack.layers.front().attention.position_buckets =
          keys_.needed("relative_attention_num_buckets", "the rows of the relative bias table").value;
    }
    if (stack.name == "encoder" && !family_.keys.encoder_positions.empty()) add_convolutions(stack);
    if (family_.positions == Positions::learned) {
      if (positions == 0) keys_.needed(family_.keys.positions, "the longest sequence");
      stack.weights.push_back({"embedding.position.weight",
                               Part::embedding,
                               {positions + family_.position_offset, model_.d_model},
                               Use::added});
    }
    if (family_.embedding_norm) add_norm(stack.weights, "embedding_norm", model_.d_model, family_.norm);
    if (family_.final_norm) add_norm(stack.weights, "final_norm", model_.d_model, family_.norm);
  }

  /// Whisper's encoder reads a spectrogram through two convolutions of width 3.
  void add_convolutions(Stack& stack) {
    const std::int64_t bins = keys_.needed("num_mel_bins", "the rows of the spectrogram").value;
    const std::int64_t d = model_.d_model;
    stack.weights.push_back({"conv1.weight", Part::stem, {d, bins, 3}, Use::source});
    stack.weights.push_back({"conv1.bias", Part::stem, {d}, Use::added});
    stack.weights.push_back({"conv2.weight", Part::stem, {d, d, 3}, Use::source});
    stack.weights.push_back({"conv2.bias", Part::stem, {d}, Use::added});
  }

  void build_vision() {
    const std::int64_t image = keys_.needed("image_size", "the side of an image").value;
    const std::int64_t patch = keys_.needed("patch_size", "the side of a patch").value;
    const std::int64_t channels = keys_.needed("num_channels", "the channels of an image").value;
    if (patch > image) keys_.fail("patch_size", fmt::format("{} is more than image_size {}", patch, image));
    const std::int64_t d = model_.d_model;
    model_.max_positions = (image / patch) * (image / patch) + 1;
    input("embedding.class_token", Part::embedding, {1, 1, d});
    input("embedding.position", Part::embedding, {1, model_.max_positions, d});
    input("patches.weight", Part::stem, {d, channels, patch, patch}, Use::product);
    input("patches.bias", Part::stem, {d});
    const std::int64_t layers = layer_count(family_.keys.layers);
    Stack stack = plain_stack("", layers, read_sizes(layers, family_.keys.heads, family_.keys.ffn));
    add_norm(stack.weights, "final_norm", d, family_.norm);
    model_.stacks.push_back(std::move(stack));
    if (head_ == Head::none) add_pooler();
    if (head_ == Head::image) output_dense("classifier", labels(), d, true, Use::sequence);
  }

  void read_rotary() {
    if (!family_.rotary) return;
    Rotary& rotary = model_.rotary;
    rotary.type = "default";
    rotary.theta = keys_.real("rope_theta rotary_emb_base", 10000);
    const JsonValue* scaling = keys_.find("rope_scaling rope_parameters");
    if (scaling == nullptr) return;
    if (scaling->object() == nullptr)
      keys_.fail("rope_scaling", "an object with rope_type and factor is needed");
    const ConfigKeys inside(fmt::format("{}: rope_scaling", keys_.file()), *scaling, nullptr);
    rotary.type = inside.text("rope_type type").value_or("default");
    rotary.theta = inside.real("rope_theta", rotary.theta);
    rotary.factor = inside.real("factor", 1);
  }

  const Family& family_;
  ConfigKeys& keys_;
  const WhatIf& what_if_;
  ModelConfig result_;
  Architecture model_;
  Head head_ = Head::none;
  Sized width_;
  std::int64_t embedding_width_ = 0;
};

std::string known_families() {
  std::string list;
  for (const Family& family : families()) list += fmt::format(" {}", family.model_type);
  return list;
}

/// The family of a file without model_type, told by its keys.
const Family* guess_family(const JsonValue& object, std::vector<std::string>& notes) {
  const char* guess = object.find("n_embd") != nullptr ? "gpt2" : "llama";
  notes.push_back(fmt::format("model_type is absent; the keys are read as those of {}", guess));
  return find_family(guess);
}

const Family* family_of(const JsonValue& object, const std::string& name, std::vector<std::string>& notes) {
  const JsonValue* type = object.find("model_type");
  if (type == nullptr || type->is_null()) return guess_family(object, notes);
  const std::string* text = type->string();
  if (text == nullptr) {
    throw Error(ErrorKind::data,
                fmt::format("{}: model_type: {} where a string is needed", name, type->kind()));
  }
  if (const Family* family = find_family(*text)) return family;
  throw Error(
      ErrorKind::data,
      fmt::format("{}: model_type: \"{}\" is not known; a model with hidden_size, num_hidden_layers, "
                  "num_attention_heads, intermediate_size and vocab_size can be counted --as llama; known "
                  "are:{}",
                  name, *text, known_families()));
}

}  // namespace

bool WhatIf::empty() const {
  return !(layers || d_model || heads || kv_heads || head_dim || ffn || vocab || positions || experts ||
           experts_per_token || window || tied);
}

ModelConfig read_model_config(std::string_view text, const std::string& name, const ConfigOptions& options) {
  const JsonValue document = parse_json(text, name, {.allow_byte_order_mark = true});
  if (document.object() == nullptr) {
    throw Error(ErrorKind::data, fmt::format("{}: {} where a config is an object", name, document.kind()));
  }
  const JsonValue* object = &document;
  const JsonValue* outer = nullptr;
  std::vector<std::string> notes;
  if (const JsonValue* nested = document.find("text_config");
      nested != nullptr && nested->object() != nullptr) {
    object = nested;
    outer = &document;
    notes.push_back("the language model in text_config is counted; what encloses it (a vision tower) is not");
  }
  const Family* family = nullptr;
  if (!options.as.empty()) {
    family = find_family(options.as);
    if (family == nullptr) {
      throw Error(ErrorKind::usage,
                  fmt::format("--as: \"{}\" is no family; known are:{}", options.as, known_families()));
    }
  } else {
    const bool has_own_type = object->find("model_type") != nullptr;
    family = family_of(has_own_type ? *object : document, name, notes);
  }
  ConfigKeys keys(name, *object, outer);
  keys.set_class_defaults(family->defaults);
  if (options.what_if.layers) keys.repeat_lists();
  ModelConfig result = Builder(*family, keys, options.what_if).build();
  result.notes = std::move(notes);
  if (!options.as.empty()) {
    result.estimate = true;
    result.notes.push_back(
        fmt::format("an estimate: counted as {}, whatever the file says it is", options.as));
  }
  return result;
}

}  // namespace attnlab
