#!/usr/bin/env python3
"""Compares a step of training with PyTorch's: induction_ratios.py BENCHMARK_EXECUTABLE.

Prints `NAME measured goal floor`: how many times as fast as PyTorch a training step of the same model on the same
data is, one thread against one thread. Both are CPU time on one core, measured in turn; the ratio is the median over
the rounds. Exit status 1 when it is below its floor, which leaves room for a busy machine.
"""
import json
import math
import statistics
import subprocess
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

ROUNDS = 7
STEPS = 8
VOCABULARY, LENGTH, WIDTH, HEADS, BATCH = 64, 64, 64, 4, 32
MODELS = {1: (3.0, 2.5), 2: (3.0, 2.5)}  # layers: goal, floor


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, stream, positions, hidden):
        normed = self.norm(stream)
        placed = normed + positions
        query, key, value = (
            x.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)
            for x in (self.query(placed), self.key(placed), self.value(normed))
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        heads = (weights @ value).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
        return stream + self.output(heads)


class Model(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.token_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.randn(LENGTH, WIDTH))
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.unembedding = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("hidden", torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        stream = self.token_embedding(tokens)
        for layer in self.layers:
            stream = layer(stream, self.positions, self.hidden)
        return self.unembedding(self.norm(stream))


def draw(rng):
    """A batch of repeated random tokens with periods from 8 to 32."""
    batch = numpy.empty((BATCH, LENGTH), dtype=numpy.int64)
    for row, period in zip(batch, rng.integers(8, 33, BATCH)):
        row[:] = numpy.resize(rng.integers(0, VOCABULARY, period), LENGTH)
    return torch.from_numpy(batch)


class Peer:
    def __init__(self, layers):
        self.rng = numpy.random.default_rng(466)
        self.model = Model(layers)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=4e-3, betas=(0.9, 0.98), foreach=True)

    def step(self):
        tokens = draw(self.rng)
        logits = self.model(tokens)[:, :-1]
        loss = functional.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()

    def milliseconds(self):
        begin = time.process_time()
        for _ in range(STEPS):
            self.step()
        return (time.process_time() - begin) / STEPS * 1e3


def our_milliseconds(executable, layers):
    command = [executable, f"--benchmark_filter=training_step/{layers}$", "--benchmark_min_time=0.1",
               "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return report["benchmarks"][0]["cpu_time"]


def main():
    torch.set_num_threads(1)
    failed = False
    for layers, (goal, floor) in MODELS.items():
        peer = Peer(layers)
        peer.milliseconds()  # warms up
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(peer.milliseconds())
            ours.append(our_milliseconds(sys.argv[1], layers))
        measured = statistics.median(t / o for t, o in zip(theirs, ours))
        failed = failed or measured < floor
        print(f"induction-step-{layers}-layer {measured:.2f} {goal} {floor}")
        print(f"  PyTorch {statistics.median(theirs):.2f} ms, attnlab {statistics.median(ours):.2f} ms a step",
              file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
