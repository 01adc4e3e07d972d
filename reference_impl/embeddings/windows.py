"""Windows over text, many sentences at once: thin out frequent words, pack sentences
into rows, say who sees whom.

Skip-gram and CBOW both walk over the text with a window. Done word by word, Python
spends its time on the walking. Packed into rows of equal length, all windows of a batch
are one matrix product, masked by who may see whom.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reference_impl.embeddings.vocabulary import Sentence, flatten

PADDING = -1


class Batch(NamedTuple):
    """R rows of T places.

    Padding has word 0, no neighbours, and is nobody's neighbour: it changes nothing.
    """

    words: Int[Tensor, "R T"]
    mask: Bool[Tensor, "R T T"]  # mask[r, i, j]: place i has place j in its window


def pairs_plain(sentence: Sentence, radius: Sequence[int]) -> list[tuple[int, int]]:
    """The (centre, context) pairs of one sentence, the word at place i looking
    radius[i] places each way.
    """
    return [
        (int(sentence[i]), int(sentence[j]))
        for i in range(len(sentence))
        for j in range(max(0, i - radius[i]), min(len(sentence), i + radius[i] + 1))
        if j != i
    ]


def subsample(
    sentences: Sequence[Sentence], keep: Float[Tensor, "V"], generator: torch.Generator
) -> list[Int[np.ndarray, " _"]]:
    """Keep each occurrence of word w with probability keep[w]; what stays closes up, so
    that windows reach farther.
    """
    ids, sentence_of = flatten(sentences)
    kept = (
        torch.rand(len(ids), generator=generator, dtype=torch.float64).numpy()
        < keep.numpy()[ids]
    )
    ends = np.cumsum(np.bincount(sentence_of[kept], minlength=len(sentences)))
    return np.split(ids[kept], ends[:-1])


def pack(
    sentences: Sequence[Sentence], length: int
) -> tuple[Int[Tensor, "R T"], Int[Tensor, "R T"]]:
    """Lay sentences one after the other into rows of `length` places: the words, and
    which sentence each is from.

    A sentence that does not fit into what is left of a row starts the next; one longer
    than a row is cut. Empty places hold PADDING in both.
    """
    starts, place = [], 0
    pieces = [s[i : i + length] for s in sentences for i in range(0, len(s), length)]
    for piece in pieces:
        if place % length + len(piece) > length:
            place += length - place % length
        starts.append(place)
        place += len(piece)
    ids, piece_of = flatten(pieces)
    rows = -(-place // length)
    words = np.full(rows * length, PADDING, dtype=np.int64)
    owner = np.full(rows * length, PADDING, dtype=np.int64)
    # The k-th word of a piece goes k places after the piece's start.
    first = np.cumsum([0, *map(len, pieces)])[:-1]
    target = np.arange(len(ids)) - (first - np.array(starts, dtype=np.int64))[piece_of]
    words[target], owner[target] = ids, piece_of
    return torch.from_numpy(words.reshape(rows, length)), torch.from_numpy(
        owner.reshape(rows, length)
    )


def window_mask(
    owner: Int[Tensor, "R T"], radius: Int[Tensor, "R T"]
) -> Bool[Tensor, "R T T"]:
    """mask[r, i, j]: places i and j of row r are in one sentence, not the same, and at
    most radius[r, i] apart.
    """
    place = torch.arange(owner.shape[1])
    distance = (place[:, None] - place[None, :]).abs()  # (T, T)
    near = distance <= radius[:, :, None]  # (R, T, T)
    same = (owner[:, :, None] == owner[:, None, :]) & (distance > 0)
    return near & same & (owner >= 0)[:, :, None]


def walk(
    sentences: Sequence[Sentence],
    keep: Float[Tensor, "V"],
    *,
    window: int,
    epochs: int,
    row_length: int,
    rows: int,
    generator: torch.Generator,
) -> Iterator[tuple[float, Batch]]:
    """All windows of the text, `rows` rows at a time, `epochs` times over; with each
    batch the share of work done.

    Each epoch thins the text anew, shuffles the sentences, and lets every centre draw
    its own radius from 1 to `window`: near neighbours are seen more often than far ones
    (Mikolov et al. 2013a, section 3.2).
    """
    for epoch in range(epochs):
        kept = subsample(sentences, keep, generator)
        order = torch.randperm(len(kept), generator=generator).tolist()
        words, owner = pack([kept[i] for i in order], row_length)
        radius = torch.randint(1, window + 1, words.shape, generator=generator)
        for first in range(0, len(words), rows):
            part = slice(first, first + rows)
            done = (epoch + first / len(words)) / epochs
            yield (
                done,
                Batch(words[part].clamp(min=0), window_mask(owner[part], radius[part])),
            )
