#include "lab/version.hpp"

namespace attnlab {

std::string version() { return ATTNLAB_VERSION; }

}  // namespace attnlab
