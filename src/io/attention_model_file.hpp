// Attention-only transformers as .safetensors files: the weights by name, the rest of the architecture as
// metadata.
#pragma once

#include <string>

#include "core/induction/model.hpp"

namespace attnlab {

/// A model read from a file.
struct StoredModel {
  ModelShape shape;
  ModelWeights<float> weights;
};

/// Writes a model as float32. Throws Error(io) as write_output.
void save_model(const std::string& path, const ModelShape& shape, const ModelWeights<float>& weights);

/// Reads what save_model wrote. Throws Error(io) when the file cannot be read and Error(data) when it is no
/// such file: the reason names the metadata or the array that is missing or has another shape.
StoredModel load_model(const std::string& path);

}  // namespace attnlab
