#!/usr/bin/env bash
# Sets attnlab up on Debian 12.
#
#   ./bootstrap.sh        installs what is missing, builds build/attnlab and replays the lesson
#   ./bootstrap.sh test   the same set-up, then all tests
set -euo pipefail
cd "$(dirname "$0")"

packages=(g++ cmake ninja-build libcli11-dev libfmt-dev libxtensor-dev libxtensor-blas-dev libopenblas-dev
  libgfortran-12-dev nlohmann-json3-dev doctest-dev python3 gnuplot-nox)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
  echo "installing ${missing[*]}"
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "bootstrap.sh: run as root, or install sudo, to add: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

case "${1:-}" in
  "")
    cmake --preset release -DATTNLAB_TESTS=OFF
    cmake --build build
    build/attnlab replay --check >/dev/null
    echo "attnlab is built: build/attnlab --help"
    ;;
  test)
    cmake --preset release -DATTNLAB_TESTS=ON -DATTNLAB_WERROR="${ATTNLAB_WERROR:-OFF}"
    cmake --build build
    build/attnlab replay --check >/dev/null
    ctest --test-dir build --output-on-failure --no-tests=error --parallel "$(nproc)"
    ;;
  *)
    echo "usage: ./bootstrap.sh [test]" >&2
    exit 2
    ;;
esac
