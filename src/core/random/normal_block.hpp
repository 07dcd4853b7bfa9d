// What the normal engines share: a block of words with the candidate that each would be, and the kernels by
// instruction set that make the candidates and give them out.
//
// Words are made in any order, because the generator can be stepped many words at once; only which word
// starts a draw depends on those before. So a block first gets a candidate for every word as if each started
// a draw, with a mark on those that are not accepted at once (1.5 in 100); then those few decide, in order,
// which words give out a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/random/normal_engine.hpp"
#include "core/random/pcg64.hpp"

namespace attnlab {

struct NormalBlock {
  static constexpr std::size_t capacity = 1024;
  /// Kernels work on this many words at a time: those of one mask.
  static constexpr std::size_t group = 64;

  alignas(64) std::array<std::uint64_t, capacity> words;
  alignas(64) std::array<double, capacity> candidates;
  /// One bit a word, lowest first: the candidate needs a closer look.
  std::array<std::uint64_t, capacity / group> suspects;
  /// One bit a word: the candidate is given out. The last mask is for a word that the next block begins with.
  std::array<std::uint64_t, capacity / group + 1> emits;
};

/// States of interleaved copies of a generator: copy i makes words i, i + n, i + 2n ... of n copies.
struct Lanes {
  static constexpr std::size_t most = 32;

  alignas(64) std::array<std::uint64_t, most> low;
  alignas(64) std::array<std::uint64_t, most> high;
};

/// The tables of the ziggurat by the low 9 bits of a word, piece and sign: the sign then costs nothing.
struct SignedZigguratTables {
  alignas(64) std::array<double, 512> scale;
  alignas(64) std::array<std::uint64_t, 512> accept;
  alignas(64) std::array<std::uint32_t, 512> accept_high;  ///< the high 32 of 52 bits, rounded down
};

const SignedZigguratTables& signed_ziggurat_tables();

/// What an instruction set does; word counts are multiples of NormalBlock::group.
struct NormalKernels {
  std::size_t lanes;

  /// Fills words and suspects, and candidates where asked to, and moves the lanes on by `step`, a step of as
  /// many words as there are lanes. Memory from `destination` on, where given, is fetched meanwhile to be
  /// written.
  void (*make_words)(Lanes& lanes, const Pcg64Step& step, NormalBlock& block, std::size_t word_count,
                     bool with_candidates, double* destination);

  /// Writes the candidates to give out one after the other. Up to word_count numbers from `out` on are
  /// overwritten; `out` may be the block's own candidates.
  void (*emit)(const NormalBlock& block, std::size_t word_count, const std::optional<LocScale>& loc_scale,
               double* out);
};

extern const NormalKernels portable_normal_kernels;
extern const NormalKernels avx2_normal_kernels;
extern const NormalKernels avx512_normal_kernels;

}  // namespace attnlab
