"""Plausible wrong solutions of chapter 7, part 4: spans and orders."""

import torch

from autograder.checks.mistakes.registry import mistake

CORRUPT = "07.corrupt"


def _spans(ids, lost):
    """The text in turns: (whether lost, tokens)."""
    turns = []
    for token, gone in zip(ids, lost):
        if not turns or turns[-1][0] != gone:
            turns.append((gone, []))
        turns[-1][1].append(token)
    return turns


def _corrupt(ids, lost, top, end, sentinel=None, last=(True, True), closing=False, pair=None):
    """Both lists with a part replaced.

    sentinel: of a span's number; last: whether source and target have an end; pair: sentinel and
    tokens of a span.
    """
    source, target, number = [], [], 0
    for gone, tokens in _spans(ids, lost):
        if gone:
            name = top - number if sentinel is None else sentinel(top, number)
            source.append(name)
            target += [name, *tokens] if pair is None else pair(name, tokens)
            number += 1
        else:
            source += tokens
    target += [top - number] if closing else []
    return source + [end] * last[0], target + [end] * last[1]


@mistake(
    CORRUPT,
    "sentinel-for-each-token",
    caught_by="one",
    loses=7,
    misconception=(
        "You put a sentinel for each lost token. Lost tokens side by side are one span with one"
        " sentinel."
    ),
)
def _(ids, lost, top, end):
    source, target = [], []
    for token, gone in zip(ids, lost):
        if gone:
            target += [top, token]
            source.append(top)
            top -= 1
        else:
            source.append(token)
    return source + [end], target + [end]


@mistake(
    CORRUPT,
    "tokens-before-the-sentinel",
    caught_by="one",
    loses=7,
    misconception=(
        "In your target the tokens stand before their sentinel. The sentinel comes first."
    ),
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, pair=lambda name, tokens: [*tokens, name])


