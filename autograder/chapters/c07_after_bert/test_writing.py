"""Checks of chapter 7, parts 4 and 6: a test of span corruption, and the short answer."""

import torch

from autograder.chapters.c07_after_bert.span_candidates import MISTAKEN, POOR, PROBES, RIGHT, WRONG
from autograder.chapters.c07_after_bert.withholding import LIBRARIES, OURS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

BOOK = "07-after-bert"

writing_a_test = exercise(
    "07.test_corrupt",
    function="test_corrupt",
    points=5,
    kind="write-test",
    see=f"{BOOK}/t5#pitfalls",
    withhold=OURS | LIBRARIES,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right implementations and the wrong ones of a kind."""
    expect_catches(
        student.test_corrupt,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=150,
    )


@writing_a_test.stage("order", points=1.5)
def test_a_test_stops_sentinels_in_another_order(student, rng):
    ask_test(
        student,
        "order",
        rng,
        "An implementation with other sentinels, or with spans in another order, passes your test:"
        " compare the sentinels of the source with `TOP`, `TOP` - 1, ... and those of the target"
        " with those of the source, as lists.",
    )


@writing_a_test.stage("merging", points=1)
def test_a_test_stops_spans_that_should_be_one_or_none(student, rng):
    ask_test(
        student,
        "merging",
        rng,
        "An implementation with two sentinels side by side passes your test: look at each pair of"
        " neighbours in the source and in the target.",
    )


@writing_a_test.stage("ends", points=1)
def test_a_test_stops_other_ends(student, rng):
    ask_test(
        student,
        "ends",
        rng,
        "An implementation with another end passes your test: both lists have one `END`, as their"
        " last number, and before it the target has a token of the text and no sentinel.",
    )


@writing_a_test.stage("lost", points=1.5)
def test_a_test_stops_lost_and_exchanged_tokens(student, rng):
    ask_test(
        student,
        "lost",
        rng,
        "An implementation that loses or moves tokens, or loses another share than 15 %, passes"
        " your test: put the spans back and compare with `ids`, and count the tokens of the"
        " target.",
    )


short_answer(
    "07.which_encoder",
    points=5,
    see=f"{BOOK}/albert#parameters-operations-and-seconds",
    rubric={
        "time": (
            1,
            (
                "gives the phone a model with fewer layers, or narrower ones, that was taught by a"
                " larger one (DistilBERT, TinyBERT, MiniLM), because fewer multiply-adds are made"
                " for"
                " each token (half without a reason; nothing for ALBERT, which makes as many as"
                " BERT)"
            ),
        ),
        "size": (
            1,
            (
                "gives the toy ALBERT, about 12 million parameters at the base size, because all"
                " layers share one block and the embedding is factorized (half without one of the"
                " two); another model counts if it is worked out that it fits into 12.5 million"
                " parameters"
            ),
        ),
        "length": (
            1,
            (
                "gives the court attention in a window with some global tokens, [CLS] among them"
                " (Longformer, BigBird), because the scores grow with the length and not with its"
                " square, while a far sentence reaches [CLS] (half without the global tokens);"
                " cutting into pieces counts half, if it names what is lost at the cuts"
            ),
        ),
        "training": (
            1,
            (
                "lets the museum pre-train by replaced-token detection (ELECTRA), because every"
                " token is judged and not one in seven, so that each pass over few texts teaches"
                " more; or continues training an existing model on the museum's texts, with the"
                " reason that what it knows need not be learned again"
            ),
        ),
        "what is not gained": (
            1,
            (
                "names for two of the four what is lost or not gained: ALBERT is not faster; a"
                " distilled model is less accurate than its teacher; a window saves nothing in"
                " short texts, or sees far words only over several layers; a discriminator fills no"
                " masks; a mask over all scores saves nothing (half for one)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "I would use a modern model for everybody, since RoBERTa is better than BERT. For the"
            " toy and the phone ALBERT, it is a light BERT and nine times smaller and so faster."
            " The court should truncate to 512 tokens, the first part of a text is the most"
            " important.",
            {"size": 0.5},
            "ALBERT for the toy is right, with no mechanism. For the phone it is wrong: it makes as"
            " many multiply-adds as BERT. Truncation loses the sentence that decides.",
        ),
        Sample(
            "Half",
            "Phone: DistilBERT, 6 layers instead of 12, so half the work per token. Toy: ALBERT,"
            " the layers share their weights. Court: a sliding window, so cost is linear. Museum:"
            " fine-tune BERT.",
            {"time": 1, "size": 0.5, "length": 0.5},
            "Row 1 in full. Sharing alone does not explain 12 million: the short rows are missing."
            " A window without global tokens: half. Fine-tuning is not what was asked, and has no"
            " reason.",
        ),
        Sample(
            "Good",
            "Phone: distillation into 6 layers, half the multiply-adds. Toy: ALBERT: one block"
            " for all"
            " layers and rows of 128 in the table, 12M numbers = 24 MB. Court: Longformer with"
            " [CLS] global, because the cost grows linearly and [CLS] still sees every sentence"
            " directly. Museum: ELECTRA, every token gives a loss and not 15 %. ALBERT is as slow"
            " as BERT, by the way.",
            {"time": 1, "size": 1, "length": 1, "training": 1, "what is not gained": 0.5},
            "Rows 1 to 4 in full. One price is named, two were asked for.",
        ),
        Sample(
            "Strong",
            "The phone is short of multiply-adds: a student with half the layers, taught by the"
            " soft"
            " answers of the large one; it keeps most of the accuracy and not all. The toy is short"
            " of stored numbers: ALBERT stores its block once and gives tokens rows of 128, 11.7M"
            " numbers, 23 MB. It would not help the phone: the block is used 12 times, as many"
            " multiply-adds as before. The court is short of length: windows plus [CLS] global;"
            " scores"
            " grow with T, and only if the code never makes the others. For messages of 100 tokens"
            " it would gain nothing. The museum is short of training: ELECTRA, since each token of"
            " each text is judged, not one of seven. Its discriminator can sort, which is all they"
            " want, but it cannot fill a gap in a damaged text.",
            {"time": 1, "size": 1, "length": 1, "training": 1, "what is not gained": 1},
            "All five rows, each with its mechanism.",
        ),
    ],
)
