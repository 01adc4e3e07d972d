"""Checks of chapter 2, WordPiece: the longest piece first, and the score that is quoted for its
training.
"""

from collections import Counter
from fractions import Fraction

from autograder.chapters.c02_tokenization.asking import (
    AS_IT_IS,
    EACH,
    KEPT,
    TOKENIZERS,
    ask_pieces,
    shuffled,
    word_of,
)
from autograder.checks.inputs.draws import look_alikes, whole
from autograder.checks.protocol import exercise, expect

wordpiece = exercise(
    "02.wordpiece",
    function="wordpiece",
    points=5,
    see="02-tokenization/wordpiece#encoding-the-longest-token-that-fits",
    withhold=TOKENIZERS,
)


def ask_word(student, word: str, vocabulary: list[str], right: list[str], cause: str) -> None:
    """Ask for the pieces of a word."""
    shown = word if len(word) < 60 else f"{word[:12]}... of {len(word)} characters"
    ask_pieces(
        student.wordpiece(word, vocabulary),
        right,
        cause=cause,
        given=f"the word {shown!r} and the vocabulary {vocabulary}",
    )


@wordpiece.stage("pieces", points=1.5)
def test_a_word_is_cut_into_a_first_piece_and_marked_ones(student, rng):
    ask_word(
        student,
        "bank",
        ["bank", "river"],
        ["bank"],
        "A word that is in the vocabulary is one token, without ##.",
    )
    for letter in ("b", "\u6cb3", "\u00e9"):
        ask_word(student, letter, ["##s", letter], [letter], "A token may be a single character.")
    rule = "The first token is looked up and written without ##, every other one with it."
    ask_word(student, "banks", ["bank", "##s", "s"], ["bank", "##s"], rule)
    ask_word(student, "abc", ["##a", "a", "b", "##b", "c", "##c"], ["a", "##b", "##c"], rule)
    ask_word(student, "abab", ["ab", "##ab", "b", "##x", "x"], ["ab", "##ab"], rule)
    letters = shuffled(rng, "bankriveto")[: whole(rng, 3, 6)]
    known = [*letters, *("##" + letter for letter in letters)]
    ask_word(
        student, letters, known, [letters[0], *("##" + letter for letter in letters[1:])], rule
    )
    ask_word(
        student,
        AS_IT_IS,
        [AS_IT_IS[:3], "##" + AS_IT_IS[3:]],
        [AS_IT_IS[:3], "##" + AS_IT_IS[3:]],
        KEPT,
    )
    ask_word(
        student,
        "\u6cb3\U0001f3e6\u0628",
        ["##\u0628", "\u6cb3", "##\U0001f3e6"],
        ["\u6cb3", "##\U0001f3e6", "##\u0628"],
        rule,
    )


@wordpiece.stage("longest", points=1.5)
def test_the_longest_piece_that_fits_is_taken(student, rng):
    rule = (
        "At each position, take the longest token that fits; the order of the "
        "vocabulary does not matter."
    )
    vocabulary = ["b", "ban", "bank", "##k", "##ing", "##king", "##s", "##in", "##g", "##i", "##gs"]
    ask_word(student, "banking", vocabulary, ["bank", "##ing"], rule)
    ask_word(student, "bankings", vocabulary, ["bank", "##ing", "##s"], rule)
    ask_word(student, "banking", vocabulary[::-1], ["bank", "##ing"], rule)
    ask_word(
        student,
        "abcde",
        ["a", "ab", "##c", "##bcde", "##cd", "##de", "##e"],
        ["ab", "##cd", "##e"],
        f"{rule} Begin at the left: the longest token of all may be in the middle.",
    )
    for number in (3, 5):
        ask_word(
            student,
            "a" * number,
            ["a", "aa", "##a", "##aa"][:number],
            ["aa", *["##aa"] * (number > 3), "##a"],
            rule,
        )
    word = shuffled(rng, "bankriveto")
    cut = whole(rng, 2, 5)
    known = (
        [word[:end] for end in range(1, cut + 1)]
        + ["##" + word[cut:end] for end in range(cut + 1, 11)]
        + ["##" + word[1 : cut + 1]]
    )
    ask_word(student, word, known, [word[:cut], "##" + word[cut:]], rule)
    ask_word(student, "abc", ["ab", "a", "abc", "##c", "##bc"], ["abc"], rule)
    ask_word(student, "banking", ["b", "##anking", "##a"], ["b", "##anking"], rule)
    long, single = word_of(rng, "bank", 99, 99), [*"bank", *("##" + letter for letter in "bank")]
    for cut in (98, 1, 50):
        ask_word(
            student,
            long,
            list(dict.fromkeys([*single, long[:cut], "##" + long[cut:]])),
            [long[:cut], "##" + long[cut:]],
            f"{rule} A token may be as long as the word.",
        )
    others = [f"{word_of(rng, 'bank', 4, 9)}x{number}" for number in range(450)]
    for vocabulary in ([*others, "ba", "##nk"], ["##nk", "ba", *others]):
        ask_word(
            student,
            "bank",
            vocabulary,
            ["ba", "##nk"],
            f"{rule} A vocabulary may have some hundred tokens.",
        )


