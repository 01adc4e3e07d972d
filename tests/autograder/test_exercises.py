"""What every exercise owes: right answers pass, mistakes are caught as meant, junk earns nothing.

A right answer is asked with the visible seed and with two hidden ones, a mistake with one hidden
one, both with five in `make test-slow`, and each result must be the same. A mistake earns the same
points under forty seeds, in `make test-slow` and `course author prove`; three of these are tried
each time.

A sample is tried here, and every case in `course author prove` and `make test-slow`: one mistake in
24, and one of eight of what is expensive otherwise. The sample is twice as large where an
exercise's own code has changed since `course author prove` tried all of them.
"""

import inspect
import os
import random
import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import torch
from docutils.nodes import make_id

from autograder.authoring.asked import asked
from autograder.authoring.catalogue import ROOT, assignment, assignments, folder_of
from autograder.authoring.idle import idle, one_size
from autograder.authoring.implementations import from_file, namespace_of
from autograder.authoring.mutants import solution_of
from autograder.authoring.notebooks import build, stale
from autograder.authoring.proven import (
    EVERY,
    SEEDS,
    proven,
    sampled,
)
from autograder.authoring.wrappers import WRAPPERS, wrapped
from autograder.checks.mistakes.registry import alternatives_of, mistakes_of
from autograder.checks.protocol import LocalStudent, rng_for, run_exercise
from autograder.checks.student.local import OurNamespace

ASSIGNMENTS = assignments()
CHECKED = [one for assignment in ASSIGNMENTS for one in assignment.exercises.values() if one.stages]
FUNCTIONS = [one for one in CHECKED if one.kind == "function"]
MISTAKES = [(one, mistake) for one in CHECKED for mistake in mistakes_of(one.id)]
ALTERNATIVES = [(one, other) for one in CHECKED for other in alternatives_of(one.id)]
SECRETS = [b""] + [f"secret {number}".encode() for number in range(5)]
FEW, FEWER = SECRETS[:3], SECRETS[:2]
MANY = [b"", *(f"secret {number}".encode() for number in range(SEEDS - 1))]
# The same three each time: a test that draws others could fail for what nobody changed.
MANY_OR_DRAWN = (
    [pytest.param(MANY, id="forty seeds")]
    if os.environ.get(EVERY)
    else [
        pytest.param(random.Random("three").sample(MANY, 3), id="three seeds"),
        pytest.param(MANY, id="forty seeds", marks=pytest.mark.long),
    ]
)
PROVEN = {id for assignment in ASSIGNMENTS for id in proven(assignment)}


def each_seed(few: list[bytes]):
    return pytest.mark.parametrize(
        "secrets",
        [
            pytest.param(few, id=f"{len(few)} seeds"),
            pytest.param(SECRETS, id="all seeds", marks=pytest.mark.long),
        ],
    )


each_exercise = pytest.mark.parametrize("exercise", CHECKED, ids=lambda one: one.id)
each_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda one: one.name)


def marks(exercise, case: str, share: int) -> tuple:
    """The marks of a case: none if it is tried each time, `long` if only `make test-slow`
    tries it.
    """
    if os.environ.get(EVERY):
        return ()
    if exercise.id not in PROVEN:
        share //= 2
    return () if sampled(f"{exercise.id} {case}", share) else (pytest.mark.long,)


def of_each_exercise(case: str):
    """Parametrizes a dear test."""
    return pytest.mark.parametrize(
        "exercise", [pytest.param(one, id=one.id, marks=marks(one, case, 8)) for one in CHECKED]
    )


def named(pairs, share: int = 24) -> list:
    return [
        pytest.param(
            *pair, id=f"{pair[0].id} {pair[1].name}", marks=marks(pair[0], pair[1].name, share)
        )
        for pair in pairs
    ]


def seeded(exercise, secret: bytes):
    """From a stage's name to its generator under a secret; None for b"", the visible seed."""
    return (lambda stage: rng_for(exercise.id, stage, "ada", secret=secret)) if secret else None


def results(exercise, namespace, secrets) -> list:
    """One result per secret; b"" is the visible seed."""
    return [
        run_exercise(exercise, LocalStudent(namespace), seeded(exercise, secret))
        for secret in secrets
    ]


