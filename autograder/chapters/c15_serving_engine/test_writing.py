"""Checks of chapter 15, part 4: a test of a report on speed, and the short answer."""

import torch

from autograder.chapters.c15_serving_engine.load_reports import MISTAKEN, POOR, PROBES, RIGHT, WRONG
from autograder.chapters.c15_serving_engine.withholding import OURS, RIVALS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

BOOK = "15-serving-engine"

writing_a_test = exercise(
    "15.test_load",
    function="test_load",
    points=5,
    kind="write-test",
    see=f"{BOOK}/load#five-numbers-and-whose-they-are",
    withhold=OURS | RIVALS,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right reports and the wrong ones of a kind."""
    expect_catches(
        student.test_load,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=300,
    )


@writing_a_test.stage("clock", points=1.5)
def test_a_test_stops_the_wrong_clock(student, rng):
    ask_test(
        student,
        "clock",
        rng,
        (
            "A report that measures from `sent` passes. Send all requests late, some"
            " warm-up only after `begin`, with and without failures; check `first_p95` and"
            " `per_second`."
        ),
    )


@writing_a_test.stage("tail", points=1.5)
def test_a_test_stops_the_wrong_tail(student, rng):
    ask_test(
        student,
        "tail",
        rng,
        (
            "A report with another percentile, the mean, or without failed requests passes. Use"
            " every number of requests up to 60, with and without failures."
        ),
    )


@writing_a_test.stage("tokens", points=2)
def test_a_test_stops_wrong_tokens(student, rng):
    ask_test(
        student,
        "tokens",
        rng,
        (
            "A report passes that counts warm-up or padding, omits the request due at `begin`, or"
            " averages TPOT wrongly. Mix one-token answers and different TPOT."
        ),
    )


short_answer(
    "15.faster",
    points=4,
    see=f"{BOOK}/scheduling#equal-memory-equal-answers",
    rubric={
        "rival": (
            1,
            (
                "asks faster than what: names the rival and how it was set up (one at a time, fixed"
                " batches, a library; padded or not), the same memory and the same answers (half"
                " without any example)"
            ),
        ),
        "load": (
            1,
            (
                "asks for the load and the machine: lengths of prompts and answers and how requests"
                " arrive, model, precision, memory or GPU; two at least of these (half for one), or"
                " knows that the 2.2 was measured where several answers share a prompt's blocks"
                " (parallel sampling, beam search)"
            ),
        ),
        "cases": (
            1,
            (
                "gives a case in which continuous batching gains much (lengths that differ, many"
                " waiting) and one in which it gains nothing (equal lengths, a single user, an"
                " order by length), with numbers or a reason (half for one of them)"
            ),
        ),
        "user": (
            1,
            (
                "says that throughput is not what a user feels: the first token, the time between"
                " tokens, the tail (p95), failures, under a stated rate of arrivals (half for"
                " 'latency' alone)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "It is true. vLLM uses PagedAttention and continuous batching, which make it faster"
            " than other libraries because the GPU is always busy. I would use it.",
            {},
            "Repeats the sentence and gives the mechanisms by name. None of the rows.",
        ),
        Sample(
            "Half",
            "2.2 times compared with what? It depends on the GPU and on the model. If all answers"
            " are equally long, continuous batching brings nothing. One should also look at the"
            " latency.",
            {"rival": 0.5, "load": 0.5, "cases": 0.5, "user": 0.5},
            "Each row is touched: the rival without an example, the machine without the load, one"
            " case, latency alone.",
        ),
        Sample(
            "Good",
            "The rival is missing: one request at a time, or fixed batches in the same memory? So"
            " are the lengths, how requests come, model and GPU. With every tenth answer ten times"
            " as long, fixed batches took 2000 steps here and continuous ones 500; sorted by length"
            " both took 380. I would also ask what happened to users.",
            {"rival": 1, "load": 1, "cases": 1},
            "Rows 1 to 3 in full, with numbers of the notebook. What a user feels is announced and"
            " not said.",
        ),
        Sample(
            "Strong",
            "Faster than which rival, with which batch, padding and memory, and with the same"
            " answers? For which lengths and arrivals, on which model and GPU? The 2.2 comes from"
            " sharing the blocks of a prompt among several samples and beams: who sends one prompt"
            " for one answer shares nothing. By exercise 1, answers of 8, 4, 3, 1 in two slots need"
            " 8 steps and not 11; answers of equal length need the same number either way. Next to"
            " throughput I want the p95 of the first token from when the request was due, the"
            " time between tokens, and how many failed, at a stated rate.",
            {"rival": 1, "load": 1, "cases": 1, "user": 1},
            "All four rows, each concrete.",
        ),
    ],
)
