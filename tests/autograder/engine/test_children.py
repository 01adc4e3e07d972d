"""Work in forked children: what hangs or dies costs one item, and no child is left."""

import os
import signal
import time

import pytest

from autograder.authoring import children
from autograder.authoring.children import in_children


def work(item):
    """An item says what it does."""
    if item == "spins":
        while True:
            pass
    if item == "sleeps":
        time.sleep(3600)
    if item == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "raises":
        raise LookupError(item)
    return {"length": len(item)}


@pytest.fixture
def forked(monkeypatch):
    """The process ids of all children."""
    found, fork = [], os.fork
    monkeypatch.setattr(
        children.os, "fork", lambda: (child := fork()) and found.append(child) or child
    )
    yield found
    for child in found:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_one_that_hangs_or_dies_costs_itself_only(forked):
    items = ["one", "spins", "sleeps", "dies", "raises", "three"]
    ends = {item: (value, ended) for item, value, ended in in_children(items, work, 0.5)}
    assert ends == {
        "one": ({"length": 3}, ""),
        "spins": (None, "time"),
        "sleeps": (None, "time"),
        "dies": (None, "process"),
        "raises": (None, "process"),
        "three": ({"length": 5}, ""),
    }
    assert len(forked) == 5


@pytest.mark.parametrize("end", ["closed", "interrupted", "exhausted"])
def test_no_child_is_left_however_the_work_ends(forked, end):
    judged = in_children(["one", "spins"], work, 0.5 if end == "exhausted" else 3600)
    next(judged)
    if end == "closed":
        judged.close()
    elif end == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            judged.throw(KeyboardInterrupt)
    else:
        list(judged)
    assert len(forked) == 1
