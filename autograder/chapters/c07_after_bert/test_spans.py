"""Checks of chapter 7, part 4: spans that are cut out, and orders in which a text is said."""

import torch

from autograder.chapters.c07_after_bert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, distinct, look_alikes, one_changed, whole
from autograder.checks.protocol import exercise, expect

BOOK = "07-after-bert"

corrupt = exercise(
    "07.corrupt",
    function="corrupt",
    points=7,
    see=f"{BOOK}/t5#source-target-and-loss",
    withhold=OURS | LIBRARIES,
)


def cut(ids: list[int], lost: list[bool], top: int, end: int) -> tuple[list[int], list[int]]:
    """The right answer, from the positions at which spans begin and end."""
    edges = [
        place
        for place in range(len(ids) + 1)
        if (place < len(ids) and lost[place]) != (place > 0 and lost[place - 1])
    ]
    source, target, last = [], [], 0
    for number, (begin, stop) in enumerate(zip(edges[::2], edges[1::2])):
        source += [*ids[last:begin], top - number]
        target += [top - number, *ids[begin:stop]]
        last = stop
    return [*source, *ids[last:], end], [*target, end]


def without_end(row: list, right: list, end: int, closing: int | None = None) -> list:
    """What is compared where the ends are not asked for: an `end` and a closing sentinel are taken
    off.
    """
    row = row[:-1] if row and type(row[-1]) is int and row[-1] == end else row
    return (
        row[:-1]
        if row and type(row[-1]) is int and row[-1] == closing and len(row) == len(right)
        else row
    )


def ask_cut(
    student,
    cause: str,
    ids: list[int],
    lost: list[bool],
    top: int = 1099,
    end: int = 1,
    ends: bool = False,
) -> None:
    """Compare source and target; their ends only where `ends` asks for them."""
    source, target = cut(ids, lost, top, end)
    spans = sum(gone and not before for gone, before in zip(lost, [False, *lost]))
    given = f"{len(ids)} tokens, {sum(lost)} lost in {spans} spans, top {top}, end {end}"
    came = expect(student.corrupt(ids, lost, top, end), given=given).unpacks(2)
    for one, right, name, closing in zip(
        came, (source, target), ("Your source", "Your target"), (None, top - spans)
    ):
        found = expect(one, name, given)
        if ends:
            found.equals(right, cause=cause)
        else:
            expect(without_end(found.items_as(int), right, end, closing), name, given).equals(
                right[:-1], cause=cause
            )


def text(rng, number: int) -> list[int]:
    """So many ids of ordinary tokens, each once: what repeats is asked by itself."""
    return [10 + id for id in distinct(rng, number, 9990)]


def gone(*spans: int) -> list[bool]:
    """Kept and lost tokens in turns, kept ones first: gone(2, 3, 1) keeps two, loses three, keeps
    one.
    """
    return [turn % 2 == 1 for turn, size in enumerate(spans) for _ in range(size)]


@corrupt.stage("one", points=1.5)
def test_one_span_gives_way_to_one_sentinel(student, rng):
    rule = (
        "One span inside the text: in the source one sentinel, `top`, stands for all of its tokens;"
        " the target has the sentinel first, and then these tokens in their order."
    )
    for spans in (
        (1, 1, 1),
        (1, 2, 1),
        (2, 3, 2),
        (4, 1, 3),
        (1, 7, 2),
        (9, 2, 1),
        (150, 3, 147),
        (2, 296, 2),
        (whole(rng, 2, 9), whole(rng, 2, 9), whole(rng, 1, 9)),
    ):
        ask_cut(
            student,
            rule,
            text(rng, sum(spans)),
            gone(*spans),
            whole(rng, 500, 40_000),
            whole(rng, 0, 9),
        )
    ask_cut(student, rule, [11, 12, 13, 14, 15], gone(2, 2, 1), 99 + 900)


