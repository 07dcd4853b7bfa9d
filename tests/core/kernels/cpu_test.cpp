#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/kernels/cpu.hpp"

using namespace attnlab;

TEST_CASE("cpu: the sets have names and the weakest is always supported") {
  for (const InstructionSet set :
       {InstructionSet::sse2, InstructionSet::avx2, InstructionSet::avx512, InstructionSet::amx}) {
    CHECK(instruction_set_named(name_of(set)) == set);
  }
  CHECK_FALSE(instruction_set_named("avx1024").has_value());
  CHECK(supported_instruction_sets().front() == InstructionSet::sse2);
  CHECK(supported_instruction_sets().back() == best_instruction_set());
}

TEST_CASE("cpu: the best set is used unless another is wanted and one that is missing is refused") {
  CHECK(usable_instruction_set(std::nullopt) == best_instruction_set());
  CHECK(usable_instruction_set(InstructionSet::sse2) == InstructionSet::sse2);
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512, InstructionSet::amx}) {
    if (best_instruction_set() < set) {
      CHECK_THROWS_AS(usable_instruction_set(set), Error);
    } else {
      CHECK(usable_instruction_set(set) == set);
    }
  }
}
