// Which BLAS library multiplies matrices.
#pragma once

#include <string>

namespace attnlab {

/// Its name and version: "OpenBLAS 0.3.21".
std::string blas_library();

}  // namespace attnlab
