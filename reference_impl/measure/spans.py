"""Entities in tagged text: which spans the tags name, and how many of them were found
exactly.

Tjong Kim Sang and De Meulder 2003, section 2 (CoNLL): an entity counts as right only if
its kind and both ends are. Tags are B-X for an entity's first word, I-X for the others,
O for the rest. A model may write what no one would, and the shared task's program
`conlleval` reads that so: an I-X that follows O, or an entity of another kind, begins
one.

Not here: labels for pieces of words (see `objectives`), other schemes (IOBES), credit
for overlap.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from reference_impl.measure.metrics import MetricError, Scores, scores

T = TypeVar("T")


class Entity(NamedTuple):
    """Words `start` to `end`, the latter excluded, are of this kind."""

    kind: str
    start: int
    end: int


class EntityScores(NamedTuple):
    """Precision, recall and F1 of all entities together, and by kind; the share of
    words with the right tag.
    """

    overall: Scores
    by_kind: dict[str, Scores]
    tag_accuracy: float


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of one sentence, in order. Raises MetricError for what is no tag."""
    found: list[Entity] = []
    start, before = 0, ""  # of the entity that is open; no kind: none is
    for place, tag in enumerate((*tags, "O")):
        mark, _, kind = tag.partition("-")
        if tag != "O" and not (mark in ("B", "I") and kind):
            raise MetricError(
                f'{tag!r} is no tag: give "O", or "B-" or "I-" and a kind'
            )
        if mark == "I" and kind == before:
            continue
        if before:
            found.append(Entity(before, start, place))
        start, before = place, kind
    return found


def entity_scores(
    predicted: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]
) -> EntityScores:
    """How many entities of `wanted` were found in all sentences, as CoNLL counts.

    Raises MetricError if there is no word, or a sentence has not as many tags in both.
    """
    if [len(tags) for tags in predicted] != [len(tags) for tags in wanted]:
        raise MetricError(
            "predicted and wanted tags are not of the same sentences: their lengths"
            " differ"
        )
    num_words = sum(map(len, wanted))
    if not num_words:
        raise MetricError("no words, so nothing to score")
    found, real, right = Counter(), Counter(), Counter()
    for said, true in zip(predicted, wanted, strict=True):
        said, true = set(entities(said)), set(entities(true))
        for counter, several in ((found, said), (real, true), (right, said & true)):
            counter.update(entity.kind for entity in several)
    same = sum(
        one == other
        for said, true in zip(predicted, wanted, strict=True)
        for one, other in zip(said, true, strict=True)
    )
    return EntityScores(
        scores(right.total(), found.total(), real.total()),
        {
            kind: scores(right[kind], found[kind], real[kind])
            for kind in sorted(found | real)
        },
        same / num_words,
    )


def of_words(word_ids: Sequence[int | None], predictions: Sequence[T]) -> list[T]:
    """Each word's prediction from those of its pieces: that of the first, the only one
    that was trained.

    `word_ids` are those of an encoding. Words that truncation cut off are missing at
    the end.
    """
    if len(word_ids) != len(predictions):
        raise MetricError(
            f"{len(predictions)} predictions but {len(word_ids)} tokens: give one for"
            " each token"
        )
    return [
        prediction
        for place, (word, prediction) in enumerate(zip(word_ids, predictions))
        if word is not None and (not place or word_ids[place - 1] != word)
    ]
