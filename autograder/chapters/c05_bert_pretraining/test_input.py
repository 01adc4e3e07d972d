"""Checks of chapter 5, parts 1 and 3: two texts as one input, and pairs of sentences that follow or
do not.
"""

from autograder.chapters.c05_bert_pretraining.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, one_changed, whole
from autograder.checks.protocol import exercise, expect

BOOK = "05-bert-pretraining"

pair_input = exercise(
    "05.pair_input",
    function="pair_input",
    points=5,
    see=f"{BOOK}/input#one-sequence-for-two-texts",
    withhold=OURS | LIBRARIES,
)


def joined(
    a: list[int], b: list[int], cls: int, sep: int, max_length: int
) -> tuple[list[int], list[int]]:
    """The right answer, token by token as the statement says it."""
    a, b, paired = [*a], [*b], bool(b)
    while len(a) + len(b) + (3 if paired else 2) > max_length:
        (a if len(a) > len(b) else b).pop()
    ids = [cls, *a, sep] + ([*b, sep] if paired else [])
    return ids, [0] * (len(a) + 2) + [1] * (len(ids) - len(a) - 2)


def ask_pair(
    student, cause: str, a: list[int], b: list[int], cls: int, sep: int, max_length: int
) -> None:
    """Compare ids and segments; the segments are looked at where the ids are right."""
    given = f"{len(a)} and {len(b)} tokens, max_length {max_length}"
    came = expect(student.pair_input(a, b, cls, sep, max_length), given=given).unpacks(2)
    ids, segments = joined(a, b, cls, sep, max_length)
    expect(came[0], "Your list of ids", given).equals(ids, cause=cause)
    expect(came[1], "Your list of segments", given).equals(
        segments,
        cause=f"{cause} Segments are 0 up to and including the first `sep`, and 1 after it.",
    )


def text(rng, number: int) -> list[int]:
    """So many ids of ordinary tokens."""
    return counts(rng, 10, 9999, number).tolist()


@pair_input.stage("one", points=1)
def test_one_text_has_one_end(student, rng):
    rule = (
        "Where b is empty there is one text only: `cls`, the tokens of a, one `sep`, and nothing"
        " after it. All segments are 0."
    )
    for number in (1, 2, 7, whole(rng, 8, 20), 120, 300):
        ask_pair(student, rule, text(rng, number), [], 2, 3, 512)
    ask_pair(student, rule, [5, 6], [], 0, 1, 5)
    ask_pair(student, rule, [0, 0, 9], [], 101, 102, 30)


@pair_input.stage("pair", points=1.5)
def test_two_texts_have_an_end_each(student, rng):
    rule = "Everything fits here: `cls`, the tokens of a, `sep`, the tokens of b, `sep`."
    for first, second in (
        (1, 1),
        (3, 2),
        (2, 5),
        (7, 6),
        (whole(rng, 2, 9), whole(rng, 2, 9)),
        (130, 3),
        (1, 110),
    ):
        ask_pair(student, rule, text(rng, first), text(rng, second), 2, 3, 512)
        ask_pair(
            student,
            rule,
            text(rng, first),
            text(rng, second),
            whole(rng, 100, 200),
            whole(rng, 300, 400),
            first + second + 3,
        )
    held = (
        "A text may hold any ids, those of `cls` and `sep` too: count the"
        " positions, and don't search for `sep`."
    )
    for a, b in (([3, 8, 3], [9, 3]), ([2, 2], [2]), ([3], [3])):
        ask_pair(student, f"{rule} {held}", a, b, 2, 3, 40)
    ask_pair(student, f"{rule} `cls` and `sep` may be the same id.", [7, 8, 7], [7], 7, 7, 9)
    for case in one_changed(
        (text(rng, 4), text(rng, 3), 2, 3, 50), (text(rng, 4), text(rng, 3), 7, 8, 60)
    ):
        ask_pair(student, rule, *case)
    for case in look_alikes((text(rng, 6), text(rng, 5), 2, 3, 14)):
        ask_pair(student, rule, *case)
    large = f"{rule} Ids may be as large as a billion: they are copied, not computed with."
    ask_pair(
        student, large, [999_999_999, 16_777_217, 5], [999_999_997], 999_999_993, 999_999_991, 9
    )
    for most in (603, 800):
        ask_pair(student, rule, text(rng, 300), text(rng, 300), 2, 3, most)


