#include "io/json_array.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"

using namespace attnlab;

namespace {

using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string complaint(std::string_view text) {
  try {
    parse_json_array(text, "a.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

std::string written(const TypedArray& array) {
  std::string text;
  write_json_array(array, [&](std::string_view piece) { text += piece; });
  return text;
}

Array read(std::string_view text) { return to_array(parse_json_array(text, "a.json"), "a.json"); }

}  // namespace

TEST_CASE("json array: nested lists have the shape of their lengths") {
  CHECK(read("2.5").shape.empty());
  CHECK(read("[1, 2]").shape == Shape{2});
  CHECK(read("[]").shape == Shape{0});
  CHECK(read("[[], []]").shape == Shape{2, 0});
  CHECK(read("[[[1, 2], [3, 4], [5, 6]]]").shape == Shape{1, 3, 2});
  CHECK(read("[[[1, 2], [3, 4], [5, 6]]]").values == Values{1, 2, 3, 4, 5, 6});
  CHECK(read("\xEF\xBB\xBF[1]").values == Values{1});
}

TEST_CASE("json array: numbers that are not finite are strings and minus zero keeps its sign") {
  const Values values = read(R"(["NaN", "Infinity", "-Infinity", -0, -0.0, 1e-400])").values;
  CHECK(std::isnan(values[0]));
  CHECK(values[1] == infinity);
  CHECK(values[2] == -infinity);
  CHECK((std::signbit(values[3]) && std::signbit(values[4])));
  CHECK(values[5] == 0.0);
}

TEST_CASE("json array: true and false make an array of bool") {
  const TypedArray mask = parse_json_array("[[true, false], [true, true]]", "a.json");
  CHECK(mask.dtype == DType::boolean);
  CHECK(to_array(mask, "a").values == Values{1, 0, 1, 1});
  CHECK(complaint("[true, 1]") == "a.json: line 1, column 8: true or false among numbers");
  CHECK(complaint("[1, true]") == "a.json: line 1, column 5: true or false among numbers");
}

TEST_CASE("json array: ragged lists are refused with the place") {
  CHECK(complaint("[[1, 2],\n [3]]") ==
        "a.json: line 2, column 4: ragged: a list of 1 where the lists before it have 2");
  CHECK(complaint("[1, [2]]") == "a.json: line 1, column 5: ragged: a list where a number was expected");
  CHECK(complaint("[[1], 2]") == "a.json: line 1, column 7: ragged: a number where a list was expected");
  CHECK(complaint("[[1], []]") ==
        "a.json: line 1, column 8: ragged: a list of 0 where the lists before it have 1");
  CHECK(complaint("[[], [1]]") ==
        "a.json: line 1, column 8: ragged: a list of 1 where the lists before it have 0");
  CHECK(complaint("[[], [[]]]") == "a.json: line 1, column 7: ragged: a list where a number was expected");
  CHECK(complaint("[[], 1]") == "a.json: line 1, column 6: ragged: a number where a list was expected");
  CHECK(complaint("[[[1]], []]") ==
        "a.json: line 1, column 10: ragged: a list of 0 where the lists before it have 1");
}

TEST_CASE("json array: everything that is not a number is refused") {
  CHECK(complaint("") == "a.json: the file is empty; JSON nested lists were expected");
  CHECK(complaint(" \n") == "a.json: the file is empty; JSON nested lists were expected");
  CHECK(complaint("[null]") ==
        "a.json: line 1, column 2: null is not a number; write \"NaN\" where a number is missing");
  CHECK(complaint("[\"abc\"]") ==
        "a.json: line 1, column 2: the string 'abc' is not a number; allowed are \"NaN\", \"Infinity\" and "
        "\"-Infinity\"");
  CHECK(complaint("[\"1\"]") != "accepted");
  CHECK(complaint("{\"data\": [1]}") ==
        "a.json: line 1, column 1: an object where nested lists of numbers were expected");
  CHECK(complaint("[1e400]") == "a.json: line 1, column 2: '1e400' is out of range: too large for a double");
  CHECK(complaint("[NaN]") == "a.json: line 1, column 2: NaN is not a JSON value");
  CHECK(complaint("[1, 2") == "a.json: line 1, column 6: the JSON text ends too early");
  CHECK(complaint(std::string(100000, '[')) ==
        "a.json: line 1, column 65: JSON nested more than 64 levels deep");
}

TEST_CASE("json array: whole numbers beyond a double are kept in full or refused") {
  const TypedArray whole = parse_json_array("[9007199254740993, -1]", "a.json");
  CHECK(whole.dtype == DType::i64);
  CHECK(written(whole) == "[9007199254740993, -1]");
  CHECK(complaint("[9007199254740993, 0.5]")
            .starts_with("a.json: '9007199254740993': this whole number cannot be"));
}

TEST_CASE("json array: what is written reads back to the same array") {
  CHECK(written(view_of(Array{{}, {2.5}})) == "2.5");
  CHECK(written(view_of(Array{{0, 3}, {}})) == "[]");
  CHECK(written(view_of(Array{{2, 1, 2}, {1, 2, -0.0, infinity}})) == "[[[1, 2]], [[-0.0, \"Infinity\"]]]");
  Array array{{7, 11, 13}, {}};
  for (std::size_t i = 0; i < element_count(array.shape); ++i)
    array.values.push_back(1.0 / static_cast<double>(i + 1));
  CHECK(read(written(view_of(array))).shape == array.shape);
  CHECK(read(written(view_of(array))).values == array.values);
  CHECK(read(written(view_of(Array{{3}, {1, std::nan(""), -infinity}}))).values[2] == -infinity);
}

TEST_CASE("json array: shapes that lists cannot express are refused") {
  CHECK_NOTHROW(check_json_array(view_of(Array{{0}, {}}), "a"));
  CHECK_NOTHROW(check_json_array(view_of(Array{{}, {1}}), "a"));
  CHECK_THROWS_WITH_AS(check_json_array(view_of(Array{{0, 2}, {}}), "a.npy"),
                       "a.npy: nested lists cannot express the shape [0, 2]; use .npy or .safetensors",
                       Error);
}
