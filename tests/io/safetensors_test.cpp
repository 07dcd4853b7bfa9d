#include "io/safetensors.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

using Values = std::vector<double>;

/// A file with that header and data behind it.
FileBytes file_of(const std::string& header, std::string_view data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return own_bytes(length + header + std::string(data));
}

std::string complaint(const FileBytes& file) {
  try {
    parse_safetensors(file, "m.safetensors");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

/// What is said of a file with one tensor of that description and four bytes of data.
std::string complaint_of(const std::string& description) {
  return complaint(file_of("{\"a\": " + description + "}", "1234"));
}

std::string case_complaint(const std::string& name) {
  return complaint(read_bytes(test_file("cases/files/" + name + ".safetensors")));
}

SafeTensors from_case(const std::string& name) {
  return parse_safetensors(read_bytes(test_file("cases/files/" + name + ".safetensors")), name);
}

}  // namespace

TEST_CASE("safetensors: tensors and metadata are read in the order of the header") {
  const SafeTensors content = from_case("two");
  REQUIRE(content.tensors.size() == 2);
  CHECK(content.tensors[0].name == "b");
  CHECK(to_array(content.tensors[0].array, "b").values == Values{0.5, -0.25});
  CHECK(content.tensors[1].name == "a");
  CHECK(content.tensors[1].array.shape == Shape{2, 2});
  CHECK(to_array(content.tensors[1].array, "a").values == Values{1, 2, 3, 4});
  REQUIRE(content.metadata.size() == 1);
  CHECK(content.metadata[0] == std::pair<std::string, std::string>("made", "by hand"));
}

TEST_CASE("safetensors: half types and scalars and tensors without elements are read") {
  CHECK(to_array(from_case("bf16").tensors[0].array, "w").values == Values{1.0, 3.140625, -1.0});
  CHECK(to_array(from_case("f16").tensors[0].array, "h").values ==
        Values{5.960464477539063e-08, 6.097555160522461e-05, 1.0});
  const SafeTensors content = from_case("empty");
  CHECK(content.tensors[0].array.shape == Shape{0, 3});
  CHECK(content.tensors[1].array.shape.empty());
  CHECK(to_array(content.tensors[1].array, "s").values == Values{2.5});
  CHECK(parse_safetensors(file_of("{}", ""), "m").tensors.empty());
}

TEST_CASE("safetensors: the header length is compared with the file before it is used") {
  const std::string too_large = " is too large; at most 100000000 bytes are allowed";
  CHECK(case_complaint("hugelen") == "m.safetensors: the header length 9223372036854775808" + too_large);
  CHECK(case_complaint("wraplen") == "m.safetensors: the header length 18446744073709551612" + too_large);
  CHECK(case_complaint("seven") ==
        "m.safetensors: too short for a .safetensors file: 7 bytes where the length of the header alone "
        "takes 8");
  CHECK(complaint(own_bytes(std::string("\x05\0\0\0\0\0\0\0{}", 10))) ==
        "m.safetensors: truncated: the header length is 5, but only 2 bytes follow");
}

TEST_CASE("safetensors: tensors must cover the data exactly") {
  CHECK(case_complaint("overlap") ==
        "m.safetensors: tensors overlap: the data_offsets of 'b' begin at 4, before the end 8 of another");
  CHECK(case_complaint("trailing") == "m.safetensors: 5 extra bytes trailing after the last tensor");
  CHECK(case_complaint("cut") ==
        "m.safetensors: truncated: tensor 'a' has data_offsets up to 16, but only 8 bytes of data follow the "
        "header");
  CHECK(complaint(file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "12")) ==
        "m.safetensors: a gap: no tensor covers the bytes 0 to 1 before the data_offsets of 'a'");
  CHECK(complaint(file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                              "b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                          "123")) ==
        "m.safetensors: a gap: no tensor covers the bytes 1 to 2 before the data_offsets of 'b'");
  CHECK(complaint(file_of("{}", "1")) == "m.safetensors: 1 extra bytes trailing after the last tensor");
}

TEST_CASE("safetensors: shapes and offsets are checked without wrapping") {
  CHECK(case_complaint("shape") ==
        "m.safetensors: tensor 'a': shape [1000, 1000] of float32 takes 4000000 bytes, but data_offsets [0, "
        "4] hold 4");
  CHECK(case_complaint("shapewrap") ==
        "m.safetensors: tensor 'a': shape [4294967296, 4294967296] of float32 is too large: its size in "
        "bytes passes 63 "
        "bits");
  CHECK(case_complaint("reversed") == "m.safetensors: tensor 'a': data_offsets [4, 0] end before they begin");
  CHECK(case_complaint("negative") ==
        "m.safetensors: tensor 'a': data_offsets holds the negative number '-4'");
  const std::string begin = "m.safetensors: tensor 'a': ";
  CHECK(complaint_of(R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620]})") ==
        begin + "data_offsets holds '18446744073709551620', which is too large for 63 bits");
  CHECK(complaint_of(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})") ==
        begin + "shape holds '1.0' where a whole number was expected");
  CHECK(complaint_of(R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})") ==
        begin + "shape holds a string where a whole number was expected");
  CHECK(complaint_of(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})") ==
        begin + "data_offsets holds 3 numbers instead of 2");
}

