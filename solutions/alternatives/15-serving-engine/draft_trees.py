"""Differently written correct solutions of chapter 15, part 2: trees of draft tokens."""

import bisect
from collections import defaultdict
from itertools import accumulate

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("15.accept_tree", "recursive")
def _(parents, tokens, p, q, u):
    def walk(node, target, draft, waiting):
        if not waiting:
            return [], torch.searchsorted(target.cumsum(0), u[-1].double(), right=True).item()
        child, *others = waiting
        token = tokens[child]
        if u[child] < target[token] / draft[token]:
            below = [one for one, above in enumerate(parents) if above == child]
            path, last = walk(child, p[child + 1].double(), q[child + 1].double(), below)
            return [child, *path], last
        left = torch.relu(target - draft)
        others_of_q = torch.where(torch.arange(len(draft)) == token, 0.0, draft)
        return walk(node, left / left.sum(), others_of_q / (1 - draft[token]), others)

    roots = [one for one, above in enumerate(parents) if above == -1]
    return walk(-1, p[0].double(), q[0].double(), roots)


@alternative("15.accept_tree", "lists")
def _(parents, tokens, p, q, u):
    below = defaultdict(list)
    for child, parent in enumerate(parents):
        below[parent].append(child)
    numbers, path = u.tolist(), []
    row = 0
    waiting = list(below[-1])
    target, draft, scale = p[0].tolist(), q[0].tolist(), 1.0
    while waiting:
        child = waiting.pop(0)
        share = draft[tokens[child]] / scale
        if numbers[child] * share < target[tokens[child]]:
            path.append(child)
            row = child + 1
            waiting = list(below[child])
            target, draft, scale = p[row].tolist(), q[row].tolist(), 1.0
        else:
            left = [max(a - b / scale, 0.0) for a, b in zip(target, draft)]
            target = [one / sum(left) for one in left]
            draft[tokens[child]] = 0.0
            scale = sum(draft)
    ends = list(accumulate(target))
    return path, bisect.bisect_right(ends, numbers[-1] * ends[-1])


@alternative("15.accept_tree", "numpy")
def _(parents, tokens, p, q, u):
    above, path = np.array(parents, dtype=int), []
    p, q = p.numpy().astype(float), q.numpy().astype(float)
    target, node, done = p[0], -1, False
    while not done:
        rejected, done = [], True
        target = p[node + 1]
        for child in np.flatnonzero(above == node).tolist():
            draft = q[node + 1].copy()
            draft[rejected] = 0
            draft /= draft.sum()
            if float(u[child]) * draft[tokens[child]] < target[tokens[child]]:
                path.append(child)
                node, done = child, False
                break
            target = np.maximum(target - draft, 0)
            target /= target.sum()
            rejected.append(tokens[child])
    return path, int(np.searchsorted(target.cumsum(), float(u[-1]), side="right"))
