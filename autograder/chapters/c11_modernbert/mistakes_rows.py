"""Plausible wrong solutions of chapter 11, part 3: filling and laying rows."""

from itertools import accumulate

from autograder.checks.mistakes.registry import mistake

ROWS, LAID = "11.pack_rows", "11.lay_rows"


def _filled(
    lengths,
    budget,
    order=lambda lengths: sorted(range(len(lengths)), key=lambda text: -lengths[text]),
    last_only=False,
    room=0,
    strict=False,
):
    """Rows by first-fit, with a part replaced."""
    rows = []
    for text in order(lengths):
        for row in rows[-1:] if last_only else rows:
            size = sum(lengths[one] for one in row) + lengths[text]
            if size < budget + room if strict else size <= budget + room:
                row.append(text)
                break
        else:
            rows.append([text])
    return rows


@mistake(
    ROWS,
    "next-fit",
    caught_by="first-fit",
    loses=3.5,
    misconception="You look into the last row only. An earlier one may still have room.",
)
def _(lengths, budget):
    return _filled(lengths, budget, last_only=True)


@mistake(
    ROWS,
    "unsorted",
    caught_by="sorted",
    loses=2,
    misconception="You take the texts as they come. Take the longest first.",
)
def _(lengths, budget):
    return _filled(lengths, budget, order=lambda lengths: range(len(lengths)))


@mistake(
    ROWS,
    "shortest-first",
    caught_by="first-fit",
    loses=3.5,
    misconception="You take the shortest texts first. The long ones then find no room.",
)
def _(lengths, budget):
    return _filled(
        lengths, budget, order=lambda lengths: sorted(range(len(lengths)), key=lengths.__getitem__)
    )


@mistake(
    ROWS,
    "as-they-come-last-row",
    caught_by="first-fit",
    loses=3.5,
    misconception="You take the texts as they come, and look into the last row only.",
)
def _(lengths, budget):
    return _filled(lengths, budget, order=lambda lengths: range(len(lengths)), last_only=True)


@mistake(
    ROWS,
    "one-too-many",
    caught_by="together",
    loses=5,
    misconception="Your rows hold up to one token more than `budget`.",
)
def _(lengths, budget):
    return _filled(lengths, budget, room=1)


@mistake(
    ROWS,
    "never-full",
    caught_by="together",
    loses=5,
    misconception="Your rows are never filled to the last token. They may be.",
)
def _(lengths, budget):
    return _filled(lengths, budget, strict=True)


@mistake(
    ROWS,
    "one-each",
    caught_by="together",
    loses=5,
    misconception="Each of your texts has a row of its own.",
)
def _(lengths, budget):
    return [[text] for text in range(len(lengths))]


@mistake(
    ROWS,
    "all-in-one",
    caught_by="together",
    loses=5,
    misconception="All of your texts stand in one row, whatever the budget.",
)
def _(lengths, budget):
    return [list(range(len(lengths)))]


@mistake(
    ROWS,
    "one-lost",
    caught_by="together",
    loses=5,
    misconception="You lose the text that finds no room in the open rows: it begins a new one.",
)
def _(lengths, budget):
    rows = [[]]
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        row = next(
            (row for row in rows if sum(lengths[one] for one in row) + lengths[text] <= budget),
            None,
        )
        if row is None:
            rows.append([])
        else:
            row.append(text)
    return [row for row in rows if row]


@mistake(
    ROWS,
    "lengths-for-numbers",
    caught_by="together",
    loses=5,
    misconception="Your rows hold the lengths of the texts. What was asked for are their numbers.",
)
def _(lengths, budget):
    return [[lengths[text] for text in row] for row in _filled(lengths, budget)]


@mistake(
    ROWS,
    "places-in-the-sorted-list",
    caught_by="sorted",
    loses=2,
    misconception=(
        "Your numbers are indices in the sorted list. They are the texts' own, in the order in"
        " which"
        " they were given."
    ),
)
def _(lengths, budget):
    return _filled(sorted(lengths, reverse=True), budget)


@mistake(
    ROWS,
    "empty-left-out",
    caught_by="borders",
    loses=0.5,
    misconception="You leave out texts without tokens. They stand in a row, too.",
)
def _(lengths, budget):
    return [
        row
        for row in ([text for text in row if lengths[text]] for row in _filled(lengths, budget))
        if row
    ]


