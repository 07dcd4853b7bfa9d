// The kernels compiled for avx512; the flags of this file are in CMakeLists.txt.
#include "core/kernels/kernel_functions.hpp"

namespace attnlab {

const KernelTable avx512_kernels = kernel_functions;

}  // namespace attnlab
