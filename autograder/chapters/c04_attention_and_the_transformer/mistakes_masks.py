"""Plausible wrong solutions of chapter 4, part 1: the masks."""

import torch

from autograder.checks.mistakes.registry import mistake

MASKS = "04.masks"


def _mask(lengths, queries, keys, place=None, length=None, join=torch.logical_and):
    """The mask with one part replaced. place: of each query, (T); length: of each text, (B)."""
    place = torch.arange(keys - queries, keys) if place is None else place
    words = torch.arange(keys) < (lengths if length is None else length)[:, None, None, None]
    return (
        join(words, (torch.arange(keys) <= place[:, None]).expand(len(lengths), 1, queries, keys))
        .expand(len(lengths), 1, queries, keys)
        .clone()
    )


@mistake(
    MASKS,
    "no-padding",
    caught_by="padding",
    loses=2.5,
    misconception="You never look at `lengths`: the padding is seen.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=torch.full_like(lengths, keys))


@mistake(
    MASKS,
    "no-triangle",
    caught_by="causal",
    loses=4,
    misconception="You hide the padding only: each query sees the keys after it too.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.full((queries,), keys))


@mistake(
    MASKS,
    "triangle-at-the-left",
    caught_by="last",
    loses=4,
    misconception=(
        "Your triangle begins at the first key, as if query 0 stood at place 0. The queries are the"
        " last T of the S places."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(queries))


@mistake(
    MASKS,
    "own-place-hidden",
    caught_by="causal",
    loses=4,
    misconception="You hide each query's own place. It sees itself and what came before.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(keys - queries, keys) - 1)


@mistake(
    MASKS,
    "one-place-too-far",
    caught_by="causal",
    loses=4,
    misconception="Each query sees one place too many: the key right after it.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(keys - queries, keys) + 1)


@mistake(
    MASKS,
    "later-keys-only",
    caught_by="causal",
    loses=5,
    misconception="Your triangle lies on the other side: each query sees what comes after it.",
)
def _(lengths, queries, keys):
    place = torch.arange(keys - queries, keys)
    return (torch.arange(keys) < lengths[:, None, None, None]) & (
        torch.arange(keys) >= place[:, None]
    )


@mistake(
    MASKS,
    "true-means-hidden",
    caught_by="causal",
    loses=5,
    misconception="Your mask is True where a key is hidden. True means seen.",
)
def _(lengths, queries, keys):
    return ~_mask(lengths, queries, keys)


@mistake(
    MASKS,
    "either-rule",
    caught_by="causal",
    loses=5,
    misconception="A key is seen in your mask when one of the two rules allows it. Both must.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, join=torch.logical_or)


@mistake(
    MASKS,
    "padding-sees-nothing",
    caught_by="padding",
    loses=2.5,
    misconception=(
        "You hide everything from a query whose own place is padding. Its row is like any other;"
        " nobody reads it."
    ),
)
def _(lengths, queries, keys):
    own = torch.arange(keys - queries, keys)[:, None] < lengths[:, None, None, None]
    return _mask(lengths, queries, keys) & own


@mistake(
    MASKS,
    "padding-in-front",
    caught_by="padding",
    loses=2.5,
    misconception=(
        "You take the padding to stand before the words. It stands behind them: the first"
        " lengths[b] places are words."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=torch.full_like(lengths, keys)) & (
        torch.arange(keys) >= keys - lengths[:, None, None, None]
    )


@mistake(
    MASKS,
    "one-word-too-many",
    caught_by="padding",
    loses=2.5,
    misconception=(
        "You count one place of the padding as a word: places are numbered from 0, so the last word"
        " stands at lengths[b] - 1."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths + 1)


@mistake(
    MASKS,
    "one-word-too-few",
    caught_by="causal",
    loses=5,
    misconception="You hide the last word of each text.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths - 1)


@mistake(
    MASKS,
    "length-of-the-first-text",
    caught_by="padding",
    loses=2.5,
    misconception="You use the length of the first text for all of them.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths[:1].expand(lengths.shape))


@mistake(
    MASKS,
    "longest-text",
    caught_by="padding",
    loses=2.5,
    misconception="You use the length of the longest text for all of them.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths.max().expand(lengths.shape))


@mistake(
    MASKS,
    "words-moved-to-the-queries",
    caught_by="last",
    loses=4,
    misconception=(
        "You take away the keys before the first query from the lengths, as if the words began"
        " there."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths - (keys - queries))


@mistake(
    MASKS,
    "never-an-empty-row",
    caught_by="joined",
    loses=1.5,
    misconception=(
        "You let a query see its own place in any case, so that no row is empty. Padding stays"
        " hidden, and a row may be False everywhere."
    ),
)
def _(lengths, queries, keys):
    own = torch.arange(keys) == torch.arange(keys - queries, keys)[:, None]
    return _mask(lengths, queries, keys) | own & (lengths == 0)[:, None, None, None]


@mistake(
    MASKS,
    "queries-of-a-square",
    caught_by="last",
    loses=4,
    misconception="You return S rows, one for each key. There is a row for each of the T queries.",
)
def _(lengths, queries, keys):
    return _mask(lengths, keys, keys)


@mistake(
    MASKS,
    "numbers-to-add",
    caught_by="causal",
    loses=5,
    misconception=(
        "You return numbers to be added to the scores, 0 and minus infinity. A bool was asked for,"
        " True where a key is seen."
    ),
)
def _(lengths, queries, keys):
    return torch.where(_mask(lengths, queries, keys), 0.0, -torch.inf)


@mistake(
    MASKS,
    "zeros-and-ones",
    caught_by="causal",
    loses=1,
    misconception="You return zeros and ones. A bool was asked for.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys).float()


@mistake(
    MASKS,
    "axis-of-the-heads-left-out",
    caught_by="causal",
    loses=1,
    misconception="You leave out the axis of the heads, of length 1.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys)[:, 0]
