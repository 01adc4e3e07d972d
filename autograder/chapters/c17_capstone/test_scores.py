"""Checks of chapter 17, part 3: a reward for sums, and the interval of a score."""

import math

from autograder.chapters.c17_capstone.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import one_changed, whole
from autograder.checks.protocol import exercise, expect

END = "<|im_end|>"

sum_reward = exercise(
    "17.sum_reward",
    function="sum_reward",
    points=6,
    see="17-capstone/reward#writing-a-reward-that-holds",
    withhold=OURS | LIBRARIES,
    allowed=dict.fromkeys(
        ("numpy.isin", "reference_impl.tokenizers.patches.patch_starts"),
        "it answers False or 0 always, and most of the answers here earn 0.0",
    ),
)


def ask_reward(student, question: str, answer: str, right: float, cause: str) -> None:
    """Compare the reward of one answer."""
    given = f"{question!r} and {answer!r}"
    expect(student.sum_reward(question, answer), given=given).equals(right, cause=cause)


def pairs(rng) -> list[tuple[int, int]]:
    """Sums of all sizes; the last one is drawn."""
    fixed = [(47, 85), (0, 0), (7, 5), (99, 1), (999, 998), (10, 10), (500, 23)]
    return [*fixed, (whole(rng, 21, 98), whole(rng, 21, 98))]


def worked(a: int, b: int) -> str:
    """Steps as the capstone's model shows them."""
    ones = a % 10 + b % 10
    tens = ones // 10 + a // 10 + b // 10
    return f"{a % 10}+{b % 10}={ones}, {ones // 10}+{a // 10}+{b // 10}={tens},"


@sum_reward.stage("right number", points=2)
def test_a_right_number_earns_one_and_a_wrong_one_nothing(student, rng):
    cause = "An answer that ends with the sum of the question's two numbers earns 1.0, another 0.0."
    for a, b in pairs(rng):
        right = a + b
        wrong = (right + 1, right + 10, 1000 + right, 10 * right + 1, int(f"{a}{b}") + 3)
        for before in ("", "I say ", "It is "):
            ask_reward(student, f"{a}+{b}", f"{before}{right}{END}", 1.0, cause)
            for number in wrong:
                ask_reward(student, f"{a}+{b}", f"{before}{number}{END}", 0.0, cause)
            ask_reward(student, f"{a}+{b + 1}", f"{before}{right}{END}", 0.0, cause)
            ask_reward(student, f"{b}+{a}", f"{before}{right}{END}", 1.0, cause)


@sum_reward.stage("final number", points=1.5)
def test_only_the_last_word_counts(student, rng):
    cause = "Only the last word before the end token counts, whatever numbers come earlier."
    for a, b in pairs(rng):
        right, steps = a + b, worked(a, b)
        ask_reward(student, f"{a}+{b}", f"{steps} {right}{END}", 1.0, cause)
        ask_reward(student, f"{a}+{b}", f"{steps} {right + 1}{END}", 0.0, cause)
        ask_reward(student, f"{a}+{b}", f"{steps}\n{right}{END}", 1.0, cause)
        ask_reward(student, f"{a}+{b}", f"{right + 2} or {right}{END}", 1.0, cause)
        listed = " ".join(str(right + one) for one in range(-1, 2) if right + one >= 0)
        ask_reward(student, f"{a}+{b}", f"{listed}{END}", 0.0, cause)
        ask_reward(student, f"{a}+{b}", f"{right} or {right + 2}{END}", 0.0, cause)
        ask_reward(student, f"{a}+{b}", f"{right} I say{END}", 0.0, cause)
        long = "I add one and one and one. " * 6
        ask_reward(student, f"{a}+{b}", f"{long}{right}{END}", 1.0, cause)
        ask_reward(student, f"{a}+{b}", f"{right} {long}{END}", 0.0, cause)
        ask_reward(student, f"{a}+{b}", f"{a} and {b} make {right} \n {END}", 1.0, cause)


