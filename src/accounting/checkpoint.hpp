// The tensors that a model's files should hold, and how a file's header compares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/config.hpp"
#include "core/integer.hpp"

namespace attnlab {

/// Name and shape of a tensor in a file.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// The tensors of a model under the names and shapes of its published files. Throws Error(usage) beyond ten
/// million.
std::vector<StoredTensor> derive_tensors(const ModelConfig& config);

/// Names and shapes from the header of a .safetensors file, whatever the types of its numbers; the data
/// behind it is not read. `name` is the file, for messages. Throws Error(data) for a header that is cut or no
/// JSON, or a shape that is no list of sizes.
std::vector<StoredTensor> read_tensor_header(std::string_view bytes, const std::string& name);

/// The tensors of a .safetensors file, or of all shards that a model.safetensors.index.json beside them
/// names. Throws Error(io) when a file cannot be read, Error(data) for a header, an index or a shard name
/// that is not sound.
std::vector<StoredTensor> read_stored_tensors(const std::string& path);

struct ShapeDifference {
  std::string name;
  std::vector<std::int64_t> stored;
  std::vector<std::int64_t> derived;
};

/// A tensor that a file holds beyond the derived ones.
struct ExtraTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string
      reason;  ///< "" = not known; else why files of this kind hold it (a buffer, a copy of a tied matrix)
};

struct CheckpointComparison {
  std::size_t matched = 0;
  std::vector<StoredTensor> missing;
  std::vector<ExtraTensor> extra;
  std::vector<ShapeDifference> other_shape;
  Int128 stored_elements = 0;

  /// Whether the file holds the model: nothing missing, no other shape, every extra explained.
  bool agrees() const;
};

/// Compares by name. The prefix that a base class leaves out ("transformer." ...) and the older names of
/// norms (gamma, beta) make no difference.
CheckpointComparison compare_checkpoint(const ModelConfig& config, const std::vector<StoredTensor>& stored);

/// "[768, 2304]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace attnlab
