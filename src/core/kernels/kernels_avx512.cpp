// The kernels compiled for avx512; the flags of this file are in CMakeLists.txt.
#include "core/kernels/attention_kernel.hpp"
#include "core/kernels/kernel_table.hpp"

namespace attnlab {

const KernelTable avx512_kernels = {
    .attention_scratch = attention_scratch,
    .attention = attention,
};

}  // namespace attnlab
