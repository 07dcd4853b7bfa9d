// The kernels compiled for amx; the flags of this file are in CMakeLists.txt.
#include "core/kernels/decode_kernel.hpp"
#include "core/kernels/flash_kernel.hpp"
#include "core/kernels/kernel_table.hpp"
#include "core/kernels/softmax_kernel.hpp"

namespace attnlab {

const KernelTable amx_kernels = {
    .flash_scratch = flash_scratch,
    .flash = flash,
    .softmax_row = softmax_row,
    .decode_float32 = decode<float>,
    .decode_float16 = decode<uint16_t>,
    .decode_int8 = decode<int8_t>,
};

}  // namespace attnlab
