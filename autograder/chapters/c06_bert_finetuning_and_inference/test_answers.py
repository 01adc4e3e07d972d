"""Checks of chapter 6, part 4: the best span, exact match and F1 of words."""

import string

import torch
from torch import Tensor

from autograder.chapters.c06_bert_finetuning_and_inference.asking import ask_number
from autograder.chapters.c06_bert_finetuning_and_inference.withholding import BOOK, LIBRARIES, OURS
from autograder.checks.assertions.slips import note
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.protocol import exercise, expect

best_span = exercise(
    "06.best_span", function="best_span", points=6, see=f"{BOOK}/answers", withhold=OURS | LIBRARIES
)


def best(start: Tensor, end: Tensor, allowed: Tensor, max_tokens: int) -> tuple[int, int]:
    """The right span, by the rule for equal ones: largest sum, first start, first end."""
    starts, ends, places = (
        start.tolist(),
        end.tolist(),
        [place for place, one in enumerate(allowed.tolist()) if one],
    )
    return min(
        ((i, j) for i in places for j in places if i <= j < i + max_tokens),
        key=lambda span: (-starts[span[0]] - ends[span[1]], *span),
    )


def ask_span(
    student,
    cause: str,
    start: Tensor,
    end: Tensor,
    allowed: Tensor | None = None,
    max_tokens: int = 300,
) -> None:
    """Compare the span."""
    allowed = torch.ones(len(start), dtype=torch.bool) if allowed is None else allowed
    given = f"{len(start)} tokens, {int(allowed.sum())} allowed, max_tokens {max_tokens}"
    expect(student.best_span(start, end, allowed, max_tokens), "Your span", given).equals(
        best(start, end, allowed, max_tokens), cause=cause
    )


def scores(rng, places: int, size: float = 40.0) -> tuple[Tensor, Tensor]:
    """Two rows of scores, multiples of 1/1024: few sums are equal by chance."""
    start, end = (1024 * size * normal(rng, 2, places)).round() / 1024
    return start.clone(), end.clone()


def ordered(rng, places: int) -> tuple[Tensor, Tensor]:
    """Scores whose largest start is before the largest end."""
    start, end = scores(rng, places)
    i, j = sorted(counts(rng, 0, places - 1, 2).tolist())
    start[i], end[j] = 500.0, 600.0
    return start, end


@best_span.stage("sum", points=1.5)
def test_the_largest_start_and_end_where_they_make_a_span(student, rng):
    rule = (
        "The largest start stands before the largest end here, or on the same token, everything is"
        " allowed and any length: these two make the span."
    )
    for places in (1, 2, 3, 5, whole(rng, 6, 20), 120, 300):
        for _ in range(2):
            ask_span(student, rule, *ordered(rng, places))
    ask_span(
        student,
        f"{rule} One token is a span of itself.",
        torch.tensor([-2.0]),
        torch.tensor([-3.0]),
        max_tokens=1,
    )
    for place in (0, 4):
        start, end = scores(rng, 5)
        start[place] = end[place] = 500.0
        ask_span(student, rule, start, end)


@best_span.stage("order", points=1)
def test_a_span_does_not_end_before_it_starts(student, rng):
    rule = (
        "The best start and the best end by themselves need not make a span: compare the sums of"
        " all pairs in which the end is not before the start."
    )
    ask_span(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor([1.0, 2, 6, 3, 1]),
        torch.tensor([0.0, 5, 1, 4, 2]),
        max_tokens=5,
    )
    for places in (2, 3, 4, 7, whole(rng, 6, 20), 110):
        start, end = scores(rng, places)
        i = whole(rng, 1, places - 1)
        start[i], end[whole(rng, 0, i - 1)] = 500.0, 500.25
        ask_span(student, rule, start, end)
        ask_span(student, rule, *scores(rng, places))
    first = torch.tensor([0.0, 9, 2, 1, 0, 3]), torch.tensor([0.0, 1, 2, 8, 0, 1])
    for case in [
        *one_changed(
            first, (torch.tensor([7.0, 0, 2, 1, 0, 3]), torch.tensor([0.0, 1, 2, 0, 0, 9]))
        ),
        *look_alikes(first),
        *look_alikes(scores(rng, 6)),
    ]:
        ask_span(student, rule, *case)


