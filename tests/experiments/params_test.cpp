#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "accounting/checkpoint.hpp"
#include "core/error.hpp"
#include "lab/embedded_files.hpp"
#include "support/run.hpp"

using namespace attnlab;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::string whole(const Report& report, const char* name) {
  const Value* value = report.find_value(name);
  REQUIRE(value != nullptr);
  const Int128* number = std::get_if<Int128>(value);
  if (number == nullptr) return fmt::format("{}", std::get<std::int64_t>(*value));
  return to_string(*number);
}

std::string params(const Options& options, const char* name) {
  return whole(run_experiment("params", options), name);
}

/// A file that goes with the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : folder_(std::filesystem::temp_directory_path() / fmt::format("attnlab-params-{}", std::rand())) {
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

/// A safetensors file with that header and no data.
std::string safetensors(const std::vector<StoredTensor>& tensors) {
  std::string header = "{";
  for (const StoredTensor& tensor : tensors) {
    header += fmt::format("{}\"{}\": {{\"dtype\": \"F32\", \"shape\": {}, \"data_offsets\": [0, 0]}}",
                          header.size() > 1 ? ", " : "", tensor.name, shape_text(tensor.shape));
  }
  header += "}";
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return bytes + header;
}

}  // namespace

TEST_CASE("params: the lesson's listing comes from the same code as every model") {
  CHECK(run_command({"params"}).output == embedded_file("lesson/accounting.txt"));
  for (const char* name :
       {"total", "embedding", "lm_head", "active", "attention", "mlp", "norms", "per_block", "six_n",
        "attention_6LTd", "attention_full_training", "attention_causal_training", "forward_matmul_per_token",
        "kv_bytes_per_token", "kv_bytes", "score_entries"}) {
    CAPTURE(name);
    CHECK(params({}, name) == params({{"model", "gpt2"}}, name));
  }
}

TEST_CASE("params: GPT-2 medium by changing the lesson's sizes") {
  const Options medium = {{"layers", "24"}, {"d-model", "1024"}, {"heads", "16"}};
  CHECK(params(medium, "total") == "354823168");
  CHECK(params({{"seq-len", "2048"}}, "total") == "125226240");  // 1024 more positions
  CHECK(params({{"seq-len", "2048"}}, "score_entries") == "4194304");
  CHECK(params({{"tied", "no"}}, "lm_head") == "38597376");
}

TEST_CASE("params: a padded vocabulary adds real parameters") {
  const Report report = run_experiment("params", {{"pad-vocab-to", "64"}});
  CHECK(whole(report, "padded_vocab") == "50304");
  CHECK(whole(report, "added") == "36096");
  CHECK(whole(report, "total") == "124475904");
}

TEST_CASE("params: an expected total decides the exit status") {
  CHECK(run_command({"params", "--model", "deepseek-v3", "--expect", "671026419200"}).status == 0);
  const Outcome wrong = run_command({"params", "--model", "gpt2", "--expect", "117000000"});
  CHECK(wrong.status == 1);
  CHECK(wrong.notes.find("--expect: the total is 124,439,808, not 117,000,000") != std::string::npos);
}

TEST_CASE("params: sums beyond 64 bits are written in full") {
  const Report report =
      run_experiment("params", {{"model", "llama-3.1-405b"}, {"train-tokens", "15000000000000"}});
  CHECK(whole(report, "training_compute") == "36526804992000000000000000");
  const Value* hours = report.find_value("gpu_hours");
  REQUIRE(hours != nullptr);
  CHECK(std::abs(std::get<double>(*hours) / (36526804992e15 / (989.4e12 * 0.4 * 3600)) - 1) < 1e-12);
}

TEST_CASE("params: what a changed size changes stands beside the model") {
  const Report report = run_experiment("params", {{"model", "llama-3-8b"}, {"kv-heads", "32"}});
  const Table* change = report.find_table("change");
  REQUIRE(change != nullptr);
  CHECK(exact_text(change->rows[0][0]) == "total");
  CHECK(exact_text(change->rows[0][1]) == "8030261248");
  CHECK(exact_text(change->rows[0][2]) == "8835567616");
  CHECK(exact_text(change->rows[0][3]) == "805306368");
  CHECK(run_experiment("params", {{"model", "llama-3-8b"}}).find_table("change") == nullptr);
}

TEST_CASE("params: two models side by side") {
  const Report report = run_experiment("params", {{"model", "gpt2"}, {"compare", "gpt2-large"}});
  const Table* compare = report.find_table("compare");
  REQUIRE(compare != nullptr);
  CHECK(compare->columns[2].name == "gpt2-large");
  CHECK(exact_text(compare->rows[0][2]) == "774030080");
}

TEST_CASE("params: what is wrong in a config is told with status 3 and in an option with status 2") {
  const TemporaryFile config("c.json",
                             R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 5,
                                           "vocab_size": 100, "intermediate_size": 256})");
  CHECK_THROWS_WITH_AS(
      run_experiment("params", {{"config", config.path()}}),
      fmt::format("{}: num_attention_heads: 5 heads do not divide hidden_size 64: choose a divisor, "
                  "or give head_dim",
                  config.path())
          .c_str(),
      Error);
  CHECK(run_command({"params", "--config", config.path()}).status == 3);
  CHECK(run_command({"params", "--model", "gpt2", "--heads", "7"}).status == 2);
  CHECK(run_command({"params", "--config", config.path(), "--model", "gpt2"}).status == 2);
  CHECK_THROWS_WITH_AS(
      run_experiment("params", {{"model", "gpt2-larg"}}),
      "--model: gpt2-larg is no embedded model (did you mean gpt2-large?); --model list shows them", Error);
}

