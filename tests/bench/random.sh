#!/usr/bin/env bash
# Compares a million normals with NumPy's: tests/bench/random.sh [BUILD_DIRECTORY]. Prints NAME measured goal floor.
# Needs Google Benchmark and Debian's python3-numpy.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
cmake -S "$root" -B "$build" -DATTNLAB_BENCH=ON >/dev/null
cmake --build "$build" --target random_bench >/dev/null
env -u OPENBLAS_CORETYPE /usr/bin/python3 "$root/tests/bench/random_ratios.py" "$build/tests/bench/random_bench"
