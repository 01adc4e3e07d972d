"""Differently written correct solutions of chapter 17, part 2."""

import hashlib
from fractions import Fraction

from autograder.checks.mistakes.registry import alternative


@alternative("17.held_out", "character-by-character")
def _(questions, every):
    train, test = [], []
    for question in questions:
        spaced = "".join(one.lower() if one.isalnum() else " " for one in question)
        key = " ".join(sorted(spaced.split()))
        first = int(hashlib.sha256(key.encode("utf-8")).hexdigest()[:2], 16)
        (train if first % every else test).append(question)
    return train, test


@alternative("17.held_out", "keys-first")
def _(questions, every):
    import re

    keys = [sorted(filter(None, re.split("[^a-z0-9]+", one.lower()))) for one in questions]
    digests = [hashlib.sha256(bytes(" ".join(key), "ascii")).digest() for key in keys]
    flags = [digest[0] % every == 0 for digest in digests]
    return (
        [one for one, flag in zip(questions, flags) if not flag],
        [one for one, flag in zip(questions, flags) if flag],
    )


@alternative("17.training_mix", "fractions")
def _(weights, lengths, budget, replay):
    rows = int(Fraction(replay, 100) * budget / lengths["replay"])
    rest = budget - rows * lengths["replay"]
    scale = Fraction(rest, sum(weights[kind] * lengths[kind] for kind in weights))
    exact = {kind: weight * scale for kind, weight in weights.items()}
    found = {kind: int(share) for kind, share in exact.items()}
    left = rest - sum(found[kind] * lengths[kind] for kind in found)
    order = sorted(exact, key=lambda kind: exact[kind] - found[kind], reverse=True)
    for kind in order:
        if left >= lengths[kind]:
            left -= lengths[kind]
            found[kind] += 1
    return {**found, "replay": rows}


@alternative("17.training_mix", "pick-the-largest")
def _(weights, lengths, budget, replay):
    found = {"replay": (budget * replay // 100) // lengths["replay"]}
    rest = budget - found["replay"] * lengths["replay"]
    kinds = list(weights)
    total = sum(weights[kind] * lengths[kind] for kind in kinds)
    lost = {}
    for kind in kinds:
        found[kind], lost[kind] = divmod(weights[kind] * rest, total)
        budget -= found[kind] * lengths[kind]
    left = budget - found["replay"] * lengths["replay"]
    while lost:
        kind = max(lost, key=lost.get)
        del lost[kind]
        if lengths[kind] <= left:
            found[kind], left = found[kind] + 1, left - lengths[kind]
    return found
