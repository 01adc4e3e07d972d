"""Differently written correct solutions of chapter 11, part 3."""

import itertools

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from autograder.checks.mistakes.registry import alternative


@alternative("11.unpad", "row-by-row")
def _(ids, mask):
    tokens, ends, positions = [], [0], []
    for row, here in zip(ids.tolist(), mask.tolist()):
        kept = [token for token, seen in zip(row, here) if seen]
        tokens += kept
        positions += range(len(kept))
        ends.append(len(tokens))
    return (
        torch.tensor(tokens, dtype=torch.long),
        torch.tensor(ends, dtype=torch.int32),
        torch.tensor(positions, dtype=torch.long),
    )


@alternative("11.unpad", "from-the-bounds")
def _(ids, mask):
    lengths = mask.long().sum(dim=-1)
    ends = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    flat = torch.nonzero(mask.reshape(-1), as_tuple=True)[0]
    positions = torch.arange(len(flat)) - torch.repeat_interleave(ends[:-1], lengths)
    return ids.reshape(-1)[flat], ends.to(torch.int32), positions


@alternative("11.packed_attention", "gathered-neighbours")
def _(q, k, v, cu, window):
    H, N, D = q.shape
    if window is None:
        parts = [
            torch.nn.functional.softmax(
                torch.einsum("hid,hjd->hij", q[:, a:b] / D**0.5, k[:, a:b]), -1
            )
            @ v[:, a:b]
            for a, b in itertools.pairwise(cu.tolist())
        ]
        return torch.cat(parts, 1)
    text = torch.bucketize(torch.arange(N), cu[1:].long(), right=True)
    side = min(window // 2, max(cu.diff().tolist()))
    if N == 0:
        return q.clone()
    pieces = []
    for places in torch.arange(N).split(512):
        near = places[:, None] + torch.arange(-side, side + 1)  # (n, 2 side + 1)
        inside = near.clamp(0, N - 1)
        wrong = (near != inside) | (text[inside] != text[places][:, None])
        scores = (q[:, places, None] * k[:, inside]).sum(-1) / D**0.5
        weights = scores.masked_fill(wrong, -torch.inf).softmax(-1)
        pieces.append((weights[..., None] * v[:, inside]).sum(2))
    return torch.cat(pieces, 1)


@alternative("11.packed_attention", "torch-operator")
def _(q, k, v, cu, window):
    mixed = [q[:, :0]]
    for start, stop in itertools.pairwise(cu.tolist()):
        step = 128 if window is not None else stop - start
        for first in range(start, stop, max(step, 1)):
            last = min(first + step, stop)
            low, high = (
                (start, stop)
                if window is None
                else (max(start, first - window // 2), min(stop, last + window // 2))
            )
            rows, columns = torch.arange(first, last), torch.arange(low, high)
            near = None if window is None else (rows[:, None] - columns[None]).abs().le(window // 2)
            mixed.append(
                scaled_dot_product_attention(
                    q[None, :, first:last],
                    k[None, :, low:high],
                    v[None, :, low:high],
                    attn_mask=near,
                )[0]
            )
    return torch.cat(mixed, dim=1)


@alternative("11.pack_rows", "room-kept")
def _(lengths, budget):
    rows, room = [], []
    for length, text in sorted(
        ((length, text) for text, length in enumerate(lengths)), reverse=True
    ):
        place = next((place for place, left in enumerate(room) if left >= length), None)
        if place is None:
            rows.append([])
            room.append(budget)
            place = -1
        rows[place].append(text)
        room[place] -= length
    return rows[::-1]


@alternative("11.pack_rows", "first-fit-with-arrays")
def _(lengths, budget):
    room, rows = np.full(len(lengths), budget), [[] for _ in lengths]
    for text in np.argsort(-np.array(lengths, dtype=np.int64), kind="stable"):
        row = int(np.argmax(room >= lengths[text]))
        room[row] -= lengths[text]
        rows[row].append(int(text))
    return [row for row in rows if row]


@alternative("11.lay_rows", "by-hand")
def _(texts, rows):
    out = []
    for row in rows:
        ids, bounds, positions = [], [0], []
        for number in row:
            ids.extend(texts[number])
            positions.extend(range(len(texts[number])))
            bounds.append(bounds[-1] + len(texts[number]))
        out.append((ids, bounds, positions))
    return out


@alternative("11.lay_rows", "from-the-bounds")
def _(texts, rows):
    def one(row):
        ids = list(itertools.chain.from_iterable(texts[number] for number in row))
        bounds = list(itertools.accumulate([len(texts[number]) for number in row], initial=0))
        starts = [start for start, stop in itertools.pairwise(bounds) for _ in range(stop - start)]
        return ids, bounds, [place - start for place, start in enumerate(starts)]

    return [one(row) for row in rows]
