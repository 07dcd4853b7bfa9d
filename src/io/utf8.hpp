// UTF-8, as far as text files and messages about them need it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attnlab {

/// The number of bytes of the character that `text` begins with; 0 when it begins with no valid UTF-8
/// (overlong forms, surrogates and codes beyond U+10FFFF are not valid) or is empty.
std::size_t utf8_length(std::string_view text);

/// Appends the character of a code, which must be at most 0x10FFFF and no surrogate.
void append_utf8(std::string& text, unsigned code);

/// The text on one line, with the bytes of control characters and of what is no UTF-8 as \\xNN: a terminal
/// obeys none of it.
std::string printable(std::string_view text);

/// The text in single quotes for a message: at most 40 bytes of it, printable.
std::string excerpt(std::string_view text);

}  // namespace attnlab
