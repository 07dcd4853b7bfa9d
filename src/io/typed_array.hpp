// An array as a file holds it: the element type, shape, layout and byte order of the file, and its bytes
// untouched.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/tensor.hpp"
#include "io/decimal.hpp"
#include "io/half.hpp"
#include "io/input.hpp"

namespace attnlab {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// "float64", "bfloat16", "int8", "bool", ...
const char* dtype_name(DType dtype);
/// Bytes of one element.
std::size_t item_size(DType dtype);

struct TypedArray {
  DType dtype = DType::f64;
  Shape shape;
  bool fortran_order = false;  ///< the first index runs fastest in `bytes`
  bool big_endian = false;
  FileBytes content;  ///< element_count(shape) elements and nothing else

  std::size_t size() const { return element_count(shape); }
};

/// The bytes that a shape of that type takes. Throws Error(data) beginning with `name` when they pass 63
/// bits, or when there are more than 64 dimensions.
std::size_t checked_byte_count(DType dtype, const Shape& shape, const std::string& name);

/// The numbers as doubles in row-major order; booleans are 0 and 1. Throws Error(data) beginning with `name`
/// for a whole number that no double holds exactly.
Array to_array(const TypedArray& array, const std::string& name);

/// A view of the array, which must outlive it; and an array of its own, of float64.
TypedArray view_of(const Array& array);
TypedArray to_typed(Array array);
/// The nearest values of a floating point type. For a type of whole numbers, and bool, throws Error(data)
/// beginning with `name` unless every value is one of the type.
TypedArray to_typed(const Array& array, DType dtype, const std::string& name);

/// Calls `action` with consecutive pieces that together are all elements in row-major order and little
/// endian, without a copy when they lie so in memory. A piece is at most 256 KiB.
void for_each_piece(const TypedArray& array, const std::function<void(std::string_view bytes)>& action);

/// Calls `action` with a value of the C++ type that stands for `dtype`.
template <class Action>
decltype(auto) with_element_type(DType dtype, Action&& action) {
  switch (dtype) {
    case DType::f64:
      return action(double{});
    case DType::f32:
      return action(float{});
    case DType::f16:
      return action(Float16{});
    case DType::bf16:
      return action(BFloat16{});
    case DType::i64:
      return action(std::int64_t{});
    case DType::i32:
      return action(std::int32_t{});
    case DType::i16:
      return action(std::int16_t{});
    case DType::i8:
      return action(std::int8_t{});
    case DType::u64:
      return action(std::uint64_t{});
    case DType::u32:
      return action(std::uint32_t{});
    case DType::u16:
      return action(std::uint16_t{});
    case DType::u8:
      return action(std::uint8_t{});
    case DType::boolean:
      break;
  }
  return action(bool{});
}

/// The little-endian element at an address of any alignment.
template <class Element>
Element load_element(const char* address) {
  if constexpr (std::is_same_v<Element, bool>) {
    return *address != 0;
  } else {
    Element element;
    std::memcpy(&element, address, sizeof element);
    return element;
  }
}

/// Calls `action` with every element in row-major order, as its own C++ type.
template <class Element, class Action>
void for_each_element(const TypedArray& array, Action&& action) {
  for_each_piece(array, [&](std::string_view bytes) {
    const char* const end = bytes.data() + bytes.size();
    for (const char* at = bytes.data(); at != end; at += sizeof(Element)) action(load_element<Element>(at));
  });
}

/// The value as a double: rounded for whole numbers beyond 2^53.
template <class Element>
double element_to_double(Element element) {
  if constexpr (std::is_arithmetic_v<Element>) {
    return static_cast<double>(element);
  } else {
    return to_double(element);
  }
}

/// Appends the decimal text of an element: whole numbers in full, booleans as 0 and 1, the others as doubles.
template <class Element>
void append_element(std::string& text, Element element, SpecialNumbers special) {
  if constexpr (!std::is_integral_v<Element>) {
    append_decimal(text, element_to_double(element), special);
  } else if constexpr (std::is_signed_v<Element>) {
    append_decimal(text, std::int64_t{element});
  } else {
    append_decimal(text, std::uint64_t{element});
  }
}

}  // namespace attnlab
