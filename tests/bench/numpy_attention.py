"""The first listing's computation in NumPy: what `attnlab attention` is timed against."""
import numpy as np

SEQ_LEN, D_MODEL, D_K = 5, 8, 4
rng = np.random.default_rng(466)
x = rng.normal(size=(SEQ_LEN, D_MODEL))
w_query, w_key, w_value = (rng.normal(0, D_MODEL**-0.5, (D_MODEL, D_K)) for _ in range(3))
query, key, value = x @ w_query, x @ w_key, x @ w_value
scores = query @ key.T / np.sqrt(D_K)
scores[np.triu_indices(SEQ_LEN, 1)] = -np.inf
weights = np.exp(scores - scores.max(axis=1, keepdims=True))
weights /= weights.sum(axis=1, keepdims=True)
np.set_printoptions(precision=3, suppress=True)
print(weights, (weights @ value).shape)