@best_span.stage("length", points=1)
def test_a_span_has_at_most_so_many_tokens(student, rng):
    rule = (
        "A span from i to j has j - i + 1 tokens, and at most `max_tokens`; `max_tokens` may be"
        " larger than T."
    )
    for places in (2, 3, 5, 9, whole(rng, 6, 20)):
        for most in (1, 2, 3, places - 1, places, places + 1, 1_000_000_000):
            ask_span(student, rule, *ordered(rng, places), max_tokens=max(1, most))
    for distance in (2, 3, 4):
        start, end = scores(rng, 9)
        start[2], end[2 + distance] = 500.0, 500.0
        for most in (distance, distance + 1, distance + 2):
            ask_span(student, rule, start, end, max_tokens=most)
    ask_span(student, rule, *ordered(rng, 300), max_tokens=30)
    ask_span(student, rule, torch.tensor([-9.0, -1]), torch.tensor([-9.0, -1]), max_tokens=1)


@best_span.stage("passage", points=1)
def test_first_and_last_token_are_allowed(student, rng):
    rule = (
        "First and last token of the span are both allowed; those between them play no part. A"
        " question, `[SEP]` and padding are not allowed."
    )
    for places in (3, 5, 8, whole(rng, 9, 20), 150):
        start, end = ordered(rng, places)
        passage = torch.arange(places) >= places // 2
        for allowed in (passage, ~passage, start < start.max(), end < end.max()):
            ask_span(student, rule, start, end, allowed)
            ask_span(student, rule, start, end, allowed, 2)
        only = torch.zeros(places, dtype=torch.bool)
        only[whole(rng, 0, places - 1)] = True
        ask_span(student, f"{rule} One token is allowed here.", start, end, only)
    gap = torch.tensor([True, False, True, False])
    ask_span(
        student,
        f"{rule} The token between the two is not allowed here.",
        torch.tensor([9.0, 50, 1, 50]),
        torch.tensor([1.0, 50, 9, 50]),
        gap,
    )
    ask_span(
        student,
        f"{rule} The token between the two counts for the length.",
        torch.tensor([9.0, 50, 2, 50]),
        torch.tensor([1.0, 50, 9, 50]),
        gap,
        2,
    )


@best_span.stage("negative", points=0.5)
def test_all_scores_may_be_negative_or_large(student, rng):
    rule = (
        "Scores may all be negative, and as large as 10,000 in size: begin with minus infinity, not"
        " with 0, and add them as they are."
    )
    for places in (2, 4, 9):
        start, end = scores(rng, places)
        for shift in (-300.0, -9_800.0, 9_800.0):
            start, end = (64 * start).round() / 64, (64 * end).round() / 64  # exact sums
            ask_span(student, rule, start / 2 + shift, end / 2 + shift)
            ask_span(student, rule, start / 2 + shift, end / 2 - shift / 2)
    ask_span(
        student,
        rule,
        torch.full((4,), -10_000.0),
        torch.tensor([-10_000.0, -10_000.0, -10_000.0, -9_999.0]),
        torch.tensor([False, False, True, False]),
    )
    ask_span(student, rule, torch.tensor([-5.0, -4.0]), torch.tensor([-1.0, -9.0]))
    ask_span(
        student,
        f"{rule} What is not allowed is out, whatever its score.",
        torch.tensor([10_000.0, -10_000.0]),
        torch.tensor([10_000.0, -10_000.0]),
        torch.tensor([False, True]),
    )
    ask_span(
        student,
        f"{rule} Two sums may differ by 1/64 only.",
        torch.tensor([9000.0, 8000.0, 9000 + 1 / 64]),
        torch.tensor([9000.0, 0.0, 9000.0]),
        max_tokens=1,
    )


