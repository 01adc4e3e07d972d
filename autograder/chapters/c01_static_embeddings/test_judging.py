"""Checks of chapter 1, parts 3 to 5: GloVe's weight, the analogy search, and the question that a
person grades.
"""

import torch

from autograder.chapters.c01_static_embeddings import LONG
from autograder.checks.inputs.draws import counts, normal, uniform, whole
from autograder.checks.protocol import exercise, expect

glove_weight = exercise(
    "01.glove_weight",
    function="glove_weight",
    points=3,
    see="01-static-embeddings/glove#the-objective",
    withhold=["reference_impl.embeddings.glove"],
)


def right_weight(number: torch.Tensor, x_max: float = 100.0, alpha: float = 0.75) -> torch.Tensor:
    """The weight in float64, as float32."""
    return ((number.double() / x_max).clamp(max=1) ** alpha).float()


@glove_weight.stage("power below x_max", points=1)
def test_below_the_maximum_the_weight_grows_with_the_power(student, rng):
    rows = whole(rng, 2, 4)
    rule = "Below x_max a count x should weigh (x / x_max) ** alpha, by default (x / 100) ** 0.75."
    for shape in (
        (rows, rows + 1),
        (rows,),
        (2, 1, 3),
        (1, 1),
        (3, 3),
        (2, 2, 2),
        (1, 2, 1, 3, 2),
        (LONG,),
        (140, 140),
    ):
        number = counts(rng, 1, 90, *shape).float()
        expect(student.glove_weight(number), given=f"counts of shape {shape}").equals(
            right_weight(number), cause=rule
        )
    number = torch.tensor([0.5, 1.5, 2.75, 40.25])
    expect(student.glove_weight(number), given="counts that are no whole numbers").equals(
        right_weight(number),
        cause=(
            f"{rule} Counts may be fractions: cut to whole numbers, or with a floor at 1, they "
            "give other weights."
        ),
    )
    for number in (
        torch.tensor([5.0, 3.0, 8.0, 2.0, 7.0]),
        torch.tensor([5.0, 8.0, 3.0, 2.0, 7.0]),
    ):
        expect(student.glove_weight(number), given=f"counts {number.tolist()}").equals(
            right_weight(number), cause=f"{rule} Each weight stands where its count stands."
        )
    for number in (
        torch.tensor([0.0, 6.25, 25.0]),
        torch.tensor([50.0, 0.0]),
        torch.tensor([9.0, 0.0], dtype=torch.float64),
    ):
        expect(student.glove_weight(number)).equals(
            right_weight(number), cause="A count of 0 should weigh nothing."
        )
    weight = expect(student.glove_weight(torch.zeros(2), 100.0, 0.1), given="alpha 0.1").equals(
        torch.zeros(2),
        cause=(
            "A count of 0 weighs 0 for every alpha: a small number instead of it weighs a "
            "lot when alpha is small."
        ),
    )
    expect(bool((weight == 0).all())).is_true(
        cause="A count of 0 should weigh exactly 0, not a small number."
    )


@glove_weight.stage("limit at one", points=1)
def test_from_the_maximum_on_the_weight_is_one(student, rng):
    for few in (1, 2):
        number = torch.cat(
            [torch.tensor([100.0]), uniform(rng, 101, 5000, 4), uniform(rng, 30, 60, few)]
        )
        weight = expect(student.glove_weight(number)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32
        )
        expect(weight[:5], "The weight of counts of 100 and more").equals(
            torch.ones(5), cause="From x_max on every count should weigh 1, not more and not less."
        )
        expect(bool((weight[5:] < 0.9).all())).is_true(
            cause="Counts below x_max should weigh less than 1."
        )
    expect(
        student.glove_weight(torch.tensor([5_000_000_000, 3_000_000_000, 100])),
        given="counts up to five billion",
    ).equals(
        torch.ones(3),
        cause="From x_max on every count should weigh 1. These need more than 32 bits.",
    )


