"""Checks of chapter 16, part 2: seven masks, and five ways to be taught."""

from itertools import accumulate

import torch

from autograder.chapters.c16_review.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import distinct, look_alike, whole
from autograder.checks.protocol import exercise, expect

seven_masks = exercise(
    "16.seven_masks",
    function="seven_masks",
    points=8,
    see="04-attention-and-the-transformer/attention#attention-masks",
    withhold=OURS | LIBRARIES,
)


def seen_in(kind: str, length: int, extra: dict) -> torch.Tensor:
    """The right table, row by row, by what each token sees."""
    table = torch.zeros(length, length, dtype=torch.bool)
    starts = [
        start
        for end, size in zip(
            accumulate(extra.get("lengths", ())), extra.get("lengths", ()), strict=True
        )
        for start in [end - size] * size
    ]
    starts += range(len(starts), length)
    for i in range(length):
        if kind == "order":
            table[extra["order"][i], extra["order"][: i + 1]] = True
        else:
            first = {
                "window": max(0, i + 1 - extra.get("window", 0)),
                "global": max(0, i - extra.get("side", 0)),
                "packed": starts[i],
            }.get(kind, 0)
            last = {
                "full": length,
                "prefix": max(i + 1, extra.get("prefix", 0)),
                "global": i + extra.get("side", 0) + 1,
            }.get(kind, i + 1)
            table[i, first:last] = True
    for place in extra.get("places", ()):
        table[place] = True
        table[:, place] = True
    return table


def ask_mask(student, kind: str, length: int, cause: str, **extra: object) -> None:
    """Compare one table."""
    said = ", ".join(
        f"{name} {value if not isinstance(value, list) or len(value) < 12 else f'of {len(value)}'}"
        for name, value in extra.items()
    )
    expect(
        student.seven_masks(kind, length, extra),
        given=f"{kind!r}, {length} tokens{', ' if said else ''}{said}",
    ).equals(seen_in(kind, length, extra), cause=cause)


@seven_masks.stage("full-causal", points=1)
def test_all_and_all_before(student, rng):
    for length in (1, 2, 3, 6, 64, 300, whole(rng, 7, 40)):
        ask_mask(student, "full", length, "In a full mask every token sees every token.")
        ask_mask(
            student,
            "causal",
            length,
            "In a causal mask token i, a row, sees itself and the tokens before it: True on the"
            " diagonal and below.",
        )
    for kind, rule in (
        ("causal", "A causal mask is the same whatever was asked before."),
        ("full", "In a full mask every token sees every token, whatever was asked before."),
    ):
        ask_mask(student, kind, 6, rule)


@seven_masks.stage("prefix", points=1)
def test_the_prefix_is_seen_by_all(student, rng):
    rule = (
        "Causal, and in addition the first `prefix` tokens are seen by everybody, those inside the"
        " prefix included; behind it everything is causal."
    )
    for length, prefix in (
        (6, 3),
        (6, 2),
        (6, 4),
        (1, 0),
        (1, 1),
        (5, 0),
        (5, 1),
        (5, 4),
        (5, 5),
        (300, 150),
        (300, 7),
        (64, 63),
        (40, whole(rng, 2, 38)),
    ):
        ask_mask(student, "prefix", length, rule, prefix=prefix)


@seven_masks.stage("window", points=1)
def test_a_window_counts_the_token_itself(student, rng):
    rule = (
        "A window of w is the token itself and the w - 1 before it, and nothing behind it. A window"
        " of 1 leaves the diagonal."
    )
    for length, window in (
        (6, 2),
        (6, 3),
        (1, 1),
        (1, 4),
        (5, 1),
        (5, 4),
        (5, 5),
        (5, 6),
        (5, 1000),
        (300, 128),
        (300, 299),
        (300, 300),
        (40, whole(rng, 2, 38)),
    ):
        ask_mask(student, "window", length, rule, window=window)


