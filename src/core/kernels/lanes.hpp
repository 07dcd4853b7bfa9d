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
constexpr int lane_count = 16;

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
inline void store_past_cache(float* p, Lanes x) { _mm512_stream_ps(p, x); }

#elif defined(__AVX2__)

using Lanes = __m256;
constexpr int lane_count = 8;

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

#else

using Lanes = __m128;
constexpr int lane_count = 4;

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

#endif

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
