// The kernels compiled for amx; the flags of this file are in CMakeLists.txt.
#include "core/kernels/kernel_functions.hpp"

namespace attnlab {

const KernelTable amx_kernels = kernel_functions;

}  // namespace attnlab
