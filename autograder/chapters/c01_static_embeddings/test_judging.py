"""Checks of chapter 1, parts 3 to 5: GloVe's weight, the analogy search, and the question that a person grades."""
import torch

from autograder.checks.draws import counts, normal, uniform, whole
from autograder.checks.protocol import exercise, expect

glove_weight = exercise("01.glove_weight", function="glove_weight", points=3, see="01-static-embeddings/glove#the-loss",
                        withhold=["reference_impl.embeddings.glove"])


@glove_weight.stage("growth", points=1)
def test_below_the_maximum_the_weight_grows_with_the_power(student, rng):
    number = uniform(rng, 1, 90, whole(rng, 2, 4), whole(rng, 2, 4))
    number[0, 0] = 0.0
    expect(student.glove_weight(number)).equals(
        ((number.double() / 100) ** 0.75).float(),
        cause="Below x_max a count x should weigh (x / x_max) ** alpha, by default (x / 100) ** 0.75, and a count of "
              "0 nothing.")


@glove_weight.stage("limit", points=1)
def test_from_the_maximum_on_the_weight_is_one(student, rng):
    number = torch.cat([torch.tensor([100.0]), uniform(rng, 101, 5000, 4), uniform(rng, 1, 60, 2)])
    returned = student.call("glove_weight", number)
    expect(returned.value).is_tensor(shape=(7,), dtype=torch.float32)
    expect(returned.value[:5], "The weight of counts of 100 and more").equals(
        torch.ones(5), cause="From x_max on every count should weigh exactly 1, not more and not less.")
    expect(bool((returned.value[5:] < 0.9).all())).is_true(cause="Counts below x_max should weigh less than 1.")
    expect(returned.args[0], "The counts after the call").equals(
        number, cause="Your function changed the caller's counts.")


@glove_weight.stage("arguments", points=1)
def test_the_maximum_and_the_power_can_be_chosen_and_counts_may_be_integers(student, rng):
    number = counts(rng, 1, 9, 6)
    x_max, alpha = float(whole(rng, 12, 30)), float(uniform(rng, 0.3, 0.6))
    expect(student.glove_weight(number, x_max, alpha)).equals(
        ((number.double() / x_max) ** alpha).float(),
        cause="The arguments x_max and alpha are not what the weight is made with, or integer counts are not turned "
              "into floats.")


analogy = exercise("01.analogy", function="analogy", points=5, see="01-static-embeddings/judging#analogies",
                   withhold=["reference_impl.embeddings.evaluation"])


def unit(rows: torch.Tensor) -> torch.Tensor:
    """Rows of length 1."""
    return rows / rows.norm(dim=1, keepdim=True)


def planted(rng: torch.Generator) -> tuple[torch.Tensor, tuple[int, int, int], int]:
    """A matrix of unit rows, a question, and its one right answer, in random order.

    The answer is b - a + c itself; there are also the rows that win when a sign is wrong or a word is left out.
    a, b and c are nearly at right angles, so that none of them can win.
    """
    basis = torch.linalg.qr(normal(rng, 12, 12))[0]
    a, b, c = basis[:3] + 0.05 * basis[3:6]
    rows = unit(torch.stack([a, b, c, b - a + c, a - b + c, a + b - c, b + c, b - a, c - a, *basis[6:]]))
    order = torch.randperm(len(rows), generator=rng)
    place = order.argsort().tolist()                                       # where row i went
    return rows[order].contiguous(), (place[0], place[1], place[2]), place[3]


@analogy.stage("direction", points=2)
def test_the_step_from_a_to_b_is_taken_from_c(student, rng):
    matrix, question, answer = planted(rng)
    expect(student.analogy(matrix, *question)).equals(
        answer, cause="The target should be b - a + c: the step from a to b, taken from c.")


@analogy.stage("question-words", points=1)
def test_the_words_of_the_question_are_never_the_answer(student, rng):
    for angles, cause in (((0.0, 40.0, 15.0), "b"), ((0.0, 15.0, 40.0), "c"), ((0.0, -20.0, 20.0), "a")):
        turn = torch.deg2rad(torch.tensor([*angles, 90.0, 100.0, 180.0]) + float(uniform(rng, 0, 360)))
        rows = torch.stack([turn.cos(), turn.sin()], 1)
        order = torch.randperm(6, generator=rng)
        place = order.argsort().tolist()
        expect(student.analogy(rows[order].contiguous(), *place[:3])).equals(
            place[3], cause=f"Here the word `{cause}` of the question has the best score, and must not be the answer. "
                            f"All three are left out.")


def answered(student, matrix: torch.Tensor, question: tuple) -> int:
    """The student's answer, after it was made sure that it is a row of the matrix and not a word of the question."""
    answer = expect(student.analogy(matrix, *question)).is_a(int)
    expect(answer in set(range(len(matrix))) - set(question)).is_true(
        cause="The answer should be the number of a row, and not a word of the question.", detail=f"It is {answer}.")
    return answer


@analogy.stage("lengths", points=1)
def test_the_length_of_a_vector_plays_no_part(student, rng):
    matrix, question, best = planted(rng)
    answer = answered(student, matrix, question)
    scale = uniform(rng, 0.2, 0.4, len(matrix), 1)
    others = [row for row in range(len(matrix)) if row not in (*question, answer, best)]
    scale[question[0]], scale[answer], scale[others[:4]] = 30.0, 0.1, 50.0
    scaled = (matrix * scale).roll(1, dims=0)          # moved on by one row, so that a fixed number is no answer
    moved = [(row + 1) % len(matrix) for row in (*question, answer)]
    returned = student.call("analogy", scaled, *moved[:3])
    expect(returned.value).equals(
        moved[3], cause="The answer changes when rows get longer or shorter. Every row should get length 1 first, "
                        "those of the question too.")
    expect(returned.args[0], "The matrix after the call").equals(
        scaled, cause="Your function changed the caller's matrix.")


@analogy.stage("zero-row", points=0.5)
def test_a_row_of_zeros_is_no_answer_and_no_nan(student, rng):
    matrix, question, _ = planted(rng)
    answer = answered(student, matrix, question)
    with_zeros = torch.cat([torch.zeros(1, matrix.shape[1]), matrix])
    expect(student.analogy(with_zeros, *(row + 1 for row in question))).equals(
        answer + 1, cause="A row of zeros changes the answer. 0 / 0 is NaN, which wins every argmax; the cosine of a "
                          "zero row should be 0.")


@analogy.stage("ties", points=0.5)
def test_equal_scores_give_the_smaller_number(student, rng):
    a, b, c, other = torch.tensor([[1., 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    best = torch.tensor([1., -1, -1, -1])                     # all lengths are 2: every score here is exact in float32
    rows = torch.stack([a, b, c, best, best, best, other, -b, -c])
    order = torch.randperm(len(rows), generator=rng)
    place = order.argsort().tolist()
    expect(student.analogy(rows[order].contiguous(), *place[:3])).equals(
        min(place[3:6]), cause="Three words have the same best score: the one with the smallest number should be the "
                               "answer.")


bank = exercise("01.bank", points=5, kind="manual", see="01-static-embeddings/bank")
