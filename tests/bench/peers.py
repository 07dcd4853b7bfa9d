#!/usr/bin/env python3
"""Compares attention with NumPy, PyTorch and ONNX Runtime: peers.py RATIOS_EXECUTABLE [--threads N] [--rounds N]
[--peers numpy,torch,onnx] [--quick] [--modules FOLDER].

Each contestant is a process of its own that has its inputs loaded and one call behind it. In each round each runs once,
in random order, while the others are stopped, so that threads that wait by spinning take no processor from anybody.
A line is `NAME measured goal floor`: the median over the rounds of peer time / our time by CPU time, then the same by
the clock, and "stolen" where somebody had less than 0.9 of each processor. A peer that is not there is skipped with a
line that says so. Exit status 1 when a ratio by CPU time is below its floor.
"""
import argparse
import os
import random
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# (length, width, heads, kv heads)
SHAPES = [(1024, 64, 12, 12), (1024, 128, 12, 12), (4096, 64, 4, 4), (4096, 128, 4, 4), (16384, 64, 1, 1)]
QUICK_SHAPES = [(1024, 64, 12, 12), (4096, 64, 2, 2)]
# peer: (goal, floor) for full attention, the same for causal
GOALS = {
    "numpy": ((3.5, 2.5), (5.5, 4)),
    "torch": ((3.3, 2.5), (6, 4)),
    "torch-loop": ((3.3, 2.5), (6, 4)),
    "onnx-mha": ((1.3, 1.15), (2, 1.6)),
    "onnx-gqa": (None, (2, 1.6)),
    "numpy-softmax": ((3, 2), None),
}


class Contestant:
    """A process that answers each line with the seconds of one run, by the clock and by CPU time."""

    def __init__(self, name, command, environment):
        self.name = name
        self.wall = []
        self.cpu = []
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.ready = self.process.stdout.readline().strip() == "ready"
        if self.ready:
            self.process.send_signal(signal.SIGSTOP)

    def run(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        wall, cpu = map(float, self.process.stdout.readline().split())
        self.process.send_signal(signal.SIGSTOP)
        self.wall.append(wall)
        self.cpu.append(cpu)

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def commands(arguments, shape, causal):
    """Name and command of us, and of each peer that is there."""
    numbers = [str(number) for number in (*shape, int(causal), arguments.threads)]
    python = ["/usr/bin/python3", os.path.join(HERE, "peer_python.py")]
    found = [("ours", [arguments.executable, "worker", *numbers])]
    if "numpy" in arguments.peers:
        found.append(("numpy", [*python, "numpy", *numbers]))
    if "torch" in arguments.peers:
        found.append(("torch", [*python, "torch", *numbers]))
        found.append(("torch-loop", [*python, "torch-loop", *numbers]))
    if "onnx" in arguments.peers:
        node = ["node", os.path.join(HERE, "peer_onnx.js")]
        found.append(("onnx-mha", [*node, "mha", *numbers]))
        if causal:
            found.append(("onnx-gqa", [*node, "gqa", *numbers]))
    return found


def contest(title, contestants, causal, arguments):
    """Runs the rounds and prints a line for each peer; whether all are above their floors."""
    ready = [contestant for contestant in contestants if contestant.ready]
    if len(ready) < 2 or not contestants[0].ready:
        return True
    for _ in range(arguments.rounds):
        for contestant in random.sample(ready, len(ready)):
            contestant.run()
    ours = contestants[0]
    passed = True
    for peer in ready[1:]:
        by_cpu = statistics.median(theirs / our for theirs, our in zip(peer.cpu, ours.cpu))
        by_wall = statistics.median(theirs / our for theirs, our in zip(peer.wall, ours.wall))
        stolen = any(sum(c.cpu) < 0.9 * arguments.threads * sum(c.wall) for c in (ours, peer))
        goal = GOALS[peer.name][1 if causal else 0]
        if goal is None:
            continue
        passed = passed and by_cpu >= goal[1]
        print(f"over-{peer.name}-{title} {by_cpu:.2f} {goal[0]} {goal[1]} wall {by_wall:.2f}"
              + (" stolen" if stolen else ""), flush=True)
    return passed


def available(peers, environment):
    """The peers that can be run; a line for each that cannot."""
    checks = {
        "numpy": (["/usr/bin/python3", "-c", "import numpy"], "apt-get install python3-numpy"),
        "torch": (["/usr/bin/python3", "-c", "import torch"], "apt-get install python3-torch"),
        "onnx": (["node", "-e", "require('onnxruntime-node')"], "npm install --ignore-scripts --prefix FOLDER onnxruntime-node, --modules FOLDER"),
    }
    found = []
    for peer in peers:
        check, remedy = checks[peer]
        try:
            subprocess.run(check, check=True, capture_output=True, env=environment)
            found.append(peer)
        except (OSError, subprocess.CalledProcessError):
            print(f"{peer}: not there, skipped ({remedy})")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executable")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["numpy", "torch", "onnx"])
    parser.add_argument("--quick", action="store_true", help="two shapes")
    parser.add_argument("--modules", default="", help="where onnxruntime-node is installed")
    arguments = parser.parse_args()
    environment = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
    environment.pop("OPENBLAS_CORETYPE", None)
    if arguments.modules:
        environment["NODE_PATH"] = os.path.join(arguments.modules, "node_modules")
    arguments.peers = available(arguments.peers, environment)
    passed = True
    for shape in QUICK_SHAPES if arguments.quick else SHAPES:
        for causal in (False, True):
            contestants = [Contestant(name, command, environment)
                           for name, command in commands(arguments, shape, causal)]
            length, width, heads, _ = shape
            title = f"t{length}-d{width}-h{heads}-{'causal' if causal else 'full'}"
            passed = contest(title, contestants, causal, arguments) and passed
            for contestant in contestants:
                contestant.close()
    if "numpy" in arguments.peers:
        for length in (1024, 2048, 4096):
            contestants = [
                Contestant("ours", [arguments.executable, "softmax-worker", str(length), str(arguments.threads)], environment),
                Contestant("numpy-softmax", ["/usr/bin/python3", os.path.join(HERE, "peer_python.py"), "softmax", str(length)], environment),
            ]
            passed = contest(f"t{length}", contestants, False, arguments) and passed
            for contestant in contestants:
                contestant.close()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
