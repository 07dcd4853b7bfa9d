// Sizes are checked against the machine before memory is taken.
#pragma once

#include "core/tensor.hpp"

namespace attnlab {

/// Throws Error(usage) naming `what`, its shape and both sizes when an array of doubles of that shape would
/// not fit the memory of this machine; `advice` says what would.
void require_memory(const Shape& shape, const char* what, const char* advice = "choose smaller sizes");

}  // namespace attnlab