TEST_CASE("safetensors: headers of another form are refused with the reason") {
  CHECK(case_complaint("dup") == "m.safetensors: header: line 1, column 55: duplicate key 'a'");
  CHECK(case_complaint("array") == "m.safetensors: the header is an array where a JSON object was expected");
  CHECK(case_complaint("notjson") ==
        "m.safetensors: header: line 1, column 21: the JSON text ends too early");
  CHECK(case_complaint("meta") ==
        "m.safetensors: the __metadata__ of the header holds a number for 'n'; only strings are allowed");
  CHECK(case_complaint("deep") ==
        "m.safetensors: header: line 1, column 69: JSON nested more than 64 levels deep");
  const std::string begin = "m.safetensors: tensor 'a': ";
  CHECK(case_complaint("unknown") ==
        begin + "dtype 'F31' is not supported; F64, F32, F16, BF16, I8 to I64, U8 to U64 and BOOL are");
  CHECK(complaint_of("3") == begin + "a number in the header where an object was expected");
  CHECK(complaint_of(R"({"shape":[1],"data_offsets":[0,4]})") == begin + "no dtype in the header");
  CHECK(complaint_of(R"({"dtype":"F32","data_offsets":[0,4]})") == begin + "no shape in the header");
  CHECK(complaint_of(R"({"dtype":"F32","shape":[1]})") == begin + "no data_offsets in the header");
  CHECK(complaint_of(R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})") ==
        begin + "dtype in the header is not a string");
  CHECK(complaint_of(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})") ==
        begin + "shape in the header is not a list");
  CHECK(complaint(file_of(R"({"__metadata__": []})", "")) ==
        "m.safetensors: the __metadata__ of the header is not an object");
}

TEST_CASE("safetensors: what is written reads back with types and bytes and names") {
  SafeTensors content;
  content.metadata = {{"made by", "a \"test\""}};
  content.tensors.push_back({"narrow \u00e9", to_typed(Array{{3}, {1, 2, 3}}, DType::u8, "a")});
  content.tensors.push_back({"", to_typed(Array{{0, 2}, {}}, DType::f16, "a")});
  content.tensors.push_back({"wide", to_typed(Array{{}, {2.5}}, DType::f64, "a")});
  std::string bytes;
  write_safetensors(content, [&](std::string_view piece) { bytes += piece; });
  CHECK((8 + static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1])) % 64 == 0);
  const SafeTensors back = parse_safetensors(own_bytes(bytes), "m");
  CHECK(back.metadata == content.metadata);
  REQUIRE(back.tensors.size() == 3);
  CHECK(back.tensors[0].name == "wide");
  CHECK(to_array(back.tensors[0].array, "m").values == Values{2.5});
  CHECK(back.tensors[1].name.empty());
  CHECK(back.tensors[1].array.shape == Shape{0, 2});
  CHECK(back.tensors[1].array.dtype == DType::f16);
  CHECK(back.tensors[2].name == "narrow \u00e9");
  CHECK(back.tensors[2].array.dtype == DType::u8);
  CHECK(to_array(back.tensors[2].array, "m").values == Values{1, 2, 3});
}
