#include "io/typed_array.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"

using namespace attnlab;

namespace {

using Values = std::vector<double>;

constexpr DType all_types[] = {DType::f64, DType::f32, DType::f16,    DType::bf16, DType::i64,
                               DType::i32, DType::i16, DType::i8,     DType::u64,  DType::u32,
                               DType::u16, DType::u8,  DType::boolean};

/// The elements of the array in the layout of its flags, from the row-major little-endian bytes of another.
TypedArray in_layout(const TypedArray& array, bool fortran_order, bool big_endian) {
  const std::size_t size = item_size(array.dtype);
  std::string bytes(array.content.bytes.size(), '\0');
  const Shape& shape = array.shape;
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::size_t rest = i;
    std::size_t place = 0;
    // Of the index of each axis, from the last, the place in column-major order.
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      std::size_t stride = 1;
      for (std::size_t k = 0; k < axis; ++k) stride *= shape[k];
      place += rest % shape[axis] * stride;
      rest /= shape[axis];
    }
    if (!fortran_order) place = i;
    for (std::size_t b = 0; b < size; ++b) {
      bytes[place * size + (big_endian ? size - 1 - b : b)] = array.content.bytes[i * size + b];
    }
  }
  return {array.dtype, shape, fortran_order, big_endian, own_bytes(bytes)};
}

}  // namespace

TEST_CASE("typed array: small whole numbers pass through every type and layout") {
  const Array source{{2, 3, 2}, {0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1}};
  Array larger = source;
  for (std::size_t i = 0; i < larger.values.size(); ++i) larger.values[i] = static_cast<double>(i * 11);
  for (const DType dtype : all_types) {
    const Array& array = dtype == DType::boolean ? source : larger;
    const TypedArray typed = to_typed(array, dtype, "a");
    CAPTURE(dtype_name(dtype));
    CHECK(typed.content.bytes.size() == 12 * item_size(dtype));
    for (const bool fortran_order : {false, true}) {
      for (const bool big_endian : {false, true}) {
        const Array back = to_array(in_layout(typed, fortran_order, big_endian), "a");
        CHECK(back.shape == array.shape);
        CHECK(back.values == array.values);
      }
    }
  }
}

TEST_CASE("typed array: pieces of arrays larger than the buffer join to the whole") {
  Array array{{3, 70001}, {}};
  for (std::size_t i = 0; i < element_count(array.shape); ++i) array.values.push_back(static_cast<double>(i));
  const TypedArray typed = view_of(array);
  for (const bool fortran_order : {false, true}) {
    std::string joined;
    for_each_piece(in_layout(typed, fortran_order, fortran_order),
                   [&](std::string_view piece) { joined += piece; });
    CHECK(joined == typed.content.bytes);
  }
}

TEST_CASE("typed array: whole numbers that a double cannot hold are refused") {
  const auto array_of = [](std::uint64_t bits, DType dtype) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &bits, 8);
    return TypedArray{dtype, {1}, false, false, own_bytes(bytes)};
  };
  CHECK(to_array(array_of(std::uint64_t{1} << 63, DType::u64), "a").values == Values{0x1p63});
  CHECK(to_array(array_of(std::uint64_t{1} << 63, DType::i64), "a").values == Values{-0x1p63});
  CHECK_THROWS_WITH_AS(to_array(array_of(~std::uint64_t{0}, DType::u64), "a"),
                       "a: 18446744073709551615 cannot be represented exactly as a double", Error);
  CHECK_THROWS_WITH_AS(to_array(array_of((std::uint64_t{1} << 63) - 1, DType::i64), "a"),
                       "a: 9223372036854775807 cannot be represented exactly as a double", Error);
}

TEST_CASE("typed array: values that a type of whole numbers does not have are refused") {
  const auto complaint = [](double value, DType dtype) {
    try {
      to_typed(Array{{1}, {value}}, dtype, "a");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(complaint(127, DType::i8) == "accepted");
  CHECK(complaint(128, DType::i8) == "a: 128 is no value of type int8");
  CHECK(complaint(-128, DType::i8) == "accepted");
  CHECK(complaint(-129, DType::i8) == "a: -129 is no value of type int8");
  CHECK(complaint(-1, DType::u8) == "a: -1 is no value of type uint8");
  CHECK(complaint(0.5, DType::i32) == "a: 0.5 is no value of type int32");
  CHECK(complaint(2, DType::boolean) == "a: 2 is no value of type bool");
  CHECK(complaint(0x1p63, DType::i64) == "a: 9.223372036854776e+18 is no value of type int64");
  CHECK(complaint(-0x1p63, DType::i64) == "accepted");
  CHECK(complaint(std::nan(""), DType::u64) == "a: nan is no value of type uint64");
  CHECK(complaint(std::numeric_limits<double>::infinity(), DType::f16) == "accepted");
}

TEST_CASE("typed array: byte counts are exact and never overflow") {
  CHECK(checked_byte_count(DType::f32, {}, "a") == 4);
  CHECK(checked_byte_count(DType::f32, {3, 5}, "a") == 60);
  CHECK(checked_byte_count(DType::f64, {std::numeric_limits<std::size_t>::max(), 0}, "a") == 0);
  CHECK(checked_byte_count(DType::u8, {(std::size_t{1} << 63) - 1}, "a") == (std::size_t{1} << 63) - 1);
  CHECK_THROWS_WITH_AS(
      checked_byte_count(DType::u8, {std::size_t{1} << 63}, "a"),
      "a: shape [9223372036854775808] of uint8 is too large: its size in bytes passes 63 bits", Error);
  CHECK_THROWS_AS(checked_byte_count(DType::u8, {std::size_t{1} << 32, std::size_t{1} << 31}, "a"), Error);
}
