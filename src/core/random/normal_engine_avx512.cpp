// Functions here carry their instruction set themselves, so that nothing shared is compiled with it.

#ifndef __clang__
// GCC 12's own header begins a register "undefined" by assigning it to itself.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "core/random/normal_block.hpp"

namespace attnlab {
namespace {

constexpr std::size_t vectors = 4;  // enough of them in flight to hide the multiplier's latency
constexpr std::size_t lane_count = 8 * vectors;
static_assert(lane_count <= Lanes::most);

/// Eight 128-bit numbers in limbs of 52, 52 and 24 bits, the digits of AVX-512's integer multiply-add. It
/// reads 52 bits of each limb, so bits above them, and above 2^128, may be left in place.
struct Limbs {
  __m512i low, middle, high;
};

[[gnu::target("avx512f"), gnu::always_inline]] inline Limbs limbs_of(__m512i low64, __m512i high64) {
  return {low64, _mm512_or_si512(_mm512_srli_epi64(low64, 52), _mm512_slli_epi64(high64, 12)),
          _mm512_srli_epi64(high64, 40)};
}

[[gnu::target("avx512f"), gnu::always_inline]] inline Limbs broadcast(UInt128 value) {
  return limbs_of(_mm512_set1_epi64(static_cast<long long>(value)),
                  _mm512_set1_epi64(static_cast<long long>(value >> 64)));
}

[[gnu::target("avx512f,avx512vbmi2"), gnu::always_inline]] inline __m512i low64_of(const Limbs& limbs) {
  return _mm512_shrdi_epi64(_mm512_slli_epi64(limbs.low, 12), limbs.middle, 12);
}

[[gnu::target("avx512f,avx512vbmi2"), gnu::always_inline]] inline __m512i high64_of(const Limbs& limbs) {
  return _mm512_shrdi_epi64(_mm512_slli_epi64(limbs.middle, 12), limbs.high, 24);
}

/// multiplier * state + increment, whose limbs are below 2^52.
[[gnu::target("avx512f,avx512ifma"), gnu::always_inline]] inline Limbs multiply_add(const Limbs& multiplier,
                                                                                    const Limbs& state,
                                                                                    const Limbs& increment) {
  __m512i low = _mm512_madd52lo_epu64(increment.low, state.low, multiplier.low);
  __m512i middle = _mm512_madd52hi_epu64(increment.middle, state.low, multiplier.low);
  __m512i high = _mm512_madd52hi_epu64(increment.high, state.low, multiplier.middle);
  middle = _mm512_madd52lo_epu64(middle, state.low, multiplier.middle);
  high = _mm512_madd52hi_epu64(high, state.middle, multiplier.low);
  middle = _mm512_madd52lo_epu64(middle, state.middle, multiplier.low);
  high = _mm512_madd52lo_epu64(high, state.low, multiplier.high);
  high = _mm512_madd52lo_epu64(high, state.middle, multiplier.middle);
  high = _mm512_madd52lo_epu64(high, state.high, multiplier.low);
  middle = _mm512_add_epi64(middle, _mm512_srli_epi64(low, 52));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(middle, 52));
  return {low, middle, high};
}

[[gnu::target("avx512f,avx512vbmi2"), gnu::always_inline]] inline __m512i words_of(const Limbs& states) {
  // The rotation is by the top 6 bits of the state; higher ones that are left in place do not count.
  return _mm512_rorv_epi64(_mm512_xor_si512(high64_of(states), low64_of(states)),
                           _mm512_srli_epi64(states.high, 18));
}

/// Sixteen suspect bits, judged by the high 32 of the 52 bits: 1 in 2^32 is a false alarm.
[[gnu::target("avx512f,avx512vbmi2"), gnu::always_inline]] inline std::uint64_t suspects_of(
    __m512i first8, __m512i second8, const SignedZigguratTables& tables) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  const __m512i low32 = _mm512_permutex2var_epi32(first8, even, second8);
  const __m512i high32 = _mm512_permutex2var_epi32(first8, odd, second8);
  const __m512i magnitude_high = _mm512_shrdi_epi32(low32, high32, 29);
  const __m512i piece_and_sign = _mm512_and_si512(low32, _mm512_set1_epi32(511));
  const __m512i accept_high = _mm512_i32gather_epi32(piece_and_sign, tables.accept_high.data(), 4);
  return _mm512_cmpge_epu32_mask(magnitude_high, accept_high);
}

