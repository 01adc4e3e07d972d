"""A class of cheap, honest hand-ins to any number of assignments: for benches that ask what many of
them cost, and not what the checks do.

Each hand-in has one exercise of its chapter solved, by the reference or by a known mistake, or
none; and a written answer in six of ten. CHEAP are exercises that earn all their points when
nothing else of the chapter is solved, and that are judged in a fraction of a second (in 13 and 14,
where a notebook starts Triton's interpreter, in two). Two of a hundred are not handed in, as in any
class.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.authoring.catalogue import assignments
from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.authoring.student_notebook import ANSWER, Notebook, manual_ids
from autograder.checks.mistakes.registry import mistakes_of
from autograder.grading.assignment import Assignment, load_assignment

CHEAP = {
    "01": (
        "predict_sizes",
        "keep_probability",
        "glove_weight",
        "cbow_scores",
        "noise_distribution",
        "ppmi",
    ),
    "02": ("first_merge", "byte_decode", "wordpiece", "expected_counts", "byt5_ids", "bpe_split"),
    "03": ("both_targets", "letter_patterns", "kneser_ney", "mix_layers", "judge"),
    "04": ("predict_block", "sinusoids", "rotate", "masks"),
    "05": ("repair_head", "predict_parameters", "pair_input", "sentence_pairs"),
    "06": ("matthews", "squad_scores", "align_tags", "mean_pool", "ndcg_at", "rates"),
    "07": ("albert_sizes", "asked_share", "who_sees", "soft_loss", "electra_loss"),
    "08": ("gpt_sizes", "task_rows", "next_token_loss"),
    "09": ("predict_reading", "repair_padding", "penalise", "keep_top_k"),
    "10": ("predict_lora", "clipped_loss", "dpo_loss"),
    "11": ("count_pairs", "geglu", "lay_rows", "pack_rows", "local_mask"),
    "12": ("predict_cache", "predict_llama", "to_halves", "dead_units"),
    "13": ("predict_traffic", "merge"),
    "14": ("predict_pool", "Blocks", "PrefixCache"),
    "15": ("predict_steps", "prepare", "sse"),
    "16": ("counterexamples", "weigh_models", "step_bytes", "broken_block", "seven_masks"),
    "17": ("sum_reward", "wilson_interval", "training_mix", "predict_loss"),
}
SOLVED, MISTAKEN, WRITTEN, MISSING = 0.45, 0.3, 0.6, 0.02  # the rest of the exercises is untouched
MISTAKES = 6  # of an exercise, the first ones


@dataclass(frozen=True)
class HandIn:
    """What one student handed in of one assignment, and the points that the checks must give for
    it: these, or, with `or_less`, at most these, where the mistake is in a helper and may cost what
    hangs on it.
    """

    student: str
    assignment: str
    exercise: str = ""
    mistake: str = ""
    written: bool = False
    points: float = 0.0
    or_less: bool = False

    def deserves(self, points: float) -> bool:
        """Whether these points are right."""
        return points <= self.points if self.or_less else points == self.points


def make_class(
    folder: Path, students: int, numbers: list[str], seed: int, secret: bytes
) -> list[HandIn]:
    """Write STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb for each that is handed in; the same bytes for the
    same arguments.

    What a student hands in depends on no other student: the first of a class of 300 are those of a
    class of 6.
    """
    made = []
    for number in numbers:
        assignment = load_assignment(number)
        for place in range(students):
            draw = random.Random(f"{seed} {number} {place}")
            if draw.random() >= MISSING:
                one, notebook = hand_in(f"student-{place + 1:04}", assignment, draw, secret)
                path = folder / one.student / assignment.name / f"{assignment.name}.ipynb"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(notebook.data())
                made.append(one)
    return made


def hand_in(
    student: str, assignment: Assignment, draw: random.Random, secret: bytes
) -> tuple[HandIn, Notebook]:
    """One of them, in the notebook as this student got it: with the faults that the secret draws
    for them.
    """
    notebook = Notebook(assignment)
    notebook.nb = nbformat.from_dict(
        json.loads(json.dumps(assignment.pristine_of(student, secret)))
    )
    kind, short = draw.random(), draw.choice(CHEAP[assignment.number])
    exercise, mistake, points = assignment.exercises[f"{assignment.number}.{short}"], None, 0.0
    if kind < SOLVED + MISTAKEN:
        source, points = reference_sources(assignment)[short], float(exercise.points)
        known = [
            one
            for one in mistakes_of(exercise.id)
            if has_source(one.function) and not one.remembers
        ][:MISTAKES]
        if kind >= SOLVED and known:
            mistake = draw.choice(known)
            source, points = (
                with_function(source, mistake.function, mistake.replaces),
                points - mistake.loses,
            )
        notebook.write(short, f"{source}\n\n# {student}")  # so that no two hand-ins are the same
    written = draw.random() < WRITTEN
    for grade_id in manual_ids(assignment) if written else ():
        notebook.write(grade_id, f"{ANSWER} ({student})")
    return (
        HandIn(
            student,
            assignment.name,
            exercise.id if kind < SOLVED + MISTAKEN else "",
            mistake.name if mistake else "",
            written,
            points,
            or_less=bool(mistake) and mistake.replaces != exercise.function,
        ),
        notebook,
    )


def full_notebooks(folder: Path, numbers: list[str], secret: bytes) -> Iterator[Path]:
    """One student's reference solutions of everything, an assignment at a time: what a whole
    notebook costs.
    """
    for number in numbers:
        assignment = load_assignment(number)
        notebook = Notebook(assignment)
        notebook.nb = nbformat.from_dict(
            json.loads(json.dumps(assignment.pristine_of("full", secret)))
        )
        path = folder / "full" / assignment.name / f"{assignment.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook.solve().data())
        yield path


def all_numbers() -> list[str]:
    """The numbers of all assignments."""
    return [one.number for one in assignments()]