@wordpiece.stage("unknown", points=1)
def test_a_word_that_does_not_work_out_is_unknown_as_a_whole(student, rng):
    rule = (
        "If no token fits at some position, the whole word is [UNK]; tokens are neither "
        "kept nor taken back."
    )
    vocabulary = ["[UNK]", "b", "ban", "bank", "##k", "##king", "##s"]
    ask_word(student, "banking", vocabulary, ["[UNK]"], rule)
    ask_word(student, "banker", vocabulary, ["[UNK]"], rule)
    ask_word(
        student, "bankse", vocabulary[1:], ["[UNK]"], f"{rule} [UNK] need not be in the vocabulary."
    )
    ask_word(
        student,
        "kings",
        vocabulary,
        ["[UNK]"],
        "A token with ## does not fit at the beginning of a word.",
    )
    ask_word(
        student,
        "bankban",
        vocabulary,
        ["[UNK]"],
        "A token without ## does not fit inside a word.",
    )
    ask_word(
        student,
        "ab",
        ["a", "###b"],
        ["[UNK]"],
        "Only the first two # of a token are its mark: ###b continues with #b.",
    )
    for known, right in ((["a", "#b"], ["[UNK]"]), (["a#b", "a"], ["[UNK]"])):
        ask_word(
            student,
            "ab",
            known,
            right,
            "Only ## at the beginning of a token is a mark; any other # is a character.",
        )
    ask_word(
        student, "a#b", ["a", "a#b"], ["a#b"], "A # inside a word is a character like any other."
    )
    ask_word(
        student,
        "a b",
        ["a", "b", "## ", "##b"],
        ["a", "## ", "##b"],
        "A space is a character like any other.",
    )
    ask_word(
        student,
        "axb",
        ["a.b", "ax+b", "[a]xb"],
        ["[UNK]"],
        "A token is looked up as it is written: a dot in it matches a dot only.",
    )
    ask_word(
        student,
        "",
        ["bank", "##s", "##ing"],
        [],
        "An empty word has no tokens and is not unknown: the result is an empty list.",
    )
    ask_word(student, "bank", [], ["[UNK]"], "With an empty vocabulary every word is unknown.")
    ask_word(
        student,
        "banks",
        vocabulary,
        ["bank", "##s"],
        "A word with tokens for all of it is not unknown.",
    )
    word = shuffled(rng, "bankriveto")
    ask_word(student, word + "x", [word[:3], "##" + word[3:], "##" + word[3:6]], ["[UNK]"], rule)
    vocabulary = ["[UNK]", "b", "ban", "bank", "##k", "##ing", "##king", "##s"]
    for other, pieces, right in (
        ("banking", vocabulary, ["bank", "##ing"]),
        ("bnaking", vocabulary, ["[UNK]"]),
        ("banking", [*vocabulary[:5], "##ign", *vocabulary[6:]], ["[UNK]"]),
        ("bankings", vocabulary, ["bank", "##ing", "##s"]),
        ("banking", [*vocabulary[:3], "bnak", *vocabulary[4:]], ["ban", "##king"]),
        ("BANKING", vocabulary, ["[UNK]"]),
    ):
        ask_word(student, other, pieces, right, EACH)


@wordpiece.stage("limit", points=1)
def test_a_word_of_more_than_a_hundred_characters_is_unknown(student, rng):
    rule = (
        "A word of more than 100 characters is [UNK]; one of exactly 100 is split like any other."
    )
    for letter in "a\u6cb3":
        known = [letter, "##" + letter, "[UNK]"]
        for number in (100, 101, 99):
            right = [letter, *["##" + letter] * (number - 1)] if number <= 100 else ["[UNK]"]
            ask_word(student, letter * number, known, right, rule)
    wide = "\U00010330"
    ask_word(
        student,
        wide * 51,
        [wide, "##" + wide],
        [wide, *["##" + wide] * 50],
        f"{rule} Characters count, not units of 16 bits and not bytes.",
    )
    long = word_of(rng, "bank", 101, 130)
    ask_word(student, long, [long, "b", "##b", "[UNK]"], ["[UNK]"], rule)
    whole_word = word_of(rng, "bank", 100, 100)
    ask_word(student, whole_word, [whole_word], [whole_word], rule)


