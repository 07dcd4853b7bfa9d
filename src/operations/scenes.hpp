// Small random calls of every operation, so that each known mistake is made in some of them: for the gallery
// of mistakes and for their tests.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random/generator.hpp"
#include "operations/mistake.hpp"

namespace attnlab {

/// N(0, 1) in that shape.
Array normal_array(Generator& rng, Shape shape);

/// Zeros and ones; every row but `empty_row` has a one in its first column, and a zero in its last.
Array flag_array(Generator& rng, Shape shape, std::size_t empty_row = SIZE_MAX);

/// Calls of every operation that is computed from its arguments alone, in each way that changes how it can go
/// wrong. Sizes grow with `size`, 0 for the smallest; the same size and seed give the same calls.
std::vector<Trial> scenes(std::size_t size, std::uint64_t seed);

}  // namespace attnlab
