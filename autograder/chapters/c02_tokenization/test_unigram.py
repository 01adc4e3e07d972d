"""Checks of chapter 2, Unigram: the most likely cut, and how often each piece is expected."""

import math

import torch

from autograder.chapters.c02_tokenization.asking import (
    AS_IT_IS,
    EACH,
    KEPT,
    TOKENIZERS,
    ask_pieces,
    shuffled,
    word_of,
)
from autograder.checks.inputs.draws import uniform, whole
from autograder.checks.protocol import exercise, expect

best_cut = exercise(
    "02.best_cut",
    function="best_cut",
    points=6,
    see="02-tokenization/unigram#the-viterbi-algorithm",
    withhold=TOKENIZERS,
)
BANKS = {"ban": 1 / 8, "bank": 1 / 16, "ks": 1 / 16, "s": 1 / 32, "k": 1 / 32}


def logs(probability: dict[str, float]) -> dict[str, float]:
    """Probabilities as natural logarithms."""
    return {piece: math.log(p) for piece, p in probability.items()}


def every_cut(word: str, log_prob: dict[str, float]) -> list[list[str]]:
    """All cuts of a short word, one by one."""
    if not word:
        return [[]]
    return [
        [word[:end], *rest]
        for end in range(1, len(word) + 1)
        if word[:end] in log_prob
        for rest in every_cut(word[end:], log_prob)
    ]


def random_pieces(rng, letters: str, longer: int) -> dict[str, float]:
    """Every letter and some longer pieces, in random order, each with a logarithm of its own."""
    pieces = list(dict.fromkeys([*letters, *(word_of(rng, letters, 2, 4) for _ in range(longer))]))
    order = torch.randperm(len(pieces), generator=rng).tolist()
    return {pieces[place]: -float(uniform(rng, 0.5, 4.0)) for place in order}


def shown(word: str, log_prob: dict[str, float]) -> str:
    """What was asked, in words."""
    short = f"{word!r}" if len(word) < 40 else f"{word[:12]!r}... of {len(word)} characters"
    return (
        f"the word {short} and log_prob"
        f" { {piece: round(score, 3) for piece, score in list(log_prob.items())[:10]} }"
    )


def ask_cut(
    student, word: str, log_prob: dict[str, float], right: list[str] | None, cause: str
) -> None:
    """Ask for the best cut."""
    came, given = student.best_cut(word, log_prob), shown(word, log_prob)
    if right is None:
        expect(came is None).is_true(
            cause=cause, detail=f"Given {given}. Your result is {came!r}, expected None"
        )
    elif came is None:
        expect(False).is_true(
            cause=f"Your result is None, but there is a segmentation. {cause}",
            detail=f"Given {given}. Expected {right}",
        )
    else:
        ask_pieces(came, right, cause=cause, given=given)


@best_cut.stage("whole", points=1)
def test_a_word_that_is_one_piece_or_letters_only(student, rng):
    rule = "The tokens, joined in order, are the word; a token may be the whole word."
    ask_cut(student, "bank", logs({"bank": 0.1, "river": 0.5}), ["bank"], rule)
    ask_cut(
        student,
        "a" * 40,
        {"b": -3.0, "a" * 40: -1.0},
        ["a" * 40],
        "A token may be as long as the word, however long that is.",
    )
    ask_cut(student, "a", logs({"a": 0.1, "b": 0.2}), ["a"], "A word of one letter may be a token.")
    ask_cut(student, "ab", logs({"a": 0.1, "b": 0.2}), ["a", "b"], rule)
    letters = shuffled(rng, "bankriveto")[: whole(rng, 3, 6)]
    ask_cut(student, letters, logs(dict.fromkeys(letters, 0.1)), list(letters), rule)
    ask_cut(
        student,
        AS_IT_IS,
        logs({AS_IT_IS[:3]: 0.1, AS_IT_IS[3:]: 0.2}),
        [AS_IT_IS[:3], AS_IT_IS[3:]],
        KEPT,
    )
    ask_cut(
        student,
        "",
        logs({"a": 0.1}),
        [],
        "An empty word has one segmentation, without tokens: the empty list.",
    )
    ask_cut(
        student,
        "\u6cb3\U0001f3e6x",
        logs({"\u6cb3": 0.2, "\U0001f3e6x": 0.1, "x": 0.1}),
        ["\u6cb3", "\U0001f3e6x"],
        rule,
    )


