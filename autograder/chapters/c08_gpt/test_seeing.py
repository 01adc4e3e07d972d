"""Checks of chapter 8, parts 1 and 5: a test of what a model sees, and the short answer."""

import torch

from autograder.chapters.c08_gpt.seeing_candidates import MISTAKEN, POOR, PROBES, RIGHT, WRONG
from autograder.chapters.c08_gpt.withholding import LIBRARIES, OURS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

BOOK = "08-gpt"

writing_a_test = exercise(
    "08.test_causal",
    function="test_causal",
    points=5,
    kind="write-test",
    see=f"{BOOK}/next-token#without-the-mask",
    withhold=OURS | LIBRARIES,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right models and the wrong ones of a kind."""
    expect_catches(
        student.test_causal,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=500,
    )


@writing_a_test.stage("ahead", points=1.5)
def test_a_test_stops_models_that_see_ahead(student, rng):
    ask_test(
        student,
        "ahead",
        rng,
        "Your test accepts a model that sees later tokens. Change a token, and compare all "
        "columns of the logits at all earlier positions.",
    )


@writing_a_test.stage("some", points=1)
def test_a_test_stops_models_that_see_ahead_somewhere(student, rng):
    ask_test(
        student,
        "some",
        rng,
        "Your test accepts a model that sees ahead at one position only, or slightly. Change "
        "each token in turn, compare all earlier positions, with tolerance 0.001.",
    )


@writing_a_test.stage("lengths", points=1)
def test_a_test_stops_models_that_fail_at_one_length(student, rng):
    ask_test(
        student,
        "lengths",
        rng,
        "A model that sees ahead in texts of one length passes your test: ask for each length from"
        " 1 to `PLACES`.",
    )


@writing_a_test.stage("blind", points=1.5)
def test_a_test_stops_models_that_do_not_see_all(student, rng):
    ask_test(
        student,
        "blind",
        rng,
        "Your test accepts a model that ignores a visible token. For each changed token, "
        "require a change at its position and every later one, at every length.",
    )


short_answer(
    "08.becomes_money",
    points=4,
    see=f"{BOOK}/next-token#what-a-left-to-right-state-cannot-know",
    rubric={
        "where": (
            1,
            (
                "says that *lends* is the first token whose vectors can know it (or any later one,"
                " *money* too), and that the vector of *bank* cannot, in no layer, since no layer"
                " lets it see what comes after it: it is the same as in *the bank of the river*"
                " (half without the second part)"
            ),
        ),
        "BERT": (
            1,
            (
                "says that in BERT every token sees both sides, so that the vector of *bank* itself"
                " changes with *lends*, from the first layer on"
            ),
        ),
        "what is paid for": (
            1,
            (
                "names what GPT gains: each token of a text is a target, T - 1 in one pass, "
                "where BERT has its masked tokens only; and it can generate, since nothing "
                "that it has read has to be read again when a token is added (half for one of"
                " the two)"
            ),
        ),
        "advice": (
            1,
            (
                "gives a way to one vector that works: the vector of the last token, or of a later"
                " one than *bank*, or a mean that includes them; or the sentence twice in a row; or"
                " to take an encoder instead; with the reason that it has to be read after the"
                " words that decide"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "GPT uses masked self-attention, so it only sees the previous words, and BERT is"
            " bidirectional. In the deeper layers GPT understands that bank is money. I would use"
            " the last layer's vector of bank, because it has the most context.",
            {"BERT": 0.5},
            "You name that BERT sees both sides, not what it changes. Layers do not help: "
            "bank never sees lends. The advice takes the one vector that cannot know.",
        ),
        Sample(
            "Half",
            "The vector of bank never knows about money because lends comes after it, the mask"
            " hides it in every layer. First at lends. In BERT bank sees lends and money directly,"
            " so its own vector is different in the two sentences.",
            {"where": 1, "BERT": 1},
            "Rows 1 and 2 in full. What GPT gets for it, and the advice, are missing.",
        ),
        Sample(
            "Good",
            "At lends. bank's vector is the same as in 'the bank of the river', bit by bit. BERT"
            " mixes both sides in each layer, so there the vector of bank itself is about money."
            " The price pays for generating: GPT can continue a text token by token. For one vector"
            " I would take the last token's, it has seen everything.",
            {"where": 1, "BERT": 1, "what is paid for": 0.5, "advice": 1},
            "Rows 1, 2 and 4 in full. Of what GPT gains, the targets are missing: T - 1 of "
            "them in one pass of training.",
        ),
        Sample(
            "Strong",
            "Up to bank both sentences are one text to GPT: its vector there is equal in all "
            "layers, a deeper layer sees only vectors that are equal too. lends is the first "
            "position that can tell, money the next. BERT lets bank attend to lends already "
            "in its first layer. For its price GPT gets T - 1 questions from T tokens in one "
            "pass, BERT one in seven; and when a token is added no old vector changes, so it "
            "can generate and keep what it has. Meaning of bank from a GPT: read it at the "
            "end of the sentence, or write the sentence twice and take the second bank, or "
            "use BERT.",
            {"where": 1, "BERT": 1, "what is paid for": 1, "advice": 1},
            "All four rows, each with its reason.",
        ),
    ],
)
