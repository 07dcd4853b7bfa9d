#include "accounting/checkpoint.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "accounting/families.hpp"
#include "accounting/parameters.hpp"
#include "core/error.hpp"
#include "lab/embedded_files.hpp"

using namespace attnlab;

namespace {

ModelConfig model(const std::string& name) {
  return read_model_config(embedded_file("models/" + name + ".json"), name);
}

/// A folder that goes with the test.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("attnlab-checkpoint-{}", std::rand())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::filesystem::path path_;
};

/// A safetensors file of that header, without data.
std::string with_length(const std::string& header) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return bytes + header;
}

std::string header_of(const std::vector<StoredTensor>& tensors) {
  std::string header = "{\"__metadata__\": {\"format\": \"pt\"}";
  for (const StoredTensor& tensor : tensors) {
    header += fmt::format(", \"{}\": {{\"dtype\": \"F8_E4M3\", \"shape\": {}, \"data_offsets\": [0, 0]}}",
                          tensor.name, shape_text(tensor.shape));
  }
  return with_length(header + "}");
}

const StoredTensor* find(const std::vector<StoredTensor>& tensors, const std::string& name) {
  for (const StoredTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string error_of(const std::string& bytes) {
  try {
    read_tensor_header(bytes, "m.safetensors");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("checkpoint: derived tensors hold every weight of every model") {
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("models/") || !file.path.ends_with(".json")) continue;
    CAPTURE(file.path);
    const ModelConfig config = read_model_config(file.text, "m");
    Int128 sum = 0;
    for (const StoredTensor& tensor : derive_tensors(config)) {
      Int128 elements = 1;
      for (const std::int64_t size : tensor.shape) elements *= size;
      sum += elements;
    }
    CHECK(sum == count_parameters(config.architecture).total);
  }
}

TEST_CASE("checkpoint: names and shapes are those of published files") {
  const auto gpt2 = derive_tensors(model("gpt2"));
  CHECK(gpt2.size() == 148);
  REQUIRE(find(gpt2, "transformer.h.11.attn.c_attn.weight") != nullptr);
  CHECK(find(gpt2, "transformer.h.11.attn.c_attn.weight")->shape == std::vector<std::int64_t>{768, 2304});
  CHECK(find(gpt2, "transformer.h.0.mlp.c_fc.weight")->shape == std::vector<std::int64_t>{768, 3072});
  const auto llama = derive_tensors(model("llama-3-8b"));
  CHECK(llama.size() == 291);
  CHECK(find(llama, "model.layers.31.self_attn.k_proj.weight")->shape ==
        std::vector<std::int64_t>{1024, 4096});
  const auto phi3 = derive_tensors(model("phi-3-mini-4k"));
  CHECK(find(phi3, "model.layers.0.self_attn.qkv_proj.weight")->shape ==
        std::vector<std::int64_t>{9216, 3072});
  CHECK(find(phi3, "model.layers.0.mlp.gate_up_proj.weight")->shape ==
        std::vector<std::int64_t>{16384, 3072});
  const auto oss = derive_tensors(model("gpt-oss-20b"));
  CHECK(find(oss, "model.layers.0.mlp.experts.gate_up_proj")->shape ==
        std::vector<std::int64_t>{32, 2880, 5760});
  CHECK(find(oss, "model.layers.0.mlp.experts.gate_up_proj_bias")->shape ==
        std::vector<std::int64_t>{32, 5760});
  const auto mixtral = derive_tensors(model("mixtral-8x7b"));
  CHECK(mixtral.size() == 995);
  CHECK(find(mixtral, "model.layers.31.block_sparse_moe.experts.7.w2.weight")->shape ==
        std::vector<std::int64_t>{4096, 14336});
  const auto v3 = derive_tensors(model("deepseek-v3"));
  CHECK(find(v3, "model.layers.3.mlp.gate.e_score_correction_bias")->shape == std::vector<std::int64_t>{256});
  CHECK(find(v3, "model.layers.0.self_attn.kv_a_proj_with_mqa.weight")->shape ==
        std::vector<std::int64_t>{576, 7168});
  const auto t5 = derive_tensors(model("t5-small"));
  CHECK(find(t5, "decoder.block.0.layer.2.DenseReluDense.wi.weight")->shape ==
        std::vector<std::int64_t>{2048, 512});
  CHECK(find(t5, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")->shape ==
        std::vector<std::int64_t>{32, 8});
}

TEST_CASE("checkpoint: the norms of each head are stored apart in StableLM") {
  const ModelConfig config = read_model_config(
      R"({"model_type": "stablelm", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 8, "vocab_size": 10, "qk_layernorm": true})",
      "c.json");
  const auto tensors = derive_tensors(config);
  REQUIRE(find(tensors, "model.layers.0.self_attn.q_layernorm.norms.3.weight") != nullptr);
  CHECK(find(tensors, "model.layers.0.self_attn.q_layernorm.norms.3.weight")->shape ==
        std::vector<std::int64_t>{16});
  CHECK(find(tensors, "model.layers.0.self_attn.k_layernorm.norms.2.weight") == nullptr);
}

TEST_CASE("checkpoint: every family names all its tensors once and in every class it has") {
  const std::pair<const char*, std::vector<const char*>> sizes[] = {
      {"64", {"hidden_size", "n_embd", "d_model", "dim"}},
      {"2", {"num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers", "n_layers"}},
      {"4",
       {"num_attention_heads", "n_head", "num_heads", "encoder_attention_heads", "decoder_attention_heads",
        "n_heads", "num_key_value_heads", "num_kv_heads"}},
      {"96",
       {"intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "d_ff", "encoder_ffn_dim",
        "decoder_ffn_dim", "hidden_dim", "moe_intermediate_size", "vocab_size", "max_position_embeddings"}}};
  int read = 0;
  for (const Family& family : families()) {
    for (const char* ending :
         {"Model", "EncoderModel", "ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM",
          "ForPreTraining", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering",
          "ForImageClassification"}) {
      CAPTURE(family.model_type);
      CAPTURE(ending);
      std::string text =
          fmt::format("{{\"model_type\": \"{}\", \"architectures\": [\"X{}\"]", family.model_type, ending);
      for (const auto& [size, keys] : sizes) {
        for (const char* key : keys) text += fmt::format(", \"{}\": {}", key, size);
      }
      ModelConfig config;
      try {
        config = read_model_config(text + ", \"num_experts_per_tok\": 2}", "c.json");
      } catch (const Error& error) {
        CHECK(std::string(error.what()).starts_with("c.json: architectures: the class X"));
        continue;
      }
      ++read;
      const auto tensors = derive_tensors(config);
      Int128 sum = 0;
      for (const StoredTensor& tensor : tensors) {
        Int128 elements = 1;
        for (const std::int64_t size : tensor.shape) elements *= size;
        sum += elements;
      }
      CHECK(sum == count_parameters(config.architecture).total);
      const CheckpointComparison same = compare_checkpoint(config, tensors);
      CHECK(same.agrees());
      CHECK(same.matched == tensors.size());
    }
  }
  CHECK(read > 150);
}

TEST_CASE("checkpoint: missing and extra tensors and other shapes are named") {
  const ModelConfig config = model("gpt2");
  std::vector<StoredTensor> stored = derive_tensors(config);
  CHECK(compare_checkpoint(config, stored).agrees());
  stored[0].shape = {50257, 767};
  stored[5].name = "transformer.h.0.surprise";
  const CheckpointComparison result = compare_checkpoint(config, stored);
  CHECK_FALSE(result.agrees());
  CHECK(result.matched == 146);
  REQUIRE(result.missing.size() == 1);
  REQUIRE(result.extra.size() == 1);
  CHECK(result.extra[0].name == "transformer.h.0.surprise");
  CHECK(result.extra[0].reason.empty());
  REQUIRE(result.other_shape.size() == 1);
  CHECK(result.other_shape[0].name == "transformer.wte.weight");
  CHECK(result.other_shape[0].stored == std::vector<std::int64_t>{50257, 767});
  CHECK(result.other_shape[0].derived == std::vector<std::int64_t>{50257, 768});
}

TEST_CASE("checkpoint: prefixes and old names of norms and known buffers do not count as differences") {
  const ModelConfig config = model("gpt2");
  std::vector<StoredTensor> stored = derive_tensors(config);
  for (StoredTensor& tensor : stored) tensor.name = tensor.name.substr(std::string("transformer.").size());
  stored.push_back({"h.0.attn.bias", {1, 1, 1024, 1024}});
  stored.push_back({"lm_head.weight", {50257, 768}});
  const CheckpointComparison result = compare_checkpoint(config, stored);
  CHECK(result.agrees());
  CHECK(result.extra.size() == 2);
  CHECK(result.extra[0].reason == "a buffer, not a weight");
  CHECK(result.extra[1].reason == "a copy of the token table");
  CHECK(result.stored_elements == Int128{124439808} + Int128{1024} * 1024 + Int128{50257} * 768);

  const ModelConfig bert = model("bert-base-uncased");
  std::vector<StoredTensor> older = derive_tensors(bert);
  for (StoredTensor& tensor : older) {
    const std::size_t at = tensor.name.find("LayerNorm.weight");
    if (at != std::string::npos) tensor.name = tensor.name.substr(0, at) + "LayerNorm.gamma";
  }
  older.push_back({"cls.predictions.decoder.bias", {30522}});
  const CheckpointComparison of_bert = compare_checkpoint(bert, older);
  CHECK(of_bert.agrees());
  REQUIRE(of_bert.extra.size() == 1);
  CHECK(of_bert.extra[0].reason == "a copy of the output bias");
}

TEST_CASE("checkpoint: the header of a file of any number type is read without its data") {
  const auto derived = derive_tensors(model("distilgpt2"));
  const auto read = read_tensor_header(header_of(derived), "m.safetensors");
  REQUIRE(read.size() == derived.size());
  CHECK(read[3].name == derived[3].name);
  CHECK(read[3].shape == derived[3].shape);
}

TEST_CASE("checkpoint: a header that is not sound gets one line") {
  CHECK(error_of("1234") ==
        "m.safetensors: 4 bytes; a safetensors file begins with 8 bytes of header length");
  std::string cut = with_length("{}");
  cut[0] = 99;
  CHECK(error_of(cut) == "m.safetensors: a header of 99 bytes in a file of 10");
  cut[7] = '\xff';
  CHECK(error_of(cut).find("m.safetensors: a header of ") == 0);
  CHECK(error_of(with_length("[]")) == "m.safetensors: an array where the header is an object");
  CHECK(error_of(with_length("{\"a\": 1}")) == "m.safetensors: tensor a: a shape is needed");
  CHECK(error_of(with_length("{\"a\": {\"shape\": [2, -1]}}")) ==
        "m.safetensors: tensor a: the shape is no list of sizes");
  CHECK(error_of(with_length("{\"a\": ")).starts_with("m.safetensors: line 1, column "));
}

TEST_CASE("checkpoint: an index gathers the shards beside it") {
  const Folder folder;
  auto first = derive_tensors(model("distilgpt2"));
  const std::vector<StoredTensor> second(first.begin() + 40, first.end());
  first.resize(40);
  folder.write("model-1.safetensors", header_of(first));
  folder.write("model-2.safetensors", header_of(second));
  std::string map;
  for (const StoredTensor& tensor : first)
    map += fmt::format("\"{}\": \"model-1.safetensors\", ", tensor.name);
  for (const StoredTensor& tensor : second)
    map += fmt::format("\"{}\": \"model-2.safetensors\", ", tensor.name);
  map.resize(map.size() - 2);
  const std::string path = folder.write("model.safetensors.index.json",
                                        fmt::format("{{\"metadata\": {{}}, \"weight_map\": {{{}}}}}", map));
  const ModelConfig config = model("distilgpt2");
  const CheckpointComparison result = compare_checkpoint(config, read_stored_tensors(path));
  CHECK(result.agrees());
  CHECK(result.matched == first.size() + second.size());
  CHECK(result.stored_elements == 81912576);

  const std::string outside = folder.write("outside.json", R"({"weight_map": {"a": "../m.safetensors"}})");
  CHECK_THROWS_AS(read_stored_tensors(outside), Error);
  const std::string absent = folder.write("absent.json", R"({"weight_map": {"a": "model-1.safetensors"}})");
  CHECK_THROWS_WITH_AS(read_stored_tensors(absent),
                       fmt::format("{}: weight_map: a is not in model-1.safetensors", absent).c_str(), Error);
  CHECK_THROWS_AS(read_stored_tensors(folder.write("no.json", R"({"a": 1})")), Error);
}
