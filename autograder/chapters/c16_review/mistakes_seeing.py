"""Plausible wrong solutions of chapter 16, part 2."""

import torch

from autograder.checks.mistakes.registry import mistake

MASKS, LABELS = "16.seven_masks", "16.make_labels"


def _mask(
    kind,
    length,
    extra,
    transposed=(),
    prefix="both",
    window=lambda w: w - 1,
    after=False,
    side=lambda s: s,
    rows=True,
    columns=True,
    near=True,
    padding="itself",
    causal=True,
    apart=True,
    diagonal=True,
    order="turns",
    own=True,
):
    """The answer with one part replaced."""
    i, j = torch.arange(length)[:, None], torch.arange(length)[None]
    before = j <= i if diagonal else j < i
    if kind == "full":
        seen = torch.ones(length, length, dtype=torch.bool)
    elif kind == "causal":
        seen = before
    elif kind == "prefix":
        seen = {
            "both": before | (j < extra["prefix"]),
            "closed": before | (j <= extra["prefix"]),
            "rows": before | (i < extra["prefix"]),
            "square": before | (j < extra["prefix"]) & (i < extra["prefix"] - 1),
            "causal": before,
        }[prefix]
    elif kind == "window":
        seen = (
            ((i - j).abs() <= window(extra["window"]))
            if after
            else before & (i - j <= window(extra["window"]))
        )
    elif kind == "global":
        chosen = torch.zeros(length, dtype=torch.bool)
        for place in extra["places"]:
            chosen[place] = True
        seen = ((i - j).abs() <= side(extra["side"])) & ((j <= i) | near)
        seen = seen | (chosen[:, None] & torch.tensor(rows)) | (chosen & torch.tensor(columns))
    elif kind == "packed":
        owner = torch.full((length,), -1)
        start = 0
        for number, size in enumerate(extra["lengths"]):
            owner[start : start + size] = number
            start += size
        real = owner >= 0
        seen = ((owner[:, None] == owner) | torch.tensor(not apart)) & (
            (j <= i) | torch.tensor(not causal)
        )
        if padding == "itself":
            seen = torch.where(real[:, None] & real, seen, i == j)
        elif padding == "nothing":
            seen = seen & real[:, None] & real
        elif padding == "last":
            owner[start:] = max(len(extra["lengths"]) - 1, 0)
            seen = (owner[:, None] == owner) & (j <= i)
        elif padding == "sees all":
            seen = torch.where(real[:, None] & real, seen, (i == j) | ~real[:, None] & (j <= i))
    else:
        turns = torch.tensor(extra["order"])
        turns = turns.argsort() if order == "turns" else turns
        seen = turns <= turns[:, None] if own else turns < turns[:, None]
    return seen.T.contiguous() if kind in transposed else seen.clone()


@mistake(
    MASKS,
    "causal-transposed",
    caught_by="full-causal",
    loses=1,
    misconception=(
        "Your causal mask is transposed: rows are those who look, columns those who are seen."
    ),
)
def _(*asked):
    return _mask(*asked, transposed=("causal",))


@mistake(
    MASKS,
    "all-transposed",
    caught_by="full-causal",
    loses=6.5,
    misconception=(
        "All of your masks are transposed: rows are those who look, columns those who are seen."
    ),
)
def _(*asked):
    return _mask(*asked, transposed=("causal", "prefix", "window", "packed", "order"))


@mistake(
    MASKS,
    "no-diagonal",
    caught_by="full-causal",
    loses=1,
    misconception=(
        "Your causal tokens do not see themselves. They do; it is their next token that they do not"
        " see."
    ),
)
def _(kind, length, extra):
    return _mask(kind, length, extra, diagonal=kind != "causal")


@mistake(
    MASKS,
    "prefix-closed",
    caught_by="prefix",
    loses=1,
    misconception="Your prefix has one token too many: positions count from 0.",
)
def _(*asked):
    return _mask(*asked, prefix="closed")


@mistake(
    MASKS,
    "prefix-sees-all",
    caught_by="prefix",
    loses=1,
    misconception=(
        "You let the tokens of the prefix see everything. They are seen by everybody; they see each"
        " other and nothing behind the prefix."
    ),
)
def _(*asked):
    return _mask(*asked, prefix="rows")


