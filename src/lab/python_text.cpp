#include "lab/python_text.hpp"

#include <charconv>

#include <fmt/format.h>

namespace attnlab {

std::string python_shape(const Matrix& a) { return fmt::format("({}, {})", a.shape(0), a.shape(1)); }

const char* python_bool(bool value) { return value ? "True" : "False"; }

std::vector<double> numbers_in_brackets(std::string_view text) {
  std::vector<double> numbers;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[') ++depth;
    if (c == ']') --depth;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (depth == 0 || error != std::errc()) {
      ++at;
      continue;
    }
    numbers.push_back(number);
    at = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

}  // namespace attnlab
