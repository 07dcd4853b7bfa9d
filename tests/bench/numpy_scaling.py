"""The second listing's computation in NumPy: what `attnlab scaling` is timed against."""
import numpy as np


def mean_peak(scores):
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).max(axis=1).mean()


rng = np.random.default_rng(466)
for d_k in (4, 64, 512):
    query, key = rng.normal(size=(5000, d_k)), rng.normal(size=(5000, d_k))
    spread = np.sum(query * key, axis=1).std()
    scores = rng.normal(size=(2000, 16, d_k)) @ rng.normal(size=d_k)
    print(d_k, spread, mean_peak(scores), mean_peak(scores / np.sqrt(d_k)))
