// How a caller's numbers differ from the right ones, and which known mistake gives them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operations/mistake.hpp"

namespace attnlab {

/// How far numbers are from those expected.
struct Difference {
  double max_abs = 0;   ///< infinite where one is NaN or infinite and the other is not the same
  double max_rel = 0;   ///< of the elements that are expected not to be zero
  double residual = 0;  ///< largest |difference| / (|expected| + largest |expected|), what decides
};

/// Throws Error(fault) unless both have the same number of elements.
Difference difference(const std::vector<double>& found, const std::vector<double>& expected);

/// What numbers look like: the narrowest type that holds every one, or decimals as printed in a book.
struct Precision {
  std::string name;                     ///< "float64", "float32", "float16", "bfloat16" or "3 decimals"
  double tolerance = 0;                 ///< residual that arithmetic of this kind explains
  std::optional<double> absolute = {};  ///< for decimals instead: half a unit of the last one
  bool explains(const Difference& difference) const;
};
Precision precision_of(const std::vector<double>& numbers);

/// One or two mistakes that together give the caller's numbers.
struct Explanation {
  std::vector<const Mistake*> mistakes;
  Difference difference;
  /// "scale-missing" or "scale-missing and causal-missing".
  std::string name() const;
};

struct Diagnosis {
  std::string result;   ///< which result was compared
  Precision precision;  ///< of the caller's numbers
  std::string
      arithmetic;  ///< the least exact arithmetic that the difference needs, "" where none explains it
  bool matches = false;
  Difference difference;                                     ///< of the caller's numbers from the right ones
  Array expected;                                            ///< the right numbers
  std::optional<std::vector<std::size_t>> first_difference;  ///< index into `expected`
  std::string spread;                     ///< "row 3 only", "everywhere"; "" when it matches
  std::vector<Explanation> explanations;  ///< best first; empty when it matches
  std::optional<Explanation> nearest;     ///< where nothing fits: what comes nearer than the right answer
};

/// The results that are numbers, by name; a single number has an empty shape.
std::vector<std::pair<std::string, Array>> numeric_results(const Results& results);

/// Compares `yours` with the result of that name, or with the first of the same number of elements where the
/// name is empty, then commits the known mistakes, and if none of them fits, all pairs of them. A mistake is
/// named only where it fits clearly better than the right answer. `label` says where `yours` came from.
/// Throws Error(usage) for a result that there is none of and Error(data) where the sizes differ, and what
/// the operation throws.
Diagnosis diagnose(const Trial& call, const std::string& result, const Array& yours,
                   const std::string& label);

}  // namespace attnlab
