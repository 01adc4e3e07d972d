"""Implementations of span corruption that a student's test must tell apart (exercise
07.test_corrupt).

Each takes a list of ids and a seed, draws what is lost, and gives source and target. RIGHT holds
seven that keep all promises of the card, WRONG those that break one, by kind. A student never sees
this.
"""

from collections.abc import Callable
from itertools import groupby
from random import Random

END, FIRST, LAST, TOP = 1, 2, 999, 1099
Implementation = Callable[[list[int], int], tuple[list[int], list[int]]]
Spans = list[tuple[bool, list[int]]]
_unseeded = Random(7)


def refuse(ids: list[int], seed: int) -> None:
    """Raise ValueError for what the exercise rules out."""
    if (
        type(ids) is not list
        or not 40 <= len(ids) <= 300
        or not all(type(one) is int and FIRST <= one <= LAST for one in ids)
    ):
        raise ValueError(f"a list of 40 to 300 ints from {FIRST} to {LAST} is needed")
    if type(seed) is not int or not 0 <= seed <= 1_000_000:
        raise ValueError("the seed is an int from 0 to a million")


def number_lost(length: int, per_cent: int = 15) -> int:
    """The share of a text, rounded, a half to the even number."""
    return round(per_cent * length / 100)


def pieces(length: int, parts: int, chance: Random) -> list[int]:
    """Sizes of so many pieces, none empty."""
    edges = [0, *sorted(chance.sample(range(1, length), parts - 1)), length]
    return [after - before for before, after in zip(edges, edges[1:])]


def half_up(length: int) -> int:
    """15 %, and of two whole numbers that are equally near the larger."""
    return (15 * length + 50) // 100


def half_down(length: int) -> int:
    """The same, and of two the smaller."""
    return (15 * length + 49) // 100


def released(length: int, chance: Random, number: Callable = number_lost) -> list[bool]:
    """Kept and lost spans in turns, a kept one first and a lost one last: about three tokens in
    each lost one.
    """
    lost = number(length)
    parts = max(round(lost / 3), 2)
    turns = zip(pieces(length - lost, parts, chance), pieces(lost, parts, chance))
    return [gone for kept, out in turns for gone in [False] * kept + [True] * out]


def scattered(length: int, chance: Random) -> list[bool]:
    """Single tokens, the first one among them and the last one kept; some stand side by side by
    chance.
    """
    drawn = {0, *chance.sample(range(1, length - 1), number_lost(length) - 1)}
    return [place in drawn for place in range(length)]


def one_long(length: int, chance: Random) -> list[bool]:
    """A single span somewhere."""
    lost = number_lost(length)
    begin = chance.randrange(1, length - lost)
    return [begin <= place < begin + lost for place in range(length)]


def spans_of(ids: list[int], lost: list[bool]) -> Spans:
    """The text in turns: whether lost, and the tokens."""
    return [
        (gone, [token for token, _ in turn])
        for gone, turn in groupby(zip(ids, lost), key=lambda one: one[1])
    ]


def written(turns: Spans, names: list[int] | None = None) -> tuple[list[int], list[int]]:
    """Source and target of a text in turns; names: the sentinel of each lost span, where they are
    not TOP, TOP - 1, ...
    """
    source, target, number = [], [], 0
    for gone, tokens in turns:
        if gone:
            name = TOP - number if names is None else names[number]
            source.append(name)
            target += [name, *tokens]
            number += 1
        else:
            source += tokens
    return [*source, END], [*target, END]


def corrupting(
    draw: Callable = released, change: Callable | None = None, drawn_by: Callable = Random
) -> Implementation:
    """An implementation with its own draw of what is lost; change(turns, chance) gives source and
    target another way.
    """

    def implementation(ids: list[int], seed: int) -> tuple[list[int], list[int]]:
        refuse(ids, seed)
        chance = drawn_by(seed)
        turns = spans_of(list(ids), draw(len(ids), chance))
        return change(turns, chance) if change else written(turns)

    return implementation


def lost_in(turns: Spans) -> int:
    """How many spans are lost."""
    return sum(gone for gone, _ in turns)


def named(names: Callable) -> Callable:
    """Other sentinels: names(how many, chance)."""
    return lambda turns, chance: written(turns, names(lost_in(turns), chance))


def shuffled(number: int, chance: Random) -> list[int]:
    """The right sentinels in another order."""
    names = [TOP - place for place in range(number)]
    return [*names[1:], names[0]]


def first_two_exchanged(number: int, chance: Random) -> list[int]:
    """The right sentinels, but that the first two have changed positions."""
    names = [TOP - place for place in range(number)]
    return [*names[1::-1], *names[2:]]


