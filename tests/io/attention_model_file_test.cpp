#include <functional>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/random/generator.hpp"
#include "io/attention_model_file.hpp"
#include "io/safetensors.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

ModelShape small_shape() {
  ModelShape shape;
  shape.vocabulary = 6;
  shape.seq_len = 5;
  shape.d_model = 8;
  shape.num_heads = 2;
  shape.positions = PositionKind::learned;
  shape.causal = false;
  return shape;
}

}  // namespace

TEST_CASE("attention model file: a model comes back with its shape and every bit of its weights") {
  const Scratch folder;
  const std::string path = folder.path("model.safetensors");
  ModelWeights<float> weights(small_shape());
  Generator rng(466);
  for (float& weight : weights.values) weight = static_cast<float>(rng.standard_normal());
  save_model(path, small_shape(), weights);
  const StoredModel model = load_model(path);
  CHECK(model.weights.values == weights.values);
  CHECK(model.shape.positions == PositionKind::learned);
  CHECK(model.shape.num_heads == 2);
  CHECK(model.shape.seq_len == 5);
  CHECK_FALSE(model.shape.causal);
  CHECK(model.shape.layer_norm);
}

TEST_CASE("attention model file: another file is refused with what is missing") {
  const Scratch folder;
  const std::string path = folder.path("other.safetensors");
  write_output(path, [](const ByteSink& sink) {
    write_safetensors({{{"x", to_typed(Array{{2}, {1, 2}})}}, {{"seq_len", "many"}, {"vocabulary", "6"}}},
                      sink);
  });
  CHECK_THROWS_WITH_AS(
      load_model(path),
      (path + ": metadata seq_len is many and not a count; a file that induction --save wrote is needed")
          .c_str(),
      Error);
  CHECK_THROWS_AS(load_model(folder.path("none.safetensors")), Error);
}

TEST_CASE("attention model file: each fault of its metadata and tensors is named") {
  const Scratch folder;
  const std::string path = folder.path("model.safetensors");
  save_model(path, small_shape(), ModelWeights<float>(small_shape()));
  const auto complaint = [&](const std::function<void(SafeTensors&)>& spoil) -> std::string {
    SafeTensors file = parse_safetensors(read_bytes(path), path);
    spoil(file);
    const std::string other = folder.path("other.safetensors");
    write_output(other, [&](const ByteSink& sink) { write_safetensors(file, sink); });
    try {
      load_model(other);
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string end = "; a file that induction --save wrote is needed";
      CHECK(error.kind() == ErrorKind::data);
      CHECK(text.starts_with(other + ": "));
      CHECK(text.ends_with(end));
      return text.substr(other.size() + 2, text.size() - other.size() - 2 - end.size());
    }
    return "accepted";
  };
  const auto with = [&](const std::string& key, const std::string& value) {
    return complaint([&](SafeTensors& file) {
      for (auto& [name, text] : file.metadata)
        if (name == key) text = value;
    });
  };
  CHECK(complaint([](SafeTensors&) {}) == "accepted");
  CHECK(complaint([](SafeTensors& file) { file.metadata.clear(); }) == "no metadata vocabulary");
  CHECK(with("causal", "yes") == "metadata causal is yes and not true or false");
  CHECK(with("positions", "sinusoidal") == "positions sinusoidal are unknown");
  CHECK(with("num_heads", "3") == "heads: 3 do not divide a d_model of 8");
  CHECK(with("vocabulary", "7") == "token_embedding has shape [6, 8] and not [7, 8]");
  CHECK(complaint([](SafeTensors& file) { file.tensors.pop_back(); }) == "no tensor unembedding");
}
