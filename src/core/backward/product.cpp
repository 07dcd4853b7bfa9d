#include "core/backward/product.hpp"

#include <cblas.h>
#include <fmt/core.h>

#include "core/blas.hpp"
#include "core/error.hpp"

namespace attnlab {
namespace {

thread_local std::uint64_t multiply_adds = 0;

void prepare_blas() {
  static const bool done = [] {
    require_blas_memory();
    set_blas_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

template <class Real>
void gemm(const Factor<Real>& a, const Factor<Real>& b, View<Real> result, Real scale, Real keep) {
  if (a.rows() != result.rows || b.columns() != result.columns || a.columns() != b.rows()) {
    throw Error(ErrorKind::fault,
                fmt::format("product of [{}, {}] and [{}, {}] into [{}, {}]: the shapes do not fit", a.rows(),
                            a.columns(), b.rows(), b.columns(), result.rows, result.columns));
  }
  if (result.rows == 0 || result.columns == 0) return;
  multiply_adds += std::uint64_t{result.rows} * result.columns * a.columns();
  prepare_blas();
  const auto blas = [](std::size_t size) { return static_cast<int>(size); };
  const auto op = [](const Factor<Real>& factor) { return factor.transposed ? CblasTrans : CblasNoTrans; };
  const auto call = [&](auto routine) {
    routine(CblasRowMajor, op(a), op(b), blas(result.rows), blas(result.columns), blas(a.columns()), scale,
            a.matrix.data, blas(a.matrix.stride), b.matrix.data, blas(b.matrix.stride), keep, result.data,
            blas(result.stride));
  };
  if constexpr (std::is_same_v<Real, float>) {
    call(cblas_sgemm);
  } else {
    call(cblas_dgemm);
  }
}

}  // namespace

template <class Real>
void multiply(std::type_identity_t<Factor<Real>> a, std::type_identity_t<Factor<Real>> b, View<Real> result,
              std::type_identity_t<Real> scale) {
  gemm<Real>(a, b, result, scale, 0);
}

template <class Real>
void multiply_add(std::type_identity_t<Factor<Real>> a, std::type_identity_t<Factor<Real>> b,
                  View<Real> result, std::type_identity_t<Real> scale) {
  gemm<Real>(a, b, result, scale, 1);
}

std::uint64_t multiply_adds_done() { return multiply_adds; }

template void multiply<float>(Factor<float>, Factor<float>, View<float>, float);
template void multiply<double>(Factor<double>, Factor<double>, View<double>, double);
template void multiply_add<float>(Factor<float>, Factor<float>, View<float>, float);
template void multiply_add<double>(Factor<double>, Factor<double>, View<double>, double);

}  // namespace attnlab