@mistake(
    MASKS,
    "prefix-causal",
    caught_by="prefix",
    loses=1,
    misconception=(
        "Your prefix is causal inside. Its tokens see each other, also those behind them."
    ),
)
def _(*asked):
    return _mask(*asked, prefix="causal")


@mistake(
    MASKS,
    "window-one-more",
    caught_by="window",
    loses=1,
    misconception=(
        "Your window reaches `window` tokens back in addition to the token itself. It counts the"
        " token, so it reaches one less."
    ),
)
def _(*asked):
    return _mask(*asked, window=lambda w: w)


@mistake(
    MASKS,
    "window-one-less",
    caught_by="window",
    loses=1,
    misconception="Your window is one too small.",
)
def _(*asked):
    return _mask(*asked, window=lambda w: max(w - 2, 0))


@mistake(
    MASKS,
    "window-both-sides",
    caught_by="window",
    loses=1,
    misconception="Your window looks ahead, too. It holds the token and what came before.",
)
def _(*asked):
    return _mask(*asked, after=True)


@mistake(
    MASKS,
    "side-halved",
    caught_by="global",
    loses=1.5,
    misconception="You take `side` for the whole width. It is the distance to each side.",
)
def _(*asked):
    return _mask(*asked, side=lambda s: s // 2)


@mistake(
    MASKS,
    "side-open",
    caught_by="global",
    loses=1.5,
    misconception="You leave out the tokens that are exactly `side` away.",
)
def _(*asked):
    return _mask(*asked, side=lambda s: max(s - 1, 0))


@mistake(
    MASKS,
    "side-causal",
    caught_by="global",
    loses=1.5,
    misconception="Your side looks back only. It looks both ways.",
)
def _(*asked):
    return _mask(*asked, near=False)


@mistake(
    MASKS,
    "global-sees",
    caught_by="global",
    loses=1.5,
    misconception="A global token sees all, with you, and is not seen by all. It is both.",
)
def _(*asked):
    return _mask(*asked, columns=False)


@mistake(
    MASKS,
    "global-is-seen",
    caught_by="global",
    loses=1.5,
    misconception="A global token is seen by all, with you, and does not see all. It is both.",
)
def _(*asked):
    return _mask(*asked, rows=False)


@mistake(
    MASKS,
    "first-global-only",
    caught_by="global",
    loses=1.5,
    misconception="Only the first of `places` is global with you.",
)
def _(kind, length, extra):
    return _mask(
        kind, length, extra | {"places": extra["places"][:1]} if kind == "global" else extra
    )


@mistake(
    MASKS,
    "leaking",
    caught_by="packed",
    loses=2,
    misconception="Your documents see those before them.",
)
def _(*asked):
    return _mask(*asked, apart=False)


@mistake(
    MASKS,
    "packed-both-ways",
    caught_by="packed",
    loses=2,
    misconception="Inside a document your tokens see what comes behind them.",
)
def _(*asked):
    return _mask(*asked, causal=False)


@mistake(
    MASKS,
    "padding-sees-nothing",
    caught_by="packed",
    loses=2,
    misconception="Your padding sees nothing at all: a softmax over such a row is NaN.",
)
def _(*asked):
    return _mask(*asked, padding="nothing")


@mistake(
    MASKS,
    "padding-is-a-document",
    caught_by="packed",
    loses=2,
    misconception=(
        "You treat the padding as one more document. Each of its positions sees itself alone."
    ),
)
def _(*asked):
    return _mask(*asked, padding="a document")


@mistake(
    MASKS,
    "padding-in-last",
    caught_by="packed",
    loses=2,
    misconception="You let the padding belong to the last document.",
)
def _(*asked):
    return _mask(*asked, padding="last")


@mistake(
    MASKS,
    "padding-sees-documents",
    caught_by="packed",
    loses=2,
    misconception="Your padding sees the documents before it. It sees itself alone.",
)
def _(*asked):
    return _mask(*asked, padding="sees all")


@mistake(
    MASKS,
    "order-as-turns",
    caught_by="order",
    loses=1.5,
    misconception="You read order[i] as the turn of position i. It is the i-th position to come.",
)
def _(*asked):
    return _mask(*asked, order="as it is")


@mistake(
    MASKS,
    "order-not-itself",
    caught_by="order",
    loses=1.5,
    misconception=(
        "Your positions do not see themselves. That was chapter 7's query stream; here a"
        " position sees itself."
    ),
)
def _(*asked):
    return _mask(*asked, own=False)


@mistake(
    MASKS,
    "order-after",
    caught_by="order",
    loses=1.5,
    misconception="Your positions see those that come after them in the order.",
)
def _(*asked):
    return _mask(*asked, transposed=("order",))


@mistake(
    MASKS,
    "largest-64",
    caught_by="full-causal",
    loses=8,
    misconception="Your tables end at 64 tokens.",
)
def _(kind, length, extra):
    return _mask(kind, length, extra)[:64, :64]


def _labels(
    kind,
    ids,
    extra,
    shift="once",
    prompt=lambda p: p,
    spared=True,
    all_asked=False,
    only_masks=False,
    noted=False,
    spans="runs",
    closing=False,
    ends=(True, True),
    sentinels=lambda marks: marks,
    by_value=False,
):
    """The answer with one part replaced."""
    if kind in ("causal", "answer"):
        asked = [
            -100 if place < prompt(extra.get("prompt", 0)) and spared else token
            for place, token in enumerate(ids)
        ]
        return {
            "once": (ids[:-1], asked[1:]),
            "never": (list(ids), asked),
            "twice": (ids[:-1], asked[2:] + [-100] * min(1, len(ids) - 1)),
            "kept": (list(ids), asked[1:] + [-100]),
        }[shift]
    chosen = extra["chosen"]
    if kind == "spans":
        marks, inputs, labels = iter(sentinels(extra["sentinels"])), [], []
        for place, token in enumerate(ids):
            if place in chosen:
                if spans == "each" or place - 1 not in chosen:
                    mark = next(marks, 0)
                    inputs.append(mark)
                    labels.append(mark)
                labels.append(token)
            else:
                inputs.append(token)
        labels += [next(marks, 0)] if closing else []
        return inputs + [extra["end"]] * ends[0], labels + [extra["end"]] * ends[1]
    inputs = list(ids)
    for place, token in zip(chosen, extra["becomes"]):
        inputs[place] = token
    if kind == "replaced":
        return inputs, [
            int(place in chosen) if noted else int(new != old)
            for place, (new, old) in enumerate(zip(inputs, ids))
        ]
    values = {ids[place] for place in chosen}
    return inputs, [
        (
            token
            if all_asked
            or (
                token in values
                if by_value
                else place in chosen and not (only_masks and inputs[place] == token)
            )
            else -100
        )
        for place, token in enumerate(ids)
    ]


@mistake(
    LABELS,
    "not-shifted",
    caught_by="causal",
    loses=2.5,
    misconception="You do not shift: each token is asked for itself, which stands before its eyes.",
)
def _(*asked):
    return _labels(*asked, shift="never")


@mistake(
    LABELS,
    "shifted-twice",
    caught_by="causal",
    loses=2.5,
    misconception="You shift twice: the label of position t is token t + 2.",
)
def _(*asked):
    return _labels(*asked, shift="twice")


@mistake(
    LABELS,
    "last-token-kept",
    caught_by="causal",
    loses=2.5,
    misconception=(
        "You keep the last token among the inputs, with a label of -100. It has nothing to say, and"
        " is left out here."
    ),
)
def _(*asked):
    return _labels(*asked, shift="kept")


@mistake(
    LABELS,
    "prompt-learned",
    caught_by="answer",
    loses=1.5,
    misconception="You let the prompt be learned.",
)
def _(*asked):
    return _labels(*asked, spared=False)


@mistake(
    LABELS,
    "first-of-answer-lost",
    caught_by="answer",
    loses=1.5,
    misconception=(
        "You spare one label too many: the last token of the prompt says the first of the answer."
    ),
)
def _(*asked):
    return _labels(*asked, prompt=lambda p: p + 1)


@mistake(
    LABELS,
    "last-of-prompt-learned",
    caught_by="answer",
    loses=1.5,
    misconception="You spare one label too few: the last token of the prompt is learned.",
)
def _(*asked):
    return _labels(*asked, prompt=lambda p: p - 1)


@mistake(
    LABELS,
    "loss-on-all",
    caught_by="masked",
    loses=1.5,
    misconception="You give every token of a masked text a label. Only chosen positions have one.",
)
def _(*asked):
    return _labels(*asked, all_asked=True)


@mistake(
    LABELS,
    "changed-ones-only",
    caught_by="masked",
    loses=1.5,
    misconception=(
        "You ask only where the token was changed. A chosen token that stays as it is is asked,"
        " too."
    ),
)
def _(*asked):
    return _labels(*asked, only_masks=True)


@mistake(
    LABELS,
    "by-the-token",
    caught_by="masked",
    loses=1.5,
    misconception=(
        "You find chosen tokens by their id: another position with that id gets a label as well."
    ),
)
def _(*asked):
    return _labels(*asked, by_value=True)


@mistake(
    LABELS,
    "labels-of-the-new",
    caught_by="masked",
    loses=1.5,
    misconception="Your labels are the replaced tokens. They should be the original ones.",
)
def _(kind, ids, extra):
    inputs, labels = _labels(kind, ids, extra)
    return inputs, (
        [inputs[place] if label != -100 else label for place, label in enumerate(labels)]
        if kind == "masked"
        else labels
    )


@mistake(
    LABELS,
    "chosen-is-replaced",
    caught_by="replaced",
    loses=1,
    misconception=(
        "You give every chosen position a 1. Where the same token was drawn, the label is 0."
    ),
)
def _(*asked):
    return _labels(*asked, noted=True)


@mistake(
    LABELS,
    "replaced-turned-round",
    caught_by="replaced",
    loses=1,
    misconception="You have 1 and 0 exchanged: 1 is a replaced token.",
)
def _(kind, ids, extra):
    inputs, labels = _labels(kind, ids, extra)
    return inputs, [1 - label for label in labels] if kind == "replaced" else labels


@mistake(
    LABELS,
    "replaced-at-chosen-only",
    caught_by="replaced",
    loses=1,
    misconception=(
        "You give labels to chosen positions only. The discriminator has one at every position:"
        " that is ELECTRA's gain."
    ),
)
def _(kind, ids, extra):
    inputs, labels = _labels(kind, ids, extra)
    return inputs, (
        [label if place in extra["chosen"] else -100 for place, label in enumerate(labels)]
        if kind == "replaced"
        else labels
    )


@mistake(
    LABELS,
    "a-sentinel-each",
    caught_by="spans",
    loses=2,
    misconception="You give each chosen token a sentinel. Neighbours are one span.",
)
def _(*asked):
    return _labels(*asked, spans="each")


@mistake(
    LABELS,
    "one-sentinel",
    caught_by="spans",
    loses=2,
    misconception="You use the first sentinel for all spans. Each has its own.",
)
def _(*asked):
    return _labels(*asked, sentinels=lambda marks: marks[:1] * 200)


@mistake(
    LABELS,
    "closing-sentinel",
    caught_by="spans",
    loses=2,
    misconception="Your labels have a sentinel behind the last span.",
)
def _(*asked):
    return _labels(*asked, closing=True)


@mistake(
    LABELS,
    "labels-without-end",
    caught_by="spans",
    loses=2,
    misconception="Your labels have no end.",
)
def _(*asked):
    return _labels(*asked, ends=(True, False))


@mistake(
    LABELS,
    "inputs-without-end",
    caught_by="spans",
    loses=2,
    misconception="Your inputs have no end.",
)
def _(*asked):
    return _labels(*asked, ends=(False, True))


@mistake(
    LABELS,
    "sentinels-sorted",
    caught_by="spans",
    loses=2,
    misconception="You sort the sentinels. They come in the order of the list.",
)
def _(*asked):
    return _labels(*asked, sentinels=lambda marks: sorted(marks, reverse=True))


@mistake(
    LABELS,
    "ids-written-into",
    caught_by="masked",
    loses=1.4,
    misconception="You write into `ids` itself. Copy it first.",
)
def _(kind, ids, extra):
    if kind != "masked":
        return _labels(kind, ids, extra)
    inputs, labels = _labels(kind, ids, extra)
    ids[:] = inputs
    return inputs, labels
