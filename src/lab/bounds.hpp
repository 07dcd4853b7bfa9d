// Bounds that claims of several experiments share.
#pragma once

namespace attnlab {

/// A difference that rounding cannot make: numbers near 1 in double err by 1e-15 or so, and by 1e-12 after
/// thousands of operations. What is at least this far apart is different.
constexpr double beyond_rounding = 1e-9;

}  // namespace attnlab