def last_two_exchanged(number: int, chance: Random) -> list[int]:
    """The right sentinels, but that the last two have changed positions."""
    names = [TOP - place for place in range(number)]
    return [*names[:-2], *names[:-3:-1]]


def sentinel_misplaced(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """In the source the first sentinel with a token before it stands one place too far to
    the left.
    """
    source, target = written(turns)
    place = next(
        place for place in range(1, len(source)) if source[place] > LAST >= source[place - 1]
    )
    source[place - 1 : place + 1] = source[place], source[place - 1]
    return source, target


def sometimes(change: Callable) -> tuple[Callable, Callable]:
    """Two that are wrong for about half of the seeds each, and never for the same one."""
    return (
        lambda turns, chance: change(turns, chance) if chance.random() < 0.5 else written(turns),
        lambda turns, chance: written(turns) if chance.random() < 0.5 else change(turns, chance),
    )


def target_turned(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """The spans of the target stand in the order from right to left: every sentinel has its own
    tokens.
    """
    source, _ = written(turns)
    parts = [
        [TOP - number, *tokens]
        for number, tokens in enumerate(tokens for gone, tokens in turns if gone)
    ]
    return source, [*(token for part in parts[::-1] for token in part), END]


def a_sentinel_each(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """Every lost token is a span of its own."""
    return written([(gone, [token]) for gone, tokens in turns for token in tokens])


def one_split(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """The longest lost span is split in two, side by side; one more is lost where all have one
    token.
    """
    place = max(
        (place for place, (gone, _) in enumerate(turns) if gone),
        key=lambda place: len(turns[place][1]),
    )
    tokens = turns[place][1]
    return written([*turns[:place], (True, tokens[:1]), (True, tokens[1:]), *turns[place + 1 :]])


def an_empty_span(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """Somewhere in a kept span stands a sentinel for nothing."""
    place = max(
        (place for place, (gone, _) in enumerate(turns) if not gone),
        key=lambda place: len(turns[place][1]),
    )
    tokens = turns[place][1]
    return written(
        [*turns[:place], (False, tokens[:1]), (True, []), (False, tokens[1:]), *turns[place + 1 :]]
    )


def empty_at_the_end(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """A sentinel for nothing behind the last token."""
    return written([*turns, (True, [])])


def ended(source_ends: int, target_ends: int, closing: bool = False) -> Callable:
    """Another number of ends, or a closing sentinel."""

    def change(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
        source, target = written(turns)
        last = [TOP - lost_in(turns)] if closing else []
        return source[:-1] + [END] * source_ends, target[:-1] + last + [END] * target_ends

    return change


def padded(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """Both lists have 0, as padding, in the position of their end."""
    source, target = written(turns)
    return source[:-1] + [0], target[:-1] + [0]


def token_in_front(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
    """The last token of the first span that has two stands before all sentinels of the target."""
    source, target = written(turns)
    place = next(
        (
            place
            for place in range(2, len(target) - 1)
            if target[place - 1] <= LAST and target[place] <= LAST
        ),
        1,
    )
    return source, [target[place], *target[:place], *target[place + 1 :]]


def without(which: Callable) -> Callable:
    """Drops, doubles or exchanges tokens: which(turns, chance) gives other turns for the source and
    for the target.
    """

    def change(turns: Spans, chance: Random) -> tuple[list[int], list[int]]:
        source, target = which(turns, chance)
        return written(source)[0], written(target)[1]

    return change


def last_span_cut(turns: Spans, chance: Random) -> tuple[Spans, Spans]:
    """The last token of the text is in neither list, where its span has two."""
    place = max(
        (place for place, (gone, tokens) in enumerate(turns) if gone and len(tokens) > 1),
        default=len(turns) - 1,
    )
    return turns, [*turns[:place], (True, turns[place][1][:-1]), *turns[place + 1 :]]


def kept_token_lost(turns: Spans, chance: Random) -> tuple[Spans, Spans]:
    """The token before the first lost span of some length is in neither list."""
    place = max(place for place, (gone, tokens) in enumerate(turns) if not gone and len(tokens) > 1)
    return [*turns[:place], (False, turns[place][1][:-1]), *turns[place + 1 :]], turns


def turned_spans(turns: Spans, chance: Random) -> tuple[Spans, Spans]:
    """Each span of the target from right to left."""
    return turns, [(gone, tokens[::-1] if gone else tokens) for gone, tokens in turns]


def exchanged(turns: Spans, chance: Random) -> tuple[Spans, Spans]:
    """The tokens of the first two lost spans have changed positions in the target."""
    first, second = [place for place, (gone, _) in enumerate(turns) if gone][:2]
    other = list(turns)
    other[first], other[second] = turns[second], turns[first]
    return turns, other


def nothing(ids: list[int], seed: int) -> tuple[list[int], list[int]]:
    """Cuts nothing out."""
    refuse(ids, seed)
    return [*ids, END], [END]


def noise(ids: list[int], seed: int) -> tuple[list[int], list[int]]:
    """Numbers that have nothing to do with the ids."""
    refuse(ids, seed)
    chance = Random(seed)
    return [chance.randint(0, TOP) for _ in ids], [chance.randint(0, TOP) for _ in ids]


first_lost, single = corrupting(scattered), corrupting(one_long)
unseeded, fixed = (
    corrupting(drawn_by=lambda seed: _unseeded),
    corrupting(drawn_by=lambda seed: Random(5)),
)
rounds_up, rounds_down = (
    corrupting(lambda length, chance, number=number: released(length, chance, number))
    for number in (half_up, half_down)
)
RIGHT: list[Implementation] = [
    corrupting(),
    first_lost,
    single,
    unseeded,
    fixed,
    rounds_up,
    rounds_down,
]
# What a test asks for that accepts another right implementation and rejects this one.
POOR: dict[str, Implementation] = {
    (
        "It rejects an implementation that cuts one long span: how many spans there are is left to "
        "the implementation."
    ): (single),
    (
        "It rejects an implementation that loses the first token and keeps the last: either may be "
        "lost, or not."
    ): (first_lost),
    (
        "It rejects an implementation that draws again in each call. The same seed need not give "
        "the same answer: judge each call by itself."
    ): (unseeded),
    (
        "It rejects an implementation that cuts the same positions whatever the seed: judge each"
        " call "
        "by itself."
    ): (fixed),
    (
        "It rejects an implementation that rounds an exact half up, as it may: ask about other "
        "lengths."
    ): (rounds_up),
    (
        "It rejects an implementation that rounds an exact half down, as it may: ask about other "
        "lengths."
    ): (rounds_down),
}
WRONG: dict[str, list[Implementation]] = {
    "order": [
        corrupting(
            change=named(
                lambda number, chance: [TOP - number + 1 + place for place in range(number)]
            )
        ),
        corrupting(
            change=named(lambda number, chance: [TOP - 1 - place for place in range(number)])
        ),
        corrupting(change=named(shuffled)),
        corrupting(change=named(first_two_exchanged)),
        corrupting(change=target_turned),
        *(corrupting(change=one) for one in sometimes(target_turned)),
        corrupting(change=named(last_two_exchanged)),
        corrupting(
            change=named(lambda number, chance: [TOP - 2 * place for place in range(number)])
        ),
    ],
    "merging": [
        corrupting(change=a_sentinel_each),
        corrupting(change=one_split),
        corrupting(change=an_empty_span),
        corrupting(one_long, change=empty_at_the_end),
    ],
    "ends": [
        corrupting(change=ended(0, 1)),
        corrupting(change=ended(1, 0)),
        corrupting(change=ended(1, 1, closing=True)),
        corrupting(change=ended(1, 2)),
        corrupting(change=ended(2, 1)),
        corrupting(change=padded),
    ],
    "lost": [
        corrupting(change=without(last_span_cut)),
        corrupting(change=token_in_front),
        corrupting(change=without(kept_token_lost)),
        corrupting(change=without(turned_spans)),
        corrupting(change=without(exchanged)),
        *(
            corrupting(lambda length, chance, number=number: released(length, chance, number))
            for number in (
                lambda length: number_lost(length, 30),
                lambda length: number_lost(length, 10),
                lambda length: half_up(length) + 1,
                lambda length: half_down(length) - 1,
            )
        ),
        corrupting(change=sentinel_misplaced),
        *(corrupting(change=one) for one in sometimes(without(turned_spans))),
    ],
}
# What a test lacks that lets such a function through, the most absurd first.
PROBES: dict[str, Implementation] = {
    (
        "Your test accepts numbers that have nothing to do with the ids: it never complains. Is "
        "there an `assert` that is reached, outside of `try`, without parentheses round condition "
        "and text?"
    ): (noise),
    "Your test accepts an implementation that cuts nothing out: count the lost tokens.": nothing,
}
# What a test takes for right that rejects every right implementation.
MISTAKEN: dict[str, Implementation] = {
    "It accepts sentinels that count upwards: they go down from `TOP`.": WRONG["order"][0],
    "It accepts a first sentinel of `TOP` - 1: it is `TOP`.": WRONG["order"][1],
    "It accepts a target with a closing sentinel: there is none.": WRONG["ends"][2],
    "It accepts a sentinel for each lost token: lost tokens side by side are one span.": WRONG[
        "merging"
    ][0],
    "It accepts an implementation that loses 30 % of the tokens: 15 % are to be lost.": WRONG[
        "lost"
    ][5],
}
