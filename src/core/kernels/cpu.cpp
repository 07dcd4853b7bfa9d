#include "core/kernels/cpu.hpp"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr InstructionSet all_sets[] = {InstructionSet::sse2, InstructionSet::avx2, InstructionSet::avx512,
                                       InstructionSet::amx};

// Clang 14 does not know this one by name.
bool supports_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// Nor this one. The registers of tiles are 8 KiB more to save for each thread, so Linux lets a process use
// them only after it has asked.
bool supports_amx() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned bf16_and_tile = (1u << 22) | (1u << 24);
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & bf16_and_tile) != bf16_and_tile)
    return false;
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// Every flag that a file of that set is compiled with is tested: a compiler may use any of them anywhere.
bool supported(InstructionSet set) {
  __builtin_cpu_init();
  static const bool amx = supports_amx();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && supports_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  switch (set) {
    case InstructionSet::sse2:
      return true;
    case InstructionSet::avx2:
      return avx2;
    case InstructionSet::avx512:
      return avx512;
    case InstructionSet::amx:
      return avx512 && amx;
  }
  return false;
}

}  // namespace

InstructionSet best_instruction_set() { return supported_instruction_sets().back(); }

std::vector<InstructionSet> supported_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : all_sets) {
    if (supported(set)) sets.push_back(set);
  }
  return sets;
}

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::sse2:
      return "sse2";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::amx:
      return "amx";
  }
  return "";
}

std::optional<InstructionSet> instruction_set_named(std::string_view name) {
  for (const InstructionSet set : all_sets) {
    if (name_of(set) == name) return set;
  }
  return std::nullopt;
}

InstructionSet usable_instruction_set(std::optional<InstructionSet> wanted) {
  const InstructionSet best = best_instruction_set();
  if (!wanted) return best;
  if (*wanted > best) {
    throw Error(ErrorKind::usage, fmt::format("instruction set {}: this processor has at most {}",
                                              name_of(*wanted), name_of(best)));
  }
  return *wanted;
}

}  // namespace attnlab
