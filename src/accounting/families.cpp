#include "accounting/families.hpp"

#include <algorithm>
#include <array>

namespace attnlab {
namespace {

// Names of stored tensors.

constexpr NameRule llama_names[] = {
    {"embedding.token", "model.embed_tokens"},
    {"attention_norm", "model.layers.{}.input_layernorm"},
    {"mlp_norm", "model.layers.{}.post_attention_layernorm"},
    {"attention.query", "model.layers.{}.self_attn.q_proj"},
    {"attention.key", "model.layers.{}.self_attn.k_proj"},
    {"attention.value", "model.layers.{}.self_attn.v_proj"},
    {"attention.output", "model.layers.{}.self_attn.o_proj"},
    {"attention.query_norm", "model.layers.{}.self_attn.q_norm"},
    {"attention.key_norm", "model.layers.{}.self_attn.k_norm"},
    {"mlp.gate", "model.layers.{}.mlp.gate_proj"},
    {"mlp.up", "model.layers.{}.mlp.up_proj"},
    {"mlp.down", "model.layers.{}.mlp.down_proj"},
    {"router", "model.layers.{}.mlp.gate"},
    {"expert.gate", "model.layers.{}.mlp.experts.{}.gate_proj"},
    {"expert.up", "model.layers.{}.mlp.experts.{}.up_proj"},
    {"expert.down", "model.layers.{}.mlp.experts.{}.down_proj"},
    {"final_norm", "model.norm"},
    {"lm_head", "lm_head"},
    {"classifier", "score"},
};

constexpr NameRule mixtral_names[] = {
    {"router", "model.layers.{}.block_sparse_moe.gate"},
    {"expert.gate", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    {"expert.down", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
    {"expert.up", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
};

constexpr NameRule qwen2_moe_names[] = {
    {"shared_expert.gate", "model.layers.{}.mlp.shared_expert.gate_proj"},
    {"shared_expert.up", "model.layers.{}.mlp.shared_expert.up_proj"},
    {"shared_expert.down", "model.layers.{}.mlp.shared_expert.down_proj"},
    {"shared_expert_gate", "model.layers.{}.mlp.shared_expert_gate"},
};

constexpr NameRule four_norm_names[] = {
    {"post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {"mlp_norm", "model.layers.{}.pre_feedforward_layernorm"},
    {"post_mlp_norm", "model.layers.{}.post_feedforward_layernorm"},
};

constexpr NameRule phi_names[] = {
    {"attention.output", "model.layers.{}.self_attn.dense"},
    {"attention.query_norm", "model.layers.{}.self_attn.q_layernorm"},
    {"attention.key_norm", "model.layers.{}.self_attn.k_layernorm"},
    {"mlp.up", "model.layers.{}.mlp.fc1"},
    {"mlp.down", "model.layers.{}.mlp.fc2"},
    {"final_norm", "model.final_layernorm"},
};

constexpr NameRule stablelm_names[] = {
    {"attention.query_norm", "model.layers.{}.self_attn.q_layernorm.norms.{}"},
    {"attention.key_norm", "model.layers.{}.self_attn.k_layernorm.norms.{}"},
};

constexpr NameRule phi3_names[] = {
    {"attention.query+attention.key+attention.value", "model.layers.{}.self_attn.qkv_proj"},
    {"mlp.gate+mlp.up", "model.layers.{}.mlp.gate_up_proj"},
};

constexpr NameRule starcoder2_names[] = {
    {"mlp.up", "model.layers.{}.mlp.c_fc"},
    {"mlp.down", "model.layers.{}.mlp.c_proj"},
};

constexpr NameRule gpt_oss_names[] = {
    {"attention.sinks", "model.layers.{}.self_attn.sinks"},
    {"router", "model.layers.{}.mlp.router"},
    {"expert.gate+expert.up", "model.layers.{}.mlp.experts.gate_up_proj", Layout::stacked_transposed},
    {"expert.down", "model.layers.{}.mlp.experts.down_proj", Layout::stacked_transposed},
};

constexpr NameRule deepseek_names[] = {
    {"attention.query_down", "model.layers.{}.self_attn.q_a_proj"},
    {"attention.query_norm", "model.layers.{}.self_attn.q_a_layernorm"},
    {"attention.query_up", "model.layers.{}.self_attn.q_b_proj"},
    {"attention.key_value_down", "model.layers.{}.self_attn.kv_a_proj_with_mqa"},
    {"attention.key_value_norm", "model.layers.{}.self_attn.kv_a_layernorm"},
    {"attention.key_value_up", "model.layers.{}.self_attn.kv_b_proj"},
    {"router.correction_bias", "model.layers.{}.mlp.gate.e_score_correction_bias"},
    {"shared_expert.gate", "model.layers.{}.mlp.shared_experts.gate_proj"},
    {"shared_expert.up", "model.layers.{}.mlp.shared_experts.up_proj"},
    {"shared_expert.down", "model.layers.{}.mlp.shared_experts.down_proj"},
};

constexpr NameRule gpt2_names[] = {
    {"embedding.token", "transformer.wte"},
    {"embedding.position", "transformer.wpe"},
    {"attention_norm", "transformer.h.{}.ln_1"},
    {"mlp_norm", "transformer.h.{}.ln_2"},
    {"attention.query+attention.key+attention.value", "transformer.h.{}.attn.c_attn", Layout::transposed},
    {"attention.output", "transformer.h.{}.attn.c_proj", Layout::transposed},
    {"mlp.up", "transformer.h.{}.mlp.c_fc", Layout::transposed},
    {"mlp.down", "transformer.h.{}.mlp.c_proj", Layout::transposed},
    {"final_norm", "transformer.ln_f"},
    {"lm_head", "lm_head"},
    {"classifier", "score"},
};

constexpr NameRule gpt_bigcode_names[] = {
    {"attention.query+attention.key+attention.value", "transformer.h.{}.attn.c_attn"},
    {"attention.output", "transformer.h.{}.attn.c_proj"},
    {"mlp.up", "transformer.h.{}.mlp.c_fc"},
    {"mlp.down", "transformer.h.{}.mlp.c_proj"},
};

constexpr NameRule gptj_names[] = {
    {"attention.query", "transformer.h.{}.attn.q_proj"},
    {"attention.key", "transformer.h.{}.attn.k_proj"},
    {"attention.value", "transformer.h.{}.attn.v_proj"},
    {"attention.output", "transformer.h.{}.attn.out_proj"},
    {"mlp.up", "transformer.h.{}.mlp.fc_in"},
    {"mlp.down", "transformer.h.{}.mlp.fc_out"},
};

constexpr NameRule gpt_neox_names[] = {
    {"embedding.token", "gpt_neox.embed_in"},
    {"attention_norm", "gpt_neox.layers.{}.input_layernorm"},
    {"mlp_norm", "gpt_neox.layers.{}.post_attention_layernorm"},
    {"attention.query+attention.key+attention.value", "gpt_neox.layers.{}.attention.query_key_value"},
    {"attention.output", "gpt_neox.layers.{}.attention.dense"},
    {"mlp.up", "gpt_neox.layers.{}.mlp.dense_h_to_4h"},
    {"mlp.down", "gpt_neox.layers.{}.mlp.dense_4h_to_h"},
    {"final_norm", "gpt_neox.final_layer_norm"},
    {"lm_head", "embed_out"},
    {"classifier", "score"},
};

// BLOOM, and with it Falcon.
constexpr NameRule bloom_names[] = {
    {"embedding.token", "transformer.word_embeddings"},
    {"embedding_norm", "transformer.word_embeddings_layernorm"},
    {"attention_norm", "transformer.h.{}.input_layernorm"},
    {"mlp_norm", "transformer.h.{}.post_attention_layernorm"},
    {"parallel_attention_norm", "transformer.h.{}.ln_attn"},
    {"parallel_mlp_norm", "transformer.h.{}.ln_mlp"},
    {"attention.query+attention.key+attention.value", "transformer.h.{}.self_attention.query_key_value"},
    {"attention.output", "transformer.h.{}.self_attention.dense"},
    {"mlp.up", "transformer.h.{}.mlp.dense_h_to_4h"},
    {"mlp.down", "transformer.h.{}.mlp.dense_4h_to_h"},
    {"final_norm", "transformer.ln_f"},
    {"lm_head", "lm_head"},
    {"classifier", "score"},
};

constexpr NameRule opt_names[] = {
    {"embedding.token", "model.decoder.embed_tokens"},
    {"embedding.position", "model.decoder.embed_positions"},
    {"embedding_projection", "model.decoder.project_in"},
    {"attention_norm", "model.decoder.layers.{}.self_attn_layer_norm"},
    {"mlp_norm", "model.decoder.layers.{}.final_layer_norm"},
    {"attention.query", "model.decoder.layers.{}.self_attn.q_proj"},
    {"attention.key", "model.decoder.layers.{}.self_attn.k_proj"},
    {"attention.value", "model.decoder.layers.{}.self_attn.v_proj"},
    {"attention.output", "model.decoder.layers.{}.self_attn.out_proj"},
    {"mlp.up", "model.decoder.layers.{}.fc1"},
    {"mlp.down", "model.decoder.layers.{}.fc2"},
    {"final_norm", "model.decoder.final_layer_norm"},
    {"output_projection", "model.decoder.project_out"},
    {"lm_head", "lm_head"},
    {"classifier", "score"},
};

constexpr NameRule bert_names[] = {
    {"embedding.token", "bert.embeddings.word_embeddings"},
    {"embedding.position", "bert.embeddings.position_embeddings"},
    {"embedding.type", "bert.embeddings.token_type_embeddings"},
    {"embedding_norm", "bert.embeddings.LayerNorm"},
    {"attention.query", "bert.encoder.layer.{}.attention.self.query"},
    {"attention.key", "bert.encoder.layer.{}.attention.self.key"},
    {"attention.value", "bert.encoder.layer.{}.attention.self.value"},
    {"attention.output", "bert.encoder.layer.{}.attention.output.dense"},
    {"attention_norm", "bert.encoder.layer.{}.attention.output.LayerNorm"},
    {"mlp.up", "bert.encoder.layer.{}.intermediate.dense"},
    {"mlp.down", "bert.encoder.layer.{}.output.dense"},
    {"mlp_norm", "bert.encoder.layer.{}.output.LayerNorm"},
    {"pooler", "bert.pooler.dense"},
    {"transform", "cls.predictions.transform.dense"},
    {"transform_norm", "cls.predictions.transform.LayerNorm"},
    {"lm_head", "cls.predictions.decoder"},
    {"output", "cls.predictions"},
    {"sentence_head", "cls.seq_relationship"},
    {"classifier", "classifier"},
};

constexpr NameRule roberta_names[] = {
    {"embedding.token", "roberta.embeddings.word_embeddings"},
    {"embedding.position", "roberta.embeddings.position_embeddings"},
    {"embedding.type", "roberta.embeddings.token_type_embeddings"},
    {"embedding_norm", "roberta.embeddings.LayerNorm"},
    {"attention.query", "roberta.encoder.layer.{}.attention.self.query"},
    {"attention.key", "roberta.encoder.layer.{}.attention.self.key"},
    {"attention.value", "roberta.encoder.layer.{}.attention.self.value"},
    {"attention.output", "roberta.encoder.layer.{}.attention.output.dense"},
    {"attention_norm", "roberta.encoder.layer.{}.attention.output.LayerNorm"},
    {"mlp.up", "roberta.encoder.layer.{}.intermediate.dense"},
    {"mlp.down", "roberta.encoder.layer.{}.output.dense"},
    {"mlp_norm", "roberta.encoder.layer.{}.output.LayerNorm"},
    {"pooler", "roberta.pooler.dense"},
    {"transform", "lm_head.dense"},
    {"transform_norm", "lm_head.layer_norm"},
    {"lm_head", "lm_head.decoder"},
    {"output", "lm_head"},
    {"classifier_dense", "classifier.dense"},
    {"classifier", "classifier.out_proj"},
};

constexpr NameRule distilbert_names[] = {
    {"embedding.token", "distilbert.embeddings.word_embeddings"},
    {"embedding.position", "distilbert.embeddings.position_embeddings"},
    {"embedding_norm", "distilbert.embeddings.LayerNorm"},
    {"attention.query", "distilbert.transformer.layer.{}.attention.q_lin"},
    {"attention.key", "distilbert.transformer.layer.{}.attention.k_lin"},
    {"attention.value", "distilbert.transformer.layer.{}.attention.v_lin"},
    {"attention.output", "distilbert.transformer.layer.{}.attention.out_lin"},
    {"attention_norm", "distilbert.transformer.layer.{}.sa_layer_norm"},
    {"mlp.up", "distilbert.transformer.layer.{}.ffn.lin1"},
    {"mlp.down", "distilbert.transformer.layer.{}.ffn.lin2"},
    {"mlp_norm", "distilbert.transformer.layer.{}.output_layer_norm"},
    {"transform", "vocab_transform"},
    {"transform_norm", "vocab_layer_norm"},
    {"lm_head", "vocab_projector"},
    {"output", "vocab_projector"},
    {"classifier_dense", "pre_classifier"},
    {"classifier", "classifier"},
};

// The layer number is that of the group; inner layers of a group are not told apart.
constexpr NameRule albert_names[] = {
    {"embedding.token", "albert.embeddings.word_embeddings"},
    {"embedding.position", "albert.embeddings.position_embeddings"},
    {"embedding.type", "albert.embeddings.token_type_embeddings"},
    {"embedding_norm", "albert.embeddings.LayerNorm"},
    {"embedding_projection", "albert.encoder.embedding_hidden_mapping_in"},
    {"attention.query", "albert.encoder.albert_layer_groups.{}.albert_layers.0.attention.query"},
    {"attention.key", "albert.encoder.albert_layer_groups.{}.albert_layers.0.attention.key"},
    {"attention.value", "albert.encoder.albert_layer_groups.{}.albert_layers.0.attention.value"},
    {"attention.output", "albert.encoder.albert_layer_groups.{}.albert_layers.0.attention.dense"},
    {"attention_norm", "albert.encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm"},
    {"mlp.up", "albert.encoder.albert_layer_groups.{}.albert_layers.0.ffn"},
    {"mlp.down", "albert.encoder.albert_layer_groups.{}.albert_layers.0.ffn_output"},
    {"mlp_norm", "albert.encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm"},
    {"pooler", "albert.pooler"},
    {"transform", "predictions.dense"},
    {"transform_norm", "predictions.LayerNorm"},
    {"lm_head", "predictions.decoder"},
    {"output", "predictions"},
    {"sentence_head", "sop_classifier.classifier"},
    {"classifier", "classifier"},
};

constexpr NameRule modernbert_names[] = {
    {"embedding.token", "model.embeddings.tok_embeddings"},
    {"embedding_norm", "model.embeddings.norm"},
    {"attention_norm", "model.layers.{}.attn_norm"},
    {"mlp_norm", "model.layers.{}.mlp_norm"},
    {"attention.query+attention.key+attention.value", "model.layers.{}.attn.Wqkv"},
    {"attention.output", "model.layers.{}.attn.Wo"},
    {"mlp.gate+mlp.up", "model.layers.{}.mlp.Wi"},
    {"mlp.down", "model.layers.{}.mlp.Wo"},
    {"final_norm", "model.final_norm"},
    {"transform", "head.dense"},
    {"transform_norm", "head.norm"},
    {"lm_head", "decoder"},
    {"output", "decoder"},
    {"classifier", "classifier"},
};

constexpr NameRule t5_names[] = {
    {"embedding.token", "shared"},
    {"encoder.attention.query", "encoder.block.{}.layer.0.SelfAttention.q"},
    {"encoder.attention.key", "encoder.block.{}.layer.0.SelfAttention.k"},
    {"encoder.attention.value", "encoder.block.{}.layer.0.SelfAttention.v"},
    {"encoder.attention.output", "encoder.block.{}.layer.0.SelfAttention.o"},
    {"encoder.attention.relative_bias", "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
    {"encoder.attention_norm", "encoder.block.{}.layer.0.layer_norm"},
    {"encoder.mlp.gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"},
    {"encoder.mlp.up", "encoder.block.{}.layer.1.DenseReluDense.wi_1"},
    {"encoder.mlp.plain_up", "encoder.block.{}.layer.1.DenseReluDense.wi"},
    {"encoder.mlp.down", "encoder.block.{}.layer.1.DenseReluDense.wo"},
    {"encoder.mlp_norm", "encoder.block.{}.layer.1.layer_norm"},
    {"encoder.final_norm", "encoder.final_layer_norm"},
    {"decoder.attention.query", "decoder.block.{}.layer.0.SelfAttention.q"},
    {"decoder.attention.key", "decoder.block.{}.layer.0.SelfAttention.k"},
    {"decoder.attention.value", "decoder.block.{}.layer.0.SelfAttention.v"},
    {"decoder.attention.output", "decoder.block.{}.layer.0.SelfAttention.o"},
    {"decoder.attention.relative_bias", "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
    {"decoder.attention_norm", "decoder.block.{}.layer.0.layer_norm"},
    {"decoder.cross_attention.query", "decoder.block.{}.layer.1.EncDecAttention.q"},
    {"decoder.cross_attention.key", "decoder.block.{}.layer.1.EncDecAttention.k"},
    {"decoder.cross_attention.value", "decoder.block.{}.layer.1.EncDecAttention.v"},
    {"decoder.cross_attention.output", "decoder.block.{}.layer.1.EncDecAttention.o"},
    {"decoder.cross_attention_norm", "decoder.block.{}.layer.1.layer_norm"},
    {"decoder.mlp.gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"},
    {"decoder.mlp.up", "decoder.block.{}.layer.2.DenseReluDense.wi_1"},
    {"decoder.mlp.plain_up", "decoder.block.{}.layer.2.DenseReluDense.wi"},
    {"decoder.mlp.down", "decoder.block.{}.layer.2.DenseReluDense.wo"},
    {"decoder.mlp_norm", "decoder.block.{}.layer.2.layer_norm"},
    {"decoder.final_norm", "decoder.final_layer_norm"},
    {"lm_head", "lm_head"},
};

// BART, and with it Whisper.
constexpr NameRule bart_names[] = {
    {"embedding.token", "model.shared"},
    {"encoder.embedding.position", "model.encoder.embed_positions"},
    {"encoder.embedding_norm", "model.encoder.layernorm_embedding"},
    {"encoder.attention.query", "model.encoder.layers.{}.self_attn.q_proj"},
    {"encoder.attention.key", "model.encoder.layers.{}.self_attn.k_proj"},
    {"encoder.attention.value", "model.encoder.layers.{}.self_attn.v_proj"},
    {"encoder.attention.output", "model.encoder.layers.{}.self_attn.out_proj"},
    {"encoder.attention_norm", "model.encoder.layers.{}.self_attn_layer_norm"},
    {"encoder.mlp.up", "model.encoder.layers.{}.fc1"},
    {"encoder.mlp.down", "model.encoder.layers.{}.fc2"},
    {"encoder.mlp_norm", "model.encoder.layers.{}.final_layer_norm"},
    {"encoder.final_norm", "model.encoder.layer_norm"},
    {"decoder.embedding.position", "model.decoder.embed_positions"},
    {"decoder.embedding_norm", "model.decoder.layernorm_embedding"},
    {"decoder.attention.query", "model.decoder.layers.{}.self_attn.q_proj"},
    {"decoder.attention.key", "model.decoder.layers.{}.self_attn.k_proj"},
    {"decoder.attention.value", "model.decoder.layers.{}.self_attn.v_proj"},
    {"decoder.attention.output", "model.decoder.layers.{}.self_attn.out_proj"},
    {"decoder.attention_norm", "model.decoder.layers.{}.self_attn_layer_norm"},
    {"decoder.cross_attention.query", "model.decoder.layers.{}.encoder_attn.q_proj"},
    {"decoder.cross_attention.key", "model.decoder.layers.{}.encoder_attn.k_proj"},
    {"decoder.cross_attention.value", "model.decoder.layers.{}.encoder_attn.v_proj"},
    {"decoder.cross_attention.output", "model.decoder.layers.{}.encoder_attn.out_proj"},
    {"decoder.cross_attention_norm", "model.decoder.layers.{}.encoder_attn_layer_norm"},
    {"decoder.mlp.up", "model.decoder.layers.{}.fc1"},
    {"decoder.mlp.down", "model.decoder.layers.{}.fc2"},
    {"decoder.mlp_norm", "model.decoder.layers.{}.final_layer_norm"},
    {"decoder.final_norm", "model.decoder.layer_norm"},
    {"lm_head", "lm_head"},
};

constexpr NameRule whisper_names[] = {
    {"embedding.token", "model.decoder.embed_tokens"},
    {"encoder.conv1", "model.encoder.conv1"},
    {"encoder.conv2", "model.encoder.conv2"},
    {"lm_head", "proj_out"},
};

constexpr NameRule vit_names[] = {
    {"embedding.class_token", "vit.embeddings.cls_token"},
    {"embedding.position", "vit.embeddings.position_embeddings"},
    {"patches", "vit.embeddings.patch_embeddings.projection"},
    {"attention.query", "vit.encoder.layer.{}.attention.attention.query"},
    {"attention.key", "vit.encoder.layer.{}.attention.attention.key"},
    {"attention.value", "vit.encoder.layer.{}.attention.attention.value"},
    {"attention.output", "vit.encoder.layer.{}.attention.output.dense"},
    {"attention_norm", "vit.encoder.layer.{}.layernorm_before"},
    {"mlp.up", "vit.encoder.layer.{}.intermediate.dense"},
    {"mlp.down", "vit.encoder.layer.{}.output.dense"},
    {"mlp_norm", "vit.encoder.layer.{}.layernorm_after"},
    {"final_norm", "vit.layernorm"},
    {"pooler", "vit.pooler.dense"},
    {"classifier", "classifier"},
};

// Sizes that the classes take when a file leaves them out.

constexpr ClassDefault gpt2_defaults[] = {{"n_positions", 1024}};
constexpr ClassDefault gptj_defaults[] = {{"n_positions", 2048}};
constexpr ClassDefault positions_512[] = {{"max_position_embeddings", 512}};
constexpr ClassDefault positions_2048[] = {{"max_position_embeddings", 2048}};
constexpr ClassDefault bert_defaults[] = {{"max_position_embeddings", 512}, {"type_vocab_size", 2}};
constexpr ClassDefault albert_defaults[] = {{"max_position_embeddings", 512},
                                            {"type_vocab_size", 2},
                                            {"embedding_size", 128},
                                            {"num_hidden_groups", 1},
                                            {"inner_group_num", 1}};
constexpr ClassDefault mistral_defaults[] = {{"num_key_value_heads", 8}, {"sliding_window", 4096}};
constexpr ClassDefault mixtral_defaults[] = {
    {"num_key_value_heads", 8}, {"num_local_experts", 8}, {"num_experts_per_tok", 2}};
constexpr ClassDefault qwen2_defaults[] = {
    {"num_key_value_heads", 32}, {"sliding_window", 4096}, {"max_window_layers", 28}};
constexpr ClassDefault qwen2_moe_defaults[] = {{"num_key_value_heads", 16},
                                               {"sliding_window", 4096},
                                               {"max_window_layers", 28},
                                               {"num_experts", 60},
                                               {"num_experts_per_tok", 4},
                                               {"moe_intermediate_size", 1408},
                                               {"shared_expert_intermediate_size", 5632},
                                               {"decoder_sparse_step", 1}};
constexpr ClassDefault qwen3_defaults[] = {
    {"num_key_value_heads", 32}, {"head_dim", 128}, {"sliding_window", 4096}, {"max_window_layers", 28}};
constexpr ClassDefault qwen3_moe_defaults[] = {{"num_key_value_heads", 4}, {"sliding_window", 4096},
                                               {"max_window_layers", 28},  {"num_experts", 128},
                                               {"num_experts_per_tok", 8}, {"moe_intermediate_size", 768},
                                               {"decoder_sparse_step", 1}};
constexpr ClassDefault gemma_defaults[] = {
    {"num_attention_heads", 16}, {"num_key_value_heads", 16}, {"head_dim", 256}, {"vocab_size", 256000}};
constexpr ClassDefault gemma2_defaults[] = {{"num_attention_heads", 8},
                                            {"num_key_value_heads", 4},
                                            {"head_dim", 256},
                                            {"vocab_size", 256000},
                                            {"sliding_window", 4096}};
constexpr ClassDefault gemma3_defaults[] = {{"num_attention_heads", 8}, {"num_key_value_heads", 4},
                                            {"head_dim", 256},          {"vocab_size", 262208},
                                            {"sliding_window", 4096},   {"max_position_embeddings", 131072}};
constexpr ClassDefault starcoder2_defaults[] = {{"num_key_value_heads", 2}};
constexpr ClassDefault stablelm_defaults[] = {{"num_key_value_heads", 32}};
constexpr ClassDefault smollm3_defaults[] = {{"num_key_value_heads", 4}};
constexpr ClassDefault olmoe_defaults[] = {{"num_experts", 64}, {"num_experts_per_tok", 8}};
constexpr ClassDefault gpt_oss_defaults[] = {{"num_key_value_heads", 8},
                                             {"head_dim", 64},
                                             {"num_local_experts", 128},
                                             {"num_experts_per_tok", 4},
                                             {"sliding_window", 128}};
constexpr ClassDefault deepseek_v2_defaults[] = {
    {"kv_lora_rank", 512}, {"q_lora_rank", 1536}, {"qk_rope_head_dim", 64},    {"qk_nope_head_dim", 128},
    {"v_head_dim", 128},   {"moe_layer_freq", 1}, {"first_k_dense_replace", 0}};
constexpr ClassDefault deepseek_v3_defaults[] = {
    {"kv_lora_rank", 512},        {"q_lora_rank", 1536},      {"qk_rope_head_dim", 64},
    {"qk_nope_head_dim", 128},    {"v_head_dim", 128},        {"n_routed_experts", 256},
    {"n_shared_experts", 1},      {"num_experts_per_tok", 8}, {"moe_intermediate_size", 2048},
    {"first_k_dense_replace", 3}, {"moe_layer_freq", 1}};
constexpr ClassDefault modernbert_defaults[] = {{"global_attn_every_n_layers", 3}, {"local_attention", 128}};
constexpr ClassDefault t5_defaults[] = {{"d_kv", 64}, {"relative_attention_num_buckets", 32}};
constexpr ClassDefault whisper_defaults[] = {
    {"num_mel_bins", 80}, {"max_source_positions", 1500}, {"max_target_positions", 448}};
constexpr ClassDefault vit_defaults[] = {{"image_size", 224}, {"patch_size", 16}, {"num_channels", 3}};

constexpr Setting always{"", true};
constexpr Setting tied_by_default{"tie_word_embeddings", true};
constexpr Setting attention_bias{"attention_bias", false};

constexpr Keys gpt2_keys{.width = "n_embd hidden_size",
                         .layers = "n_layer num_hidden_layers",
                         .heads = "n_head num_attention_heads",
                         .kv_heads = "",
                         .head_dim = "",
                         .ffn = "n_inner",
                         .positions = "n_positions n_ctx max_position_embeddings"};

constexpr Family gpt2_like{.model_type = "gpt2",
                           .usual_class = "GPT2LMHeadModel",
                           .keys = gpt2_keys,
                           .defaults = gpt2_defaults,
                           .tied = tied_by_default,
                           .query_value_bias = always,
                           .output_bias = always,
                           .mlp_bias = always,
                           .ffn_multiple = 4,
                           .norm = Norm::gain_and_bias,
                           .positions = Positions::learned,
                           .naming = {"transformer.", {}, gpt2_names}};

constexpr Family llama_like{.model_type = "llama",
                            .usual_class = "LlamaForCausalLM",
                            .query_value_bias = attention_bias,
                            .output_bias = attention_bias,
                            .gated = true,
                            .mlp_bias = {"mlp_bias", false},
                            .rotary = true,
                            .naming = {"model.", {}, llama_names}};

constexpr Family bert_like{.model_type = "bert",
                           .usual_class = "BertForMaskedLM",
                           .form = Form::encoder,
                           .keys = {.kv_heads = "", .head_dim = ""},
                           .defaults = bert_defaults,
                           .tied = tied_by_default,
                           .pooler = true,
                           .sentence_head = true,
                           .query_value_bias = always,
                           .output_bias = always,
                           .mlp_bias = always,
                           .norm = Norm::gain_and_bias,
                           .final_norm = false,
                           .embedding_norm = true,
                           .positions = Positions::learned,
                           .token_types = true,
                           .naming = {"bert.", {}, bert_names}};

constexpr Family t5_like{.model_type = "t5",
                         .usual_class = "T5ForConditionalGeneration",
                         .form = Form::encoder_decoder,
                         .keys = {.width = "d_model",
                                  .layers = "num_layers",
                                  .heads = "num_heads",
                                  .kv_heads = "",
                                  .head_dim = "d_kv",
                                  .ffn = "d_ff",
                                  .positions = "n_positions",
                                  .decoder_layers = "num_decoder_layers"},
                         .defaults = t5_defaults,
                         .tied = tied_by_default,
                         .positions = Positions::relative,
                         .naming = {"", {}, t5_names}};

/// A row derived from another: `change` sets what differs.
template <typename Change>
constexpr Family derived(Family family, std::string_view model_type, std::string_view usual_class,
                         Change change) {
  family.model_type = model_type;
  family.usual_class = usual_class;
  change(family);
  return family;
}

constexpr std::array all_families{
    gpt2_like,
    derived(gpt2_like, "gptj", "GPTJForCausalLM",
            [](Family& f) {
              f.defaults = gptj_defaults;
              f.tied = {"tie_word_embeddings", false};
              f.head_bias = true;
              f.query_value_bias = f.output_bias = {};
              f.norms = "attention_norm";
              f.positions = Positions::none;
              f.rotary = true;
              f.naming.own = gptj_names;
            }),
    derived(gpt2_like, "gpt_neox", "GPTNeoXForCausalLM",
            [](Family& f) {
              f.keys = {.kv_heads = "", .head_dim = ""};
              f.defaults = positions_2048;
              f.tied = {"tie_word_embeddings", false};
              f.query_value_bias = f.output_bias = {"attention_bias", true};
              f.ffn_multiple = 0;
              f.positions = Positions::none;
              f.rotary = true;
              f.naming = {"gpt_neox.", {}, gpt_neox_names};
            }),
    derived(gpt2_like, "opt", "OPTForCausalLM",
            [](Family& f) {
              f.keys = {
                  .kv_heads = "", .head_dim = "", .ffn = "ffn_dim", .embedding_width = "word_embed_proj_dim"};
              f.defaults = positions_2048;
              f.query_value_bias = f.output_bias = f.mlp_bias = {"enable_bias", true};
              f.ffn_multiple = 0;
              f.position_offset = 2;
              f.naming = {"model.", {}, opt_names};
            }),
    derived(gpt2_like, "bloom", "BloomForCausalLM",
            [](Family& f) {
              f.keys = {.width = "hidden_size n_embed",
                        .layers = "n_layer num_hidden_layers",
                        .heads = "n_head num_attention_heads",
                        .kv_heads = "",
                        .head_dim = "",
                        .ffn = "",
                        .positions = "seq_length"};
              f.defaults = {};
              f.embedding_norm = true;
              f.positions = Positions::none;
              f.naming = {"transformer.", {}, bloom_names};
            }),
    derived(gpt2_like, "falcon", "FalconForCausalLM",
            [](Family& f) {
              f.keys = {.layers = "num_hidden_layers n_layer",
                        .heads = "num_attention_heads n_head",
                        .kv_heads = "num_kv_heads n_head_kv",
                        .head_dim = "",
                        .ffn = "ffn_hidden_size"};
              f.defaults = positions_2048;
              f.query_value_bias = f.output_bias = f.mlp_bias = {"bias", false};
              f.key_heads = KeyHeads::falcon;
              f.parallel = {"parallel_attn", true};
              f.positions = Positions::none;
              f.rotary = true;
              f.naming = {"transformer.", {}, bloom_names};
            }),
    derived(gpt2_like, "gpt_bigcode", "GPTBigCodeForCausalLM",
            [](Family& f) {
              f.key_heads = KeyHeads::multi_query;
              f.naming.own = gpt_bigcode_names;
              f.anchored = false;
            }),
    llama_like,
    derived(llama_like, "mistral", "MistralForCausalLM",
            [](Family& f) {
              f.defaults = mistral_defaults;
              f.query_value_bias = f.output_bias = f.mlp_bias = {};
              f.window = WindowPattern::all;
            }),
    derived(llama_like, "mixtral", "MixtralForCausalLM",
            [](Family& f) {
              f.defaults = mixtral_defaults;
              f.query_value_bias = f.output_bias = f.mlp_bias = {};
              f.moe = {.count = "num_local_experts"};
              f.window = WindowPattern::all;
              f.naming.own = mixtral_names;
            }),
    derived(llama_like, "qwen2", "Qwen2ForCausalLM",
            [](Family& f) {
              f.defaults = qwen2_defaults;
              f.query_value_bias = always;
              f.output_bias = f.mlp_bias = {};
              f.window = WindowPattern::after_max_window_layers;
              f.window_used = {"use_sliding_window", false};
            }),
    derived(llama_like, "qwen2_moe", "Qwen2MoeForCausalLM",
            [](Family& f) {
              f.defaults = qwen2_moe_defaults;
              f.query_value_bias = {"qkv_bias", true};
              f.output_bias = f.mlp_bias = {};
              f.moe = {.count = "num_experts",
                       .width = "moe_intermediate_size",
                       .shared_width = "shared_expert_intermediate_size",
                       .step = "decoder_sparse_step",
                       .plain_layers = "mlp_only_layers",
                       .shared_gate = true};
              f.window = WindowPattern::after_max_window_layers;
              f.window_used = {"use_sliding_window", false};
              f.naming.own = qwen2_moe_names;
            }),
    derived(llama_like, "qwen3", "Qwen3ForCausalLM",
            [](Family& f) {
              f.defaults = qwen3_defaults;
              f.mlp_bias = {};
              f.query_key_norm = QueryKeyNorm::head;
              f.window = WindowPattern::after_max_window_layers;
              f.window_used = {"use_sliding_window", false};
            }),
    derived(llama_like, "qwen3_moe", "Qwen3MoeForCausalLM",
            [](Family& f) {
              f.defaults = qwen3_moe_defaults;
              f.mlp_bias = {};
              f.query_key_norm = QueryKeyNorm::head;
              f.moe = {.count = "num_experts",
                       .width = "moe_intermediate_size",
                       .step = "decoder_sparse_step",
                       .plain_layers = "mlp_only_layers"};
              f.window = WindowPattern::after_max_window_layers;
              f.window_used = {"use_sliding_window", false};
            }),
    derived(llama_like, "gemma", "GemmaForCausalLM",
            [](Family& f) {
              f.defaults = gemma_defaults;
              f.tied = tied_by_default;
              f.mlp_bias = {};
            }),
    derived(llama_like, "gemma2", "Gemma2ForCausalLM",
            [](Family& f) {
              f.defaults = gemma2_defaults;
              f.tied = tied_by_default;
              f.mlp_bias = {};
              f.norms = "attention_norm post_attention_norm mlp_norm post_mlp_norm";
              f.window = WindowPattern::even_layers;
              f.naming.own = four_norm_names;
            }),
    derived(llama_like, "gemma3_text", "Gemma3ForCausalLM",
            [](Family& f) {
              f.defaults = gemma3_defaults;
              f.tied = tied_by_default;
              f.mlp_bias = {};
              f.query_key_norm = QueryKeyNorm::head;
              f.norms = "attention_norm post_attention_norm mlp_norm post_mlp_norm";
              f.window = WindowPattern::all_but_every_sixth;
              f.naming.own = four_norm_names;
            }),
    derived(llama_like, "phi", "PhiForCausalLM",
            [](Family& f) {
              f.head_bias = true;
              f.query_value_bias = f.output_bias = f.mlp_bias = always;
              f.query_key_norm = QueryKeyNorm::head;
              f.query_key_norm_used = {"qk_layernorm", false};
              f.query_key_norm_bias = true;
              f.gated = false;
              f.norms = "attention_norm";
              f.norm = Norm::gain_and_bias;
              f.naming.own = phi_names;
            }),
    derived(llama_like, "phi3", "Phi3ForCausalLM",
            [](Family& f) {
              f.query_value_bias = f.output_bias = f.mlp_bias = {};
              f.window = WindowPattern::all;
              f.naming.own = phi3_names;
            }),
    derived(llama_like, "starcoder2", "Starcoder2ForCausalLM",
            [](Family& f) {
              f.defaults = starcoder2_defaults;
              f.tied = tied_by_default;
              f.query_value_bias = f.output_bias = f.mlp_bias = {"use_bias", true};
              f.gated = false;
              f.norm = Norm::gain_and_bias;
              f.window = WindowPattern::all;
              f.naming.own = starcoder2_names;
            }),
    derived(llama_like, "stablelm", "StableLmForCausalLM",
            [](Family& f) {
              f.defaults = stablelm_defaults;
              f.query_value_bias = {"use_qkv_bias", false};
              f.output_bias = f.mlp_bias = {};
              f.query_key_norm = QueryKeyNorm::per_head;
              f.query_key_norm_used = {"qk_layernorm", false};
              f.norm = Norm::gain_and_bias;
              f.parallel = {"use_parallel_residual", false};
              f.naming.own = stablelm_names;
              f.anchored = false;
            }),
    derived(llama_like, "granite", "GraniteForCausalLM", [](Family&) {}),
    derived(llama_like, "olmo", "OlmoForCausalLM",
            [](Family& f) {
              f.mlp_bias = {};
              f.norm = Norm::none;
            }),
    derived(llama_like, "olmo2", "Olmo2ForCausalLM",
            [](Family& f) {
              f.mlp_bias = {};
              f.query_key_norm = QueryKeyNorm::width;
              f.norms = "post_attention_norm post_mlp_norm";
              f.naming.own = four_norm_names;
            }),
    derived(llama_like, "olmoe", "OlmoeForCausalLM",
            [](Family& f) {
              f.defaults = olmoe_defaults;
              f.mlp_bias = {};
              f.query_key_norm = QueryKeyNorm::width;
              f.moe = {.count = "num_experts"};
              f.anchored = false;
            }),
    derived(llama_like, "smollm3", "SmolLM3ForCausalLM",
            [](Family& f) {
              f.defaults = smollm3_defaults;
              f.tied = tied_by_default;
              f.window = WindowPattern::all;
              f.window_used = {"use_sliding_window", false};
              f.anchored = false;
            }),
    derived(llama_like, "gpt_oss", "GptOssForCausalLM",
            [](Family& f) {
              f.defaults = gpt_oss_defaults;
              f.query_value_bias = f.output_bias = {"attention_bias", true};
              f.mlp_bias = {};
              f.sinks = true;
              f.moe = {.count = "num_local_experts", .bias = true};
              f.window = WindowPattern::even_layers;
              f.naming.own = gpt_oss_names;
            }),
    derived(llama_like, "deepseek_v2", "DeepseekV2ForCausalLM",
            [](Family& f) {
              f.keys.kv_heads = f.keys.head_dim = "";
              f.defaults = deepseek_v2_defaults;
              f.mlp_bias = {};
              f.latent = true;
              f.moe = {.count = "n_routed_experts",
                       .width = "moe_intermediate_size",
                       .shared_count = "n_shared_experts",
                       .first_dense = "first_k_dense_replace",
                       .step = "moe_layer_freq",
                       .step_from_zero = true};
              f.naming.own = deepseek_names;
            }),
    derived(llama_like, "deepseek_v3", "DeepseekV3ForCausalLM",
            [](Family& f) {
              f.keys.kv_heads = f.keys.head_dim = "";
              f.defaults = deepseek_v3_defaults;
              f.mlp_bias = {};
              f.latent = true;
              f.moe = {.count = "n_routed_experts",
                       .width = "moe_intermediate_size",
                       .shared_count = "n_shared_experts",
                       .first_dense = "first_k_dense_replace",
                       .step = "moe_layer_freq",
                       .step_from_zero = true,
                       .correction_bias = true};
              f.naming.own = deepseek_names;
            }),
    bert_like,
    derived(bert_like, "roberta", "RobertaForMaskedLM",
            [](Family& f) {
              f.sentence_head = false;
              f.position_padding = 2;
              f.naming = {"roberta.", {}, roberta_names};
            }),
    derived(bert_like, "xlm-roberta", "XLMRobertaForMaskedLM",
            [](Family& f) {
              f.sentence_head = false;
              f.position_padding = 2;
              f.naming = {"roberta.", {}, roberta_names};
              f.anchored = false;
            }),
    derived(bert_like, "distilbert", "DistilBertForMaskedLM",
            [](Family& f) {
              f.sentence_head = false;
              f.keys.width = "dim hidden_size";
              f.keys.layers = "n_layers num_hidden_layers";
              f.keys.heads = "n_heads num_attention_heads";
              f.keys.ffn = "hidden_dim";
              f.defaults = positions_512;
              f.pooler = false;
              f.token_types = false;
              f.naming = {"distilbert.", {}, distilbert_names};
            }),
    derived(bert_like, "albert", "AlbertForMaskedLM",
            [](Family& f) {
              f.keys.embedding_width = "embedding_size";
              f.defaults = albert_defaults;
              f.naming = {"albert.", {}, albert_names};
            }),
    derived(bert_like, "modernbert", "ModernBertForMaskedLM",
            [](Family& f) {
              f.sentence_head = false;
              f.classifier_transform = true;
              f.defaults = modernbert_defaults;
              f.pooler = false;
              f.query_value_bias = f.output_bias = attention_bias;
              f.gated = true;
              f.mlp_bias = {"mlp_bias", false};
              f.norm = Norm::gain;
              f.final_norm = true;
              f.positions = Positions::none;
              f.rotary = true;
              f.token_types = false;
              f.window_key = "local_attention";
              f.window = WindowPattern::local_encoder;
              f.naming = {"model.", {}, modernbert_names};
            }),
    t5_like,
    derived(t5_like, "mt5", "MT5ForConditionalGeneration",
            [](Family& f) {
              f.tied = {"tie_word_embeddings", false};
              f.gated = true;
              f.anchored = false;
            }),
    derived(t5_like, "bart", "BartForConditionalGeneration",
            [](Family& f) {
              f.keys = {.width = "d_model",
                        .layers = "encoder_layers",
                        .heads = "encoder_attention_heads",
                        .kv_heads = "",
                        .head_dim = "",
                        .ffn = "encoder_ffn_dim",
                        .decoder_layers = "decoder_layers",
                        .decoder_heads = "decoder_attention_heads",
                        .decoder_ffn = "decoder_ffn_dim"};
              f.defaults = {};
              f.query_value_bias = f.output_bias = f.mlp_bias = always;
              f.norm = Norm::gain_and_bias;
              f.final_norm = false;
              f.embedding_norm = true;
              f.positions = Positions::learned;
              f.position_offset = 2;
              f.naming = {"model.", {}, bart_names};
            }),
    derived(t5_like, "whisper", "WhisperForConditionalGeneration",
            [](Family& f) {
              f.keys = {.width = "d_model",
                        .layers = "encoder_layers",
                        .heads = "encoder_attention_heads",
                        .kv_heads = "",
                        .head_dim = "",
                        .ffn = "encoder_ffn_dim",
                        .positions = "max_target_positions",
                        .decoder_layers = "decoder_layers",
                        .decoder_heads = "decoder_attention_heads",
                        .decoder_ffn = "decoder_ffn_dim",
                        .encoder_positions = "max_source_positions"};
              f.defaults = whisper_defaults;
              f.query_value_bias = f.output_bias = f.mlp_bias = always;
              f.key_bias = false;
              f.norm = Norm::gain_and_bias;
              f.positions = Positions::learned;
              f.naming = {"model.", whisper_names, bart_names};
            }),
    derived(bert_like, "vit", "ViTForImageClassification",
            [](Family& f) {
              f.form = Form::vision;
              f.keys.vocab = f.keys.positions = "";
              f.defaults = vit_defaults;
              f.query_value_bias = {"qkv_bias", true};
              f.final_norm = true;
              f.embedding_norm = false;
              f.token_types = false;
              f.naming = {"vit.", {}, vit_names};
            }),
};

}  // namespace

std::span<const Family> families() { return all_families; }

const Family* find_family(std::string_view model_type) {
  // A Gemma 3 file with a vision tower says "gemma3" and nests the language model.
  const std::string_view wanted = model_type == "gemma3" ? "gemma3_text" : model_type;
  const auto* found = std::find_if(all_families.begin(), all_families.end(),
                                   [&](const Family& family) { return family.model_type == wanted; });
  return found == all_families.end() ? nullptr : found;
}

}  // namespace attnlab
