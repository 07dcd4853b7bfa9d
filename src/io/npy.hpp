// NumPy's .npy files, versions 1.0 to 3.0 (numpy.lib.format).
#pragma once

#include <string>

#include "io/typed_array.hpp"
#include "io/writer.hpp"

namespace attnlab {

/// The array of a file: bool, i1 to i8, u1 to u8, f2, f4 and f8 of any shape, layout and byte order. `name`
/// is the file, for messages. Throws Error(data) "NAME: REASON" for anything else, for a header that is not
/// what NumPy writes, and unless exactly as many bytes follow it as the shape takes.
TypedArray parse_npy(const FileBytes& file, const std::string& name);

/// Writes version 1.0, row-major and little endian. NumPy has no bfloat16: it becomes float32, which holds it
/// exactly.
void write_npy(const TypedArray& array, const ByteSink& sink);

}  // namespace attnlab