@pair_input.stage("cut", points=1.5)
def test_the_longer_text_loses_its_last_tokens_first(student, rng):
    rule = (
        "At most `max_length` ids fit, `cls` and `sep` included. While there are more, the last"
        " token of the longer text goes, and of b where both are equally long at that moment."
    )
    ask_pair(student, rule, [11, 12, 13, 14, 15], [21, 22, 23], 2, 3, 8)
    for first, second, most in (
        (6, 2, 10),
        (2, 6, 10),
        (6, 2, 8),
        (2, 6, 8),
        (5, 5, 9),
        (5, 5, 12),
        (4, 4, 10),
        (9, 3, 7),
        (3, 9, 7),
        (8, 7, 16),
        (7, 8, 17),
        (90, 120, 128),
        (120, 7, 64),
        (6, 5, 13),
        (6, 5, 14),
        (200, 250, 131),
    ):
        ask_pair(student, rule, text(rng, first), text(rng, second), 2, 3, most)
    first, second = whole(rng, 6, 30), whole(rng, 6, 30)
    for most in (first + second, max(first, second), 9):
        ask_pair(student, rule, text(rng, first), text(rng, second), 2, 3, most)


@pair_input.stage("borders", points=1)
def test_ends_are_never_cut_and_texts_may_be_empty(student, rng):
    rule = (
        "`cls` and `sep` are never removed, and take three of the positions with a b, two without."
    )
    for first, most in ((5, 4), (5, 3), (1, 3), (40, 41), (40, 42)):
        ask_pair(student, rule, text(rng, first), [], 2, 3, most)
    lost = (
        "Whether there is a second text is decided before anything is cut: a b that loses all its"
        " tokens keeps its `sep`, in segment 1."
    )
    for first, second, most in (
        (1, 1, 4),
        (4, 3, 4),
        (2, 1, 5),
        (1, 1, 3),
        (6, 6, 3),
        (1, 5, 4),
        (5, 1, 5),
    ):
        ask_pair(student, f"{rule} {lost}", text(rng, first), text(rng, second), 2, 3, most)
    for second, most in ((3, 10), (3, 5), (1, 3), (2, 4)):
        ask_pair(
            student, f"{rule} a may be empty while b is not.", [], text(rng, second), 2, 3, most
        )
    for most in (3, 20):
        ask_pair(student, f"{rule} Both may be empty.", [], [], 2, 3, most)


sentence_pairs = exercise(
    "05.sentence_pairs",
    function="sentence_pairs",
    points=5,
    see=f"{BOOK}/pairs#building-the-pairs",
    withhold=OURS | LIBRARIES,
)


def paired(docs: list, coin: list, other: list, place: list) -> list[tuple[str, str, int]]:
    """The right answer, by numbers of documents and sentences."""
    starts = [(d, s) for d in range(len(docs)) for s in range(len(docs[d]) - 1)]
    found = []
    for i, (d, s) in enumerate(starts):
        second = docs[d][s + 1]
        if coin[i]:
            e = [number for number in range(len(docs)) if number != d][other[i] % (len(docs) - 1)]
            second = docs[e][place[i] % len(docs[e])]
        found.append((docs[d][s], second, coin[i]))
    return found


def library(*sizes: int) -> list[list[str]]:
    """Documents of so many sentences, all different."""
    return [[f"sentence {s} of document {d}" for s in range(size)] for d, size in enumerate(sizes)]


def ask_pairs(student, cause: str, docs: list, coin: list, other: list, place: list) -> None:
    """Compare the pairs: how many, then one by one."""
    given = f"documents of {', '.join(str(len(doc)) for doc in docs[:8])} sentences"
    expect(student.sentence_pairs(docs, coin, other, place), "Your list of pairs", given).equals(
        paired(docs, coin, other, place), cause=cause
    )


def chance(rng, docs: list, coins: str = "both", large: int = 40) -> tuple[list, list, list]:
    """Drawn numbers for every pair; coins: "both", "follows" or "elsewhere"."""
    number = sum(len(doc) - 1 for doc in docs)
    coin = {
        "both": counts(rng, 0, 1, number).tolist(),
        "follows": [0] * number,
        "elsewhere": [1] * number,
    }[coins]
    return coin, counts(rng, 0, large, number).tolist(), counts(rng, 0, large, number).tolist()


