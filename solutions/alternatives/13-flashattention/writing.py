"""Differently written tests of chapter 13, part 4."""

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from autograder.checks.mistakes.registry import alternative


@alternative("13.test_flash", "against-torch-s-attention")
def _(flash):
    torch.manual_seed(11)
    for T, S in [(1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5)]:
        seen = torch.ones(T, S).tril(S - T) > 0
        for center, spread in [(0, 1), (30, 20), (300, 4), (-300, 4)]:
            q = torch.ones(2, T, 16) * (center / 40) + torch.randn(2, T, 16) * spread**0.5 / 8
            k, v = (
                10 + torch.randn(2, S, 16) / 16 if center else torch.randn(2, S, 16),
                torch.randn(2, S, 16),
            )
            q = torch.randn(2, T, 16) * (60 if center == 30 else 1) if center in (0, 30) else q
            k = torch.randn(2, S, 16) if center == 30 else k
            for causal in (True, False):
                mask = seen if causal else torch.ones_like(seen)
                blind = ~mask.any(1)
                theirs = scaled_dot_product_attention(
                    q.double(), k.double(), v.double(), attn_mask=mask | blind[:, None]
                )
                theirs[:, blind] = 0
                ends = torch.stack(
                    [
                        torch.stack(
                            [
                                (
                                    (row[keys].double() @ one.double() / 4).logsumexp(0)
                                    if len(keys)
                                    else torch.tensor(-math.inf, dtype=torch.float64)
                                )
                                for one, keys in zip(
                                    queries, [line.nonzero()[:, 0] for line in mask]
                                )
                            ]
                        )
                        for queries, row in zip(q, k)
                    ]
                )
                out, lse = flash(q, k, v, 16, 16, causal)
                limit = 1e-4 if center == 0 else 0.005
                assert out.isfinite().all() and (out.double() - theirs).abs().max() < limit
                assert ((lse == -math.inf) == (ends == -math.inf)).all()
                assert not lse.isnan().any()
                assert ((lse - ends).abs() < limit)[:, ~blind].all()


@alternative("13.test_flash", "loops-in-plain-python")
def _(flash):
    chance = torch.Generator().manual_seed(2)
    for T, S in ((17, 17), (5, 37), (37, 5), (20, 5), (1, 1)):
        for kind in ("near", "above", "below", "mixed"):
            q, k, v = (torch.randn(2, length, 16, generator=chance) for length in (T, S, S))
            q, k = {
                "near": (q, k),
                "above": (40 + q, 1.9 + k / 10),
                "below": (-40 - q, 1.9 + k / 10),
                "mixed": (70 * q, k),
            }[kind]
            for causal in (True, False):
                out, lse = flash(q, k, v, 16, 16, causal)
                for h in range(2):
                    for t in range(T):
                        last = min(S, t + S - T + 1) if causal else S
                        if last <= 0:
                            assert not out[h, t].any() and lse[h, t] == -math.inf
                            continue
                        scores = (k[h, :last].double() @ q[h, t].double()) / 4
                        top = scores.max()
                        shares = (scores - top).exp()
                        right = shares @ v[h, :last].double() / shares.sum()
                        limit = 1e-4 if kind == "near" else 5e-3
                        assert bool(((out[h, t] - right).abs() <= limit).all())
                        assert abs(float(lse[h, t]) - float(top + shares.sum().log())) <= limit
