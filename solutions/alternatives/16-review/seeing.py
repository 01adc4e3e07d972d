"""Differently written correct solutions of chapter 16, part 2."""

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("16.seven_masks", "row-by-row")
def _(kind, length, extra):
    table = torch.zeros(length, length, dtype=torch.bool)
    rank = {place: turn for turn, place in enumerate(extra.get("order", []))}
    bounds = np.cumsum([0, *extra.get("lengths", [])]).tolist()
    for i in range(length):
        if kind == "full":
            table[i] = True
        elif kind == "window":
            table[i, max(0, i - extra["window"] + 1) : i + 1] = True
        elif kind == "global":
            table[i, max(0, i - extra["side"]) : i + extra["side"] + 1] = True
        elif kind == "packed":
            start = max((bound for bound in bounds if bound <= i), default=0)
            table[i, (i if i >= bounds[-1] else start) : i + 1] = True
        elif kind == "order":
            table[i] = torch.tensor([rank[j] <= rank[i] for j in range(length)])
        else:
            table[i, : i + 1] = True
    if kind == "prefix":
        table[:, : extra["prefix"]] = True
    for place in extra.get("places", []):
        table[place, :] = True
        table[:, place] = True
    return table


@alternative("16.seven_masks", "triangles-and-numpy")
def _(kind, length, extra):
    ones = np.ones((length, length), dtype=bool)
    table = np.tril(ones)
    if kind == "full":
        table = ones
    elif kind == "prefix":
        table[: extra["prefix"], : extra["prefix"]] = True
    elif kind == "window":
        table = np.tril(ones) & ~np.tril(ones, -extra["window"])
    elif kind == "global":
        table = np.tril(ones, extra["side"]) & np.triu(ones, -extra["side"])
        table[extra["places"]] = True
        table[:, extra["places"]] = True
    elif kind == "packed":
        table = np.eye(length, dtype=bool)
        start = 0
        for size in extra["lengths"]:
            table[start : start + size, start : start + size] = np.tril(
                np.ones((size, size), dtype=bool)
            )
            start += size
    elif kind == "order":
        table = np.zeros((length, length), dtype=bool)
        table[np.ix_(extra["order"], extra["order"])] = np.tril(ones)
    return torch.from_numpy(table)


@alternative("16.make_labels", "tensors")
def _(kind, ids, extra):
    text = torch.tensor(ids)
    if kind in ("causal", "answer"):
        labels = text[1:].clone()
        labels[: max(extra.get("prompt", 0) - 1, 0)] = -100
        return text[:-1].tolist(), labels.tolist()
    chosen = torch.zeros(len(ids), dtype=torch.bool)
    chosen[torch.tensor(extra["chosen"], dtype=torch.long)] = True
    if kind in ("masked", "replaced"):
        read = text.clone()
        read[chosen] = torch.tensor(extra["becomes"], dtype=torch.long)
        return (
            read.tolist(),
            (
                torch.where(chosen, text, -100) if kind == "masked" else (read != text).long()
            ).tolist(),
        )
    begins = chosen & ~torch.cat((torch.zeros(1, dtype=torch.bool), chosen[:-1]))
    marks = torch.zeros_like(text)
    marks[begins] = torch.tensor(extra["sentinels"][: int(begins.sum())], dtype=torch.long)
    read = torch.where(begins, marks, text)[~chosen | begins].tolist() + [extra["end"]]
    said = torch.stack((marks, text), 1)[torch.stack((begins, chosen), 1)].tolist() + [extra["end"]]
    return read, said


@alternative("16.make_labels", "walking-through-spans")
def _(kind, ids, extra):
    if kind == "causal":
        return list(ids[:-1]), list(ids[1:])
    if kind == "answer":
        return list(ids[:-1]), [
            token if place >= extra["prompt"] else -100 for place, token in list(enumerate(ids))[1:]
        ]
    gone = dict(zip(extra["chosen"], extra.get("becomes", extra["chosen"])))
    if kind == "spans":
        read, said, place, number = [], [], 0, 0
        while place < len(ids):
            if place in gone:
                read += [extra["sentinels"][number]]
                said += [extra["sentinels"][number]]
                number += 1
                while place < len(ids) and place in gone:
                    said += [ids[place]]
                    place += 1
            else:
                read += [ids[place]]
                place += 1
        return read + [extra["end"]], said + [extra["end"]]
    read = [gone[place] if place in gone else token for place, token in enumerate(ids)]
    return read, (
        [token if place in gone else -100 for place, token in enumerate(ids)]
        if kind == "masked"
        else [1 if a != b else 0 for a, b in zip(read, ids)]
    )
