// An array file in another format, with the same numbers.
#pragma once

#include <string>

#include "io/array_file.hpp"

namespace attnlab {

/// Reads `source` (see read_tensors) and returns what writes all of it in that format, for write_output.
///
/// Numbers come back bit for bit. The element type is kept where the format has it: .npy has no bfloat16 and
/// gets float32; csv and json hold decimal text, booleans as 0 and 1. A single array gets the stem of its
/// file as the name of its tensor
/// ("data" from standard input). A .safetensors file with several tensors goes to .safetensors only;
/// FILE:NAME picks one. The output may be the input; large files pass through without a copy in memory.
/// Throws as read_tensors and check_writable.
ByteProducer conversion(const std::string& source, ArrayFormat format, const ReadOptions& options = {});

}  // namespace attnlab
