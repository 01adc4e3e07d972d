"""Plausible wrong solutions of chapter 10, part 1: a chat as ids and labels."""

from autograder.checks.mistakes.registry import mistake

CHAT = "10.chat_example"


def _pieces(
    messages,
    encode,
    start,
    end,
    whose=lambda place, messages: messages[place]["role"] == "assistant",
    header=False,
    ending=True,
    line=False,
    content=str,
):
    """The pieces with what is learned of each; whose: whether a message is learned at all."""
    for place, message in enumerate(messages):
        learned = whose(place, messages)
        yield [start], learned and header
        yield encode(message["role"]), learned and header
        yield encode("\n"), learned and header
        yield encode(content(message["content"])), learned
        yield [end], learned and ending
        yield encode("\n"), learned and line


def _joined(pieces, other=-100):
    pieces = list(pieces)
    return [id for ids, _ in pieces for id in ids], [
        id if learned else other for ids, learned in pieces for id in ids
    ]


@mistake(
    CHAT,
    "header-learned",
    caught_by="answer",
    loses=4.5,
    misconception=(
        "You learn the header of the answer, `start`, role and line end, with it. Nobody has to"
        " guess these: they are written before the model speaks."
    ),
)
def _(messages, encode, start, end):
    return _joined(_pieces(messages, encode, start, end, header=True))


@mistake(
    CHAT,
    "all-learned",
    caught_by="answer",
    loses=4.5,
    misconception="You learn the whole chat, the questions too.",
)
def _(messages, encode, start, end):
    ids, _ = _joined(_pieces(messages, encode, start, end))
    return ids, list(ids)


@mistake(
    CHAT,
    "questions-learned",
    caught_by="answer",
    loses=4.5,
    misconception=(
        "You learn what the user and the system say, as well as the answers. Only the assistant's"
        " messages are learned."
    ),
)
def _(messages, encode, start, end):
    return _joined(_pieces(messages, encode, start, end, whose=lambda place, messages: True))


@mistake(
    CHAT,
    "shifted",
    caught_by="answer",
    loses=4.5,
    misconception=(
        "You shift the labels: at each position is the id of the next token. The loss shifts"
        " them, so they would be shifted twice."
    ),
)
def _(messages, encode, start, end):
    ids, labels = _joined(_pieces(messages, encode, start, end))
    return ids, [*labels[1:], -100]


@mistake(
    CHAT,
    "first-token-missed",
    caught_by="answer",
    loses=4.5,
    misconception="You leave out the first token of each answer: the mask is off by one.",
)
def _(messages, encode, start, end):
    ids, labels = _joined(_pieces(messages, encode, start, end))
    return ids, [
        label if place and labels[place - 1] != -100 else -100 for place, label in enumerate(labels)
    ]


@mistake(
    CHAT,
    "zero-for-nothing",
    caught_by="answer",
    loses=4.5,
    misconception=(
        "You write 0 where nothing is learned. 0 is a token; -100 is what stands for none."
    ),
)
def _(messages, encode, start, end):
    return _joined(_pieces(messages, encode, start, end), other=0)


@mistake(
    CHAT,
    "end-not-learned",
    caught_by="end",
    loses=3,
    misconception="You do not learn `end`. A model that was trained so never stops.",
)
def _(messages, encode, start, end):
    return _joined(_pieces(messages, encode, start, end, ending=False))


@mistake(
    CHAT,
    "line-end-learned",
    caught_by="end",
    loses=3,
    misconception=(
        "The line break after `end` has a label. Generation stops at `end`, and nothing follows it."
    ),
)
def _(messages, encode, start, end):
    return _joined(_pieces(messages, encode, start, end, line=True))


@mistake(
    CHAT,
    "every-end-learned",
    caught_by="end",
    loses=3,
    misconception="You learn the `end` of every message, the questions' too.",
)
def _(messages, encode, start, end):
    ids, labels = _joined(_pieces(messages, encode, start, end))
    return ids, [end if id == end else label for id, label in zip(ids, labels)]


@mistake(
    CHAT,
    "last-answer-only",
    caught_by="turns",
    loses=1.5,
    misconception="You learn the last answer only. Each of the assistant's turns is learned.",
)
def _(messages, encode, start, end):
    last = max(
        (place for place, one in enumerate(messages) if one["role"] == "assistant"), default=-1
    )
    return _joined(
        _pieces(messages, encode, start, end, whose=lambda place, messages: place == last)
    )


@mistake(
    CHAT,
    "first-answer-only",
    caught_by="turns",
    loses=1.5,
    misconception="You learn the first answer only. Each of the assistant's turns is learned.",
)
def _(messages, encode, start, end):
    first = next((place for place, one in enumerate(messages) if one["role"] == "assistant"), -1)
    return _joined(
        _pieces(messages, encode, start, end, whose=lambda place, messages: place == first)
    )