@corrupt.stage("several", points=1.5)
def test_sentinels_count_downwards(student, rng):
    rule = (
        "Several spans, with kept tokens between them: the first has the sentinel `top`, the next"
        " `top` - 1, and so on, in source and target alike."
    )
    ask_cut(
        student,
        f"{rule} This is the case by hand.",
        list(range(11, 21)),
        gone(2, 2, 4, 1, 1),
        99 + 900,
    )
    for spans in (
        (1, 1, 1, 1, 1),
        (2, 2, 1, 3, 1),
        (1, 2, 3, 1, 1, 2, 1),
        (20, 3, 10, 3, 14, 3, 7),
        (1, 1) * 149 + (1,),
        tuple(counts(rng, 1, 4, 15).tolist()),
    ):
        ask_cut(student, rule, text(rng, sum(spans)), gone(*spans), whole(rng, 500, 40_000))
    ask_cut(student, rule, text(rng, 299), gone(*(1, 1) * 149, 1), 200)
    same = "The same token may be lost at one position and kept at another: go by positions."
    ask_cut(student, f"{rule} {same}", [5, 6, 5, 6, 5, 6, 5, 6, 5], gone(1, 2, 1, 2, 3))
    ask_cut(student, f"{rule} {same}", [7] * 12, gone(2, 1, 3, 2, 1, 2, 1))
    for case in (
        *one_changed(
            (text(rng, 9), gone(2, 2, 1, 3, 1), 700, 1), (text(rng, 9), gone(1, 3, 2, 1, 2), 900, 2)
        ),
        *look_alikes((text(rng, 9), gone(2, 2, 1, 3, 1), 700, 1)),
    ):
        ask_cut(student, rule, *case)


@corrupt.stage("start", points=1)
def test_the_first_token_may_be_lost(student, rng):
    rule = "The text begins with a lost span: the source begins with its sentinel."
    for spans in (
        (0, 1, 1),
        (0, 2, 3),
        (0, 5, 1),
        (0, 1, 40),
        (0, whole(rng, 1, 5), whole(rng, 1, 9)),
    ):
        ask_cut(student, rule, text(rng, sum(spans)), gone(*spans))


@corrupt.stage("end", points=1)
def test_the_last_token_may_be_lost(student, rng):
    rule = (
        "The text ends with a lost span, which must not be forgotten: its sentinel is the last one"
        " of the source, and its tokens are the last of the target."
    )
    for spans in ((1, 1), (2, 3), (1, 5), (40, 1), (whole(rng, 1, 9), whole(rng, 1, 5))):
        ask_cut(student, rule, text(rng, sum(spans)), gone(*spans))


@corrupt.stage("ends", points=1, after="one")
def test_both_end_with_end_and_nothing_else(student, rng):
    rule = (
        "Source and target both end with `end`, once. There is no closing sentinel before it: the"
        " paper's figure has one, the released program has none."
    )
    for spans in (
        (2, 2, 2),
        (1, 1, 1),
        (5, 1, 3),
        (whole(rng, 1, 9), whole(rng, 1, 9), whole(rng, 1, 9)),
    ):
        for end in (1, 0, 32):
            ask_cut(student, rule, text(rng, sum(spans)), gone(*spans), end=end, ends=True)
    held = f"{rule} An id of the text that is the same as `end` ends nothing."
    for ids in ([5, 1, 7], [5, 6, 1], [1, 5, 6]):
        ask_cut(student, held, ids, gone(1, 1, 1), ends=True)
    for ids in ([5, 6], []):
        ask_cut(
            student,
            f"{rule} Nothing is lost here: the source is the text and `end`, the target is `end`"
            " alone.",
            ids,
            gone(len(ids)),
            ends=True,
        )


