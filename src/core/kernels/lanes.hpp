// Lanes: as many floats as one instruction handles, for the files that are compiled once for each instruction
// set.
//
// Included by those files only. All is in an anonymous namespace and nothing of the standard library's code
// is used: a function that two files both emit could otherwise be the copy with instructions this machine
// lacks.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include <utility>

namespace attnlab {
namespace {

#if defined(__AVX512F__)

using Lanes = __m512;
constexpr ptrdiff_t lane_count = 16;

inline Lanes load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Lanes x) { _mm512_storeu_ps(p, x); }
inline Lanes broadcast(float x) { return _mm512_set1_ps(x); }
/// a * b + c in one rounding (SSE2: two).
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
/// The larger of both; `x` where either is NaN.
inline Lanes larger(Lanes other, Lanes x) { return _mm512_max_ps(other, x); }
/// `inside` where low <= x <= high, else `outside`.
inline Lanes choose_between(Lanes low, Lanes x, Lanes high, Lanes inside, Lanes outside) {
  const __mmask16 above = _mm512_cmp_ps_mask(x, low, _CMP_GE_OQ);
  return _mm512_mask_blend_ps(_mm512_mask_cmp_ps_mask(above, x, high, _CMP_LE_OQ), outside, inside);
}
/// x rounded to a whole number.
inline Lanes round_to_whole(Lanes x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
/// `power` * 2^exponent; 0 where x < limit, so a NaN in x is kept.
inline Lanes scale_or_flush(Lanes power, Lanes exponent, Lanes x, Lanes limit) {
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), power, exponent);
}
/// Stores without reading the place into the cache first; `p` must be aligned to the vector.
inline void store_past_cache(float* p, Lanes x) { _mm512_stream_ps(p, x); }
/// lane_count numbers of a cache: float16 as its bits, int8.
inline Lanes load(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Lanes load(const int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
/// The sums of the lanes of each of four vectors.
inline __m128 sums_of_lanes(Lanes a, Lanes b, Lanes c, Lanes d) {
  const Lanes ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const Lanes cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const Lanes abcd = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps(abcd, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

#elif defined(__AVX2__)

using Lanes = __m256;
constexpr ptrdiff_t lane_count = 8;

inline Lanes load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Lanes x) { _mm256_storeu_ps(p, x); }
inline Lanes broadcast(float x) { return _mm256_set1_ps(x); }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
inline Lanes larger(Lanes other, Lanes x) { return _mm256_max_ps(other, x); }
inline Lanes choose_between(Lanes low, Lanes x, Lanes high, Lanes inside, Lanes outside) {
  const Lanes above = _mm256_cmp_ps(x, low, _CMP_GE_OQ);
  return _mm256_blendv_ps(outside, inside, _mm256_and_ps(above, _mm256_cmp_ps(x, high, _CMP_LE_OQ)));
}
inline Lanes round_to_whole(Lanes x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Lanes scale_or_flush(Lanes power, Lanes exponent, Lanes x, Lanes limit) {
  const __m256i bits = _mm256_slli_epi32(_mm256_cvtps_epi32(exponent), 23);
  const Lanes scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(power), bits));
  return _mm256_andnot_ps(_mm256_cmp_ps(x, limit, _CMP_LT_OQ), scaled);
}
inline void store_past_cache(float* p, Lanes x) { _mm256_stream_ps(p, x); }
inline Lanes load(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Lanes load(const int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline __m128 sums_of_lanes(Lanes a, Lanes b, Lanes c, Lanes d) {
  const Lanes ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
  const Lanes cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
  const Lanes abcd = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
  return _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
}

#else

using Lanes = __m128;
constexpr ptrdiff_t lane_count = 4;

inline Lanes load(const float* p) { return _mm_loadu_ps(p); }
inline void store(float* p, Lanes x) { _mm_storeu_ps(p, x); }
inline Lanes broadcast(float x) { return _mm_set1_ps(x); }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
inline Lanes larger(Lanes other, Lanes x) { return _mm_max_ps(other, x); }
inline Lanes choose_between(Lanes low, Lanes x, Lanes high, Lanes inside, Lanes outside) {
  const Lanes between = _mm_and_ps(_mm_cmpge_ps(x, low), _mm_cmple_ps(x, high));
  return _mm_or_ps(_mm_and_ps(between, inside), _mm_andnot_ps(between, outside));
}
// The conversion rounds; its answer for what no int holds is made harmless by scale_or_flush.
inline Lanes round_to_whole(Lanes x) { return _mm_cvtepi32_ps(_mm_cvtps_epi32(x)); }
inline Lanes scale_or_flush(Lanes power, Lanes exponent, Lanes x, Lanes limit) {
  const __m128i bits = _mm_slli_epi32(_mm_cvtps_epi32(exponent), 23);
  const Lanes scaled = _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(power), bits));
  return _mm_andnot_ps(_mm_cmplt_ps(x, limit), scaled);
}
inline void store_past_cache(float* p, Lanes x) { _mm_stream_ps(p, x); }
// Exponent and mantissa moved to their places in a float are too small by 2^112, subnormal numbers too; an
// exponent of all ones means infinity or NaN and stays all ones.
inline Lanes load(const uint16_t* p) {
  const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i bits = _mm_unpacklo_epi16(packed, _mm_setzero_si128());
  const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fff));
  const __m128i special = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff));
  const Lanes number = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)), _mm_set1_ps(0x1p112f));
  const __m128i sign = _mm_slli_epi32(_mm_and_si128(bits, _mm_set1_epi32(0x8000)), 16);
  const __m128i exponent = _mm_and_si128(special, _mm_set1_epi32(0x7f800000));
  return _mm_or_ps(number, _mm_castsi128_ps(_mm_or_si128(sign, exponent)));
}
inline Lanes load(const int8_t* p) {
  int32_t packed;
  __builtin_memcpy(&packed, p, sizeof packed);
  const __m128i bytes = _mm_cvtsi32_si128(packed);
  const __m128i words = _mm_unpacklo_epi8(bytes, bytes);
  return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(words, words), 24));
}
inline __m128 sums_of_lanes(Lanes a, Lanes b, Lanes c, Lanes d) {
  const Lanes ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
  const Lanes cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
  return _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x44), _mm_shuffle_ps(ab, cd, 0xEE));
}

