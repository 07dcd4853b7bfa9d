// What is in an array file, for a reader and for a program.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/array_file.hpp"

namespace attnlab {

/// The numbers of an array in brief. Minimum, maximum and mean are those of the finite numbers.
struct ArraySummary {
  std::optional<std::string> minimum;  ///< decimal text, whole numbers in full; none when no number is finite
  std::optional<std::string> maximum;
  std::optional<double> mean;
  std::size_t nan_count = 0;
  std::size_t infinity_count = 0;
};

ArraySummary summarize(const TypedArray& array);

/// "row-major" or "column-major"; "little endian", "big endian" or "single bytes".
const char* layout_name(const TypedArray& array);
const char* byte_order_name(const TypedArray& array);

/// Writes one JSON object and a line end: file, format, and for the array dtype, shape, layout, byte_order,
/// bytes, min, max, mean, nan_count, infinity_count and data (nested lists); for a .safetensors file
/// metadata, and under `values` one such object for each tensor.
void write_inspection_json(const ArrayFile& file, const ByteSink& sink);

}  // namespace attnlab
