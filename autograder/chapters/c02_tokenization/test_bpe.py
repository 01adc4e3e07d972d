"""Checks of chapter 2, byte-pair encoding: learning merges, and cutting a word by them."""

import itertools
import re
from collections import Counter

from autograder.chapters.c02_tokenization.asking import (
    AS_IT_IS,
    EACH,
    KEPT,
    SIGNS_OF_ALL_KINDS,
    TOKENIZERS,
    ask_pairs,
    ask_pieces,
    shuffled,
    word_of,
)
from autograder.checks.assertions.values import same
from autograder.checks.inputs.draws import look_alikes, whole
from autograder.checks.protocol import StudentError, exercise

train_bpe = exercise(
    "02.train_bpe",
    function="train_bpe",
    points=7,
    see="02-tokenization/bpe#training",
    withhold=TOKENIZERS,
)


SIGN = "\U0010fffe"  # stands in no word that is asked


def merges_of(words: list[str], counts: list[int], num_merges: int) -> list[tuple[str, str]]:
    """The right answer in another way than the solution's: pieces between signs, joined by a
    regular expression.
    """
    rows, merges = [SIGN.join(word) for word in words], []
    while len(merges) < num_merges:
        pairs: dict[tuple[str, str], int] = {}
        for row, count in zip(rows, counts):
            pieces = row.split(SIGN)
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] = pairs.get(pair, 0) + count
        if not pairs:
            break
        best = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[0]
        merges.append(best)
        place = re.compile(f"(?<![^{SIGN}])" + re.escape(SIGN.join(best)) + f"(?![^{SIGN}])")
        rows = [place.sub(lambda found: "".join(best), row) for row in rows]
    return merges


def ask_merges(
    student, words: list[str], counts: list[int], number: int, cause: str, right: list | None = None
) -> None:
    """Ask for the merges."""
    truth = merges_of(words, counts, number)
    assert right is None or right == truth, (right, truth)
    ask_pairs(
        student.train_bpe(words, counts, number),
        truth,
        cause=cause,
        given=f"{words}, {counts}, {number} merges",
    )


def makes(student, words: list[str], counts: list[int], most: int) -> bool:
    """Whether the student makes the right merges, asked for no more than there are.

    What a stage asks after that costs nobody points for another's rule.
    """
    truth = merges_of(words, counts, most)
    try:
        return same(student.train_bpe(words, counts, len(truth)), truth)
    except StudentError:
        return False


def random_words(rng, letters: str, number: int) -> tuple[list[str], list[int]]:
    """Words of different letters, with counts."""
    words = [shuffled(rng, letters)[: whole(rng, 2, len(letters))] for _ in range(number)]
    return words, [whole(rng, 1, 9) for _ in words]


def first_is_alone(words: list[str], counts: list[int]) -> bool:
    """Whether the most frequent pair has no equal."""
    pairs = Counter(
        pair for word, count in zip(words, counts) for pair in list(zip(word, word[1:])) * count
    ).most_common(2)
    return len(pairs) == 1 or pairs[0][1] > pairs[1][1]


