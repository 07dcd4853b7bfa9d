#include "accounting/config.hpp"

#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "accounting/compute.hpp"
#include "accounting/families.hpp"
#include "accounting/parameters.hpp"
#include "core/error.hpp"
#include "lab/embedded_files.hpp"

using namespace attnlab;

namespace {

ModelConfig embedded_model(const std::string& name, const ConfigOptions& options = {}) {
  return read_model_config(embedded_file("models/" + name + ".json"), name + ".json", options);
}

ModelConfig read(const std::string& text, const ConfigOptions& options = {}) {
  return read_model_config(text, "c.json", options);
}

std::string total(const ModelConfig& config) {
  return to_string(count_parameters(config.architecture).total);
}

std::string error_of(const std::string& text, const ConfigOptions& options = {}) {
  try {
    read(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// A small Llama with one key replaced or added; left out where `value` is empty.
std::string small_with(const std::string& key, const std::string& value) {
  std::string text;
  for (const char* pair : {"hidden_size: 64", "num_hidden_layers: 2", "num_attention_heads: 4",
                           "intermediate_size: 256", "vocab_size: 100"}) {
    const std::string_view whole = pair;
    const std::string_view name = whole.substr(0, whole.find(':'));
    if (name != key) text += fmt::format("\"{}\"{}, ", name, whole.substr(name.size()));
  }
  return fmt::format("{{{}\"{}\": {}}}", text, value.empty() ? "unused" : key, value.empty() ? "0" : value);
}

const DefaultTaken* find_default(const ModelConfig& config, const std::string& key) {
  for (const DefaultTaken& taken : config.defaults) {
    if (taken.key == key) return &taken;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("accounting: the 56 models to the last digit") {
  std::istringstream rows{std::string(embedded_file("models/expected.csv"))};
  std::string line;
  std::getline(rows, line);
  int models = 0;
  while (std::getline(rows, line)) {
    std::istringstream fields(line);
    std::string name, all, embedding, active, cache;
    std::getline(fields, name, ',');
    std::getline(fields, all, ',');
    std::getline(fields, embedding, ',');
    std::getline(fields, active, ',');
    std::getline(fields, cache, ',');
    CAPTURE(name);
    const ModelConfig config = embedded_model(name);
    const ParameterCount count = count_parameters(config.architecture);
    CHECK(to_string(count.total) == all);
    CHECK(to_string(count.embedding + count.lm_head) == embedding);
    CHECK(to_string(count.active) == active);
    const auto kv = cache_size(config.architecture, {.seq_len = 1, .batch = 1, .bits = 16});
    CHECK(to_string(find_quantity(kv, "kv_bytes_per_token").value) == cache);
    ++models;
  }
  CHECK(models == 56);
}

TEST_CASE("accounting: a family is anchored exactly where an embedded model is of it") {
  std::string anchored;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("models/") || !file.path.ends_with(".json")) continue;
    anchored += fmt::format(" {} ", read_model_config(file.text, "m").architecture.model_type);
  }
  for (const Family& family : families()) {
    CAPTURE(family.model_type);
    CHECK(family.anchored == (anchored.find(fmt::format(" {} ", family.model_type)) != std::string::npos));
  }
  CHECK(families().size() == 40);
}

TEST_CASE("accounting: a bad config gets one line with file and key and rule") {
  CHECK(error_of(small_with("num_attention_heads", "5")) ==
        "c.json: num_attention_heads: 5 heads do not divide hidden_size 64: choose a divisor, or give "
        "head_dim");
  CHECK(error_of(small_with("num_key_value_heads", "3")) ==
        "c.json: num_key_value_heads: 3 key heads do not divide 4 heads (num_attention_heads)");
  CHECK(error_of(small_with("num_hidden_layers", "2.5")) ==
        "c.json: num_hidden_layers: 2.5 where a whole number from 1 to 1073741824 is needed");
  CHECK(error_of(small_with("num_hidden_layers", "0")) ==
        "c.json: num_hidden_layers: 0 where a whole number from 1 to 1073741824 is needed");
  CHECK(error_of(small_with("num_hidden_layers", "-3")) ==
        "c.json: num_hidden_layers: -3 where a whole number from 1 to 1073741824 is needed");
  CHECK(error_of(small_with("vocab_size", "1000000000000000000000000000000")) ==
        "c.json: vocab_size: 1000000000000000000000000000000 where a whole number from 1 to 1073741824 is "
        "needed");
  CHECK(error_of(small_with("num_hidden_layers", "100001")) ==
        "c.json: num_hidden_layers: 100001 layers; at most 100000 are counted");
  CHECK(error_of(small_with("hidden_size", "\"64\"")) ==
        "c.json: hidden_size: a string where a whole number from 1 to 1073741824 is needed");
  CHECK(error_of(small_with("hidden_size", "")) ==
        "c.json: hidden_size: the key is missing; it gives the width of the model");
  CHECK(error_of(small_with("hidden_size", "null")) ==
        "c.json: hidden_size: the key is missing; it gives the width of the model");
  CHECK(error_of(small_with("num_attention_heads", "")) ==
        "c.json: num_attention_heads: the key is missing; it gives the number of heads");
  CHECK(error_of(small_with("intermediate_size", "")) ==
        "c.json: intermediate_size: the key is missing; it gives the width of the MLP");
  CHECK(error_of(small_with("tie_word_embeddings", "1")) ==
        "c.json: tie_word_embeddings: a number where true or false is needed");
  CHECK(error_of(small_with("intermediate_size", "[256, 256, 256]")) ==
        "c.json: intermediate_size: a list of 3 for 2 layers; one number each is needed");
  CHECK(error_of(small_with("architectures", "\"LlamaForCausalLM\"")) ==
        "c.json: architectures: a list of class names is needed");
  CHECK(error_of(small_with("architectures", "[\"LlamaForMaskedLM\"]")) ==
        "c.json: architectures: the class LlamaForMaskedLM of llama is not counted; one like "
        "LlamaForCausalLM is");
  CHECK(error_of(small_with("rope_scaling", "{\"type\": 4}")) ==
        "c.json: rope_scaling: type: a number where a string is needed");
  CHECK(error_of(small_with("head_dim", "1073741825")).starts_with("c.json: head_dim: 1073741825 where"));
  CHECK(error_of(R"({"model_type": "roberta", "architectures": ["RobertaForPreTraining"]})") ==
        "c.json: architectures: the class RobertaForPreTraining of roberta is not counted; one like "
        "RobertaForMaskedLM is");
  CHECK(error_of(small_with("rope_scaling", "\"linear\"")) ==
        "c.json: rope_scaling: an object with rope_type and factor is needed");
  CHECK(error_of(
            R"({"model_type": "albert", "num_hidden_layers": 12, "vocab_size": 30000, "embedding_size": 128,
    "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512,
    "type_vocab_size": 2, "num_hidden_groups": 5, "inner_group_num": 1})") ==
        "c.json: num_hidden_groups: 5 groups do not divide 12 layers");
  CHECK(error_of("[1]") == "c.json: an array where a config is an object");
  CHECK(error_of(small_with("model_type", "7")) == "c.json: model_type: a number where a string is needed");
}

TEST_CASE("accounting: text that is no JSON is refused with file and place") {
  CHECK(error_of("{\"hidden_size\": NaN}").starts_with("c.json: line 1, column 17: "));
  CHECK(error_of("{\"hidden_size\": 64, \"num_hid").starts_with("c.json: line 1, column "));
  CHECK(error_of("").starts_with("c.json: "));
}

TEST_CASE("accounting: more experts a token than experts are refused") {
  const std::string text =
      R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
          "intermediate_size": 128, "vocab_size": 100, "num_local_experts": 2, "num_experts_per_tok": 3})";
  CHECK(error_of(text) ==
        "c.json: num_experts_per_tok: 3 experts a token are more than the 2 of num_local_experts");
}

TEST_CASE("accounting: an unknown model_type is refused with the keys it would need or counted as a family") {
  const std::string text = small_with("model_type", "\"brandnew\"");
  CHECK(error_of(text).starts_with(
      "c.json: model_type: \"brandnew\" is not known; a model with hidden_size, num_hidden_layers, "
      "num_attention_heads, intermediate_size and vocab_size can be counted --as llama; known are: gpt2 "
      "gptj"));
  const ModelConfig config = read(text, {.as = "llama", .what_if = {}});
  CHECK(config.estimate);
  CHECK(config.notes.size() == 1);
  CHECK(config.architecture.model_type == "llama");
  CHECK(error_of(text, {.as = "nosuch", .what_if = {}})
            .starts_with("--as: \"nosuch\" is no family; known are: gpt2"));
}

TEST_CASE("accounting: a default taken is listed and a null counts as absent") {
  const ModelConfig config = read(small_with("num_key_value_heads", "null"));
  REQUIRE(find_default(config, "num_key_value_heads") != nullptr);
  CHECK(find_default(config, "num_key_value_heads")->value == "4");
  CHECK(find_default(config, "num_key_value_heads")->reason == "as many as heads");
  CHECK(find_default(config, "head_dim")->value == "16");
  CHECK(find_default(config, "hidden_size") == nullptr);
  const ModelConfig gpt2 = embedded_model("gpt2");
  CHECK(find_default(gpt2, "n_inner")->value == "3072");
  CHECK(find_default(gpt2, "tie_word_embeddings")->value == "true");
}

TEST_CASE("accounting: key names of other files of a family are understood") {
  const std::string text =
      R"({"model_type": "bloom", "vocab_size": 250880, "hidden_size": 1024, "num_hidden_layers": 24,
          "n_head": 16, "architectures": ["BloomForCausalLM"]})";
  CHECK(total(read(text)) == total(embedded_model("bloom-560m")));
  CHECK(total(read(R"({"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_inner": null,
                      "n_positions": 32})")) == "108544");
}