@cache
def verdict(id: str, name: str, secret: bytes):
    """What one mistake gets with one secret, worked out once for all tests of this file."""
    exercise = next(one for one in CHECKED if one.id == id)
    return results(exercise, namespace_of(f"mistake:{name}", exercise), [secret])[0]


def verdicts(exercise, mistake, secrets) -> list:
    return [verdict(exercise.id, mistake.name, secret) for secret in secrets]


@each_assignment
def test_the_notebook_and_the_checks_agree(assignment):
    assert assignment.problems() == []


@each_assignment
def test_the_committed_notebook_is_what_the_sources_give_and_leaks_nothing(assignment):
    assert stale(assignment) == ""


@each_assignment
def test_every_exercise_has_three_hints(assignment):
    for id in assignment.exercises:
        hints = assignment.hints(id)
        assert len(hints) == 3 and all(hint.title and hint.text for hint in hints), id


def card(assignment, id: str) -> str:
    return assignment.cells[f"{id.split('.')[1]}-card"][0].source


EACH = ("Difficulty", "Time", "Paper")
# in the second edition's form
ITEMS = {f"{number:02}": ("Why.", *EACH) for number in range(1, 18)}


@each_assignment
def test_a_card_says_purpose_difficulty_time_paper_and_the_right_points(assignment):
    for id, exercise in assignment.exercises.items():
        text = card(assignment, id)
        for item in ITEMS.get(assignment.number, ("What it is for", *EACH, "Needs")):
            assert f"**{item}**" in text, id
        assert re.search(r"\*\*Points\*\* (\d+)", text).group(1) == f"{exercise.points:g}", id


@pytest.mark.parametrize(
    "assignment", [one for one in ASSIGNMENTS if one.number in ITEMS], ids=lambda one: one.name
)
def test_a_statement_has_a_signature_an_example_few_rules_and_folded_fine_print(assignment):
    for id, exercise in assignment.exercises.items():
        text = card(assignment, id)
        shown, *folded = text.split("<details>")
        titles = [part.split("</summary>")[0].strip().removeprefix("<summary>") for part in folded]
        assert all(title.startswith("Hint") or title == "Fine print" for title in titles), id
        if exercise.kind == "manual":
            continue
        rules = re.findall(r"^\d\. ", shown.split("**Rules**")[1], re.MULTILINE)
        assert 2 <= len(rules) <= 5 and "**By hand.**" in shown.replace("hand**", "hand.**"), id
        assert f"`{exercise.function}(" in shown and titles[-1] == "Fine print", id


@each_assignment
def test_a_notebook_begins_with_half_a_screen_folded_fine_print_and_the_progress(assignment):
    head = assignment.cells["intro"][0].source
    shown, *folded = head.split("<details>")
    assert len(folded) == 1 and folded[0].startswith("<summary>Fine print</summary>")
    assert folded[0].endswith("</details>")
    assert len(shown.split()) < 265  # half a screen, table included
    assert "**How it works.**" in shown and "**Symbols.**" in shown
    names = list(assignment.cells)
    assert names[:3] == ["intro", "setup", "progress"]
    assert f'progress("{assignment.number}")' in assignment.cells["progress"][0].source


@each_assignment
def test_the_table_of_parts_and_the_sentence_above_it_add_up_the_cards(assignment):
    text = assignment.cells["intro"][0].source
    table = re.findall(r"\| (\d+)(?: to (\d+))? \| (\d+) \| (\d+) \|", text)
    cards = [card(assignment, id) for id in assignment.exercises]
    for first, last, minutes, points in table:
        part = cards[int(first) - 1 : int(last or first)]
        assert sum(int(re.search(r"\*\*Time\*\* (\d+)", text).group(1)) for text in part) == int(
            minutes
        )
        assert sum(int(re.search(r"\*\*Points\*\* (\d+)", text).group(1)) for text in part) == int(
            points
        )
    assert int(table[-1][1] or table[-1][0]) == len(cards)
    assert f"There are {len(cards)} exercises and {assignment.points:g} points" in text


