// Many standard normals at a time: the same numbers as one after the other, several times as fast.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/random/pcg64.hpp"

namespace attnlab {

/// The instructions to compute with; the numbers do not depend on it.
enum class NormalEngine { portable, avx2, avx512 };

/// Whether this processor has the instructions.
bool is_supported(NormalEngine engine);

/// The fastest engine that this processor supports.
NormalEngine fastest_normal_engine();

/// A number z is given out as loc + scale * z, product and sum rounded one after the other.
struct LocScale {
  double loc;
  double scale;
};

/// Fills `out` with what draw_normal gives, number by number, and leaves the same state; the engine must be
/// supported.
void fill_normals(Pcg64& bits, std::span<double> out, std::optional<LocScale> loc_scale = std::nullopt,
                  NormalEngine engine = fastest_normal_engine());

/// Leaves the state that drawing `count` normals leaves; the engine must be supported.
void skip_normals(Pcg64& bits, std::size_t count, NormalEngine engine = fastest_normal_engine());

}  // namespace attnlab
