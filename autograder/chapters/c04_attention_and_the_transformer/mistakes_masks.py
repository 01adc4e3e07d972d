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
    caught_by="padding mask",
    loses=2.5,
    misconception="You never use `lengths`: the padding is not masked.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=torch.full_like(lengths, keys))


@mistake(
    MASKS,
    "no-triangle",
    caught_by="causal mask",
    loses=4,
    misconception="You mask the padding only: each query also attends to the keys after it.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.full((queries,), keys))


@mistake(
    MASKS,
    "triangle-at-the-left",
    caught_by="last T positions",
    loses=4,
    misconception=(
        "You align the triangle with the first key, as if query 0 were at position 0. The queries"
        " are the last T positions."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(queries))


@mistake(
    MASKS,
    "offset-with-the-wrong-sign",
    caught_by="last T positions",
    loses=4,
    misconception=(
        "You shift the triangle the wrong way: query t is at position S - T + t, not T - S + t."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(queries) + queries - keys)


@mistake(
    MASKS,
    "not-causal-with-a-cache",
    caught_by="last T positions",
    loses=3,
    misconception=(
        "You leave out the causal mask where T < S. Of several new queries, only the last attends"
        " to every key."
    ),
)
def _(lengths, queries, keys):
    place = None if queries == keys else torch.full((queries,), keys)
    return _mask(lengths, queries, keys, place=place)


@mistake(
    MASKS,
    "queries-as-columns",
    caught_by="causal mask",
    loses=5,
    misconception="You exchange queries and keys. The result has a row for each query.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys).mT


@mistake(
    MASKS,
    "own-place-hidden",
    caught_by="causal mask",
    loses=4,
    misconception=(
        "You mask each query's own position. It attends to itself and to what came before."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(keys - queries, keys) - 1)


@mistake(
    MASKS,
    "one-place-too-far",
    caught_by="causal mask",
    loses=4,
    misconception="You are off by one: each query attends to the key right after it.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, place=torch.arange(keys - queries, keys) + 1)


@mistake(
    MASKS,
    "later-keys-only",
    caught_by="causal mask",
    loses=5,
    misconception="You use the wrong triangle: each query attends to the keys after it.",
)
def _(lengths, queries, keys):
    place = torch.arange(keys - queries, keys)
    return (torch.arange(keys) < lengths[:, None, None, None]) & (
        torch.arange(keys) >= place[:, None]
    )


@mistake(
    MASKS,
    "true-means-hidden",
    caught_by="causal mask",
    loses=5,
    misconception=(
        "You return True where a key is masked. True means that the query may attend to it."
    ),
)
def _(lengths, queries, keys):
    return ~_mask(lengths, queries, keys)


@mistake(
    MASKS,
    "either-rule",
    caught_by="causal mask",
    loses=5,
    misconception="You combine the two conditions with or. Both must hold.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, join=torch.logical_or)


@mistake(
    MASKS,
    "padding-sees-nothing",
    caught_by="padding mask",
    loses=2.5,
    misconception=(
        "You mask every key for queries at padding positions. They follow the same formula."
    ),
)
def _(lengths, queries, keys):
    own = torch.arange(keys - queries, keys)[:, None] < lengths[:, None, None, None]
    return _mask(lengths, queries, keys) & own


def _from_the_end(lengths, queries, keys, end):
    """The mask with the queries at the last positions before `end`, (B,)."""
    place = end[:, None] - queries + torch.arange(queries)  # (B, T)
    key = torch.arange(keys)
    return (key <= place[:, None, :, None]) & (key < lengths[:, None, None, None])


@mistake(
    MASKS,
    "queries-from-each-length",
    caught_by="both masks together",
    loses=1.5,
    misconception=(
        "You count query positions from each sequence's length. They are the last T of all S."
    ),
)
def _(lengths, queries, keys):
    return _from_the_end(lengths, queries, keys, lengths)


@mistake(
    MASKS,
    "queries-from-the-longest",
    caught_by="both masks together",
    loses=1.5,
    misconception="You take the longest length for S. The padded length S is `num_keys`.",
)
def _(lengths, queries, keys):
    return _from_the_end(lengths, queries, keys, lengths.max().expand(lengths.shape))


@mistake(
    MASKS,
    "as-many-keys-as-the-longest",
    caught_by="padding mask",
    loses=2.5,
    misconception="You take the longest length for S. The padded length S is `num_keys`.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, int(lengths.max()))


@mistake(
    MASKS,
    "padding-in-front",
    caught_by="padding mask",
    loses=2.5,
    misconception=(
        "You assume that the padding comes first. It comes last: the first lengths[b] positions are"
        " tokens."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=torch.full_like(lengths, keys)) & (
        torch.arange(keys) >= keys - lengths[:, None, None, None]
    )


@mistake(
    MASKS,
    "one-word-too-many",
    caught_by="padding mask",
    loses=2.5,
    misconception=(
        "You count a padding position as a token: positions count from 0, so the last token is at"
        " lengths[b] - 1."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths + 1)


@mistake(
    MASKS,
    "one-word-too-few",
    caught_by="causal mask",
    loses=5,
    misconception="You mask the last token of each sequence.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths - 1)


@mistake(
    MASKS,
    "length-of-the-first-text",
    caught_by="padding mask",
    loses=2.5,
    misconception="You use the length of the first sequence for all of them.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths[:1].expand(lengths.shape))


@mistake(
    MASKS,
    "longest-text",
    caught_by="padding mask",
    loses=2.5,
    misconception="You use the length of the longest sequence for all of them.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths.max().expand(lengths.shape))


@mistake(
    MASKS,
    "words-moved-to-the-queries",
    caught_by="last T positions",
    loses=4,
    misconception=(
        "You subtract the keys before the first query from the lengths, as if the tokens began"
        " there."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys, length=lengths - (keys - queries))


@mistake(
    MASKS,
    "never-an-empty-row",
    caught_by="both masks together",
    loses=1.5,
    misconception=(
        "You let every query attend to its own position, so that no row is empty. Padding stays"
        " masked; a row may be all False."
    ),
)
def _(lengths, queries, keys):
    own = torch.arange(keys) == torch.arange(keys - queries, keys)[:, None]
    return _mask(lengths, queries, keys) | own & (lengths == 0)[:, None, None, None]


@mistake(
    MASKS,
    "queries-of-a-square",
    caught_by="last T positions",
    loses=4,
    misconception=(
        "You return S rows, one for each key. There is one row for each of the T queries."
    ),
)
def _(lengths, queries, keys):
    return _mask(lengths, keys, keys)


@mistake(
    MASKS,
    "numbers-to-add",
    caught_by="causal mask",
    loses=5,
    misconception=(
        "You return an additive mask of 0 and minus infinity. Return bools, True where the query"
        " may attend to the key."
    ),
)
def _(lengths, queries, keys):
    return torch.where(_mask(lengths, queries, keys), 0.0, -torch.inf)


@mistake(
    MASKS,
    "zeros-and-ones",
    caught_by="causal mask",
    loses=1,
    misconception="You return zeros and ones. Return bools.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys).float()


@mistake(
    MASKS,
    "axis-of-the-heads-left-out",
    caught_by="causal mask",
    loses=1,
    misconception="You leave out the axis of the heads, of length 1.",
)
def _(lengths, queries, keys):
    return _mask(lengths, queries, keys)[:, 0]
