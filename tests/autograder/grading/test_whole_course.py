"""The class of bench/whole_course.py, and a small one of it: several assignments in one command,
interrupted, lose nothing and judge nothing twice.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.catalogue import assignments

BENCH = Path(__file__).resolve().parents[3] / "bench"


@pytest.fixture(scope="module")
def cheap_class():
    """The module of the bench, which imports its neighbours by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        import cheap_class

        yield cheap_class


def test_the_cheap_exercises_are_exercises_of_every_assignment(cheap_class):
    known = {one.number: set(one.cells) for one in assignments()}
    assert cheap_class.CHEAP.keys() == known.keys()
    assert all(set(names) <= known[number] and names for number, names in cheap_class.CHEAP.items())


def test_a_class_is_the_same_again_and_its_first_students_hand_in_what_they_do_in_a_smaller_one(
    cheap_class, tmp_path
):
    few = cheap_class.make_class(tmp_path / "few", 8, ["01", "16"], 300, b"secret")
    many = cheap_class.make_class(tmp_path / "many", 20, ["01", "16"], 300, b"secret")
    assert [one for one in many if one.student <= "student-0008"] == few
    paths = [path.relative_to(tmp_path / "few") for path in (tmp_path / "few").rglob("*.ipynb")]
    assert len(paths) == len(few) and all(
        (tmp_path / "few" / path).read_bytes() == (tmp_path / "many" / path).read_bytes()
        for path in paths
    )
    kinds = {(bool(one.exercise), bool(one.mistake), one.written) for one in many}
    assert {
        (False, False, True),
        (True, False, True),
        (True, True, True),
        (True, False, False),
    } <= kinds
    assert few != cheap_class.make_class(tmp_path / "other", 8, ["01", "16"], 301, b"secret")


@pytest.mark.sandbox
@pytest.mark.long
def test_two_assignments_of_a_small_class_survive_an_interrupt_as_the_bench_demands(tmp_path):
    ran = subprocess.run(
        [
            sys.executable,
            BENCH / "whole_course.py",
            "--students",
            "12",
            "--assignments",
            "01",
            "16",
            "--small",
            "3",
            "--interrupts",
            "2",
            "--seed",
            "5",
            "--no-record",
            "--folder",
            tmp_path / "class",
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads(ran.stdout[ran.stdout.index("{") :])
    assert found["wrong"] == [] and found["judged_twice"] == 0 and 20 <= found["hand_ins"] <= 24
    assert found["runs"][0]["exit_code"] == 130 and found["runs"][-1]["exit_code"] == 0
    # An interrupt may come between a record and the line that tells of it, once for each.
    assert found["hand_ins"] - 2 <= sum(one["judged"] for one in found["runs"]) <= found["hand_ins"]