@mistake(
    CHAT,
    "all-after-the-first-answer",
    caught_by="turns",
    loses=2,
    misconception=(
        "From the first answer's content on you learn everything, or all but `start`: the questions"
        " that follow it too."
    ),
)
def _(messages, encode, start, end):
    first = next(
        (place for place, one in enumerate(messages) if one["role"] == "assistant"), len(messages)
    )
    return _joined(
        _pieces(messages, encode, start, end, whose=lambda place, messages: place >= first)
    )


@mistake(
    CHAT,
    "role-and-line-in-one",
    caught_by="message",
    loses=6,
    misconception=(
        "You encode the role and its line end in one call. Where pieces cross the border between"
        " them, that gives other ids."
    ),
)
def _(messages, encode, start, end):
    ids, labels = [], []
    for message in messages:
        said, learned = [*encode(message["content"]), end], message["role"] == "assistant"
        head, line = [start, *encode(message["role"] + "\n")], encode("\n")
        ids += [*head, *said, *line]
        labels += (
            [-100] * len(head) + (said if learned else [-100] * len(said)) + [-100] * len(line)
        )
    return ids, labels


@mistake(
    CHAT,
    "no-line-after-end",
    caught_by="message",
    loses=6,
    misconception="You leave out the line end after `end`.",
)
def _(messages, encode, start, end):
    return _joined(
        piece for place, piece in enumerate(_pieces(messages, encode, start, end)) if place % 6 != 5
    )


@mistake(
    CHAT,
    "no-role",
    caught_by="message",
    loses=6,
    misconception="You leave out who speaks: the role and its line end.",
)
def _(messages, encode, start, end):
    return _joined(
        piece
        for place, piece in enumerate(_pieces(messages, encode, start, end))
        if place % 6 not in (1, 2)
    )


@mistake(
    CHAT,
    "marks-as-text",
    caught_by="message",
    loses=6,
    misconception=(
        "You write the marks into one text and encode it. `encode` makes text of whatever it gets:"
        " the marks are put in as ids, `start` and `end`."
    ),
)
def _(messages, encode, start, end):
    pieces = [
        (
            encode(f"<|im_start|>{one['role']}\n"),
            encode(f"{one['content']}<|im_end|>\n"),
            one["role"] == "assistant",
        )
        for one in messages
    ]
    return [id for head, said, _ in pieces for id in head + said], [
        id
        for head, said, learned in pieces
        for id in [-100] * len(head) + (said if learned else [-100] * len(said))
    ]


@mistake(
    CHAT,
    "opens-an-answer",
    caught_by="message",
    loses=6,
    misconception="You open another answer at the end, as for generating. Here the chat is whole.",
)
def _(messages, encode, start, end):
    ids, labels = _joined(_pieces(messages, encode, start, end))
    opened = [start, *encode("assistant"), *encode("\n")]
    return ids + opened, labels + [-100] * len(opened)


@mistake(
    CHAT,
    "marks-in-a-text",
    caught_by="marks",
    loses=0.5,
    misconception=(
        "You make `end` and `start` of marks that somebody wrote into a message: so a user can"
        " close a message and speak as the assistant."
    ),
)
def _(messages, encode, start, end):
    def marked(text):
        return [
            id
            for number, part in enumerate(text.split("<|im_end|>"))
            for id in ([end] if number else []) + encode(part)
        ]

    return _joined(
        (encode_or_ids, learned)
        for encode_or_ids, learned in _pieces(
            messages,
            lambda text: marked(text) if "<|im_end|>" in text else encode(text),
            start,
            end,
        )
    )


@mistake(
    CHAT,
    "stripped",
    caught_by="marks",
    loses=0.5,
    misconception="You take spaces and line ends off the contents.",
)
def _(messages, encode, start, end):
    return _joined(_pieces(messages, encode, start, end, content=str.strip))


@mistake(
    CHAT,
    "any-case-of-the-role",
    caught_by="marks",
    loses=0.5,
    misconception=(
        "You take any role that looks like the assistant's for it, in capitals or with a space too."
    ),
)
def _(messages, encode, start, end):
    return _joined(
        _pieces(
            messages,
            encode,
            start,
            end,
            whose=lambda place, messages: messages[place]["role"].strip().lower() == "assistant",
        )
    )


@mistake(
    CHAT,
    "role-within",
    caught_by="marks",
    loses=0.5,
    misconception="You look for *assistant* somewhere in the role. It has to be the role.",
)
def _(messages, encode, start, end):
    return _joined(
        _pieces(
            messages,
            encode,
            start,
            end,
            whose=lambda place, messages: "assistant" in messages[place]["role"],
        )
    )


@mistake(
    CHAT,
    "empty-left-out",
    caught_by="borders",
    loses=0.5,
    misconception="You leave out messages with an empty content.",
)
def _(messages, encode, start, end):
    return _joined(_pieces([one for one in messages if one["content"]], encode, start, end))
