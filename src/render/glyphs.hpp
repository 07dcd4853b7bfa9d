// Text as a terminal shows it: glyph by glyph, each one or two cells wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attnlab {

/// One character with the marks that combine with it.
struct Glyph {
  std::string text;   ///< UTF-8
  std::size_t width;  ///< 1, or 2 for the wide characters of East Asia and emoji
};

/// The glyphs of a text in UTF-8. Control characters and bytes that are not UTF-8 become '?'; without
/// `unicode` so does all that is not ASCII.
std::vector<Glyph> glyphs(std::string_view text, bool unicode);

/// The cells that a text takes in a terminal.
std::size_t display_width(std::string_view text, bool unicode);

/// The text without what passes `width` cells; what was cut ends in an ellipsis, or '~' without `unicode`.
std::string shortened(std::string_view text, std::size_t width, bool unicode);

}  // namespace attnlab
