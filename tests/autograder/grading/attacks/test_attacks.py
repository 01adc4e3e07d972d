"""A class of attackers, graded by the command: nobody gains a point, nothing is touched, the batch
ends, each verdict says why.

An attack that gets through answers rightly, and the checks ask what cannot be guessed: so any point
shows. What the attackers could touch is looked at before and after. Two attacks of each family run
every time; all of them belong to `make test-slow`, and `bench/attacks.py` keeps what came of them.
"""

import csv
import json
import os
import time
from pathlib import Path

import pytest

from autograder.classroom.grade_class import grade_class
from autograder.common.safe_names import safe_name
from autograder.grading.grade import Verdict
from autograder.grading.results_store import load_verdict
from autograder.sandbox.backends.base import ProcessBackend
from autograder.sandbox.selftest.bait import REPOSITORY, Bait
from tests.autograder.grading.attacks.attack import Attack
from tests.autograder.grading.attacks.conftest import (
    NAME,
    Snapshot,
    end_those_that_were_left,
    gradebook_of,
    snapshot,
)
from tests.autograder.grading.attacks.documents import SPECIAL
from tests.autograder.grading.attacks.recorded import PAGE, page, row
from tests.autograder.grading.attacks.table import ATTACKS, CONTROLS, a_few_of_each

pytestmark = [pytest.mark.sandbox]
RECORD = REPOSITORY / "bench" / "results" / "attacks.json"
HONEST = ["honest-1", "honest-2"]  # graded before the attackers come
INNOCENT = ["g-innocent", "p-innocent", "zz-innocent"]  # graded among them


class Class:
    """A course root, what was handed in, the bait; the attackers are graded once."""

    def __init__(self, folder: Path, root: Path, bait: Bait, notebook, backend: object = None):
        self.submitted, self.root, self.report, self.bait, self.notebook = (
            folder / "in",
            root,
            folder / "report",
            bait,
            notebook,
        )
        self.backend = backend
        for name in HONEST:
            self.put(name, f"{NAME}/{NAME}.ipynb", notebook())
        self.grade()

    def put(self, student: str, inner: str, data: bytes) -> Path:
        """One file of a student's; "" or ".zip" stands in the place of the folder."""
        path = (
            self.submitted / (student + inner)
            if inner in ("", ".zip")
            else self.submitted / student / inner
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def hand_in(self, attack: Attack) -> None:
        """All copies of an attack."""
        facts = self.bait.facts() | {"submitted": str(self.submitted), "course": str(self.root)}
        for copy in range(attack.copies):
            student = attack.student + f"-{copy}" * (attack.copies > 1)
            made = (
                attack.entry(self.notebook)
                if attack.entry
                else {
                    f"{NAME}/{NAME}.ipynb": self.notebook(
                        f"FACTS = {facts!r}\n" * ("FACTS" in attack.source) + attack.source,
                        attack.function,
                    )
                }
            )
            for inner, data in made.items():
                path = self.put(student, inner, data)
                if student in SPECIAL:
                    path.unlink()
                    SPECIAL[student](path)

    def grade(self) -> None:
        """As an instructor does."""
        self.summary = grade_class(
            self.submitted, NAME, self.root, self.report, jobs=2, backend=self.backend
        )

    def verdict(self, student: str) -> Verdict:
        """Of one student."""
        return load_verdict(self.root, NAME, safe_name(student))


@pytest.fixture(scope="module")
def bait():
    with Bait() as laid_out:
        yield laid_out


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(a_few_of_each, id="two of each family"),
        pytest.param(lambda: ATTACKS, id="all", marks=pytest.mark.long),
    ],
)
def attacked_class(request, attacked, notebook, new_root, bait, tmp_path_factory):
    """The class after the attack, with what was there before and what is there after; and the
    attacks.
    """
    folder = tmp_path_factory.mktemp("attacked-class")
    graded = Class(folder, new_root(folder / "course"), bait, notebook)
    graded.attacks = request.param()
    for attack in graded.attacks:
        graded.hand_in(attack)
    for name in INNOCENT:
        graded.put(name, f"{NAME}/{NAME}.ipynb", notebook())
    graded.before, begun = snapshot(graded.root, graded.submitted, HONEST), time.monotonic()
    graded.grade()
    graded.after = snapshot(graded.root, graded.submitted, HONEST)
    if "W2S_ATTACKS_RECORD" in os.environ and request.param() == ATTACKS:
        verdicts = {
            attack: [one for name in students(attack) if (one := graded.verdict(name))]
            for attack in ATTACKS
        }
        Path(os.environ["W2S_ATTACKS_RECORD"]).write_text(
            json.dumps(
                {
                    "seconds": round(time.monotonic() - begun),
                    "isolation": graded.summary.isolation,
                    "touched": touched(graded.before, graded.after),
                    "attacks": [
                        row(attack, some, "\n".join(map(text_of, some)))
                        for attack, some in verdicts.items()
                    ],
                }
            )
        )
    return graded


def touched(before: Snapshot, after: Snapshot) -> list[str]:
    """What is not as it was: paths, and the kinds of everything else."""
    files = sorted(
        path
        for path in before.files.keys() | after.files
        if before.files.get(path) != after.files.get(path)
    )
    return files + [
        what
        for what in ("processes", "sockets", "gradebook")
        if getattr(before, what) != getattr(after, what)
    ]


