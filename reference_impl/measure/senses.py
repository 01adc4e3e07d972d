"""Do vectors tell the senses of a word apart? Words of known meaning are spelled alike,
and a few labels sort the rest.

Schuetze 1998, section 5, made such pseudowords: take *river* and *money*, spell both
*bank*, and the truth about each use is known without anybody's judgement. A vector is
sorted to the nearer of two centroids, each the mean of a few labelled uses. So little
is learned from the labels that what is told apart was in the vectors. It was not
necessarily *learned* by them: the same test of untrained weights, and of a bag of the
other words, says how much the sentences alone give away.

Not here: which of a dictionary's senses a use has; classifiers that learn much (Hewitt
and Liang 2019).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.measure.metrics import MetricError


class Uses(NamedTuple):
    """Lines that hold the word, where each holds it first, and which sense it has
    there.
    """

    lines: list[list[str]]
    places: list[int]
    labels: Int[Tensor, "N"]


def respelled(
    lines: Sequence[Sequence[str]],
    senses: Sequence[Sequence[str]],
    spelling: str,
    seed: int = 0,
) -> Uses:
    """The lines with words of exactly one sense, all of these words spelled alike; as
    many of each sense, drawn.

    Lines that differ in their first word only count once: synonyms share a definition.
    A line that holds `spelling` itself is left out. Raises MetricError if a sense has
    no line.
    """
    found: dict[tuple[str, ...], tuple[list[str], int, int]] = {}
    for line in lines:
        here = [sense for sense, words in enumerate(senses) if set(words) & set(line)]
        if len(here) == 1 and spelling not in line:
            words = set(senses[here[0]])
            new = [spelling if word in words else word for word in line]
            found.setdefault(tuple(new[1:]), (new, new.index(spelling), here[0]))
    uses = list(found.values())
    generator = torch.Generator().manual_seed(seed)
    of_each = [[use for use in uses if use[2] == sense] for sense in range(len(senses))]
    for sense, words in enumerate(senses):
        if not of_each[sense]:
            raise MetricError(
                f"no line holds one of {', '.join(words)} and no word of another sense"
            )
    fewest = min(map(len, of_each))
    chosen = [
        some[i]
        for some in of_each
        for i in torch.randperm(len(some), generator=generator)[:fewest].tolist()
    ]
    return Uses(
        [line for line, _, _ in chosen],
        [place for _, place, _ in chosen],
        torch.tensor([label for _, _, label in chosen]),
    )


def by_centroids(
    vectors: Float[Tensor, "N C"],
    labels: Int[Tensor, "N"],
    num_labels: int = 4,
    draws: int = 40,
    seed: int = 0,
) -> Float[Tensor, "R"]:
    """The share of the unlabelled uses that is nearer, by cosine, to the centroid of
    its own sense; one value a draw.

    In each draw `num_labels` uses of every sense are labelled. The draws depend on
    labels and seed alone, so that two kinds of vectors meet the same ones; what is
    equally near counts for the first sense. Raises MetricError if a sense has no use
    left to sort.
    """
    if len(vectors) != len(labels):
        raise MetricError(
            f"{len(vectors)} vectors but {len(labels)} labels: give one label for each"
        )
    senses = labels.unique().tolist()
    for sense in senses:
        if int((labels == sense).sum()) <= num_labels:
            raise MetricError(
                f"sense {sense} has {int((labels == sense).sum())} uses: {num_labels}"
                " labels leave none to sort"
            )
    unit = torch.nn.functional.normalize(vectors.double(), dim=-1)
    generator, right = torch.Generator().manual_seed(seed), []
    for _ in range(draws):
        labelled = torch.zeros(len(labels), dtype=torch.bool)
        for sense in senses:
            uses = (labels == sense).nonzero()[:, 0]
            labelled[
                uses[torch.randperm(len(uses), generator=generator)[:num_labels]]
            ] = True
        centroids = torch.stack(
            [unit[labelled & (labels == sense)].mean(0) for sense in senses]
        )  # (S, C)
        nearest = (
            unit[~labelled] @ torch.nn.functional.normalize(centroids, dim=-1).T
        ).argmax(1)
        right.append(
            (torch.tensor(senses)[nearest] == labels[~labelled]).double().mean()
        )
    return torch.stack(right)
