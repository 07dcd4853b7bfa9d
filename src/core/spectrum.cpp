#include "core/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <xtensor-blas/xlinalg.hpp>

#include "core/blas.hpp"
#include "core/error.hpp"

namespace attnlab {

Vector singular_values(const Matrix& a) {
  // LAPACK need not return from an infinity.
  if (!std::all_of(a.begin(), a.end(), [](double entry) { return std::isfinite(entry); }))
    throw Error(ErrorKind::data, "singular values need finite numbers; the matrix has a NaN or an infinity");
  Vector values = zeros(std::min(a.shape(0), a.shape(1)));
  if (values.size() == 0) return values;
  require_blas_memory();
  const auto decomposition = xt::linalg::svd(a, false, false);
  std::copy_n(std::get<1>(decomposition).begin(), values.size(), values.begin());
  return values;
}

}  // namespace attnlab