@train_bpe.stage("counts", points=1.5)
def test_the_first_merge_is_the_pair_with_the_largest_count(student, rng):
    rule = "The first merge is the most frequent adjacent pair, each word weighted by its count."
    ask_merges(student, ["bank", "tank", "bay"], [3, 2, 4], 1, rule, [("b", "a")])
    ask_merges(student, ["ab", "cd", "cde", "cdf"], [9, 2, 2, 2], 1, rule, [("a", "b")])
    ask_merges(student, ["ba", "dc"], [1, 4], 1, rule, [("d", "c")])
    ask_merges(
        student,
        ["ab", "x"],
        [3, 9],
        1,
        "Pairs never cross from one word into the next.",
        [("a", "b")],
    )
    ask_merges(
        student,
        ["a b", "a c"],
        [3, 2],
        1,
        "A space in a word is a character like any other.",
        [("a", " ")],
    )
    ask_merges(
        student,
        ["abab", "cd", "e"],
        [2, 3, 8],
        1,
        "A pair that occurs twice in a word counts twice.",
        [("a", "b")],
    )
    ask_merges(
        student,
        ["ab", "cd", "ab", "", "x"],
        [2, 3, 2, 9, 9],
        1,
        "A word may occur several times in the list; then its counts add up.",
        [("a", "b")],
    )
    ask_merges(
        student,
        ["", "ab", "cd"],
        [9, 2, 3],
        1,
        "An empty word has no pair, and its count is its own.",
        [("c", "d")],
    )
    ask_merges(
        student,
        ["\u00e9x", "ab", AS_IT_IS],
        [3, 2, 1],
        1,
        f"{rule} A word is a sequence of characters, not of bytes. {KEPT}",
        [("\u00e9", "x")],
    )
    for words in (["ab", "cd"], ["cd", "ab"]):
        ask_merges(student, words, [2, 1], 1, rule, [tuple(words[0])])
    ask_merges(student, ["ab", "cd"] * 60, [1, 2] * 60, 1, rule, [("c", "d")])
    ask_merges(
        student,
        ["abcdefghijklmnyz", "yzx"],
        [1, 1],
        1,
        "Every pair of neighbours is counted, the last one of a long word too.",
        [("y", "z")],
    )
    ask_merges(
        student,
        ["e\u0301", "\u212b"],
        [2, 1],
        1,
        f"A character is what len counts. {KEPT}",
        [("e", "\u0301")],
    )
    for count in (100_000, 2**24, 2**53 - 1):
        ask_merges(
            student,
            ["ab", "cd"],
            [count, count + 1],
            1,
            f"{rule} A count may be large, and one more is more.",
            [("c", "d")],
        )
    for words, counts in (
        (["cd", "ab"], [2**31, 5]),
        (["cd", "ab", "cd"], [2**53, 2**53, 1]),
        (["cd"] * 5 + ["ab"] * 4, [2**53] * 9),
    ):
        ask_merges(
            student,
            words,
            counts,
            1,
            f"{rule} A sum may be large, and is a whole number.",
            [("c", "d")],
        )
    for words, counts in (
        (["ab"] * 250 + ["cd"] * 150, [1] * 250 + [2] * 150),
        (["cd"] * 150 + ["ab"] * 250, [2] * 150 + [1] * 250),
    ):
        ask_merges(
            student, words, counts, 1, f"{rule} A list may have some hundred words.", [("c", "d")]
        )
    for word in ("ab" * 49 + "cd" * 51, "cd" * 51 + "ab" * 49):
        ask_merges(student, [word], [1], 1, f"{rule} A word may have 200 characters.", [("c", "d")])
    while not first_is_alone(*(drawn := random_words(rng, "abcd", 6))):
        pass
    ask_merges(student, *drawn, 1, rule)


@train_bpe.stage("recount", points=2)
def test_pairs_are_counted_again_after_each_merge(student, rng):
    rule = (
        "After each merge, the pair is one symbol in all words, and all adjacent pairs "
        "are counted again."
    )
    ask_merges(
        student,
        ["bank", "tank", "bay"],
        [3, 2, 4],
        4,
        rule,
        [("b", "a"), ("n", "k"), ("ba", "y"), ("ba", "nk")],
    )
    ask_merges(student, ["abcd", "bcx", "xy", "bcd"], [5, 3, 4, 2], 3, rule)
    ask_merges(
        student,
        ["hug", "pug", "pun", "bun", "hugs"],
        [10, 5, 12, 4, 5],
        3,
        rule,
        [("u", "g"), ("u", "n"), ("h", "ug")],
    )
    ask_merges(student, ["abab", "xz"], [4, 3], 2, "Merge every occurrence of the pair in a word.")
    chain = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))
    ask_merges(
        student,
        [chain[:size] for size in range(40, 1, -1)],
        [2] * 39,
        39,
        f"{rule} Symbols may be long.",
        [(chain[:place], chain[place]) for place in range(1, 40)],
    )
    for number in (2, 3):
        words = ["abc", "bcd", "cde", "abcde", "xy"][: number + 2]
        ask_merges(
            student,
            words,
            [whole(rng, 11, 19), whole(rng, 31, 39), whole(rng, 51, 59), 71, 97][: number + 2],
            number,
            rule,
        )


