"""Differently written correct solutions of chapter 13, parts 1 and 2."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("13.predict_traffic", "step-by-step")
def _(N, D, rows, size):
    table, matrix = N * N, N * D
    steps = [(2 * matrix, table), (table, table), (table + matrix, matrix)]
    full, rest = divmod(N, rows)
    tiles = full + bool(rest)
    return {
        "operations": 2 * D * table + 2 * N * matrix,
        "plain": sum(map(sum, steps)) * size,
        "flash": matrix * size * 2 * (1 + tiles) + N * 4,
    }


@alternative("13.predict_traffic", "floats-are-not-needed")
def _(N, D, rows, size):
    tiles = (N + rows - 1) // rows
    return dict(
        plain=4 * N * size * (N + D),
        flash=N * (2 * D * size * (tiles + 1) + 4),
        operations=N * N * D << 2,
    )


@alternative("13.merge", "row-by-row-in-plain-python")
def _(one, other):
    peaks, sums, mixtures = [], [], []
    for a, s, x, b, t, y in zip(
        *(part.tolist() for part in one), *(part.tolist() for part in other)
    ):
        top = max(a, b)
        f, g = (
            math.exp(a - top) if a > -math.inf else 0.0,
            math.exp(b - top) if b > -math.inf else 0.0,
        )
        peaks.append(top)
        sums.append(f * s + g * t)
        mixtures.append([f * p + g * r for p, r in zip(x, y)])
    return torch.tensor(peaks), torch.tensor(sums), torch.tensor(mixtures)


@alternative("13.merge", "numpy-and-where")
def _(one, other):
    a, s, x, b, t, y = (part.numpy().astype(np.float64) for part in (*one, *other))
    first = a >= b
    with np.errstate(invalid="ignore", over="ignore"):
        factor = np.exp(np.where(first, b - a, a - b))
    factor = np.where(np.isnan(factor), 0.0, factor)
    total = np.where(first, s + factor * t, factor * s + t)
    mixed = np.where(first[:, None], x + factor[:, None] * y, factor[:, None] * x + y)
    return tuple(torch.from_numpy(part).float() for part in (np.where(first, a, b), total, mixed))


@alternative("13.flash_forward", "head-by-head-in-powers-of-two")
def _(q, k, v, rows, columns, causal):
    (H, T, D), S = q.shape, k.shape[1]
    out, lse = torch.zeros(H, T, D), torch.full((H, T), -math.inf)
    for h in range(H):
        for mine in torch.arange(T).split(rows):
            peak, total, mixed = (
                torch.full((len(mine), 1), -1e20),
                torch.zeros(len(mine), 1),
                torch.zeros(len(mine), D),
            )
            for keys in torch.arange(S).split(columns):
                scores = q[h, mine] @ k[h, keys].T * (math.log2(math.e) / math.sqrt(D))
                if causal:
                    scores = torch.where(keys <= mine[:, None] + S - T, scores, -math.inf)
                new = torch.maximum(peak, scores.max(1, keepdim=True).values)
                weights, factor = torch.exp2(scores - new), torch.exp2(peak - new)
                peak, total, mixed = (
                    new,
                    factor * total + weights.sum(1, keepdim=True),
                    factor * mixed + weights @ v[h, keys],
                )
            seen = total[:, 0] > 0
            out[h, mine[seen]] = mixed[seen] / total[seen]
            lse[h, mine[seen]] = ((peak + total.log2()) * math.log(2))[seen, 0]
    return out, lse


@alternative("13.flash_forward", "keys-outside-in-float64")
def _(q, k, v, rows, columns, causal):
    (H, T, D), S = q.shape, k.shape[1]
    out, lse = (
        torch.zeros(H, T, D, dtype=torch.float64),
        torch.full((H, T), -math.inf, dtype=torch.float64),
    )
    for b in range(0, S, columns):
        for a in range(0, T, rows):
            scores = q[:, a : a + rows].double() @ k[:, b : b + columns].double().mT / D**0.5
            if causal:
                scores += torch.full(scores.shape[1:], -math.inf, dtype=torch.float64).triu(
                    1 + a + S - T - b
                )
            here = scores.logsumexp(2)
            mixed = (scores - here.nan_to_num(neginf=0.0)[..., None]).exp() @ v[
                :, b : b + columns
            ].double()
            before = lse[:, a : a + rows].clone()
            after = torch.logaddexp(before, here)
            ground = after.nan_to_num(neginf=0.0)
            out[:, a : a + rows] = (
                out[:, a : a + rows] * (before - ground).exp()[..., None]
                + mixed * (here - ground).exp()[..., None]
            )
            lse[:, a : a + rows] = after
    return out.float(), lse.float()


@alternative("13.flash_backward", "in-two-walks")
def _(grad, q, k, v, out, lse, rows, columns, causal):
    (H, T, D), (K, S, _) = q.shape, k.shape
    group, delta = H // K, torch.einsum("htd,htd->ht", grad, out)

    def tile(h, i, j):
        scores = q[h, i] @ k[h // group, j].T / math.sqrt(D)
        weights = (scores - lse[h, i, None]).exp()
        if causal:
            weights = torch.where(j <= i[:, None] + S - T, weights, 0.0)
        return weights, weights * (grad[h, i] @ v[h // group, j].T - delta[h, i, None]) / math.sqrt(
            D
        )

    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for h in range(H):
        for i in torch.arange(T).split(rows):
            for j in torch.arange(S).split(columns):
                dq[h, i] += tile(h, i, j)[1] @ k[h // group, j]
        for j in torch.arange(S).split(columns):
            for i in torch.arange(T).split(rows):
                weights, ds = tile(h, i, j)
                dk[h // group, j] += ds.T @ q[h, i]
                dv[h // group, j] += weights.T @ grad[h, i]
    return dq, dk, dv


@alternative("13.flash_backward", "autograd-in-each-tile")
def _(grad, q, k, v, out, lse, rows, columns, causal):
    (H, T, D), (K, S, _) = q.shape, k.shape
    dq, dk, dv = (torch.zeros_like(one, dtype=torch.float64) for one in (q, k, v))
    delta = (grad.double() * out).sum(2)
    for a in range(0, T, rows):
        for b in range(0, S, columns):
            i, j = slice(a, a + rows), slice(b, b + columns)
            leaves = [one.double().requires_grad_() for one in (q[:, i], k[:, j], v[:, j])]
            with torch.enable_grad():
                keys, values = (one.repeat_interleave(H // K, 0) for one in leaves[1:])
                scores = leaves[0] @ keys.mT / D**0.5
                seen = (
                    torch.ones(scores.shape[1:]).tril(a + S - T - b) > 0
                    if causal
                    else torch.ones(scores.shape[1:]) > 0
                )
                weights = torch.where(
                    seen, (torch.where(seen, scores - lse[:, i, None], 0.0)).exp(), 0.0
                )
                # The weights divide by a sum that depends on the scores: delta stands for that.
                value = (weights @ values * grad[:, i].double()).sum() - (
                    weights.detach() * scores * delta[:, i, None]
                ).sum()
            for total, part, one in zip(
                (dq, dk, dv), (i, j, j), torch.autograd.grad(value, leaves)
            ):
                total[:, part] += one
    return dq.float(), dk.float(), dv.float()
