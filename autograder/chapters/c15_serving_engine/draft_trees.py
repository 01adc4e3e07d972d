"""Right answers for `accept_tree`, in float64; trees with drawn distributions; and all draws of a
small tree with their probabilities.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.checks.inputs.draws import counts, whole

MARGIN = 1e-3  # numbers that the rules compare are further apart, or equal in binary
LEAST = 0.05  # what a residual, and the draft's rest for a further child, add up to at least


@dataclass(frozen=True)
class Tree:
    """What `accept_tree` is given, without its uniform numbers."""

    parents: list[int]
    tokens: list[int]
    p: Float[Tensor, "N+1 V"]
    q: Float[Tensor, "N+1 V"]


@dataclass(frozen=True)
class Accepted:
    """The accepted nodes, the sampled token, and whether rounding in float32 cannot change them."""

    path: list[int]
    token: int
    clear: bool


def accepted(tree: Tree, u: list[float]) -> Accepted:
    """The right answer, worked out with Python floats, child after child."""
    p, q, path, clear = tree.p.double().tolist(), tree.q.double().tolist(), [], True
    waiting = [node for node, parent in enumerate(tree.parents) if parent == -1]
    target, draft = p[0], q[0]
    while waiting:
        node = waiting.pop(0)
        token = tree.tokens[node]
        clear = clear and abs(u[node] - target[token] / draft[token]) > MARGIN
        if u[node] * draft[token] < target[token]:
            path.append(node)
            target, draft = p[node + 1], q[node + 1]
            waiting = [child for child, parent in enumerate(tree.parents) if parent == node]
            continue
        left = [max(one - other, 0.0) for one, other in zip(target, draft)]
        clear = clear and sum(left) > LEAST
        target = [one / sum(left) for one in left]
        if waiting:
            kept = [0.0 if place == token else one for place, one in enumerate(draft)]
            clear = clear and sum(kept) > LEAST
            draft = [one / sum(kept) for one in kept]
    below = torch.tensor(target, dtype=torch.float64).cumsum(0)
    clear = clear and bool(((below[:-1] - u[-1]).abs() > MARGIN).all())
    return Accepted(path, min(int((below <= u[-1]).sum()), len(target) - 1), clear)


def distributions(rng: torch.Generator, number: int, V: int) -> Float[Tensor, "number V"]:
    """Drawn distributions, float32; no probability is 0."""
    drawn = torch.rand(number, V, generator=rng, dtype=torch.float64) ** 2 + 0.05
    return (drawn / drawn.sum(1, keepdim=True)).float()


def drawn_tree(rng: torch.Generator, parents: list[int], V: int) -> Tree:
    """A tree of this form, the children of each node drawn without replacement."""
    p, q = (distributions(rng, len(parents) + 1, V) for _ in range(2))
    tokens = [0] * len(parents)
    for parent in set(parents):
        children = [node for node, above in enumerate(parents) if above == parent]
        drawn = q[parent + 1].multinomial(len(children), generator=rng).tolist()
        for node, token in zip(children, drawn, strict=True):
            tokens[node] = token
    return Tree(parents, tokens, p, q)


def drawn_parents(rng: torch.Generator, nodes: int) -> list[int]:
    """The parent of each node, drawn; none has more than three children."""
    parents: list[int] = []
    for node in range(nodes):
        free = [one for one in range(-1, node) if parents.count(one) < 3]
        parents.append(free[whole(rng, 0, len(free) - 1)])
    return parents


def clear_numbers(rng: torch.Generator, tree: Tree, tries: int = 40) -> list[float] | None:
    """Uniform numbers that are not near to what they are compared with; None if there are none."""
    for _ in range(tries):
        u = [one / 1024 for one in counts(rng, 0, 1000, len(tree.parents) + 1).tolist()]
        if accepted(tree, u).clear:
            return u
    return None


def draws_of(tree: Tree, target: dict, draft: dict) -> Iterator[tuple[float, Tree]]:
    """Every way to draw the tokens of a tree of this form, with its probability.

    target and draft: the distribution after each text, a tuple of tokens.
    """
    V = tree.p.shape[1]
    for tokens in product(range(V), repeat=len(tree.parents)):
        texts: list[tuple[int, ...]] = [()]
        chance, taken = 1.0, [[] for _ in range(len(tree.parents) + 1)]
        for token, parent in zip(tokens, tree.parents):
            text, before = texts[parent + 1], taken[parent + 1]
            left = 1 - sum(draft[text][one] for one in before)
            chance *= 0.0 if token in before else draft[text][token] / left
            before.append(token)
            texts.append((*text, token))
        if chance > 0:
            p, q = (torch.tensor([rows[text] for text in texts]) for rows in (target, draft))
            yield chance, Tree(tree.parents, list(tokens), p, q)
