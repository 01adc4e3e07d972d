"""Nothing that a student can import returns an answer, unless it is withheld or allowed.

Each time a planted answer is found; everything is tried in `make test-slow`.
"""

import pkgutil
import sys
import time
from types import ModuleType

import pytest
import torch

from autograder.authoring import sweep
from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import reference
from autograder.checks.restrictions.names import named
from autograder.dependency_hash import file_of

CHAPTERS = pytest.mark.parametrize("one", assignments(), ids=lambda one: one.name)


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
    """A module with an answer, a near miss, and what would end a careless sweep."""

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
def test_what_is_withheld_or_allowed_exists(one):
    """A package may be missing on this machine; a name in one that is here may not."""
    declared = {
        name
        for exercise in one.exercises.values()
        for name in [*named(exercise), *exercise.allowed]
    }
    assert declared
    for name in declared:
        if "." in name and not file_of(name):
            assert pkgutil.resolve_name(name), name


@pytest.mark.long
@CHAPTERS
def test_nothing_that_can_be_imported_gives_an_answer_unless_withheld_or_allowed(one):
    swept = sweep.sweep(one.exercises.values())
    assert not sweep.left_open(one, swept)
    assert set(sweep.PLACES) - {"collections"} <= set(swept.tried)
    assert sum(swept.tried.values()) > 3000


def test_a_withholding_that_is_removed_is_missed(monkeypatch):
    one = next(one for one in assignments() if one.number == "01")
    exercise, names = one.exercise("01.ppmi"), ["reference_impl.embeddings.counts.ppmi"]
    assert sweep.unexplained(exercise, names, "") == []
    for other in one.exercises.values():
        monkeypatch.setattr(other, "withhold", ())
    assert sweep.unexplained(exercise, names, "") == names
    assert sweep.left_open(one, sweep.Swept({exercise.id: names})) == {exercise.id: names}