@best_span.stage("ties", points=1)
def test_of_equal_spans_the_first_counts(student, rng):
    rule = (
        "Of spans with the same sum the one that starts first counts, and of those the one that"
        " ends first."
    )
    ask_span(
        student,
        f"{rule} This is the case by hand, with single tokens.",
        torch.tensor([1.0, 2, 6, 3, 1]),
        torch.tensor([0.0, 5, 1, 4, 2]),
        max_tokens=1,
    )
    for places in (2, 5, 40, 300):
        ask_span(student, rule, torch.zeros(places), torch.zeros(places))
        ask_span(
            student, rule, torch.zeros(places), torch.zeros(places), torch.arange(places) > 0, 1
        )
    for places in (3, 6, 12, 90):
        for most in (2, places):
            start, end = counts(rng, -1, 1, 2, places).float()
            ask_span(student, rule, start.clone(), end.clone(), max_tokens=most)
    ask_span(
        student, rule, torch.tensor([0.0, 3.0, 0.0]), torch.tensor([0.0, 0.0, 3.0]), max_tokens=2
    )
    ask_span(student, rule, torch.tensor([5.0, 4.0, 0.0]), torch.tensor([0.0, 3.0, 3.0]))
    ask_span(student, rule, torch.tensor([4.0, 5.0, 0.0]), torch.tensor([4.0, 3.0, 3.0]))


squad_scores = exercise(
    "06.squad_scores",
    function="squad_scores",
    points=4,
    see=f"{BOOK}/answers",
    withhold=OURS | LIBRARIES,
)


def plain(text: str) -> list[str]:
    """The words of a text, letter by letter."""
    kept = "".join(" " if one.isspace() else one.lower() if one.isalnum() else "" for one in text)
    return [word for word in kept.split(" ") if word not in ("", "a", "an", "the")]


def scored(answer: str, truths: list[str]) -> tuple[float, float]:
    """The right numbers, words crossed out one by one."""
    found = []
    for truth in truths or [""]:
        said, true = plain(answer), plain(truth)
        left = [*true]
        for word in said:
            if word in left:
                left.remove(word)
        number = len(said) + len(true)
        found.append((float(said == true), 2 * (len(true) - len(left)) / number if number else 1.0))
    return max(one for one, _ in found), max(one for _, one in found)


def ask_squad(student, cause: str, answer: str, truths: list[str]) -> None:
    """Compare both numbers."""
    given = (
        f"{answer!r} and {truths!r}"
        if len(answer) + len(repr(truths)) < 120
        else f"{len(truths)} truths"
    )
    came = expect(student.squad_scores(answer, truths), given=given).unpacks(2)
    for value, right, name in zip(came, scored(answer, truths), ("Your exact match", "Your F1")):
        if type(value) is bool:
            note(f"{name} is a bool; a float was asked for. Use float().")
            value = float(value)
        ask_number(value, right, cause, name, given)


@squad_scores.stage("plain", points=1)
def test_texts_are_made_plain(student):
    rule = (
        "Make both texts plain: lower case, then no punctuation and nothing instead, then none"
        " of the words a, an, the, then words between white space."
    )
    for answer, truth in (
        ("Bern", "bern"),
        ("the river", "River"),
        ("A bank", "an bank"),
        ("river bank.", "river bank"),
        ("well-known", "wellknown"),
        ("well-known", "well known"),
        ("theatre", "atre"),
        ("another anthem", "other them"),
        ("A. Miller", "miller"),
        ("t-h-e bank", "bank"),
        ("U.S.", "us"),
        ("a\tbank\n of  it", "bank of it"),
        ('(the) "Bank"', "bank"),
        ("it's", "its"),
        ("snake_case", "snakecase"),
        (" bank ", "bank"),
        ("THE AN A bank", "Bank"),
        ("$5 < 6%", "5 6"),
        ("bank the a river", "bank river"),
        ("thebank", "bank"),
        ("x^y~z`", "xyz"),
        (string.punctuation.replace("'", "' bank "), "bank"),
        ("1,000.50", "100050"),
        ("bank a", "bank"),
        ("an", "a bank"),
        ("5 rivers", "6 rivers"),
        ("in 1876", "in 1877"),
    ):
        ask_squad(student, rule, answer, [truth])
        ask_squad(student, rule, truth, [answer])


