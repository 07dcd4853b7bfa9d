#include "core/kernels/kernel_table.hpp"

namespace attnlab {

const KernelTable& kernels_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::amx:
      return amx_kernels;
    case InstructionSet::avx512:
      return avx512_kernels;
    case InstructionSet::avx2:
      return avx2_kernels;
    case InstructionSet::sse2:
      break;
  }
  return sse2_kernels;
}

}  // namespace attnlab
