#include "accounting/compute.hpp"

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

std::vector<Quantity> flops_of(const std::string& name, std::int64_t seq_len) {
  const Architecture a = model(name);
  return flops_per_token(a, count_parameters(a), seq_len);
}

Int128 whole(const std::vector<Quantity>& list, const char* name) {
  const Quantity& quantity = find_quantity(list, name);
  CHECK(quantity.per == 1);
  return quantity.value;
}

bool within(double value, double expected, double relative) {
  return std::abs(value - expected) <= relative * std::abs(expected);
}

/// Pairs counted one query at a time.
Int128 pairs_by_hand(const AttentionShape& a, std::int64_t seq_len) {
  Int128 sum = 0;
  for (std::int64_t query = 0; query < seq_len; ++query) {
    for (std::int64_t key = 0; key < seq_len; ++key) {
      const bool seen = a.causal ? key <= query && (a.window == 0 || query - key < a.window)
                                 : a.window == 0 || std::abs(query - key) <= a.window / 2;
      sum += seen ? 1 : 0;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("compute: GPT-2 small by every convention") {
  const auto list = flops_of("gpt2", 1024);
  CHECK(whole(list, "six_n") == 510326784);
  CHECK(whole(list, "six_n_non_embedding") == 510336000);
  CHECK(whole(list, "six_n_without_positions") == 741920256);
  CHECK(whole(list, "six_n_total") == 746638848);
  CHECK(whole(list, "six_n_matmul") == 741192192);
  CHECK(whole(list, "attention_6LTd") == 56623104);
  CHECK(whole(list, "attention_full_training") == 113246208);
  CHECK(whole(list, "attention_causal_training") == 56678400);
  CHECK(whole(list, "six_n_total_plus_6LTd") == 803261952);
  CHECK(whole(list, "six_n_matmul_plus_12LTd") == 854438400);  // nanoGPT's notebook: 874,944,921,600 / 1024
  CHECK(whole(list, "forward_matmul_per_token") == 247064064);
  CHECK(whole(list, "training_per_token") == 3 * whole(list, "forward_per_token"));
  CHECK(whole(list, "training_per_token") == 741192192 + 56678400);
}

TEST_CASE("compute: 6 L T d equals the blocks' own 6 N where T is N of a layer over d") {
  const auto list = flops_of("gpt2", 9216);
  // Without biases and norms a layer has 12 d^2.
  CHECK(whole(list, "attention_6LTd") == Int128{6} * 12 * (12 * Int128{768} * 768));
}

TEST_CASE("compute: attended pairs agree with counting them") {
  for (const bool causal : {true, false}) {
    for (const std::int64_t window : {0, 1, 2, 3, 7, 8, 100}) {
      for (const std::int64_t seq_len : {1, 2, 5, 8, 33}) {
        AttentionShape a;
        a.causal = causal;
        a.window = window;
        CAPTURE(causal);
        CAPTURE(window);
        CAPTURE(seq_len);
        CHECK(attended_pairs(a, seq_len) == pairs_by_hand(a, seq_len));
      }
    }
  }
}

TEST_CASE("compute: a figure that is no whole number keeps its fraction") {
  Architecture a = model("gpt2");
  for (Layer& layer : a.stacks.front().layers) layer.attention.window = 2;
  const auto list = flops_per_token(a, count_parameters(a), 5);
  const Quantity& causal = find_quantity(list, "attention_causal_training");
  // Nine pairs over five tokens.
  CHECK(causal.value == Int128{6} * 12 * 1536 * 9);
  CHECK(causal.per == 5);
  CHECK(causal.real() == 6 * 12 * 1536 * 9 / 5.0);
}

TEST_CASE("compute: attention's width is that of the heads and not of the model") {
  // Qwen3-0.6B: 16 heads of 128 beside a width of 1024. DeepSeek-V3: keys of 192 and values of 128.
  CHECK(whole(flops_of("qwen3-0.6b", 10), "attention_full_training") == 12 * Int128{28} * 10 * 2048);
  CHECK(whole(flops_of("deepseek-v3", 10), "attention_full_training") ==
        6 * Int128{61} * 10 * 128 * (192 + 128));
}

TEST_CASE("compute: 6 N counts active experts and each use of a shared layer") {
  CHECK(whole(flops_of("albert-base-v2-encoder", 512), "six_n") == Int128{6} * 12 * 7087872);
  const Architecture mixtral = model("mixtral-8x7b");
  // 12,879,925,248 active without both vocabulary matrices and the last norm.
  CHECK(whole(flops_of("mixtral-8x7b", 8), "six_n") == 6 * (Int128{12879925248} - 262144000 - 4096));
}

TEST_CASE("compute: an encoder-decoder token passes one side") {
  const auto list = flops_of("t5-small", 8);
  // Decoder: 6 x (attention 4 x 512^2 and cross-attention's query and output 2 x 512^2, MLP 2 x 512 x 2048) +
  // head.
  CHECK(whole(list, "forward_matmul_per_token") ==
        2 * (6 * (6 * Int128{512} * 512 + 2 * Int128{512} * 2048) + Int128{32128} * 512));
  // Encoder: its own layers, and the keys and values of the decoder's six.
  CHECK(whole(list, "encoder_matmul_per_position") ==
        2 * (6 * (4 * Int128{512} * 512 + 2 * Int128{512} * 2048) + Int128{6} * 2 * 512 * 512));
  CHECK(whole(list, "cross_attention_training") == Int128{6} * 6 * 8 * 1024);
}

TEST_CASE("compute: prefill and decode") {
  const Architecture a = model("gpt2");
  const ParameterCount count = count_parameters(a);
  const auto list = inference_flops(a, count, 1024);
  CHECK(whole(list, "prefill") == Int128{247064064} * 1024 + 2 * Int128{12} * 1536 * (1024 * 1025 / 2));
  CHECK(whole(list, "decode") == Int128{247064064} + 2 * Int128{12} * 1536 * 1025);
  // One token read at once is one decoded after nothing.
  CHECK(whole(inference_flops(a, count, 1), "prefill") == Int128{247064064} + 2 * Int128{12} * 1536);
  CHECK(inference_flops(model("bert-base-uncased"), count_parameters(model("bert-base-uncased")), 8).size() ==
        1);
}

TEST_CASE("compute: training sums beyond 64 bits stay exact") {
  CHECK(to_string(training_compute(175000000000, 300000000000)) == "315000000000000000000000");
  CHECK(to_string(training_compute(405000000000, 15600000000000)) == "37908000000000000000000000");
  const Int128 all = count_parameters(model("llama-3.1-405b")).total;
  CHECK(to_string(training_compute(all, 15000000000000)) == "36526804992000000000000000");
  // GPT-3's paper: 3.14e23.
  const Int128 gpt3 = count_parameters(model("gpt3-175b")).total;
  CHECK(within(static_cast<double>(training_compute(gpt3, 300000000000)), 3.14e23, 0.001));
  CHECK_THROWS_AS(training_compute(Int128{1} << 100, Int128{1} << 30), Error);
  const auto v3 = flops_of("deepseek-v3", std::int64_t{1} << 39);
  CHECK(find_quantity(v3, "attention_full_training").value == 6 * Int128{61} * (Int128{1} << 39) * 128 * 320);
}

TEST_CASE("compute: GPU hours") {
  // 3.6e18 FLOPs at 1e15 a second, half of it reached.
  CHECK(within(gpu_hours(3600000000000000000, 1e15, 0.5), 2, 1e-12));
  CHECK_THROWS_WITH_AS(gpu_hours(1, 0, 0.5), "a GPU of 0 FLOP/s: a rate above 0 is needed", Error);
  CHECK_THROWS_WITH_AS(gpu_hours(1, 1e15, 1.5), "a utilisation of 1.5: above 0 and at most 1 is needed",
                       Error);
}

TEST_CASE("compute: caches of published models") {
  const auto gpt2 = cache_size(model("gpt2"), {.seq_len = 1024, .batch = 1, .bits = 16});
  CHECK(whole(gpt2, "kv_bytes_per_token") == 36864);
  CHECK(whole(gpt2, "kv_bytes") == Int128{36} << 20);
  CHECK(whole(cache_size(model("llama-3-8b"), {.seq_len = 1, .batch = 1, .bits = 16}), "kv_bytes") ==
        128 << 10);
  const auto v3 = cache_size(model("deepseek-v3"), {.seq_len = 1 << 20, .batch = 1, .bits = 16});
  CHECK(whole(v3, "kv_bytes") == Int128{70272} << 20);  // 68.625 GiB
  CHECK(whole(cache_size(model("llama-3.1-405b"), {.seq_len = 1, .batch = 3, .bits = 8}), "kv_bytes") ==
        3 * 516096 / 2);
  CHECK(whole(cache_size(model("bert-base-uncased"), {.seq_len = 512, .batch = 1, .bits = 16}), "kv_bytes") ==
        0);
}

TEST_CASE("compute: windows bound the cache from below and cross-attention adds its own") {
  const auto mistral = cache_size(model("mistral-7b-v0.1"), {.seq_len = 32768, .batch = 1, .bits = 16});
  CHECK(whole(mistral, "kv_bytes") == Int128{131072} * 32768);
  CHECK(whole(mistral, "kv_bytes_windowed") == Int128{131072} * 4096);
  const auto gemma = cache_size(model("gemma-2-2b"), {.seq_len = 8192, .batch = 1, .bits = 16});
  CHECK(whole(gemma, "kv_bytes_windowed") * 4 == whole(gemma, "kv_bytes") * 3);
  const auto whisper = cache_size(model("whisper-tiny"), {.seq_len = 448, .batch = 1, .bits = 16});
  CHECK(whole(whisper, "cross_kv_bytes") == whole(whisper, "kv_bytes"));
}

TEST_CASE("compute: the plain cache formula") {
  CHECK(kv_cache_bytes(12, 12, 64, 1024, 1, 16) == 37748736);
  CHECK(kv_cache_bytes(80, 8, 128, 131072, 32, 16) == Int128{1374389534720});
  CHECK(kv_cache_bytes(1, 1, 1, 1, 1, 4) == 1);
  CHECK(kv_cache_bytes(1, 1, 3, 1, 1, 3) == 3);  // 18 bits
  CHECK_THROWS_WITH_AS(kv_cache_bytes(-1, 1, 1, 1, 1, 16), "the number of layers must be at least 0, not -1",
                       Error);
}

TEST_CASE("compute: other key heads on the same model") {
  const auto list = cache_alternatives(model("llama-3-8b"), 16);
  CHECK(whole(list, "kv_as_built") == 131072);
  CHECK(whole(list, "kv_multi_head") == 524288);
  CHECK(whole(list, "kv_eight_groups") == 131072);
  CHECK(whole(list, "kv_multi_query") == 16384);
  CHECK(whole(list, "kv_latent_576") == 36864);
  CHECK(cache_alternatives(model("bert-base-uncased"), 16).empty());
}

TEST_CASE("compute: the largest context fills the budget and one more token does not fit") {
  const Architecture a = model("llama-3-8b");
  const ParameterCount count = count_parameters(a);
  const Int128 budget = Int128{24} << 30;
  const Int128 tokens = whole(largest_context(a, count, budget, 1, 16, 16), "largest_context");
  CHECK(2 * count.total + tokens * 131072 <= budget);
  CHECK(2 * count.total + (tokens + 1) * 131072 > budget);
  CHECK(whole(largest_context(a, count, 1, 1, 16, 16), "largest_context") == 0);
  const Architecture mistral = model("mistral-7b-v0.1");
  const auto windowed = largest_context(mistral, count_parameters(mistral), budget, 1, 16, 16);
  CHECK(whole(windowed, "largest_context_windowed") == -1);
  CHECK(whole(windowed, "largest_context") > 4096);
}

TEST_CASE("compute: scores and the length from which they outnumber the weights") {
  const Architecture a = model("gpt2");
  const ParameterCount count = count_parameters(a);
  const auto list = score_size(a, count, 1024);
  CHECK(whole(list, "score_entries") == 1048576);
  CHECK(whole(list, "score_entries_layer") == 12582912);
  CHECK(whole(list, "score_bytes_layer") == 24 << 20);
  CHECK(whole(list, "score_bytes_model") == 288 << 20);
  const Int128 from = whole(list, "score_crossover");
  CHECK(144 * from * from > count.total);
  CHECK(144 * (from - 1) * (from - 1) <= count.total);
  CHECK(whole(score_size(a, count, 32768), "score_entries") == 1073741824);
  CHECK(whole(score_size(a, count, 0), "score_entries") == 0);
}

TEST_CASE("compute: activations of a GPT block are s b h (34 + 5 a s / h)") {
  const Architecture a = model("gpt3-175b");
  const auto list = training_memory(a, count_parameters(a), 2048, 1);
  // The paper's GPT-3: 5 a s / h = 80.
  CHECK(whole(list, "activations") == Int128{96} * 2048 * 12288 * (34 + 80));
  CHECK(whole(list, "activations_tiled") == Int128{96} * 2048 * 12288 * 34);
  CHECK(whole(list, "activations_recompute") == Int128{96} * 2048 * 12288 * 2);
  CHECK(whole(list, "training_adam") == 12 * Int128{174604259328});
  CHECK(whole(list, "training_memory") == 16 * Int128{174604259328} + whole(list, "activations"));
}

TEST_CASE("compute: the usual length is 1024 or the model's own") {
  CHECK(usual_seq_len(model("gpt2")) == 1024);
  CHECK(usual_seq_len(model("bert-base-uncased")) == 512);
  CHECK(usual_seq_len(model("roberta-base")) == 512);
  CHECK(usual_seq_len(model("whisper-tiny")) == 448);
  CHECK(usual_seq_len(model("t5-small")) == 1024);
  CHECK(usual_seq_len(model("vit-base-patch16-224")) == 197);
}
