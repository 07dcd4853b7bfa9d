// Cells and tables as people read them, for the text and markdown renderers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/report.hpp"

namespace attnlab {

/// A cell for reading: integers in full, other numbers with `digits` significant digits.
std::string readable_text(const Cell& cell, int digits);

/// A table as aligned columns, numbers to the right, words to the left: the header and one line for each row.
std::string aligned_table(const Table& table, int digits);

/// The claims of a report as a table: verdict, claim, measured, expected.
Table claims_table(const std::vector<Check>& checks);

}  // namespace attnlab