#endif

/// The sum and the largest of the lanes; the largest of others where some are NaN.
inline float sum_of_lanes(Lanes x) {
  const Lanes zero{};
  return _mm_cvtss_f32(sums_of_lanes(x, zero, zero, zero));
}
inline float largest_of_lanes(Lanes x) {
  float lanes[lane_count];
  store(lanes, x);
  float largest = lanes[0];
  for (int lane = 1; lane < lane_count; ++lane) largest = lanes[lane] > largest ? lanes[lane] : largest;
  return largest;
}

/// 2^x for x <= 0, with a relative error below 1.5e-7; exactly 0 below -100, where nothing visible is lost
/// and where the numbers begin whose products processors handle a hundred times slower (denormals). NaN stays
/// NaN.
///
/// x = whole + rest with rest in [-1/2, 1/2]; 2^rest is a polynomial, exact at 0, and `whole` goes to the
/// exponent.
inline Lanes exp2_of_nonpositive(Lanes x) {
  const Lanes whole = round_to_whole(x);
  const Lanes rest = x - whole;
  Lanes power = broadcast(0.001326472731307149f);
  power = multiply_add(power, rest, broadcast(0.009671512991189957f));
  power = multiply_add(power, rest, broadcast(0.05550733581185341f));
  power = multiply_add(power, rest, broadcast(0.24022242426872253f));
  power = multiply_add(power, rest, broadcast(0.6931470036506653f));
  power = multiply_add(power, rest, broadcast(1.0f));
  return scale_or_flush(power, whole, x, broadcast(-100.0f));
}

}  // namespace
}  // namespace attnlab
