#include <algorithm>

#include "core/random/normal_block.hpp"
#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

constexpr std::size_t lane_count = 4;

void make_words(Lanes& lanes, const Pcg64Step& step, NormalBlock& block, std::size_t word_count,
                bool with_candidates, double* destination) {
  const SignedZigguratTables& tables = signed_ziggurat_tables();
  std::array<UInt128, lane_count> states{};
#pragma GCC unroll 4
  for (std::size_t i = 0; i < lane_count; ++i) states[i] = UInt128{lanes.high[i]} << 64 | lanes.low[i];
  for (std::size_t first = 0; first < word_count; first += NormalBlock::group) {
    std::uint64_t suspects = 0;
    for (std::size_t i = 0; i < NormalBlock::group; i += 2 * lane_count) {
      if (destination != nullptr) __builtin_prefetch(destination + first + i, 1);
#pragma GCC unroll 8
      for (std::size_t j = i; j < i + 2 * lane_count; ++j) {
        UInt128& state = states[j % lane_count];
        const ZigguratWord start{Pcg64::output(state)};
        state = step(state);
        const std::size_t piece_and_sign = start.word & 511;
        block.words[first + j] = start.word;
        if (with_candidates) {
          // Converting a signed number takes one instruction, an unsigned one several.
          const auto magnitude = static_cast<double>(static_cast<std::int64_t>(start.magnitude()));
          block.candidates[first + j] = magnitude * tables.scale[piece_and_sign];
        }
        suspects |= std::uint64_t{start.magnitude() >= tables.accept[piece_and_sign]} << j;
      }
    }
    block.suspects[first / NormalBlock::group] = suspects;
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < lane_count; ++i) {
    lanes.low[i] = static_cast<std::uint64_t>(states[i]);
    lanes.high[i] = static_cast<std::uint64_t>(states[i] >> 64);
  }
}

template <class Map>
void emit_mapped(const NormalBlock& block, std::size_t word_count, Map map, double* out) {
  for (std::size_t first = 0; first < word_count; first += 8) {
    const std::uint64_t mask = block.emits[first / 64] >> first % 64 & 255;
    std::array<double, 8> numbers{};  // read before written: `out` may be the candidates themselves
    for (std::size_t i = 0; i < 8; ++i) numbers[i] = map(block.candidates[first + i]);
    if (mask == 255) [[likely]] {
      out = std::copy_n(numbers.begin(), 8, out);
      continue;
    }
    for (std::size_t i = 0; i < 8; ++i) {
      *out = numbers[i];
      out += mask >> i & 1;
    }
  }
}

void emit(const NormalBlock& block, std::size_t word_count, const std::optional<LocScale>& loc_scale,
          double* out) {
  const auto keep = [](double z) { return z; };
  if (!loc_scale) return emit_mapped(block, word_count, keep, out);
  const auto move = [by = *loc_scale](double z) { return by.loc + by.scale * z; };
  return emit_mapped(block, word_count, move, out);
}

}  // namespace

const NormalKernels portable_normal_kernels{lane_count, make_words, emit};

}  // namespace attnlab