@each_assignment
def test_every_exercise_links_a_heading_that_its_page_has(assignment):
    for id, exercise in assignment.exercises.items():
        page, _, anchor = exercise.see.partition("#")
        headings = re.findall(
            r"^#+ (.*)$", (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE
        )
        assert anchor in {make_id(heading.replace("*", "")) for heading in headings} | {""}, id


@each_exercise
@each_seed(FEW)
def test_the_reference_gets_every_point(exercise, secrets):
    for result in results(exercise, namespace_of("reference", exercise), secrets):
        assert result.earned == exercise.points, result


@pytest.mark.parametrize(("exercise", "other"), named(ALTERNATIVES, share=8))
@each_seed(FEW)
def test_another_right_answer_gets_every_point(exercise, other, secrets):
    for result in results(exercise, namespace_of(f"alternative:{other.name}", exercise), secrets):
        assert result.earned == exercise.points, result


@pytest.mark.parametrize(("exercise", "mistake"), named(MISTAKES))
@each_seed(FEWER)
def test_a_mistake_is_caught_first_by_its_stage_and_loses_its_points(exercise, mistake, secrets):
    for result in verdicts(exercise, mistake, secrets):
        failed = [stage for stage in result.stages if stage.status not in ("passed", "capped")]
        assert failed and failed[0].name == mistake.caught_by, result
        assert result.points - result.earned == pytest.approx(mistake.loses), result
        assert all(
            stage.status in ("slip", "wrong", "error") and stage.cause for stage in failed
        ), result


def draws(exercise) -> bool:
    """Whether the seed changes anything: a stage without `rng` asks the same each time."""
    return any("rng" in inspect.signature(stage.function).parameters for stage in exercise.stages)


@pytest.mark.parametrize(
    ("exercise", "mistake"), named((one, mistake) for one, mistake in MISTAKES if draws(one))
)
@pytest.mark.parametrize("secrets", MANY_OR_DRAWN)
def test_a_mistake_earns_the_same_points_under_every_seed(exercise, mistake, secrets):
    lost = {}
    for secret in secrets:
        answers = LocalStudent(namespace_of(f"mistake:{mistake.name}", exercise))
        result = run_exercise(exercise, answers, seeded(exercise, secret), mistakes=[])
        lost[secret] = round(result.points - result.earned, 6)
    other = {
        secret: points for secret, points in lost.items() if points != pytest.approx(mistake.loses)
    }
    assert not other, f"registered: {mistake.loses:g}; otherwise with {other}"


@pytest.mark.parametrize(
    ("exercise", "mistake"),
    named((one, mistake) for one, mistake in MISTAKES if one.kind != "write-test"),
)
def test_a_mistake_is_told_its_own_misconception_and_no_other(exercise, mistake):
    """So no two registered mistakes of an exercise answer alike on all of its inputs."""
    for result in verdicts(exercise, mistake, FEWER):
        told = [stage.misconception for stage in result.stages if stage.misconception]
        slip = any(stage.status == "slip" for stage in result.stages)
        assert told == [mistake.misconception] or slip and told == [], result


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda one: one.id)
def test_a_function_exercise_has_six_mistakes_and_two_other_right_answers(exercise):
    assert len(mistakes_of(exercise.id)) >= 6 and len(alternatives_of(exercise.id)) >= 2


@pytest.fixture(scope="module")
def stubs(tmp_path_factory) -> dict:
    """By assignment number: the namespace of a student notebook in which nothing is written yet."""
    folder = tmp_path_factory.mktemp("stubs")
    return {
        one.number: from_file(build(one, folder / "build", folder / "exercises"))
        for one in ASSIGNMENTS
    }


@each_exercise
def test_an_empty_stub_earns_nothing_and_is_told_so_in_a_sentence(exercise, stubs):
    result = results(exercise, stubs[exercise.id[:2]], SECRETS[:1])[0]
    assert result.earned == 0
    for stage in result.stages:
        assert (
            stage.status == "not_attempted" and "is not written yet: replace its" in stage.cause
        ), stage


