// What a report and an option can hold: one number, word or array, exactly.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/integer.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// One entry of a table; std::monostate is an absent entry (empty in csv, null in JSON).
using Cell = std::variant<std::monostate, bool, std::int64_t, Int128, double, std::string>;

/// A named value or a parameter: a scalar, a list or an array of any rank.
using Value = std::variant<std::monostate, bool, std::int64_t, Int128, double, std::string,
                           std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>, Array>;

/// The number in a cell, NaN where it holds none.
double number_of(const Cell& cell);

/// A cell as text that reads back to the same value: integers in full, doubles in their shortest form,
/// true and false, nan, inf and -inf; an absent cell is empty.
std::string exact_text(const Cell& cell);

/// A double in the shortest form that reads back to it; nan, inf and -inf.
std::string shortest(double value);

}  // namespace attnlab
