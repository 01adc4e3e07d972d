"""Checks of chapter 9, parts 2 and 4: a test of samplers, and the short answer."""

import torch

from autograder.chapters.c09_generating_text.sampler_candidates import PROBES, honest, wrong
from autograder.chapters.c09_generating_text.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import whole
from autograder.checks.kinds.write_tests import ONE_OF_TWO, UNSTEADY
from autograder.checks.protocol import CheckFailed, Sample, exercise, expect_catches, short_answer

BOOK = "09-generating-text"
NOISE = (
    "It accepts an honest sampler once and rejects one another time. Counts of honest draws vary:"
    " allow each count five or six standard deviations, and ask of the spread only what no honest"
    " sampler misses."
)

writing_a_test = exercise(
    "09.test_sampler",
    function="test_sampler",
    points=5,
    kind="write-test",
    see=f"{BOOK}/sampling#pitfalls",
    withhold=OURS | LIBRARIES,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test ten honest samplers, each twice with fresh chance, and the wrong ones
    of a kind.
    """
    right = [honest(whole(rng, 0, 2**40), inverted=number > 7) for number in range(10)]
    try:
        expect_catches(
            student.test_sampler,
            right=right,
            wrong=wrong(whole(rng, 0, 2**40))[kind],
            rng=rng,
            cause=cause,
            probes=PROBES,
            calls=200,
        )
    except CheckFailed as failed:
        sentence = failed.cause
        for words in (UNSTEADY, ONE_OF_TWO):
            sentence = sentence.replace(words, NOISE)
        raise CheckFailed(sentence, failed.detail) from None


@writing_a_test.stage("frequencies", points=1.5)
def test_a_test_stops_other_shares(student, rng):
    ask_test(
        student,
        "shares",
        rng,
        "A sampler that draws likely tokens too often or too rarely passes your test: compare each"
        " count with n p, for probabilities that are far from equal.",
    )


@writing_a_test.stage("positions", points=1.5)
def test_a_test_stops_probabilities_at_other_places(student, rng):
    ask_test(
        student,
        "places",
        rng,
        "A sampler that gives probabilities to other tokens, leaves the first or last one out, or"
        " draws a token of probability 0 passes your test: ask about probabilities that all differ,"
        " one of them 0, in more than one order.",
    )


@writing_a_test.stage("total", points=0.5)
def test_a_test_stops_lost_draws(student, rng):
    ask_test(
        student,
        "total",
        rng,
        "A sampler that loses or adds a draw, or returns a count too many, passes your test: look"
        " at the sum of the counts and at their number.",
    )


@writing_a_test.stage("spread", points=1.5)
def test_a_test_stops_what_is_no_chance(student, rng):
    ask_test(
        student,
        "spread",
        rng,
        "A sampler whose counts are not those of chance passes your test: call it some twenty times"
        " with the same arguments, and look at the standard deviation of one count, from below and"
        " from above.",
    )


short_answer(
    "09.likeliest_text",
    points=4,
    see=f"{BOOK}/beam#is-the-most-probable-text-better",
    rubric={
        "people": (
            1,
            (
                "says that people's text is not the most probable: its surprise varies from word to"
                " word and is higher in the mean than that of searched text, or that a text in"
                ' which every word can be foreseen tells nothing (half for a mere "people are more'
                ' creative")'
            ),
        ),
        "loops": (
            1,
            (
                "explains the circles: a phrase in the text makes the same phrase more probable,"
                " each"
                " round more, and greedy or beam search has nothing that leads out (half if"
                " repetition is named without why it feeds itself)"
            ),
        ),
        "task": (
            1,
            (
                "tells apart tasks: where little is left open, as in translation, the most"
                " probable text is"
                " near to what is wanted; where many texts are right, as in a story, it is not"
                " (half without the reason)"
            ),
        ),
        "remedy": (
            1,
            (
                "names a remedy and its price: a draw leaves the circle, but from the long tail it"
                " takes unlikely tokens and wanders off, so the tail is cut by top-k, top-p or a"
                " temperature; or a penalty on tokens of the text, which also forbids what has"
                " to be"
                " repeated (half without the price)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "The model is too small and was not trained long enough. A larger model with beam"
            " search would write the best text, because more beams always find better texts. Also"
            " the temperature was wrong.",
            {},
            "Wider beams find more probable texts, and those are worse here. Nothing about people's"
            " text, of circles, or of tasks.",
        ),
        Sample(
            "Half",
            'Because greedy repeats itself: "the LORD said, the LORD said". People don\'t write'
            " like that, they are creative. You should use top-p sampling with 0.9 instead, then it"
            " does not repeat.",
            {"people": 0.5, "loops": 0.5, "remedy": 0.5},
            'Repetition is named without why it continues. "Creative" without a word on surprise is'
            " half. A remedy without its price is half.",
        ),
        Sample(
            "Good",
            "The most probable next word is by definition the least surprising, and a text of"
            " only such"
            " words carries no news; in people's text surprising words stand between foreseeable"
            " ones. A phrase that occurred twice is likely to come a third time, so the model is"
            " more and more sure of the circle it is in, and argmax never leaves it. Drawing does"
            " leave it.",
            {"people": 1, "loops": 1, "remedy": 0.5},
            "Both reasons in full. The remedy has no price, and the task plays no part.",
        ),
        Sample(
            "Strong",
            "A text has to be likely as a whole, but people's words are a mix: measured bits go up"
            " and down, 4 or 5 on average, where beam search stays under 2. Search also falls into"
            " circles, because what stands in the text twice is predicted a third time with more"
            " certainty. For translation that matters little: the source leaves few good answers,"
            " all near the mode, so beams help. For a story thousands of continuations are right"
            " and the mode is none that anybody would write. So one draws, and since the thousands"
            " of unlikely tokens together have a real share, one cuts them off with top-p, at the"
            " price that some rare right words are gone too.",
            {"people": 1, "loops": 1, "task": 1, "remedy": 1},
            "All four rows, with the price of the remedy.",
        ),
    ],
)
