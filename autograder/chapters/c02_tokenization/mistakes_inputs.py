"""Plausible wrong solutions of chapter 2, what the model is fed."""

import unicodedata

from autograder.checks.mistakes.registry import mistake

FILL = "02.fill_pair"


def _lengths(a, b, room, first_loses=lambda a, b: a > b):
    """How much of each text stays, one token taken away at a time."""
    while a + b > room:
        if first_loses(a, b):
            a -= 1
        else:
            b -= 1
    return a, b


def _fill(
    first,
    second,
    max_length,
    lengths=_lengths,
    segment_of_last=1,
    mask_of_specials=1,
    pad_segment=0,
):
    """The three lists with one part of it replaced."""
    a, b = lengths(len(first), len(second), max_length - 3)
    a, b = max(a, 0), max(b, 0)
    rest = max_length - 3 - a - b
    special = mask_of_specials
    return {
        "ids": [101, *first[:a], 102, *second[:b], 102] + [0] * rest,
        "segments": [0] * (a + 2) + [1] * b + [segment_of_last] + [pad_segment] * rest,
        "mask": [special, *[1] * a, special, *[1] * b, special] + [0] * rest,
    }


@mistake(
    FILL,
    "last-sep-in-segment-0",
    caught_by="segments",
    loses=1,
    misconception="You give the last [SEP] segment 0. It belongs to the second text: segment 1.",
)
def _(first, second, max_length):
    return _fill(first, second, max_length, segment_of_last=0)


@mistake(
    FILL,
    "first-sep-in-segment-1",
    caught_by="segments",
    loses=1,
    misconception="You give the first [SEP] segment 1. It ends the first text: segment 0.",
)
def _(first, second, max_length):
    made = _fill(first, second, max_length)
    made["segments"][made["segments"].index(1) - 1] = 1
    return made


@mistake(
    FILL,
    "one-sep",
    caught_by="order",
    loses=5,
    misconception="You write one [SEP] only. Each text is ended by one.",
)
def _(first, second, max_length):
    a, b = _lengths(len(first), len(second), max_length - 2)
    rest = [0] * (max_length - 2 - a - b)
    return {
        "ids": [101, *first[:a], 102, *second[:b], *rest],
        "segments": [0] * (a + 2) + [1] * b + rest,
        "mask": [1] * (a + b + 2) + rest,
    }


@mistake(
    FILL,
    "specials-masked",
    caught_by="padding",
    loses=1,
    misconception=("Your attention mask is 0 at special tokens. Only padding has 0."),
)
def _(first, second, max_length):
    return _fill(first, second, max_length, mask_of_specials=0)


@mistake(
    FILL,
    "mask-from-ids",
    caught_by="padding",
    loses=1,
    misconception="You take every id 0 for padding. A token of a text can have the id 0.",
)
def _(first, second, max_length):
    made = _fill(first, second, max_length)
    return made | {"mask": [int(number != 0) for number in made["ids"]]}


@mistake(
    FILL,
    "mask-turned-round",
    caught_by="padding",
    loses=3,
    misconception="Your attention mask is 1 for padding. It is 1 for real tokens, 0 for padding.",
)
def _(first, second, max_length):
    made = _fill(first, second, max_length)
    return made | {"mask": [1 - number for number in made["mask"]]}


@mistake(
    FILL,
    "padding-in-front",
    caught_by="padding",
    loses=1,
    misconception="You pad on the left. Here padding belongs on the right.",
)
def _(first, second, max_length):
    made = _fill(first, second, max_length)
    used = sum(made["mask"])
    return {key: [0] * (max_length - used) + row[:used] for key, row in made.items()}


@mistake(
    FILL,
    "padding-in-segment-1",
    caught_by="padding",
    loses=1,
    misconception="Your padding has segment 1. Padding has segment 0.",
)
def _(first, second, max_length):
    return _fill(first, second, max_length, pad_segment=1)


@mistake(
    FILL,
    "cut-at-the-end",
    caught_by="cut",
    loses=2,
    misconception=(
        "You truncate the whole sequence at max_length, so the last [SEP] is lost. "
        "Truncate the texts instead."
    ),
)
def _(first, second, max_length):
    made = _fill(first, second, max(max_length, len(first) + len(second) + 3))
    return {key: row[:max_length] for key, row in made.items()}


@mistake(
    FILL,
    "second-only",
    caught_by="cut",
    loses=2,
    misconception=(
        "You truncate the second text first. Remove tokens from the longer text, one at a time."
    ),
)
def _(first, second, max_length):
    return _fill(
        first,
        second,
        max_length,
        lambda a, b, room: (min(a, room), max(0, min(b, room - min(a, room)))),
    )