@glove_weight.stage("x_max and alpha", points=1)
def test_the_maximum_and_the_power_can_be_chosen_and_counts_may_be_integers(student, rng):
    for dtype, size in ((torch.float32, 4), (torch.int64, 6), (torch.int32, 5), (torch.float64, 3)):
        number = counts(rng, 1, 9, size).to(dtype)
        x_max, alpha = float(whole(rng, 12, 30)), float(uniform(rng, 0.3, 0.6))
        expect(
            student.glove_weight(number, x_max, alpha),
            given=f"x_max {x_max:g}, alpha {alpha:.3g}, {dtype}",
        ).equals(
            right_weight(number, x_max, alpha),
            cause=(
                (
                    "The formula uses the arguments x_max and alpha, in that order; 100 and 0.75 "
                    "are only their defaults."
                )
                if dtype == torch.float32
                else "Counts of another dtype should give the same float32 weights."
            ),
        )
    expect(
        student.glove_weight(torch.tensor([2500.0, 40.0], dtype=torch.float64)),
        given="float64 counts",
    ).equals(
        right_weight(torch.tensor([2500.0, 40.0])),
        cause="Counts of another dtype should give the same float32 weights.",
    )
    expect(
        student.glove_weight(torch.tensor([0.3, 0.1, 0.6]), 0.5, 0.75), given="x_max 0.5"
    ).equals(
        right_weight(torch.tensor([0.3, 0.1, 0.6]), 0.5, 0.75),
        cause="x_max may be below 1, and so may the counts.",
    )
    number = torch.tensor([3.0, 9.0])
    for x_max, alpha in ((20.0, 0.5), (20.0, 0.25), (10.0, 0.25)):
        expect(
            student.glove_weight(number, x_max, alpha),
            given=f"the same counts with x_max {x_max:g} and alpha {alpha:g}",
        ).equals(
            right_weight(number, x_max, alpha),
            cause=(
                "The same counts with other arguments have other weights: nothing is kept from "
                "an earlier call."
            ),
        )
    number = counts(rng, 1, 90, 4)
    expect(student.glove_weight(number), given="no x_max and alpha, after calls with them").equals(
        right_weight(number),
        cause=(
            "Without the arguments x_max is 100 and alpha 0.75 again, whatever earlier "
            "calls were given."
        ),
    )
    number = counts(rng, 1, 19, 5).float()
    for alpha in (1.5, 1.25):
        expect(
            student.glove_weight(number, 20.0, alpha), given=f"x_max 20, alpha {alpha:g}"
        ).equals(
            right_weight(number, 20.0, alpha),
            cause=(
                "Below x_max a count x should weigh (x / x_max) ** alpha with the alpha that is "
                f"given, also where alpha is above 1, as {alpha:g} here."
            ),
        )
    number, x_max, alpha = counts(rng, 1, 40, 7), 20.0, 1.5
    expect(student.glove_weight(number, x_max, alpha), given="x_max 20, alpha 1.5").equals(
        right_weight(number, x_max, alpha),
        cause="The limit of 1 should begin at the argument x_max, whatever alpha is.",
    )
    for number in (
        torch.tensor([0.25, 1.0, 2.25, 2.5, 3.0]),
        torch.tensor([1, 2, 3]),
        torch.tensor([3, 2, 1], dtype=torch.int32),
    ):
        expect(
            student.glove_weight(number, 2.5, 0.5),
            given=f"x_max 2.5, alpha 0.5, counts of dtype {number.dtype}",
        ).equals(
            right_weight(number, 2.5, 0.5),
            cause="x_max may be a fraction, such as 2.5, and should be used as it is.",
        )
    for number, x_max, alpha in (
        (torch.tensor([9_000, 9_999, 7_000]), 10_000.0, 2.0),
        (torch.tensor([3, 90, 101]).int(), 100.0, 1.0),
        (torch.tensor([0.001, 0.05, 0.1, 3.0]), 0.1, 0.1),
        (torch.tensor([5_000_000_000, 2, 1]), 2.5, 2.0),
        (torch.tensor([2e4, 1e4, 5e3]), 1e4, 2.0),
    ):
        expect(
            student.glove_weight(number, x_max, alpha),
            given=f"counts {number.tolist()}, x_max {x_max:g}, alpha {alpha:g}",
        ).equals(
            right_weight(number, x_max, alpha),
            cause="x_max and alpha may be small or large, and are used as they are.",
        )


analogy = exercise(
    "01.analogy",
    function="analogy",
    points=5,
    see="01-static-embeddings/analogies#the-rules-3cosadd-and-3cosmul",
    withhold=["reference_impl.embeddings.evaluation"],
)


def unit(rows: torch.Tensor) -> torch.Tensor:
    """Rows of length 1."""
    return rows / rows.norm(dim=1, keepdim=True)


def planted(rng: torch.Generator, dim: int = 12) -> tuple[torch.Tensor, tuple[int, int, int], int]:
    """A matrix of unit rows, a question, and its one right answer, in random order.

    The answer is b - a + c itself; there are also the rows that win when a sign is wrong or a word
    is left out. a, b and c are nearly at right angles, so that none of them can win.
    """
    basis = torch.linalg.qr(normal(rng, dim, dim))[0]
    a, b, c = basis[:3] + 0.05 * basis[3:6]
    rows = unit(
        torch.stack([a, b, c, b - a + c, a - b + c, a + b - c, b + c, b - a, c - a, *basis[6:]])
    )
    return shuffled(rng, rows)