@mistake(
    ROWS,
    "a-row-of-nothing",
    caught_by="borders",
    loses=0.5,
    misconception="Without texts there are no rows: you return one.",
)
def _(lengths, budget):
    return _filled(lengths, budget) or [[]]


@mistake(
    ROWS,
    "found-by-length",
    caught_by="together",
    loses=5,
    misconception=(
        "You look a text's number up by its length, with `index`: of several texts of one length"
        " you name the first only."
    ),
)
def _(lengths, budget):
    return [[lengths.index(lengths[text]) for text in row] for row in _filled(lengths, budget)]


@mistake(
    ROWS,
    "best-fit",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "You put each text into the fullest row that has room. The first one that has room needs a"
        " row less now and then."
    ),
)
def _(lengths, budget):
    rows, room = [], []
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        place = min(
            (place for place, left in enumerate(room) if left >= lengths[text]),
            key=room.__getitem__,
            default=len(rows),
        )
        if place == len(rows):
            rows.append([])
            room.append(budget)
        rows[place].append(text)
        room[place] -= lengths[text]
    return rows


def _rows(texts, rows, ids=None, bounds=None, positions=None):
    """The rows laid, with a part replaced."""
    made = []
    for row in rows:
        found = [token for text in row for token in texts[text]] if ids is None else ids(texts, row)
        ends = (
            [0, *accumulate(len(texts[text]) for text in row)]
            if bounds is None
            else bounds(texts, row)
        )
        made.append(
            (
                found,
                ends,
                (
                    [place for text in row for place in range(len(texts[text]))]
                    if positions is None
                    else positions(texts, row)
                ),
            )
        )
    return made


@mistake(
    LAID,
    "as-printed",
    caught_by="positions",
    loses=1.5,
    misconception="Your positions run on through the row, as in the printed function.",
)
def _(texts, rows):
    return _rows(
        texts, rows, positions=lambda texts, row: list(range(sum(len(texts[text]) for text in row)))
    )


@mistake(
    LAID,
    "from-one",
    caught_by="positions",
    loses=1.5,
    misconception="Your positions begin at 1. The first token of a text has position 0.",
)
def _(texts, rows):
    return _rows(
        texts,
        rows,
        positions=lambda texts, row: [
            place + 1 for text in row for place in range(len(texts[text]))
        ],
    )


@mistake(
    LAID,
    "numbers-of-texts",
    caught_by="positions",
    loses=1.5,
    misconception=(
        "You give each token the number of its text. Its position in the text was asked for."
    ),
)
def _(texts, rows):
    return _rows(
        texts,
        rows,
        positions=lambda texts, row: [
            number for number, text in enumerate(row) for _ in texts[text]
        ],
    )


@mistake(
    LAID,
    "first-text-again",
    caught_by="positions",
    loses=1.5,
    misconception=(
        "Your positions come round after the first text's length. Each text has a length of its"
        " own."
    ),
)
def _(texts, rows):
    return _rows(
        texts,
        rows,
        positions=lambda texts, row: [
            place % max(len(texts[row[0]]), 1)
            for place in range(sum(len(texts[text]) for text in row))
        ],
    )


@mistake(
    LAID,
    "in-the-texts-order",
    caught_by="positions",
    loses=1.5,
    misconception=(
        "You lay the texts of a row in the order of their numbers. They stand in the row's order."
    ),
)
def _(texts, rows):
    return _rows(texts, [sorted(row) for row in rows])


@mistake(
    LAID,
    "lengths",
    caught_by="rest",
    loses=0.5,
    misconception="Your bounds are lengths. They are running sums, with 0 in front.",
)
def _(texts, rows):
    return _rows(texts, rows, bounds=lambda texts, row: [0, *(len(texts[text]) for text in row)])


@mistake(
    LAID, "no-zero", caught_by="rest", loses=0.5, misconception="Your bounds lack the 0 in front."
)
def _(texts, rows):
    return _rows(
        texts, rows, bounds=lambda texts, row: list(accumulate(len(texts[text]) for text in row))
    )


for _line, _why in {
    1: "it begins with no rows",
    2: "it goes through the rows",
    3: "it puts the ids of the row's texts end to end",
    4: "it says where each text begins, and the last one ends",
    6: "it keeps the three of this row",
    7: "it returns one tuple for each row",
}.items():
    mistake(
        LAID,
        f"line-{_line}",
        replaces="wrong_line",
        caught_by="line",
        loses=0.5,
        misconception=f"Line {_line} is right: {_why}.",
    )(lambda line=_line: line)
