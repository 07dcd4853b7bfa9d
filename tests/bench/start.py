"""Whole processes against the same computation in NumPy: wall time and peak memory, in alternating runs.

Prints a line for each ratio, `NAME measured goal floor`, and exits 1 when one is below its floor.
"""
import os, pathlib, statistics, subprocess, sys, time

HERE = pathlib.Path(__file__).parent
ROUNDS = 15


def run(command):
    """Wall seconds and peak resident KiB of one run."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - start, usage.ru_maxrss


def compare(attnlab, command, script):
    """Medians of NumPy's time over ours and of its memory over ours."""
    ours, numpys = [attnlab, *command], [sys.executable, str(HERE / script)]
    run(ours), run(numpys)  # both from a warm disk cache
    rounds = [(run(ours), run(numpys)) for _ in range(ROUNDS)]
    return (
        statistics.median(n[0] / o[0] for o, n in rounds),
        statistics.median(n[1] / o[1] for o, n in rounds),
        statistics.median(o[0] for o, _ in rounds) * 1e3,
    )


def main():
    attnlab = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent.parent / "build" / "attnlab")
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    goal = 7 if "avx512ifma" in flags and "avx512_vbmi2" in flags else 4 if "avx2" in flags else 3
    attention, _, attention_ms = compare(attnlab, ["attention"], "numpy_attention.py")
    scaling, memory, scaling_ms = compare(attnlab, ["scaling"], "numpy_scaling.py")
    rows = [
        ("attention_time_numpy_over_attnlab", attention, 20, 10),
        ("scaling_time_numpy_over_attnlab", scaling, goal, goal / 2),
        ("scaling_memory_numpy_over_attnlab", memory, 4, 4),
    ]
    for name, measured, aim, floor in rows:
        print(f"{name} {measured:.2f} {aim} {floor}")
    print(f"attention {attention_ms:.1f} ms, scaling {scaling_ms:.1f} ms, medians of {ROUNDS}", file=sys.stderr)
    sys.exit(any(measured < floor for _, measured, _, floor in rows))


if __name__ == "__main__":
    main()
