// Strict JSON text: read token by token or as a whole document, and the two pieces of it that writers need.
//
// Own reader, because what is read must keep what a JSON library drops: the text of a number ("-0", whole
// numbers beyond 64 bits), the order of members, a key that stands twice, and the line and column of every
// complaint.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/integer.hpp"

namespace attnlab {

struct JsonOptions {
  bool allow_byte_order_mark = false;  ///< skip a UTF-8 byte order mark before the text
  std::size_t max_depth = 64;          ///< arrays and objects inside each other
};

/// A number as it stands in the text, of any size.
struct JsonNumber {
  std::string text;

  /// Whether the text has neither point nor exponent.
  bool is_integer() const;
  /// The nearest double; infinite beyond its range.
  double to_double() const;
};

struct JsonMember;

/// One value of a JSON document. Copies are deep.
struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  ///< members in the order of the text; no key twice
  std::variant<std::monostate, bool, JsonNumber, std::string, Array, Object> value;  ///< monostate is null

  bool is_null() const { return std::holds_alternative<std::monostate>(value); }
  /// The content when the value is of that kind, else nullptr.
  const bool* boolean() const { return std::get_if<bool>(&value); }
  const JsonNumber* number() const { return std::get_if<JsonNumber>(&value); }
  const std::string* string() const { return std::get_if<std::string>(&value); }
  const Array* array() const { return std::get_if<Array>(&value); }
  const Object* object() const { return std::get_if<Object>(&value); }

  /// The member of that name of an object; nullptr when there is none or this is no object.
  const JsonValue* find(std::string_view key) const;
  /// "null", "a boolean", "a number", "a string", "an array" or "an object": for messages.
  const char* kind() const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

/// The document in `text`. Throws Error(data) "NAME: line L, column C: REASON" for text that is not strict
/// JSON (NaN, Infinity, comments, trailing commas, invalid UTF-8, anything after the value), for a key that
/// stands twice in one object, and for nesting deeper than the options allow. `name` is the file, for
/// messages.
JsonValue parse_json(std::string_view text, const std::string& name, const JsonOptions& options = {});

/// The number whose text is a whole number; false when it has a point or exponent or passes 127 bits.
bool to_integer(const JsonNumber& number, Int128& result);

enum class JsonToken {
  null,
  boolean,
  number,
  string,
  key,
  begin_array,
  end_array,
  begin_object,
  end_object,
  end_of_text,
};

/// Reads a text token by token: commas, colons and brackets are checked here, duplicate keys are not.
class JsonReader {
 public:
  /// `text` must outlive the reader. Throws as parse_json does.
  JsonReader(std::string_view text, std::string name, const JsonOptions& options = {});

  /// The next token; end_of_text once the value is complete and nothing follows. Throws as parse_json does.
  JsonToken next();
  /// The text of the last number token; valid while the text lives.
  std::string_view number_text() const { return number_; }
  /// The last string or key, without quotes and escapes.
  const std::string& string() const { return string_; }
  bool boolean() const { return boolean_; }

  /// Throws Error(data) "NAME: line L, column C: REASON" for the place of the last token.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  enum class Expect { value, value_or_end, key, key_or_end, separator_or_end, end_of_text };

  [[noreturn]] void fail_at(std::size_t offset, const std::string& reason) const;
  void skip_space();
  JsonToken open(char bracket);
  JsonToken close(char bracket);
  JsonToken scalar();
  void after_value();
  void read_string();
  void read_escape();
  unsigned read_hex4();
  void read_number();
  void read_word(std::string_view word);

  std::string_view text_;
  std::string name_;
  std::size_t max_depth_;
  std::size_t offset_ = 0;
  std::size_t token_offset_ = 0;
  Expect expect_ = Expect::value;
  std::vector<char> open_;  // the opening brackets around the place
  std::string_view number_;
  std::string string_;
  bool boolean_ = false;
};

/// The text in double quotes, with the escapes that JSON demands; everything else stays UTF-8. Bytes that are
/// not valid UTF-8 become U+FFFD, so that the result is always JSON.
std::string json_string(std::string_view text);

/// The shortest text that reads back to the same double ("-0.0" for minus zero), or "NaN", "Infinity" or
/// "-Infinity" in double quotes.
std::string json_number(double value);

}  // namespace attnlab