@best_cut.stage("sum", points=2)
def test_the_largest_sum_of_logarithms_wins(student, rng):
    rule = (
        "The segmentation with the largest sum of logarithms wins, not the longest "
        "tokens or the fewest."
    )
    ask_cut(student, "banks", logs(BANKS), ["ban", "ks"], rule)
    ask_cut(student, "banks", logs(BANKS | {"bank": 0.5}), ["bank", "s"], rule)
    ask_cut(
        student,
        "abc",
        logs({"abc": 0.001, "a": 0.5, "b": 0.5, "c": 0.5, "ab": 0.05}),
        ["a", "b", "c"],
        rule,
    )
    ask_cut(
        student,
        "abcd",
        logs({"ab": 0.4, "cd": 0.02, "abc": 0.01, "d": 0.9, "c": 0.1}),
        ["ab", "c", "d"],
        rule,
    )
    ask_cut(
        student,
        "abcd",
        logs({"ab": 0.9, "cd": 0.001, "a": 0.1, "bcd": 0.2}),
        ["a", "bcd"],
        f"{rule} It need not begin with the best segmentation of a prefix.",
    )
    ask_cut(
        student,
        "ab",
        {"a": -1.0, "b": -1.0, "ab": -2.0000001},
        ["a", "b"],
        "Compare the sums as they are: no rounding and no tolerance.",
    )
    ask_cut(
        student,
        "abc",
        {"a": -8.0, "bc": -8.0, "ab": -8.0, "c": -7.9999999},
        ["ab", "c"],
        "Compare the sums as they are: no rounding and no tolerance.",
    )
    for _ in range(3):
        word, log_prob = word_of(rng, "abc", 5, 8), random_pieces(rng, "abc", 12)
        cuts = sorted(every_cut(word, log_prob), key=lambda cut: sum(map(log_prob.get, cut)))
        gap = (
            sum(map(log_prob.get, cuts[-1])) - sum(map(log_prob.get, cuts[-2]))
            if len(cuts) > 1
            else 1.0
        )
        if gap > 1e-6:
            ask_cut(student, word, log_prob, cuts[-1], rule)
    for word, a, bc in (
        ("abc", -1.0, -4.0),
        ("abc", -4.0, -1.0),
        ("acb", -1.0, -4.0),
        ("abc", -1.0, -4.0),
    ):
        log_prob = {"x": -9.0, "ab": a, "bc": bc, "a": -2.0, "c": -2.0, "b": -9.0, "y": -9.0}
        ask_cut(
            student,
            word,
            log_prob,
            max(every_cut(word, log_prob), key=lambda cut: sum(map(log_prob.get, cut))),
            EACH,
        )
    others = {f"{letter}{number}": -1.0 for number in range(200) for letter in "ab"}
    for log_prob in (
        {**others, "ab": -1.0, "a": -2.0, "b": -2.0},
        {"b": -2.0, "a": -2.0, "ab": -1.0, **others},
    ):
        ask_cut(
            student,
            "abba",
            log_prob,
            ["ab", "b", "a"],
            f"{rule} The dictionary may have some hundred tokens.",
        )


@best_cut.stage("none", points=1)
def test_a_word_without_a_cut_gives_none(student, rng):
    rule = (
        "If no segmentation covers the whole word, the result is None; no character is "
        "skipped or kept as it is."
    )
    log_prob = logs(BANKS)
    ask_cut(student, "bans", log_prob, ["ban", "s"], "This word has a segmentation.")
    ask_cut(student, "banx", log_prob, None, rule)
    ask_cut(student, "xban", log_prob, None, rule)
    ask_cut(student, "baxnk", log_prob, None, rule)
    ask_cut(student, "b", log_prob, None, rule)
    ask_cut(student, "bank", {}, None, "Without tokens, only the empty word has a segmentation.")
    ask_cut(
        student,
        "",
        {},
        [],
        "Without tokens, the empty word still has its segmentation, the empty list.",
    )
    ask_cut(student, "abc", logs({"ab": 0.5, "bc": 0.5}), None, rule)
    ask_cut(
        student,
        "abcd",
        logs({"abc": 0.9, "ab": 0.001, "cd": 0.001}),
        ["ab", "cd"],
        "A probable first token that leads nowhere is not taken.",
    )
    for long in ("b" + "a" * 150, "a" * 150 + "b"):
        ask_cut(student, long, {"a": -1.0, "aa": -1.0}, None, rule)
    word = shuffled(rng, "bankriveto")
    ask_cut(student, word, logs(dict.fromkeys([word[:-1], *word[:-1]], 0.1)), None, rule)


