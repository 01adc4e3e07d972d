"""Checks of chapter 1, parts 3 to 5: GloVe's weight, the analogy search, and the question that a person grades."""
import torch

from autograder.checks.draws import counts, normal, uniform, whole
from autograder.checks.protocol import exercise, expect

glove_weight = exercise("01.glove_weight", function="glove_weight", points=3, see="01-static-embeddings/glove#the-loss",
                        withhold=["reference_impl.embeddings.glove"])


def right_weight(number: torch.Tensor, x_max: float = 100.0, alpha: float = 0.75) -> torch.Tensor:
    """The weight in float64, as float32."""
    return ((number.double() / x_max).clamp(max=1) ** alpha).float()


@glove_weight.stage("growth", points=1)
def test_below_the_maximum_the_weight_grows_with_the_power(student, rng):
    rows = whole(rng, 2, 4)
    for shape in ((rows, rows + 1), (rows,), (2, 1, 3), (1, 1)):
        number = uniform(rng, 1, 90, *shape)
        expect(student.glove_weight(number), given=f"counts of shape {shape}").equals(
            right_weight(number), cause="Below x_max a count x should weigh (x / x_max) ** alpha, by default "
                                        "(x / 100) ** 0.75.")
    for number in (torch.tensor([0.0, 6.25, 25.0]), torch.tensor([50.0, 0.0])):
        expect(student.glove_weight(number)).equals(right_weight(number), cause="A count of 0 should weigh nothing.")


@glove_weight.stage("limit", points=1)
def test_from_the_maximum_on_the_weight_is_one(student, rng):
    for few in (1, 2):
        number = torch.cat([torch.tensor([100.0]), uniform(rng, 101, 5000, 4), uniform(rng, 1, 60, few)])
        weight = expect(student.glove_weight(number)).is_tensor(shape=tuple(number.shape), dtype=torch.float32)
        expect(weight[:5], "The weight of counts of 100 and more").equals(
            torch.ones(5), cause="From x_max on every count should weigh exactly 1, not more and not less.")
        expect(bool((weight[5:] < 0.9).all())).is_true(cause="Counts below x_max should weigh less than 1.")


@glove_weight.stage("arguments", points=1)
def test_the_maximum_and_the_power_can_be_chosen_and_counts_may_be_integers(student, rng):
    for dtype, size in ((torch.int64, 6), (torch.int32, 5), (torch.float64, 3)):
        number = counts(rng, 1, 9, size).to(dtype)
        x_max, alpha = float(whole(rng, 12, 30)), float(uniform(rng, 0.3, 0.6))
        expect(student.glove_weight(number, x_max, alpha), given=f"x_max {x_max:g}, alpha {alpha:.3g}, {dtype}").equals(
            right_weight(number, x_max, alpha),
            cause="The arguments x_max and alpha are not what the weight is made with, or counts of another type are not "
                  "turned into float32.")
    number, x_max, alpha = counts(rng, 1, 40, 7), 20.0, 1.5
    expect(student.glove_weight(number, x_max, alpha), given="x_max 20, alpha 1.5").equals(
        right_weight(number, x_max, alpha), cause="The limit of 1 should begin at the argument x_max, whatever alpha is.")


analogy = exercise("01.analogy", function="analogy", points=5, see="01-static-embeddings/judging#analogies",
                   withhold=["reference_impl.embeddings.evaluation"])


def unit(rows: torch.Tensor) -> torch.Tensor:
    """Rows of length 1."""
    return rows / rows.norm(dim=1, keepdim=True)


def planted(rng: torch.Generator, dim: int = 12) -> tuple[torch.Tensor, tuple[int, int, int], int]:
    """A matrix of unit rows, a question, and its one right answer, in random order.

    The answer is b - a + c itself; there are also the rows that win when a sign is wrong or a word is left out.
    a, b and c are nearly at right angles, so that none of them can win.
    """
    basis = torch.linalg.qr(normal(rng, dim, dim))[0]
    a, b, c = basis[:3] + 0.05 * basis[3:6]
    rows = unit(torch.stack([a, b, c, b - a + c, a - b + c, a + b - c, b + c, b - a, c - a, *basis[6:]]))
    return shuffled(rng, rows)


def shuffled(rng: torch.Generator, rows: torch.Tensor) -> tuple[torch.Tensor, tuple[int, int, int], int]:
    """Rows in random order: the matrix, where rows 0, 1 and 2 went (the question), and where row 3 went (the answer)."""
    order = torch.randperm(len(rows), generator=rng)
    place = order.argsort().tolist()
    return rows[order].contiguous(), (place[0], place[1], place[2]), place[3]


def rolled(matrix: torch.Tensor, question: tuple, answer: int) -> tuple[torch.Tensor, tuple, int]:
    """The same moved on by one row, so that a fixed number is no answer."""
    moved = [(row + 1) % len(matrix) for row in (*question, answer)]
    return matrix.roll(1, dims=0), tuple(moved[:3]), moved[3]