class EqualsEverything(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True

    def __eq__(self, other):
        return True


JUNK = [
    None,
    True,
    10**5000,
    -1,
    0.0,
    float("nan"),
    "text",
    [],
    (),
    {},
    (None, None, None, None),
    [[1.0]],
    {"parameters": None},
    torch.tensor(0.0),
    torch.zeros(0),
    torch.zeros(3),
    torch.full((3, 3), torch.nan),
    torch.ones(2, 2, dtype=torch.int64),
    torch.ones(3).double(),
    np.zeros(3),
    np.float32(1),
    object(),
    EqualsEverything(),
    torch.ones(2, 2).to_sparse(),
]


@of_each_exercise("junk")
def test_junk_earns_nothing_and_never_trips_a_check(exercise):
    for junk in JUNK:
        functions = {
            name: lambda *args, junk=junk, **kwargs: junk
            for name in (exercise.function, *exercise.also)
        }
        result = results(exercise, functions, SECRETS[:1])[0]
        assert result.earned == 0, (type(junk), result)
        assert all(stage.status == "wrong" and stage.cause for stage in result.stages), (
            type(junk),
            result,
        )


@of_each_exercise("idle")
@pytest.mark.parametrize("secret", SECRETS[:2], ids=["visible", "hidden"])
def test_answers_without_work_earn_nothing(exercise, secret):
    for title, functions in idle(exercise, secret).items():
        result = results(exercise, functions, [secret])[0]
        assert result.earned == 0, (title, result)
        assert all(stage.status != "fault" for stage in result.stages), (title, result)


@of_each_exercise("one size only")
def test_code_for_one_size_only_earns_at_most_half(exercise):
    for title, functions in one_size(exercise).items():
        result = results(exercise, functions, SECRETS[:1])[0]
        assert result.earned <= exercise.points / 2, (title, result)


@of_each_exercise("slip")
def test_a_slip_of_type_or_memory_or_a_changed_argument_costs_a_fifth_at_most(exercise):
    source, calls = solution_of(assignment(exercise.id[:2]), exercise), asked(exercise)
    for name in {call.name for call in calls}:
        for mutant in wrapped(
            source, name, [(call.args, call.value) for call in calls if call.name == name]
        ):
            if mutant.wrapper in ("double", "tensor", "writes", "whole", "buffer"):
                names = namespace_of("reference", exercise)
                ours = OurNamespace({**names, name: WRAPPERS[mutant.wrapper][-1](names[name])})
                for result in results(exercise, ours, SECRETS[:2]):
                    lost = result.points - result.earned
                    assert 0 < lost <= exercise.points / 5 + 1e-9, (mutant.name, result)
                    assert [stage.status for stage in result.stages].count("slip") == 1, (
                        mutant.name,
                        result,
                    )


NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")
WRITTEN = {
    number
    for folder in (ROOT / "autograder" / "checks", ROOT / "autograder" / "chapters")
    for path in folder.rglob("*.py")
    for number in NUMBER.findall(path.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize(("exercise", "mistake"), named(MISTAKES))
def test_what_is_said_of_a_mistake_holds_no_drawn_number(exercise, mistake):
    """In grading the causes are shown and the details are not: each number in a cause was written
    by an author.
    """
    said = {
        text
        for result in verdicts(exercise, mistake, FEWER)
        for stage in result.stages
        for text in (stage.cause, stage.misconception)
    }
    told = {number for text in said for number in NUMBER.findall(text)}
    assert told <= WRITTEN, told - WRITTEN
    # What is seen may differ with the seed, and so the sentence; the same sentence with another
    # number holds a drawn one.
    assert len({NUMBER.sub("#", text) for text in said}) == len(said), said


def run_pytest(number: str, impl: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(folder_of(number)),
            "--impl",
            impl,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ,
    )


@pytest.mark.parametrize(
    "assignment",
    [
        pytest.param(one, id=one.name, marks=pytest.mark.long if one is not ASSIGNMENTS[0] else ())
        for one in ASSIGNMENTS
    ],
)
def test_the_checks_are_ordinary_pytest_tests(assignment):
    done = run_pytest(assignment.number, "reference")
    assert done.returncode == 0, done.stdout
    assert f"{sum(len(one.stages) for one in assignment.exercises.values())} passed" in done.stdout


def test_pytest_fails_on_a_mistake_and_skips_the_exercises_it_is_not_of():
    exercise, mistake = MISTAKES[0]
    done = run_pytest(exercise.id[:2], f"mistake:{mistake.name}")
    assert done.returncode == 1 and "passed" in done.stdout
    others = sum(
        len(one.stages)
        for one in CHECKED
        if one.id[:2] == exercise.id[:2]
        and mistake.name not in {other.name for other in mistakes_of(one.id)}
    )
    assert f"{others} skipped" in done.stdout, done.stdout
