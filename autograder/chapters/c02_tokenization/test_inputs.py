"""Checks of chapter 2, what the model is fed: two texts in one input, bytes and letters; and the
question that a person grades.
"""

import numpy as np

from autograder.chapters.c02_tokenization.asking import (
    AS_IT_IS,
    KEPT,
    TOKENIZERS,
    ask_numbers,
    ask_same,
    shuffled,
    word_of,
)
from autograder.checks.inputs.draws import counts, whole
from autograder.checks.protocol import Sample, exercise, expect, short_answer

fill_pair = exercise(
    "02.fill_pair",
    function="fill_pair",
    points=5,
    see="02-tokenization/inputs#truncation",
    withhold=TOKENIZERS,
)


def right_input(first: list[int], second: list[int], max_length: int) -> dict[str, list[int]]:
    """The three lists, by taking one token after the other away."""
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > max_length:
        (first if len(first) > len(second) else second).pop()
    ids = [101, *first, 102, *second, 102]
    rest = [0] * (max_length - len(ids))
    return {
        "ids": ids + rest,
        "segments": [0] * (len(first) + 2) + [1] * (len(second) + 1) + rest,
        "mask": [1] * len(ids) + rest,
    }


def ask_input(
    student, first: list[int], second: list[int], max_length: int, keys: tuple[str, ...], cause: str
) -> None:
    """Ask for some of the three lists."""
    given = f"first {first}, second {second}, max_length {max_length}"
    right = right_input(first, second, max_length)
    came = expect(student.fill_pair(first, second, max_length), given=given).only_keys(right)
    for key in keys:
        row = came.has(key).is_a(list)
        expect(len(row) == max_length).is_true(
            cause=f'Your list "{key}" does not have max_length numbers.',
            detail=f"Given {given}. It has {len(row)}",
        )
        ask_numbers(row, right[key], cause=cause, given=given, name=f"Your result[{key!r}]")


def ask_texts(student, first: list[int], second: list[int], max_length: int, cause: str) -> None:
    """Ask for the ids, and for segments and mask where the texts and the padding stand: of special
    tokens other stages ask.
    """
    ask_input(student, first, second, max_length, ("ids",), cause)
    came, right = (
        student.fill_pair(first, second, max_length),
        right_input(first, second, max_length),
    )
    last = right["segments"].index(1) - 1  # the first [SEP]
    end = sum(right["mask"]) - 1  # the second one
    places = [place for place in range(1, max_length) if place not in (last, end)]
    for key in ("segments", "mask"):
        row = expect(came).has(key).is_a(list)
        expect(len(row) == max_length).is_true(
            cause=f'Your list "{key}" does not have max_length numbers.'
        )
        ask_same(
            [row[place] for place in places],
            [right[key][place] for place in places],
            given=f"first {first}, second {second}, "
            f'max_length {max_length}; "{key}", special tokens left out',
            cause=f'The list "{key}" does not fit the texts and the padding of the ids.',
        )


def tokens(rng, number: int) -> list[int]:
    """Numbers of pieces as BERT has them."""
    return counts(rng, 1000, 30_000, number).tolist()


@fill_pair.stage("order", points=1)
def test_texts_and_special_tokens_stand_in_their_order(student, rng):
    rule = "The ids are [CLS] = 101, the first text, [SEP] = 102, the second text, [SEP] = 102."
    for a, b in ((2, 1), (1, 3), (4, 4), (1, 1)):
        ask_input(student, tokens(rng, a), tokens(rng, b), a + b + 3, ("ids",), rule)
    for second in (5, 6):
        ask_input(student, [4], [second], 5, ("ids",), rule)
    for key in right_input([4], [5], 6):
        expect(student.fill_pair([4], [5], 6)).has(key)
    for a, b in ((0, 2), (3, 0), (0, 0)):
        ask_input(
            student,
            tokens(rng, a),
            tokens(rng, b),
            a + b + 3,
            ("ids",),
            "A text may be empty; both [SEP] are there all the same.",
        )
    ask_input(
        student,
        [2**31, 5],
        [2**40],
        6,
        ("ids",),
        "A token may be any whole number from 0 on, however large.",
    )
    ask_input(
        student,
        tokens(rng, 300),
        tokens(rng, 297),
        600,
        ("ids",),
        f"{rule} A text may be long: max_length is the only limit.",
    )
    ask_input(
        student,
        [102, 101],
        [0, 102, 5],
        8,
        ("ids",),
        "The tokens 0, 101 and 102 of a text are tokens like any other.",
    )