@best_cut.stage("ties", points=1)
def test_of_equals_the_longest_last_piece_wins(student):
    rule = (
        "Of equally probable segmentations, the longest last token wins, then the "
        "longest second-to-last."
    )
    ask_cut(student, "abc", {"a": -1.0, "bc": -1.0, "ab": -1.0, "c": -1.0}, ["a", "bc"], rule)
    ask_cut(student, "aaa", {"a": -1.0, "aa": -1.0}, ["a", "aa"], rule)
    ask_cut(student, "ab", {"a": -0.5, "b": -0.5, "ab": -1.0}, ["ab"], rule)
    ask_cut(
        student,
        "abcd",
        {
            "a": -1.0,
            "b": -1.0,
            "c": -1.0,
            "d": -1.0,
            "ab": -2.0,
            "cd": -2.0,
            "bc": -2.0,
            "abc": -3.0,
        },
        ["ab", "cd"],
        rule,
    )
    ask_cut(student, "aaaaa", {"a": -1.0, "aa": -2.0, "aaa": -3.0}, ["aa", "aaa"], rule)
    ask_cut(
        student,
        "abcde",
        {"abc": -2.0, "de": -1.0, "a": -1.0, "b": -1.0, "cde": -1.0},
        ["a", "b", "cde"],
        f"{rule} Their number does not matter.",
    )
    ask_cut(
        student,
        "abcx",
        {"a": -1.0, "bc": -1.0, "ab": -1.0, "c": -1.0, "x": -1.0},
        ["a", "bc", "x"],
        rule,
    )


