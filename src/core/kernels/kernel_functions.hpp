// All kernels, compiled for the instruction set of the file that includes this: one of kernels_*.cpp.
#pragma once

#include "core/kernels/decode_kernel.hpp"
#include "core/kernels/flash_kernel.hpp"
#include "core/kernels/kernel_table.hpp"
#include "core/kernels/softmax_kernel.hpp"

namespace attnlab {
namespace {

constexpr KernelTable kernel_functions = {
    .flash_scratch = flash_scratch,
    .flash = flash,
    .softmax_row = softmax_row,
    .decode_float32 = decode<float>,
    .decode_float16 = decode<uint16_t>,
    .decode_int8 = decode<int8_t>,
};

}  // namespace
}  // namespace attnlab