@train_bpe.stage("overlap", points=1)
def test_equal_letters_are_counted_everywhere_and_joined_without_overlap(student, rng):
    ask_merges(
        student,
        ["aaa", "bc"],
        [2, 3],
        1,
        '"aaa" contains the pair (a, a) twice, although only one of the two can be merged.',
        [("a", "a")],
    )
    ask_merges(student, ["aaaa", "bc"], [4, 7], 2, '"aaaa" contains the pair (a, a) three times.')
    rule = (
        "Equal letters are merged from left to right, none twice: aaa becomes aa a, and aaaa"
        " becomes aa aa."
    )
    ask_merges(student, ["aaa", "ab"], [5, 1], 2, rule, [("a", "a"), ("aa", "a")])
    ask_merges(student, ["aaaa", "xy"], [5, 2], 2, rule, [("a", "a"), ("aa", "aa")])
    ask_merges(student, ["aaaaa", "baaa", "x"], [5, 4, 9], 4, rule)
    ask_merges(student, ["a" * whole(rng, 6, 12), "baa", "cc"], [3, 7, 2], 2, rule)
    ask_merges(student, ["a" * 200], [2], 7, f"{rule} Symbols may be long.")


@train_bpe.stage("ties", points=1.5)
def test_of_equally_frequent_pairs_the_first_in_order_wins(student, rng):
    rule = (
        "Of equally frequent pairs, the smallest in Python's order wins: left part "
        "first, then right part."
    )
    for words, first in (
        (["cd", "ab"], ("a", "b")),
        (["ac", "ab", "bb"], ("a", "b")),
        (["xa", "Xa", "aX"], ("X", "a")),
        (["abcd", "cdab"], ("a", "b")),
        (["b", "bac", "acb"], ("a", "c")),
        (["\U0001f3e6a", "\uff41a"], ("\uff41", "a")),
        (["a\0b", "\x1fc"], ("\0", "b")),
        (["a!", "a!x", "ax"], ("a", "!")),
        (["a\x1f", "ax"], ("a", "\x1f")),
    ):
        ask_merges(
            student,
            words,
            [3] * len(words),
            1,
            f"{rule} Characters come in the order of their code points.",
            [first],
        )
    letters = shuffled(rng, "bankrive")
    ask_merges(student, [letters[:4], letters[4:]], [2, 2], 1, rule)
    if not makes(student, ["bank", "tank", "bay"], [3, 2, 4], 4):
        # what comes second and third is asked of those who count again: that is the stage `recount`
        return
    ask_merges(
        student, ["ac", "ab", "bb"], [2, 2, 2], 3, rule, [("a", "b"), ("a", "c"), ("b", "b")]
    )
    ask_merges(
        student, ["xa", "Xa", "aX"], [2, 2, 2], 3, rule, [("X", "a"), ("a", "X"), ("x", "a")]
    )
    ask_merges(student, ["abcd", "cdab"], [2, 2], 3, rule)
    ask_merges(
        student,
        ["\U0001f3e6a", "\uff41a"],
        [2, 2],
        2,
        f"{rule} Characters come in the order of their code points.",
        [("\uff41", "a"), ("\U0001f3e6", "a")],
    )
    ask_merges(
        student,
        ["a\0b", "\x1fc"],
        [2, 2],
        2,
        "A character of any kind is a character of the word.",
        [("\0", "b"), ("\x1f", "c")],
    )
    ask_merges(
        student,
        [SIGNS_OF_ALL_KINDS],
        [2],
        100,
        "Every character of the word is a symbol; none of them separates symbols.",
    )
    ask_merges(
        student,
        ["cab", "dab", "abe"],
        [4, 4, 4],
        3,
        f"{rule} Merged symbols are compared as texts too.",
    )
    ask_merges(
        student,
        ["aa", "az", "aab"],
        [10, 2, 2],
        3,
        f"{rule} The merged texts are not compared.",
        [("a", "a"), ("a", "z"), ("aa", "b")],
    )
    ask_merges(student, ["a!", "a!x", "ax"], [2, 2, 2], 2, rule, [("a", "!"), ("a", "x")])
    ask_merges(student, ["a\x1f", "a\x1fx", "ax"], [2, 2, 2], 2, rule, [("a", "\x1f"), ("a", "x")])
    ask_merges(
        student,
        ["aa!", "", "b!aa"],
        [2, 3, 2],
        4,
        f"{rule} Each word keeps its own count to the end.",
    )
    for _ in range(8):
        words = list(dict.fromkeys(shuffled(rng, "a! '\"Ab")[:4] for _ in range(4)))
        ask_merges(student, words, [2] * len(words), 3, rule)
    ask_merges(student, [letters[:4], letters[4:]], [2, 2], 4, rule)