TEST_CASE("accounting: a nested text_config is counted and what encloses it is named") {
  const std::string text =
      R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
          "vision_config": {"hidden_size": 1152},
          "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                          "num_hidden_layers": 34, "sliding_window": 1024}})";
  const ModelConfig config = read(text);
  // Google's 4B: the language model of the published 4,300,079,472, whose vision side is 419,816,304.
  CHECK(total(config) == "3880263168");
  CHECK(config.notes.size() == 1);
  CHECK(find_default(config, "num_attention_heads")->value == "8");
  CHECK(config.architecture.main_stack().layers[4].attention.window == 1024);
  CHECK(config.architecture.main_stack().layers[5].attention.window == 0);
}

TEST_CASE("accounting: sizes may be lists with one number for each layer") {
  const ModelConfig config = read(small_with("intermediate_size", "[256, 128]"));
  const ParameterCount alike = count_parameters(read(small_with("intermediate_size", "256")).architecture);
  const ParameterCount count = count_parameters(config.architecture);
  CHECK(count.total == alike.total - Int128{3} * 128 * 64);
  CHECK(alike.per_block.has_value());
  CHECK_FALSE(count.per_block.has_value());
}

TEST_CASE("accounting: windows follow layer_types or the pattern of the class") {
  const ModelConfig oss = embedded_model("gpt-oss-20b");
  CHECK(oss.architecture.main_stack().layers[0].attention.window == 128);
  CHECK(oss.architecture.main_stack().layers[1].attention.window == 0);
  CHECK(embedded_model("mistral-7b-v0.1").architecture.main_stack().layers[0].attention.window == 4096);
  CHECK(embedded_model("mixtral-8x7b").architecture.main_stack().layers[0].attention.window == 0);
  CHECK(embedded_model("qwen2-0.5b").architecture.main_stack().layers[23].attention.window == 0);
  const std::string start =
      R"({"model_type": "gemma2", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128,)";
  CHECK(error_of(start + R"("layer_types": ["full_attention"]})") ==
        "c.json: layer_types: a list of 1 for 2 layers; one type each is needed");
  CHECK(error_of(start + R"("layer_types": []})") ==
        "c.json: layer_types: a list with a type for each layer is needed");
  CHECK(error_of(start + R"("layer_types": ["full_attention", "linear_attention"]})") ==
        "c.json: layer_types: layer 1 is linear_attention; sliding_attention and full_attention are counted");
}

