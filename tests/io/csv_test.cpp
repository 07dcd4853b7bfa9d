#include "io/csv.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

Array read(std::string_view text, const CsvOptions& options = {}) {
  return to_array(parse_csv(text, "a.csv", options), "a.csv");
}

Array from_case(const std::string& name, const CsvOptions& options = {}) {
  return read(content(test_file("cases/files/" + name)), options);
}

std::string complaint(std::string_view text, const CsvOptions& options = {}) {
  try {
    parse_csv(text, "a.csv", options);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

std::string case_complaint(const std::string& name, const CsvOptions& options = {}) {
  return complaint(content(test_file("cases/files/" + name)), options);
}

std::string written(const TypedArray& array) {
  std::string text;
  write_csv(array, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

TEST_CASE("csv: byte order marks and all line ends and empty lines at the end are read") {
  for (const char* name : {"bom.csv", "crlf.csv", "blankend.csv"}) {
    CAPTURE(name);
    CHECK(from_case(name).shape == Shape{2, 2});
    CHECK(from_case(name).values == Values{1, 2, 3, 4});
  }
  CHECK(from_case("bomheader.csv", {.header = true}).values == Values{1, 2});
  CHECK(read("1,2\r3,4\r").values == Values{1, 2, 3, 4});
  CHECK(read("1,2\r3,4").shape == Shape{2, 2});
  CHECK(read("\n\n1,2\n3,4\n \t \n\r\n").values == Values{1, 2, 3, 4});
  CHECK(complaint("1\n\n\n2\n") == "a.csv: line 2: an empty line between the rows");
}

TEST_CASE("csv: one row and one column stay matrices") {
  CHECK(from_case("onerow.csv").shape == Shape{1, 3});
  CHECK(read("1\n2\n").shape == Shape{2, 1});
  CHECK(read("7").shape == Shape{1, 1});
}

TEST_CASE("csv: numbers may have signs and blanks and quotes") {
  CHECK(from_case("forms.csv").values == Values{1, -0.5, 2000, 4});
  CHECK(read("\" 4 \" ,+.5,5.,1E3,-1e-3").values == Values{4, 0.5, 5, 1000, -0.001});
  const Values special = read("nan,NaN,-nan,inf,-Inf,+INFINITY,-infinity").values;
  CHECK((std::isnan(special[0]) && std::isnan(special[1]) && std::isnan(special[2])));
  CHECK(Values(special.begin() + 3, special.end()) == Values{infinity, -infinity, infinity, -infinity});
  CHECK(std::signbit(read("-0").values[0]));
  CHECK(std::signbit(read("-0.0").values[0]));
  CHECK(read("5e-324,1e-400,1.7976931348623157e308").values == Values{5e-324, 0, 1.7976931348623157e308});
}

TEST_CASE("csv: delimiter and decimal sign follow the options") {
  CHECK(from_case("semicolon.csv", {.delimiter = ';', .decimal = ','}).values == Values{1.5, 2, -0.25, 300});
  CHECK(read("1\t2\n3\t4\n", {.delimiter = '\t'}).values == Values{1, 2, 3, 4});
  CHECK(read("  1   2 \n3 4\n", {.delimiter = ' '}).shape == Shape{2, 2});
  CHECK(complaint("1.5;2", {.delimiter = ';', .decimal = ','}) ==
        "a.csv: line 1, column 1: '1.5' is not a number");
  CHECK(complaint("1\t\t2\n", {.delimiter = '\t'}) ==
        "a.csv: line 1, column 2: an empty field where a number was expected");
  CHECK(complaint("\t\t\n", {.delimiter = '\t'}) ==
        "a.csv: line 1, column 1: an empty field where a number was expected");
  for (const char delimiter : {'1', 'e', '-', '+', '.', '"', '\n', '\0'}) {
    CAPTURE(delimiter);
    CHECK_THROWS_AS(read("1", {.delimiter = delimiter}), Error);
  }
  CHECK_THROWS_WITH_AS(
      read("1", {.delimiter = 'x'}),
      "--csv-delimiter: 'x' cannot stand between numbers; use for example ',' or ';' or a tab", Error);
  CHECK_THROWS_WITH_AS(read("1", {.decimal = ';'}),
                       "--csv-decimal: ';' is not a decimal sign; use '.' or ','", Error);
  CHECK_THROWS_WITH_AS(read("1", {.decimal = ','}),
                       "--csv-decimal: the decimal sign and the delimiter are the same; for semicolons give "
                       "--csv-delimiter ';'",
                       Error);
}

TEST_CASE("csv: what is not a number is refused with line and column") {
  CHECK(case_complaint("semicolon2.csv") ==
        "a.csv: line 1, column 2: '5;2' is not a number; for fields between semicolons give --csv-delimiter "
        "';', for "
        "decimal commas --csv-decimal ','");
  CHECK(
      complaint("1\t2\n") ==
      "a.csv: line 1, column 1: '1\\x092' is not a number; for fields between tabs give --csv-delimiter tab");
  CHECK(complaint("1 2\n") ==
        "a.csv: line 1, column 1: '1 2' is not a number; for fields between blanks, as numpy.savetxt writes "
        "them, "
        "give --csv-delimiter ' '");
  CHECK(case_complaint("word.csv") == "a.csv: line 2, column 2: 'abc' is not a number");
  CHECK(case_complaint("halfnumber.csv") == "a.csv: line 2, column 2: '1.5x' is not a number");
  CHECK(case_complaint("hexnumber.csv") == "a.csv: line 1, column 2: '0x10' is not a number");
  CHECK(case_complaint("emptyfield.csv") ==
        "a.csv: line 2, column 2: an empty field where a number was expected");
  CHECK(case_complaint("ragged.csv") == "a.csv: line 2: 2 fields where line 1 has 3");
  CHECK(complaint("1,2\n3,4,\n") == "a.csv: line 2, column 3: an empty field where a number was expected");
  CHECK(case_complaint("toolarge.csv") ==
        "a.csv: line 1, column 2: '1e400' is out of range: too large for a double");
  CHECK(complaint("a,b\n1,2\n") ==
        "a.csv: line 1, column 1: 'a' is not a number; when the first line holds names give --header");
  CHECK(complaint("1,\"2\n") == "a.csv: line 1, column 2: a field without closing quote");
  CHECK(complaint("1,\"2\"3\n") == "a.csv: line 1, column 2: '3' after the closing quote");
  CHECK(complaint(std::string_view("1,\0\n", 4)) == "a.csv: line 1, column 2: '\\x00' is not a number");
  CHECK(complaint("\xFF\xFE"
                  "1") == "a.csv: the text is UTF-16; save it as UTF-8");
  for (const char* text :
       {"++1", "+-1", "--1", "1 2", "1e", "e5", ".", "-", "+", "1_000", "nanx", "infin", "1f", "\u22121"}) {
    CAPTURE(text);
    CHECK(complaint(text) != "accepted");
  }
  CHECK(complaint(std::string(100000, 'x')) ==
        "a.csv: line 1, column 1: '" + std::string(40, 'x') +
            "...' is not a number; when the first line holds names give --header");
}

TEST_CASE("csv: a text without numbers is refused") {
  CHECK(case_complaint("zerobytes.csv") == "a.csv: the file is empty; lines of numbers were expected");
  CHECK(case_complaint("onlyheader.csv", {.header = true}) == "a.csv: no data after the header line");
  CHECK(complaint("\n\n") == "a.csv: no data: only empty lines");
}

TEST_CASE("csv: whole numbers beyond a double are kept in full or refused") {
  const TypedArray whole = parse_csv("1,9007199254740993\n-9223372036854775808,4", "a.csv");
  CHECK(whole.dtype == DType::i64);
  CHECK(written(whole) == "1,9007199254740993\n-9223372036854775808,4\n");
  const TypedArray wide = parse_csv("1,18446744073709551615", "a.csv");
  CHECK(wide.dtype == DType::u64);
  CHECK(written(wide) == "1,18446744073709551615\n");
  CHECK(parse_csv("9007199254740992,1.5", "a.csv").dtype == DType::f64);
  const std::string reason =
      ": this whole number cannot be represented exactly as a double, and not all numbers here are 64-bit "
      "whole numbers; "
      "write it with a decimal point to have it rounded";
  CHECK(complaint("1,2\n0.5,9007199254740993") == "a.csv: line 2, column 2: '9007199254740993'" + reason);
  CHECK(complaint("9007199254740993,nan") == "a.csv: line 1, column 1: '9007199254740993'" + reason);
  CHECK(complaint("-1,18446744073709551615") == "a.csv: line 1, column 2: '18446744073709551615'" + reason);
  CHECK(complaint("123456789012345678901234567890123456789012") != "accepted");
  CHECK(parse_csv("123456789012345678901234567890123456789012.", "a.csv").dtype == DType::f64);
}

TEST_CASE("csv: what is written reads back to the same numbers") {
  const Array array{{2, 3}, {0.1, -0.0, 1e300, 5e-324, infinity, -infinity}};
  CHECK(written(view_of(array)) == "0.1,-0.0,1e+300\n5e-324,inf,-inf\n");
  const Array back = read(written(view_of(array)));
  CHECK(back.values == array.values);
  CHECK(std::signbit(back.values[1]));
  CHECK(written(view_of(Array{{3}, {1, 2, std::nan("")}})) == "1,2,nan\n");
  CHECK(written(view_of(Array{{}, {2.5}})) == "2.5\n");
  CHECK(written(to_typed(Array{{2}, {0, 1}}, DType::boolean, "a")) == "0,1\n");
  CHECK(written(to_typed(Array{{1}, {0.1}}, DType::f32, "a")) == "0.10000000149011612\n");
}

TEST_CASE("csv: shapes that lines cannot express are refused") {
  CHECK_NOTHROW(check_csv(view_of(Array{{}, {1}}), "a.npy"));
  CHECK_THROWS_WITH_AS(
      check_csv(view_of(Array{{1, 1, 1}, {1}}), "a.npy"),
      "a.npy: csv holds at most two dimensions and at least one number, not the shape [1, 1, 1]; use "
      ".npy, .json or .safetensors",
      Error);
  CHECK_THROWS_AS(check_csv(view_of(Array{{0, 2}, {}}), "a.npy"), Error);
}
