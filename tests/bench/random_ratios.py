#!/usr/bin/env python3
"""Compares a million normals with NumPy's: random_ratios.py BENCHMARK_EXECUTABLE.

Prints a line `NAME measured goal floor` for each engine that this processor supports: how many times as fast as
numpy.random.Generator.standard_normal it is. Both are thread CPU time on one core, measured in turn; the ratio is the
median over the rounds. Exit status 1 when a ratio is below its floor, which leaves room for a busy machine.
"""
import json
import statistics
import subprocess
import sys
import time

import numpy

ROUNDS = 15
COUNT = 1_000_000
ENGINES = {"portable": (3.0, 2.5), "avx2": (4.5, 3.8), "ifma": (8.0, 6.8)}


def numpy_nanoseconds(rng, out, repeats=5):
    """CPU time of one fill, the median of a few."""
    times = []
    for _ in range(repeats):
        begin = time.thread_time_ns()
        rng.standard_normal(out=out)
        times.append(time.thread_time_ns() - begin)
    return statistics.median(times)


def engine_nanoseconds(executable):
    """CPU time of one fill by engine name."""
    pattern = f"^({'|'.join(ENGINES)})/{COUNT}$"
    command = [executable, f"--benchmark_filter={pattern}", "--benchmark_min_time=0.02", "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    runs = [run for run in report["benchmarks"] if not run.get("error_occurred")]
    return {run["name"].split("/")[0]: run["cpu_time"] for run in runs}


def main():
    rng = numpy.random.default_rng(466)
    out = numpy.empty(COUNT)
    rng.standard_normal(out=out)  # touches the memory
    ratios = {}
    for _ in range(ROUNDS):
        peer = numpy_nanoseconds(rng, out)
        engines = engine_nanoseconds(sys.argv[1])
        peer = (peer + numpy_nanoseconds(rng, out)) / 2
        for name, cpu_time in engines.items():
            ratios.setdefault(name, []).append(peer / cpu_time)
    failed = False
    for name, (goal, floor) in ENGINES.items():
        if name not in ratios:
            print(f"{name}: not supported by this processor", file=sys.stderr)
            continue
        measured = statistics.median(ratios[name])
        failed = failed or measured < floor
        print(f"random-normal-{name} {measured:.2f} {goal} {floor}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
