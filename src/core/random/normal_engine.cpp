#include "core/random/normal_engine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/random/normal_block.hpp"
#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

const NormalKernels& kernels_of(NormalEngine engine) {
  switch (engine) {
    case NormalEngine::avx2:
      return avx2_normal_kernels;
    case NormalEngine::avx512:
      return avx512_normal_kernels;
    case NormalEngine::portable:
      break;
  }
  return portable_normal_kernels;
}

Lanes lanes_after(Pcg64 bits, std::size_t count) {
  Lanes lanes{};
  for (std::size_t i = 0; i < count; ++i) {
    bits.next64();
    lanes.low[i] = static_cast<std::uint64_t>(bits.state);
    lanes.high[i] = static_cast<std::uint64_t>(bits.state >> 64);
  }
  return lanes;
}

/// A block's place in the stream: the generator before its first word.
struct Place {
  const Pcg64& start;
  std::size_t words_before;

  Pcg64 at_word(std::size_t index) const {
    Pcg64 bits = start;
    bits.advance(words_before + index);
    return bits;
  }
};

/// The indices of the suspects in order; room for one more than there are words.
struct SuspectList {
  std::array<std::uint32_t, NormalBlock::capacity + 1> indices;
  std::size_t count = 0;
};

void list_suspects(const NormalBlock& block, std::size_t word_count, SuspectList& list) {
  list.count = 0;
  for (std::size_t group = 0; group < word_count / NormalBlock::group; ++group) {
    std::uint64_t mask = block.suspects[group];
    const auto list_lowest = [&] {
      const auto lowest = static_cast<std::size_t>(std::countr_zero(mask));
      list.indices[list.count] = static_cast<std::uint32_t>(group * NormalBlock::group + lowest);
      list.count += mask != 0;
      mask &= mask - 1;
    };
    // Seldom are there more than three; looking for three whatever their number leaves no branch to
    // mispredict.
    for (int i = 0; i < 3; ++i) list_lowest();
    while (mask != 0) [[unlikely]] list_lowest();
  }
}

/// What comes of a block's words: how many give out a number, and how many words of the next block are used
/// up.
struct Settled {
  std::size_t emitted;
  std::size_t next_start;
};

/// Takes back that a word gives out a number; a word behind the block has none to give.
void withhold(NormalBlock& block, std::size_t word_count, std::size_t index, bool is_withheld,
              Settled& settled) {
  block.emits[index / NormalBlock::group] &= ~(std::uint64_t{is_withheld} << index % NormalBlock::group);
  settled.emitted -= is_withheld && index < word_count;
}

/// Decides which words give out a number when the first draw starts at `first_start`, and replaces candidates
/// from the tail.
Settled settle(NormalBlock& block, std::size_t word_count, std::size_t first_start, const Place& place) {
  const ZigguratTables& tables = ziggurat_tables();
  SuspectList suspects;
  list_suspects(block, word_count, suspects);
  block.emits.fill(~std::uint64_t{0});
  Settled settled{word_count, 0};
  const auto consume = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, word_count); ++i)
      withhold(block, word_count, i, true, settled);
  };

  consume(0, first_start);
  std::size_t next_start = first_start;
  for (std::size_t i = 0; i < suspects.count; ++i) {
    const std::size_t index = suspects.indices[i];
    const ZigguratWord start{block.words[index]};
    const std::size_t piece = start.piece();
    const bool is_start = index >= next_start;
    if (start.magnitude() < tables.accept[piece]) [[unlikely]]
      continue;  // a false alarm
    if (piece == 0) [[unlikely]] {
      if (!is_start) continue;
      Pcg64 bits = place.at_word(index + 1);
      next_start = index + 1;
      block.candidates[index] = draw_tail(start.is_negative_in_tail(), [&bits, &next_start] {
        ++next_start;
        return bits.next64();
      });
      consume(index + 1, next_start);
      continue;
    }
    // From here on verdicts are numbers: branches on them would be mispredicted.
    const double size = static_cast<double>(start.magnitude()) * tables.scale[piece];
    const std::uint64_t height =
        index + 1 < word_count ? block.words[index + 1] : place.at_word(index + 1).next64();
    const bool is_accepted = accept_in_wedge_quickly(tables, piece, size, height);
    withhold(block, word_count, index, is_start && !is_accepted, settled);
    withhold(block, word_count, index + 1, is_start, settled);
    next_start = is_start ? index + 2 : next_start;
  }
  settled.next_start = std::max(next_start, word_count) - word_count;
  return settled;
}

