#!/usr/bin/env bash
# The goals of the kernels, a line each: NAME measured goal floor. Exit status 1 when one is below its floor.
# tests/bench/ratios.sh [BUILD_DIRECTORY [OPTIONS OF ratios, such as --threads 2]]
# Needs Google Benchmark to configure; the lines against NumPy need Debian's python3-numpy and are skipped without.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
shift || true
cmake -S "$root" -B "$build" -DATTNLAB_BENCH=ON >/dev/null && cmake --build "$build" --target ratios >/dev/null || exit 2
ratios=$build/tests/bench/ratios
status=0
env -u OPENBLAS_CORETYPE "$ratios" "$@" || status=$?
# What machines without tiles get; `ratios` itself refuses what this one lacks.
env -u OPENBLAS_CORETYPE "$ratios" --instruction-set avx512 "$@" || { code=$?; [ "$code" = 2 ] || status=$code; }
# OpenBLAS's own kernels for AVX2 are the yardstick of ours.
OPENBLAS_CORETYPE=Haswell "$ratios" --instruction-set avx2 "$@" || { code=$?; [ "$code" = 2 ] || status=$code; }
/usr/bin/python3 "$root/tests/bench/peers.py" "$ratios" --peers numpy --quick || status=$?
exit "$status"
