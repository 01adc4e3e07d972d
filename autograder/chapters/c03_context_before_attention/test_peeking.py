"""Checks of chapter 3, parts 4 and 5: a test for readers that look ahead, and the short answer."""

import torch

from autograder.chapters.c03_context_before_attention.reader_candidates import (
    MISTAKEN,
    POOR,
    PROBES,
    RIGHT,
    WRONG,
)
from autograder.chapters.c03_context_before_attention.withholding import MODELS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

PAGE = "03-context-before-attention/elmo"

writing_a_test = exercise(
    "03.test_no_peeking",
    function="test_no_peeking",
    points=5,
    kind="write-test",
    see=f"{PAGE}#peeking",
    withhold=MODELS,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right readers and both wrong ones of a kind."""
    expect_catches(
        student.test_no_peeking,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=1000,
    )


@writing_a_test.stage("next token", points=1)
def test_a_test_stops_a_reader_that_sees_the_next_word(student, rng):
    ask_test(
        student,
        "next",
        rng,
        "A model that sees the next token passes your test: change a token and compare all logits"
        " at the position before it, to about 0.0001.",
    )


@writing_a_test.stage("distant token", points=1.5)
def test_a_test_stops_a_reader_that_sees_a_far_word(student, rng):
    ask_test(
        student,
        "far",
        rng,
        "A model that sees a distant token passes your test: change tokens throughout the text and"
        " compare every position before each.",
    )


@writing_a_test.stage("some positions only", points=1.5)
def test_a_test_stops_a_reader_that_peeks_at_some_places(student, rng):
    ask_test(
        student,
        "some",
        rng,
        "A model that peeks at one position only, or in one logit only, passes your test:"
        " change every token in turn, and compare all logits.",
    )


@writing_a_test.stage("other sequences", points=1)
def test_a_test_stops_a_reader_that_sees_another_row(student, rng):
    ask_test(
        student,
        "rows",
        rng,
        "A model that sees other sequences of its batch passes your test: change tokens in each"
        " sequence in turn, and compare all others.",
    )


short_answer(
    "03.deeply",
    points=4,
    see=f"{PAGE}#two-directions-are-not-one-bidirectional-model",
    rubric={
        "apart": (
            1,
            (
                "says what is true and what is wrong: each layer has a half that knows the words to"
                " the left and a half that knows those to the right; neither half, in any layer,"
                " knows both"
            ),
        ),
        "where they meet": (
            1,
            (
                "says where the directions meet: the halves are set side by side and mixed by a"
                " weighted sum, after both readers have ended; no layer of one reads a layer of the"
                " other"
            ),
        ),
        "what is lost": (
            1,
            (
                "gives a case, or describes one, that needs words of both sides together, where"
                " each side alone leaves it open, or says how to see it: the forward half does not"
                " change when a word to the right does"
            ),
        ),
        "why not joined": (
            1,
            (
                "says why the readers are kept apart in training: a layer that reads both"
                " directions has seen the very word that it is asked for, so it copies and learns"
                " nothing"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "ELMo uses a bidirectional LSTM, so every word vector contains the left and the right"
            " context. BERT is only better because it is bigger and uses attention, which is faster"
            " than an LSTM.",
            {},
            "Repeats the claim. Nothing on halves, on where they meet, or on training; speed was"
            " not the question.",
        ),
        Sample(
            "Half",
            "ELMo has one LSTM that reads from left to right and another one that reads from right"
            " to left. In every layer the left-to-right half of the vector knows only the words"
            " before, and the other half only the words after. So it is not deeply bidirectional,"
            " BERT is.",
            {"apart": 1},
            "Row 1 in full. It does not say where the halves meet, names no case that is lost, and"
            " gives no reason for keeping them apart.",
        ),
        Sample(
            "Good",
            "True: somewhere in the vector of bank there is something about both sides. Wrong: no"
            " single number of it does, inside the model. The forward LSTM never reads a backward"
            " layer. They are only put next to each other at the end, and a task takes a weighted"
            " sum of the layers. They could not read each other, because then the forward reader"
            " would already know the next word through the backward one, which has read it, and the"
            " loss would be nearly zero without learning.",
            {"apart": 1, "where they meet": 1, "why not joined": 1},
            "Rows 1, 2 and 4 in full. What such a model cannot do for that reason is missing.",
        ),
        Sample(
            "Strong",
            "Each layer holds two vectors: one made of the words up to bank, one made of those"
            " after it. They are glued together and then mixed with one weight per layer, so the"
            " sides meet only outside the readers; change a word on the right and the forward half"
            " stays the same to the last digit, in every layer. So what needs both sides at once is"
            " missing: if 'near' on the left and 'floods' on the right mean the shore, and 'far'"
            " with 'floods' or 'near' with 'opens' mean something else, each reader is at one half,"
            " and no half ever holds the combination. The makers could not connect the layers,"
            " since they train by predicting words: a forward layer that looks into a backward one"
            " sees the word it must predict.",
            {"apart": 1, "where they meet": 1, "what is lost": 1, "why not joined": 1},
            "All four rows, each with its reason.",
        ),
    ],
)