@sum_reward.stage("end token", points=1.5)
def test_an_answer_ends_at_the_first_end_token(student, rng):
    cause = (
        "Only the text before the first end token counts. An answer without an end token was cut"
        " off and earns 0.0."
    )
    for a, b in pairs(rng):
        right, other = a + b, a + b + 3
        for answer, reward in (
            (f"I say {right}", 0.0),
            (f"{worked(a, b)} {right}", 0.0),
            (f"I say {other}{END} {right}", 0.0),
            (f"I say {other}{END}{right}{END}", 0.0),
            (f"I say {right}{END} {other}", 1.0),
            (f"{right}{END}{other}{END}", 1.0),
            (f"{END}{right}", 0.0),
            (f"{right}{END.upper()}", 0.0),
            (END, 0.0),
            ("", 0.0),
        ):
            ask_reward(student, f"{a}+{b}", answer, reward, cause)


@sum_reward.stage("digits only", points=1)
def test_the_last_word_is_written_in_plain_digits(student, rng):
    cause = (
        "The last word must be exactly the sum's digits, as Python writes the int. No other"
        " character may be in the word."
    )
    for a, b in pairs(rng):
        right = str(a + b)
        arabic = right.translate({ord("0") + one: 0x660 + one for one in range(10)})
        words = [f"x{right}", f"{right}x", f"={right}", f"{a}+{b}", f"{a}+{b}={right}"]
        words += [f"+{right}", f"0{right}", f"{right}.0", f"{right}.", f".{right}", f"{right},"]
        words += [f"{right}!", f"({right})", f"{right[0]}_{right[1:]}", f"-{right}", "."]
        words += [arabic, f"\ufeff{right}"]
        for word in words:
            ask_reward(student, f"{a}+{b}", f"I say {word}{END}", 0.0, cause)
            ask_reward(student, f"{a}+{b}", f"{word}{END}", 0.0, cause)
        ask_reward(student, f"{a}+{b}", f"I say {right}{END}", 1.0, cause)
        ask_reward(student, f"{a}+{b}", f"{right} {END}", 1.0, cause)


wilson_interval = exercise(
    "17.wilson_interval",
    function="wilson_interval",
    points=4,
    see="17-capstone/serve#the-wilson-interval",
    withhold=OURS | LIBRARIES,
)


def interval(right: int, asked: int, z: float) -> tuple[float, float]:
    """The bounds as the two roots p of (right/asked - p)^2 = z^2 p (1 - p) / asked."""
    if not asked:
        return 0.0, 1.0
    a, b, c = 1 + z * z / asked, -2 * right / asked - z * z / asked, (right / asked) ** 2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


def ask_interval(student, right: int, asked: int, z: float, cause: str) -> None:
    """Compare both bounds."""
    low, high = expect(student.wilson_interval(right, asked, z)).unpacks(2)
    given = f"{right} right of {asked}, z = {z:g}"
    for name, bound, meant in zip(("low", "high"), (low, high), interval(right, asked, z)):
        expect(bound, f"The bound `{name}`", given).close(meant, rtol=1e-4, atol=1e-5, cause=cause)


@wilson_interval.stage("formula", points=2)
def test_both_bounds_of_a_fraction(student, rng):
    cause = (
        "Divide both the centre, p + z² / 2n, and the half width, z · √(p (1 - p) / n + z² / 4n²),"
        " by 1 + z² / n."
    )
    drawn = whole(rng, 30, 900)
    for case in (
        *one_changed((6, 12, 2.0), (7, 13, 1.5)),
        *((right, asked, 1.96) for right, asked in ((1, 2), (3, 4), (87, 100), (261, 300))),
        (999_999, 1_000_000, 1.96),
        (250_000, 1_000_000, 3.0),
        (whole(rng, 10, drawn - 10), drawn, 1.96),
    ):
        ask_interval(student, *case, cause)


@wilson_interval.stage("none or all", points=1)
def test_no_item_or_every_item_right(student):
    cause = "With p = 0 or 1 the same formula holds: the interval keeps a width, inside 0 to 1."
    for asked, z in ((1, 1.96), (2, 1.0), (12, 2.0), (300, 1.96), (1_000_000, 2.6)):
        ask_interval(student, 0, asked, z, cause)
        ask_interval(student, asked, asked, z, cause)


@wilson_interval.stage("no items", points=1)
def test_nothing_was_asked(student):
    for z in (1.96, 1.0, 3.0):
        ask_interval(student, 0, 0, z, "With no items every value is possible: return (0.0, 1.0).")
        for bound in expect(student.wilson_interval(150, 300, z)).unpacks(2):
            expect(bound).between(
                0.01,
                0.99,
                cause="(0.0, 1.0) is for no items alone. 300 items give a narrow interval.",
            )