@best_cut.stage("long", points=1)
def test_long_words_are_cut_in_good_time(student, rng):
    for word in ("ab", "a" * 200):
        ask_cut(
            student,
            word,
            {"a": -1e10, "b": -1.0},
            list(word),
            "A logarithm may be -1e10: mark unreachable positions with -math.inf, not with a"
            " number.",
        )
    ask_cut(
        student,
        "abab",
        {"a": 0.0, "b": -1.0, "ab": -2.0, "ba": -3.0},
        ["a", "b", "a", "b"],
        "A logarithm of exactly 0 is probability 1: a token like any other.",
    )
    rule = (
        "Words of 200 characters have too many segmentations to try, and probabilities too small"
        " for a float: keep the best sum of logarithms for each prefix."
    )
    for long, short in ((150, 50), (180, 20), (101, 99)):
        for parts in (["a" * long, "b" * short], ["b" * short, "a" * long]):
            ask_cut(
                student,
                "".join(parts),
                {"a": -5.0, "b": -5.0, "a" * long: -1.0, "b" * short: -1.0},
                parts,
                "A token may be long, and at any position of the word.",
            )
    for score, right in ((-18.0000001, list("ab" * 100)), (-17.9999999, ["ab"] * 100)):
        ask_cut(
            student,
            "ab" * 100,
            {"a": -9.0, "b": -9.0, "ab": score},
            right,
            "Compare the sums as they are, large ones too: no rounding and no tolerance.",
        )
    for number in (200, 198):
        log_prob = {"a": -9.0, "aa": -17.0, "aaa": -27.5}
        ask_cut(student, "a" * number, log_prob, ["aa"] * (number // 2), rule)
    word = "".join("ab" if whole(rng, 0, 1) else "cd" for _ in range(90))
    ask_cut(
        student,
        word,
        {"ab": -11.0, "cd": -12.0, "a": -6.0, "b": -6.0, "c": -6.5, "d": -6.5},
        [word[place : place + 2] for place in range(0, len(word), 2)],
        rule,
    )


expected_counts = exercise(
    "02.expected_counts",
    function="expected_counts",
    points=5,
    see="02-tokenization/unigram#training",
    withhold=TOKENIZERS,
)


def counted(word: str, log_prob: dict[str, float]) -> torch.Tensor:
    """The expected counts of a short word, cut by cut."""
    cuts = every_cut(word, log_prob)
    weight = [math.exp(sum(map(log_prob.get, cut))) for cut in cuts]
    return torch.tensor(
        [
            sum(w * cut.count(piece) for w, cut in zip(weight, cuts)) / (sum(weight) or 1.0)
            for piece in log_prob
        ]
    )


def ask_counts(
    student, word: str, log_prob: dict[str, float], cause: str, right: torch.Tensor | None = None
) -> None:
    """Ask for the expected counts."""
    came = student.expected_counts(word, log_prob)
    right = counted(word, log_prob) if right is None else right
    expect(came, given=shown(word, log_prob)).close(
        right, rtol=1e-4, atol=1e-6, cause=ROUNDED if nearly(came, right) else cause
    )


ROUNDED = "Your result is nearly right: sums of logarithms lose digits in float32. Use float64."


def nearly(came: object, right: torch.Tensor) -> bool:
    """Whether a result is off by as little as sums in float32 are."""
    return (
        type(came) is torch.Tensor
        and came.shape == right.shape
        and torch.allclose(came.double(), right.double(), rtol=5e-3, atol=1e-6)
    )


@expected_counts.stage("one-cut", points=1)
def test_a_word_with_one_cut_uses_its_pieces_for_sure(student, rng):
    rule = (
        "With one segmentation, each of its tokens counts as often as it occurs; all "
        "others 0, in the dictionary's order."
    )
    ask_counts(student, "abc", logs({"c": 0.1, "x": 0.4, "ab": 0.2}), rule)
    ask_counts(student, "bank", logs({"bank": 0.3}), rule)
    ask_counts(student, AS_IT_IS, logs({AS_IT_IS[:3]: 0.1, AS_IT_IS[3:]: 0.2}), KEPT)
    letters = shuffled(rng, "bankriveto")
    ask_counts(
        student,
        letters[:5],
        logs({letter: 0.05 * (place + 1) for place, letter in enumerate(letters)}),
        rule,
    )


@expected_counts.stage("shares", points=1.5)
def test_each_cut_counts_by_its_share_of_the_probability(student, rng):
    rule = (
        "Weight every segmentation by its normalized probability: not the best alone, "
        "not all equally."
    )
    ask_counts(student, "banks", logs(BANKS), rule)
    for rare in (-9.0, -12.0):
        ask_counts(
            student,
            "ab",
            {"a": -0.25, "ab": rare - 0.5, "b": -0.25},
            f"{rule} An improbable segmentation counts too.",
        )
    for first in (0.1, 0.4):
        ask_counts(
            student,
            "ab",
            logs({"ab": 0.3, "b": 0.2, "a": first}),
            f"{rule} The logarithms are others in each call.",
        )
    ask_counts(
        student,
        "a" * 20 + "b",
        {"a" * 20: -1.0, "b": -2.0, "a" * 20 + "b": -3.0},
        f"{rule} A token may be as long as the word.",
    )
    ask_counts(student, "abc", logs({"ab": 0.03, "bc": 0.2, "a": 0.1, "c": 0.9}), rule)
    ask_counts(
        student,
        "a" * 50 + "b" * 150,
        {"b" * 150: -1.0, "c": -2.0, "a" * 50: -3.0, "a" * 50 + "b" * 150: -3.5},
        f"{rule} A token may be as long as the word.",
    )
    others = {f"{letter}{number}": -1.0 for number in range(200) for letter in "ab"}
    for log_prob in (
        {**others, "ab": -1.0, "a": -2.0, "b": -0.5, "c": -1.0},
        {"c": -1.0, "b": -0.5, "a": -2.0, "ab": -1.0, **others},
    ):
        ask_counts(student, "abc", log_prob, f"{rule} The dictionary may have some hundred tokens.")
    for word, first, second in (
        ("abdc", -1.0, -2.0),
        ("abdc", -2.0, -1.0),
        ("adbc", -1.0, -2.0),
        ("abdc", -1.0, -2.0),
    ):
        ask_counts(
            student,
            word,
            {
                "x": -1.0,
                "ab": first,
                "bd": second,
                "dc": -1.5,
                "a": -2.0,
                "d": -2.0,
                "c": -2.0,
                "b": -1.0,
                "y": -1.0,
            },
            EACH,
        )
    for _ in range(2):
        word = shuffled(rng, "bankriveto")[:5]
        longer = [word[at : at + size] for size in (2, 3) for at in range(4) if whole(rng, 0, 2)]
        ask_counts(
            student,
            word,
            {
                piece: -float(uniform(rng, 0.5, 4.0))
                for piece in dict.fromkeys([*longer, *word[::-1]])
            },
            rule,
        )


@expected_counts.stage("shared", points=1)
def test_a_piece_in_several_places_and_cuts_adds_up(student, rng):
    rule = (
        "A token can occur at several positions and in several segmentations: its "
        "expected count is the sum."
    )
    ask_counts(
        student,
        "banana",
        logs({"na": 0.01, "n": 0.2, "ba": 0.3}),
        "A token that occurs twice in a segmentation counts twice.",
    )
    ask_counts(student, "aaa", logs({"a": 0.5, "aa": 0.25}), rule)
    ask_counts(student, "aaaaa", {"aa": -1.5, "aaa": -2.0, "a": -0.125}, rule)
    ask_counts(
        student, "ababab", logs({"ab": 0.2, "a": 0.4, "b": 0.3, "ba": 0.15, "aba": 0.05}), rule
    )
    for size in (4, 6):
        ask_counts(
            student, word_of(rng, "ab", size, size + 2), random_pieces(rng, "ab", size), rule
        )


@expected_counts.stage("nothing", points=0.5)
def test_a_word_without_a_cut_and_the_empty_word_give_zeros(student):
    rule = (
        "A word without a segmentation gives zeros, and so does the empty word; "
        "incomplete segmentations do not count."
    )
    for word in ("banx", "xban", "b", ""):
        ask_counts(student, word, logs(BANKS), rule, torch.zeros(5))
    ask_counts(student, "ba", {"b": -1.0}, rule, torch.zeros(1))
    ask_counts(student, "bans", logs(BANKS), "This word has a segmentation.")


@expected_counts.stage("long", points=1)
def test_long_words_need_logarithms(student, rng):
    rule = (
        "Long words have too many segmentations to list, and tiny probabilities: use "
        "forward and backward sums in logarithms."
    )
    for number in (200, 100):
        p, q = math.exp(-8.0), math.exp(-16.5)
        ways = [1.0, 1.0]  # of p's alone; each aa in place of two a weighs q / p ** 2
        for _ in range(number - 1):
            ways.append(ways[-1] + q / p**2 * ways[-2])
        doubles = (
            sum(q / p**2 * ways[at] * ways[number - 2 - at] for at in range(number - 1))
            / ways[number]
        )
        ask_counts(
            student,
            "a" * number,
            {"aa": -16.5, "a": -8.0, "b": -1.0},
            rule,
            torch.tensor([doubles, number - 2 * doubles, 0.0]),
        )
    ask_counts(
        student,
        "ab" * 100,
        {"a": -60.0, "b": -70.0},
        f"{rule} Mark unreachable positions with -math.inf, not with a number.",
        torch.tensor([100.0, 100.0]),
    )
    ask_counts(
        student,
        "ab",
        {"a": 0.0, "b": 0.0, "ab": -1.0},
        "A logarithm of exactly 0 is probability 1: a token like any other.",
    )
    ask_counts(
        student,
        "ab" * 100,
        {"a": -1e4, "b": -1e4},
        f"{rule} A logarithm may be very low.",
        torch.full((2,), 100.0),
    )
    ask_counts(
        student,
        "a" * 200,
        {"a": -9999.9},
        f"{rule} Sums as low as these have no digits left in float32.",
        torch.tensor([200.0]),
    )
    share = 1 / (1 + math.exp(-0.5))
    ask_counts(
        student,
        "ab",
        {"ab": -9999.5, "a": -5000.0, "b": -5000.0},
        f"{rule} A logarithm may be very low, and is a number like another.",
        torch.tensor([share, 1 - share, 1 - share]),
    )
    times = whole(rng, 25, 30)
    log_prob = {
        "ab": -14.0,
        "a": -9.0,
        "b": -6.0,
        "ba": -13.0,
        "c": -8.0,
    }  # no piece reaches over the c
    ask_counts(student, "abac" * times, log_prob, rule, times * counted("abac", log_prob))
