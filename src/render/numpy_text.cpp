#include "render/numpy_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

// Long enough for every double in fixed notation: 309 digits before the point or 343 behind it.
using NumberBuffer = char[1200];

template <class Real, class... Precision>
std::string number_text(Real value, std::chars_format format, Precision... precision) {
  NumberBuffer buffer;
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format, precision...).ptr};
}

template <class Real>
std::string non_finite_text(Real value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

// ---- Which elements count
// ----------------------------------------------------------------------------------

// How many entries of an axis are shown at its start and at its end; none at the end means all of them.
struct ShownEntries {
  std::size_t leading;
  std::size_t trailing;
};

ShownEntries shown_entries(std::size_t length, bool summarised, std::size_t edge_items) {
  if (!summarised || length <= 2 * edge_items) return {length, 0};
  return {edge_items, edge_items};
}

// The shown elements in row-major order: widths and style come from them alone.
template <class T>
void collect_shown(std::span<const T> block, std::span<const std::size_t> shape, bool summarised,
                   const PrintOptions& options, std::vector<T>& shown) {
  if (shape.empty()) {
    shown.push_back(block[0]);
    return;
  }
  const std::size_t length = shape[0];
  const std::size_t stride = block.size() / length;
  const auto collect = [&](std::size_t index) {
    collect_shown(block.subspan(index * stride, stride), shape.subspan(1), summarised, options, shown);
  };
  const auto [leading, trailing] = shown_entries(length, summarised, options.edge_items);
  for (std::size_t i = 0; i < leading; ++i) collect(i);
  for (std::size_t i = length - trailing; i < length; ++i) collect(i);
}

// ---- Style
// -------------------------------------------------------------------------------------------------

// Whether the magnitudes ask for exponents. The bounds are doubles, the ratio is taken in the elements' type.
template <class Real>
bool needs_exponent(std::span<const Real> finite, bool suppress) {
  Real largest = 0;
  Real smallest = std::numeric_limits<Real>::infinity();
  for (const Real value : finite) {
    if (value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  if (largest == 0) return false;
  if (largest >= 1e8) return true;
  return !suppress && (smallest < 1e-4 || largest / smallest > 1000);
}

// ---- Digits
// ------------------------------------------------------------------------------------------------

// A number taken apart at its point; the exponent, if it has one, is part of what follows the point.
struct Decimal {
  std::string integer;
  std::string fraction;
};

Decimal split_at_point(const std::string& text) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return {text, ""};
  return {text.substr(0, point), text.substr(point + 1)};
}

void drop_trailing(std::string& text, char last) { text.erase(text.find_last_not_of(last) + 1); }

// Shortest digits; where they are more than `precision`, the exact binary value rounded to so many.
template <class Real>
Decimal positional_decimal(Real value, int precision) {
  Decimal decimal = split_at_point(number_text(value, std::chars_format::fixed));
  if (decimal.fraction.size() > static_cast<std::size_t>(precision)) {
    decimal = split_at_point(number_text(value, std::chars_format::fixed, precision));
  }
  drop_trailing(decimal.fraction, '0');
  return decimal;
}

template <class Real>
std::vector<Decimal> positional_decimals(std::span<const Real> finite, int precision) {
  std::vector<Decimal> decimals;
  for (const Real value : finite) decimals.push_back(positional_decimal(value, precision));
  return decimals;
}

// A number in exponent form: mantissa, and exponent with its sign but without 'e'.
struct Scientific {
  Decimal mantissa;
  std::string exponent;
};

Scientific split_at_exponent(const std::string& text) {
  const std::size_t e = text.find('e');
  return {split_at_point(text.substr(0, e)), text.substr(e + 1)};
}

template <class Real>
Scientific scientific(Real value, int precision) {
  Scientific number = split_at_exponent(number_text(value, std::chars_format::scientific));
  if (number.mantissa.fraction.size() > static_cast<std::size_t>(precision)) {
    number = split_at_exponent(number_text(value, std::chars_format::scientific, precision));
  }
  drop_trailing(number.mantissa.fraction, '0');
  return number;
}

// All mantissas get the digits of the longest, all exponents the width of the widest. Added digits are those
// of the exact binary value: a float32 shows -7.0976432e+07 beside eight other digits, not ...430e+07.
template <class Real>
std::vector<Decimal> scientific_decimals(std::span<const Real> finite, int precision) {
  std::vector<Scientific> numbers;
  std::size_t digits = 0;
  std::size_t exponent_size = 0;
  for (const Real value : finite) {
    const Scientific& number = numbers.emplace_back(scientific(value, precision));
    digits = std::max(digits, number.mantissa.fraction.size());
    exponent_size = std::max(exponent_size, number.exponent.size());
  }
  std::vector<Decimal> decimals;
  for (std::size_t i = 0; i < finite.size(); ++i) {
    Scientific& number = numbers[i];
    if (number.mantissa.fraction.size() < digits) {
      number =
          split_at_exponent(number_text(finite[i], std::chars_format::scientific, static_cast<int>(digits)));
    }
    number.exponent.insert(1, exponent_size - number.exponent.size(), '0');
    decimals.push_back({number.mantissa.integer, number.mantissa.fraction + 'e' + number.exponent});
  }
  return decimals;
}

// ---- Padding
// -----------------------------------------------------------------------------------------------

// Widths left and right of the column of points.
struct Columns {
  std::size_t left = 0;
  std::size_t right = 0;
};

template <class Real>
Columns columns_of(std::span<const Real> shown, std::span<const Decimal> decimals) {
  Columns columns;
  for (const Decimal& decimal : decimals) {
    columns.left = std::max(columns.left, decimal.integer.size());
    columns.right = std::max(columns.right, decimal.fraction.size());
  }
  std::size_t widest = 0;
  for (const Real value : shown) {
    if (!std::isfinite(value)) widest = std::max(widest, non_finite_text(value).size());
  }
  const std::size_t from_point = columns.right + 1;
  if (widest > from_point) columns.left = std::max(columns.left, widest - from_point);
  return columns;
}

std::string pad_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string around_point(const Decimal& decimal, const Columns& columns) {
  std::string text = pad_left(decimal.integer, columns.left) + '.' + decimal.fraction;
  text.append(columns.right - decimal.fraction.size(), ' ');
  return text;
}

template <class Real>
std::vector<std::string> real_words(std::span<const Real> shown, const PrintOptions& options) {
  std::vector<Real> finite;
  std::copy_if(shown.begin(), shown.end(), std::back_inserter(finite),
               [](Real value) { return std::isfinite(value); });
  const std::span<const Real> numbers(finite);
  const std::vector<Decimal> decimals = needs_exponent(numbers, options.suppress)
                                            ? scientific_decimals(numbers, options.precision)
                                            : positional_decimals(numbers, options.precision);
  const Columns columns = columns_of<Real>(shown, decimals);
  std::vector<std::string> words;
  auto next = decimals.begin();
  for (const Real value : shown) {
    words.push_back(std::isfinite(value)
                        ? around_point(*next++, columns)
                        : pad_left(non_finite_text(value), columns.left + 1 + columns.right));
  }
  return words;
}

std::vector<std::string> words_of(std::span<const double> shown, const PrintOptions& options) {
  return real_words(shown, options);
}

std::vector<std::string> words_of(std::span<const float> shown, const PrintOptions& options) {
  return real_words(shown, options);
}

std::vector<std::string> words_of(std::span<const std::int64_t> shown, const PrintOptions&) {
  std::vector<std::string> words;
  std::size_t width = 0;
  for (const std::int64_t value : shown) {
    width = std::max(width, words.emplace_back(std::to_string(value)).size());
  }
  for (std::string& word : words) word = pad_left(word, width);
  return words;
}

// A bool that std::vector stores as one object each.
enum class Truth : bool { no, yes };

std::vector<std::string> words_of(std::span<const Truth> shown, const PrintOptions&) {
  std::vector<std::string> words;
  for (const Truth value : shown) words.push_back(value == Truth::yes ? " True" : "False");
  return words;
}

// ---- Layout
// ------------------------------------------------------------------------------------------------

// Writes the words of the shown elements, in their order, into nested brackets.
class Layout {
 public:
  Layout(const Shape& shape, bool summarised, const PrintOptions& options, std::span<const std::string> words)
      : shape_(shape), summarised_(summarised), options_(options), words_(words) {}

  std::string text() {
    axis(0);
    return std::move(text_);
  }

 private:
  void axis(std::size_t depth) {
    text_ += '[';
    if (depth + 1 == shape_.size()) {
      last_axis();
    } else {
      blocks(depth);
    }
    text_ += ']';
  }

  // The entries of an axis that has others below it: one line break for each of those between two entries.
  void blocks(std::size_t depth) {
    const auto [leading, trailing] = shown_entries(shape_[depth], summarised_, options_.edge_items);
    const std::string separator = std::string(shape_.size() - depth - 1, '\n') + std::string(depth + 1, ' ');
    for (std::size_t i = 0; i < leading + trailing; ++i) {
      if (i > 0) text_ += separator;
      if (i == leading) text_ += "..." + separator;
      axis(depth + 1);
    }
  }

  void last_axis() {
    const auto [leading, trailing] = shown_entries(shape_.back(), summarised_, options_.edge_items);
    column_ = shape_.size();
    for (std::size_t i = 0; i < leading + trailing; ++i) {
      if (i == leading) word("...");
      word(words_[next_word_++]);
    }
  }

  // A word that would pass the width, less one character for each closing bracket, starts a new line.
  void word(const std::string& text) {
    const std::size_t indent = shape_.size();
    if (column_ > indent) {
      if (column_ + 1 + text.size() + indent > options_.line_width) {
        drop_trailing(text_, ' ');
        text_ += '\n' + std::string(indent, ' ');
        column_ = indent;
      } else {
        text_ += ' ';
        ++column_;
      }
    }
    text_ += text;
    column_ += text.size();
  }

  const Shape& shape_;
  bool summarised_;
  const PrintOptions& options_;
  std::span<const std::string> words_;
  std::string text_;
  std::size_t next_word_ = 0;
  std::size_t column_ = 0;  // characters on the current line, indent included
};

template <class T>
std::string array_text(std::span<const T> values, const Shape& shape, const PrintOptions& options) {
  if (element_count(shape) != values.size()) {
    throw Error(ErrorKind::fault,
                fmt::format("numpy_text: {} values for shape {}", values.size(), shape_text(shape)));
  }
  if (values.empty()) return "[]";
  const bool summarised = values.size() > options.threshold;
  std::vector<T> shown;
  collect_shown(values, std::span<const std::size_t>(shape), summarised, options, shown);
  return Layout(shape, summarised, options, words_of(std::span<const T>(shown), options)).text();
}

// ---- Scalars
// -----------------------------------------------------------------------------------------------

// The shortest digits with the point put in by hand: std::to_chars would end a large float32 with the digits
// of its exact value where Python ends it with zeros.
template <class Real>
std::string scalar_text(Real value) {
  if (!std::isfinite(value)) return non_finite_text(value);
  std::string text = number_text(value, std::chars_format::scientific);
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16)) return text;
  const Scientific number = split_at_exponent(text);
  const int exponent = std::stoi(number.exponent);
  const std::string sign = std::signbit(value) ? "-" : "";
  std::string digits = number.mantissa.integer.substr(sign.size()) + number.mantissa.fraction;
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  const std::size_t point = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= point) digits.append(point + 1 - digits.size(), '0');
  return sign + digits.insert(point, 1, '.');
}

