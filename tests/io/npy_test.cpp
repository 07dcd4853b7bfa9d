#include "io/npy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

using Values = std::vector<double>;

/// A file with that header and data behind it.
FileBytes npy(std::string header, std::string_view data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  header += '\n';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return own_bytes(bytes + header + std::string(data));
}

FileBytes of_type(const std::string& type) {
  return npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': (1,), }", std::string(16, '\0'));
}

FileBytes of_shape(const std::string& shape, std::size_t bytes) {
  return npy("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }", std::string(bytes, '\0'));
}

std::string complaint(const FileBytes& file) {
  try {
    parse_npy(file, "a.npy");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

TypedArray from_case(const std::string& name) {
  return parse_npy(read_bytes(test_file("cases/files/" + name)), name);
}

std::string case_complaint(const std::string& name) {
  return complaint(read_bytes(test_file("cases/files/" + name)));
}

std::string written(const TypedArray& array) {
  std::string bytes;
  write_npy(array, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

}  // namespace

TEST_CASE("npy: Fortran order and big endian numbers are put in order") {
  TypedArray array = from_case("a_fortran.npy");
  CHECK(array.fortran_order);
  CHECK(to_array(array, "a").shape == Shape{2, 3});
  CHECK(to_array(array, "a").values == Values{1, 2, 3, 4, 5, 6});
  array = from_case("b_fortran.npy");
  CHECK(array.dtype == DType::i16);
  CHECK(array.shape == Shape{2, 3, 2});
  CHECK(to_array(array, "a").values == Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  array = from_case("a_bigendian.npy");
  CHECK(array.big_endian);
  CHECK(to_array(array, "a").values == Values{1.5, -2, 0.001});
}

TEST_CASE("npy: versions 2 and 3 have a longer length") {
  CHECK(to_array(from_case("a_version2.npy"), "a").values == Values{1, 2, 3, 4, 5, 6});
  CHECK(to_array(from_case("b_version3.npy"), "a").values == Values{10, 20, 30, 40, 50, 60});
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
  CHECK(to_array(parse_npy(npy(header, "\x05", 3), "a"), "a").values == Values{5});
  CHECK(complaint(npy(header, "\x05", 4)) ==
        "a.npy: version 4.0 of .npy is unknown; 1.0, 2.0 and 3.0 are supported");
  CHECK(complaint(npy(header, "\x05", 0)) ==
        "a.npy: version 0.0 of .npy is unknown; 1.0, 2.0 and 3.0 are supported");
}

TEST_CASE("npy: scalars and arrays without elements keep their shape") {
  TypedArray array = from_case("a_scalar.npy");
  CHECK(array.shape.empty());
  CHECK(to_array(array, "a").values == Values{2.5});
  CHECK(to_array(from_case("b_scalar.npy"), "a").values == Values{-7});
  array = from_case("a_empty.npy");
  CHECK(array.shape == Shape{0, 2});
  CHECK(to_array(array, "a").values.empty());
  CHECK(parse_npy(of_shape("(9223372036854775807, 0, 4294967296)", 0), "a").size() == 0);
}

TEST_CASE("npy: every type is read with its own meaning") {
  CHECK(to_array(from_case("a_half.npy"), "a").values == Values{1.5, 5.960464477539063e-08, -65504});
  CHECK(to_array(from_case("b_half.npy"), "a").values == Values{3.0517578125e-05, 6.097555160522461e-05,
                                                                0.0999755859375,
                                                                std::numeric_limits<double>::infinity()});
  CHECK(to_array(from_case("a_bool.npy"), "a").values == Values{1, 0, 1, 1});
  CHECK(to_array(from_case("b_bytes.npy"), "a").values == Values{0, 7, 255});
  const TypedArray whole = from_case("a_int64.npy");
  CHECK(load_element<std::int64_t>(whole.content.bytes.data()) == 9007199254740993);
  CHECK_THROWS_WITH_AS(to_array(whole, "a.npy"),
                       "a.npy: 9007199254740993 cannot be represented exactly as a double", Error);
  const std::pair<const char*, std::size_t> types[] = {{"<f8", 8}, {">f4", 4}, {"=i4", 4}, {"<i2", 2},
                                                       {"|i1", 1}, {"<i1", 1}, {">u8", 8}, {"<u4", 4},
                                                       {"<u2", 2}, {"|b1", 1}};
  for (const auto& [type, size] : types) {
    const std::string header =
        std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (), }";
    CAPTURE(header);
    std::string data(size, '\0');
    data[type[0] == '>' ? size - 1 : 0] = type[1] == 'f' ? '\0' : '\1';
    CHECK(to_array(parse_npy(npy(header, data), "a"), "a").values == Values{type[1] == 'f' ? 0.0 : 1.0});
  }
}

TEST_CASE("npy: types that are not supported are refused by name") {
  const std::string rest =
      ", which are not supported; save it as float64, or another type of real numbers or bool";
  CHECK(case_complaint("a_object.npy") == "a.npy: it holds pickled Python objects (type '|O')" + rest);
  CHECK(complaint(of_type("<f16")) == "a.npy: it holds long double numbers (type '<f16')" + rest);
  CHECK(complaint(of_type("<c16")) == "a.npy: it holds complex numbers (type '<c16')" + rest);
  CHECK(complaint(of_type("<U3")) == "a.npy: it holds strings (type '<U3')" + rest);
  CHECK(complaint(of_type("|S3")) == "a.npy: it holds byte strings (type '|S3')" + rest);
  CHECK(complaint(of_type("|V8")) == "a.npy: it holds raw or structured records (type '|V8')" + rest);
  CHECK(complaint(of_type("<M8[ns]")) == "a.npy: it holds dates or times (type '<M8[ns]')" + rest);
  CHECK(complaint(of_type("<q9")) == "a.npy: it holds elements of an unknown type (type '<q9')" + rest);
  CHECK(complaint(of_type("")) == "a.npy: it holds elements of an unknown type (type '')" + rest);
  CHECK(complaint(npy("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }", "12345678")) ==
        "a.npy: structured arrays (records with fields) are not supported; save each field by itself");
}

TEST_CASE("npy: the byte count must be exactly what the shape takes") {
  CHECK(case_complaint("a_truncated.npy") ==
        "a.npy: truncated: shape [2, 3] of float64 takes 48 bytes, 39 are there");
  CHECK(case_complaint("a_cut.npy") ==
        "a.npy: truncated: shape [2, 2] of float64 takes 32 bytes, 23 are there");
  CHECK(complaint(of_shape("(1,)", 9)) ==
        "a.npy: extra bytes at the end: shape [1] of float64 takes 8 bytes, 9 are there");
}

TEST_CASE("npy: sizes that overflow or claim too much are refused before memory is taken") {
  CHECK(case_complaint("a_hugeshape.npy") ==
        "a.npy: shape [4294967296, 4294967296] of float64 is too large: its size in bytes passes 63 bits");
  CHECK(complaint(of_shape("(1152921504606846976,)", 8)) ==
        "a.npy: shape [1152921504606846976] of float64 is too large: its size in bytes passes 63 bits");
  CHECK(complaint(of_shape("(1125899906842624,)", 8)) ==
        "a.npy: truncated: shape [1125899906842624] of float64 takes 9007199254740992 bytes, 8 are there");
  CHECK(complaint(of_shape("(99999999999999999999999,)", 8)) ==
        "a.npy: a size in 'shape' of the .npy header is too large for 64 bits");
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1, ";
  CHECK(complaint(of_shape(ones + ")", 8)) == "a.npy: a shape of 65 dimensions; at most 64 are supported");
}

TEST_CASE("npy: foreign and broken headers are refused with the reason") {
  CHECK(case_complaint("a_magic.npy") ==
        "a.npy: not a .npy file: it does not begin with the magic bytes \\x93NUMPY");
  CHECK(case_complaint("a_headerlength.npy") ==
        "a.npy: truncated: the .npy header is 60000 bytes long by its own account, but only 134 follow");
  CHECK(complaint({}) == "a.npy: the file is empty, not a .npy file");
  const std::string whole(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "12345678").bytes);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(complaint(own_bytes(whole.substr(0, length))) != "accepted");
  }
  const std::string begin = "a.npy: the .npy header is not the dictionary that NumPy writes: ";
  CHECK(case_complaint("a_notdict.npy") == begin + "'{' is missing");
  CHECK(complaint(npy("", "")) == begin + "'{' is missing");
  CHECK(complaint(npy("{}", "")) == begin + "'descr', 'fortran_order' and 'shape' are all needed");
  CHECK(complaint(npy("{'descr': '<f8'", "")) == begin + "'}' is missing");
  CHECK(complaint(npy("{'descr': '<f8", "")) == begin + "a string has no closing quote");
  CHECK(complaint(npy("{'descr' '<f8'}", "")) == begin + "':' is missing");
  CHECK(complaint(npy("{'descr': '<f8', 'descr': '<f8'}", "")) == begin + "duplicate key 'descr'");
  CHECK(complaint(npy("{'other': 1}", "")) == begin + "unknown key 'other'");
  CHECK(complaint(npy("{'fortran_order': 0}", "")) == begin + "'fortran_order' must be True or False");
  CHECK(complaint(of_shape("(3)", 24)) == begin + "'shape' is a number, not a tuple");
  CHECK(complaint(of_shape("(-1,)", 8)) == begin + "a negative size in 'shape'");
  CHECK(complaint(of_shape("(1.5,)", 8)) == begin + "',' is missing in 'shape'");
  CHECK(complaint(of_shape("(1 2)", 8)) == begin + "',' is missing in 'shape'");
  CHECK(complaint(of_shape("(x,)", 8)) == begin + "'shape' must be a tuple of whole numbers");
  CHECK(complaint(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), } x", "12345678")) ==
        begin + "text after the dictionary");
  CHECK(complaint(of_shape("(1L,)", 8)) == "accepted");
}

