// Whole numbers beyond 64 bits: FLOP totals of the largest models pass 2^63.
#pragma once

#include <cstdint>
#include <string>

namespace attnlab {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

/// All decimal digits, with a minus sign where negative.
std::string to_string(Int128 value);

/// "1,234,567": groups of three.
std::string with_thousands(Int128 value);

/// a + b and a * b; throw Error(usage) naming `what` when the result passes 127 bits.
Int128 checked_add(Int128 a, Int128 b, const char* what);
Int128 checked_multiply(Int128 a, Int128 b, const char* what);

}  // namespace attnlab
