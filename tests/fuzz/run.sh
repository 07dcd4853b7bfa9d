#!/usr/bin/env bash
# Runs each fuzz target for a while, one after the other: run.sh BUILD_FOLDER [SECONDS_EACH] [TARGET...]
# The corpus starts from the field cases; what is found lies in BUILD_FOLDER/findings. Exit status 1 when there is any.
set -euo pipefail
build=$1
seconds=${2:-600}
shift $(($# < 2 ? $# : 2))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(npy csv json json_array safetensors options command_line)
seeds=$(cd "$(dirname "$0")/../data/cases/files" && pwd)
findings=$build/findings
mkdir -p "$findings"

for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  case $target in
    csv) for file in "$seeds"/*.csv; do { printf '\0'; cat "$file"; } >"$corpus/$(basename "$file")"; done ;;
    json | json_array) cp "$seeds"/*.json "$corpus" && printf '[[1, 2.5], ["NaN", -0]]' >"$corpus/nested.json" ;;
    options) printf -- '1:1024:x2,5' >"$corpus/list" && printf -- '-0.5e-3' >"$corpus/real" && printf 0x1F,2 >"$corpus/seed" ;;
    command_line) printf -- '--format\ncsv\n-o\nx.csv\n--precision\n1:8:x2' >"$corpus/line" ;;
    *) cp "$seeds"/*."$target" "$corpus" ;;
  esac
  echo "fuzz_$target: $seconds s"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 \
    -verbosity=0 -print_final_stats=1 -artifact_prefix="$findings/$target-" "$corpus" || true
done
[ -z "$(ls -A "$findings")" ] || { echo "findings in $findings:" && ls "$findings" && exit 1; }
