"""Nothing that a student can import returns the answer of an exercise, unless it is withheld or allowed with a reason.

`course author withheld NN` tries everything, once; here a planted answer is found, and what has changed since is tried.
"""

import json
import random
import sys
import time
from types import ModuleType

import pytest
import torch

from autograder.authoring import ledger, sweep
from autograder.authoring.catalogue import assignments, folder_of
from autograder.authoring.implementations import reference
from autograder.checks import withholding
from autograder.errors import CourseError

SWEPT = [one for one in assignments() if (folder_of(one.number) / ledger.LEDGER).exists()]
CHAPTERS = pytest.mark.parametrize("one", SWEPT, ids=lambda one: one.name)
SAMPLE = 8  # modules of the reference that have changed since the sweep


def test_an_answer_is_found_in_other_orders_arrays_and_parts():
    calls = [
        sweep.Asked("s", "f", (torch.tensor(rows), 1), {}, torch.tensor(rows).sum(0))
        for rows in ([[1.0, 2.0], [3.0, 4.0]], [[5.0]])
    ]
    assert sweep.returns(lambda table, n: (n, table.sum(0)), calls) and sweep.returns(
        lambda n, table: table.sum(0), calls
    )
    assert sweep.returns(lambda table, n: {"sums": table.sum(0)}, calls) and sweep.returns(
        lambda table, n=0, m=0: table.sum(0), calls
    )
    assert sweep.returns(
        lambda table, n: (
            table.sum(axis=0) if isinstance(table, __import__("numpy").ndarray) else None
        ),
        calls,
    )
    assert not sweep.returns(lambda table, n: table.sum(1), calls) and not sweep.returns(
        lambda table: table.sum(0), calls
    )
    assert not sweep.returns(
        lambda table, n: table.sum(0) if len(table) > 1 else None, calls
    )  # right for one of two


@pytest.fixture
def planted(monkeypatch):
    """A module that a student could import, with an answer, a near miss, and what would end a careless sweep."""

    def near(counts):
        return ppmi(counts) + 0.01

    def spins(counts):
        while True:
            pass

    def sleeps(counts):
        time.sleep(3600)

    def dies(counts):
        sys.stdout.close()
        __import__("os").abort()

    def grows(counts):
        return bytearray(1 << 34)

    def zzz(counts):
        return "with more", ppmi(counts)

    ppmi, module = reference("01")["ppmi"], ModuleType("planted")
    for one in (near, spins, sleeps, dies, grows, zzz):
        setattr(module, one.__name__, one)
    monkeypatch.setitem(sys.modules, "planted", module)
    monkeypatch.setattr(sweep, "PATIENCE", 1.0)


def test_a_planted_answer_is_found_behind_callables_that_hang_die_and_grow(planted):
    one = next(one for one in assignments() if one.number == "01")
    exercise = one.exercise("01.ppmi")
    swept = sweep.sweep([exercise], ["planted"])
    assert swept.found == {"01.ppmi": ["planted.zzz"]} and swept.tried == {"planted": 6}
    assert swept.ended == {"planted.dies": "process", "planted.sleeps": "time"}
    assert sweep.unexplained(exercise, swept.found["01.ppmi"], "") == ["planted.zzz"]


@CHAPTERS
def test_the_kept_sweep_belongs_to_these_packages_and_solutions_and_leaves_nothing_open(one):
    kept, here = ledger.read(one.number), ledger.state_of(one)
    for what in ("packages", "solutions"):
        assert kept[what] == here[what], (
            f"{what} have changed since: run `course author withheld {one.number}`"
        )
    left = {
        id: sweep.unexplained(one.exercises[id], names, sweep.solution_of(one, one.exercises[id]))
        for id, names in kept["found"].items()
    }
    assert not any(left.values()), left
    assert withholding.found(one.number) == sweep.of_reference(kept["found"])
    assert (
        set(sweep.PLACES) - {"collections"} <= set(kept["tried"])
        and sum(kept["tried"].values()) > 3000
    )


@CHAPTERS
def test_what_has_changed_in_the_reference_since_gives_no_further_answer(one):
    kept = ledger.read(one.number)
    changed = ledger.changed_modules(one, kept)
    chosen = random.Random(json.dumps(changed)).sample(changed, min(SAMPLE, len(changed)))
    found = (
        sweep.sweep(
            one.exercises.values(), [name for name in chosen if sweep.can_import(name)]
        ).found
        if chosen
        else {}
    )
    withheld = set(withholding.in_chapter(one.exercises.values()))
    new = {
        id: [
            name
            for name in names
            if not any(name == one or name.startswith(f"{one}.") for one in withheld)
        ]
        for id, names in found.items()
    }
    assert not any(new.values()), f"{new}: run `course author withheld {one.number}`"


def test_the_sweep_of_a_new_exercise_is_added_and_leaves_the_others_as_they_were(
    tmp_path, monkeypatch
):
    one = SWEPT[0]
    kept, new = (
        ledger.read(one.number),
        next(id for id, exercise in one.exercises.items() if exercise.stages),
    )
    without = kept | {
        what: {id: entry for id, entry in kept[what].items() if id != new}
        for what in ("solutions", "found")
    }
    monkeypatch.setattr(ledger, "folder_of", lambda number: tmp_path)
    (tmp_path / ledger.LEDGER).write_text(json.dumps(without))
    added = ledger.add(
        one, sweep.Swept({new: ["torch.answer"]}, {"torch": 1}, {"torch.hangs": "time"})
    )
    assert (
        added == ledger.read(one.number)
        and added["solutions"] == kept["solutions"]
        and added["modules"] == kept["modules"]
    )
    assert added["found"] == kept["found"] | {new: ["torch.answer"]} and added["ended"] == kept[
        "ended"
    ] | {"torch.hangs": "time"}
    (tmp_path / ledger.LEDGER).write_text(json.dumps(without | {"packages": {"torch": "0.1"}}))
    with pytest.raises(CourseError, match="run `course author withheld 01`"):
        ledger.add(one, sweep.Swept({new: []}))


def test_a_withholding_that_is_removed_is_missed(monkeypatch):
    one = next(one for one in assignments() if one.number == "01")
    exercise, names = one.exercise("01.ppmi"), ledger.read("01")["found"]["01.ppmi"]
    assert names and sweep.unexplained(exercise, names, "") == []
    monkeypatch.setattr(withholding, "found", lambda number: {})
    for other in one.exercises.values():
        monkeypatch.setattr(other, "withhold", ())
    assert sweep.unexplained(exercise, names, "") == names
