#include "render/numpy_text.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/integer.hpp"
#include "support/paths.hpp"

using namespace attnlab;
using Json = nlohmann::json;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Json oracle_cases(const std::string& name) {
  std::ifstream file(std::string(test_data_folder) + "/oracle/" + name);
  REQUIRE(file);
  return Json::parse(file).at("cases");
}

double from_hex(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

template <class T>
T element(const Json& value) {
  return value.is_string() ? static_cast<T>(from_hex(value.get<std::string>())) : value.get<T>();
}

// The values of a case. Elements that a summarised array does not show are so large that they would spoil the
// widths.
template <class T>
std::vector<T> values_of(const Json& entry, std::size_t count) {
  if (entry.contains("shown")) {
    std::vector<T> values(count, std::numeric_limits<T>::lowest());
    for (const Json& pair : entry.at("shown")) values.at(pair[0].get<std::size_t>()) = element<T>(pair[1]);
    return values;
  }
  std::vector<T> values;
  for (const Json& value : entry.at(entry.contains("hex") ? "hex" : "ints"))
    values.push_back(element<T>(value));
  return values;
}

template <class T>
std::string text_of(const Json& entry) {
  const Shape shape = entry.at("shape").get<Shape>();
  const Json& options = entry.at("options");
  PrintOptions print;
  print.precision = options.value("precision", print.precision);
  print.suppress = options.value("suppress", print.suppress);
  print.threshold = options.value("threshold", print.threshold);
  print.edge_items = options.value("edgeitems", print.edge_items);
  print.line_width = options.value("linewidth", print.line_width);
  const std::vector<T> values = values_of<T>(entry, element_count(shape));
  return numpy_text(std::span<const T>(values), shape, print);
}

std::string text(std::initializer_list<double> values, const PrintOptions& options = {}) {
  return numpy_text(std::span<const double>(values.begin(), values.size()), {values.size()}, options);
}

std::string text32(std::initializer_list<float> values) {
  return numpy_text(std::span<const float>(values.begin(), values.size()), {values.size()});
}

std::string zeros_text(const Shape& shape, const PrintOptions& options = {}) {
  return numpy_text(Array{shape, std::vector<double>(element_count(shape), 0.0)}, options);
}

const PrintOptions lesson{.precision = 3, .suppress = true};

}  // namespace

TEST_CASE("numpy_text: every array of the oracle prints as NumPy prints it") {
  std::size_t cases = 0;
  for (const Json& entry : oracle_cases("formatted_arrays.json")) {
    CAPTURE(cases);
    const std::string type = entry.at("dtype").get<std::string>();
    const std::string printed = type == "float64"   ? text_of<double>(entry)
                                : type == "float32" ? text_of<float>(entry)
                                                    : text_of<std::int64_t>(entry);
    CHECK(printed == entry.at("text").get<std::string>());
    ++cases;
  }
  CHECK(cases == 197);
}

TEST_CASE("numpy_text: a number too long for the precision is rounded from its exact binary value") {
  CHECK(text({0.0625, 0.0005, 0.5}, lesson) == "[0.062 0.001 0.5  ]");
  CHECK(text({2.675, 1.0005}, {.precision = 2}) == "[2.67 1.  ]");
  CHECK(text({0.1 + 0.2}, {.precision = 20}) == "[0.30000000000000004]");
  CHECK(text({1.5, 2.5}, {.precision = 0}) == "[2. 2.]");
}

TEST_CASE("numpy_text: zero keeps its sign and so does what rounds to it") {
  CHECK(text({-0.0, 0.0}) == "[-0.  0.]");
  CHECK(text({-0.0001, 1.25}, lesson) == "[-0.    1.25]");
}

TEST_CASE("numpy_text: a minus sign takes a column only where it needs one") {
  CHECK(text({-1.5, 22.5}) == "[-1.5 22.5]");
  CHECK(text({-1.5, 2.5}) == "[-1.5  2.5]");
}

TEST_CASE("numpy_text: nan and infinities are right aligned in the full width") {
  CHECK(text({1.0, not_a_number}) == "[ 1. nan]");
  CHECK(text({1.25, -not_a_number, infinity}) == "[1.25  nan  inf]");
  CHECK(text({1.0, -infinity}) == "[  1. -inf]");
  CHECK(text({not_a_number, infinity, -infinity}) == "[ nan  inf -inf]");
  CHECK(text({not_a_number}) == "[nan]");
  CHECK(text({1e-10, not_a_number}) == "[1.e-10    nan]");
}

