#include "core/backward/rows.hpp"

namespace attnlab {
namespace {

template <class Real>
[[gnu::always_inline]] inline SoftmaxSum<Real> softmax_in_place(Real* row, std::size_t count) {
  const Real maximum = row_maximum(row, count);
  for (std::size_t i = 0; i < count; ++i) row[i] = exp_nonpositive(row[i] - maximum);
  const Real sum = lane_sum<Real>(count, [=](std::size_t i) { return row[i]; });
  const Real factor = 1 / sum;
  for (std::size_t i = 0; i < count; ++i) row[i] *= factor;
  return {maximum, sum};
}

}  // namespace

// The same operations in the same order at any width, so the clones differ in speed only. The choice among
// them is made before the thread sanitizer is ready for it.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
SoftmaxSum<float>
softmax_row(float* row, std::size_t count) {
  return softmax_in_place(row, count);
}

SoftmaxSum<double> softmax_row(double* row, std::size_t count) { return softmax_in_place(row, count); }

}  // namespace attnlab
