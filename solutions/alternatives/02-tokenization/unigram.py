"""Differently written correct solutions of chapter 2, Unigram."""

import math
from functools import lru_cache

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("02.best_cut", "remembered-recursion")
def _(word, log_prob):
    longest = max(map(len, log_prob), default=0)

    @lru_cache(maxsize=None)
    def best(end):
        if end == 0:
            return 0.0, None
        ways = [
            (best(start)[0] + log_prob[word[start:end]], end - start)
            for start in range(max(0, end - longest), end)
            if word[start:end] in log_prob and best(start) is not None
        ]
        if not ways:
            return None
        score, size = max(ways)  # of equal sums the larger size: the longest last piece
        return score, size

    for end in range(len(word) + 1):  # from short to long, so that no call goes deep
        best(end)
    if best(len(word)) is None:
        return None
    pieces = []
    while word:
        size = best(len(word))[1]
        pieces.insert(0, word[-size:])
        word = word[:-size]
    return pieces


@alternative("02.best_cut", "forwards")
def _(word, log_prob):
    ways = {0: (0.0, [])}
    for start in range(len(word)):
        if start not in ways:
            continue
        score, pieces = ways[start]
        for piece, own in log_prob.items():
            end = start + len(piece)
            if word.startswith(piece, start) and (end not in ways or score + own > ways[end][0]):
                ways[end] = score + own, [*pieces, piece]
    return ways[len(word)][1] if len(word) in ways else None


@alternative("02.expected_counts", "gradient")
def _(word, log_prob):
    scores = torch.tensor(list(log_prob.values()), dtype=torch.float64, requires_grad=True)
    number = {piece: place for place, piece in enumerate(log_prob)}
    ways = [torch.zeros((), dtype=torch.float64)]
    for end in range(1, len(word) + 1):
        arriving = [
            ways[start] + scores[number[word[start:end]]]
            for start in range(end)
            if word[start:end] in number and ways[start] is not None
        ]
        ways.append(torch.stack(arriving).logsumexp(0) if arriving else None)
    if ways[-1] is None or not word:
        return torch.zeros(len(log_prob))
    return torch.autograd.grad(ways[-1], scores)[
        0
    ].float()  # d log Z / d log p is the expected count


@alternative("02.expected_counts", "own-log-sum-exp")
def _(word, log_prob):
    def add(x, y):
        x, y = max(x, y), min(x, y)
        return x if y == -math.inf else x + math.log1p(math.exp(y - x))

    def sums(text, pieces):
        row = [0.0]
        for end in range(1, len(text) + 1):
            value = -math.inf
            for piece, score in pieces.items():
                if len(piece) <= end and text[end - len(piece) : end] == piece:
                    value = add(value, row[end - len(piece)] + score)
            row.append(value)
        return row

    before = sums(word, log_prob)
    after = sums(word[::-1], {piece[::-1]: score for piece, score in log_prob.items()})[::-1]
    counts = [0.0] * len(log_prob)
    if before[-1] > -math.inf:
        for place, (piece, score) in enumerate(log_prob.items()):
            for start in range(len(word) - len(piece) + 1):
                if word[start : start + len(piece)] == piece:
                    counts[place] += math.exp(
                        before[start] + score + after[start + len(piece)] - before[-1]
                    )
    return torch.tensor(counts)
