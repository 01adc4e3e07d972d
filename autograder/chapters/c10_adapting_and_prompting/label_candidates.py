"""Makers of batches that a student's test must tell apart (exercise 10.test_labels).

Each takes a list of chats and the id of the padding, and gives rows of ids and rows of labels.
RIGHT holds those that keep all promises of the card, WRONG those that break one, by kind. A student
never sees this.
"""

from collections.abc import Callable

START, END, LINE = 1, 2, 3
ROLES = {"system": 4, "user": 5, "assistant": 6}
FIRST, LAST, NONE = 10, 999, -100
Chat = list[tuple[str, list[int]]]
Rows = tuple[list[list[int]], list[list[int]]]
Maker = Callable[[list[Chat], int], Rows]
# What a token of a message is: its part of the block, its place in that part, and how long the part
# is.
PARTS = ("start", "role", "line", "content", "end", "line after")


def refuse(chats: list[Chat], pad: int) -> None:
    """Raise ValueError for what the exercise rules out."""
    if (
        type(chats) is not list
        or not 1 <= len(chats) <= 20
        or pad not in (0, END)
        or type(pad) is not int
    ):
        raise ValueError("a list of 1 to 20 chats is needed, and a padding of 0 or END")
    for chat in chats:
        if type(chat) is not list or not 1 <= len(chat) <= 20:
            raise ValueError("a chat is a list of 1 to 20 messages")
        for message in chat:
            if (
                type(message) not in (tuple, list)
                or len(message) != 2
                or message[0] not in ROLES
                or type(message[1]) is not list
            ):
                raise ValueError(
                    "a message is a pair of a role, one of the three, and a list of ids"
                )
            if not 1 <= len(message[1]) <= 50 or not all(
                type(one) is int and FIRST <= one <= LAST for one in message[1]
            ):
                raise ValueError(f"a content is a list of 1 to 50 ints from {FIRST} to {LAST}")


def laid_out(chat: Chat) -> list[tuple[int, str, str, int, int]]:
    """Each token of a chat: its id, its part, who speaks, the number of the message, its place in
    the part.
    """
    tokens = []
    for number, (role, content) in enumerate(chat):
        for part, ids in zip(PARTS, ([START], [ROLES[role]], [LINE], content, [END], [LINE])):
            tokens += [(id, part, role, number, place) for place, id in enumerate(ids)]
    return tokens


def learned(chat: Chat) -> list[int]:
    """The right labels of a chat."""
    return [
        id if role == "assistant" and part in ("content", "end") else NONE
        for id, part, role, _, _ in laid_out(chat)
    ]


def on_the_right(longest: int, length: int, place: int) -> tuple[int, int]:
    """So much padding before and behind."""
    return 0, longest - length


def on_the_left(longest: int, length: int, place: int) -> tuple[int, int]:
    """All of it before."""
    return longest - length, 0