def shuffled(
    rng: torch.Generator, rows: torch.Tensor
) -> tuple[torch.Tensor, tuple[int, int, int], int]:
    """Rows in random order: the matrix, where rows 0, 1 and 2 went (the question), and where row 3
    went (the answer).
    """
    order = torch.randperm(len(rows), generator=rng)
    place = order.argsort().tolist()
    return rows[order].contiguous(), (place[0], place[1], place[2]), place[3]


def rolled(matrix: torch.Tensor, question: tuple, answer: int) -> tuple[torch.Tensor, tuple, int]:
    """The same moved on by one row, so that a fixed number is no answer."""
    moved = [(row + 1) % len(matrix) for row in (*question, answer)]
    return matrix.roll(1, dims=0), tuple(moved[:3]), moved[3]


def swapped(matrix: torch.Tensor, question: tuple, answer: int) -> tuple[torch.Tensor, tuple, int]:
    """The same question with the answer in the place of another word, and that word in the
    answer's.
    """
    other = next((row for row in range(len(matrix)) if row not in (*question, answer)), answer)
    rows = torch.arange(len(matrix))
    rows[[answer, other]] = rows[[other, answer]]
    return matrix[rows], question, other


SWAPPED = "Each call uses its own matrix: nothing is kept from an earlier call."
MOVED = "With all rows moved by one, the answer should move by one as well."


def ask_analogy(student, asked: tuple, cause: str, given: str = "", letters: bool = False) -> None:
    """Put a question three times: as it is, with all rows moved on by one, and with the answer in
    another place.

    letters: say which word of the question was answered.
    """
    for (matrix, question, answer), moved in (
        (asked, ""),
        (rolled(*asked), f" {MOVED}"),
        (swapped(*asked), f" {SWAPPED}"),
    ):
        came = expect(student.analogy(matrix, *question), given=given).is_a(int)
        word = next((letter for letter, row in zip("abc", question) if letters and came == row), "")
        told = (
            f"Your answer is `{word}`, a word of the question. All three are left out, whatever the"
            " scores. "
            if word
            else ""
        )
        expect(came, given=given).equals(answer, cause=f"{told}{cause}{moved}")


def best_of(rows: torch.Tensor, question: tuple[int, int, int]) -> int:
    """The answer for rows of length 1, in float64."""
    scores = rows.double() @ (rows[question[1]] - rows[question[0]] + rows[question[2]]).double()
    scores[[*question]] = -torch.inf
    return int(scores.argmax())


@analogy.stage("vector difference", points=2)
def test_the_step_from_a_to_b_is_taken_from_c(student, rng):
    rule = (
        "The answer is the row with the largest dot product with b - a + c, all rows "
        "having length 1."
    )
    for dim in (12, whole(rng, 8, 11)):
        ask_analogy(student, planted(rng, dim), f"{rule} All rows have length 1 here.")
    matrix, question, answer = planted(rng, 12)
    before = LONG - len(matrix) - 1
    rows = torch.cat(
        [matrix[question[0]].repeat(before, 1), matrix, matrix[question[0]][None]]
    )  # the words before and behind are a
    places, order = [row + before for row in question], torch.arange(LONG)
    order[[5, answer + before]] = order[[answer + before, 5]]
    for many, best in ((rows, answer + before), (rows[order], 5)):
        expect(student.analogy(many, *places), given=f"{LONG} words").equals(best, cause=rule)
    for more in (LONG - 12, len(matrix) - 12):
        wide = torch.cat([torch.zeros(len(matrix), more), matrix], 1)
        expect(
            student.analogy(wide, *question),
            given=f"{len(matrix)} words, vectors of {more + 12} dimensions",
        ).equals(answer, cause=rule)


