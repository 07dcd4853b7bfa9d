#include "core/blas.hpp"

extern "C" char* openblas_get_config();

namespace attnlab {

std::string blas_library() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}

}  // namespace attnlab