@seven_masks.stage("global", points=1.5)
def test_global_tokens_see_and_are_seen(student, rng):
    rule = (
        "Tokens at most `side` away are seen, before and after. A position of `places` has its"
        " whole row and its whole column True."
    )
    for length, side, places in (
        (6, 1, [3]),
        (6, 1, []),
        (6, 2, []),
        (6, 0, []),
        (6, 0, [0]),
        (1, 0, []),
        (1, 3, [0]),
        (5, 1, [4, 0]),
        (5, 1, [0, 1, 2, 3, 4]),
        (5, 4, []),
        (5, 1000, [2]),
        (5, 3, []),
        (300, 32, [0]),
        (300, 3, [299, 150, 7]),
        (40, whole(rng, 1, 20), distinct(rng, 3, 40)),
        (12, 1, [5, 2, 9, 4]),
        (12, 1, [5, 9, 2, 4]),
        (12, 1, [5, 2, 9, 3]),
    ):
        ask_mask(student, "global", length, rule, side=side, places=places)
    places = sorted(distinct(rng, 40, 300), reverse=True)
    ask_mask(
        student, "global", 300, f"{rule} There may be many such tokens.", side=2, places=places
    )


@seven_masks.stage("packed", points=2)
def test_documents_are_apart_and_padding_sees_itself(student, rng):
    rule = (
        "A token sees itself and those before it in its own document; nothing of the document"
        " before."
    )
    for lengths in ([6], [2, 4], [1, 1, 4], [1] * 6, [3, 3], [3, 1, 2], [2, 1, 3], [1, 2, 3]):
        ask_mask(student, "packed", 6, rule, lengths=lengths)
    for length, lengths in (
        (1, [1]),
        (300, [300]),
        (300, [100, 1, 199]),
        (300, [1] * 300),
        (40, [20, 20]),
    ):
        ask_mask(student, "packed", length, rule, lengths=lengths)
    rule = (
        "After the last document is padding: such a position sees itself and nothing else, so that"
        " its row is not empty, and no other position sees it."
    )
    for length, lengths in (
        (6, [2, 3]),
        (6, [2]),
        (6, [5]),
        (6, [1, 1]),
        (6, []),
        (1, []),
        (5, [2, 1]),
        (300, [100, 100]),
        (300, [1] * 290),
        (300, []),
        (8, [3, 1, 2]),
        (8, [1, 3, 2]),
        (40, [whole(rng, 2, 9), whole(rng, 2, 9)]),
    ):
        ask_mask(student, "packed", length, rule, lengths=lengths)


@seven_masks.stage("order", points=1.5)
def test_an_order_says_who_came_before(student, rng):
    rule = (
        "Position order[0] comes first: a position sees itself and those before it in `order`,"
        " which lists who comes n-th, and not when a position comes."
    )
    for order in (
        [2, 0, 3, 1, 5, 4],
        [0],
        [1, 0],
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 2, 0],
        [2, 0, 1],
        [1, 2, 3, 4, 0],
        [2, 3, 1, 4, 0],
    ):
        ask_mask(student, "order", len(order), rule, order=order)
    for length in (7, 40, 300):
        order = distinct(rng, length, length)
        ask_mask(student, "order", length, rule, order=order)
        ask_mask(student, "order", length, rule, order=look_alike(order))


make_labels = exercise(
    "16.make_labels",
    function="make_labels",
    points=7,
    see="05-bert-pretraining/masking#the-80-10-10-replacement-strategy",
    withhold=OURS | LIBRARIES,
)


def taught(kind: str, ids: list[int], extra: dict) -> tuple[list[int], list[int]]:
    """The right answer, place by place."""
    if kind in ("causal", "answer"):
        return ids[: len(ids) - 1], [
            ids[place + 1] if place + 1 >= extra.get("prompt", 0) else -100
            for place in range(len(ids) - 1)
        ]
    gone = set(extra["chosen"])
    if kind == "spans":
        starts = [place for place in extra["chosen"] if place - 1 not in gone]
        mark = dict(zip(starts, extra["sentinels"], strict=False))
        inputs = [
            mark.get(place, token)
            for place, token in enumerate(ids)
            if place not in gone or place in mark
        ]
        labels = [
            one
            for place in extra["chosen"]
            for one in ([mark[place]] if place in mark else []) + [ids[place]]
        ]
        return inputs + [extra["end"]], labels + [extra["end"]]
    becomes = dict(zip(extra["chosen"], extra["becomes"], strict=True))
    inputs = [becomes.get(place, token) for place, token in enumerate(ids)]
    if kind == "masked":
        return inputs, [token if place in gone else -100 for place, token in enumerate(ids)]
    return inputs, [0 if new == old else 1 for new, old in zip(inputs, ids, strict=True)]