@fill_pair.stage("segments", points=1)
def test_the_second_text_and_its_sep_are_segment_one(student, rng):
    rule = (
        "Segment 0 covers [CLS], the first text and its [SEP]; segment 1 the second "
        "text and the last [SEP]."
    )
    for a, b in ((2, 1), (1, 3), (3, 3), (0, 2), (2, 0), (0, 0)):
        ask_input(student, tokens(rng, a), tokens(rng, b), a + b + 3, ("segments",), rule)
    ask_input(
        student, [102, 7, 102], [102, 8], 8, ("segments",), f"{rule} A 102 in a text ends nothing."
    )
    ask_input(
        student,
        [7, 0],
        [0, 5, 0],
        8,
        ("segments",),
        f"{rule} A 0 in a text is a token like any other, and no padding.",
    )


@fill_pair.stage("padding", points=1)
def test_padding_stands_at_the_end_and_is_masked(student, rng):
    for a, b, more in ((2, 1, 2), (1, 1, 4), (3, 2, 1), (0, 1, 3), (0, 0, 1), (2, 3, 0)):
        first, second = tokens(rng, a), tokens(rng, b)
        ask_input(
            student,
            first,
            second,
            a + b + 3 + more,
            ("ids",),
            "Padding is 0 and comes at the end, up to max_length.",
        )
        ask_input(
            student,
            first,
            second,
            a + b + 3 + more,
            ("mask",),
            "The mask is 1 for every token, special tokens too, and 0 for padding.",
        )
        ask_texts(student, first, second, a + b + 3 + more, "Padding has the segment 0.")
    ask_input(
        student, [0, 7], [0, 0], 9, ("mask",), "A token 0 of a text is no padding: its mask is 1."
    )
    ask_input(
        student,
        [102, 101],
        [101, 0, 102],
        10,
        ("mask",),
        "The tokens 0, 101 and 102 of a text are tokens like any other: their mask is 1.",
    )


@fill_pair.stage("cut", points=1.5)
def test_the_longer_text_loses_from_its_end(student, rng):
    rule = (
        "Truncate the longer text from its end, one token at a time; never remove special tokens."
    )
    lengths = ((7, 3, 10), (3, 7, 10), (9, 2, 9), (2, 6, 7), (8, 1, 5), (12, 5, 13))
    for a, b, length in (*lengths, (8, 6, 11), (6, 8, 11)):
        ask_texts(student, tokens(rng, a), tokens(rng, b), length, rule)
    ask_texts(
        student,
        tokens(rng, 4),
        tokens(rng, 2),
        3,
        "With max_length 3 only the special tokens stay.",
    )
    ask_texts(student, tokens(rng, 3), [], 5, rule)
    ask_texts(student, [], tokens(rng, 5), 6, rule)
    a, b = whole(rng, 9, 14), whole(rng, 2, 5)
    ask_texts(student, tokens(rng, a), tokens(rng, b), 2 * b + 3, rule)


@fill_pair.stage("odd", points=0.5)
def test_of_two_equally_long_texts_the_second_loses(student, rng):
    rule = (
        "If both texts are equally long, the second loses a token, so the first keeps "
        "an odd last position."
    )
    for a, b, length in (
        (5, 5, 10),
        (4, 4, 8),
        (2, 2, 4),
        (6, 6, 14),
        (1, 1, 4),
        (7, 3, 8),
        (3, 9, 8),
        (3, 3, 6),
    ):
        ask_texts(student, tokens(rng, a), tokens(rng, b), length, rule)