def students(attack: Attack) -> list[str]:
    return (
        [attack.student + f"-{copy}" for copy in range(attack.copies)]
        if attack.copies > 1
        else [attack.student]
    )


def text_of(verdict: Verdict) -> str:
    """All that a verdict says."""
    return "\n".join(
        [
            *(one["reason"] for one in verdict.human),
            *verdict.ignored,
            *verdict.cell_errors,
            *(
                f"{stage['status']} {stage['cause']} {stage['detail']}"
                for result in verdict.results
                for stage in result["stages"]
            ),
        ]
    )


def test_the_batch_ends_with_a_verdict_for_every_attacker_and_points_for_the_others(attacked_class):
    for name in HONEST + INNOCENT:
        assert sum(result["earned"] for result in attacked_class.verdict(name).results) == 3, (
            text_of(attacked_class.verdict(name))
        )
    missing = [
        name
        for attack in attacked_class.attacks
        for name in students(attack)
        if attacked_class.verdict(name) is None
    ]
    assert not missing and attacked_class.summary.left_out == {}


def test_no_attacker_gains_a_point_in_verdict_gradebook_or_table(attacked_class):
    names = [name for attack in attacked_class.attacks for name in students(attack)]
    earned = {
        name: sum(result["earned"] for result in attacked_class.verdict(name).results)
        for name in names
    }
    assert {name: points for name, points in earned.items() if points} == {}
    keys = [safe_name(name) for name in names]
    rows = gradebook_of(attacked_class.root, keys)["grades"]
    assert (
        len({row[0] for row in rows}) > len(keys) / 2
        and [row for row in rows if row[1] or row[2] or row[3]] == []
    )
    with attacked_class.summary.grades.open(newline="", encoding="utf-8") as file:
        table = {row["student"].removeprefix("'"): row["total"] for row in csv.DictReader(file)}
    assert {one: total for one in keys if (total := table[one]) not in ("", "0")} == {}


def test_every_verdict_says_what_happened(attacked_class):
    wrong = {}
    for attack in attacked_class.attacks:
        for name in students(attack):
            said = text_of(attacked_class.verdict(name))
            if not attack.said_in(said):
                wrong[name] = f"wanted {attack.says}, found {said[:600]}"
    assert wrong == {}


def test_files_processes_sockets_and_gradebook_are_as_before(attacked_class):
    assert touched(attacked_class.before, attacked_class.after) == []


def test_no_secret_came_out_and_no_trap_was_sprung(attacked_class, bait):
    pages = "".join(
        path.read_text(encoding="utf-8")
        for path in (attacked_class.root / "feedback").rglob("*.html")
    )
    pages += "".join(path.read_text(encoding="utf-8") for path in attacked_class.report.iterdir())
    verdicts = json.dumps(
        [
            attacked_class.verdict(name).to_json()
            for attack in attacked_class.attacks
            for name in students(attack)
        ]
    )
    assert bait.traces(pages + verdicts) == []


def test_no_page_holds_markup_of_an_attacker(attacked_class):
    for path in [
        *(attacked_class.root / "feedback").rglob("*.html"),
        *attacked_class.report.glob("*.html"),
    ]:
        page = path.read_text(encoding="utf-8")
        assert not [
            mark
            for mark in (
                "<script>document.title",
                "<script>owned",
                "<img src=x",
                "javascript:alert",
                "<iframe",
            )
            if mark in page
        ], path


def test_the_page_for_instructors_is_what_the_record_gives_and_names_every_attack():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(record)
    assert [(one["family"], one["attack"]) for one in record["attacks"]] == [
        (one.family, one.name) for one in ATTACKS
    ]
    assert (
        record["touched"] == []
        and {
            one["attack"]: one["after"] for one in record["attacks"] if one["after"] > one["before"]
        }
        == {}
    )
    assert record["tests_exit_code"] == 0


@pytest.fixture(scope="module")
def unwalled(attacked, notebook, new_root, bait, tmp_path_factory):
    """By name of a control, what it left where nothing isolates, as one text."""
    folder = tmp_path_factory.mktemp("unwalled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.sandbox.api.pool.WARM", ())  # none of them needs torch inside
        graded = Class(folder, new_root(folder / "course"), bait, notebook, ProcessBackend())
        for attack in [one for one in ATTACKS if one.name in CONTROLS]:
            graded.hand_in(attack)
        before = snapshot(graded.root, graded.submitted, HONEST)
        graded.grade()
        after = snapshot(graded.root, graded.submitted, HONEST)
    end_those_that_were_left(before)
    verdicts = {name: graded.verdict(name) for name in CONTROLS}
    traces = " ".join(bait.traces(json.dumps([one.to_json() for one in verdicts.values()])))
    traces += " gradebook" * (after.gradebook != before.gradebook) + " processes" * (
        after.processes != before.processes
    )
    return {
        name: traces + " points" * any(result["earned"] for result in one.results)
        for name, one in verdicts.items()
    }


@pytest.mark.long
@pytest.mark.parametrize("name", CONTROLS)
def test_without_walls_the_same_attack_leaves_its_trace(name, unwalled):
    assert CONTROLS[name] in unwalled[name]