def ask_labels(student, kind: str, ids: list[int], cause: str, **extra: object) -> None:
    """Compare both lists, inputs first."""
    inputs, labels = taught(kind, ids, extra)
    given = f"{kind!r}, ids {ids}, {extra}" if len(ids) < 12 else f"{kind!r}, {len(ids)} tokens"
    came = expect(student.make_labels(kind, ids, extra), given=given).unpacks(2)
    expect(came[0], "The list of inputs", given).equals(inputs, cause=cause)
    expect(came[1], "The list of labels", given).equals(labels, cause=cause)


HAND = [11, 12, 13, 14, 15]
SAME = [7, 7, 7, 7, 7, 7]


def texts(rng) -> list[list[int]]:
    """Texts of 8, 60 and 300 tokens, of few kinds, so that the same one comes twice, and the first
    with its look-alike.
    """
    first = [whole(rng, 0, 5) + 10 * (place % 3) for place in range(8)]
    return [
        first,
        look_alike(first),
        [whole(rng, 0, 30) for _ in range(60)],
        [whole(rng, 0, 1_000_000) for _ in range(300)],
        [whole(rng, 0, 1) for _ in range(20)],
    ]


def some_places(rng, length: int) -> list[int]:
    """About a third of the places, upwards."""
    return sorted(distinct(rng, max(1, length // 3), length))


def one_changed_by_look() -> list[tuple[list[int], list[int]]]:
    """A text and what four places become, and each with its look-alike in the other's place."""
    ids, becomes = [3, 9, 4, 6, 5, 8, 2, 7], [30, 6, 50, 70]
    return [(ids, becomes), (look_alike(ids), becomes), (ids, look_alike(becomes))]


@make_labels.stage("causal", points=1)
def test_each_place_says_the_next_token(student, rng):
    rule = (
        "The model reads all tokens but the last, and at each position predicts the next token:"
        " the labels are all tokens but the first. They are shifted once."
    )
    for ids in (HAND, [5], [5, 6], [6, 5], [0, 0, 0], SAME, *texts(rng), [5]):
        ask_labels(student, "causal", ids, rule)


@make_labels.stage("answer", points=1.5)
def test_the_prompt_is_read_and_not_learned(student, rng):
    rule = (
        "As the causal labels, with -100 wherever the next token is one of the prompt. So the last"
        " token of the prompt has a label: it says the first token of the answer."
    )
    for ids, prompt in (
        (HAND, 2),
        (HAND, 0),
        (HAND, 1),
        (HAND, 3),
        (HAND, 4),
        (HAND, 5),
        ([5], 0),
        ([5], 1),
        ([5, 6], 1),
        ([5, 6], 2),
        (SAME, 3),
        ([3, 0, 3, 0], 2),
        ([5], 0),
        ([5], 1),
    ):
        ask_labels(student, "answer", ids, rule, prompt=prompt)
    for ids in texts(rng):
        for prompt in (len(ids) // 2, whole(rng, 2, len(ids) - 2), len(ids) - 1):
            ask_labels(student, "answer", ids, rule, prompt=prompt)
    for ids, _ in one_changed_by_look():
        ask_labels(student, "answer", ids, rule, prompt=3)
    ask_labels(
        student,
        "causal",
        HAND,
        "Without a prompt everything is learned, whatever was asked before.",
    )


@make_labels.stage("masked", points=1.5)
def test_chosen_places_are_asked_whatever_stands_there(student, rng):
    rule = (
        "Each chosen position holds what it becomes, which may be another token or the same one,"
        " and has the original token as its label. All other labels are -100."
    )
    for ids, chosen, becomes in (
        (HAND, [1, 2, 4], [9, 13, 77]),
        (HAND, [], []),
        (HAND, [0], [9]),
        (HAND, [4], [9]),
        (HAND, [0, 1, 2, 3, 4], [9, 9, 12, 9, 15]),
        ([5], [0], [9]),
        ([5], [], []),
        ([5], [0], [5]),
        (SAME, [1, 3], [9, 7]),
        ([9, 5, 9, 9], [1, 2], [9, 9]),
        ([0, 1, 0, 1], [0, 3], [1, 0]),
        ([5], [], []),
    ):
        ask_labels(student, "masked", ids, rule, chosen=chosen, becomes=becomes)
    for ids in texts(rng):
        chosen = some_places(rng, len(ids))
        becomes = [(4, ids[place], whole(rng, 0, 30))[whole(rng, 0, 2)] for place in chosen]
        ask_labels(student, "masked", ids, rule, chosen=chosen, becomes=becomes)
        ask_labels(student, "masked", ids, rule, chosen=list(range(len(ids))), becomes=ids[::-1])
    for ids, becomes in one_changed_by_look():
        ask_labels(student, "masked", ids, rule, chosen=[1, 3, 4, 6], becomes=becomes)


@make_labels.stage("replaced", points=1)
def test_each_place_says_whether_it_is_another_token(student, rng):
    rule = (
        "Every position has a label: 1 where the token differs from the original, and 0 where it is"
        " the same, whether nothing was chosen there or the same token was drawn."
    )
    for ids, chosen, becomes in (
        (HAND, [1, 2, 4], [9, 13, 77]),
        (HAND, [], []),
        (HAND, [0, 1, 2, 3, 4], HAND[::-1]),
        ([5], [0], [5]),
        ([5], [0], [6]),
        ([5], [], []),
        (SAME, [0, 5], [7, 8]),
        ([0, 1, 0, 1], [0, 1], [0, 0]),
        ([5], [], []),
        ([7000, 8000, 9000], [0, 2], [int("7000"), 9001]),
    ):  # an int of its own, equal to the one that stood there
        ask_labels(student, "replaced", ids, rule, chosen=chosen, becomes=becomes)
    for ids in texts(rng):
        chosen = some_places(rng, len(ids))
        becomes = [(ids[place], whole(rng, 0, 30))[whole(rng, 0, 1)] for place in chosen]
        ask_labels(student, "replaced", ids, rule, chosen=chosen, becomes=becomes)
    for ids, becomes in one_changed_by_look():
        ask_labels(student, "replaced", ids, rule, chosen=[1, 3, 4, 6], becomes=becomes)


@make_labels.stage("spans", points=2)
def test_spans_leave_a_sentinel_and_are_said_behind_it(student, rng):
    rule = (
        "Chosen neighbours are one span: one sentinel stands for it in the inputs, and in the"
        " labels the same sentinel with the span's tokens behind it. Both lists end with `end`, and"
        " the labels have no sentinel before it."
    )
    marks = list(range(99, 60, -1))
    for ids, chosen in (
        (HAND, [1, 2, 4]),
        (HAND, []),
        (HAND, [0]),
        (HAND, [4]),
        (HAND, [0, 1, 2, 3, 4]),
        (HAND, [0, 2, 4]),
        (HAND, [0, 1, 3, 4]),
        (HAND, [3, 4]),
        ([5], [0]),
        ([5], []),
        (SAME, [1, 3, 4]),
        ([99, 1, 98, 99, 1], [0, 3]),
        ([99, 1, 98, 99, 1], [1, 2, 4]),
    ):
        ask_labels(student, "spans", ids, rule, chosen=chosen, sentinels=marks, end=1)
    ask_labels(
        student,
        "spans",
        HAND,
        f"{rule} There may be just as many sentinels as spans.",
        chosen=[1, 2, 4],
        sentinels=[50, 60],
        end=0,
    )
    ask_labels(
        student,
        "spans",
        HAND,
        f"{rule} The sentinels come in the order of the list, whatever they are.",
        chosen=[0, 2, 4],
        sentinels=[5, 9, 3],
        end=2,
    )
    ask_labels(
        student,
        "spans",
        HAND,
        f"{rule} A sentinel and `end` may be 0.",
        chosen=[1, 3],
        sentinels=[0, 9],
        end=0,
    )
    for ids, marks_in_turns in one_changed_by_look():
        ask_labels(
            student, "spans", ids, rule, chosen=[1, 3, 4, 6], sentinels=marks_in_turns, end=1
        )
    ask_labels(
        student,
        "spans",
        HAND,
        f"{rule} With nothing chosen no sentinel is needed.",
        chosen=[],
        sentinels=[],
        end=2,
    )
    for ids in texts(rng):
        ask_labels(
            student,
            "spans",
            ids,
            rule,
            chosen=some_places(rng, len(ids)),
            sentinels=[999_000 + number for number in distinct(rng, 200, 500)],
            end=whole(rng, 0, 3),
        )
    ask_labels(
        student,
        "spans",
        list(range(300)),
        rule,
        chosen=list(range(0, 300, 2)),
        sentinels=list(range(1000, 1150)),
        end=1,
    )