[[gnu::target("avx512f,avx512dq,avx512ifma,avx512vbmi2")]] void make_words(
    Lanes& lanes, const Pcg64Step& step, NormalBlock& block, std::size_t word_count, bool with_candidates,
    double* destination) {
  const SignedZigguratTables& tables = signed_ziggurat_tables();
  const __m512i low9 = _mm512_set1_epi64(511);
  const __m512i low52 = _mm512_set1_epi64((1LL << 52) - 1);
  const Limbs multiplier = broadcast(step.multiplier);
  Limbs increment = broadcast(step.increment);
  increment = {_mm512_and_si512(increment.low, low52), _mm512_and_si512(increment.middle, low52),
               increment.high};
  Limbs states[vectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    states[v] = limbs_of(_mm512_load_si512(&lanes.low[8 * v]), _mm512_load_si512(&lanes.high[8 * v]));
  }
  std::uint64_t suspects = 0;
  for (std::size_t first = 0; first < word_count; first += lane_count) {
    __m512i words[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t index = first + 8 * v;
      if (destination != nullptr) _mm_prefetch(destination + index, _MM_HINT_T0);
      words[v] = words_of(states[v]);
      states[v] = multiply_add(multiplier, states[v], increment);
      _mm512_store_si512(&block.words[index], words[v]);
      if (with_candidates) {
        const __m512i magnitude = _mm512_and_si512(_mm512_srli_epi64(words[v], 9), low52);
        const __m512d scale = _mm512_i64gather_pd(_mm512_and_si512(words[v], low9), tables.scale.data(), 8);
        _mm512_store_pd(&block.candidates[index], _mm512_mul_pd(_mm512_cvtepi64_pd(magnitude), scale));
      }
    }
    const std::uint64_t these =
        suspects_of(words[0], words[1], tables) | suspects_of(words[2], words[3], tables) << 16;
    suspects = suspects >> lane_count | these << lane_count;
    block.suspects[first / NormalBlock::group] = suspects;  // whole after the group's second half
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    _mm512_store_si512(&lanes.low[8 * v], low64_of(states[v]));
    _mm512_store_si512(&lanes.high[8 * v], high64_of(states[v]));
  }
}

[[gnu::target("avx512f")]] void emit(const NormalBlock& block, std::size_t word_count,
                                     const std::optional<LocScale>& loc_scale, double* out) {
  const bool is_mapped = loc_scale.has_value();
  const __m512d loc = _mm512_set1_pd(is_mapped ? loc_scale->loc : 0.0);
  const __m512d scale = _mm512_set1_pd(is_mapped ? loc_scale->scale : 1.0);
  for (std::size_t first = 0; first < word_count; first += NormalBlock::group) {
    std::uint64_t mask = block.emits[first / NormalBlock::group];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < NormalBlock::group; i += 8) {
      __m512d numbers = _mm512_load_pd(&block.candidates[first + i]);
      if (is_mapped) numbers = _mm512_add_pd(loc, _mm512_mul_pd(scale, numbers));
      // Packed in a register and stored whole: a packing store is many times slower.
      _mm512_storeu_pd(out, _mm512_maskz_compress_pd(static_cast<__mmask8>(mask), numbers));
      out += __builtin_popcount(mask & 255);
      mask >>= 8;
    }
  }
}

}  // namespace

const NormalKernels avx512_normal_kernels{lane_count, make_words, emit};

}  // namespace attnlab
