#include "io/utf8.hpp"

#include <doctest/doctest.h>

using namespace attnlab;

TEST_CASE("utf8: what a terminal would obey or cannot show is written in hexadecimal") {
  CHECK(printable("plain \u00e9 \u7537 \U0001f600") == "plain \u00e9 \u7537 \U0001f600");
  CHECK(printable("a\x1b[31m\tb\nc\x7f") == "a\\x1b[31m\\x09b\\x0ac\\x7f");
  CHECK(printable("a\xEFz") == "a\\xefz");
  CHECK(printable("\xC0\x80") == "\\xc0\\x80");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\xc2\\x9b31m");
  CHECK(printable("\xC2\xA0") == "\xC2\xA0");
  CHECK(printable("\xE7\x94") == "\\xe7\\x94");
}

TEST_CASE("utf8: an excerpt ends after forty bytes and never inside a character") {
  CHECK(excerpt("abc") == "'abc'");
  CHECK(excerpt(std::string(41, 'x')) == "'" + std::string(40, 'x') + "...'");
  CHECK(excerpt(std::string(39, 'x') + "\u00e9" + "y") == "'" + std::string(39, 'x') + "\u00e9...'");
}
