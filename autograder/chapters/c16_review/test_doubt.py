"""Checks of chapter 16, part 3: the wrong line of a block, and data that break six sentences."""

import torch

from autograder.chapters.c16_review.block import FAULT, drawn_weights, largest_score, right_block
from autograder.chapters.c16_review.sentences import CAUSES, CLEARLY, FORMS, HOLDS, WORTHLESS
from autograder.chapters.c16_review.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alike, one_changed, whole
from autograder.checks.protocol import exercise, expect, expect_breaks

broken_block = exercise(
    "16.broken_block",
    function="repaired_block",
    also=["wrong_line"],
    points=4,
    kind="find-line",
    see="12-llama/block#one-wrong-line",
    withhold=OURS | LIBRARIES,
)


@broken_block.stage("line", points=1.5)
def test_the_line_is_found(student):
    expect(student.wrong_line()).equals(
        FAULT.line,
        cause=(
            "That line is right, or is no line of the function. Run the lines one by one on two"
            " tokens and two heads, and ask each for its promise."
        ),
    )


@broken_block.stage("repaired", points=2.5)
def test_the_repaired_block_is_the_block(student, rng):
    rule = (
        "The repaired block does not give what the statement says: where only its wrong line is"
        " changed, nothing else differs. Compare with a calculation of your own, with two heads and"
        " three tokens."
    )
    cases = [
        (torch.randn(T, C, generator=rng), drawn_weights(rng, C, F), heads)
        for T, C, F, heads in (
            (1, 1, 1, 1),
            (3, 6, 5, 3),
            (1, 4, 3, 2),
            (2, 4, 6, 2),
            (3, 4, 4, 4),
            (4, 4, 4, 1),
            (3, 6, 5, 2),
            (6, 12, 20, 3),
            (8, 8, 8, 2),
            (300, 8, 12, 4),
            (5, 64, 64, 8),
            (whole(rng, 5, 20), 16, whole(rng, 9, 30), 4),
        )
    ]
    first, second = cases[6], (torch.randn(3, 6, generator=rng), drawn_weights(rng, 6, 5), 3)
    cases += one_changed(first, second)
    cases += [(first[0], first[1] | {name: second[1][name]}, 2) for name in first[1]]
    cases += [
        (100 * cases[7][0], cases[7][1], 3),
        (0.001 * cases[7][0], cases[7][1], 3),
        (torch.zeros(2, 4), cases[3][1], 2),
    ]
    whole_x = (16 * first[0]).round() / 16
    cases += [(whole_x, first[1], 2), (look_alike(whole_x), first[1], 2)]
    sharp = drawn_weights(rng, 8, 12)
    cases += [
        (
            torch.randn(7, 8, generator=rng),
            sharp | {"query": 4 * sharp["query"], "gate": 8 * sharp["gate"]},
            2,
        )
    ]
    x = torch.randn(9, 8, generator=rng)
    for edge in (48, 30):
        steep = sharp | {"query": edge / largest_score(x, sharp, 2) * sharp["query"]}
        cases += [(x, steep, 2), (x[:2], steep, 2)]
    cases += [
        (0.001 * x, sharp | {"output": torch.zeros(8, 8)}, 2)
    ]  # so small that what keeps the second root from 0 is seen
    for x, weights, heads in cases:
        expect(
            student.repaired_block(x, weights, heads),
            given=f"{len(x)} tokens of {x.shape[1]} numbers, {heads} heads",
        ).close(right_block(x, weights, heads), rtol=1e-3, atol=1e-4, cause=rule)


counterexamples = exercise(
    "16.counterexamples",
    function="counterexamples",
    points=6,
    kind="counterexample",
    see="16-review/ledger#by-hand-one-claim-one-test",
    withhold=OURS | LIBRARIES,
)


def ask_example(student, key: str) -> None:
    """Look whether the data under a key break its sentence, clearly and by nothing that does not
    count.
    """
    data = expect(student.counterexamples()).only_keys(FORMS).has(key).value
    expect_breaks(
        data,
        holds=HOLDS[key],
        form=FORMS[key],
        degenerate=WORTHLESS[key],
        cause=CAUSES[key],
        margin=CLEARLY[key],
        name=f"Your data for {key!r}",
    )


@counterexamples.stage("beam", points=1)
def test_a_beam_can_miss_the_likeliest_text(student):
    ask_example(student, "beam")


@counterexamples.stage("wider", points=1)
def test_a_wider_beam_can_end_worse(student):
    ask_example(student, "wider")


@counterexamples.stage("top_p", points=1)
def test_top_p_can_keep_more_than_five(student):
    ask_example(student, "top_p")


@counterexamples.stage("pooling", points=1)
def test_rows_of_zeros_change_a_mean(student):
    ask_example(student, "pooling")


@counterexamples.stage("rotary", points=1)
def test_a_farther_key_can_score_higher(student):
    ask_example(student, "rotary")


@counterexamples.stage("loss", points=1)
def test_a_smaller_loss_can_guess_less(student):
    ask_example(student, "loss")
