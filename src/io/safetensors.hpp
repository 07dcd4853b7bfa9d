// The .safetensors files of models: a JSON header, then the bytes of named tensors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/typed_array.hpp"
#include "io/writer.hpp"

namespace attnlab {

struct NamedTensor {
  std::string name;
  TypedArray array;
};

struct SafeTensors {
  std::vector<NamedTensor> tensors;                           ///< in the order of the header
  std::vector<std::pair<std::string, std::string>> metadata;  ///< the header's "__metadata__"
};

/// The tensors of a file: F64, F32, F16, BF16, I8 to I64, U8 to U64 and BOOL. `name` is the file, for
/// messages. Throws Error(data) "NAME: REASON" unless the header is sound and its tensors cover the rest of
/// the file without overlap, gap or remainder; nothing is believed before it is compared with the length of
/// the file.
SafeTensors parse_safetensors(const FileBytes& file, const std::string& name);

/// Throws Error(data) beginning with `name`, the file, for the one name that a tensor cannot have:
/// "__metadata__".
void check_tensor_name(const std::string& tensor, const std::string& name);

/// Writes a file that begins its data at a multiple of 64 bytes, the widest elements first.
void write_safetensors(const SafeTensors& content, const ByteSink& sink);

}  // namespace attnlab