@squad_scores.stage("count", points=1)
def test_words_are_shared_as_often_as_both_have_them(student, rng):
    rule = (
        "F1 is twice the shared words over the words of both, repeated ones included: a word is"
        " shared as often as both have it. Exact match asks for the same words in the same order."
    )
    ask_squad(
        student,
        f"{rule} This is the case by hand.",
        "the river bank of Bern",
        ["a bank of the river Aare"],
    )
    for answer, truth in (
        ("bank bank", "bank"),
        ("bank", "bank bank bank"),
        ("bank bank river", "bank river river"),
        ("bank river", "river bank"),
        ("bank", "river"),
        ("big big big big", "big cat"),
        ("one two three", "three"),
        ("bank of bern", "bank"),
        ("vitamin c", "vitamin"),
        ("vitamin e", "vitamin"),
        ("n th bank", "bank"),
        ("then bank", "bank"),
        ("theatre bank", "bank"),
        ("annual bank", "bank"),
    ):
        ask_squad(student, rule, answer, [truth])
        ask_squad(student, rule, truth, [answer])
    words = ["river", "bank", "money", "the", "lends", "sat"]
    for first, second in (
        (3, 3),
        (2, 7),
        (7, 2),
        (whole(rng, 4, 12), whole(rng, 4, 12)),
        (150, 350),
        (350, 40),
    ):
        ask_squad(
            student,
            rule,
            *[
                " ".join(words[one] for one in counts(rng, 0, 5, first).tolist()),
                [" ".join(words[one] for one in counts(rng, 0, 5, second).tolist())],
            ],
        )


@squad_scores.stage("best", points=1)
def test_the_best_of_several_truths_counts(student):
    rule = (
        "Each number is the best over the truths, by itself: neither their mean, nor the first"
        " one's, nor the last one's."
    )
    for answer, truths in (
        ("river bank", ["money", "river bank", "lends"]),
        ("river bank", ["river bank", "money"]),
        ("river bank", ["money", "river bank"]),
        ("river bank", ["bank river", "river bank"]),
        ("river bank", ["river bank", "bank river"]),
        ("the bank of bern", ["bern", "bank bern", "aare"]),
        ("bank", ["bank river", "the bank", "bank bank"]),
        ("bank", ["river", "money"]),
        ("river bank bern", ["river", "river bank", "bank"]),
        ("bank", ["bank"] * 300),
        ("sat", ["lends"] * 299 + ["we sat"]),
    ):
        ask_squad(student, rule, answer, truths)
    first, second = (
        ("river bank", ["bank", "river money", "sat"]),
        ("money lends", ["money", "lends", "river money lends"]),
    )
    for case in [
        *one_changed(first, second),
        *look_alikes(("river bank", ["bank", "river bank", "money", "sat"])),
        *look_alikes(("one bank two", ["bnak", "one bank two", "sat"])),
    ]:
        ask_squad(student, rule, *case)


@squad_scores.stage("nothing-left", points=1)
def test_nothing_may_be_left_of_a_text(student):
    rule = (
        "Where nothing is left of a text, both numbers are 1.0 if nothing is left of the other,"
        " else 0.0. No truths count as one of which nothing is left."
    )
    for answer, truths in (
        ("", ["bank"]),
        ("the", ["bank"]),
        ("bank", [""]),
        ("bank", ["the a", "?!"]),
        ("", [""]),
        ("The!", ["an"]),
        ("", []),
        ("a", []),
        ("...", []),
        ("bank", []),
        ("bank", ["", "bank river"]),
        ("", ["bank", ""]),
        ("the", ["", "bank"]),
        (" ", ["bank", "the"]),
        ("", ["\n"]),
    ):
        ask_squad(student, rule, answer, truths)
