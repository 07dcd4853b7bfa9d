// Which instructions this processor has: the kernels below are compiled once for each set and chosen at run
// time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace attnlab {

/// In order of power: each includes the ones before it.
enum class InstructionSet {
  sse2,    ///< every x86-64 processor, 4 floats an instruction, no fused multiply-add
  avx2,    ///< with fma and f16c, 8 floats an instruction
  avx512,  ///< f, bw, dq and vl, 16 floats an instruction
  amx,     ///< tiles of bfloat16 beside them, in which a float32 is the sum of three
};

/// The most powerful set that this processor and operating system support.
InstructionSet best_instruction_set();

/// All supported sets, weakest first.
std::vector<InstructionSet> supported_instruction_sets();

/// "sse2", "avx2", "avx512", "amx".
std::string_view name_of(InstructionSet set);

/// The set of that name; empty for any other name.
std::optional<InstructionSet> instruction_set_named(std::string_view name);

/// `wanted`, or the best set where it is empty; throws Error(usage) when this processor lacks it.
InstructionSet usable_instruction_set(std::optional<InstructionSet> wanted);

}  // namespace attnlab
