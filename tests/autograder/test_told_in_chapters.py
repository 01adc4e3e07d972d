"""What typical wrong answers are told in the chapters' exercises: false or missing explanations
that students met.
"""

import pytest
import torch
from torch.nn.functional import cross_entropy

from autograder.authoring.implementations import reference
from autograder.chapters.c05_bert_pretraining.mistakes_blanks import _changed, _chosen
from autograder.chapters.c08_gpt.mistakes_model import Base
from autograder.checks.exercise import exercises_of
from autograder.checks.messages import MOST, first_failure, sentences
from autograder.checks.protocol import run_exercise
from autograder.checks.results import ExerciseResult, StageResult
from autograder.checks.student.local import LocalStudent, OurNamespace
from autograder.classroom.gradebook.grades import HandGrades
from autograder.classroom.reports.feedback import feedback_page
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import Verdict


def told(id, function) -> list[str]:
    exercise = exercises_of(id[:2])[id]
    found = run_exercise(
        exercise, LocalStudent(OurNamespace({**reference(id[:2]), exercise.function: function}))
    )
    for stage in found.stages:
        assert sum(map(len, sentences(stage))) + len(stage.detail) <= MOST, stage
    return sentences(first_failure(found.stages))


class WithBuffer(Base):
    def __init__(self, V, P, C, L, H, norm_first=True):
        super().__init__(V, P, C, L, H, norm_first)
        self.register_buffer("mask", torch.ones(P, P).tril())


class WithoutAttentionsResidual(Base):
    def step(self, block, x):
        if not self.norm_first:
            x = block["norm_1"](self.attend(block, x))
            return block["norm_2"](x + self.think(block, x))
        x = self.attend(block, block["norm_1"](x))
        return x + self.think(block, block["norm_2"](x))


def test_a_buffer_is_named_beside_the_output_matrix_that_looks_alike():
    said = told("08.GPT", WithBuffer)[0]
    assert "or a mask kept as a buffer" in said and "persistent=False" in said


def test_a_forgotten_residual_is_named():
    assert "residual connection around attention" in told("08.GPT", WithoutAttentionsResidual)[0]


def test_parameters_that_may_be_missing_in_two_ways_are_named_both():
    said = told(
        "08.gpt_sizes",
        lambda V, P, C, L, H, norm_first: {
            "embeddings": (V + P) * C,
            "block": 12 * C * C + 9 * C,
            "total": (V + P) * C + L * (12 * C * C + 9 * C) + 2 * C * norm_first,
        },
    )
    assert "either the two norms, or the biases" in said[0]


def test_labels_at_every_place_are_named():
    def mask_tokens(ids, special, order, fate, others, mask_id):
        return _changed(ids, _chosen(special, order), fate, others, mask_id), ids.clone()

    assert told("05.mask_tokens", mask_tokens)[0].startswith("You label every position")


@pytest.mark.parametrize(
    ("id", "function", "cause"),
    [
        (
            "05.pair_input",
            lambda a, b, cls, sep, n: ([cls, *a, sep, *b], [0] * (len(a) + 2) + [1] * len(b)),
            "Everything fits here:",
        ),
        (
            "08.task_rows",
            lambda task, texts, markers, pad: (
                torch.tensor([[markers[0], *texts[0]]]),
                torch.tensor([len(texts[0])]),
            ),
            "One text: the start marker",
        ),
        (
            "09.generate",
            lambda model, prompt, most, end: [int(model(torch.tensor([prompt]))[0, -1].argmax())],
            "Each new token is put",
        ),
        ("10.chat_example", lambda chat, encode, start, end: ([start], [-100]), ""),
    ],
)
def test_a_wrong_length_or_shape_keeps_the_cause_of_its_stage(id, function, cause):
    said = " ".join(told(id, function))
    assert cause in said and not said.startswith(
        ("Your result has", "Your list", "Your ids has")
    ), said


def test_a_mean_over_the_wrong_number_has_no_guess_before_the_mistake():
    def over_all_rows(logits, ids, mask):
        return cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    assert told("08.next_token_loss", over_all_rows)[0].startswith("You ignore `mask`")


def test_the_feedback_page_has_the_notebooks_order_and_only_names_what_follows():
    stages = [
        StageResult("growth", 1, 0.0, "wrong", "The stage's cause.", "numbers", "A known mistake."),
        StageResult("limit", 1, 0.0, "wrong", "A later cause."),
        StageResult("dtype", 1, 1.0, "passed"),
    ]
    result = ExerciseResult("01.glove_weight", 3, 1.0, stages)
    page = feedback_page(
        load_assignment("01"),
        Verdict("ada", "01-static-embeddings", "", "", results=[result.to_json()]),
        HandGrades(),
    )
    for part in (page[: page.index("At a glance")], page[page.index('id="glove_weight"') :]):
        assert "A known mistake." in part
    assert "This may follow from it: limit." in page
    assert "The stage's cause." not in page and "A later cause." not in page


def test_the_feedback_page_says_the_cause_of_another_functions_failure():
    stages = [
        StageResult("wrong line", 1, 0.0, "wrong", "Trace it.", subject="wrong_line"),
        StageResult("residual connections", 4, 0.0, "wrong", "Add to x.", subject="block"),
    ]
    page = feedback_page(
        load_assignment("04"),
        Verdict(
            "ada",
            "04-attention-and-the-transformer",
            "",
            "",
            results=[ExerciseResult("04.block", 5, 0.0, stages).to_json()],
        ),
        HandGrades(),
    )
    section = page[page.index('id="block"') :]
    assert "Trace it." in section and "Add to x." in section and "may follow" not in section
