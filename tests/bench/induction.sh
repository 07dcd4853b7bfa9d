#!/usr/bin/env bash
# Compares a step of training with PyTorch's: tests/bench/induction.sh [BUILD_DIRECTORY]. Prints NAME measured goal floor.
# Needs Google Benchmark and Debian's python3-torch.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
cmake -S "$root" -B "$build" -DATTNLAB_BENCH=ON >/dev/null
cmake --build "$build" --target induction_bench >/dev/null
env -u OPENBLAS_CORETYPE /usr/bin/python3 "$root/tests/bench/induction_ratios.py" "$build/tests/bench/induction_bench"
