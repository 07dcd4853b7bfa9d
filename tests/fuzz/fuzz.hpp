// What the fuzz targets share: a reader must either throw Error or return an array that survives being
// written and read.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "io/inspect.hpp"
#include "io/typed_array.hpp"

namespace attnlab::fuzz {

/// The elements in row-major order and little endian.
inline std::string elements_of(const TypedArray& array) {
  std::string bytes;
  for_each_piece(array, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

/// Ends the program, which the fuzzer reports, unless both arrays hold the same elements in the same shape.
inline void require_equal(const TypedArray& a, const TypedArray& b) {
  if (a.shape != b.shape || a.dtype != b.dtype || elements_of(a) != elements_of(b)) std::abort();
}

/// The text of an array as JSON for a program; only that it ends well matters.
inline void require_inspectable(const TypedArray& array) {
  const ArrayFile file{"input", ArrayFormat::npy, {{"", array}}, {}};
  std::size_t size = 0;
  write_inspection_json(file, [&](std::string_view piece) { size += piece.size(); });
  if (size == 0) std::abort();
}

/// What a writer that takes a sink writes.
template <class Writer>
std::string written(Writer&& writer) {
  std::string bytes;
  writer([&](std::string_view piece) { bytes += piece; });
  return bytes;
}

}  // namespace attnlab::fuzz