byt5_ids = exercise(
    "02.byt5_ids",
    function="byt5_ids",
    also=["canine_rows"],
    points=4,
    see="02-tokenization/byte-models#byte-and-character-models",
    withhold=TOKENIZERS,
)
SCRIPTS = "a\u00e9\u0436\u6cb3\u0e18\U0001f3e6"  # one, two, two, three, three and four bytes


def ask_ids(student, text: str, max_length: int, cause: str) -> None:
    """Ask for ByT5's ids of a text."""
    right = np.append(
        np.frombuffer(text.encode(), np.uint8)[: max_length - 1].astype(int) + 3, 1
    ).tolist()
    ask_numbers(
        student.byt5_ids(text, max_length),
        right,
        cause=cause,
        given=f"the text {ascii(text)}, max_length {max_length}",
    )


@byt5_ids.stage("bytes", points=1)
def test_each_byte_is_moved_by_three_and_the_end_stands_behind(student, rng):
    rule = "Each UTF-8 byte has the id byte + 3, and the end token, 1, follows. Nothing is padded."
    for text in ("bank", "\u00e9!", "we sat\n", "\x00~\x7f"):
        ask_ids(student, text, 20, rule)
    ask_ids(student, "", 20, "The empty text has no bytes: only the end is left.")
    ask_ids(student, "\u6cb3 \U0001f3e6", 20, f"{rule} A character may be several bytes.")
    ask_ids(student, AS_IT_IS, 40, KEPT)
    ask_ids(
        student,
        "e\u0301\u00a0 Bank\u00c9",
        40,
        KEPT,
    )
    ask_ids(
        student,
        "a\r\nb\rc\n</s><pad>",
        60,
        "The text is read as it is: no end of a line is rewritten, and the name of a special token"
        " is text.",
    )
    ask_ids(student, "\U0001f3e6" * 150, 1000, f"{rule} There may be as many as max_length says.")
    ask_ids(student, word_of(rng, SCRIPTS, 4, 9), 60, f"{rule} A character may be several bytes.")
    ask_ids(student, shuffled(rng, "The river bank. " * 8), 200, rule)


@byt5_ids.stage("cut", points=1)
def test_what_is_too_long_is_cut_before_the_end(student, rng):
    rule = (
        "There are at most max_length ids, the end token included: truncate the text, "
        "never the end token."
    )
    for length in (8, 7, 9, 4, 2, 1):
        ask_ids(student, "banking", length, rule)
    halves = "The cut is made byte by byte, also in the middle of a character."
    for length in (2, 3, 4, 6, 7, 8):
        ask_ids(student, "\u00e9\U0001f3e6x", length, halves)
    text = word_of(rng, SCRIPTS, 8, 12)
    for length in (whole(rng, 3, 7), len(text.encode()), len(text.encode()) + 1):
        ask_ids(student, text, length, rule)


def ask_rows(student, text: str, num_rows: int, cause: str) -> None:
    """Ask for the eight rows of each character of a text."""
    given = f"the text {ascii(text)}, num_rows {num_rows}"
    came = expect(student.canine_rows(text, num_rows), given=given).is_a(list)
    expect(len(came) == len(text)).is_true(
        cause=f"There is one list for each character of the text. {cause}",
        detail=f"Given {given}. Your result has {len(came)} items, the text {len(text)} characters",
    )
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    right = np.outer(codes + 1, [31, 43, 59, 61, 73, 97, 103, 113]) % num_rows  # (characters, 8)
    for place, row in enumerate(right.tolist()):
        ask_numbers(
            came[place],
            row,
            cause=cause,
            given=f"{given}, character {place}",
            name=f"Your result[{place}]",
        )


@byt5_ids.stage("rows", points=1)
def test_a_letter_takes_a_row_of_each_table(student, rng):
    rule = "The row is (code point + 1) · prime, modulo num_rows, in the order of PRIMES."
    for letter, rows in (
        ("b", 100),
        ("b", 16_384),
        ("z", 97),
        ("~", 4096),
        ("\x00", 16_384),
        ("a", 7),
        ("b", 1),
    ):
        ask_rows(student, letter, rows, rule)
    for letter in shuffled(rng, "bankriveto")[:3]:
        ask_rows(student, letter, whole(rng, 11, 9000), rule)


