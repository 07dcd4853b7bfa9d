// Small pieces of Python's text that the lesson prints, and reading its printed arrays back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"

namespace attnlab {

/// "(5, 4)", as Python prints a shape.
std::string python_shape(const Matrix& a);

/// "True" or "False".
const char* python_bool(bool value);

/// The numbers of a printed array: all that stands between square brackets in the text.
std::vector<double> numbers_in_brackets(std::string_view text);

}  // namespace attnlab
