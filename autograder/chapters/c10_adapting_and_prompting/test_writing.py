"""Checks of chapter 10, parts 1 and 5: a test of labels, and the short answer."""

import torch

from autograder.chapters.c10_adapting_and_prompting.label_candidates import (
    MISTAKEN,
    POOR,
    PROBES,
    RIGHT,
    WRONG,
)
from autograder.chapters.c10_adapting_and_prompting.withholding import LIBRARIES, OURS
from autograder.checks.protocol import Sample, exercise, expect_catches, short_answer

BOOK = "10-adapting-and-prompting"

writing_a_test = exercise(
    "10.test_labels",
    function="test_labels",
    points=5,
    kind="write-test",
    see=f"{BOOK}/instruction-tuning#pitfalls",
    withhold=OURS | LIBRARIES,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right makers and the wrong ones of a kind."""
    expect_catches(
        student.test_labels,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES,
        mistaken=MISTAKEN,
        poor=POOR,
        calls=50,
    )


@writing_a_test.stage("answers", points=1.5)
def test_a_test_stops_answers_that_are_not_learned(student, rng):
    ask_test(
        student,
        "answers",
        rng,
        "A maker that leaves out a part of the answers, or puts their labels at other positions,"
        " passes your test: compare each token of each answer, of every chat, with 0 and with `END`"
        " as padding.",
    )


@writing_a_test.stage("ends", points=1.5)
def test_a_test_stops_answers_that_never_end(student, rng):
    ask_test(
        student,
        "ends",
        rng,
        "A maker whose answers do not learn their `END` passes your test: look at the end of every"
        " answer of every chat, with 0 and with `END` as padding.",
    )


@writing_a_test.stage("others", points=1)
def test_a_test_stops_labels_elsewhere(student, rng):
    ask_test(
        student,
        "others",
        rng,
        "A maker that learns more than the answers passes your test: at questions, system messages,"
        " marks, roles, line ends and padding every label is -100.",
    )


@writing_a_test.stage("rows", points=1)
def test_a_test_stops_other_rows(student, rng):
    ask_test(
        student,
        "rows",
        rng,
        "A maker with other rows passes your test: without its padding a row of ids is the chat,"
        " token by token and in the order of the chats, and all rows are equally long.",
    )


short_answer(
    "10.no_step",
    points=4,
    see=f"{BOOK}/grpo#by-hand-the-group-replaces-the-critic",
    rubric={
        "no comparison": (
            1,
            (
                "says why there is no step: an advantage compares an answer with its siblings, all"
                " equal their mean, so each is 0 and so is the gradient of the clipped part; and"
                " that eight wrong answers teach as little (half without the wrong ones)"
            ),
        ),
        "what acts": (
            1,
            (
                "says that only the distance to the reference, k3, still has a gradient in such a"
                " group, and that it pulls the policy back towards the model before: to leave it"
                " running is not neutral (half for naming k3 without its direction)"
            ),
        ),
        "cost": (
            1,
            (
                "says what is paid: all answers were sampled and scored for nothing, so that a"
                " batch of 64 questions has as few groups to learn from as are mixed; or that a"
                " flat reward on these questions says nothing of harder ones"
            ),
        ),
        "instead": (
            1,
            (
                "proposes questions of which the model gets some right and some wrong (harder ones,"
                " or leaving out groups that are all alike and sampling others), or a reward that"
                " tells right answers apart, with the reason that groups must differ inside; or"
                " more answers for hard questions, where one in many is right, and not for those"
                " that are solved (half without a reason)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "Advantages of 0 mean that the model has converged, that is good. She should lower the"
            " learning rate and train a bit longer, then it becomes more stable, and 16 answers"
            " give a better mean.",
            {},
            "Takes no gradient for success. None of the rows.",
        ),
        Sample(
            "Half",
            "The advantage is the reward minus the mean divided by the deviation. If all rewards"
            " are 1, it is 0, so the policy gradient is 0. The KL term is still there. She should"
            " stop training.",
            {"no comparison": 0.5, "what acts": 0.5},
            "Row 1 without the groups that are all wrong; row 2 without the direction. No cost, and"
            " stopping is no way to learn more.",
        ),
        Sample(
            "Good",
            "No answer is better than its siblings, so all advantages are 0; the same happens when"
            " all eight are wrong. In these groups only the KL term acts and pulls the model back"
            " to the reference. She pays for 512 answers and learns from a few groups. I would take"
            " harder questions.",
            {"no comparison": 1, "what acts": 1, "cost": 1, "instead": 0.5},
            "Rows 1 to 3 in full. *Harder questions* has no reason: why should they help?",
        ),
        Sample(
            "Strong",
            "GRPO knows no good answers, only better ones. Eight right ones are all equal to their"
            " mean, so nothing is pushed, and eight wrong ones teach exactly as little. What is"
            " left in such a group is k3: its gradient leads back to the reference, away from what"
            " was learned. So running on can make it worse, and if 56 of 64 groups are like that,"
            " seven of eight samples are thrown away. Sixteen answers to a solved question are"
            " sixteen right ones. I would drop questions that are always solved, or never, and draw"
            " others until the batch is full of mixed groups, because only a group with different"
            " rewards says which way to go; more answers each only for those that are solved once"
            " in twenty tries.",
            {"no comparison": 1, "what acts": 1, "cost": 1, "instead": 1},
            "All four rows, each with its reason.",
        ),
    ],
)
