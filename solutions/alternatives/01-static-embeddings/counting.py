"""Differently written correct solutions of chapter 1, part 1."""

from collections import Counter

import numpy as np
import scipy.sparse
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("01.window_counts", "by-distance")
def _(sentences, vocab_size, window):
    counts = torch.zeros(vocab_size, vocab_size)
    for sentence in sentences:
        ids = torch.tensor(sentence, dtype=torch.long)
        for distance in range(1, window + 1):
            left, right = ids[:-distance], ids[distance:]
            ones = torch.ones(len(left))
            counts.index_put_((left, right), ones, accumulate=True)
            counts.index_put_((right, left), ones, accumulate=True)
    return counts


@alternative("01.window_counts", "counter-and-sparse")
def _(sentences, vocab_size, window):
    pairs = Counter(
        (word, sentence[j])
        for sentence in sentences
        for i, word in enumerate(sentence)
        for j in range(len(sentence))
        if 0 < abs(i - j) <= window
    )
    table = scipy.sparse.dok_matrix((vocab_size, vocab_size), dtype=np.float32)
    for pair, number in pairs.items():
        table[pair] = number
    return torch.from_numpy(table.toarray())


@alternative("01.window_counts", "slices")
def _(sentences, vocab_size, window):
    counts = [[0.0] * vocab_size for _ in range(vocab_size)]
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for context in sentence[max(0, i - window) : i] + sentence[i + 1 : i + 1 + window]:
                counts[word][context] += 1
    return torch.tensor(counts)


@alternative("01.predict_pairs", "formula")
def _(num_words, window):
    reach = min(window, max(num_words - 1, 0))
    return 2 * reach * num_words - reach * (reach + 1)


@alternative("01.predict_pairs", "by-distance")
def _(num_words, window):
    return 2 * sum(max(0, num_words - distance) for distance in range(1, window + 1))


@alternative("01.ppmi", "log-space")
def _(counts):
    logs = counts.double().log()
    scores = (
        logs
        + counts.sum().double().log()
        - counts.sum(1).double().log()[:, None]
        - counts.sum(0).double().log()
    )
    scores[counts == 0] = 0
    return torch.relu(scores).float()


@alternative("01.ppmi", "numpy")
def _(counts):
    table = counts.numpy().astype(np.float64)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.nan_to_num(np.log(table / expected), nan=0.0, neginf=0.0)
    return torch.from_numpy(np.maximum(scores, 0).astype(np.float32))


@alternative("01.ppmi", "loops")
def _(counts):
    total, rows, columns = float(counts.sum()), counts.sum(1).tolist(), counts.sum(0).tolist()
    scores = torch.zeros(counts.shape)
    for w, row in enumerate(counts.tolist()):
        for c, number in enumerate(row):
            if number > 0:
                joint, chance = number / total, rows[w] / total * (columns[c] / total)
                scores[w, c] = max(0.0, float(np.log(joint / chance)))
    return scores


@alternative("01.ppmi", "small-number-everywhere")
def _(counts):
    p = counts.float() / counts.sum()
    tiny = 1e-30
    chance = p.sum(dim=1, keepdim=True) @ p.sum(dim=0, keepdim=True)
    return torch.log((p + tiny) / (chance + tiny)).clamp_min(0) * (counts > 0)


@alternative("01.predict_sizes", "one-by-one")
def _(vocab_size, dim, nonzero):
    values, columns, starts = nonzero * 4, nonzero * 4, (vocab_size + 1) * 4
    return {
        "sparse_bytes": values + columns + starts,
        "dense_bytes": vocab_size * vocab_size * 4,
        "parameters": vocab_size * dim + vocab_size * dim,
    }


@alternative("01.predict_sizes", "by-building")
def _(vocab_size, dim, nonzero):
    cell = torch.zeros(())  # expanded, it has every size and takes no memory
    return {
        "parameters": cell.expand(2, vocab_size, dim).numel(),
        "dense_bytes": cell.expand(vocab_size, vocab_size).nbytes,
        "sparse_bytes": 2 * cell.expand(nonzero).nbytes + cell.int().expand(vocab_size + 1).nbytes,
    }