/// The index of the word that gives out number `rank`, counted from 0.
std::size_t word_of_emit(const NormalBlock& block, std::size_t rank) {
  std::size_t group = 0;
  for (;; ++group) {
    const auto count = static_cast<std::size_t>(std::popcount(block.emits[group]));
    if (rank < count) break;
    rank -= count;
  }
  std::uint64_t mask = block.emits[group];
  for (; rank > 0; --rank) mask &= mask - 1;
  return group * NormalBlock::group + static_cast<std::size_t>(std::countr_zero(mask));
}

/// As many words as `count` numbers will most probably take.
std::size_t words_for(std::size_t count) {
  const std::size_t words = count + count / 32 + 16;
  return std::min((words + NormalBlock::group - 1) / NormalBlock::group * NormalBlock::group,
                  NormalBlock::capacity);
}

/// Draws `count` normals into `out`, or nowhere when it is null.
void draw_in_blocks(Pcg64& bits, std::size_t count, const std::optional<LocScale>& loc_scale, double* out,
                    const NormalKernels& kernels) {
  const Pcg64 start = bits;
  const Pcg64Step step = bits.steps(kernels.lanes);
  Lanes lanes = lanes_after(start, kernels.lanes);
  NormalBlock block;
  std::size_t first_start = 0;
  for (Place place{start, 0};;) {
    const std::size_t word_count = words_for(count);
    // Fetching lines early pays only where many blocks follow.
    double* const destination = out != nullptr && count > 2 * NormalBlock::capacity ? out : nullptr;
    kernels.make_words(lanes, step, block, word_count, out != nullptr, destination);
    const Settled settled = settle(block, word_count, first_start, place);
    const std::size_t emitted = std::min(settled.emitted, count);
    if (emitted == count) {
      // Drawing the last number once more finds the state behind it.
      bits.advance(place.words_before + word_of_emit(block, count - 1));
      draw_normal(bits);
    }
    if (out != nullptr) {
      const bool has_room = count >= word_count;
      double* const target = has_room ? out : block.candidates.data();
      kernels.emit(block, word_count, loc_scale, target);
      if (!has_room) std::copy_n(target, emitted, out);
      out += emitted;
    }
    first_start = settled.next_start;
    count -= emitted;
    if (count == 0) return;
    place.words_before += word_count;
  }
}

void draw_normals(Pcg64& bits, std::size_t count, const std::optional<LocScale>& loc_scale, double* out,
                  NormalEngine engine) {
  // Below this, setting up the lanes costs more than they save.
  constexpr std::size_t fewest_for_blocks = 48;
  if (count >= fewest_for_blocks) return draw_in_blocks(bits, count, loc_scale, out, kernels_of(engine));
  for (std::size_t i = 0; i < count; ++i) {
    const double z = draw_normal(bits);
    if (out != nullptr) out[i] = loc_scale ? loc_scale->loc + loc_scale->scale * z : z;
  }
}

SignedZigguratTables make_signed_tables() {
  const ZigguratTables& tables = ziggurat_tables();
  SignedZigguratTables signed_tables{};
  for (std::size_t i = 0; i < 512; ++i) {
    const std::size_t piece = i % 256;
    signed_tables.scale[i] = i < 256 ? tables.scale[piece] : -tables.scale[piece];
    signed_tables.accept[i] = tables.accept[piece];
    signed_tables.accept_high[i] = static_cast<std::uint32_t>(tables.accept[piece] >> 20);
  }
  return signed_tables;
}

}  // namespace

const SignedZigguratTables& signed_ziggurat_tables() {
  static const SignedZigguratTables tables = make_signed_tables();
  return tables;
}

bool is_supported(NormalEngine engine) {
  switch (engine) {
    case NormalEngine::avx2:
      return __builtin_cpu_supports("avx2") != 0;
    case NormalEngine::avx512:
      // The kernels ask for F, DQ, IFMA and VBMI2; the compiler takes BW and VL to come with them.
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512ifma") != 0 && __builtin_cpu_supports("avx512vbmi2") != 0;
    case NormalEngine::portable:
      break;
  }
  return true;
}

NormalEngine fastest_normal_engine() {
  static const NormalEngine fastest = is_supported(NormalEngine::avx512) ? NormalEngine::avx512
                                      : is_supported(NormalEngine::avx2) ? NormalEngine::avx2
                                                                         : NormalEngine::portable;
  return fastest;
}

void fill_normals(Pcg64& bits, std::span<double> out, std::optional<LocScale> loc_scale,
                  NormalEngine engine) {
  draw_normals(bits, out.size(), loc_scale, out.data(), engine);
}

void skip_normals(Pcg64& bits, std::size_t count, NormalEngine engine) {
  draw_normals(bits, count, std::nullopt, nullptr, engine);
}

}  // namespace attnlab
