#include "accounting/parameters.hpp"

#include <string>

#include <doctest/doctest.h>

#include "accounting/config.hpp"
#include "core/error.hpp"
#include "lab/embedded_files.hpp"

using namespace attnlab;

namespace {

Architecture model(const std::string& name) {
  return read_model_config(embedded_file("models/" + name + ".json"), name).architecture;
}

std::string total_of(const std::string& text) {
  return to_string(count_parameters(read_model_config(text, "c.json").architecture).total);
}

/// What is stored for the first reason that contains `words`.
std::string stored(const std::string& name, const std::string& words) {
  for (const StoredVariant& variant : stored_variants(model(name))) {
    if (variant.reason.find(words) != std::string::npos) return to_string(variant.stored);
  }
  return "no such reason";
}

}  // namespace

TEST_CASE("parameters: GPT-2 small part by part") {
  const ParameterCount count = count_parameters(model("gpt2"));
  CHECK(count.total == 124439808);
  CHECK(count.embedding == 38597376 + 786432);
  CHECK(count.lm_head == 0);
  CHECK(count.active == count.total);
  REQUIRE(count.per_block.has_value());
  CHECK(count.per_block->attention == 2362368);
  CHECK(count.per_block->mlp == 4722432);
  CHECK(count.per_block->norms == 3072);
  CHECK(count.per_block->total() == 7087872);
  CHECK(count.blocks == 12 * 7087872);
  Int128 biases = 0;
  for (const Component& row : count.components) {
    if (row.name.ends_with(".bias")) biases += row.parameters;
  }
  CHECK(biases == 102144);
}

TEST_CASE("parameters: components sum to the total and carry their shapes") {
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("models/") || !file.path.ends_with(".json")) continue;
    CAPTURE(file.path);
    const ParameterCount count = count_parameters(read_model_config(file.text, "m").architecture);
    Int128 sum = 0;
    for (const Component& row : count.components) {
      Int128 product = Int128{row.copies} * std::max<std::int64_t>(row.layers, 1);
      for (const std::int64_t size : row.shape) product *= size;
      CHECK(product == row.parameters);
      CHECK(row.active_once <= row.parameters);
      sum += product;
    }
    CHECK(sum == count.total);
  }
}

TEST_CASE("parameters: blocks that differ have no common size") {
  CHECK_FALSE(count_parameters(model("deepseek-v3")).per_block.has_value());
  CHECK_FALSE(count_parameters(model("modernbert-base")).per_block.has_value());
  CHECK_FALSE(count_parameters(model("t5-small")).per_block.has_value());
  // Layers that differ in their window only hold the same weights.
  CHECK(count_parameters(model("gemma-2-2b")).per_block.has_value());
}

TEST_CASE("parameters: a shared layer counts once as stored and once per use as visited") {
  const ParameterCount count = count_parameters(model("albert-base-v2-encoder"));
  REQUIRE(count.per_block.has_value());
  CHECK(count.per_block->total() == 7087872);
  CHECK(count.blocks == 12 * 7087872);
}

// Families without an embedded model: published totals of the named files.

TEST_CASE("parameters: StarCoder has 15517456384") {
  CHECK(total_of(R"({"model_type": "gpt_bigcode", "architectures": ["GPTBigCodeForCausalLM"], "n_embd": 6144,
    "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152,
    "multi_query": true})") == "15517456384");
}

TEST_CASE("parameters: StableLM 2 1.6B has 1644515328") {
  CHECK(total_of(R"({"model_type": "stablelm", "architectures": ["StableLmForCausalLM"], "hidden_size": 2048,
    "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 5632,
    "vocab_size": 100352, "use_qkv_bias": true, "tie_word_embeddings": false})") == "1644515328");
}

TEST_CASE("parameters: SmolLM3 3B has 3075098624") {
  CHECK(total_of(R"({"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], "hidden_size": 2048,
    "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 11008,
    "vocab_size": 128256})") == "3075098624");
}

TEST_CASE("parameters: OLMoE 1B-7B has 6919161856") {
  CHECK(total_of(R"({"model_type": "olmoe", "architectures": ["OlmoeForCausalLM"], "hidden_size": 2048,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 1024,
    "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 50304})") == "6919161856");
}

TEST_CASE("parameters: mT5 small has 300176768") {
  CHECK(total_of(R"({"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"], "d_model": 512,
    "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_decoder_layers": 8, "num_heads": 6, "vocab_size": 250112,
    "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})") == "300176768");
}

TEST_CASE("parameters: XLM-R base stores 278885778 with its pooler") {
  const std::string text = R"({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForMaskedLM"],
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 250002})";
  const auto variants = stored_variants(read_model_config(text, "c.json").architecture);
  REQUIRE(variants.size() == 1);
  CHECK(variants[0].stored == 278885778);
}

// Larger members and other shapes of families, published totals.