first_merge = exercise(
    "02.first_merge",
    function="first_merge",
    kind="predict",
    points=4,
    see="02-tokenization/wordpiece#training-as-far-as-it-is-known",
    withhold=TOKENIZERS,
)


def scores_of(words: list[str], counts: list[int]) -> dict[str, Fraction]:
    """Every pair's score as an exact fraction, by the piece that it would make."""
    rows = [
        [("" if place == 0 else "##") + letter for place, letter in enumerate(word)]
        for word in words
    ]
    single, pairs = Counter(), Counter()
    for row, count in zip(rows, counts):
        for found, parts in ((single, row), (pairs, zip(row, row[1:]))):
            for part in parts:
                found[part] += count
    return {a + b[2:]: Fraction(number, single[a] * single[b]) for (a, b), number in pairs.items()}


def ask_first(
    student, words: list[str], counts: list[int], cause: str, right: dict[str, float] | None = None
) -> None:
    """Ask for the first piece with its score."""
    exact = scores_of(words, counts)
    best = min(exact, key=lambda piece: (-exact[piece], piece), default=None)
    truth = {} if best is None else {best: float(exact[best])}
    assert right is None or right == truth, (right, truth)
    given = f"the words {words} and the counts {counts}"
    came = expect(student.first_merge(words, counts), given=given).is_a(dict)
    expect(len(came) < 2).is_true(
        cause="The dictionary has one entry: the first token that is made, with its score.",
        detail=f"Given {given}. Your result has {len(came)} entries",
    )
    for piece in came:
        expect(piece in exact).is_true(
            cause=(
                "Your token is none that two adjacent symbols make:"
                " join their texts, and keep the mark of the first only."
            ),
            detail=f"Given {given}. Your token is {piece!r}, expected {best!r}",
        )
    expect(list(came) == list(truth)).is_true(
        cause=cause, detail=f"Given {given}. Your token is {list(came)}, expected {list(truth)}"
    )
    for piece, score in truth.items():
        expect(came[piece], "The score", given).is_a(float)
        expect(came[piece], "The score", given).close(
            score, rtol=1e-4, cause=f"The token is right, its score is not. {cause}"
        )


def without_ties(rng, letters: str, number: int) -> tuple[list[str], list[int]]:
    """Words of different letters with counts, whose best score stands alone, so that no rounding
    can matter.
    """
    while True:
        words = list(
            dict.fromkeys(
                shuffled(rng, letters)[: whole(rng, 2, len(letters))] for _ in range(number)
            )
        )
        counts = [whole(rng, 1, 9) for _ in words]
        best = sorted(map(float, scores_of(words, counts).values()))
        if len(best) > 1 and best[-1] > 1.001 * best[-2]:
            return words, counts


@first_merge.stage("score", points=1)
def test_a_pair_is_divided_by_the_counts_of_both_parts(student, rng):
    rule = (
        "The score is count(ab) / (count(a) · count(b)); the largest score wins, not "
        "the largest count."
    )
    ask_first(student, ["ab", "ac", "db", "eb"], [1] * 4, rule, {"ac": 0.5})
    ask_first(student, ["abx", "aby", "abz", "cd"], [1] * 4, rule, {"cd": 1.0})
    ask_first(student, ["ab", "ac", "db", "eb"] * 40, [1] * 160, rule, {"ac": 1 / 80})
    ask_first(student, ["abx", "aby", "cbz", "cdz", "edx"], [1] * 5, rule, {"ed": 0.5})
    ask_first(
        student,
        ["\u00e9\u00df", "x\u6cb3", "y\u6cb3", "\U00010400"],
        [1, 1, 1, 5],
        f"{rule} Letters may be of any script.",
        {"\u00e9\u00df": 1.0},
    )
    ask_first(
        student,
        ["ab" + "x" * 197 + "b", "cd", "ed", "fd"],
        [1] * 4,
        f"{rule} A word may have 200 characters.",
    )
    a, b, c, d, e = shuffled(rng, "bankriveto")[:5]
    ask_first(student, [a + b, d + b, e + b, a + c], [1] * 4, rule, {a + c: 0.5})


@first_merge.stage("weights", points=1)
def test_everything_counts_as_often_as_its_word(student, rng):
    rule = "Pairs and symbols count as often as the word that contains them."
    ask_first(student, ["ab", "cd"], [4, 2], rule, {"cd": 0.5})
    ask_first(
        student,
        ["ab", "cd"],
        [100_000, 70_000],
        f"{rule} The product of two counts may need more than 32 bits.",
        {"cd": 1 / 70_000},
    )
    ask_first(student, ["ab", "ac", "db", "de"], [1, 8, 4, 2], rule)
    ask_first(
        student,
        ["ab", "cd", "c"],
        [4, 2, 6],
        "A word of one character has no pair, but its symbol counts.",
        {"ab": 0.25},
    )
    ask_first(
        student,
        ["ab", "cd"],
        [5 * 10**9, 5 * 10**9 + 1],
        f"{rule} The product of two counts may need more than 64 bits.",
        {"ab": 1 / (5 * 10**9)},
    )
    for _ in range(2):
        pairs = list(
            dict.fromkeys(word_of(rng, "abc", 1, 1) + word_of(rng, "xyz", 1, 1) for _ in range(7))
        )
        counts = [whole(rng, 1, 9) for _ in pairs]
        best = sorted(map(float, scores_of(pairs, counts).values()))
        if best[-1] > 1.001 * best[-2]:
            ask_first(student, pairs, counts, rule)