TEST_CASE("numpy_text: large or widely spread magnitudes print with exponents") {
  CHECK(text({99999999.0}) == "[99999999.]");
  CHECK(text({100000000.0}) == "[1.e+08]");
  CHECK(text({100000000.0, 1.0}, lesson) == "[1.e+08 1.e+00]");
  CHECK(text({1.0, 1000.0}) == "[   1. 1000.]");
  CHECK(text({1.0, 1001.0}) == "[1.000e+00 1.001e+03]");
  CHECK(text({1.0, 1001.0}, lesson) == "[   1. 1001.]");
  CHECK(text({0.0001}) == "[0.0001]");
  CHECK(text({0.00009}) == "[9.e-05]");
  CHECK(text({1e300, -2.5e-7, 0.0}) == "[ 1.0e+300 -2.5e-007  0.0e+000]");
  CHECK(text({5e-324}, {.precision = 20}) == "[5.e-324]");
}

TEST_CASE("numpy_text: float32 has its own shortest digits and bounds") {
  CHECK(text32({0.1F, 1.0F / 3.0F}) == "[0.1        0.33333334]");
  CHECK(text32({0.0001F, 0.0002F}) == "[1.e-04 2.e-04]");
  CHECK(text32({67108872.0F, 1e7F}) == "[67108872. 10000000.]");
  CHECK(text32({1e23F, 1234.5678F}) == "[9.9999998e+22 1.2345677e+03]");
  CHECK(text32({1e38F, 1e-38F}) == "[1.e+38 1.e-38]");
}

TEST_CASE("numpy_text: integers are right aligned and booleans five wide") {
  const std::vector<std::int64_t> integers{1, -20, std::numeric_limits<std::int64_t>::min()};
  CHECK(numpy_text(std::span<const std::int64_t>(integers), {3}) ==
        "[                   1                  -20 -9223372036854775808]");
  const bool flags[] = {true, false, true, true};
  CHECK(numpy_text(std::span<const bool>(flags), {2, 2}) == "[[ True False]\n [ True  True]]");
  CHECK(numpy_text(std::span<const bool>(flags, 1), {1}) == "[ True]");
}

TEST_CASE("numpy_text: blocks of a deep array stand apart by one empty line for each axis between") {
  CHECK(zeros_text({2, 2, 1}) == "[[[0.]\n  [0.]]\n\n [[0.]\n  [0.]]]");
  CHECK(zeros_text({2, 1, 1, 1}) == "[[[[0.]]]\n\n\n [[[0.]]]]");
}

TEST_CASE("numpy_text: a line is full when word and closing brackets pass the width") {
  CHECK(zeros_text({3}, {.line_width = 10}) == "[0. 0. 0.]");
  CHECK(zeros_text({3}, {.line_width = 9}) == "[0. 0.\n 0.]");
  CHECK(zeros_text({1, 3}, {.line_width = 12}) == "[[0. 0. 0.]]");
  CHECK(zeros_text({1, 3}, {.line_width = 11}) == "[[0. 0.\n  0.]]");
  CHECK(zeros_text({3}, {.line_width = 1}) == "[0.\n 0.\n 0.]");
  CHECK(text({1.0, 2.0, 0.25}, {.line_width = 12}) == "[1.   2.\n 0.25]");
}

TEST_CASE("numpy_text: more elements than the threshold leave the ends of the long axes") {
  CHECK(zeros_text({5}, {.threshold = 5, .edge_items = 1}) == "[0. 0. 0. 0. 0.]");
  CHECK(zeros_text({5}, {.threshold = 4, .edge_items = 1}) == "[0. ... 0.]");
  CHECK(zeros_text({3, 2}, {.threshold = 5, .edge_items = 1}) == "[[0. 0.]\n ...\n [0. 0.]]");
  CHECK(zeros_text({3, 1, 2}, {.threshold = 5, .edge_items = 1}) == "[[[0. 0.]]\n\n ...\n\n [[0. 0.]]]");
}

TEST_CASE("numpy_text: without elements there are only brackets") {
  CHECK(zeros_text({0}) == "[]");
  CHECK(zeros_text({2, 0, 3}) == "[]");
}

TEST_CASE("numpy_text: a scalar prints as its repr whatever the options") {
  CHECK(numpy_text(Array{{}, {1.0 / 3.0}}, lesson) == "0.3333333333333333");
  const float large = 123456789.0F;
  CHECK(numpy_text(std::span<const float>(&large, 1), {}) == "123456790.0");
  const float below = 0.0001F;  // 9.99999974...e-05
  CHECK(numpy_text(std::span<const float>(&below, 1), {}) == "1e-04");
  const std::int64_t integer = -7;
  CHECK(numpy_text(std::span<const std::int64_t>(&integer, 1), {}) == "-7");
  const bool flag = true;
  CHECK(numpy_text(std::span<const bool>(&flag, 1), {}) == "True");
}