@byt5_ids.stage("letters", points=1)
def test_each_character_of_any_script_has_its_rows(student, rng):
    rule = (
        "CANINE reads characters, not bytes: one list of eight rows for each, by its code point, in"
        " the order of the text."
    )
    ask_rows(student, "bank", 16_384, rule)
    ask_rows(student, "banana a", 50, f"{rule} A character that occurs again has its rows again.")
    ask_rows(student, "", 16_384, "The empty text has no characters: an empty list.")
    ask_rows(student, "\u00e9\u6cb3\U0001f3e6\U0010fffd", 16_384, rule)
    ask_rows(student, AS_IT_IS, 16_384, KEPT)
    ask_rows(student, "bank " * 60, 16_384, f"{rule} There may be hundreds of them.")
    ask_rows(
        student,
        "e\u0301 Bank\u00a0\u00c9",
        16_384,
        KEPT,
    )
    ask_rows(student, word_of(rng, SCRIPTS, 5, 9), whole(rng, 100, 20_000), rule)


short_answer(
    "02.own_words",
    points=4,
    see="02-tokenization/efficiency#one-sentence-in-fourteen-languages",
    rubric={
        "nothing unknown": (
            1,
            "says why no text is unknown: every text is bytes, and all 256 bytes are pieces",
        ),
        "what was learned": (
            1.5,
            (
                "says why Thai is cut finer: the merges were learned where Thai is rare, so its"
                " bytes are hardly joined, while English words are whole pieces"
            ),
        ),
        "what it costs": (
            1.5,
            (
                "names two things that the hospital notices, with the reason: the context holds"
                " less of a letter, the bill and the time grow with the tokens, the model learned"
                " little about such small pieces"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "The tokenizer knows all words because it was trained on the whole internet, so it also"
            " knows Thai. But the model is English, so the answers will be bad and the doctors will"
            " not understand them. They should translate the letters first.",
            {},
            "No word on bytes, a wrong reason for the first half, and a cost that has nothing to do"
            " with tokens.",
        ),
        Sample(
            "Half",
            "GPT-2 works on bytes and there are only 256 bytes, so every text can be written with"
            " them and nothing is unknown. Thai letters need several bytes, so the Thai text gets"
            " longer than the English one.",
            {"nothing unknown": 1, "what was learned": 0.5},
            "Row 1 in full. Row 2 in part: several bytes a letter is true, but that no merges join"
            " them again is missing. Longer is named, what it costs is not.",
        ),
        Sample(
            "Good",
            "Every text is a row of bytes and the vocabulary contains all bytes, so there is always"
            " some way to write it. The merges come from English web pages. Pairs of Thai bytes"
            " were rare there, so they were not merged and a Thai word falls into many tokens, an"
            " English one is often one token. The hospital pays per token, so each letter is more"
            " expensive.",
            {"nothing unknown": 1, "what was learned": 1.5, "what it costs": 0.5},
            "Rows 1 and 2 in full. Row 3 names one cost with its reason; two were asked.",
        ),
        Sample(
            "Strong",
            "All 256 bytes are in the vocabulary, and UTF-8 writes any text in bytes, so nothing is"
            " unknown. But a piece longer than a byte exists only if its parts were frequent side"
            " by side in the training text, which was nearly all English. 'hospital' is one token;"
            " a Thai letter is three bytes, and few merges put them together, so a word becomes a"
            " dozen tokens. The hospital will notice it three times: a context of 1,024 tokens"
            " holds only a fraction of a letter that would fit in English, every page costs several"
            " times as much and takes several times as long to process, and the model has to learn"
            " spelling from fragments, so the sums will be worse.",
            {"nothing unknown": 1, "what was learned": 1.5, "what it costs": 1.5},
            "All three rows, each with its reason.",
        ),
    ],
)