@train_bpe.stage("end", points=1)
def test_training_ends_in_time(student):
    rule = "Stop when no word has two symbols left; a pair that occurs once is merged too."
    ask_merges(student, ["ab", "c"], [2, 5], 10, rule, [("a", "b")])
    ask_merges(student, ["ab"], [1], 3, rule, [("a", "b")])
    ask_merges(
        student,
        ["ab", "b", "cd", "xy"],
        [3, 7, 2, 1],
        20,
        rule,
        [("a", "b"), ("c", "d"), ("x", "y")],
    )
    for words, counts in (([], []), (["a", ""], [3, 4]), (["x", "y", "z"], [1, 1, 1])):
        ask_merges(
            student, words, counts, 5, "Without pairs there are no merges: an empty list.", []
        )
    ask_merges(
        student, ["bank", "bay"], [3, 4], 0, "num_merges may be 0: then there are no merges.", []
    )
    for words, counts in (
        (["abcd", "bcd", "cd"], [1, 1, 1]),
        (["abcd", "xy"], [1, 1]),
        (["bank"], [1]),
    ):
        if makes(student, words, counts, 99):
            ask_merges(student, words, counts, 20, rule)


bpe_split = exercise(
    "02.bpe_split",
    function="bpe_split",
    points=5,
    see="02-tokenization/bpe#encoding",
    withhold=TOKENIZERS,
)


