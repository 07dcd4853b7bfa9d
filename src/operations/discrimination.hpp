// Arrays on which mistakes that explain a caller's numbers equally well give different ones.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "operations/diagnosis.hpp"

namespace attnlab {

struct Discrimination {
  std::optional<Trial> call;  ///< the call with arrays that tell most of them apart; nothing where none do
  std::vector<std::pair<std::size_t, std::size_t>> alike;  ///< explanations that these do not tell apart
};

/// Draws random arrays of the shapes given, and of some more rows, until all explanations of `found` give
/// results that differ by far more than the caller's precision, and keeps those that tell most apart. Options
/// stay as they are. The same seed draws the same arrays.
Discrimination tell_apart(const Trial& call, const Diagnosis& found, std::uint64_t seed);

}  // namespace attnlab
