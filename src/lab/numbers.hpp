// Numbers from text, whole or not at all: "5x", "", "nan", "0x10" and what is out of range are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnlab {

/// A whole number in [min, max]; throws Error(usage) "NAME: TEXT is not a whole number" or "... is outside
/// [min, max]".
std::int64_t parse_integer(std::string_view text, const std::string& name, std::int64_t min,
                           std::int64_t max);

/// A finite number in [min, max]; throws like parse_integer.
double parse_real(std::string_view text, const std::string& name, double min, double max);

/// A list "4,64,512" whose items may be ranges with both ends: "0:100:10" (step 10), "1:1024:x2" (times 2),
/// "0:5" (step 1). At most 100,000 items; throws like parse_integer.
std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& name, std::int64_t min,
                                         std::int64_t max);

/// The same for finite numbers; a range needs its step.
std::vector<double> parse_reals(std::string_view text, const std::string& name, double min, double max);

/// Splits at every `separator`, empty items kept.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace attnlab
