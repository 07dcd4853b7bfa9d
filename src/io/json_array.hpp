// Arrays as JSON: lists inside lists, row by row.
#pragma once

#include <string>

#include "io/typed_array.hpp"
#include "io/writer.hpp"

namespace attnlab {

/// The array of a strict JSON text: a number, or lists of equal lengths nested up to 64 deep. Numbers that
/// are not finite are the strings "NaN", "Infinity" and "-Infinity"; true and false make an array of bool.
/// float64, or int64 or uint64 when whole numbers need it. `name` is the file, for messages. Throws
/// Error(data) with line and column otherwise.
TypedArray parse_json_array(std::string_view text, const std::string& name);

/// Throws Error(data) beginning with `name` for a shape that nested lists cannot express, such as [0, 2].
void check_json_array(const TypedArray& array, const std::string& name);

/// Writes nested lists on one line, without a line end. Numbers read back to the same values; booleans are 0
/// and 1. An array without elements is [].
void write_json_array(const TypedArray& array, const ByteSink& sink);

}  // namespace attnlab
