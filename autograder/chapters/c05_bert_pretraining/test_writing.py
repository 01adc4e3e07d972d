"""Checks of chapter 5, parts 2 and 5: a test of masking, and the short answer."""

import torch

from autograder.chapters.c05_bert_pretraining.masking_candidates import (
    MISTAKEN,
    POOR,
    PROBES,
    RIGHT,
    WRONG,
)
from autograder.chapters.c05_bert_pretraining.withholding import LIBRARIES, OURS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

BOOK = "05-bert-pretraining"

writing_a_test = exercise(
    "05.test_masking",
    function="test_masking",
    points=6,
    kind="write-test",
    see=f"{BOOK}/masking#pitfalls",
    withhold=OURS | LIBRARIES,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right implementations and the wrong ones of a kind."""
    expect_catches(
        student.test_masking,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=50,
    )


@writing_a_test.stage("fraction", points=1.5)
def test_a_test_stops_another_share(student, rng):
    ask_test(
        student,
        "fraction",
        rng,
        (
            "An implementation that selects another number of tokens in some sequence"
            " passes your test: count the labels of each sequence, and compare with"
            " 15 % of its ordinary tokens, rounded. A mean over all sequences hides"
            " independent draws."
        ),
    )


@writing_a_test.stage("specials", points=1.5)
def test_a_test_stops_chosen_and_changed_special_tokens(student, rng):
    ask_test(
        student,
        "specials",
        rng,
        (
            "An implementation that selects or changes special tokens passes your"
            " test: check the labels and at the new ids wherever `special` is True,"
            " at `[CLS]` and at padding, in some hundred rows."
        ),
    )


@writing_a_test.stage("labels", points=1.5)
def test_a_test_stops_wrong_labels_and_changes_without_a_label(student, rng):
    ask_test(
        student,
        "labels",
        rng,
        "An implementation with wrong labels passes your test: where there is a label, compare it"
        " with `ids` as they were; where there is none, compare the new ids with `ids`.",
    )


@writing_a_test.stage("replacement", points=1.5)
def test_a_test_stops_other_fates(student, rng):
    ask_test(
        student,
        "replacement",
        rng,
        (
            "An implementation with another replacement strategy passes your test:"
            " over some thousand selected tokens, the fractions of covered, swapped"
            " and kept ones are .8, .1 and .1, and what is swapped in is drawn from"
            " all ordinary tokens."
        ),
    )


short_answer(
    "05.why_hide",
    points=5,
    see=f"{BOOK}/masking#why-not-replace-every-selected-token",
    rubric={
        "it sees the answer": (
            1,
            (
                "says that the loss falls to nearly 0 and that what is learned is to"
                " copy: the next word is visible at its own position, so one layer of"
                " attention is enough to fetch it, and nothing of the language is needed"
                " (half without the way in which it is seen)"
            ),
        ),
        "masking fixes it": (
            1,
            (
                "says that a masked word is visible nowhere, at no position and in no"
                " layer, so it has to be inferred from the words on both sides, which may"
                " then stay visible"
            ),
        ),
        "what it costs": (
            1,
            (
                "says that only about 15 predictions count in a text of 100 tokens, where"
                " a causal model has about 100, so that each text teaches less; that"
                " masks predicted independently ignore each other counts as well"
            ),
        ),
        "no mask later": (
            1,
            (
                "says that `[MASK]` never occurs in the text that the model is used on,"
                " so a model that met selected words only as `[MASK]` is trained on one"
                " kind of input and used on another"
            ),
        ),
        "kept and swapped": (
            1,
            (
                "says what the two tenths do: a visible token may be asked for too, and"
                " may be wrong or right, so the model must build a vector from the"
                " context at every position (half if only one of the two is explained)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "BERT hides words because it is bidirectional and a bidirectional model understands"
            " more. GPT is unidirectional, which is why it cannot understand. The 80/10/10 rule"
            " makes training more robust and acts as regularisation.",
            {},
            (
                "Labels instead of reasons. Nothing says what her loss would do, what is"
                " visible, or what is gained by keeping a word."
            ),
        ),
        Sample(
            "Half",
            "Her loss would go to zero quickly, because each position can see the next word"
            " directly, so it just copies it. If the words are masked the model can't see them and"
            " has to guess from left and right. That is the whole trick of BERT.",
            {"it sees the answer": 1, "masking fixes it": 1},
            "Rows 1 and 2 in full. Costs, and the two tenths, are missing.",
        ),
        Sample(
            "Good",
            (
                "The encoder sees the next token at its position, so attention learns to"
                " attend one position to the right and copy: the loss is almost 0 and"
                " nothing is learned. With a mask the token is not visible anywhere, so"
                " both sides may stay visible and have to be used. The price: 15"
                " predictions in 100 tokens instead of 100, so training takes longer. 10"
                " % stay unchanged because [MASK] does not exist in real texts later, and"
                " the model should not only wake up when it sees one."
            ),
            {
                "it sees the answer": 1,
                "masking fixes it": 1,
                "what it costs": 1,
                "no mask later": 1,
                "kept and swapped": 0.5,
            },
            (
                "Rows 1 to 4 in full. Of the two tenths only the kept one is explained;"
                " why a word is replaced by a wrong one is not explained."
            ),
        ),
        Sample(
            "Strong",
            (
                "Position 3 is asked for word 4, and word 4 is an input that position 3"
                " attends to. One head that attends one position to the right, and an"
                " output that copies: loss near zero, no language needed. A masked word"
                " is visible nowhere, in no layer, so all the rest may be seen from both"
                " sides and must be used. It costs predictions: of 100 tokens about 15"
                " count, in GPT nearly all 100, and two masks in a text are predicted"
                " without knowing of each other. If every selected word is [MASK], the"
                " model can be lazy at all other positions, and after training there are"
                " only other positions. One in ten is kept, so an ordinary word may be"
                " asked for, and the vector there should contain what the context says;"
                " one in ten is replaced, so the visible word may be a lie, and simply"
                " passing it on is punished."
            ),
            {
                "it sees the answer": 1,
                "masking fixes it": 1,
                "what it costs": 1,
                "no mask later": 1,
                "kept and swapped": 1,
            },
            "All five rows, each with its reason.",
        ),
    ],
)