@sentence_pairs.stage("follows", points=1.5)
def test_every_sentence_but_the_last_is_paired_with_the_next(student, rng):
    rule = (
        "All coins are 0 here: every sentence with another after it in its own document makes a"
        " pair with that one, labelled 0, in the order of the text."
    )
    for sizes in (
        (2, 2),
        (3, 2),
        (2, 5, 3),
        (4, 4, 4),
        (whole(rng, 2, 6), whole(rng, 2, 6)),
        (300, 2),
        (2,) * 299,
    ):
        docs = library(*sizes)
        ask_pairs(student, rule, docs, *chance(rng, docs, "follows"))


@sentence_pairs.stage("elsewhere", points=2)
def test_a_coin_of_one_draws_from_another_document(student, rng):
    rule = (
        "Where the coin is 1 the second sentence comes from another document, and the label is 1:"
        " number the others in order without the own one, take `other[i]` modulo how many there"
        " are, and in that document `place[i]` modulo its sentences."
    )
    for sizes in (
        (2, 2),
        (3, 3),
        (3, 2, 4),
        (4, 4, 4),
        (2, 3, 4, 5),
        (5, 3, 2, 2, 6),
        (3, whole(rng, 2, 7), whole(rng, 2, 7)),
        (60, 60),
        (2,) * 110,
    ):
        docs = library(*sizes)
        ask_pairs(student, rule, docs, *chance(rng, docs, "elsewhere", 3))
        ask_pairs(
            student,
            f"{rule} Coins may differ from pair to pair: each of the three lists has a number for"
            " each pair.",
            docs,
            *chance(rng, docs),
        )
    docs, others = library(3, 4, 2), library(5, 2, 2)
    first = docs, [1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 5, 1], [0, 1, 2, 3, 4, 5]
    for case in one_changed(
        first,
        (
            [[one.upper() for one in doc] for doc in others],
            [0, 1, 1, 0, 1, 0],
            [1, 0, 0, 1, 2, 0],
            [1, 2, 0, 2, 3, 1],
        ),
    ):
        ask_pairs(student, rule, *case)
    ask_pairs(student, rule, [[one[::-1] for one in doc] for doc in docs], *first[1:])
    for case in look_alikes(
        (library(3, 3, 3, 3), [1] * 8, [0, 2, 1, 0, 2, 1, 0, 2], [0, 1, 2, 0, 2, 1, 0, 1])
    ):
        ask_pairs(student, rule, *case)


@sentence_pairs.stage("ends", points=1.5)
def test_short_documents_repeated_sentences_and_large_numbers(student, rng):
    rule = (
        "The last sentence of a document begins no pair; one of a single sentence begins none, and"
        " may be drawn from."
    )
    ask_pairs(
        student, rule, [["a0", "a1", "a2"], ["b0"], ["c0", "c1"]], [0, 1, 1], [5, 3, 2], [0, 3, 4]
    )
    for sizes in ((1, 3), (3, 1), (1, 4, 1), (2, 1, 1, 3), (1, 2), (1, 1, 1, 2)):
        docs = library(*sizes)
        for coins in ("both", "elsewhere"):
            ask_pairs(student, rule, docs, *chance(rng, docs, coins))
    for sizes in ((1, 1), (1, 1, 1)):
        ask_pairs(
            student,
            "No document has two sentences here: the answer is an empty list.",
            library(*sizes),
            [],
            [],
            [],
        )
    same = (
        "Sentences and documents are identified by their index, not by their"
        " text: use numbers, and don't search for a text."
    )
    ask_pairs(student, same, [["x", "x", "y"], ["x", "y"]], [0, 0, 0], [5, 11, 9], [38, 20, 18])
    twice = ["x", "y", "z"]
    for docs in (
        [["x", "x", "y"], ["x", "y"]],
        [["x", "y", "x", "z"], ["x", "z"], ["q", "x"]],
        [["x", "y"], ["x", "y"], ["z", "w"]],
        [["x", "x"], ["x", "x"]],
        [["x", "y", "z"], ["x", "y", "z"], ["x", "y", "z"]],
        [["x", "y"], ["z", "w"], ["x", "y"]],
        [twice, ["u", "v"], twice],
        [["", "x", ""], ["y", ""]],
    ):
        for coins in ("both", "elsewhere", "elsewhere"):
            ask_pairs(student, same, docs, *chance(rng, docs, coins))
    docs = library(3, 2, 4)
    ask_pairs(
        student,
        "`other` and `place` may be as large as a billion: take the remainder.",
        docs,
        *chance(rng, docs, "elsewhere", 10**9),
    )
