"""Differently written correct solutions of chapter 3, what comes next."""

import math
from collections import Counter

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("03.bigram_counts", "bincount")
def _(texts, vocab_size):
    cells = [
        before * vocab_size + after
        for text in texts
        for before, after in zip([vocab_size] + text[:-1], text)
    ]
    counted = np.bincount(np.array(cells, dtype=np.int64), minlength=(vocab_size + 1) * vocab_size)
    return torch.from_numpy(counted.reshape(vocab_size + 1, vocab_size)).float()


@alternative("03.bigram_counts", "counter")
def _(texts, vocab_size):
    pairs = Counter()
    for text in texts:
        before = vocab_size
        for token in text:
            pairs[before, token] += 1
            before = token
    return torch.tensor(
        [
            [float(pairs[row, column]) for column in range(vocab_size)]
            for row in range(vocab_size + 1)
        ]
    )


@alternative("03.bigram_counts", "one-hot-products")
def _(texts, vocab_size):
    table = torch.zeros(vocab_size + 1, vocab_size, dtype=torch.float64)
    for text in filter(None, texts):
        before = torch.nn.functional.one_hot(torch.tensor([vocab_size, *text[:-1]]), vocab_size + 1)
        after = torch.nn.functional.one_hot(torch.tensor(text), vocab_size)
        table += (before.T @ after).double()
    return table.float()


@alternative("03.kneser_ney", "loops")
def _(counts, discount):
    rows, size = counts.shape
    table = counts.tolist()
    contexts = [sum(table[row][token] > 0 for row in range(rows)) for token in range(size)]
    total, kinds = sum(contexts), sum(number > 0 for number in contexts)
    alone = [
        (max(number - discount, 0.0) + discount * kinds / size) / total if total else 1 / size
        for number in contexts
    ]
    answer = []
    for row in table:
        total, kinds = sum(row), sum(number > 0 for number in row)
        answer.append(
            [
                (max(number - discount, 0.0) + discount * kinds * share) / total if total else share
                for number, share in zip(row, alone)
            ]
        )
    return torch.tensor(answer)


@alternative("03.kneser_ney", "shares-first")
def _(counts, discount):
    def step(number, shorter):
        total = number.sum(-1, keepdim=True)
        taken = number.clamp(max=discount)  # whole numbers: the discount, or 0
        safe = torch.where(total == 0, torch.ones_like(total), total)
        return torch.where(
            total == 0,
            shorter,
            number / safe - taken / safe + taken.sum(-1, keepdim=True) / safe * shorter,
        )

    alone = step(counts.sign().sum(0), torch.ones(counts.shape[1]) / counts.shape[1])
    return step(counts, alone)


@alternative("03.judge", "loop")
def _(log_probs, mask, num_bytes):
    nats, tokens = 0.0, 0
    for row, there in zip(log_probs.tolist(), mask.tolist()):
        for value, real in zip(row, there):
            if real:
                nats, tokens = nats - value, tokens + 1
    return {
        "perplexity": math.e ** (nats / tokens),
        "bits_per_byte": nats * math.log2(math.e) / num_bytes,
        "nats_per_token": nats / tokens,
    }


@alternative("03.judge", "masked-fill-in-single-precision")
def _(log_probs, mask, num_bytes):
    total = -log_probs.masked_fill(~mask, 0.0).sum()
    mean = total / mask.sum()
    return {
        "nats_per_token": float(mean),
        "perplexity": float(mean.exp()),
        "bits_per_byte": float(total / torch.tensor(2.0).log() / num_bytes),
    }
