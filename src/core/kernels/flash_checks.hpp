// What flash attention and the textbook's share: the checks of a request and the terms that kernels
// understand.
#pragma once

#include "core/kernels/flash_attention.hpp"
#include "core/kernels/kernel_table.hpp"

namespace attnlab {

/// Throws Error(data) when sizes are out of range or num_kv_heads does not divide num_heads.
void check_flash(const FlashInputs& inputs, const FlashOptions& options);

/// A task with everything that all heads and blocks have in common; pointers and queries are left empty.
FlashTask common_flash_task(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options);

}  // namespace attnlab