TEST_CASE("accounting: layers without experts are those listed") {
  const auto with = [](const std::string& plain) {
    return R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 4, "head_dim": 16, "intermediate_size": 128, "moe_intermediate_size": 32,
      "num_experts": 4, "num_experts_per_tok": 2, "vocab_size": 100, "mlp_only_layers": )" +
           plain + "}";
  };
  // A router of 256 and experts of 4 * 6144, or a gated MLP of 3 * 64 * 128 = 24576.
  CHECK(total(read(with("[]"))) == "95616");
  CHECK(total(read(with("[1]"))) == "95360");
  CHECK(total(read(with("[0, 1]"))) == "95104");
  CHECK(error_of(with("[2]")) == "c.json: mlp_only_layers: each entry is a layer from 0 to 1");
  CHECK(error_of(with("[\"0\"]")) == "c.json: mlp_only_layers: each entry is a layer from 0 to 1");
  CHECK(error_of(with("0")) == "c.json: mlp_only_layers: a list of layers is needed");
  WhatIf shorter;
  shorter.layers = 1;
  CHECK(read(with("[1]"), {.as = "", .what_if = shorter}).architecture.main_stack().layers.size() == 1);
}

TEST_CASE("accounting: one size of a real model can be changed") {
  WhatIf longer;
  longer.positions = 77;
  CHECK(embedded_model("llama-3-8b", {.as = "", .what_if = longer}).architecture.max_positions == 77);
  WhatIf tall;
  tall.layers = 13;
  CHECK(total(embedded_model("gpt2", {.as = "", .what_if = tall})) == "131527680");  // 124439808 + 7087872
  WhatIf untied;
  untied.tied = false;
  CHECK(total(embedded_model("gpt2", {.as = "", .what_if = untied})) == "163037184");
  WhatIf grouped;
  grouped.kv_heads = 32;
  CHECK(total(embedded_model("llama-3-8b", {.as = "", .what_if = grouped})) == "8835567616");
  WhatIf indivisible;
  indivisible.heads = 7;
  CHECK_THROWS_WITH_AS(
      embedded_model("gpt2", {.as = "", .what_if = indivisible}),
      "gpt2.json: --heads: 7 heads do not divide n_embd 768: choose a divisor, or give head_dim", Error);
  WhatIf latent;
  latent.kv_heads = 1;
  CHECK_THROWS_WITH_AS(embedded_model("deepseek-v3", {.as = "", .what_if = latent}),
                       "--kv-heads: latent attention has neither key heads nor one head width", Error);
  const auto complaint = [](const char* model, const WhatIf& what_if) -> std::string {
    try {
      static_cast<void>(embedded_model(model, {.as = "", .what_if = what_if}));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  WhatIf experts;
  experts.experts = 4;
  CHECK(complaint("gpt2", experts) == "--experts: gpt2 has no experts");
  CHECK(complaint("mixtral-8x7b", experts) == "accepted");
  WhatIf visited;
  visited.experts_per_token = 1;
  CHECK(complaint("llama-3-8b", visited) == "--experts-per-token: llama has no experts");
  WhatIf words;
  words.vocab = 1000;
  CHECK(complaint("vit-base-patch16-224", words) == "--vocab: vit has no token table");
  WhatIf wide;
  wide.ffn = 1024;
  CHECK(complaint("qwen1.5-moe-a2.7b", wide) ==
        "--ffn: every MLP of the model is made of experts, which keep their width");
  CHECK(complaint("mixtral-8x7b", wide) == "accepted");
  CHECK(complaint("deepseek-v3", wide) == "accepted");
  WhatIf three;
  three.layers = 3;
  CHECK(read(small_with("intermediate_size", "[256, 128]"), {.as = "", .what_if = three})
            .architecture.main_stack()
            .layers[2]
            .mlp.width == 256);
  WhatIf few;
  few.layers = 26;
  CHECK(embedded_model("gpt-oss-20b", {.as = "", .what_if = few})
            .architecture.main_stack()
            .layers[25]
            .attention.window == 0);
}

TEST_CASE("accounting: the class decides heads and poolers") {
  const std::string sizes =
      R"("model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12,
         "num_attention_heads": 12, "intermediate_size": 3072)";
  CHECK(total(read("{" + sizes + R"(, "architectures": ["BertForPreTraining"]})")) == "110106428");
  CHECK(total(read("{" + sizes + R"(, "architectures": ["BertModel"]})")) == "109482240");
  // A pooler and a [3, 768] classifier with bias.
  CHECK(total(read("{" + sizes + R"(, "architectures": ["BertForSequenceClassification"],
                                     "id2label": {"0": "a", "1": "b", "2": "c"}})")) == "109484547");
  CHECK(total(read("{" + sizes + R"(, "architectures": ["BertForQuestionAnswering"]})")) == "108893186");
}

TEST_CASE("accounting: rotary settings are read under old and new names") {
  const ModelConfig linear = read(small_with("rope_scaling", R"({"type": "linear", "factor": 4})"));
  CHECK(linear.architecture.rotary.type == "linear");
  CHECK(linear.architecture.rotary.factor == 4);
  CHECK(linear.architecture.rotary.theta == 10000);
  const ModelConfig newer =
      read(small_with("rope_parameters", R"({"rope_type": "yarn", "rope_theta": 5e5})"));
  CHECK(newer.architecture.rotary.type == "yarn");
  CHECK(newer.architecture.rotary.theta == 5e5);
  CHECK(embedded_model("gpt2").architecture.rotary.type.empty());
}

TEST_CASE("config: another family's name for a size that is left to a default is refused") {
  CHECK(error_of(small_with("num_kv_heads", "2")) ==
        "c.json: num_kv_heads: llama calls this num_key_value_heads");
  CHECK(error_of(small_with("n_inner", "2")) == "no error");  // the file says intermediate_size as well
  CHECK(error_of(
            R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 128, "vocab_size": 100, "num_experts": 16})") ==
        "c.json: num_experts: mixtral calls this num_local_experts");
}
