#!/usr/bin/env bash
# The paths of the command line under valgrind memcheck: memcheck.sh [path of attnlab]. It takes ten minutes or more; a build with
# debug information (preset dev) names the lines. Valgrind's processor knows AVX2 and no AVX-512.
set -euo pipefail
cd "$(dirname "$0")/.."
attnlab=$(realpath "${1:-build/attnlab}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/logs"
export OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell

cat >"$scratch/attnlab" <<END
#!/bin/sh
exec valgrind -q --leak-check=full --show-leak-kinds=definite --log-file="$scratch/logs/%p" "$attnlab" "\$@"
END
chmod +x "$scratch/attnlab"
run() { "$scratch/attnlab" "$@" >/dev/null 2>"$scratch/errors" || { (($? < 4)) || { cat "$scratch/errors" && exit 1; }; }; }

# Every experiment once, small where it would take minutes here.
declare -A small=(
  [induction]="--wire --threads 1"
  [flash]="-T 65,128 --longest 256 --threads 2"
  [kv-cache]="--sequences 100 --num-tokens 12"
  [scaling]="--d-k 1,16 --num-queries 10"
)
for file in experiments/*.cpp; do
  experiment=$(basename "$file" .cpp | tr _ -)
  [[ $experiment == all ]] || run "$experiment" ${small[$experiment]:-}
done

# Every way out, and the commands that the field cases do not reach.
for format in text csv tsv json ndjson npy md gnuplot vega-lite html; do
  run attention --format "$format"
  run masking --format "$format"
done
run sinusoidal -T 8 -d 8 --plot
run params --plot
run attention --explain --against-default
run replay --check
run verify --list
run list --format json
run man attention
run completion zsh
run rope --d-head 3
for operation in attention norm rope moe-route kv-quantize; do
  run diagnose --list "$operation"
done
"$attnlab" attention --table query -o "$scratch/q.npy"
"$attnlab" attention --table key -o "$scratch/k.npy"
"$attnlab" attention --table value -o "$scratch/v.npy"
run diagnose attention --query "$scratch/q.npy" --key "$scratch/k.npy" --value "$scratch/v.npy" --yours "$scratch/v.npy"
run convert "$scratch/q.npy" -o "$scratch/q.safetensors"
run inspect "$scratch/q.safetensors" --plot

# The field cases: op, inspect, convert, params and wrong input of every kind. Whether they pass is judged elsewhere:
# valgrind computes long double in 64 bits, and some compare the digits that 80 bits give.
python3 tests/data/cases/run.py --attnlab "$scratch/attnlab" --optional --no-limits >"$scratch/cases" || true
tail -1 "$scratch/cases"

# A program whose output is closed writes into the log, too.
reports=$({ grep -rl "^==" "$scratch/logs" || true; } | wc -l)
grep -rh "^==" "$scratch/logs" | head -100 || true
echo "memcheck: $(find "$scratch/logs" -type f | wc -l) runs, $reports with reports"
((reports == 0))