@corrupt.stage("borders", points=1, after="one")
def test_all_none_and_any_ids(student, rng):
    for number in (1, 2, 9, 300):
        ask_cut(
            student,
            "All tokens are lost: the source is one sentinel, the target that sentinel and the"
            " whole text.",
            text(rng, number),
            [True] * number,
        )
        ask_cut(
            student,
            "Nothing is lost: the source is the text, and the target holds no token and no"
            " sentinel.",
            text(rng, number),
            [False] * number,
        )
    ask_cut(student, "An empty text: there is nothing in either list but `end`.", [], [])
    ask_cut(
        student,
        "Ids may be as large as a billion.",
        [999_999_999, 16_777_217, 999_999_997],
        gone(1, 1, 1),
    )
    held = "A text may hold any ids, those of `end` and of sentinels too: go by positions."
    ask_cut(student, held, [999, 1, 998, 999, 1, 3, 998, 997], gone(1, 2, 1, 2, 2), 999)
    ask_cut(student, held, [0, 0, 1, 0, 0, 1, 5], gone(1, 2, 1, 2, 1), 200, 0)
    both = "Spans may stand at both ends and in between, in any number."
    for spans in ((0, 1, 1, 1), (0, 2, 3, 1), (0, 1, 1, 1, 1, 2)):
        ask_cut(student, both, text(rng, sum(spans)), gone(*spans))
    for share in (0.15, 0.5, 0.85):
        for number in (whole(rng, 8, 30), 300):
            ask_cut(
                student,
                both,
                text(rng, number),
                (torch.rand(number, generator=rng) < share).tolist(),
                whole(rng, 500, 40_000),
            )


who_sees = exercise(
    "07.who_sees",
    function="who_sees",
    points=4,
    see=f"{BOOK}/xlnet#the-objective",
    withhold=OURS | LIBRARIES,
)


def said_before(order: torch.Tensor) -> torch.Tensor:
    """The right table, filled turn by turn."""
    table = torch.zeros(len(order), len(order), dtype=torch.bool)
    for turn, place in enumerate(order.tolist()):
        table[place, order[:turn]] = True
    return table


def ask_table(student, cause: str, order: torch.Tensor, itself: bool = False) -> None:
    """Compare the table, its diagonal only where `itself` asks for it, and else all but the
    diagonal.
    """
    given = f"T = {len(order)}" + (f", order {order.tolist()}" if len(order) <= 8 else "")
    came, right = (
        expect(student.who_sees(order), "Your table", given).is_tensor(
            shape=(len(order),) * 2, dtype=torch.bool
        ),
        said_before(order),
    )
    if itself:
        expect(came.diagonal().clone(), "Your table's diagonal", given).equals(
            right.diagonal().clone(), cause=cause
        )
    else:
        expect(
            came & ~torch.eye(len(order), dtype=torch.bool),
            "Your table without its diagonal",
            given,
        ).equals(right, cause=cause)


def orders(rng, number: int) -> torch.Tensor:
    """An order of so many positions, which is not its own reverse lookup."""
    order = torch.randperm(number, generator=rng)
    while torch.equal(order, order.argsort()):
        order = torch.randperm(number, generator=rng)
    return order


@who_sees.stage("turns", points=2.5)
def test_a_place_sees_those_that_were_said_before(student, rng):
    rule = (
        "Row i, column j is True where position j is predicted before position i. `order` lists"
        " positions by"
        " their turn: look up when the turn of each position is, and compare turns. The diagonal is"
        " not asked for here."
    )
    ask_table(student, f"{rule} This is the case by hand.", torch.tensor([2, 0, 3, 1]))
    for number in (3, 3, 4, 5, 8, 40, whole(rng, 6, 30)):
        ask_table(student, rule, orders(rng, number))
    for (order,) in look_alikes((orders(rng, 8),)):
        ask_table(student, rule, order)


@who_sees.stage("itself", points=0.5, after="turns")
def test_no_place_sees_itself(student, rng):
    for number in (1, 2, 3, 9, whole(rng, 4, 30)):
        ask_table(
            student,
            "A position never sees itself: its own token is what it is asked for. The diagonal is"
            " False.",
            torch.randperm(number, generator=rng),
            itself=True,
        )


@who_sees.stage("borders", points=1, after="turns")
def test_one_place_a_long_text_and_orders_that_look_like_nothing(student, rng):
    rule = (
        "There may be one position or three hundred, and the order may be that of the text or the"
        " other way round."
    )
    for order in (
        torch.arange(1),
        torch.arange(2),
        torch.tensor([1, 0]),
        torch.arange(7),
        torch.arange(7).flip(0),
        torch.tensor([1, 0, 3, 2]),
        orders(rng, 300),
    ):
        ask_table(student, rule, order)
