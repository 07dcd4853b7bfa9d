// Sizes are checked against the machine before memory is taken.
#pragma once

#include "core/tensor.hpp"

namespace attnlab {

/// Throws Error(usage) naming `what` and its shape when an array of doubles of that shape would not fit the
/// memory of this machine.
void require_memory(const Shape& shape, const char* what);

}  // namespace attnlab
