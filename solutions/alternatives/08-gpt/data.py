"""Differently written correct solutions of chapter 8, part 3."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("08.minhash", "buckets")
def _(documents, a, b, p, bands):
    hashes = list(zip(a.tolist(), b.tolist()))
    rows = [[min((k * x + c) % p for x in one) for k, c in hashes] for one in documents]
    size, found = len(hashes) // bands, set()
    for start in range(0, len(hashes), size):
        buckets = defaultdict(list)
        for i, row in enumerate(rows):
            buckets[tuple(row[start : start + size])].append(i)
        for bucket in buckets.values():
            found.update(combinations(bucket, 2))
    pairs = sorted(found)
    agree = [sum(x == y for x, y in zip(rows[i], rows[j])) / len(hashes) for i, j in pairs]
    return torch.tensor(rows), pairs, agree


@alternative("08.minhash", "numpy")
def _(documents, a, b, p, bands):
    factor, offset = a.numpy()[:, None], b.numpy()[:, None]
    rows = np.stack([((factor * np.array(one) + offset) % p).min(1) for one in documents])
    same = rows[:, None] == rows[None]  # (N, N, K)
    match = same.reshape(len(rows), len(rows), bands, -1).all(3).any(2)
    pairs = [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(match, 1)))]
    return torch.from_numpy(rows), pairs, [float(same[i, j].mean()) for i, j in pairs]
