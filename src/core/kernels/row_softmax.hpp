// Softmax of the rows of a large float32 matrix at the speed of the memory.
#pragma once

#include <cstddef>
#include <optional>

#include "core/kernels/cpu.hpp"
#include "core/kernels/thread_pool.hpp"

namespace attnlab {

/// weights [rows, columns] = softmax(scale * scores) of each row of `scores` [rows, columns]; both may be the
/// same memory, and must not overlap otherwise. A score of -infinity gives the weight 0 and a row of these
/// alone zeros; a NaN makes its row NaN. Large results are written past the cache. Throws Error(usage) when
/// the processor lacks the instruction set or memory is short. Accuracy: 1e-6 relative where the weight
/// exceeds 1e-30; below 2^-100 of the largest it is 0.
void softmax_rows(const float* scores, float* weights, std::size_t rows, std::size_t columns, float scale,
                  ThreadPool& threads, std::optional<InstructionSet> instruction_set = {});

}  // namespace attnlab
