"""Differently written correct solutions of chapter 4, the block."""

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("04.block", "one-name-changed")
def _(x, attend, feed_forward, norm_1, norm_2):
    normed = norm_1(x)
    seen = attend(normed)
    x = x + seen
    normed = norm_2(x)
    thought = feed_forward(normed)
    return x + thought


@alternative("04.block", "two-rounds")
def _(x, attend, feed_forward, norm_1, norm_2):
    stream = x.clone()
    for norm, layer in ((norm_1, attend), (norm_2, feed_forward)):
        stream += layer(norm(stream))
    return stream


@alternative("04.block", "sum-of-three")
def _(x, attend, feed_forward, norm_1, norm_2):
    seen = attend(norm_1(x))
    return torch.stack([x, seen, feed_forward(norm_2(seen + x))]).sum(0)