TEST_CASE("npy: what is written is what NumPy writes") {
  const Array array{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const std::string bytes = written(view_of(array));
  CHECK(bytes.size() == 128 + 48);
  CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\x01\x00v\x00", 10));
  CHECK(bytes.substr(10, 60) == "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } ");
  CHECK(bytes[127] == '\n');
  CHECK(bytes == content(test_file("cases/files/a_truncated.npy")).substr(0, 128) + bytes.substr(128));
  CHECK(written(from_case("a_scalar.npy")) == content(test_file("cases/files/a_scalar.npy")));
  CHECK(written(from_case("a_half.npy")) == content(test_file("cases/files/a_half.npy")));
  CHECK(written(from_case("a_bool.npy")) == content(test_file("cases/files/a_bool.npy")));
  CHECK(written(from_case("b_bytes.npy")) == content(test_file("cases/files/b_bytes.npy")));
  CHECK(written(from_case("a_empty.npy")) == content(test_file("cases/files/a_empty.npy")));
}

TEST_CASE("npy: bfloat16 becomes float32 with the same values") {
  const TypedArray array = to_typed(Array{{3}, {1.0, 3.140625, -1e38}}, DType::bf16, "a");
  const TypedArray back = parse_npy(own_bytes(written(array)), "a");
  CHECK(back.dtype == DType::f32);
  CHECK(to_array(back, "a").values == to_array(array, "a").values);
  CHECK(to_array(back, "a").values[1] == 3.140625);
}