template <class Container>
Container rounded(Container a, int decimals) {
  for (double& value : a) value = numpy_round(value, decimals);
  return a;
}

}  // namespace

std::string numpy_text(std::span<const double> values, const Shape& shape, const PrintOptions& options) {
  if (shape.empty() && values.size() == 1) return scalar_text(values[0]);
  return array_text(values, shape, options);
}

std::string numpy_text(std::span<const float> values, const Shape& shape, const PrintOptions& options) {
  if (shape.empty() && values.size() == 1) return scalar_text(values[0]);
  return array_text(values, shape, options);
}

std::string numpy_text(std::span<const std::int64_t> values, const Shape& shape,
                       const PrintOptions& options) {
  if (shape.empty() && values.size() == 1) return std::to_string(values[0]);
  return array_text(values, shape, options);
}

std::string numpy_text(std::span<const bool> values, const Shape& shape, const PrintOptions& options) {
  if (shape.empty() && values.size() == 1) return values[0] ? "True" : "False";
  std::vector<Truth> truths;
  for (const bool value : values) truths.push_back(value ? Truth::yes : Truth::no);
  return array_text(std::span<const Truth>(truths), shape, options);
}

std::string numpy_text(const Vector& a, const PrintOptions& options) {
  return numpy_text(elements(a), {a.shape(0)}, options);
}

std::string numpy_text(const Matrix& a, const PrintOptions& options) {
  return numpy_text(elements(a), {a.shape(0), a.shape(1)}, options);
}

std::string numpy_text(const Array& a, const PrintOptions& options) {
  return numpy_text(a.values, a.shape, options);
}

double numpy_round(double value, int decimals) {
  if (decimals == 0) return std::nearbyint(value);
  double power = 1.0;
  for (int i = 0; i < std::abs(decimals); ++i) power *= 10.0;
  return decimals > 0 ? std::nearbyint(value * power) / power : std::nearbyint(value / power) * power;
}

Vector numpy_round(const Vector& a, int decimals) { return rounded(a, decimals); }
Matrix numpy_round(const Matrix& a, int decimals) { return rounded(a, decimals); }

std::string python_repr(double value) { return scalar_text(value); }

std::string python_repr_with_thousands(double value) {
  std::string text = python_repr(value);
  const std::size_t first = std::signbit(value) ? 1 : 0;
  for (std::size_t at = std::min(text.find_first_not_of("0123456789", first), text.size()); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

}  // namespace attnlab
