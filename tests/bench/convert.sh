#!/usr/bin/env bash
# Converts 1 GiB of doubles from .npy to .safetensors and compares with cp and the flush: convert.sh [ATTNLAB [FOLDER]].
# Prints `convert_vs_cp measured goal floor`: wall time as a multiple of that of cp, the median of paired runs, at most
# the goal. Exit status 1 above the floor. The program may take 256 MiB of memory, so it cannot hold a copy. Needs 3 GiB
# of disk.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
attnlab=${1:-$root/build/attnlab}
scratch=$(mktemp -d "${2:-$root/build}/convert-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
rounds=5

# A .npy header of 128 bytes, then random bytes: nothing a file system could leave out.
{
  printf '\x93NUMPY\x01\x00\x76\x00'
  printf '%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (134217728,), }"
  head -c 1G /dev/urandom
} >"$scratch/big.npy"
sync "$scratch/big.npy"

milliseconds() {
  local begin end
  begin=$(date +%s%N)
  "$@" || return
  end=$(date +%s%N)
  echo $(((end - begin) / 1000000))
}
copy() { cp "$scratch/big.npy" "$scratch/copy.npy" && sync "$scratch/copy.npy"; }
convert() (
  ulimit -d 262144
  "$attnlab" convert "$scratch/big.npy" --output "$scratch/big.safetensors"
)

for _ in $(seq $rounds); do
  rm -f "$scratch"/copy.npy "$scratch"/big.safetensors
  copied=$(milliseconds copy)
  converted=$(milliseconds convert)
  echo "$copied $converted"
done |
  awk '{ print $2 / $1 }' | sort -n |
  awk '{ ratio[NR] = $1 } END { m = ratio[int((NR + 1) / 2)]; printf "convert_vs_cp %.2f 1.5 2\n", m; exit m > 2 }'