def joined(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """All places of a pair joined from left to right, none twice."""
    row, done = "\0" + "\0\0".join(pieces) + "\0", "\0" + "".join(pair) + "\0"
    return row.replace("\0" + "\0\0".join(pair) + "\0", done)[1:-1].split("\0\0") if pieces else []


def pieces_by_rounds(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """The right answer in another way than the solution's: the merges in their order, each
    everywhere at once.
    """
    pieces = list(word)
    for pair in merges:
        pieces = joined(pieces, pair)
    return pieces


def list_of_merges(rng, letters: str, number: int) -> list[tuple[str, str]]:
    """A random list as the statement promises it: each text made once, longer parts made before."""
    known, merges = sorted(letters), []
    while len(merges) < number:
        left, right = known[whole(rng, 0, len(known) - 1)], known[whole(rng, 0, len(known) - 1)]
        if left + right not in known and len(left + right) <= 6:
            known.append(left + right)
            merges.append((left, right))
    return merges


def ask_split(
    student, word: str, merges: list[tuple[str, str]], cause: str, right: list[str] | None = None
) -> None:
    """Ask for the pieces of a word."""
    ask_pieces(
        student.bpe_split(word, merges),
        pieces_by_rounds(word, merges) if right is None else right,
        cause=cause,
        given=f"the word {word!r} and the merges {merges[:8]}{' ...' if len(merges) > 8 else ''}",
    )


@bpe_split.stage("one-merge", points=1)
def test_one_merge_joins_its_pair_and_leaves_all_else(student, rng):
    rule = (
        "With one merge, only its adjacent pair becomes one token; every other "
        "character stays a token."
    )
    ask_split(student, "bank", [("a", "n")], rule, ["b", "an", "k"])
    ask_split(
        student,
        "nab",
        [("a", "n")],
        "A pair is merged only in its own order: a and then n, not n and then a.",
        ["n", "a", "b"],
    )
    ask_split(
        student,
        "be\u0301",
        [("a", "n")],
        "The characters are those of the word: none are composed.",
        ["b", "e", "\u0301"],
    )
    ask_split(
        student,
        "bank",
        [],
        "Without merges, each character of the word is a token.",
        ["b", "a", "n", "k"],
    )
    ask_split(
        student,
        "",
        [("a", "b"), ("ab", "c")],
        "An empty word has no tokens: the result is an empty list.",
        [],
    )
    ask_split(
        student, "k", [("a", "n"), ("an", "k")], "A word of one character is one token.", ["k"]
    )
    ask_split(
        student,
        "a \U0001f3e6\u0301\u00e9",
        [("\U0001f3e6", "\u0301")],
        "Every character is kept, a space too: one that is in no merge stays as a token.",
        ["a", " ", "\U0001f3e6\u0301", "\u00e9"],
    )
    ask_split(
        student,
        "a\0bc \x1f",
        [("b", "c")],
        "Every character of the word is kept; none of them separates tokens.",
        ["a", "\0", "bc", " ", "\x1f"],
    )
    ask_split(
        student,
        "\n \r\n",
        [("b", "c")],
        "The end of a line is a character like any other.",
        ["\n", " ", "\r", "\n"],
    )
    ask_split(
        student,
        "ab",
        [("x", chr(200 + place)) for place in range(300)] + [("a", "b")],
        f"{rule} A list may have some hundred.",
        ["ab"],
    )
    ask_split(student, AS_IT_IS, [("B", "e")], KEPT)
    at = SIGNS_OF_ALL_KINDS.index("A")
    ask_split(
        student,
        SIGNS_OF_ALL_KINDS,
        [("A", "B")],
        "Every character of the word is kept; none of them separates tokens.",
        [*SIGNS_OF_ALL_KINDS[:at], "AB", *SIGNS_OF_ALL_KINDS[at + 2 :]],
    )
    for size in (2, 5, 6):
        word = shuffled(rng, "bankriveto")[:size]
        at = whole(rng, 0, size - 2)
        ask_split(student, f"x{word}y", [(word[at], word[at + 1])], rule)


@bpe_split.stage("rank", points=1.5)
def test_the_earliest_merge_of_the_list_comes_first(student, rng):
    rule = (
        "Of overlapping pairs, the one with the lower rank is merged, not the leftmost "
        "and not the longest."
    )
    ask_split(student, "abc", [("b", "c"), ("a", "b")], rule, ["a", "bc"])
    ask_split(student, "abc", [("a", "b"), ("b", "c"), ("x", "y")], rule, ["ab", "c"])
    ask_split(
        student, "abcd", [("b", "c"), ("a", "b"), ("c", "d"), ("x", "y")], rule, ["a", "bc", "d"]
    )
    ask_split(
        student,
        "abcd",
        [("c", "d"), ("a", "b"), ("ab", "c"), ("x", "y"), ("y", "z")],
        rule,
        ["ab", "cd"],
    )
    ask_split(student, "abcd", [("a", "b"), ("c", "d"), ("ab", "c")], rule, ["ab", "cd"])
    for order in itertools.permutations([("a", "b"), ("b", "c"), ("c", "d")]):
        ask_split(student, "zabcd", [*order, ("z", "z")], rule)


@bpe_split.stage("leftmost", points=1)
def test_equal_pairs_are_joined_from_left_to_right_without_overlap(student, rng):
    rule = "Every occurrence of the pair is merged, from left to right, and no character twice."
    for number in (3, 2, 5, 4):
        ask_split(
            student, "a" * number, [("a", "a")], rule, ["aa"] * (number // 2) + ["a"] * (number % 2)
        )
    ask_split(student, "banana", [("a", "n"), ("x", "y")], rule, ["b", "an", "an", "a"])
    ask_split(student, "an" * 120, [("a", "n")], rule, ["an"] * 120)
    for ends in (("x", ""), ("x", "y"), ("", "xy")):
        ask_split(
            student,
            ends[0] + "an" * 99 + ends[1],
            [("a", "n")],
            f"{rule} A word may have 200 characters.",
        )
    ask_split(student, "a" * 7, [("a", "a"), ("aa", "aa")], rule, ["aaaa", "aa", "a"])
    ask_split(
        student, "anbanxan", [("a", "n"), ("an", "b"), ("x", "an")], rule, ["anb", "an", "xan"]
    )


@bpe_split.stage("again", points=1.5)
def test_what_was_joined_is_joined_again_by_exactly_its_pair(student, rng):
    rule = (
        "After each merge, look at all adjacent pairs again: a merged symbol can be "
        "part of a later merge."
    )
    ask_split(student, "bcd", [("c", "d"), ("b", "cd"), ("b", "c")], rule, ["bcd"])
    ask_split(
        student,
        "banking",
        [
            ("i", "n"),
            ("a", "n"),
            ("in", "g"),
            ("an", "k"),
            ("b", "ank"),
            ("an", "king"),
            ("k", "ing"),
        ],
        rule,
        ["bank", "ing"],
    )
    ask_split(
        student,
        "abcdefgh",
        [
            ("a", "b"),
            ("c", "d"),
            ("e", "f"),
            ("ab", "cd"),
            ("g", "h"),
            ("abcd", "ef"),
            ("abcdef", "gh"),
        ],
        rule,
        ["abcdefgh"],
    )
    ask_split(
        student,
        "abc",
        [("b", "c"), ("a", "b"), ("ab", "c")],
        "Only a pair that is in the list is merged: a and bc are not, although ab and c would give"
        " the same text.",
        ["a", "bc"],
    )
    ask_split(
        student,
        "ab.b",
        [(".", "b"), ("x", "y")],
        f"{rule} A dot matches a dot only.",
        ["a", "b", ".b"],
    )
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 150)))
    ask_split(
        student,
        letters,
        [(letters[:place], letters[place]) for place in range(1, 150)],
        f"{rule} There are as many rounds as it takes.",
        [letters],
    )
    ask_split(
        student,
        "abbaababaabbaa",
        [("b", "a"), ("ba", "a"), ("a", "b"), ("ab", "baa")],
        rule,
        ["abbaa", "ba", "baa", "b", "baa"],
    )
    ask_split(
        student,
        "a" * 9,
        [("a", "a"), ("aa", "aa"), ("aa", "a"), ("aa", "aaaa")],
        rule,
        ["aaaa", "aaaa", "a"],
    )
    for _ in range(10):
        merges = list_of_merges(rng, "abc", whole(rng, 9, 24))
        word = "".join(word_of(rng, "abcd", 6, 9) + left + right for left, right in merges[-3:])
        ask_split(student, word, merges, rule)
    merges = list_of_merges(rng, "abcd", 30)
    ask_split(
        student, word_of(rng, "abcdx", 190, 200), merges, f"{rule} A word may have 200 characters."
    )
    for word, merges in look_alikes(("xabcacby", [("x", "z"), ("a", "b"), ("b", "c"), ("z", "x")])):
        ask_split(student, word, merges, EACH)
    for word, merges in (
        ("banking", [("i", "n")]),
        ("banking", [("a", "n"), ("k", "i"), ("ki", "n")]),
        ("thanking", [("i", "n"), ("a", "n")]),
        ("king", [("i", "n"), ("in", "g"), ("k", "ing")]),
    ):
        ask_split(student, word, merges, EACH)
