"""Plausible poor tests of chapter 10, part 1."""

from autograder.checks.mistakes.registry import mistake

TEST = "10.test_labels"
START, END, LINE = 1, 2, 3  # as in the notebook, where these tests are written into a cell
ROLES = {"system": 4, "user": 5, "assistant": 6}
CHATS = [
    [
        ("system", [11, 12, 13]),
        ("user", [14, 15, 16]),
        ("assistant", [17, 18, 19]),
        ("user", [21, 22, 23]),
        ("assistant", [24, 25, 26, 27]),
    ],
    [
        ("system", [31, 32, 33]),
        ("user", [34, 35, 36, 37]),
        ("assistant", [38, 39, 40, 41, 42]),
        ("user", [43, 44, 45]),
        ("assistant", [46, 47, 48]),
    ],
    [
        ("system", [51, 52, 53, 54]),
        ("user", [55, 56, 57, 58]),
        ("assistant", [59, 60, 61, 62]),
        ("user", [63, 64, 65, 66]),
        ("assistant", [67, 68, 69, 70]),
    ],
]


def _right(chat):
    ids, labels = [], []
    for role, content in chat:
        ids += [START, ROLES[role], LINE, *content, END, LINE]
        learned = role == "assistant"
        labels += (
            [-100] * 3 + ([*content, END] if learned else [-100] * (len(content) + 1)) + [-100]
        )
    return ids, labels


def _judge(
    make,
    chats=CHATS,
    pads=(0, END),
    rows=slice(None),
    left=True,
    content=True,
    ends=True,
    others=True,
    text=True,
    longest=False,
):
    """The whole test, with parts left out."""
    for pad in pads:
        ids, labels = make([list(chat) for chat in chats], pad)
        assert (
            len(ids) == len(labels) == len(chats)
            and len({len(row) for row in [*ids, *labels]}) == 1
            or not text
        )
        for chat, row, learned in list(zip(chats, ids, labels))[rows]:
            right, wanted = _right(chat)
            extra = len(row) - len(right)
            assert extra >= 0 or not text
            assert not longest or len(row) == max(len(_right(one)[0]) for one in chats)
            fits = []
            for before in range(max(extra, 0) + 1) if left else [0]:
                found = [] if text else [(None, None)]
                if row == [pad] * before + right + [pad] * (extra - before):
                    found = list(zip([-100] * before + wanted + [-100] * (extra - before), learned))
                fits.append(
                    bool(found)
                    and (not text or len(learned) == len(row))
                    and all(
                        one == other
                        for one, other in found
                        if one is not None
                        and (one >= 10 and content or one == END and ends or one == -100 and others)
                    )
                )
            assert any(fits)


@mistake(
    TEST,
    "lengths-only",
    caught_by="answers",
    loses=5,
    misconception="Your test compares lengths only.",
)
def _(make):
    ids, labels = make(CHATS, 0)
    assert len(ids) == len(labels) == 3 and all(
        len(row) == len(other) for row, other in zip(ids, labels)
    )


@mistake(
    TEST,
    "some-label",
    caught_by="answers",
    loses=5,
    misconception="Your test only asks whether anything is learned.",
)
def _(make):
    for pad in (0, END):
        assert any(label != -100 for row in make(CHATS, pad)[1] for label in row)


@mistake(
    TEST,
    "one-turn",
    caught_by="answers",
    loses=1.5,
    misconception="Your chats have one answer each: who forgets all others passes.",
)
def _(make):
    _judge(make, [chat[:3] for chat in CHATS])


@mistake(
    TEST,
    "one-chat",
    caught_by="answers",
    loses=5,
    misconception="Your batch has one chat, and so no padding and no second row.",
)
def _(make):
    _judge(make, CHATS[:1])


@mistake(
    TEST,
    "first-row",
    caught_by="answers",
    loses=5,
    misconception="Your test looks at the first row only.",
)
def _(make):
    _judge(make, rows=slice(1))


@mistake(
    TEST,
    "no-content",
    caught_by="answers",
    loses=1.5,
    misconception="Your test does not look at the answers' own tokens.",
)
def _(make):
    _judge(make, content=False)


@mistake(
    TEST,
    "end-never-asked",
    caught_by="ends",
    loses=1.5,
    misconception="Your test does not ask whether the end is learned.",
)
def _(make):
    _judge(make, ends=False)


@mistake(
    TEST,
    "padding-of-zero",
    caught_by="answers",
    loses=5,
    misconception=(
        "Your test asks with a padding of 0 only: the mistake that padding = end invites is never"
        " seen."
    ),
)
def _(make):
    _judge(make, pads=(0,))


@mistake(
    TEST,
    "padding-of-end",
    caught_by="answers",
    loses=4,
    misconception="Your test asks with a padding of `END` only.",
)
def _(make):
    _judge(make, pads=(END,))


@mistake(
    TEST,
    "others-not-asked",
    caught_by="others",
    loses=1,
    misconception="Your test does not ask whether anything else is learned.",
)
def _(make):
    _judge(make, others=False)


@mistake(
    TEST,
    "no-system",
    caught_by="others",
    loses=2,
    misconception="Your chats have no system message: who learns it passes.",
)
def _(make):
    _judge(make, [chat[1:] for chat in CHATS])


@mistake(
    TEST,
    "ids-not-looked-at",
    caught_by="answers",
    loses=2.5,
    misconception="Your test does not look at the ids.",
)
def _(make):
    for pad in (0, END):
        ids, labels = make([list(chat) for chat in CHATS], pad)
        for chat, learned in zip(CHATS, labels):
            wanted = _right(chat)[1]
            assert any(
                learned[before : before + len(wanted)] == wanted
                and set(learned[:before] + learned[before + len(wanted) :]) <= {-100}
                for before in range(9)
            )


@mistake(
    TEST,
    "no-padding-on-the-left",
    caught_by="answers",
    loses=5,
    misconception="Your test wants all padding on the right. It may stand on the left.",
)
def _(make):
    _judge(make, left=False)


@mistake(
    TEST,
    "longest-only",
    caught_by="answers",
    loses=5,
    misconception="Your test wants rows as long as the longest chat. They may be longer.",
)
def _(make):
    _judge(make, longest=True)


@mistake(
    TEST,
    "never-called",
    caught_by="answers",
    loses=5,
    misconception="Your test never calls the maker.",
)
def _(make):
    assert callable(make)


@mistake(
    TEST,
    "labels-by-themselves",
    caught_by="answers",
    loses=1.5,
    misconception=(
        "You look for the ids and for the labels one after the other, each with a padding of its"
        " own: then a label need not stand at its token."
    ),
)
def _(make):
    for pad in (0, END):
        ids, labels = make([list(chat) for chat in CHATS], pad)
        assert (
            len(ids) == len(labels) == len(CHATS)
            and len({len(row) for row in [*ids, *labels]}) == 1
        )
        for chat, row, learned in zip(CHATS, ids, labels):
            right, wanted = _right(chat)
            for found, asked, filling in ((row, right, pad), (learned, wanted, -100)):
                extra = len(found) - len(asked)
                assert any(
                    found == [filling] * before + asked + [filling] * (extra - before)
                    for before in range(extra + 1)
                )