@mistake(
    FILL,
    "halves",
    caught_by="cut",
    loses=2,
    misconception=(
        "You give each text half of the positions. A short text keeps all tokens, the "
        "other gets the rest."
    ),
)
def _(first, second, max_length):
    def lengths(a, b, room):
        return (a, b) if a + b <= room else (min(a, room // 2), min(b, room - room // 2))

    return _fill(first, second, max_length, lengths)


@mistake(
    FILL,
    "larger-half",
    caught_by="cut",
    loses=1.5,
    misconception=(
        "You give each text half of the positions. A short text keeps all tokens, the other gets"
        " the rest."
    ),
)
def _(first, second, max_length):
    def lengths(a, b, room):
        return (a, b) if a + b <= room else (min(a, room - room // 2), min(b, room // 2))

    return _fill(first, second, max_length, lengths)


@mistake(
    FILL,
    "all-at-once",
    caught_by="cut",
    loses=2,
    misconception=(
        "You remove all excess tokens from one text. Compare the lengths again after each token."
    ),
)
def _(first, second, max_length):
    def lengths(a, b, room):
        extra = max(0, a + b - room)
        return (max(0, a - extra), min(b, room)) if a > b else (min(a, room), max(0, b - extra))

    return _fill(first, second, max_length, lengths)


@mistake(
    FILL,
    "minus-zero",
    caught_by="order",
    loses=5,
    misconception="You slice with [:-n]. For n = 0 that is [:0], an empty list.",
)
def _(first, second, max_length):
    a, b = _lengths(len(first), len(second), max_length - 3)
    return _fill(first[: a - len(first)], second[: b - len(second)], max_length)


@mistake(
    FILL,
    "first-loses",
    caught_by="odd",
    loses=0.5,
    misconception="You truncate the first of two equally long texts. Truncate the second.",
)
def _(first, second, max_length):
    return _fill(
        first, second, max_length, lambda a, b, room: _lengths(a, b, room, lambda a, b: a >= b)
    )


@mistake(
    FILL,
    "from-the-front",
    caught_by="cut",
    loses=2,
    misconception="You truncate at the beginning of a text. Remove tokens from its end.",
)
def _(first, second, max_length):
    a, b = _lengths(len(first), len(second), max_length - 3)
    return _fill(first[len(first) - a :], second[len(second) - b :], max_length)


@mistake(
    FILL,
    "texts-changed",
    caught_by="cut",
    loses=1,
    misconception=("You truncate with pop() or del, which changes the caller's lists. Use slices."),
)
def _(first, second, max_length):
    while len(first) + len(second) > max_length - 3:
        (first if len(first) > len(second) else second).pop()
    return _fill(first, second, max_length)


BYT5 = "02.byt5_ids"
PRIMES = (31, 43, 59, 61, 73, 97, 103, 113)


def _ids(data, max_length, offset=3):
    """ByT5's ids of bytes, as it should be."""
    return [byte + offset for byte in data[: max_length - 1]] + [1]


@mistake(
    BYT5,
    "no-offset",
    caught_by="bytes",
    loses=2,
    misconception=(
        "Your ids are the bytes themselves. Ids 0, 1 and 2 are reserved: add 3 to each byte."
    ),
)
def _(text, max_length):
    return _ids(text.encode(), max_length, 0)


@mistake(
    BYT5,
    "offset-two",
    caught_by="bytes",
    loses=2,
    misconception=(
        "You add 2 to each byte. Three ids are reserved, padding, end and unknown: add 3."
    ),
)
def _(text, max_length):
    return _ids(text.encode(), max_length, 2)


@mistake(
    BYT5,
    "no-end",
    caught_by="bytes",
    loses=2,
    misconception="You left out the end token, id 1, after the text.",
)
def _(text, max_length):
    return _ids(text.encode(), max_length + 1)[:-1]


@mistake(
    BYT5,
    "end-moved-too",
    caught_by="bytes",
    loses=2,
    misconception="You add 3 to the end token as well. Its id is 1.",
)
def _(text, max_length):
    return [*_ids(text.encode(), max_length)[:-1], 4]


@mistake(
    BYT5,
    "code-points",
    caught_by="bytes",
    loses=2,
    misconception=(
        "Your ids are code points + 3. ByT5 reads bytes: a character may be several of them."
    ),
)
def _(text, max_length):
    return [ord(character) + 3 for character in text[: max_length - 1]] + [1]


@mistake(
    BYT5,
    "padded",
    caught_by="bytes",
    loses=2,
    misconception="You pad a short text to max_length. Nothing is padded here.",
)
def _(text, max_length):
    ids = _ids(text.encode(), max_length)
    return ids + [0] * (max_length - len(ids))


@mistake(
    BYT5,
    "lower-cased",
    caught_by="bytes",
    loses=1,
    misconception="You lower-case the text. It is read as it is.",
)
def _(text, max_length):
    return _ids(text.lower().encode(), max_length)


@mistake(
    BYT5,
    "composed",
    caught_by="bytes",
    loses=1,
    misconception="You compose letters and accents (NFC). The text is read as it is.",
)
def _(text, max_length):
    return _ids(unicodedata.normalize("NFC", text).encode(), max_length)


@mistake(
    BYT5,
    "end-cut-off",
    caught_by="cut",
    loses=1,
    misconception=(
        "You append the end token and then truncate, so a long text loses it. Truncate first."
    ),
)
def _(text, max_length):
    return _ids(text.encode(), len(text.encode()) + 1)[:max_length]


@mistake(
    BYT5,
    "end-not-counted",
    caught_by="cut",
    loses=1,
    misconception=("You return max_length + 1 ids. The end token counts towards max_length."),
)
def _(text, max_length):
    return _ids(text.encode(), max_length + 1)


@mistake(
    BYT5,
    "whole-characters",
    caught_by="cut",
    loses=1,
    misconception=(
        "You truncate between characters. ByT5 truncates between bytes, also inside a character."
    ),
)
def _(text, max_length):
    while len(text.encode()) > max_length - 1:
        text = text[:-1]
    return _ids(text.encode(), max_length)


@mistake(
    BYT5,
    "characters-counted",
    caught_by="cut",
    loses=1,
    misconception=("You truncate before encoding, so max_length counts characters. It counts ids."),
)
def _(text, max_length):
    data = text[: max_length - 1].encode()
    return _ids(data, len(data) + 1)


@mistake(
    BYT5,
    "cut-in-front",
    caught_by="cut",
    loses=1,
    misconception="You keep the last bytes of a long text. Keep the first ones.",
)
def _(text, max_length):
    data = text.encode()
    return _ids(data[max(0, len(data) - max_length + 1) :], max_length)


@mistake(
    BYT5,
    "minus-zero",
    caught_by="cut",
    loses=1,
    misconception="You slice with [:-n]. For n = 0 that is [:0], an empty list.",
)
def _(text, max_length):
    data = text.encode()
    extra = len(data) + 1 - max_length
    return _ids(data[:-extra] if extra >= 0 else data, len(data) + 1)


@mistake(
    BYT5,
    "no-plus-one",
    replaces="canine_rows",
    caught_by="rows",
    loses=2,
    misconception=("You multiply the code point itself. Multiply the code point + 1."),
)
def _(text, num_rows):
    return [[ord(character) * prime % num_rows for prime in PRIMES] for character in text]


@mistake(
    BYT5,
    "plus-binds-less",
    replaces="canine_rows",
    caught_by="rows",
    loses=2,
    misconception=(
        "You left out brackets: * and % bind more strongly than +. Write (code + 1) * "
        "prime % num_rows."
    ),
)
def _(text, num_rows):
    return [[ord(character) + 1 * prime % num_rows for prime in PRIMES] for character in text]


@mistake(
    BYT5,
    "remainder-first",
    replaces="canine_rows",
    caught_by="rows",
    loses=2,
    misconception=("You take the remainder before multiplying. Take the product modulo num_rows."),
)
def _(text, num_rows):
    return [[(ord(character) + 1) % num_rows * prime for prime in PRIMES] for character in text]


@mistake(
    BYT5,
    "table-by-table",
    replaces="canine_rows",
    caught_by="rows",
    loses=2,
    misconception="You return one list per table. Return one list per character.",
)
def _(text, num_rows):
    return [[(ord(character) + 1) * prime % num_rows for character in text] for prime in PRIMES]


@mistake(
    BYT5,
    "rows-of-bytes",
    replaces="canine_rows",
    caught_by="letters",
    loses=1,
    misconception="You use the bytes of the text. CANINE reads code points of characters.",
)
def _(text, num_rows):
    return [[(byte + 1) * prime % num_rows for prime in PRIMES] for byte in text.encode()]


@mistake(
    BYT5,
    "each-letter-once",
    replaces="canine_rows",
    caught_by="letters",
    loses=1,
    misconception=(
        "You skip characters that occurred before. Every character of the text has its list."
    ),
)
def _(text, num_rows):
    return [
        [(ord(character) + 1) * prime % num_rows for prime in PRIMES]
        for character in dict.fromkeys(text)
    ]


@mistake(
    BYT5,
    "small-letters",
    replaces="canine_rows",
    caught_by="letters",
    loses=1,
    misconception="You lower-case the text. It is read as it is.",
)
def _(text, num_rows):
    return [
        [(ord(character) + 1) * prime % num_rows for prime in PRIMES] for character in text.lower()
    ]


@mistake(
    BYT5,
    "put-together",
    replaces="canine_rows",
    caught_by="letters",
    loses=1,
    misconception="You compose letters and accents (NFC). The text is read as it is.",
)
def _(text, num_rows):
    return [
        [(ord(character) + 1) * prime % num_rows for prime in PRIMES]
        for character in unicodedata.normalize("NFC", text)
    ]
