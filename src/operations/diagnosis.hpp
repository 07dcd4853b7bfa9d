// How a caller's numbers differ from the right ones, and which known mistake gives them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operations/closeness.hpp"
#include "operations/mistake.hpp"

namespace attnlab {

/// One or two mistakes that together give the caller's numbers.
struct Explanation {
  std::vector<const Mistake*> mistakes;
  Difference difference;
  /// "scale-missing" or "scale-missing and causal-missing".
  std::string name() const;
};

struct Diagnosis {
  std::string result;       ///< which result was compared
  Array yours;              ///< the caller's numbers, in the shape of `expected`
  std::string arrangement;  ///< how they were read to have it; empty where they had it
  Precision precision;      ///< of the caller's numbers
  std::string arithmetic;   ///< where it matches: the arithmetic that explains what difference there is
  bool matches = false;
  Difference difference;                                     ///< of the caller's numbers from the right ones
  Array expected;                                            ///< the right numbers
  std::optional<std::vector<std::size_t>> first_difference;  ///< index into `expected`
  std::string spread;                     ///< "row 3 only", "everywhere"; "" when it matches
  std::vector<Explanation> explanations;  ///< best first; empty when it matches
  /// The options under which the caller's numbers would be right: "--causal", "--rope half".
  std::vector<std::string> settings;
  std::size_t not_numbers = 0;         ///< NaN or infinite where the right ones are finite
  bool others_match = false;           ///< and all others match
  std::optional<Explanation> nearest;  ///< where nothing fits: the mistake that comes clearly nearer
};

/// The results that are numbers, by name; a single number has an empty shape.
std::vector<std::pair<std::string, Array>> numeric_results(const Results& results);

/// Compares `given` with the result of that name, or with the first of the same number of elements where the
/// name is empty, then commits the known mistakes, and if none of them fits, all pairs of them. A mistake is
/// named only where it fits clearly better than the right answer. Numbers further off than their own
/// precision explains match only where the same call with its arrays in 16 bits comes clearly nearer to them.
/// Numbers within 16-bit rounding of the right ones match, unless one mistake gives them to the last bit that
/// they store. Where no single mistake fits, each option that stands at its default is tried at its other
/// values. An array of another shape is read as arranged_like() says. `label` says where `given` came from.
/// Throws Error(usage) for a result that there is none of and Error(data) where the sizes differ, and what
/// the operation throws.
Diagnosis diagnose(const Trial& call, const std::string& result, const Array& given,
                   const std::string& label);

}  // namespace attnlab