@mistake(
    CORRUPT,
    "no-sentinels-in-the-target",
    caught_by="one",
    loses=7,
    misconception="Your target has no sentinels: nobody can say where its tokens belong.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, pair=lambda name, tokens: tokens)


@mistake(
    CORRUPT,
    "whole-text-as-target",
    caught_by="one",
    loses=7,
    misconception="Your target is the whole text, as BART's is. Only what was lost is asked for.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end)[0], [*ids, end]


@mistake(
    CORRUPT,
    "source-and-target-exchanged",
    caught_by="one",
    loses=7,
    misconception="You return target and source. The source comes first.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end)[::-1]


@mistake(
    CORRUPT,
    "spans-reversed",
    caught_by="one",
    loses=7,
    misconception="The tokens of a span stand in the wrong order in your target.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, pair=lambda name, tokens: [name, *tokens[::-1]])


@mistake(
    CORRUPT,
    "upwards",
    caught_by="several",
    loses=2.5,
    misconception="You count sentinels upwards. They go down from `top`.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, sentinel=lambda top, number: top + number)


@mistake(
    CORRUPT,
    "one-sentinel-for-all",
    caught_by="several",
    loses=2.5,
    misconception="All of your spans have the same sentinel. Each has its own.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, sentinel=lambda top, number: top)


@mistake(
    CORRUPT,
    "one-below-top",
    caught_by="one",
    loses=7,
    misconception="Your first sentinel is `top` - 1. It is `top`.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top - 1, end)


@mistake(
    CORRUPT,
    "by-value",
    caught_by="several",
    loses=2.5,
    misconception=(
        "You decide by the token whether it is lost. The same token may be lost at one position and"
        " kept at another."
    ),
)
def _(ids, lost, top, end):
    gone = {token for token, out in zip(ids, lost) if out}
    return _corrupt(ids, [token in gone for token in ids], top, end)


@mistake(
    CORRUPT,
    "first-token-always-kept",
    caught_by="start",
    loses=2,
    misconception=(
        "You begin at the second token, so that a span at the very start has no beginning."
    ),
)
def _(ids, lost, top, end):
    source, target = _corrupt(ids[1:], lost[1:], top, end)
    return ids[:1] + source, target


@mistake(
    CORRUPT,
    "last-span-forgotten",
    caught_by="end",
    loses=2,
    misconception=(
        "You close a span when a kept token follows: a span at the end of the text is forgotten."
    ),
)
def _(ids, lost, top, end):
    while lost and lost[-1]:
        ids, lost = ids[:-1], lost[:-1]
    return _corrupt(ids, lost, top, end)


@mistake(
    CORRUPT,
    "closing-sentinel",
    caught_by="ends",
    loses=1,
    misconception=(
        "You put a closing sentinel at the end of the target. The paper's figure has one; the"
        " released program, and this exercise, have none."
    ),
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, closing=True)


@mistake(
    CORRUPT,
    "no-end-in-the-source",
    caught_by="ends",
    loses=1,
    misconception="Your source lacks its `end`.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, last=(False, True))


@mistake(
    CORRUPT,
    "no-end-in-the-target",
    caught_by="ends",
    loses=1,
    misconception="Your target lacks its `end`.",
)
def _(ids, lost, top, end):
    return _corrupt(ids, lost, top, end, last=(True, False))


@mistake(
    CORRUPT,
    "looks-before-the-first",
    caught_by="borders",
    loses=1,
    misconception=(
        "At position 0 you read `lost[-1]`, which is the last token: where both ends are lost, the"
        " first span gets no sentinel."
    ),
)
def _(ids, lost, top, end):
    source, target = [], []
    for place, token in enumerate(ids):
        if not lost[place]:
            source.append(token)
            continue
        if not lost[place - 1]:
            source.append(top)
            target.append(top)
            top -= 1
        target.append(token)
    return source + [end], target + [end]


@mistake(
    CORRUPT,
    "stops-at-end",
    caught_by="ends",
    loses=2,
    misconception=(
        "You take a token of the text that is equal to `end` for the end. A text may hold any ids."
    ),
)
def _(ids, lost, top, end):
    stop = ids.index(end) if end in ids else len(ids)
    return _corrupt(ids[:stop], lost[:stop], top, end)


@mistake(
    CORRUPT,
    "appends-to-the-argument",
    caught_by="one",
    loses=1.4,
    misconception="You append to the caller's list of ids.",
)
def _(ids, lost, top, end):
    answer = _corrupt(ids, lost, top, end)
    ids.append(end)
    return answer


ORDER = "07.who_sees"


@mistake(
    ORDER,
    "transposed",
    caught_by="turns",
    loses=4,
    misconception="Your table is transposed: row i says what position i sees, not who sees it.",
)
def _(order):
    turns = order.argsort()
    return turns[:, None] < turns[None, :]


@mistake(
    ORDER,
    "order-read-as-turns",
    caught_by="turns",
    loses=4,
    misconception=(
        "You read `order` as the turn of each position. It lists the positions by their turn:"
        " `argsort`"
        " turns one into the other."
    ),
)
def _(order):
    return order[None, :] < order[:, None]


@mistake(
    ORDER,
    "triangle-over-places",
    caught_by="turns",
    loses=4,
    misconception="You give GPT's triangle over the positions, whatever the order is.",
)
def _(order):
    return torch.ones(len(order), len(order), dtype=torch.bool).tril(-1)


@mistake(
    ORDER,
    "rows-in-the-order",
    caught_by="turns",
    loses=4,
    misconception=(
        "Your rows and columns stand in the order in which positions are predicted. Row i is"
        " position i of the"
        " text."
    ),
)
def _(order):
    return torch.ones(len(order), len(order), dtype=torch.bool).tril(-1)[order]


@mistake(
    ORDER,
    "the-one-before-only",
    caught_by="turns",
    loses=4,
    misconception=(
        "A position sees only the one that was predicted right before it. It sees all that were."
    ),
)
def _(order):
    turns = order.argsort()
    return turns[None, :] == turns[:, None] - 1


@mistake(
    ORDER,
    "hidden-is-true",
    caught_by="turns",
    loses=4,
    misconception="Your table is True where a position is hidden. True means seen.",
)
def _(order):
    turns = order.argsort()
    return turns[None, :] >= turns[:, None]


@mistake(
    ORDER,
    "itself",
    caught_by="itself",
    loses=0.5,
    misconception=(
        "Each position sees itself in your table: then it only has to copy its own token."
    ),
)
def _(order):
    turns = order.argsort()
    return turns[None, :] <= turns[:, None]
