// The kernels compiled for avx2; the flags of this file are in CMakeLists.txt.
#include "core/kernels/kernel_functions.hpp"

namespace attnlab {

const KernelTable avx2_kernels = kernel_functions;

}  // namespace attnlab
