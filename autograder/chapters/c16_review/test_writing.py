"""Checks of chapter 16, parts 3 and 4: a test of attention, and the short answer."""

import torch

from autograder.chapters.c16_review.attention_candidates import MISTAKEN, POOR, PROBES, RIGHT, WRONG
from autograder.chapters.c16_review.withholding import OURS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

writing_a_test = exercise(
    "16.test_attention",
    function="test_attention",
    points=4,
    kind="write-test",
    see="04-attention-and-the-transformer/attention#the-formula",
    withhold=OURS,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right attentions and the wrong ones of a kind."""
    expect_catches(
        student.test_attention,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=100,
    )


@writing_a_test.stage("scale", points=1)
def test_a_test_stops_wrong_scales(student, rng):
    ask_test(
        student,
        "scale",
        rng,
        "An attention passes your test whose scores are not divided by the square root of D: take D"
        " = 4 and not 1, and ask with as many queries as keys and with another number.",
    )


@writing_a_test.stage("axis", points=1)
def test_a_test_stops_wrong_axes(student, rng):
    ask_test(
        student,
        "axis",
        rng,
        "An attention passes your test whose softmax runs over the queries or over the heads: take"
        " several of each, and compare the numbers themselves.",
    )


@writing_a_test.stage("mask", points=1)
def test_a_test_stops_wrong_masks(student, rng):
    ask_test(
        student,
        "mask",
        rng,
        "An attention passes your test that hides the wrong keys, or does not hide them wholly:"
        " draw a mask, another one for each text, and look at all heads; with as many queries as"
        " keys and with another number.",
    )


@writing_a_test.stage("edges", points=1)
def test_a_test_stops_wrong_edges(student, rng):
    ask_test(
        student,
        "edges",
        rng,
        "An attention passes your test that is wrong at an edge: ask with a query that sees no key,"
        " and with scores of hundreds, with such a query and without one.",
    )


short_answer(
    "16.three_customers",
    points=4,
    see="16-review/tables",
    rubric={
        "three choices": (
            1.5,
            (
                "half a point each: for the library an encoder that makes a vector of each text (or"
                " a count such as BM25, with a reason); for the museum a decoder; for the court an"
                " encoder with a decoder, or a decoder, if the reason fits the task (a decoder's"
                " reason: one model for all, or that pretrained decoders are larger and better)"
            ),
        ),
        "three numbers": (
            1.5,
            (
                "half a point each: a number that the book measured, counted or cited, and that"
                " bears on the choice, such as bytes of the cache for a token, parameters, pairs"
                " that a mask leaves, tokens that are computed again, nDCG or accuracy of a probe,"
                " time; a number from elsewhere counts where its source is named; a number without"
                " a bearing on the choice does not count"
            ),
        ),
        "what would turn it": (
            1,
            (
                "names for one of the three a quantity with a value, and what would then be chosen"
                " (half without a value)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "1. BERT, because it is bidirectional and understands text. 2. GPT, because it"
            " generates text. 3. BERT too, because a translator has to understand. I would change"
            " my mind if another model was better.",
            {"three choices": 1},
            "Two choices hold; an encoder alone writes no translation. *Understands* is no number,"
            " and *better* names no quantity.",
        ),
        Sample(
            "Half",
            "Library: ModernBERT, 149 million parameters, the vectors of two million abstracts are"
            " computed once. Museum: a small LLaMA with few KV heads; SmolLM2 caches 23,040 bytes"
            " per token in 16 bits, so 40 visitors with 8,000 tokens need 7 GB. Court: a decoder"
            " such as GPT, because it can do everything.",
            {"three choices": 1.5, "three numbers": 1},
            "The third has no number; nothing says what would change the choice.",
        ),
        Sample(
            "Good",
            "Library: an encoder. Two million vectors are made once, and a question costs one pass"
            " of 110 million parameters. Museum: a decoder with a cache; with 30 layers, 3 KV"
            " heads of 64 and 16 bits, a token takes 23,040 bytes, so 40 times 8,000 tokens fit in"
            " 7.4 GB. Court: encoder and decoder: the source is read once with both sides in sight,"
            " and a causal mask would leave only 52 % of the pairs of 32 tokens. I would take a"
            " decoder there if translations were under 5 % of its work.",
            {"three choices": 1.5, "three numbers": 1.5, "what would turn it": 1},
            "Each number bears on its choice, and the last sentence names a quantity, a value, and"
            " what would then be taken.",
        ),
        Sample(
            "Strong",
            "1. An encoder for vectors: 109,482,240 parameters run once an abstract, at night; at a"
            " question only its 12 tokens are read. I would put BM25 before it and keep both if the"
            " nDCG of the vectors alone were not at least 0.05 higher. 2. A decoder, since each"
            " answer depends on the whole conversation: and one with grouped heads. LLaMA-7B caches"
            " 512 KiB per token, 40 visitors with 8,000 tokens need 156 GiB; with 8 KV heads of 32"
            " it is a quarter. 3. T5's kind. 200,000 pairs are few, so I start from a trained one;"
            " its encoder sees the whole sentence, where a causal mask leaves half of the pairs,"
            " 528 of 1,024 for 32 tokens.",
            {"three choices": 1.5, "three numbers": 1.5, "what would turn it": 1},
            "Everything, with the arithmetic shown.",
        ),
    ],
)
