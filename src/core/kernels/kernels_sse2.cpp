// The kernels compiled for sse2; the flags of this file are in CMakeLists.txt.
#include "core/kernels/kernel_functions.hpp"

namespace attnlab {

const KernelTable sse2_kernels = kernel_functions;

}  // namespace attnlab