@analogy.stage("excluded question words", points=1)
def test_the_words_of_the_question_are_never_the_answer(student, rng):
    for angles in (
        (0.0, 40.0, 15.0),
        (0.0, 15.0, 40.0),
        (0.0, -20.0, 20.0),
    ):  # the best score has b, c, a
        turn = torch.deg2rad(
            torch.tensor([*angles, 90.0, 100.0, 180.0]) + float(uniform(rng, 0, 360))
        )
        ask_analogy(
            student,
            shuffled(rng, torch.stack([turn.cos(), turn.sin()], 1)),
            (
                "The best other word is the answer, by its dot product with b - a + c: no "
                "absolute values, no products of cosines."
            ),
            letters=True,
        )
    alone = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.6, 0.8]])
    expect(
        student.analogy(alone, 0, 1, 2),
        given="three rows of zeros in the question, and one other word",
    ).equals(
        3,
        cause=(
            "Where b - a + c is zero, every score is 0 and the other word wins: do not "
            "divide by the target's length, and exclude all question words."
        ),
    )
    smallest = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.96, 0.28], [-1.0, 0.0]])
    ask_analogy(
        student,
        shuffled(rng, smallest),
        (
            "The only remaining word wins even with a negative score: exclude the question "
            "words with minus infinity, not with 0."
        ),
        "a vocabulary of 4 words",
    )
    for a, b, c, best, other in (
        ((0.0, 1.0), (0.6, 0.8), (0.8, 0.6), (0.6, -0.8), (-1.0, 0.0)),
        ((0.0, 1.0), (0.6, 0.8), (0.8, 0.6), (-0.6, 0.8), (-1.0, 0.0)),
        ((-0.96, 0.28), (0.96, 0.28), (0.96, -0.28), (-0.8, -0.6), (-1.0, 0.0)),
    ):
        ask_analogy(
            student,
            shuffled(rng, torch.tensor([a, b, c, best, other])),
            (
                "The largest score wins, even if it is negative, down to -3: exclude the "
                "question words with minus infinity, not with 0 or -1."
            ),
            "other words with negative scores",
        )
    twin = torch.tensor(
        [[1.0, 0.0], [0.8, 0.6], [0.96, 0.28], [0.8, 0.6], [0.28, 0.96], [0.0, 1.0]]
    )
    ask_analogy(
        student,
        shuffled(rng, twin),
        (
            "Only the row numbers a, b and c are excluded: another row with the same vector"
            " as one of them may be the answer."
        ),
        "another word with the vector of b",
    )
    ask_analogy(
        student,
        shuffled(rng, torch.tensor([[1.0], [2.0], [3.0], [5.0], [-1.0]])),
        "Vectors may have one number only; then each row has the cosine 1 or -1.",
        "vectors of one number",
    )
    questions = (0, 1, 2), (3, 1, 2), (0, 3, 2), (0, 1, 3)
    answers: list[int] = []
    while len(set(answers)) < len(questions):
        rows = unit(normal(rng, 30, 12))
        answers = [best_of(rows, question) for question in questions]
    for question, answer in zip(questions, answers):
        expect(student.analogy(rows, *question), given=f"30 words, the question {question}").equals(
            answer,
            cause=(
                "Another question of the same matrix has another answer; the words of the question"
                " are left out."
            ),
        )


def scaled(
    rng: torch.Generator, lengths: dict[str, float]
) -> tuple[torch.Tensor, tuple[int, int, int], int]:
    """A planted question in which rows have other lengths: of "a", "b", "c", the "answer", the
    "near" rows, the "rest".
    """
    matrix, question, answer = planted(rng, 12)
    scores = matrix @ (matrix[question[1]] - matrix[question[0]] + matrix[question[2]])
    scores[[*question, answer]] = -1
    scale = torch.full((len(matrix), 1), lengths.get("rest", 1.0))
    scale[scores > 0.5] = lengths.get("near", 1.0)
    for name, row in zip(("a", "b", "c", "answer"), (*question, answer)):
        scale[row] = lengths.get(name, 1.0)
    return matrix * scale, question, answer


