"""Checks of chapter 11, parts 3 and 4: filling the rows, laying them, and the short answer."""

from autograder.chapters.c11_modernbert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, one_changed, whole
from autograder.checks.protocol import Sample, exercise, expect, short_answer

BOOK = "11-modernbert"

pack_rows = exercise(
    "11.pack_rows",
    function="pack_rows",
    points=5,
    see=f"{BOOK}/packing#which-texts-share-a-row",
    withhold=OURS | LIBRARIES,
)


def fewest(lengths: list[int], budget: int) -> int:
    """How many rows first-fit decreasing needs."""
    room: list[int] = []
    for length in sorted(lengths)[::-1]:
        place = next((place for place, left in enumerate(room) if left >= length), len(room))
        room[place : place + 1] = [(room[place] if place < len(room) else budget) - length]
    return len(room)


def rows_of(student, lengths: list[int], budget: int, cause: str) -> None:
    """Ask for rows, and judge them: each text once, no row too full, and no more rows than
    first-fit decreasing has.
    """
    given = (
        f"lengths {str(lengths)[:120]}{' ...' if len(str(lengths)) > 120 else ''}, budget {budget}"
    )
    rows = expect(student.pack_rows(lengths, budget), given=given).is_a(list)
    for row in rows:
        for text in expect(row, "A row of yours", given).is_a(list):
            expect(text, "A number in a row of yours", given).is_a(int)
    placed = sorted(int(text) for row in rows for text in row)
    expect(placed == list(range(len(lengths)))).is_true(
        cause=(
            "Each number from 0 to len(lengths) - 1 stands in exactly one row: the number of the"
            f" text, not its length, and not its index in a sorted list. {cause}"
        ),
        detail=f"Given {given}. Your rows hold {str(placed)[:160]}",
    )
    expect(all(len(row) > 0 for row in rows)).is_true(
        cause=f"No row is an empty list. {cause}", detail=f"Given {given}."
    )
    fullest = max((sum(lengths[int(text)] for text in row) for row in rows), default=0)
    expect(fullest <= budget).is_true(
        cause=f"No row holds more than `budget` tokens. {cause}",
        detail=f"Given {given}. Your fullest row has {fullest}",
    )
    expect(len(rows) <= fewest(lengths, budget)).is_true(
        cause=cause,
        detail=(
            f"Given {given}. You need {len(rows)} rows; first-fit decreasing needs"
            f" {fewest(lengths, budget)}"
        ),
    )


@pack_rows.stage("together", points=1.5)
def test_texts_share_rows(student, rng):
    rule = (
        "Texts that fit into one row share it: where they come from the longest to the shortest, it"
        " is enough to fill the last row as long as there is room."
    )
    for lengths, budget in (
        ([1], 1),
        ([3, 2], 9),
        ([5, 4, 1], 10),
        ([2] * 12, 8),
        ([4, 4, 4, 4, 4], 8),
        ([300], 300),
        ([7, 7, 7], 8),
        ([1] * 300, 100),
        ([60, 30, 10], 100),
        ([50_000] * 7, 1_000_000),
        ([2] * whole(rng, 5, 30), 7),
    ):
        rows_of(student, lengths, budget, rule)


DESCENDING = (
    ([7, 6, 5, 4, 3, 3, 2], 10),
    ([6, 6, 6, 4, 4, 4], 10),
    ([8, 7, 6, 5, 5, 4, 3, 2], 10),
    ([9, 8, 7, 3, 2, 1], 10),
    ([70, 60, 50, 50, 40, 30], 100),
    ([9] * 3 + [1] * 3, 10),
)


@pack_rows.stage("first-fit", points=1.5)
def test_every_open_row_is_looked_at(student, rng):
    rule = (
        "Put a text into any row that still has room for it, not only into the last one: only where"
        " none has room a new one begins. The texts come from the longest to the shortest here."
    )
    for lengths, budget in DESCENDING:
        rows_of(student, lengths, budget, rule)
    for texts, high, budget in (
        (9, 9, 10),
        (40, 60, 100),
        (120, 100, 128),
        (300, 999_999, 1_000_000),
        (300, 128, 1024),
    ):
        rows_of(student, sorted(counts(rng, 1, high, texts).tolist(), reverse=True), budget, rule)


