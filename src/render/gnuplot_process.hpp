// Running gnuplot, which is found when it is needed.
#pragma once

#include <string>

namespace attnlab {

/// What gnuplot writes to standard output for a script. Throws Error(io) when there is no gnuplot, naming the
/// package, and with gnuplot's own words when it fails.
std::string run_gnuplot(const std::string& script);

}  // namespace attnlab
