// Functions here carry their instruction set themselves, so that nothing shared is compiled with it.
#include <immintrin.h>

#include "core/random/normal_block.hpp"

namespace attnlab {
namespace {

constexpr std::size_t lane_count = 4;

/// The words of the whole block before any is read as a vector: a load of several fresh stores would wait for
/// them.
void draw_words(Lanes& lanes, const Pcg64Step& step, NormalBlock& block, std::size_t word_count) {
  std::array<UInt128, lane_count> states{};
#pragma GCC unroll 4
  for (std::size_t i = 0; i < lane_count; ++i) states[i] = UInt128{lanes.high[i]} << 64 | lanes.low[i];
  for (std::size_t first = 0; first < word_count; first += lane_count) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < lane_count; ++i) {
      block.words[first + i] = Pcg64::output(states[i]);
      states[i] = step(states[i]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < lane_count; ++i) {
    lanes.low[i] = static_cast<std::uint64_t>(states[i]);
    lanes.high[i] = static_cast<std::uint64_t>(states[i] >> 64);
  }
}

[[gnu::target("avx2")]] void make_words(Lanes& lanes, const Pcg64Step& step, NormalBlock& block,
                                        std::size_t word_count, bool with_candidates, double* destination) {
  draw_words(lanes, step, block, word_count);
  const SignedZigguratTables& tables = signed_ziggurat_tables();
  const auto* accept = reinterpret_cast<const long long*>(tables.accept.data());
  const __m256i low9 = _mm256_set1_epi64x(511);
  const __m256i low52 = _mm256_set1_epi64x((1LL << 52) - 1);
  // A whole number below 2^52 under the exponent of 2^52 is that number plus 2^52, exactly.
  const __m256d two52 = _mm256_set1_pd(0x1p52);
  for (std::size_t first = 0; first < word_count; first += NormalBlock::group) {
    std::uint64_t accepted = 0;
#pragma GCC unroll 2
    for (std::size_t i = 0; i < NormalBlock::group; i += 4) {
      if (destination != nullptr && i % 8 == 0) _mm_prefetch(destination + first + i, _MM_HINT_T0);
      const __m256i words = _mm256_load_si256(reinterpret_cast<const __m256i*>(&block.words[first + i]));
      const __m256i piece_and_sign = _mm256_and_si256(words, low9);
      const __m256i magnitude = _mm256_and_si256(_mm256_srli_epi64(words, 9), low52);
      if (with_candidates) {
        const __m256d number = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(magnitude), two52), two52);
        const __m256d scale = _mm256_i64gather_pd(tables.scale.data(), piece_and_sign, 8);
        _mm256_store_pd(&block.candidates[first + i], _mm256_mul_pd(number, scale));
      }
      const __m256i below = _mm256_cmpgt_epi64(_mm256_i64gather_epi64(accept, piece_and_sign, 8), magnitude);
      accepted |= static_cast<std::uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(below))) << i;
    }
    block.suspects[first / NormalBlock::group] = ~accepted;
  }
}

/// For four emit bits: where the doubles to give out are, as pairs of 32-bit indices, and how many they are.
struct Packing {
  alignas(32) std::array<std::array<std::uint32_t, 8>, 16> order;
  std::array<std::uint8_t, 16> count;
};

constexpr Packing make_packing() {
  Packing packing{};
  for (std::uint32_t mask = 0; mask < 16; ++mask) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      if ((mask >> i & 1) == 0) continue;
      const std::size_t place = std::size_t{2} * packing.count[mask]++;
      packing.order[mask][place] = 2 * i;
      packing.order[mask][place + 1] = 2 * i + 1;
    }
  }
  return packing;
}

constexpr Packing packing = make_packing();

[[gnu::target("avx2")]] void emit(const NormalBlock& block, std::size_t word_count,
                                  const std::optional<LocScale>& loc_scale, double* out) {
  const bool is_mapped = loc_scale.has_value();
  const __m256d loc = _mm256_set1_pd(is_mapped ? loc_scale->loc : 0.0);
  const __m256d scale = _mm256_set1_pd(is_mapped ? loc_scale->scale : 1.0);
  for (std::size_t first = 0; first < word_count; first += NormalBlock::group) {
    std::uint64_t mask = block.emits[first / NormalBlock::group];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < NormalBlock::group; i += 4) {
      __m256d numbers = _mm256_load_pd(&block.candidates[first + i]);
      if (is_mapped) numbers = _mm256_add_pd(loc, _mm256_mul_pd(scale, numbers));
      const auto* order = reinterpret_cast<const __m256i*>(&packing.order[mask & 15]);
      const __m256i packed =
          _mm256_permutevar8x32_epi32(_mm256_castpd_si256(numbers), _mm256_load_si256(order));
      _mm256_storeu_pd(out, _mm256_castsi256_pd(packed));
      out += packing.count[mask & 15];
      mask >>= 4;
    }
  }
}

}  // namespace

const NormalKernels avx2_normal_kernels{lane_count, make_words, emit};

}  // namespace attnlab
