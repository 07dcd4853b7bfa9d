#include "io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <unordered_set>

#include "core/error.hpp"
#include "io/decimal.hpp"
#include "io/utf8.hpp"

namespace attnlab {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The character for a message: 'x', or its code where it cannot be printed.
std::string shown(char c) {
  const unsigned code = static_cast<unsigned char>(c);
  return code > 0x20 && code < 0x7F ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", code);
}

JsonValue::Array read_array(JsonReader& reader);
JsonValue::Object read_object(JsonReader& reader);

/// The value that begins with `token`, which has just been read. The reader bounds the depth of the
/// recursion.
JsonValue read_value(JsonReader& reader, JsonToken token) {
  switch (token) {
    case JsonToken::boolean:
      return {reader.boolean()};
    case JsonToken::number:
      return {JsonNumber{std::string(reader.number_text())}};
    case JsonToken::string:
      return {reader.string()};
    case JsonToken::begin_array:
      return {read_array(reader)};
    case JsonToken::begin_object:
      return {read_object(reader)};
    default:
      return {};
  }
}

JsonValue::Array read_array(JsonReader& reader) {
  JsonValue::Array items;
  for (JsonToken token = reader.next(); token != JsonToken::end_array; token = reader.next()) {
    items.push_back(read_value(reader, token));
  }
  return items;
}

JsonValue::Object read_object(JsonReader& reader) {
  JsonValue::Object members;
  std::unordered_set<std::string> keys;
  while (reader.next() != JsonToken::end_object) {
    std::string key = reader.string();
    if (!keys.insert(key).second) reader.fail(fmt::format("duplicate key {}", excerpt(key)));
    const JsonToken token = reader.next();
    members.push_back({std::move(key), read_value(reader, token)});
  }
  return members;
}

}  // namespace

bool JsonNumber::is_integer() const { return text.find_first_of(".eE") == std::string::npos; }

double JsonNumber::to_double() const {
  double result = 0.0;
  parse_decimal(text, result);
  return result;
}

bool to_integer(const JsonNumber& number, Int128& result) { return parse_whole(number.text, result); }

const JsonValue* JsonValue::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const JsonMember& member) { return member.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

const char* JsonValue::kind() const {
  constexpr const char* names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
  return names[value.index()];
}

JsonValue parse_json(std::string_view text, const std::string& name, const JsonOptions& options) {
  JsonReader reader(text, name, options);
  JsonValue document = read_value(reader, reader.next());
  reader.next();  // throws unless the text ends here
  return document;
}

JsonReader::JsonReader(std::string_view text, std::string name, const JsonOptions& options)
    : text_(text), name_(std::move(name)), max_depth_(options.max_depth) {
  if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF"))
    fail_at(0, "the text is UTF-16; save it as UTF-8");
  if (!text_.starts_with(byte_order_mark)) return;
  if (!options.allow_byte_order_mark) fail_at(0, "not JSON: it begins with a byte order mark (BOM)");
  offset_ = byte_order_mark.size();
}

JsonToken JsonReader::next() {
  skip_space();
  if (expect_ == Expect::separator_or_end && offset_ < text_.size() && text_[offset_] == ',') {
    expect_ = open_.back() == '{' ? Expect::key : Expect::value;
    ++offset_;
    skip_space();
  }
  token_offset_ = offset_;
  if (expect_ == Expect::end_of_text) {
    if (offset_ < text_.size()) {
      fail_at(offset_, fmt::format("{} after the end of the JSON value", shown(text_[offset_])));
    }
    return JsonToken::end_of_text;
  }
  if (offset_ == text_.size()) fail_at(offset_, "the JSON text ends too early");
  const char c = text_[offset_];
  if (c == ']' || c == '}') return close(c);
  if (expect_ == Expect::separator_or_end) {
    fail_at(offset_, fmt::format("{} where ',' or '{}' was expected in JSON", shown(c),
                                 open_.back() == '{' ? '}' : ']'));
  }
  if (expect_ == Expect::key || expect_ == Expect::key_or_end) {
    if (c != '"')
      fail_at(offset_, fmt::format("{} where a key in double quotes was expected in JSON", shown(c)));
    read_string();
    skip_space();
    if (offset_ == text_.size()) fail_at(offset_, "the JSON text ends too early");
    if (text_[offset_] != ':') {
      fail_at(offset_, fmt::format("{} where ':' was expected in JSON", shown(text_[offset_])));
    }
    ++offset_;
    expect_ = Expect::value;
    return JsonToken::key;
  }
  return c == '[' || c == '{' ? open(c) : scalar();
}

void JsonReader::fail(const std::string& reason) const { fail_at(token_offset_, reason); }

void JsonReader::fail_at(std::size_t offset, const std::string& reason) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 on the first line
  throw Error(ErrorKind::data,
              fmt::format("{}: line {}, column {}: {}", name_, line, offset - line_begin + 1, reason));
}

void JsonReader::skip_space() {
  while (offset_ < text_.size() && (text_[offset_] == ' ' || text_[offset_] == '\n' ||
                                    text_[offset_] == '\t' || text_[offset_] == '\r')) {
    ++offset_;
  }
}

