"""Differently written correct solutions of chapter 3, two readers and all layers."""

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("03.letter_patterns", "convolution")
def _(letters, filters, bias):
    return (
        torch.nn.functional.conv1d(letters.T[None], filters.transpose(1, 2), bias)[0].relu().amax(1)
    )


@alternative("03.letter_patterns", "windows")
def _(letters, filters, bias):
    windows = letters.unfold(0, filters.shape[1], 1).transpose(1, 2).flatten(1)  # (places, K D)
    return torch.clamp(windows @ filters.flatten(1).T + bias, min=0).max(0).values


@alternative("03.mix_layers", "einsum")
def _(layers, weights, gamma):
    shares = (weights - weights.logsumexp(0)).exp()
    return torch.einsum("l,ltc->tc", gamma * shares, layers)


@alternative("03.mix_layers", "loop")
def _(layers, weights, gamma):
    powers = torch.exp(weights - weights.max())
    mix = torch.zeros_like(layers[0])
    for power, layer in zip(powers, layers):
        mix = mix + power * layer
    return mix / powers.sum() * gamma


@alternative("03.both_targets", "loops")
def _(ids, mask):
    ahead, behind = torch.full_like(ids, -100), torch.full_like(ids, -100)
    for row, length in enumerate(mask.sum(1).tolist()):
        for place in range(length - 1):
            ahead[row, place], behind[row, place + 1] = ids[row, place + 1], ids[row, place]
    return {"behind": behind, "ahead": ahead}


@alternative("03.both_targets", "padded")
def _(ids, mask):
    real = ids.masked_fill(~mask, -100)
    wide = torch.nn.functional.pad(real, (1, 1), value=-100)
    return {
        "ahead": wide[:, 2:].masked_fill(~mask, -100),
        "behind": wide[:, :-2].masked_fill(~mask, -100),
    }


@alternative("03.test_no_peeking", "cut-off")
def _(implementation):
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 0]])
    together = implementation(ids)
    for row in range(2):
        for length in range(1, 9):
            alone = implementation(ids[row : row + 1, :length])
            torch.testing.assert_close(alone[0], together[row, :length], rtol=0, atol=1e-4)


@alternative("03.test_no_peeking", "everything-else-drawn")
def _(implementation):
    ids = torch.arange(8).repeat(3, 1)
    before = implementation(ids)
    for row in range(3):
        for place in range(8):
            other = torch.full_like(ids, 9)
            other[row, : place + 1] = ids[row, : place + 1]
            change = (
                (implementation(other)[row, : place + 1] - before[row, : place + 1]).abs().max()
            )
            assert change < 1e-3, f"row {row} looks beyond its place {place}"
