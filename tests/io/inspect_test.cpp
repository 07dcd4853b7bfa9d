#include "io/inspect.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/scratch.hpp"

using namespace attnlab;
using nlohmann::json;

namespace {

std::string text_of(const std::string& name, const ReadOptions& options = {}) {
  std::string text;
  write_inspection_json(read_tensors(test_file("cases/files/" + name), options),
                        [&](std::string_view piece) { text += piece; });
  return text;
}

json inspected(const std::string& name, const ReadOptions& options = {}) {
  return json::parse(text_of(name, options));
}

}  // namespace

TEST_CASE("inspect: JSON tells shape and type and layout and the numbers") {
  const json fortran = inspected("b_fortran.npy");
  CHECK(fortran["format"] == "npy");
  CHECK(fortran["dtype"] == "int16");
  CHECK(fortran["shape"] == json::array({2, 3, 2}));
  CHECK(fortran["layout"] == "column-major");
  CHECK(fortran["byte_order"] == "little endian");
  CHECK(fortran["bytes"] == 24);
  CHECK(fortran["min"] == 0);
  CHECK(fortran["max"] == 11);
  CHECK(fortran["mean"] == 5.5);
  CHECK(fortran["data"] == json::parse("[[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]"));
  CHECK(inspected("a_bigendian.npy")["byte_order"] == "big endian");
  CHECK(inspected("b_bytes.npy")["byte_order"] == "single bytes");
  CHECK(inspected("a_scalar.npy")["data"] == 2.5);
  CHECK(inspected("semicolon.csv", {{}, {.delimiter = ';', .decimal = ','}})["data"] ==
        json::parse("[[1.5, 2], [-0.25, 300]]"));
}

TEST_CASE("inspect: whole numbers appear in full") {
  const std::string text = text_of("a_int64.npy");
  CHECK(text.find("\"data\": [9007199254740993, -1]") != std::string::npos);
  CHECK(text.find("\"max\": 9007199254740993") != std::string::npos);
}

TEST_CASE("inspect: numbers that are not finite are strings and counted") {
  const json array = inspected("nan.npy");
  CHECK(array["data"] == json::array({1, "NaN", 2}));
  CHECK(array["nan_count"] == 1);
  CHECK(array["infinity_count"] == 0);
  CHECK(array["min"] == 1);
  CHECK(array["max"] == 2);
  CHECK(array["mean"] == 1.5);
  CHECK(inspected("b_half.npy")["infinity_count"] == 1);
}

TEST_CASE("inspect: an array without finite numbers has no range") {
  const json array = inspected("a_empty.npy");
  CHECK(array["shape"] == json::array({0, 2}));
  CHECK(array["data"] == json::array());
  CHECK(array["min"].is_null());
  CHECK(array["max"].is_null());
  CHECK(array["mean"].is_null());
}

TEST_CASE("inspect: a safetensors file shows each tensor under its name") {
  const json file = inspected("two.safetensors");
  CHECK(file["metadata"]["made"] == "by hand");
  CHECK(file["values"]["a"]["shape"] == json::array({2, 2}));
  CHECK(file["values"]["a"]["data"] == json::parse("[[1, 2], [3, 4]]"));
  CHECK(file["values"]["b"]["dtype"] == "float64");
  CHECK(file["values"]["b"]["data"] == json::array({0.5, -0.25}));
}

TEST_CASE("inspect: the mean of the largest doubles and of many small ones is right") {
  const double largest = std::numeric_limits<double>::max();
  CHECK(summarize(view_of(Array{{2}, {largest, largest}})).mean == largest);
  CHECK(*summarize(view_of(Array{{2}, {largest, 1.0}})).maximum == "1.7976931348623157e+308");
  CHECK(summarize(read_typed_array(test_file("cases/files/a_int64.npy"))).mean == 4503599627370496.0);
  const Array tenths{{1000000}, std::vector<double>(1000000, 0.1)};
  CHECK(std::abs(*summarize(view_of(tenths)).mean - 0.1) < 1e-14);
}
