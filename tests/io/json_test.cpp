#include "io/json.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

using namespace attnlab;

namespace {

std::string complaint(std::string_view text, const JsonOptions& options = {}) {
  try {
    parse_json(text, "a.json", options);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("json: a document keeps the order of members and the text of numbers") {
  const JsonValue document =
      parse_json(R"( {"b": [1, -0, 2.50], "a": {"x": null, "y": true}, "": "s"} )", "a.json");
  REQUIRE(document.object() != nullptr);
  CHECK(document.object()->at(0).key == "b");
  CHECK(document.object()->at(1).key == "a");
  CHECK(document.object()->at(2).key.empty());
  const JsonValue::Array& numbers = *document.find("b")->array();
  CHECK(numbers[1].number()->text == "-0");
  CHECK(std::signbit(numbers[1].number()->to_double()));
  CHECK(numbers[2].number()->text == "2.50");
  CHECK_FALSE(numbers[2].number()->is_integer());
  CHECK(numbers[0].number()->is_integer());
  CHECK(document.find("a")->find("x")->is_null());
  CHECK(*document.find("a")->find("y")->boolean());
  CHECK(document.find("absent") == nullptr);
  CHECK(numbers[0].find("x") == nullptr);
  CHECK(std::string(document.find("b")->kind()) == "an array");
}

TEST_CASE("json: whole numbers keep every digit up to 127 bits") {
  Int128 value = 0;
  CHECK(to_integer(JsonNumber{"170141183460469231731687303715884105727"}, value));
  CHECK(to_string(value) == "170141183460469231731687303715884105727");
  CHECK_FALSE(to_integer(JsonNumber{"170141183460469231731687303715884105728"}, value));
  CHECK(to_integer(JsonNumber{"-9007199254740993"}, value));
  CHECK(to_string(value) == "-9007199254740993");
  CHECK_FALSE(to_integer(JsonNumber{"1.0"}, value));
  CHECK_FALSE(to_integer(JsonNumber{"1e3"}, value));
}

TEST_CASE("json: numbers beyond a double are infinite and numbers below it are zero") {
  CHECK(JsonNumber{"1e400"}.to_double() == std::numeric_limits<double>::infinity());
  CHECK(JsonNumber{"-1e400"}.to_double() == -std::numeric_limits<double>::infinity());
  CHECK(JsonNumber{"1e-400"}.to_double() == 0.0);
  CHECK(JsonNumber{"0." + std::string(400, '0') + "1"}.to_double() == 0.0);
  CHECK(JsonNumber{"1" + std::string(400, '0')}.to_double() == std::numeric_limits<double>::infinity());
  CHECK(JsonNumber{"1" + std::string(400, '0') + "e-400"}.to_double() == 1.0);
}

TEST_CASE("json: what is not strict JSON is refused with line and column and reason") {
  CHECK(complaint("") == "a.json: line 1, column 1: the JSON text ends too early");
  CHECK(complaint("{\"a\": [1,\n  2") == "a.json: line 2, column 4: the JSON text ends too early");
  CHECK(complaint("{\"hidden_size\": NaN}") == "a.json: line 1, column 17: NaN is not a JSON value");
  CHECK(complaint("[Infinity]") == "a.json: line 1, column 2: Infinity is not a JSON value");
  CHECK(complaint("[-Infinity]") ==
        "a.json: line 1, column 2: -Infinity is not a JSON number; write \"-Infinity\"");
  CHECK(complaint("[1,]") == "a.json: line 1, column 4: unexpected ']' in JSON");
  CHECK(complaint("[,1]") == "a.json: line 1, column 2: ',' is not a JSON value");
  CHECK(complaint("[1 2]") == "a.json: line 1, column 4: '2' where ',' or ']' was expected in JSON");
  CHECK(complaint("[1}") == "a.json: line 1, column 3: unexpected '}' in JSON");
  CHECK(complaint("{\"a\" 1}") == "a.json: line 1, column 6: '1' where ':' was expected in JSON");
  CHECK(complaint("{\"a\": 1,}") == "a.json: line 1, column 9: unexpected '}' in JSON");
  CHECK(complaint("{\"a\":}") == "a.json: line 1, column 6: unexpected '}' in JSON");
  CHECK(complaint("{a: 1}") ==
        "a.json: line 1, column 2: 'a' where a key in double quotes was expected in JSON");
  CHECK(complaint("1 1") == "a.json: line 1, column 3: '1' after the end of the JSON value");
  CHECK(complaint("]") == "a.json: line 1, column 1: unexpected ']' in JSON");
  CHECK(complaint("01") == "a.json: line 1, column 1: a JSON number must not begin with 0");
  CHECK(complaint("nul") == "a.json: line 1, column 1: nul is not a JSON value");
  CHECK(complaint("nulls") == "a.json: line 1, column 1: nulls is not a JSON value");
  CHECK(complaint("/* */ 1") == "a.json: line 1, column 1: '/' is not a JSON value");
  CHECK(complaint(std::string_view("\0", 1)) == "a.json: line 1, column 1: byte 0x00 is not a JSON value");
  CHECK(complaint(std::string_view("\xFF\xFE[\0", 4)) ==
        "a.json: line 1, column 1: the text is UTF-16; save it as UTF-8");
  for (const char* number : {"-", "1.", "1.e3", "1e", "1e+", ".5", "+1", "0x10", "1_000", "--1"}) {
    CAPTURE(number);
    CHECK(complaint(number) != "accepted");
  }
}

TEST_CASE("json: a key that stands twice in one object is refused") {
  CHECK(complaint("{\"a\": 1, \"b\": {\"a\": 2}, \"\\u0061\": 3}") ==
        "a.json: line 1, column 25: duplicate key 'a'");
}

TEST_CASE("json: nesting is bounded by the option and deep texts cannot exhaust the stack") {
  const JsonOptions shallow{.max_depth = 2};
  CHECK(complaint("[[1]]", shallow) == "accepted");
  CHECK(complaint("[[[1]]]", shallow) == "a.json: line 1, column 3: JSON nested more than 2 levels deep");
  CHECK(complaint(std::string(300000, '[')) ==
        "a.json: line 1, column 65: JSON nested more than 64 levels deep");
}

TEST_CASE("json: a byte order mark is skipped only where the option allows it") {
  CHECK(complaint("\xEF\xBB\xBF{}") ==
        "a.json: line 1, column 1: not JSON: it begins with a byte order mark (BOM)");
  CHECK(complaint("\xEF\xBB\xBF{}", {.allow_byte_order_mark = true}) == "accepted");
}

TEST_CASE("json: strings are unescaped and invalid ones refused") {
  CHECK(*parse_json(R"("\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00é")", "a").string() ==
        "\"\\/\b\f\n\r\t\u00e9\u20ac\U0001F600\u00e9");
  CHECK(complaint("\"abc") == "a.json: line 1, column 1: a JSON string without closing quote");
  CHECK(complaint("\"abc\\") == "a.json: line 1, column 5: unknown escape in a JSON string");
  CHECK(complaint("\"\\x\"") == "a.json: line 1, column 2: unknown escape in a JSON string");
  CHECK(complaint("\"\\u12\"") ==
        "a.json: line 1, column 4: \\u in a JSON string needs four hexadecimal digits");
  CHECK(complaint("\"\\u-123\"") != "accepted");
  CHECK(complaint("\"\\ud800\"") == "a.json: line 1, column 2: half of a surrogate pair in a JSON string");
  CHECK(complaint("\"\\ud800\\u0041\"") != "accepted");
  CHECK(complaint("\"\\udc00\"") != "accepted");
  CHECK(complaint("\"a\nb\"") ==
        "a.json: line 1, column 3: byte 0x0a inside a JSON string must be written as an escape");
  for (const char* bytes : {"\"\xC0\xAF\"", "\"\x80\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"",
                            "\"\xF4\x90\x80\x80\"", "\"\xF0\x9F\""}) {
    CHECK(complaint(bytes) != "accepted");
  }
}

TEST_CASE("json: it accepts and refuses what an independent reader accepts and refuses") {
  // All texts of four characters over an alphabet of the grammar's signs.
  constexpr std::string_view alphabet = "[]{},:\"a0-.e1 ";
  std::string text(4, ' ');
  std::size_t accepted = 0;
  for (std::size_t code = 0; code < alphabet.size() * alphabet.size() * alphabet.size() * alphabet.size();
       ++code) {
    std::size_t rest = code;
    for (char& c : text) {
      c = alphabet[rest % alphabet.size()];
      rest /= alphabet.size();
    }
    const bool ours = complaint(text) == "accepted";
    CAPTURE(text);
    if (ours != nlohmann::json::accept(text)) CHECK(false);
    accepted += ours ? 1 : 0;
  }
  CHECK(accepted > 100);
}

TEST_CASE("json: written strings are valid JSON that reads back") {
  CHECK(json_string("a\"b\\c\n\t\x01\x7F") == R"("a\"b\\c\n\t\u0001\u007f")");
  CHECK(json_string("\u00e9 \U0001F600") == "\"\u00e9 \U0001F600\"");
  CHECK(json_string("a\xFF\xC3") == "\"a\uFFFD\uFFFD\"");
  CHECK(json_string("") == "\"\"");
  std::string every_byte;
  for (int c = 0; c < 128; ++c) every_byte.push_back(static_cast<char>(c));
  CHECK(*parse_json(json_string(every_byte), "a").string() == every_byte);
}

TEST_CASE("json: written numbers read back to the same bits") {
  CHECK(json_number(1.0) == "1");
  CHECK(json_number(-0.0) == "-0.0");
  CHECK(json_number(0.1) == "0.1");
  CHECK(json_number(1e300) == "1e+300");
  CHECK(json_number(std::nan("")) == "\"NaN\"");
  CHECK(json_number(-std::nan("")) == "\"NaN\"");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "\"Infinity\"");
  CHECK(json_number(-std::numeric_limits<double>::infinity()) == "\"-Infinity\"");
  std::uint64_t bits = 1;
  for (int i = 0; i < 100000; ++i) {
    bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    const double back = parse_json(json_number(value), "a").number()->to_double();
    if (std::bit_cast<std::uint64_t>(back) != bits) FAIL(json_number(value));
  }
}
