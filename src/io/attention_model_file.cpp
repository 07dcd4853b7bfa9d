#include "io/attention_model_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/safetensors.hpp"

namespace attnlab {
namespace {

constexpr std::array<std::pair<const char*, PositionKind>, 5> position_names{
    {{"none", PositionKind::none},
     {"shortformer", PositionKind::shortformer},
     {"learned", PositionKind::learned},
     {"rope", PositionKind::rope},
     {"alibi", PositionKind::alibi}}};

std::string position_name(PositionKind kind) {
  for (const auto& [name, value] : position_names)
    if (value == kind) return name;
  throw Error(ErrorKind::fault, "positions without a name");
}

/// What a file says of itself, with the file's name for messages.
struct Content {
  const std::string& path;
  const SafeTensors& file;

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(ErrorKind::data,
                fmt::format("{}: {}; a file that induction --save wrote is needed", path, reason));
  }
  const std::string& metadata(const std::string& key) const {
    for (const auto& [name, value] : file.metadata)
      if (name == key) return value;
    refuse(fmt::format("no metadata {}", key));
  }
  std::size_t count(const std::string& key) const {
    const std::string& text = metadata(key);
    const bool digits = !text.empty() && text.size() <= 9 &&
                        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) refuse(fmt::format("metadata {} is {} and not a count", key, text));
    return std::stoul(text);
  }
  bool flag(const std::string& key) const {
    const std::string& text = metadata(key);
    if (text != "true" && text != "false")
      refuse(fmt::format("metadata {} is {} and not true or false", key, text));
    return text == "true";
  }
  PositionKind positions() const {
    const std::string& text = metadata("positions");
    for (const auto& [name, value] : position_names)
      if (text == name) return value;
    refuse(fmt::format("positions {} are unknown", text));
  }
  const TypedArray& tensor(const std::string& name) const {
    for (const NamedTensor& tensor : file.tensors)
      if (tensor.name == name) return tensor.array;
    refuse(fmt::format("no tensor {}", name));
  }
};

ModelShape shape_of(const Content& content) {
  ModelShape shape;
  shape.vocabulary = content.count("vocabulary");
  shape.seq_len = content.count("seq_len");
  shape.d_model = content.count("d_model");
  shape.num_layers = content.count("num_layers");
  shape.num_heads = content.count("num_heads");
  shape.positions = content.positions();
  shape.causal = content.flag("causal");
  shape.layer_norm = content.flag("layer_norm");
  try {
    check_shape(shape);
  } catch (const Error& error) {
    content.refuse(error.what());
  }
  return shape;
}

}  // namespace

void save_model(const std::string& path, const ModelShape& shape, const ModelWeights<float>& weights) {
  SafeTensors file;
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  file.metadata = {{"vocabulary", std::to_string(shape.vocabulary)},
                   {"seq_len", std::to_string(shape.seq_len)},
                   {"d_model", std::to_string(shape.d_model)},
                   {"num_layers", std::to_string(shape.num_layers)},
                   {"num_heads", std::to_string(shape.num_heads)},
                   {"positions", position_name(shape.positions)},
                   {"causal", flag(shape.causal)},
                   {"layer_norm", flag(shape.layer_norm)}};
  for (const auto& [name, view] : weights.named()) {
    const Array array{{view.rows, view.columns}, {view.data, view.data + view.rows * view.columns}};
    file.tensors.push_back({name, to_typed(array, DType::f32, name)});
  }
  write_output(path, [&](const ByteSink& sink) { write_safetensors(file, sink); });
}

StoredModel load_model(const std::string& path) {
  const SafeTensors file = parse_safetensors(read_bytes(path), path);
  const Content content{path, file};
  StoredModel model{shape_of(content), ModelWeights<float>(shape_of(content))};
  for (const auto& [name, view] : model.weights.named()) {
    const TypedArray& tensor = content.tensor(name);
    if (tensor.shape != Shape{view.rows, view.columns})
      content.refuse(fmt::format("{} has shape {} and not [{}, {}]", name, shape_text(tensor.shape),
                                 view.rows, view.columns));
    const Array array = to_array(tensor, path);
    std::transform(array.values.begin(), array.values.end(), view.data,
                   [](double value) { return static_cast<float>(value); });
  }
  return model;
}

}  // namespace attnlab
