#include "io/json_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "io/json.hpp"
#include "io/number_list.hpp"
#include "io/utf8.hpp"

namespace attnlab {
namespace {

constexpr std::size_t flush_size = std::size_t{1} << 16;

/// Builds an array from the tokens of a text.
class ArrayBuilder {
 public:
  ArrayBuilder(std::string_view text, const std::string& name)
      : name_(name), reader_(text, name, {.allow_byte_order_mark = true}) {}

  TypedArray build() {
    for (JsonToken token = reader_.next(); token != JsonToken::end_of_text; token = reader_.next())
      take(token);
    Shape shape;
    for (const std::optional<std::size_t>& length : lengths_) shape.push_back(*length);
    if (booleans_.empty()) return numbers_.finish(std::move(shape), inexact_place_);
    return {DType::boolean, std::move(shape), false, false, own_bytes(std::move(booleans_))};
  }

 private:
  void take(JsonToken token) {
    switch (token) {
      case JsonToken::begin_array:
        return open_list();
      case JsonToken::end_array:
        return close_list();
      case JsonToken::number:
        return take_number();
      case JsonToken::string:
        return take_string();
      case JsonToken::boolean:
        place_element();
        booleans_.push_back(reader_.boolean() ? '\1' : '\0');
        return check_mixture();
      case JsonToken::null:
        reader_.fail("null is not a number; write \"NaN\" where a number is missing");
      default:
        reader_.fail("an object where nested lists of numbers were expected");
    }
  }

  void open_list() {
    if (element_depth_ && counts_.size() == *element_depth_)
      reader_.fail("ragged: a list where a number was expected");
    if (!counts_.empty()) ++counts_.back();
    counts_.push_back(0);
    if (lengths_.size() < counts_.size()) lengths_.emplace_back();
  }

  void close_list() {
    const std::size_t count = counts_.back();
    std::optional<std::size_t>& length = lengths_[counts_.size() - 1];
    if (length && *length != count) {
      reader_.fail(fmt::format("ragged: a list of {} where the lists before it have {}", count, *length));
    }
    length = count;
    // Nothing can be nested deeper than an empty list.
    if (count == 0) element_depth_ = counts_.size();
    counts_.pop_back();
  }

  void place_element() {
    if (element_depth_ && *element_depth_ != counts_.size())
      reader_.fail("ragged: a number where a list was expected");
    element_depth_ = counts_.size();
    if (!counts_.empty()) ++counts_.back();
  }

  void take_number() {
    place_element();
    const bool was_exact = !numbers_.has_inexact();
    const std::string_view text = reader_.number_text();
    if (numbers_.push(text) == DecimalStatus::too_large) {
      reader_.fail(fmt::format("{} is out of range: too large for a double", excerpt(text)));
    }
    if (was_exact && numbers_.has_inexact()) inexact_place_ = fmt::format("{}: {}", name_, excerpt(text));
    check_mixture();
  }

  void take_string() {
    place_element();
    const std::string& text = reader_.string();
    if (text == "NaN") {
      numbers_.push_special(std::numeric_limits<double>::quiet_NaN());
    } else if (text == "Infinity") {
      numbers_.push_special(std::numeric_limits<double>::infinity());
    } else if (text == "-Infinity") {
      numbers_.push_special(-std::numeric_limits<double>::infinity());
    } else {
      reader_.fail(
          fmt::format("the string {} is not a number; allowed are \"NaN\", \"Infinity\" and \"-Infinity\"",
                      excerpt(text)));
    }
    check_mixture();
  }

  void check_mixture() const {
    if (numbers_.size() > 0 && !booleans_.empty()) reader_.fail("true or false among numbers");
  }

  const std::string& name_;
  JsonReader reader_;
  std::vector<std::optional<std::size_t>> lengths_;  // by depth, known once a list of that depth has ended
  std::vector<std::size_t> counts_;                  // of the lists around the place
  std::optional<std::size_t> element_depth_;
  NumberList numbers_;
  std::string booleans_;
  std::string inexact_place_;
};

/// The brackets and commas around the elements of a shape in row-major order.
class Brackets {
 public:
  explicit Brackets(const Shape& shape) : shape_(shape), index_(shape.size(), 0) {}

  void open(std::string& text) const { text.append(shape_.size(), '['); }

  /// What stands between an element and the next one, or after the last.
  void advance(std::string& text) {
    std::size_t closed = 0;
    for (std::size_t axis = shape_.size(); axis-- > 0; ++closed) {
      if (++index_[axis] < shape_[axis]) break;
      index_[axis] = 0;
    }
    text.append(closed, ']');
    if (closed == shape_.size()) return;
    text += ", ";
    text.append(closed, '[');
  }

 private:
  const Shape& shape_;
  std::vector<std::size_t> index_;
};

}  // namespace

TypedArray parse_json_array(std::string_view text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error(ErrorKind::data, fmt::format("{}: the file is empty; JSON nested lists were expected", name));
  }
  return ArrayBuilder(text, name).build();
}

void check_json_array(const TypedArray& array, const std::string& name) {
  if (array.size() > 0 || array.shape == Shape{0}) return;
  throw Error(ErrorKind::data,
              fmt::format("{}: nested lists cannot express the shape {}; use .npy or .safetensors", name,
                          shape_text(array.shape)));
}

void write_json_array(const TypedArray& array, const ByteSink& sink) {
  if (array.size() == 0) return sink("[]");
  Brackets brackets(array.shape);
  std::string text;
  brackets.open(text);
  with_element_type(array.dtype, [&](auto type) {
    for_each_element<decltype(type)>(array, [&](auto element) {
      append_element(text, element, SpecialNumbers::quoted);
      brackets.advance(text);
      if (text.size() < flush_size) return;
      sink(text);
      text.clear();
    });
  });
  sink(text);
}

}  // namespace attnlab
