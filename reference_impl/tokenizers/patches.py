"""Where models without a vocabulary cut a sequence of bytes into patches.

Byte Latent Transformer (Pagnoni et al. 2024, section 2.3): a small language model of
bytes says how uncertain the next byte is. Where its entropy is above a threshold, a
patch begins. H-Net (Hwang, Wang and Gu 2025, section 2.2): a patch begins where the
vector of a byte is unlike that of the byte before, after two learned projections.

    patch_starts(entropies, threshold=1.5)    boundaries of BLT
    boundary_probabilities(q, k)              those of H-Net, at 0.5 and above

The first byte always begins a patch.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


def entropy_bits(counts: Mapping[int, int]) -> float:
    """The entropy, in bits, of the next byte with these counts."""
    weights = torch.tensor(list(counts.values()), dtype=torch.float64)
    p = weights / weights.sum()
    return float(-(p * p.log2()).sum())


def next_byte_entropies(data: bytes, training: bytes, order: int) -> list[float]:
    """For each byte of `data`, the entropy of the byte at its place, counted in
    `training` after the `order` bytes before it, or fewer where those never occurred.
    """
    after: dict[bytes, Counter[int]] = defaultdict(Counter)
    for i, byte in enumerate(training):
        for n in range(min(order, i) + 1):
            after[training[i - n : i]][byte] += 1
    found = []
    for i in range(len(data)):
        contexts = (data[i - n : i] for n in range(min(order, i), -1, -1))
        found.append(entropy_bits(after[next(c for c in contexts if c in after)]))
    return found


def patch_starts(entropies: Sequence[float], threshold: float) -> list[int]:
    """The positions at which a patch begins."""
    return [i for i, h in enumerate(entropies) if i == 0 or h > threshold]


def patches(data: bytes, starts: Sequence[int]) -> list[bytes]:
    """The bytes cut at these positions."""
    ends = [*starts[1:], len(data)]
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def boundary_probabilities(q: Tensor, k: Tensor) -> Tensor:
    """H-Net's routing: (T, D) and (T, D) to (T,), each (1 - cos(q_t, k_{t-1})) / 2, and
    1 for the first byte.
    """
    cosine = torch.cosine_similarity(q[1:], k[:-1], dim=-1)
    return torch.cat((q.new_ones(1), (1 - cosine) / 2))
