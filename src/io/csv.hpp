// Matrices as text: one line a row.
#pragma once

#include <string>

#include "io/typed_array.hpp"
#include "io/writer.hpp"

namespace attnlab {

struct CsvOptions {
  char delimiter = ',';  ///< a blank stands for any number of blanks
  char decimal = '.';
  bool header = false;  ///< the first line holds names
};

/// The [rows, columns] of a text in UTF-8, with or without byte order mark, with any line ends. Fields may be
/// quoted and have blanks around them; nan, inf and infinity are read in any case. float64, or int64 or
/// uint64 when whole numbers need it. `name` is the file, for messages. Throws Error(usage) for a delimiter
/// or decimal sign that cannot be one; Error(data) naming line and column for anything that is not a number,
/// rows of unequal length, an empty line between rows, and a text without numbers.
TypedArray parse_csv(std::string_view text, const std::string& name, const CsvOptions& options = {});

/// Throws Error(data) beginning with `name` for a shape that lines of numbers cannot express: more than two
/// dimensions, or no elements.
void check_csv(const TypedArray& array, const std::string& name);

/// Writes one line a row and no header; a vector is one row. Numbers read back to the same values; booleans
/// are 0 and 1.
void write_csv(const TypedArray& array, const ByteSink& sink, char delimiter = ',');

}  // namespace attnlab