@first_merge.stage("marks", points=1)
def test_a_character_inside_a_word_is_another_one_than_at_its_beginning(student, rng):
    rule = "A character at the beginning of a word and the same one with ## are different symbols."
    ask_first(student, ["bank", "tank", "bay"], [3, 2, 4], rule, {"##nk": 0.2})
    ask_first(student, ["noon", "no", "on"], [1, 2, 4], rule)
    ask_first(student, ["abc", "bca", "cab"], [1, 2, 4], rule)
    ask_first(
        student,
        ["nna", "an", "na"],
        [2, 1, 3],
        "The token keeps the mark of its first part: inside a word it has one ##.",
    )
    words, counts = without_ties(rng, "bank", 6)
    ask_first(student, words, counts, rule)
    for arguments in look_alikes((["bank", "tank", "bay", "kab"], [3, 2, 7, 4])):
        ask_first(student, *arguments, EACH)
    for words, counts in (
        (["bank", "tank", "bay"], [3, 2, 5]),
        (["bank", "tank", "yab"], [3, 2, 4]),
        (["bank", "tank", "bay"], [3, 4, 2]),
    ):
        ask_first(student, words, counts, EACH)


@first_merge.stage("borders", points=1)
def test_repeated_pairs_ties_and_words_without_a_pair(student, rng):
    rule = "A pair that occurs twice in a word counts twice, overlapping or not."
    ask_first(student, ["xaaaa", "xbc", "ybc"], [1, 4, 4], rule)
    ask_first(student, ["xabab", "xcd", "ycd"], [2, 9, 9], rule)
    tie = "Of equal scores, the smallest token in Python's order is made; # comes before letters."
    ask_first(student, ["cd", "ab"], [2, 2], tie, {"ab": 0.5})
    ask_first(student, ["ab", "xcd"], [4, 4], tie, {"##cd": 0.25})
    ask_first(student, ["zy", "zx", "wv", "tvu"], [1, 1, 2, 2], tie)
    ask_first(
        student,
        ["aa", "ab"],
        [6, 7],
        f"{tie} How often it occurs does not matter.",
        {"aa": 1 / 13},
    )
    ask_first(
        student, ["ab", "Zy"], [2, 2], f"{tie} Capitals come before small letters.", {"Zy": 0.5}
    )
    ask_first(
        student,
        ["\U00010400b", "\uff5ab"],
        [2, 2],
        f"{tie} Characters come in the order of their code points.",
        {"\uff5ab": 0.25},
    )
    divided = (
        "Equal fractions are equal: divide whole numbers once, by the product. Dividing twice, or"
        " in float32, rounds them apart."
    )
    for more in ("a", "zb"):  # 3 / (5 * 3) or 3 / (3 * 5), and 1 / (1 * 5)
        for times in (1, 1_000_003):
            counts = [times * count for count in (3, 2, 1, 4, 40)]
            ask_first(student, ["ab", more, "cd", "zd", "z"], counts, divided)
    ask_first(student, ["ab", "a", "cd", "c"], [3, 46, 25, 24], divided, {"ab": 1 / 49})
    ask_first(student, ["ab", "a", "cd", "zd", "z"], [1, 8, 5, 4, 40], divided, {"ab": 1 / 9})
    for count in (3_000, 30_000, 300_000):
        ask_first(
            student,
            ["ab", "cd"],
            [count, count - 1],
            "Only equal scores are a tie. Nearly equal ones are not: the larger wins, "
            "however little larger it is.",
            {"cd": 1 / (count - 1)},
        )
    ask_first(
        student,
        ["ab", "cd"],
        [4_700_010_000, 4_700_000_000],
        "Scores may be very small, and differ by a millionth of themselves.",
        {"cd": 1 / 4_700_000_000},
    )
    ask_first(student, ["a"], [3], "Without a pair the result is an empty dictionary.", {})
    ask_first(student, [], [], "Without words the result is an empty dictionary.", {})
    ask_first(
        student, ["a", "b", "ab"], [3, 1, 1], "A word of one character has no pair.", {"ab": 0.25}
    )
