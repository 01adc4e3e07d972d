"""Differently written correct solutions of chapter 9, part 2."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("09.draw", "searchsorted")
def _(logits, temperature, u):
    if not temperature:
        return logits.max(1).indices
    probs = (logits.double() / temperature).softmax(1)
    sums = probs.cumsum(1)
    reached = torch.searchsorted(sums, u.double()[:, None], right=True)[:, 0]
    last = torch.tensor(
        [max(place for place, one in enumerate(row) if one > -math.inf) for row in logits.tolist()]
    )
    return torch.minimum(reached, last)


@alternative("09.draw", "plain-python")
def _(logits, temperature, u):
    chosen = []
    for row, number in zip(logits.tolist(), u.tolist()):
        top = max(row)
        if temperature == 0:
            chosen.append(row.index(top))
            continue
        weights = [math.exp((one - top) / temperature) for one in row]
        left, token = number * sum(weights), None
        for place, weight in enumerate(weights):
            if weight > 0:
                token, left = place, left - weight
                if left < 0:
                    break
        chosen.append(token)
    return torch.tensor(chosen)


@alternative("09.keep_top_k", "ranks-by-counting")
def _(logits, k):
    larger = torch.stack([(row[None, :] > row[:, None]).sum(1) for row in logits])
    return torch.where(larger < k[:, None], logits, torch.tensor(-torch.inf))


@alternative("09.keep_top_k", "row-by-row")
def _(logits, k):
    rows = []
    for row, one in zip(logits.numpy(), k.tolist()):
        least = np.sort(row)[::-1][min(one, len(row)) - 1]
        rows.append(np.where(row >= least, row, -np.inf))
    return torch.tensor(np.array(rows), dtype=torch.float32)


@alternative("09.keep_top_p", "smallest-that-stays")
def _(logits, p):
    out = torch.full_like(logits, -torch.inf)
    for row, (scores, one) in enumerate(zip(logits, p.tolist())):
        if one == 1:
            out[row] = scores
            continue
        order = sorted(range(len(scores)), key=lambda place: -scores[place].item())
        probs, total = scores.double().softmax(0).tolist(), 0.0
        for place in order:
            out[row, place] = scores[place]
            total += probs[place]
            if total >= one:
                break
    return out


@alternative("09.keep_top_p", "ascending-from-the-other-side")
def _(logits, p):
    ascending, order = logits.double().sort(1)
    dropped = ascending.softmax(1).cumsum(1) <= 1 - p.double()[:, None]
    dropped[:, -1] = False
    dropped &= (p < 1)[:, None]
    return logits.masked_fill(dropped.gather(1, order.argsort(1)), -torch.inf)


@alternative("09.penalise", "row-by-row")
def _(logits, text, penalty):
    out = logits.clone()
    for row, ids in zip(out, text):
        for token in ids.unique().tolist():
            row[token] = row[token] * penalty if row[token] < 0 else row[token] / penalty
    return out


@alternative("09.penalise", "gather-and-scatter")
def _(logits, text, penalty):
    said = logits.gather(1, text)
    return logits.scatter(1, text, said.clamp(max=0) * penalty + said.clamp(min=0) / penalty)
