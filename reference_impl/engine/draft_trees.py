"""Verify a tree of draft tokens: several candidates at each position, one pass.

Miao et al. 2024 (SpecInfer), section 4.3; Li et al. 2024 (EAGLE), section 3.3. Nodes
are in an order in which parents come first. The target reads all of them in one pass,
under a mask that shows each node its own branch only. Then, from the root on:

    r = p, the target's distribution at this node
    for each child x, drawn from q: accept it with probability min(1, r(x) / q(x)),
        and go on from there; else r = max(r - q, 0), normalized
    if no child is accepted, draw from r and stop; at a leaf draw from p.

With one child a node this is `speculative.verify`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class DraftTree:
    """Draft tokens, the parent of each (-1: the last token of the text), and the
    distribution that each was drawn from.
    """

    ids: list[int]
    parents: list[int]
    q: Float[Tensor, "N V"]


def tree_mask(parents: list[int]) -> Bool[Tensor, "N N"]:
    """True where node i may attend to node j: itself and its ancestors."""
    mask = torch.eye(len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            mask[node] |= mask[parent]
    return mask


def verify_children(
    p: Float[Tensor, "V"],
    children: list[tuple[int, Float[Tensor, "V"]]],
    generator: torch.Generator | None,
) -> tuple[int | None, Float[Tensor, "V"]]:
    """The place of the accepted child, None if there is none; and the distribution to
    draw from then.

    `children` are tokens with the distribution that each was drawn from. Without a
    generator p is all on one token.
    """
    for place, (token, q) in enumerate(children):
        if generator is None:  # greedy: p is 1 for one token, and nothing is drawn
            if p[token] > 0:
                return place, p
            continue
        draw = torch.rand((), generator=generator, dtype=torch.float64)
        if draw * q[token] < p[token]:
            return place, p
        left = (p - q).clamp(min=0)
        p = left / left.sum()
    return None, p


def verify_tree(
    p: Float[Tensor, "M V"], tree: DraftTree, generator: torch.Generator | None
) -> list[int]:
    """The accepted branch and one token of the target's own.

    p[0] is the target's distribution after the text, p[i + 1] after node i.
    """
    accepted, node = [], -1
    while True:
        below = [i for i, parent in enumerate(tree.parents) if parent == node]
        place, left = verify_children(
            p[node + 1], [(tree.ids[i], tree.q[i]) for i in below], generator
        )
        if place is None:
            last = (
                left.argmax()
                if generator is None
                else torch.multinomial(left, 1, generator=generator)
            )
            return [*accepted, int(last)]
        node = below[place]
        accepted.append(tree.ids[node])