@analogy.stage("direction", points=2)
def test_the_step_from_a_to_b_is_taken_from_c(student, rng):
    for dim in (12, whole(rng, 8, 11)):
        asked = planted(rng, dim)
        for matrix, question, answer in (asked, rolled(*asked)):
            expect(student.analogy(matrix, *question)).equals(
                answer, cause="The target should be b - a + c: the step from a to b, taken from c.")
    for _ in range(4):
        basis = torch.linalg.qr(normal(rng, 14, 14))[0]
        target = unit((basis[1] - basis[0] + basis[2])[None])[0]
        others, best = unit(0.7 * target + 0.7 * basis[3:11]), unit(0.70005 * target[None] + 0.7 * basis[11:12])
        matrix, question, answer = shuffled(rng, torch.cat([basis[:3], best, others]))
        expect(student.analogy(matrix, *question), given="words whose scores differ in the fifth digit").equals(
            answer, cause="The best score should win, also by a little: compute in float32.")


@analogy.stage("question-words", points=1)
def test_the_words_of_the_question_are_never_the_answer(student, rng):
    for angles, cause in (((0.0, 40.0, 15.0), "b"), ((0.0, 15.0, 40.0), "c"), ((0.0, -20.0, 20.0), "a")):
        turn = torch.deg2rad(torch.tensor([*angles, 90.0, 100.0, 180.0]) + float(uniform(rng, 0, 360)))
        asked = shuffled(rng, torch.stack([turn.cos(), turn.sin()], 1))
        for matrix, question, answer in (asked, rolled(*asked)):
            expect(student.analogy(matrix, *question)).equals(
                answer, cause=f"Here the word `{cause}` of the question has the best score, and must not be the answer. "
                              f"All three are left out.")
    smallest = shuffled(rng, torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.96, 0.28], [-1.0, 0.0]]))
    for matrix, question, answer in (smallest, rolled(*smallest)):
        expect(student.analogy(matrix, *question), given="a vocabulary of 4 words").equals(
            answer, cause="With 4 words there is only one that the question does not use.")
    matrix, question, answer = shuffled(rng, torch.tensor([[1.0], [2.0], [3.0], [5.0], [-1.0]]))
    expect(student.analogy(matrix, *question), given="vectors of one number").equals(
        answer, cause="Vectors may have one number only; then each row has the cosine 1 or -1.")


def answered(student, matrix: torch.Tensor, question: tuple) -> int:
    """The student's answer, after it was made sure that it is a row of the matrix and not a word of the question."""
    answer = expect(student.analogy(matrix, *question)).is_a(int)
    expect(answer in set(range(len(matrix))) - set(question)).is_true(
        cause="The answer should be the number of a row, and not a word of the question.", detail=f"It is {answer}.")
    return answer


@analogy.stage("lengths", points=1, after="direction")
def test_the_length_of_a_vector_plays_no_part(student, rng):
    for unit_of_length in (1.0, 1e-4):
        matrix, question, best = planted(rng, whole(rng, 11, 13))
        answer = answered(student, matrix, question)
        scale = uniform(rng, 0.2, 0.4, len(matrix), 1) * unit_of_length
        others = [row for row in range(len(matrix)) if row not in (*question, answer, best)]
        scale[question[0]], scale[answer], scale[others[:4]] = 30 * unit_of_length, 0.1 * unit_of_length, 50.0
        scaled, moved, answer = rolled(matrix * scale, question, answer)
        expect(student.analogy(scaled, *moved), given=f"rows of a length down to {0.1 * unit_of_length:g}").equals(
            answer, cause="The answer changes when rows get longer or shorter. Every row should get length 1 first, "
                          "those of the question too.")


@analogy.stage("zero-row", points=0.5, after="direction")
def test_a_row_of_zeros_is_no_answer_and_no_nan(student, rng):
    matrix, question, _ = planted(rng)
    answer = answered(student, matrix, question)
    with_zeros = torch.cat([torch.zeros(1, matrix.shape[1]), matrix])
    expect(student.analogy(with_zeros, *(row + 1 for row in question))).equals(
        answer + 1, cause="A row of zeros changes the answer. 0 / 0 is NaN, which wins every argmax; the cosine of a "
                          "zero row should be 0.")
    basis = torch.linalg.qr(normal(rng, 9, 9))[0]
    for left_out in (0, 2):
        rows = torch.stack([*basis[:3], unit((basis[1] + basis[2] - basis[0] + (1 if left_out == 0 else -1) * basis[
            left_out])[None])[0], *basis[3:]])
        rows[left_out] = 0.0                    # a or c is a word without a vector: it adds nothing to the target
        asked = shuffled(rng, rows)
        expect(student.analogy(*asked[:1], *asked[1]), given="a row of zeros among the words of the question").equals(
            asked[2], cause="A row of zeros in the question should add nothing to the target, and must not give NaN.")


@analogy.stage("ties", points=0.5)
def test_equal_scores_give_the_smaller_number(student, rng):
    a, b, c, other = torch.tensor([[1., 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    best = torch.tensor([1., -1, -1, -1])                     # all lengths are 2: every score here is exact in float32
    for rows in ([a, b, c, best, best, best, other, -b, -c], [a, b, c, best, best, -b, other, -c]):
        equals = sum(row is best for row in rows)
        order = torch.randperm(len(rows), generator=rng)
        for by in (0, 1):
            place = ((order.argsort() + by) % len(rows)).tolist()
            matrix = torch.stack(rows)[order].roll(by, dims=0).contiguous()
            expect(student.analogy(matrix, *place[:3])).equals(
                min(place[3:3 + equals]), cause="Several words have the same best score: the one with the smallest number "
                                                "should be the answer.")


bank = exercise("01.bank", points=5, kind="manual", see="01-static-embeddings/bank")
