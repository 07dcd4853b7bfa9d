// An array file in another format, with the same numbers.
#pragma once

#include <optional>
#include <string>

#include "io/array_file.hpp"

namespace attnlab {

/// Reads `source` (see read_tensors) and writes all of it to `output`, in the format of its extension unless
/// one is given.
///
/// Numbers come back bit for bit. The element type is kept where the format has it: .npy has no bfloat16 and
/// gets float32; csv and json hold decimal text, booleans as 0 and 1. A single array gets the stem of its
/// file as the name of its tensor
/// ("data" from standard input). A .safetensors file with several tensors goes to .safetensors only;
/// FILE:NAME picks one. The input may be the output; large files pass through without a copy in memory.
/// Throws as read_tensors, output_format, check_writable and write_output; in every case an old output is
/// left as it was.
WriteOutcome convert_file(const std::string& source, const std::string& output,
                          const ReadOptions& options = {}, std::optional<ArrayFormat> format = {});

}  // namespace attnlab
