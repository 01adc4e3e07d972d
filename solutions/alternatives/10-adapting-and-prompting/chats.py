"""Differently written correct solutions of chapter 10, part 1."""

from itertools import chain

from autograder.checks.mistakes.registry import alternative

START, END, LINE = 1, 2, 3
ROLES = {"system": 4, "user": 5, "assistant": 6}


@alternative("10.chat_example", "pairs-of-id-and-flag")
def _(messages, encode, start, end):
    pairs = []
    for message in messages:
        own = message["role"] == "assistant"
        pairs.append((start, False))
        pairs.extend((id, False) for id in encode(message["role"]) + encode("\n"))
        pairs.extend((id, own) for id in encode(message["content"]))
        pairs.append((end, own))
        pairs.extend((id, False) for id in encode("\n"))
    return [id for id, _ in pairs], [id if own else -100 for id, own in pairs]


@alternative("10.chat_example", "blocks-chained")
def _(messages, encode, start, end):
    line = tuple(encode("\n"))

    def block(role, content):
        header, said = (start, *encode(role), *line), (*encode(content), end)
        hidden = [-100] * len(header)
        return (*header, *said, *line), (
            *hidden,
            *(said if role == "assistant" else [-100] * len(said)),
            *[-100] * len(line),
        )

    blocks = [block(one["role"], one["content"]) for one in messages]
    return list(chain.from_iterable(ids for ids, _ in blocks)), list(
        chain.from_iterable(labels for _, labels in blocks)
    )


@alternative("10.test_labels", "finds-the-chat-by-its-tokens")
def _(make):
    def chat(first):
        return [
            (role, list(range(first + 10 * place, first + 10 * place + 3 + (first + place) % 4)))
            for place, role in enumerate(("system", "user", "assistant", "user", "assistant"))
        ]

    chats = [chat(100), chat(201), chat(302)]
    for pad in (END, 0):
        ids, labels = make(chats, pad)
        assert len(ids) == 3 and len(labels) == 3
        width = len(ids[0])
        for one, row, learned in zip(chats, ids, labels):
            assert len(row) == width and len(learned) == width
            text = [
                token
                for role, content in one
                for token in (START, ROLES[role], LINE, *content, END, LINE)
            ]
            begin = next(
                (place for place in range(width) if row[place : place + len(text)] == text), None
            )
            assert begin is not None, "the chat is not there"
            assert all(token == pad for token in row[:begin] + row[begin + len(text) :])
            assert all(label == -100 for label in learned[:begin] + learned[begin + len(text) :])
            place = begin
            for role, content in one:
                assert learned[place : place + 3] == [-100] * 3
                place += 3
                assert learned[place : place + len(content) + 1] == (
                    [*content, END] if role == "assistant" else [-100] * (len(content) + 1)
                )
                place += len(content) + 1
                assert learned[place] == -100
                place += 1


@alternative("10.test_labels", "one-call-for-each-padding-and-order")
def _(make):
    base = [
        ("system", [10, 11, 12]),
        ("user", [13, 14, 15]),
        ("assistant", [16, 17, 18, 19]),
        ("user", [20, 21, 22]),
        ("assistant", [23, 24, 25]),
    ]
    chats = [
        [
            (
                role,
                [id + 100 * number for id in content]
                + [30 + 100 * number + place] * (number > place),
            )
            for place, (role, content) in enumerate(base)
        ]
        for number in range(4)
    ]
    for pad in (0, END):
        ids, labels = make(chats, pad)
        assert {len(row) for row in ids} | {len(row) for row in labels} == {
            len(row) for row in ids[:1]
        }
        assert [len(ids), len(labels)] == [4, 4]
        for place in range(4):
            wanted = []
            for role, content in chats[place]:
                for token in (START, ROLES[role], LINE):
                    wanted.append((token, -100))
                for token in [*content, END]:
                    wanted.append((token, token if role == "assistant" else -100))
                wanted.append((LINE, -100))
            pairs = list(zip(ids[place], labels[place]))
            fits = False
            for before in range(len(pairs) - len(wanted) + 1):
                rest = pairs[:before] + pairs[before + len(wanted) :]
                fits = (
                    fits
                    or pairs[before : before + len(wanted)] == wanted
                    and rest == [(pad, -100)] * len(rest)
                )
            assert fits, "no place where the chat fits"