TEST_CASE("params: an unknown family is counted as another and labelled") {
  const TemporaryFile config("c.json",
                             R"({"model_type": "brandnew", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 256})");
  CHECK(run_command({"params", "--config", config.path()}).status == 3);
  const Outcome estimate = run_command({"params", "--config", config.path(), "--as", "llama"});
  CHECK(estimate.status == 0);
  CHECK(estimate.output.find("note: an estimate: counted as llama, whatever the file says it is") !=
        std::string::npos);
}

TEST_CASE("params: stored tensors are compared with the derived ones") {
  const std::string text = R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 2, "n_head": 2, "vocab_size": 16,
                               "n_positions": 4})";
  const TemporaryFile config("config.json", text);
  std::vector<StoredTensor> tensors = derive_tensors(read_model_config(text, "c"));
  const TemporaryFile whole_file("model.safetensors", safetensors(tensors));
  const Outcome good = run_command({"params", "--config", config.path(), "--weights", whole_file.path()});
  CHECK(good.status == 0);
  CHECK(good.output.find(fmt::format("{} tensors match, 0 missing, 0 extra, 0 of another shape",
                                     tensors.size())) != std::string::npos);
  tensors[0].shape = {15, 8};
  tensors.pop_back();
  tensors.push_back({"surprise", {3}});
  const TemporaryFile other("model.safetensors", safetensors(tensors));
  const Outcome bad = run_command({"params", "--config", config.path(), "--weights", other.path()});
  CHECK(bad.status == 1);
  CHECK(bad.output.find("1 missing, 1 extra, 1 of another shape") != std::string::npos);
  CHECK(bad.output.find("transformer.ln_f.bias") != std::string::npos);
  CHECK(bad.output.find("surprise") != std::string::npos);
  CHECK(bad.output.find("[15, 8]") != std::string::npos);
  const TemporaryFile no_header("model.safetensors", "1234");
  const Outcome spoilt = run_command({"params", "--config", config.path(), "--weights", no_header.path()});
  CHECK(spoilt.status == 3);
  CHECK(spoilt.notes == "attnlab: " + no_header.path() +
                            ": 4 bytes; a safetensors file begins with 8 bytes of header length\n");
}

TEST_CASE("params: a config in a file is compared like an embedded model") {
  const TemporaryFile config("c.json", std::string(embedded_file("models/gpt2.json")));
  const Outcome outcome =
      run_command({"params", "--model", "gpt2-medium", "--compare", config.path(), "--format", "json"});
  CHECK(outcome.status == 0);
  const auto columns = nlohmann::json::parse(outcome.output)["tables"]["compare"]["columns"];
  CHECK(columns[0]["data"][0] == "total");
  CHECK(columns[1]["data"][0] == 354823168);
  CHECK(columns[2]["name"] == config.path());
  CHECK(columns[2]["data"][0] == 124439808);
}

TEST_CASE("params: the sizes as read") {
  const Report report = run_experiment("params", {{"model", "llama-3-8b"}, {"emit", "config"}});
  CHECK(whole(report, "d_model") == "4096");
  CHECK(whole(report, "kv_heads") == "8");
  CHECK(whole(report, "head_dim") == "128");
  CHECK(whole(report, "ffn") == "14336");
  CHECK(std::get<double>(*report.find_value("rope_theta")) == 10000);
  CHECK(run_experiment("params", {{"emit", "config"}}).find_value("rope_type") == nullptr);
}

TEST_CASE("params: the embedded models are listed") {
  const Report report = run_experiment("params", {{"model", "list"}});
  CHECK(report.find_table("models")->rows.size() == 56);
}

TEST_CASE("params: the largest context that fits a budget") {
  const Options options = {{"model", "llama-3-8b"}, {"budget-gib", "24"}};
  CHECK(params(options, "largest_context") == "74075");
}

TEST_CASE("params: explained lines carry formula and numbers") {
  const Report report = run_experiment("params", {{"model", "gpt2"}});
  const auto& lines = report.explanation();
  const auto has = [&](const char* line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  CHECK(has("attention.query.weight = 12 layers x 768 x 768 = 7,077,888"));
  CHECK(has("six_n = 6 N = 6 x 85,054,464 = 510,326,784 FLOPs"));
  CHECK(has("kv_bytes = bytes a token x T x batch = 18,432 x 16 / 8 x 1,024 x 1 = 37,748,736 bytes"));
}

TEST_CASE("params: bytes are told in both units") {
  const std::string text = run_command({"params", "--model", "gpt2"}).output;
  CHECK(text.find("36 MiB (37.75 MB)") != std::string::npos);
  CHECK(text.find("2.856 GiB (3.067 GB)") != std::string::npos);
}
