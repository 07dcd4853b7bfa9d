#!/usr/bin/env bash
# Attention against NumPy, PyTorch and ONNX Runtime on the same shapes: tests/bench/peers.sh [BUILD_DIRECTORY [OPTIONS OF
# peers.py, such as --threads 2]]. A peer that is not installed is skipped with a line that says how to get it; with
# --install as the first argument onnxruntime-node is fetched into BUILD_DIRECTORY/peers.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
install=no
if [ "${1:-}" = --install ]; then install=yes; shift; fi
build=${1:-$root/build}
shift || true
cmake -S "$root" -B "$build" -DATTNLAB_BENCH=ON >/dev/null
cmake --build "$build" --target ratios >/dev/null
[ "$install" = no ] || npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$build/peers" onnxruntime-node
exec /usr/bin/python3 "$root/tests/bench/peers.py" "$build/tests/bench/ratios" --modules "$build/peers" "$@"
