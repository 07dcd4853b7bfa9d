// How the numbers of a caller lie in their array: frameworks put heads before positions, or a batch before
// both.
#pragma once

#include <string>

#include "core/tensor.hpp"

namespace attnlab {

/// A caller's numbers in the shape that is expected.
struct Arrangement {
  Array array;
  std::string note;  ///< how they were read; empty where the shape is the expected one but for axes of 1
};

/// The numbers of `given` in the shape of `expected`, which has as many. Where the shapes differ: with heads
/// before positions put side by side [heads, T, width], or transposed, if that comes nearer to `expected`
/// than the order in which they stand.
Arrangement arranged_like(const Array& expected, const Array& given);

}  // namespace attnlab
