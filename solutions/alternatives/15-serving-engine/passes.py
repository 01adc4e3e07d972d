"""Differently written correct solutions of chapter 15, part 2."""

import bisect
from itertools import accumulate

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("15.prepare", "numpy")
def _(scheduled, block_size):
    order = [one for one in scheduled if one["count"] == 1] + [
        one for one in scheduled if one["count"] > 1
    ]
    counts, firsts = (
        np.array([one["count"] for one in order], dtype=int),
        np.array([one["computed"] for one in order], dtype=int),
    )
    owner = np.repeat(np.arange(len(order)), counts)
    ends = np.concatenate(([0], counts.cumsum()))
    places = (
        np.arange(ends[-1]) - ends[owner] + firsts[owner] if len(order) else np.zeros(0, dtype=int)
    )
    ids = np.array([order[who]["ids"][place] for who, place in zip(owner, places)], dtype=int)
    slots = np.array(
        [
            order[who]["table"][place // block_size] * block_size + place % block_size
            for who, place in zip(owner, places)
        ],
        dtype=int,
    )
    return tuple(
        torch.from_numpy(row.astype(np.int64))
        for row in (ids, places, slots, firsts + counts, ends)
    )


@alternative("15.prepare", "two-passes")
def _(scheduled, block_size):
    single, several = [], []
    for one in scheduled:
        (several if one["count"] > 1 else single).append(one)
    both = single + several
    tokens = [
        (one, place)
        for one in both
        for place in range(one["computed"], one["computed"] + one["count"])
    ]
    row = lambda values: torch.tensor(list(values)).long()
    return (
        row(one["ids"][place] for one, place in tokens),
        row(place for _, place in tokens),
        row(
            one["table"][place // block_size] * block_size + place % block_size
            for one, place in tokens
        ),
        row(one["computed"] + one["count"] for one in both),
        row(accumulate((one["count"] for one in both), initial=0)),
    )


@alternative("15.verify", "divided-and-searched")
def _(p, q, guesses, u):
    for place, guess in enumerate(guesses):
        if u[place] >= (p[place][guess] / q[place][guess]).clamp(max=1):
            left = torch.relu(p[place] - q[place]).double()
            ends = torch.cumsum(left / left.sum(), 0)
            return guesses[:place] + [torch.searchsorted(ends, u[-1].double(), right=True).item()]
    return guesses + [
        torch.searchsorted(p[len(guesses)].double().cumsum(0), u[-1].double(), right=True).item()
    ]


@alternative("15.verify", "lists")
def _(p, q, guesses, u):
    p, q, u = p.tolist(), q.tolist(), u.tolist()
    kept = 0
    while kept < len(guesses) and u[kept] * q[kept][guesses[kept]] < p[kept][guesses[kept]]:
        kept += 1
    shares = [max(a - b, 0) for a, b in zip(p[kept], q[kept])] if kept < len(guesses) else p[kept]
    ends = list(accumulate(shares))
    return list(guesses[:kept]) + [bisect.bisect_right(ends, u[-1] * ends[-1])]
