"""Differently written correct solutions of chapter 7, part 4."""

from itertools import groupby

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("07.corrupt", "groupby")
def _(ids, lost, top, end):
    source, target = [], []
    names = iter(range(top, top - len(ids) - 1, -1))
    for gone, turn in groupby(zip(ids, lost), key=lambda one: bool(one[1])):
        tokens = [token for token, _ in turn]
        if gone:
            name = next(names)
            source, target = source + [name], target + [name] + tokens
        else:
            source = source + tokens
    return source + [end], target + [end]


@alternative("07.corrupt", "cumulated-starts")
def _(ids, lost, top, end):
    out = np.array(lost, dtype=bool)
    starts = out & ~np.concatenate([[False], out[:-1]]) if len(out) else out
    number = np.cumsum(starts)
    source, target = [], []
    for place in range(len(ids)):
        if starts[place]:
            sentinel = top + 1 - int(number[place])
            source.append(sentinel)
            target.append(sentinel)
        (target if out[place] else source).append(ids[place])
    source.append(end)
    target.append(end)
    return source, target


@alternative("07.who_sees", "turn-by-turn")
def _(order):
    table = torch.zeros(len(order), len(order), dtype=torch.bool)
    said = []
    for place in order.tolist():
        table[place, said] = True
        said.append(place)
    return table


@alternative("07.who_sees", "scattered-turns")
def _(order):
    turns = torch.empty_like(order)
    turns[order] = torch.arange(len(order))
    return torch.gt(turns.unsqueeze(1), turns.unsqueeze(0))


@alternative("07.who_sees", "numpy")
def _(order):
    turns = np.argsort(order.numpy())
    return torch.from_numpy(np.less.outer(turns, turns).T.copy())