def to_eights(longest: int, length: int, place: int) -> tuple[int, int]:
    """Behind, up to a multiple of eight."""
    return 0, -(-longest // 8) * 8 - length


def one_before(longest: int, length: int, place: int) -> tuple[int, int]:
    """One before each row, as a token that begins a text, the others behind."""
    return 1, longest - length


def left_to_eights(longest: int, length: int, place: int) -> tuple[int, int]:
    """Before, up to a multiple of eight."""
    return -(-longest // 8) * 8 - length, 0


def making(
    label: Callable | None = None,
    pads: Callable = on_the_right,
    text: Callable | None = None,
    end_at_padding: Callable | None = None,
    when: Callable | None = None,
) -> Maker:
    """A maker.

    label(token, chat, pad): another label, or None for the right one; text(ids, labels): another
    row; when(place, pad): where it goes wrong at all.
    """

    def maker(chats: list[Chat], pad: int) -> Rows:
        refuse(chats, pad)
        rows = []
        for place, chat in enumerate(chats):
            tokens, labels = laid_out(chat), learned(chat)
            ids = [token[0] for token in tokens]
            wrong = when is None or when(place, pad)
            if label and wrong:
                labels = [
                    right if (other := label(token, chat, pad)) is None else other
                    for token, right in zip(tokens, labels)
                ]
            if text and wrong:
                ids, labels = text(ids, labels)
            rows.append((ids, labels, wrong))
        longest = max(len(ids) for ids, _, _ in rows)
        made_ids, made_labels = [], []
        for place, (ids, labels, wrong) in enumerate(rows):
            before, behind = pads(longest, len(ids), place)
            filling = pad if end_at_padding and wrong else NONE
            made_ids.append([pad] * before + ids + [pad] * behind)
            made_labels.append([filling] * before + labels + [filling] * behind)
        return made_ids, made_labels

    return maker


def answers_of(chat: Chat) -> list[int]:
    """The numbers of the assistant's messages."""
    return [number for number, (role, _) in enumerate(chat) if role == "assistant"]


def part_gets(
    part: str,
    what: Callable,
    roles: tuple[str, ...] = ("assistant",),
    which: Callable = lambda number, chat: True,
) -> Callable:
    """A label for one part of some messages; what(token) gives it."""
    return lambda token, chat, pad: (
        what(token) if token[1] == part and token[2] in roles and which(token[3], chat) else None
    )


def nothing(token: tuple) -> int:
    """Not learned."""
    return NONE


def itself(token: tuple) -> int:
    """Learned."""
    return token[0]


def last_answer(number: int, chat: Chat) -> bool:
    """Whether it is the last answer of its chat."""
    return number == max(answers_of(chat), default=-1)


def first_answer(number: int, chat: Chat) -> bool:
    """Whether it is the first."""
    return number == min(answers_of(chat), default=-1)


def drop_answer(which: Callable) -> Callable:
    """Nothing of some answers is learned, their ends neither."""
    return lambda token, chat, pad: (
        NONE
        if token[2] == "assistant" and token[1] in ("content", "end") and which(token[3], chat)
        else None
    )


def content_place(chosen: Callable) -> Callable:
    """Tokens at some places of an answer are not learned: chosen(place, length)."""
    return lambda token, chat, pad: (
        NONE
        if token[1] == "content"
        and token[2] == "assistant"
        and chosen(token[4], len(chat[token[3]][1]))
        else None
    )


def shifted(ids: list[int], labels: list[int]) -> Rows:
    """Each label one place to the left."""
    return ids, [*labels[1:], NONE]


def shifted_right(ids: list[int], labels: list[int]) -> Rows:
    """Each label one place to the right."""
    return ids, [NONE, *labels[:-1]]


def first_of_the_pair(ids: list[int], labels: list[int]) -> Rows:
    """Two neighbouring labels of an answer have changed places."""
    place = next(
        (
            place
            for place in range(len(ids) - 1)
            if FIRST <= labels[place]
            and FIRST <= labels[place + 1]
            and labels[place] != labels[place + 1]
        ),
        None,
    )
    if place is None:
        return ids, labels
    return ids, [*labels[:place], labels[place + 1], labels[place], *labels[place + 2 :]]


def without(chosen: Callable) -> Callable:
    """Tokens are left out of both rows: chosen(place, ids)."""

    def text(ids: list[int], labels: list[int]) -> Rows:
        kept = [place for place in range(len(ids)) if not chosen(place, ids)]
        return [ids[place] for place in kept], [labels[place] for place in kept]

    return text


def exchanged(old: int, new: int) -> Callable:
    """One id for another in the text."""
    return lambda ids, labels: ([new if id == old else id for id in ids], labels)


def doubled_end(ids: list[int], labels: list[int]) -> Rows:
    """One more END behind the chat, learned."""
    return [*ids, END], [*labels, END]


def opened(ids: list[int], labels: list[int]) -> Rows:
    """An answer is opened at the end."""
    return [*ids, START, ROLES["assistant"], LINE], [*labels, NONE, NONE, NONE]


def turned_content(ids: list[int], labels: list[int]) -> Rows:
    """The first two tokens of the first content have changed places in the text."""
    return [*ids[:3], ids[4], ids[3], *ids[5:]] if ids[4] >= FIRST else ids, labels


def other_order(chats: list[Chat], pad: int) -> Rows:
    """The rows stand in another order than the chats."""
    ids, labels = right_maker(chats, pad)
    return ids[::-1], labels[::-1]


def ragged(chats: list[Chat], pad: int) -> Rows:
    """Rows of different lengths: no padding at all."""
    refuse(chats, pad)
    return [[token[0] for token in laid_out(chat)] for chat in chats], [
        learned(chat) for chat in chats
    ]


def labels_unpadded(chats: list[Chat], pad: int) -> Rows:
    """The ids are filled up, the labels are not."""
    return right_maker(chats, pad)[0], [learned(chat) for chat in chats]


def one_row(chats: list[Chat], pad: int) -> Rows:
    """Only the first chat."""
    ids, labels = right_maker(chats, pad)
    return ids[:1], labels[:1]


def one_row_more(chats: list[Chat], pad: int) -> Rows:
    """The last row stands there twice."""
    ids, labels = right_maker(chats, pad)
    return [*ids, list(ids[-1])], [*labels, list(labels[-1])]


def empty_row(chats: list[Chat], pad: int) -> Rows:
    """One more row, of padding only."""
    ids, labels = right_maker(chats, pad)
    return [*ids, [pad] * len(ids[0])], [*labels, [NONE] * len(ids[0])]


def exchanged_contents(chats: list[Chat], pad: int) -> Rows:
    """In the first chat the contents of the first two messages have changed places."""
    refuse(chats, pad)
    first = list(chats[0])
    if len(first) > 1:
        first[:2] = (first[0][0], first[1][1]), (first[1][0], first[0][1])
    return right_maker([first, *chats[1:]], pad)


def labels_on_the_other_side(chats: list[Chat], pad: int) -> Rows:
    """Ids are filled up on the left, labels on the right: each row is right by itself."""
    return left(chats, pad)[0], right_maker(chats, pad)[1]


def ids_on_the_other_side(chats: list[Chat], pad: int) -> Rows:
    """Ids are filled up on the right, labels on the left."""
    return right_maker(chats, pad)[0], left(chats, pad)[1]


def other_padding(chats: list[Chat], pad: int) -> Rows:
    """Filled up with 0, whatever the padding should be, or with END where it should be 0."""
    return right_maker(chats, 0 if pad == END else END)


def always_zero(chats: list[Chat], pad: int) -> Rows:
    """Filled up with 0, whatever the padding should be."""
    refuse(chats, pad)
    return right_maker(chats, 0)


def noise(chats: list[Chat], pad: int) -> Rows:
    """Rows of the right size that have nothing to do with the chats."""
    refuse(chats, pad)
    ids, labels = right_maker(chats, pad)
    return [[FIRST] * len(row) for row in ids], [[FIRST] * len(row) for row in labels]


def nothing_learned(chats: list[Chat], pad: int) -> Rows:
    """The chats as they should be, and no label."""
    ids, labels = right_maker(chats, pad)
    return ids, [[NONE] * len(row) for row in labels]


def padding_is_masked(chats: list[Chat], pad: int) -> Rows:
    """Labels are taken off wherever the id is that of the padding: with padding = END, no end is
    learned.
    """
    ids, labels = right_maker(chats, pad)
    return ids, [
        [NONE if id == pad else label for id, label in zip(*row)] for row in zip(ids, labels)
    ]


def last_of_padding_learned(chats: list[Chat], pad: int) -> Rows:
    """Where padding follows, its first token is learned as one more end."""
    ids, labels = right_maker(chats, pad)
    lengths = [len(laid_out(chat)) for chat in chats]
    return ids, [
        [pad if place == length else label for place, label in enumerate(row)]
        for row, length in zip(labels, lengths)
    ]


right_maker = making()
left, eights, begun, left_eights = (
    making(pads=on_the_left),
    making(pads=to_eights),
    making(pads=one_before),
    making(pads=left_to_eights),
)
RIGHT: list[Maker] = [right_maker, left, eights, begun, left_eights]
# What a test asks for that accepts another right maker and rejects this one.
POOR: dict[str, Maker] = {
    (
        "It rejects a maker that pads on the left: padding may come before a conversation or after "
        "it."
    ): (left),
    (
        "It rejects a maker that pads to a multiple of eight: sequences may be longer than the "
        "longest conversation."
    ): (eights),
    "It rejects a maker that has padding on both sides of a chat.": begun,
    "It rejects a maker that pads on the left to a multiple of eight.": left_eights,
}


def in_row(number: int) -> Callable:
    """Wrong in one row."""
    return lambda place, pad: place == number


def after_the_first(place: int, pad: int) -> bool:
    """Wrong in all rows but the first."""
    return place > 0


def with_zero(place: int, pad: int) -> bool:
    """Wrong where the padding is 0."""
    return pad == 0


def with_end(place: int, pad: int) -> bool:
    """Wrong where the padding is END."""
    return pad == END


no_end = part_gets("end", nothing)
question_learned = part_gets("content", itself, ("user", "system"))
WRONG: dict[str, list[Maker]] = {
    "answers": [
        nothing_learned,
        labels_on_the_other_side,
        ids_on_the_other_side,
        making(drop_answer(last_answer)),
        making(drop_answer(first_answer)),
        making(drop_answer(lambda number, chat: not last_answer(number, chat))),
        making(content_place(lambda place, length: place == 0)),
        making(content_place(lambda place, length: place == length - 1)),
        making(content_place(lambda place, length: 0 < place < length - 1)),
        making(content_place(lambda place, length: place > 0)),
        making(text=shifted),
        making(text=shifted_right),
        making(text=first_of_the_pair),
        making(content_place(lambda place, length: place == 0), when=in_row(2)),
        making(drop_answer(lambda number, chat: True), when=after_the_first),
        making(content_place(lambda place, length: True), when=with_end),
        making(text=shifted, pads=on_the_left),
        making(part_gets("content", lambda token: 0)),
        making(content_place(lambda place, length: place == 0), when=with_zero),
    ],
    "ends": [
        making(no_end),
        padding_is_masked,
        making(no_end, when=in_row(2)),
        making(no_end, when=in_row(0)),
        making(no_end, when=with_zero),
        making(no_end, when=with_end),
        making(part_gets("end", nothing, which=last_answer)),
        making(part_gets("end", nothing, which=first_answer)),
        making(no_end, pads=on_the_left),
        making(no_end, pads=to_eights),
        making(part_gets("end", lambda token: LINE)),
        making(part_gets("end", lambda token: 0)),
    ],
    "others": (
        [making(part_gets(part, itself)) for part in ("start", "role", "line", "line after")]
        + [
            making(question_learned),
            making(part_gets("content", itself, ("user",))),
            making(part_gets("content", itself, ("system",))),
            making(part_gets("end", itself, ("user",))),
            making(part_gets("end", itself, ("system",))),
            making(end_at_padding=True),
            making(end_at_padding=True, pads=on_the_left),
            making(end_at_padding=True, when=with_end),
            making(end_at_padding=True, when=with_zero),
            last_of_padding_learned,
            making(lambda token, chat, pad: token[0]),
            making(question_learned, when=in_row(0)),
            making(question_learned, when=in_row(2)),
            making(question_learned, when=with_end),
            making(question_learned, when=with_zero),
            making(part_gets("line after", itself, which=last_answer)),
            making(part_gets("role", itself, which=first_answer)),
            making(part_gets("content", lambda token: 0, ("user", "system"))),
        ]
    ),
    "rows": [
        noise,
        other_order,
        ragged,
        labels_unpadded,
        one_row,
        one_row_more,
        empty_row,
        exchanged_contents,
        other_padding,
        always_zero,
        making(text=doubled_end),
        making(text=opened),
        making(text=turned_content),
        making(text=without(lambda place, ids: ids[place] == LINE)),
        making(text=without(lambda place, ids: place == len(ids) - 1)),
        making(text=without(lambda place, ids: place == 0)),
        making(text=exchanged(ROLES["system"], ROLES["user"])),
        making(text=exchanged(ROLES["user"], ROLES["assistant"])),
        making(text=turned_content, when=in_row(2)),
        making(text=without(lambda place, ids: place == ids.index(END))),
        making(text=exchanged(LINE, START)),
    ],
}
# What a test lacks that lets such a maker through, the most absurd first.
PROBES: dict[str, Maker] = {
    (
        "Your test accepts rows of one and the same number: it never complains. Is there an "
        "`assert` that is reached, outside of `try`, without parentheses round condition and text?"
    ): (noise),
    "Your test accepts a maker that learns nothing at all: it compares no label of an answer.": (
        nothing_learned
    ),
    "Your test looks at the first row only.": making(
        lambda token, chat, pad: NONE, when=after_the_first
    ),
    "Your test asks with one padding only: ask with 0 and with `END`.": making(
        lambda token, chat, pad: NONE, when=with_end
    ),
}
# What a test takes for right that rejects every right maker.
MISTAKEN: dict[str, Maker] = {
    "It wants the question to be learned as well: only the assistant's answers are.": making(
        lambda token, chat, pad: token[0]
    ),
    "It does not want the end to be learned: it belongs to the answer.": making(no_end),
    "It wants shifted labels: each label stands at its own token.": making(text=shifted),
    "It wants the padding to be learned: there the label is -100.": making(end_at_padding=True),
}