@pack_rows.stage("sorted", points=1.5)
def test_the_longest_come_first(student, rng):
    rule = (
        "Take the texts from the longest to the shortest. As they come, short ones fill rows in"
        " which long ones would have found their partner."
    )
    for lengths, budget in (
        *((lengths[::-1], budget) for lengths, budget in DESCENDING),
        ([1, 1, 1, 9, 9, 9], 10),
        ([3, 3, 3, 7, 7, 7], 10),
        ([2, 6, 4, 5, 3], 10),
        ([4, 1, 6, 9, 5, 5], 10),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], 9),
        ([3, 7, 5, 2, 3], 10),
        ([1, 99] * 40, 100),
        ([10, 20, 30, 40, 50, 60, 70, 80, 90] * 8, 100),
    ):
        rows_of(student, lengths, budget, rule)
    for texts, high, budget in (
        (9, 9, 10),
        (12, 50, 100),
        (60, 50, 100),
        (120, 100, 128),
        (300, 999_999, 1_000_000),
        (300, 128, 1024),
        (300, 50, 100),
    ):
        rows_of(student, counts(rng, 1, high, texts).tolist(), budget, rule)
    for budget in (40, 60, 30, 120, 50):
        rows_of(student, [10, 20, 10, 10, 20, 10, 10, 10, 20], budget, rule)
    first = counts(rng, 1, 30, 9).tolist()
    for case in (
        *one_changed((first, 40), (counts(rng, 1, 30, 12).tolist(), 50)),
        *look_alikes((first, 40)),
    ):
        rows_of(student, *case, rule)


@pack_rows.stage("borders", points=0.5, after="sorted")
def test_empty_texts_full_rows_and_none(student):
    full = "A row may be filled to the last token, and no further."
    for lengths, budget in (
        ([5, 5], 10),
        ([5, 6], 10),
        ([10, 10], 10),
        ([1], 1),
        ([1, 1], 1),
        ([4, 3, 3], 10),
        ([4, 4, 3], 10),
        ([999_999, 1], 1_000_000),
        ([500_001, 500_000], 1_000_000),
    ):
        rows_of(student, lengths, budget, full)
    best = (
        "You need more rows than first-fit decreasing here. A text goes into the first row that has"
        " room; into the fullest one, it is now and then a row more."
    )
    for lengths, budget in (
        ([14, 9, 8, 8, 8, 4, 3, 3, 3], 30),
        ([22, 18, 16, 14, 13, 5, 5, 3, 3], 50),
        ([16, 13, 13, 11, 10, 8, 8, 3, 3, 2, 2], 30),
    ):
        rows_of(student, lengths, budget, best)
    nothing = "A text of 0 tokens stands in a row too, and takes no room there."
    for lengths, budget in (
        ([0], 5),
        ([0, 0, 0], 5),
        ([5, 0, 5], 5),
        ([0, 3, 0, 2], 5),
        ([5, 5, 0], 5),
        ([0, 0], 1),
    ):
        rows_of(student, lengths, budget, nothing)
    expect(student.pack_rows([], 8)).equals(
        [], cause="Without texts there are no rows: an empty list."
    )


lay_rows = exercise(
    "11.lay_rows",
    function="lay_rows",
    also=["wrong_line"],
    points=2,
    kind="find-line",
    see=f"{BOOK}/packing#pitfalls",
    withhold=OURS | LIBRARIES,
)


@lay_rows.stage("line", points=0.5)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(
        cause=(
            "That line does what the statement says. Run the lines one by one on the case by hand,"
            " and compare what each name holds."
        )
    )


def laid(
    texts: list[list[int]], rows: list[list[int]]
) -> list[tuple[list[int], list[int], list[int]]]:
    """The right answer, token by token."""
    made = []
    for row in rows:
        ids, bounds, positions = [], [0], []
        for number in row:
            for place, token in enumerate(texts[number]):
                ids.append(token)
                positions.append(place)
            bounds.append(len(ids))
        made.append((ids, bounds, positions))
    return made


def ask_part(student, part: int, cause: str, texts: list[list[int]], rows: list[list[int]]) -> None:
    """Compare one of the three lists of each row."""
    name = ("ids", "cu_seqlens", "positions")[part]
    given = f"texts of {[len(text) for text in texts][:8]} tokens, rows {str(rows)[:80]}"
    came, right = expect(student.lay_rows(texts, rows), given=given).is_a(list), laid(texts, rows)
    expect(len(came) == len(right)).is_true(
        cause="One tuple for each row.",
        detail=f"Given {given}. {len(came)} items for {len(right)} rows",
    )
    for one, wanted in zip(came, right):
        expect(
            expect(one, "A row of yours", given).unpacks(3)[part], f"Your {name} of a row", given
        ).equals(wanted[part], cause=cause)


def drawn(rng, *lengths: int) -> list[list[int]]:
    """Texts of these lengths."""
    return [counts(rng, 0, 99, length).tolist() for length in lengths]


@lay_rows.stage("positions", points=1)
def test_each_text_counts_its_own_tokens(student, rng):
    rule = (
        "The first token of each text has position 0, the next 1, and so on, wherever in the row"
        " the text stands."
    )
    ask_part(student, 2, f"{rule} This is the case by hand.", [[5, 6, 7], [8, 9]], [[1, 0]])
    for lengths, rows in (
        ((3, 2), [[0, 1]]),
        ((3, 2), [[0], [1]]),
        ((2, 2, 2), [[2, 0], [1]]),
        ((1, 4, 3, 2), [[1, 3], [2, 0]]),
        ((4, 300, 2), [[0, 1, 2]]),
        ((5, 5), [[1, 0]]),
        ((2, 3, 4), [[2, 1, 0]]),
        ((3, 0, 2), [[0, 1, 2]]),
        ((2, 3, 1), [[1]]),
        ((2,) * 300, [[*range(300)]]),
        (tuple(counts(rng, 1, 9, 5).tolist()), [[4, 2], [0, 3, 1]]),
    ):
        ask_part(student, 2, rule, drawn(rng, *lengths), rows)
    texts = drawn(rng, 2, 4, 3)
    for rows in ([[0, 1], [2]], [[1, 0], [2]], [[2], [0, 1]], [[0, 2], [1]]):
        ask_part(student, 2, rule, texts, rows)