@analogy.stage("unit length", points=1)
def test_the_length_of_a_vector_plays_no_part(student, rng):
    for lengths, given, cause in (
        (
            {"near": 50.0, "rest": 3.0},
            "long rows among the other words",
            (
                "Long rows among the other words should not win: every row (not every column) gets"
                " length 1 before the scores."
            ),
        ),
        (
            {"a": 30.0, "b": 3.0, "c": 1.5},
            "a long row a in the question",
            (
                "The rows of the question should get length 1 before they are added, or the longest"
                " of them decides."
            ),
        ),
        (
            {"near": 0.5, "answer": 0.02, "rest": 0.1},
            "rows shorter than 1",
            (
                "Normalize short rows to length 1 as well: a lower bound of 1, or a number "
                "added to each length, leaves them short."
            ),
        ),
        (
            {"a": 30e-4, "b": 1e-4, "c": 2e-4, "near": 50e-4, "answer": 1e-5, "rest": 1e-4},
            "rows of a length down to 1e-5",
            (
                "Normalize tiny rows to length 1 as well: an epsilon added to a length, or a "
                "lower bound, must be far smaller."
            ),
        ),
    ):
        ask_analogy(student, scaled(rng, lengths), cause, given)
    basis = torch.linalg.qr(normal(rng, 14, 14))[0]
    target = unit((basis[1] - basis[0] + basis[2])[None])[0]
    others, best = (
        unit(0.7 * target + 0.7 * basis[3:11]),
        unit(0.705 * target[None] + 0.7 * basis[11:12]),
    )
    ask_analogy(
        student,
        shuffled(rng, torch.cat([basis[:3], 1e-5 * best, others])),
        (
            "A row of length 0.00001 has to be normalized to length 1 as well: your epsilon"
            " is too large for it."
        ),
        "a best row of length 0.00001 whose score is 0.3 % above the others'",
    )
    for aside in (0.62, 0.7, 0.83, 0.95):
        basis = torch.linalg.qr(normal(rng, 14, 14))[0]
        target = unit((basis[1] - basis[0] + basis[2])[None])[0]
        others, best = (
            unit(0.7 * target + aside * basis[3:11]),
            unit(0.70002 * target[None] + aside * basis[11:12]),
        )
        ask_analogy(
            student,
            shuffled(rng, torch.cat([basis[:3], best, others])),
            (
                "Scores that differ in the fifth digit are different: rounding, half precision "
                "or another norm than the Euclidean changes the order."
            ),
            "words whose scores differ in the fifth digit",
        )


@analogy.stage("zero rows", points=0.5)
def test_a_row_of_zeros_has_the_score_zero_and_gives_no_nan(student, rng):
    matrix, question, answer = planted(rng)
    asked = (
        torch.cat([torch.zeros(1, matrix.shape[1]), matrix]),
        tuple(row + 1 for row in question),
        answer + 1,
    )
    ask_analogy(
        student,
        asked,
        ("A zero row gives 0 / 0, NaN, which wins every argmax: the cosine of a zero row is 0."),
        "a row of zeros among the other words",
    )
    basis = torch.linalg.qr(normal(rng, 9, 9))[0]
    for left_out in (0, 2):
        rows = torch.stack(
            [
                *basis[:3],
                unit(
                    (
                        basis[1]
                        + basis[2]
                        - basis[0]
                        + (1 if left_out == 0 else -1) * basis[left_out]
                    )[None]
                )[0],
                *basis[3:],
            ]
        )
        rows[left_out] = 0.0  # a or c is a word without a vector: it adds nothing to the target
        ask_analogy(
            student,
            shuffled(rng, rows),
            "A row of zeros in the question should add nothing to the target, and must "
            "not give NaN.",
            "a row of zeros among the words of the question",
        )
    best = torch.tensor([[0.0, 1.0], [0.6, 0.8], [0.8, 0.6], [0.0, 0.0], [-0.6, -0.8], [-1.0, 0.0]])
    # In the first order the words of the question come before the answer: a tie with them is always
    # lost.
    for asked in ((best, (0, 1, 2), 3), shuffled(rng, best)):
        ask_analogy(
            student,
            asked,
            (
                "Where all other scores are negative, a zero row with score 0 is the answer: it"
                " is a word like any other."
            ),
            "a row of zeros that has the best score",
        )
    near = torch.tensor(
        [[0.6, 0.8], [-0.6, 0.8], [1.0, 0.0], [-0.8, -0.6], [0.0, 0.0], [-0.28, 0.96]]
    )
    ask_analogy(
        student,
        shuffled(rng, near),
        (
            "You rank by distance to b - a + c instead of by dot product: a zero row can be"
            " closest and still have a smaller score."
        ),
        "a row of zeros that is nearest to the target",
    )


@analogy.stage("equal scores", points=0.5)
def test_equal_scores_give_the_smaller_number(student, rng):
    a, b, c, other = torch.tensor([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    best = torch.tensor(
        [1.0, -1, -1, -1]
    )  # all lengths are 2: every score here is exact in float32
    for rows in ([a, b, c, best, best, best, other, -b, -c], [a, b, c, best, best, -b, other, -c]):
        equals = sum(row is best for row in rows)
        order = torch.randperm(len(rows), generator=rng)
        for by in (0, 1):
            place = ((order.argsort() + by) % len(rows)).tolist()
            matrix = torch.stack(rows)[order].roll(by, dims=0).contiguous()
            expect(student.analogy(matrix, *place[:3])).equals(
                min(place[3 : 3 + equals]),
                cause=(
                    "Several words have the same best score: the one with the smallest number "
                    "should be the answer."
                ),
            )


bank = exercise("01.bank", points=5, kind="manual", see="01-static-embeddings/polysemy")
