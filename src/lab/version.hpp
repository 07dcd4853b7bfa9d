#pragma once

#include <string>

namespace attnlab {

/// The version of attnlab: "0.1.0".
std::string version();

}  // namespace attnlab
