#include "render/glyphs.hpp"

#include <doctest/doctest.h>

using namespace attnlab;

TEST_CASE("glyphs: wide characters take two cells and marks none") {
  CHECK(display_width("cat", true) == 3);
  CHECK(display_width("caf\u00e9", true) == 4);
  CHECK(display_width("cafe\u0301", true) == 4);
  CHECK(display_width("\u732b", true) == 2);
  CHECK(display_width("\U0001F600", true) == 2);
  CHECK(display_width("", true) == 0);
}

TEST_CASE("glyphs: what a terminal would obey or cannot show becomes a question mark") {
  const auto text_of = [](std::string_view text, bool unicode) {
    std::string out;
    for (const Glyph& glyph : glyphs(text, unicode)) out += glyph.text;
    return out;
  };
  CHECK(text_of("a\x1b[31mb\n", true) == "a?[31mb?");
  CHECK(text_of("\xff\xc3", true) == "??");
  CHECK(text_of("\xed\xa0\x80", true) == "???");  // a surrogate
  CHECK(text_of("\xc0\xaf", true) == "??");       // longer than need be
  CHECK(text_of("\u202e", true) == "?");          // turns the direction of writing
  CHECK(text_of("caf\u00e9", false) == "caf?");
  CHECK(text_of("caf\u00e9", true) == "caf\u00e9");
}

TEST_CASE("glyphs: a text is shortened to whole glyphs and says so") {
  CHECK(shortened("token", 5, true) == "token");
  CHECK(shortened("tokens", 5, true) == "toke\u2026");
  CHECK(shortened("tokens", 5, false) == "toke~");
  CHECK(shortened("\u732b\u732b\u732b", 4, true) == "\u732b\u2026");
  CHECK(shortened("token", 1, false) == "~");
  CHECK(shortened("token", 0, false) == "");
}
