// Attention as the textbook writes it, done as well as it can be: the opponent of flash attention.
#pragma once

#include "core/kernels/flash_attention.hpp"

namespace attnlab {

/// What flash_attention computes, with the whole matrix of scores [num_queries, num_keys] of one head at a
/// time in memory: one product by BLAS, softmax row by row, another product. `options.block_*` mean nothing
/// here. NaN in a value spoils its column in all rows, as 0 * NaN is NaN. Throws what flash_attention throws,
/// and Error(usage) when the machine lacks the memory for that matrix, naming both sizes and what needs
/// little. The products run on as many BLAS threads as `threads` has.
FlashWork textbook_attention(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options,
                             ThreadPool& threads);

/// Bytes of the matrix of scores that textbook_attention takes; throws Error(usage) when they do not fit 63
/// bits.
std::size_t textbook_attention_bytes(std::size_t num_queries, std::size_t num_keys);

}  // namespace attnlab
