#pragma once

#include <string>

namespace attnlab {

/// The version of attnlab: "0.1.0".
std::string version();

/// What compiled this program, and how: "GNU 12.2.0, Release".
std::string compiler();

}  // namespace attnlab
