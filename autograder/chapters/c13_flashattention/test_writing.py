"""Checks of chapter 13, part 4: a test of an attention by tiles, and the short answer."""

import torch

from autograder.chapters.c13_flashattention.flash_candidates import (
    MISTAKEN,
    POOR,
    PROBES,
    RIGHT,
    WRONG,
)
from autograder.chapters.c13_flashattention.withholding import OURS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

BOOK = "13-flashattention"

writing_a_test = exercise(
    "13.test_flash",
    function="test_flash",
    points=5,
    kind="write-test",
    see=f"{BOOK}/versions#testing-a-new-kernel",
    withhold=OURS,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right attentions and the wrong ones of a kind."""
    expect_catches(
        student.test_flash,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=100,
    )


@writing_a_test.stage("running maximum", points=1.5)
def test_a_test_stops_wrong_peaks(student, rng):
    ask_test(
        student,
        "running maximum",
        rng,
        (
            "Your test accepts a faulty running maximum. Use several tiles of keys and scores"
            " of hundreds, all positive and all negative, causal and not."
        ),
    )


@writing_a_test.stage("incomplete tiles", points=1.5)
def test_a_test_stops_lost_and_counted_ends(student, rng):
    ask_test(
        student,
        "incomplete tiles",
        rng,
        (
            "Your test accepts lost or phantom keys. Use lengths above one tile that are no "
            "multiples of it, causal and not."
        ),
    )


@writing_a_test.stage("attention masks", points=1)
def test_a_test_stops_wrong_sight(student, rng):
    ask_test(
        student,
        "attention masks",
        rng,
        (
            "Your test accepts a wrong mask. Use causal with equal, fewer and more queries "
            "than keys, and check queries without keys."
        ),
    )


@writing_a_test.stage("precision and scale", points=1)
def test_a_test_stops_wrong_digits(student, rng):
    ask_test(
        student,
        "precision and scale",
        rng,
        (
            "Your test accepts half precision, or a wrong log-sum-exp, scale or head. Compare"
            " both results to 0.0001, with two heads."
        ),
    )


short_answer(
    "13.merge_it",
    points=4,
    see=f"{BOOK}/versions#testing-a-new-kernel",
    rubric={
        "shape": (
            1,
            (
                "says what one square shape of full tiles cannot show: a ragged last tile, T other"
                " than S, queries that see no key, one key, several heads or groups, strides; with"
                " at least two of them named (half for one)"
            ),
        ),
        "tolerance": (
            1,
            (
                "says that 0.01 hides half precision (float16 weights, TF32) and much else, and"
                " that the tolerance follows from the dtype: about 0.0001 in float32, with a"
                " float64 reference (half without a reason)"
            ),
        ),
        "scores": (
            1,
            (
                "says that numbers from randn have small scores, so that a missing peak or a peak"
                " of 0 never shows, and asks for scores of hundreds, above and below 0 (half for"
                " only one of the signs, or for no reason)"
            ),
        ),
        "verdict": (
            1,
            (
                "does not merge on this evidence, and says what would be enough: a list of inputs,"
                " the gradient or strays beyond the tensors or another device, and an independent"
                " oracle; or states clearly what may be merged already, such as for fixed shapes"
                " only (half for a bare no)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "Yes. The largest difference is below the tolerance, and it is twice as fast. If"
            " something were wrong in the softmax, one would see it in 16,384 numbers.",
            {},
            "Takes many numbers for many cases. None of the rows.",
        ),
        Sample(
            "Half",
            "No, one test is not enough. I would try other shapes, for example 100 by 100 so that"
            " the tiles do not fit, and a smaller tolerance.",
            {"shape": 0.5, "tolerance": 0.5, "verdict": 0.5},
            "Row 1 for one of its cases; row 2 without a reason; row 4 for a no with few reasons."
            " Nothing on scores.",
        ),
        Sample(
            "Good",
            "Not yet. 128 is a multiple of every tile, so the ragged mask was never used, and T = S"
            " hides where the diagonal stands. With randn the scores are around 1 and exp never"
            " overflows: multiply the queries by 100. I would add 5 by 37 and 37 by 5.",
            {"shape": 1, "scores": 0.5, "verdict": 1},
            "Row 1 in full; row 3 above 0 only; a list of inputs for row 4. Nothing on the"
            " tolerance.",
        ),
        Sample(
            "Strong",
            "No. This input has full tiles, as many queries as keys, scores of a few units and one"
            " head, so half of the kernel's masks never decided anything. A kernel without a"
            " maximum, one that starts it at 0, one that loses the last tile, one with the diagonal"
            " at the wrong corner, all pass. 0.01 would also pass float16 weights, whose error is"
            " some 0.0003; in float32 I would ask for 0.0001 against float64 on the CPU. I would"
            " run 1 by 1, 17 by 17, 5 by 37 and 37 by 5, causal and not, with scores near 0, near"
            " 300 and near -300, NaN behind the ends of the tensors, and the gradient. Until then"
            " it may be merged behind a switch for multiples of 128.",
            {"shape": 1, "tolerance": 1, "scores": 1, "verdict": 1},
            "All four rows, each with its reason.",
        ),
    ],
)