@lay_rows.stage("rest", points=0.5, after="positions")
def test_ids_and_bounds_stay_as_they_were(student, rng):
    rule = (
        "All but the positions is right in the printed function: the ids of the row's texts end to"
        " end, in the row's order, and 0 and the running sum of their lengths."
    )
    for lengths, rows in (
        ((3, 2), [[0, 1]]),
        ((3, 2), [[1, 0]]),
        ((1, 4, 3, 2), [[1, 3], [2, 0]]),
        ((3, 0, 2), [[0, 1, 2]]),
        ((0,), [[0]]),
        ((0, 0, 2), [[0, 1], [2]]),
        ((2, 3, 1), [[1]]),
        ((4, 300, 2), [[2, 1], [0]]),
    ):
        texts = drawn(rng, *lengths)
        for part in (0, 1):
            ask_part(student, part, rule, texts, rows)
    ask_part(student, 0, rule, [[999_999_937, 40_000], [0, 0, 65_537]], [[1, 0]])
    for rows in ([], [[0]]):
        expect(student.lay_rows([[7]], rows)).equals(
            laid([[7]], rows), cause="Of no rows, an empty list."
        )


short_answer(
    "11.leaking_row",
    points=4,
    see=f"{BOOK}/packing#what-happens-without-borders",
    rubric={
        "what is heard": (
            1,
            (
                "says that every token attends to the tokens of the other texts in its row (4 and 8"
                " tokens: 144 pairs in place of 80), so that the vector of a text depends on which"
                " texts happened to be packed with it (half for the leak without what the vector"
                " depends on)"
            ),
        ),
        "why the loss falls": (
            1,
            (
                "says that neighbours help to predict masked tokens, being about the same words or"
                " copies of"
                " each other, and that held-out rows are packed alike, so that they have the same"
                " help; a text that comes alone has none: another task was measured (half without"
                " the held-out rows)"
            ),
        ),
        "a check": (
            1,
            (
                "proposes a test that would show it: the same text alone and behind others, or in"
                " two rows, must give the same vectors up to rounding; or the loss of both models"
                " on one text a row (half if it does not say what has to come out)"
            ),
        ),
        "a decision": (
            1,
            (
                "does not ship it, with a reason from the use; and names what could change that:"
                " pieces of one document, where what stands before is context and meant, or a task"
                " that comes in such rows (half for the refusal alone)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "A lower loss on held-out data means that the model generalises better, so more context"
            " helps. I would ship it, but first compare the speed, because the attention over the"
            " whole row is quadratic.",
            {},
            "Takes the loss for the task. None of the rows; speed was not asked.",
        ),
        Sample(
            "Half",
            "Without cu_seqlens the texts see each other, so there is contamination: 144 pairs and"
            " not 80. The model can cheat and use the other texts when it predicts a masked token."
            " I"
            " would not ship it. She should test with more data.",
            {"what is heard": 0.5, "why the loss falls": 0.5, "a decision": 0.5},
            "Row 1 without what the vector depends on; row 2 without the held-out rows; more data"
            " is no check; nothing could change the decision.",
        ),
        Sample(
            "Good",
            "Each token hears all texts of its row, so the vector of an entry changes with its"
            " neighbours. Neighbouring entries are about the same word, so a masked token can be"
            " copied,"
            " in the held-out rows as well. Encode one entry alone and in a row: the vectors must"
            " be equal. I would not ship it, since a user sends single texts.",
            {"what is heard": 1, "why the loss falls": 1, "a check": 1, "a decision": 0.5},
            "Rows 1 to 3 in full. No word on what could change the decision.",
        ),
        Sample(
            "Strong",
            "A row of 4 and 8 tokens has 144 pairs, and 64 of them cross. So the same sentence has"
            " another vector in each row, and that is no property of the sentence. The loss falls"
            " because entries side by side share words: she measures predicting masked tokens with"
            " the"
            " neighbour's help, and her held-out rows give that help too. In a search the query"
            " stands alone. Check: one text alone, then behind three others, then behind three"
            " different ones; with cu_seqlens the vectors agree to 1e-5. And compare both models"
            " with one text in a row. I would not ship it. If the rows were chapters of one book in"
            " their order I would drop the ends on purpose, for then what comes before is context.",
            {"what is heard": 1, "why the loss falls": 1, "a check": 1, "a decision": 1},
            "All four rows, each with its reason.",
        ),
    ],
)
