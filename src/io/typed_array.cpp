#include "io/typed_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"

namespace attnlab {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are loaded as they lie in memory");

constexpr std::size_t piece_size = std::size_t{1} << 18;  // fits into the second level cache
constexpr std::size_t most_dimensions = 64;               // as in NumPy

struct DTypeFacts {
  const char* name;
  std::size_t item_size;
};

/// In the order of DType.
constexpr std::array<DTypeFacts, 13> facts = {{
    {"float64", 8},
    {"float32", 4},
    {"float16", 2},
    {"bfloat16", 2},
    {"int64", 8},
    {"int32", 4},
    {"int16", 2},
    {"int8", 1},
    {"uint64", 8},
    {"uint32", 4},
    {"uint16", 2},
    {"uint8", 1},
    {"bool", 1},
}};

/// Whether a double holds the whole number exactly.
template <class Whole>
bool is_exact(Whole value) {
  return static_cast<Int128>(static_cast<double>(value)) == static_cast<Int128>(value);
}

template <std::size_t size>
void copy_element(const char* from, char* to, bool reversed) {
  std::array<char, size> bytes;
  std::memcpy(bytes.data(), from, size);
  if (reversed) std::reverse(bytes.begin(), bytes.end());
  std::memcpy(to, bytes.data(), size);
}

/// Visits elements that do not lie in row-major order or are big endian, through a buffer.
template <std::size_t size>
void gather_pieces(const TypedArray& array, const std::function<void(std::string_view)>& action) {
  const std::size_t rank = array.shape.size();
  std::vector<std::size_t> strides(rank);  // in bytes
  std::size_t stride = size;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = array.fortran_order ? i : rank - 1 - i;
    strides[axis] = stride;
    stride *= array.shape[axis];
  }
  std::string buffer(piece_size, '\0');
  std::size_t filled = 0;
  std::vector<std::size_t> index(rank, 0);
  std::size_t offset = 0;
  for (std::size_t remaining = array.size(); remaining > 0; --remaining) {
    copy_element<size>(array.content.bytes.data() + offset, buffer.data() + filled, array.big_endian);
    filled += size;
    if (filled == buffer.size()) {
      action(buffer);
      filled = 0;
    }
    for (std::size_t axis = rank; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < array.shape[axis]) break;
      offset -= strides[axis] * array.shape[axis];
      index[axis] = 0;
    }
  }
  if (filled > 0) action(std::string_view(buffer).substr(0, filled));
}

/// The nearest element of the type; throws when a type of whole numbers does not have the value.
template <class Element>
Element from_double(double value, DType dtype, const std::string& name) {
  if constexpr (std::is_same_v<Element, Float16>) {
    return to_float16(value);
  } else if constexpr (std::is_same_v<Element, BFloat16>) {
    return to_bfloat16(value);
  } else if constexpr (std::is_floating_point_v<Element>) {
    return static_cast<Element>(value);
  } else {
    // One more than the largest value is a power of two, which a double holds whatever the type.
    const double limit = std::ldexp(1.0, std::numeric_limits<Element>::digits);
    const double lowest = std::is_signed_v<Element> ? -limit : 0.0;
    if (!(value >= lowest && value < limit && std::trunc(value) == value)) {
      std::string text;
      append_decimal(text, value, SpecialNumbers::plain);
      throw Error(ErrorKind::data,
                  fmt::format("{}: {} is no value of type {}", name, text, dtype_name(dtype)));
    }
    return static_cast<Element>(value);
  }
}

}  // namespace

const char* dtype_name(DType dtype) { return facts[static_cast<std::size_t>(dtype)].name; }
std::size_t item_size(DType dtype) { return facts[static_cast<std::size_t>(dtype)].item_size; }

std::size_t checked_byte_count(DType dtype, const Shape& shape, const std::string& name) {
  if (shape.size() > most_dimensions) {
    throw Error(ErrorKind::data, fmt::format("{}: a shape of {} dimensions; at most {} are supported", name,
                                             shape.size(), most_dimensions));
  }
  constexpr auto largest = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  std::size_t bytes = item_size(dtype);
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) return 0;
  for (const std::size_t length : shape) {
    if (length > largest / bytes) {
      throw Error(ErrorKind::data,
                  fmt::format("{}: shape {} of {} is too large: its size in bytes passes 63 bits", name,
                              shape_text(shape), dtype_name(dtype)));
    }
    bytes *= length;
  }
  return bytes;
}

void for_each_piece(const TypedArray& array, const std::function<void(std::string_view)>& action) {
  const std::size_t size = item_size(array.dtype);
  const bool row_major = !array.fortran_order || array.shape.size() < 2;
  if (row_major && (!array.big_endian || size == 1)) {
    for_each_block(array.content, piece_size, action);
    return;
  }
  switch (size) {
    case 1:
      return gather_pieces<1>(array, action);
    case 2:
      return gather_pieces<2>(array, action);
    case 4:
      return gather_pieces<4>(array, action);
    default:
      return gather_pieces<8>(array, action);
  }
}

Array to_array(const TypedArray& array, const std::string& name) {
  Array result{array.shape, {}};
  result.values.reserve(array.size());
  with_element_type(array.dtype, [&](auto type) {
    using Element = decltype(type);
    for_each_element<Element>(array, [&](Element element) {
      if constexpr (std::is_integral_v<Element> && sizeof(Element) == 8) {
        if (!is_exact(element)) {
          throw Error(ErrorKind::data,
                      fmt::format("{}: {} cannot be represented exactly as a double", name, element));
        }
      }
      result.values.push_back(element_to_double(element));
    });
  });
  return result;
}

TypedArray view_of(const Array& array) {
  const std::size_t bytes = array.values.size() * sizeof(double);
  // Looking at the bytes of doubles through char is what char is allowed to do.
  const char* address = static_cast<const char*>(static_cast<const void*>(array.values.data()));
  return {DType::f64, array.shape, false, false, {{address, bytes}, nullptr, -1, 0}};
}

TypedArray to_typed(Array array) {
  auto owner = std::make_shared<const Array>(std::move(array));
  TypedArray result = view_of(*owner);
  result.content.owner = std::move(owner);
  return result;
}

TypedArray to_typed(const Array& array, DType dtype, const std::string& name) {
  std::string bytes(array.values.size() * item_size(dtype), '\0');
  with_element_type(dtype, [&](auto type) {
    char* at = bytes.data();
    for (const double value : array.values) {
      const auto element = from_double<decltype(type)>(value, dtype, name);
      std::memcpy(at, &element, sizeof element);
      at += sizeof element;
    }
  });
  return {dtype, array.shape, false, false, own_bytes(std::move(bytes))};
}

}  // namespace attnlab