TEST_CASE("parameters: larger members of the families have their published totals") {
  CHECK(total_of(R"({"model_type": "opt", "vocab_size": 50272, "hidden_size": 1024, "num_hidden_layers": 24,
    "num_attention_heads": 16, "ffn_dim": 4096, "word_embed_proj_dim": 512, "max_position_embeddings": 2048,
    "do_layer_norm_before": false})") == "331196416");
  CHECK(total_of(R"({"model_type": "bloom", "vocab_size": 250880, "n_embed": 14336, "n_layer": 70,
    "num_attention_heads": 112, "seq_length": 2048})") == "176247271424");
  CHECK(total_of(
            R"({"model_type": "gpt_oss", "vocab_size": 201088, "hidden_size": 2880, "num_hidden_layers": 36,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880,
    "num_local_experts": 128, "num_experts_per_tok": 4})") == "116829156672");
  CHECK(total_of(R"({"model_type": "deepseek_v2", "vocab_size": 102400, "hidden_size": 5120,
    "num_hidden_layers": 60, "num_attention_heads": 128, "intermediate_size": 12288,
    "moe_intermediate_size": 1536, "n_routed_experts": 160, "num_experts_per_tok": 6, "n_shared_experts": 2,
    "first_k_dense_replace": 1})") == "235741434880");
  CHECK(total_of(R"({"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 4096,
    "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
    "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_experts": 128,
    "num_experts_per_tok": 8})") == "235093634560");
  CHECK(
      total_of(R"({"model_type": "falcon", "vocab_size": 50304, "hidden_size": 2048, "num_hidden_layers": 24,
    "num_attention_heads": 32, "parallel_attn": false, "bias": true, "multi_query": false,
    "alibi": true})") == "1311625216");
  CHECK(
      total_of(R"({"model_type": "falcon", "vocab_size": 65024, "hidden_size": 8192, "num_hidden_layers": 60,
    "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": true, "bias": false,
    "parallel_attn": true, "alibi": false})") == "41303293952");
  CHECK(total_of(R"({"model_type": "bart", "vocab_size": 50265, "d_model": 1024, "encoder_layers": 12,
    "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096, "max_position_embeddings": 1024})") == "406291456");
  CHECK(total_of(R"({"model_type": "whisper", "vocab_size": 51866, "num_mel_bins": 128, "d_model": 1280,
    "encoder_layers": 32, "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20,
    "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120})") == "1543490560");
  CHECK(total_of(R"({"model_type": "gemma3_text", "vocab_size": 262144, "hidden_size": 1152,
    "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 6912,
    "sliding_window": 512})") == "999885952");
}

TEST_CASE("parameters: what files and hub pages show instead of the total") {
  CHECK(stored("llama-2-7b", "rotary") == "6738417664");
  CHECK(stored("llama-2-13b", "rotary") == "13015866880");
  CHECK(stored("llama-2-70b", "rotary") == "68976653312");
  CHECK(stored("qwen3-0.6b", "second time") == "751632384");
  CHECK(stored("falcon-7b", "second time") == "7217189760");
  CHECK(stored("bert-base-uncased", "pre-training class") == "110106428");
  CHECK(stored("bert-base-uncased-encoder", "pre-training class") == "110106428");
  CHECK(stored("roberta-base", "position numbers") == "124697947");
  CHECK(stored("t5-small", "unused") == "60506880");
  CHECK(stored("gpt-j-6b", "8 shards") == "6053381344");
  CHECK(stored("whisper-tiny", "buffer") == "37184640");
  CHECK(stored("gpt2", "causal mask") == "137022720");
  CHECK(stored("pythia-160m", "causal mask") == "212654592");  // 162322944 + 12 * 2048^2
  CHECK(stored("deepseek-v3", "FP8") == "684531386000");
}

TEST_CASE("parameters: a vocabulary is padded up and never down") {
  CHECK(padded_vocabulary(50257, 64) == 50304);
  CHECK(padded_vocabulary(50304, 64) == 50304);
  CHECK(padded_vocabulary(1, 1) == 1);
  CHECK_THROWS_WITH_AS(padded_vocabulary(50257, 0),
                       "the vocabulary is padded to a multiple of at least 1, not 0", Error);
  CHECK_THROWS_AS(padded_vocabulary(INT64_MAX, std::int64_t{1} << 40), Error);
}

TEST_CASE("parameters: the width of a gated MLP") {
  CHECK(swiglu_width(4096, 256) == 11008);
  CHECK(swiglu_width(5120, 256) == 13824);
  CHECK(swiglu_width(1, 1) == 2);
  CHECK_THROWS_WITH_AS(swiglu_width(0, 256), "d_model must be at least 1, not 0", Error);
  CHECK_THROWS_WITH_AS(swiglu_width(INT64_MAX, 1), "the width is beyond 63 bits: choose a smaller d_model",
                       Error);
}