TEST_CASE("numpy_text: containers print as the arrays they are") {
  CHECK(numpy_text(Vector{1.0, 2.5}) == "[1.  2.5]");
  CHECK(numpy_text(Matrix{{1.0, 2.5}, {-3.0, 4.0}}) == "[[ 1.   2.5]\n [-3.   4. ]]");
  CHECK(numpy_text(Array{{2, 1, 1}, {1.0, 2.0}}) == "[[[1.]]\n\n [[2.]]]");
}

TEST_CASE("numpy_text: a shape that does not fit the values is refused") {
  const std::vector<double> values{1.0, 2.0};
  CHECK_THROWS_WITH_AS(numpy_text(values, {3}), "numpy_text: 2 values for shape [3]", Error);
  CHECK_THROWS_WITH_AS(numpy_text(values, {}), "numpy_text: 2 values for shape []", Error);
}

TEST_CASE("numpy_round: every value of the oracle rounds to the same bits") {
  std::size_t values = 0;
  for (const Json& entry : oracle_cases("np_round.json")) {
    const int decimals = entry.at("decimals").get<int>();
    for (std::size_t i = 0; i < entry.at("hex").size(); ++i) {
      CAPTURE(decimals);
      CAPTURE(i);
      const double rounded = numpy_round(from_hex(entry.at("hex")[i].get<std::string>()), decimals);
      const double expected = from_hex(entry.at("rounded")[i].get<std::string>());
      CHECK(rounded == expected);
      CHECK(std::signbit(rounded) == std::signbit(expected));
      ++values;
    }
  }
  CHECK(values == 500);
}

TEST_CASE("numpy_round: ties go to even and containers keep their shape") {
  CHECK(numpy_round(2.5, 0) == 2.0);
  CHECK(numpy_round(0.285, 2) == 0.28);  // 0.285 * 100 is 28.499999999999996
  CHECK(numpy_round(250.0, -2) == 200.0);
  CHECK(std::isnan(numpy_round(not_a_number, 3)));
  CHECK(numpy_round(-infinity, 3) == -infinity);
  const Matrix rounded = numpy_round(Matrix{{0.12345, 1.0}}, 3);
  CHECK(numpy_text(rounded) == "[[0.123 1.   ]]");
  CHECK(numpy_text(numpy_round(Vector{0.0625}, 3)) == "[0.062]");
}

TEST_CASE("python_repr: the shortest digits with an exponent beyond sixteen places") {
  CHECK(python_repr(0.0) == "0.0");
  CHECK(python_repr(-0.0) == "-0.0");
  CHECK(python_repr(1.0) == "1.0");
  CHECK(python_repr(-12.5) == "-12.5");
  CHECK(python_repr(0.1) == "0.1");
  CHECK(python_repr(1e15) == "1000000000000000.0");
  CHECK(python_repr(9999999999999998.0) == "9999999999999998.0");
  CHECK(python_repr(1e16) == "1e+16");
  CHECK(python_repr(0.0001) == "0.0001");
  CHECK(python_repr(0.00012345) == "0.00012345");
  CHECK(python_repr(0.00001) == "1e-05");
  CHECK(python_repr(-1.5e300) == "-1.5e+300");
  CHECK(python_repr(not_a_number) == "nan");
  CHECK(python_repr(-infinity) == "-inf");
}

TEST_CASE("python_repr_with_thousands: every number of the oracle prints as Python prints it") {
  std::size_t cases = 0;
  for (const Json& entry : oracle_cases("thousands.json")) {
    const std::string expected = entry.at("text").get<std::string>();
    if (entry.contains("int")) {
      CHECK(with_thousands(entry.at("int").get<std::int64_t>()) == expected);
    } else {
      CHECK(python_repr_with_thousands(from_hex(entry.at("hex").get<std::string>())) == expected);
    }
    ++cases;
  }
  CHECK(cases == 120);
}

TEST_CASE("python_repr_with_thousands: groups stand in the integer part only") {
  CHECK(python_repr_with_thousands(1234567.0) == "1,234,567.0");
  CHECK(python_repr_with_thousands(-1234.56789) == "-1,234.56789");
  CHECK(python_repr_with_thousands(-123.0) == "-123.0");
  CHECK(python_repr_with_thousands(1.2345678e-7) == "1.2345678e-07");
  CHECK(python_repr_with_thousands(1e16) == "1e+16");
  CHECK(python_repr_with_thousands(-not_a_number) == "nan");
  CHECK(python_repr_with_thousands(-infinity) == "-inf");
}