JsonToken JsonReader::open(char bracket) {
  if (open_.size() == max_depth_) {
    fail_at(offset_, fmt::format("JSON nested more than {} levels deep", max_depth_));
  }
  open_.push_back(bracket);
  ++offset_;
  expect_ = bracket == '[' ? Expect::value_or_end : Expect::key_or_end;
  return bracket == '[' ? JsonToken::begin_array : JsonToken::begin_object;
}

JsonToken JsonReader::close(char bracket) {
  const char opened = bracket == ']' ? '[' : '{';
  const bool may_end =
      expect_ == Expect::separator_or_end || expect_ == Expect::value_or_end || expect_ == Expect::key_or_end;
  if (!may_end || open_.back() != opened) {
    fail_at(offset_, fmt::format("unexpected {} in JSON", shown(bracket)));
  }
  open_.pop_back();
  ++offset_;
  after_value();
  return bracket == ']' ? JsonToken::end_array : JsonToken::end_object;
}

JsonToken JsonReader::scalar() {
  const char c = text_[offset_];
  JsonToken token = JsonToken::null;
  if (c == '"') {
    read_string();
    token = JsonToken::string;
  } else if (c == '-' || is_digit(c)) {
    read_number();
    token = JsonToken::number;
  } else if (c == 't' || c == 'f') {
    boolean_ = c == 't';
    read_word(boolean_ ? "true" : "false");
    token = JsonToken::boolean;
  } else {
    read_word("null");
  }
  after_value();
  return token;
}

void JsonReader::after_value() { expect_ = open_.empty() ? Expect::end_of_text : Expect::separator_or_end; }

void JsonReader::read_word(std::string_view word) {
  const std::string_view rest = text_.substr(offset_);
  std::size_t length = 0;
  while (length < rest.size() && length < 20 && (std::isalnum(static_cast<unsigned char>(rest[length])) != 0))
    ++length;
  const std::string_view found = rest.substr(0, length);
  if (found != word) {
    fail_at(offset_, fmt::format("{} is not a JSON value", length > 0 ? std::string(found) : shown(rest[0])));
  }
  offset_ += length;
}

void JsonReader::read_number() {
  const std::size_t begin = offset_;
  const auto at = [&](std::size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  const auto skip_digits = [&] {
    if (!is_digit(at(offset_)))
      fail_at(begin, "a JSON number is broken off or has no digit where one must be");
    while (is_digit(at(offset_))) ++offset_;
  };
  if (at(offset_) == '-') ++offset_;
  if (at(offset_) == 'I' || at(offset_) == 'N')
    fail_at(begin, "-Infinity is not a JSON number; write \"-Infinity\"");
  if (at(offset_) == '0' && is_digit(at(offset_ + 1))) fail_at(begin, "a JSON number must not begin with 0");
  skip_digits();
  if (at(offset_) == '.') {
    ++offset_;
    skip_digits();
  }
  if (at(offset_) == 'e' || at(offset_) == 'E') {
    ++offset_;
    if (at(offset_) == '+' || at(offset_) == '-') ++offset_;
    skip_digits();
  }
  number_ = text_.substr(begin, offset_ - begin);
}

void JsonReader::read_string() {
  const std::size_t begin = offset_++;
  string_.clear();
  while (true) {
    if (offset_ == text_.size()) fail_at(begin, "a JSON string without closing quote");
    const char c = text_[offset_];
    if (c == '"') break;
    if (c == '\\') {
      read_escape();
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fail_at(offset_, fmt::format("{} inside a JSON string must be written as an escape", shown(c)));
    } else {
      const std::size_t length = utf8_length(text_.substr(offset_));
      if (length == 0) fail_at(offset_, "invalid UTF-8 in a JSON string");
      string_.append(text_.substr(offset_, length));
      offset_ += length;
    }
  }
  ++offset_;
}

void JsonReader::read_escape() {
  const std::size_t begin = offset_++;
  constexpr std::string_view names = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const char c = offset_ < text_.size() ? text_[offset_] : '\0';
  if (const std::size_t which = names.find(c); which != std::string_view::npos) {
    string_.push_back(meanings[which]);
    ++offset_;
    return;
  }
  if (c != 'u') fail_at(begin, "unknown escape in a JSON string");
  ++offset_;
  unsigned code = read_hex4();
  const bool high_half = code >= 0xD800 && code < 0xDC00;
  if (high_half && text_.substr(offset_).starts_with("\\u")) {
    offset_ += 2;
    const unsigned low = read_hex4();
    if (low < 0xDC00 || low > 0xDFFF) fail_at(begin, "half of a surrogate pair in a JSON string");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code < 0xE000) {
    fail_at(begin, "half of a surrogate pair in a JSON string");
  }
  append_utf8(string_, code);
}

unsigned JsonReader::read_hex4() {
  const std::string_view digits = text_.substr(std::min(offset_, text_.size()), 4);
  unsigned code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) {
    fail_at(offset_, "\\u in a JSON string needs four hexadecimal digits");
  }
  offset_ += 4;
  return code;
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      result += "\uFFFD";
    } else if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + '"';
}

std::string json_number(double value) {
  std::string text;
  append_decimal(text, value, SpecialNumbers::quoted);
  return text;
}

}  // namespace attnlab
