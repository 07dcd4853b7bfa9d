#include "io/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attnlab {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // The second byte alone tells overlong forms, surrogates and codes that are too large.
  const unsigned second = byte(1);
  const bool invalid = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return invalid ? 0 : length;
}

void append_utf8(std::string& text, unsigned code) {
  const auto push = [&](unsigned byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | (code >> 6));
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | (code >> 12));
    push(0x80 | ((code >> 6) & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | (code >> 18));
    push(0x80 | ((code >> 12) & 0x3F));
    push(0x80 | ((code >> 6) & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

namespace {

// The codes below a blank, delete, and those from U+0080 to U+009F, among which is another escape.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

// Appends the character at `offset` and returns where the next one begins.
std::size_t append_printable(std::string& result, std::string_view text, std::size_t offset) {
  const std::size_t length = std::max<std::size_t>(utf8_length(text.substr(offset)), 1);
  const std::string_view character = text.substr(offset, length);
  if (utf8_length(character) == length && !is_control(character)) {
    result += character;
  } else {
    for (const char c : character) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return offset + length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t offset = 0; offset < text.size();) offset = append_printable(result, text, offset);
  return result;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  std::size_t offset = 0;
  while (offset < std::min(text.size(), longest)) offset = append_printable(result, text, offset);
  return result + (offset < text.size() ? "...'" : "'");
}

}  // namespace attnlab
