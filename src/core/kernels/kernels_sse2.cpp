// The kernels compiled for sse2; the flags of this file are in CMakeLists.txt.
#include "core/kernels/flash_kernel.hpp"
#include "core/kernels/kernel_table.hpp"

namespace attnlab {

const KernelTable sse2_kernels = {
    .flash_scratch = flash_scratch,
    .flash = flash,
};

}  // namespace attnlab
