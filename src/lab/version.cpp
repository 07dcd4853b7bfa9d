#include "lab/version.hpp"

namespace attnlab {

std::string version() { return ATTNLAB_VERSION; }

std::string compiler() { return ATTNLAB_COMPILER; }

}  // namespace attnlab
