"""Honest entries pass every check, and each known cheat fails a check by name."""

import base64
import lzma
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from autograder.golf.entry import read_entry
from autograder.golf.passages import draw
from autograder.golf.rules import CHECKS, Invalid
from autograder.golf.sandboxed import Machine
from autograder.golf.validity import change, check_changed, examine, read
from autograder.sandbox import choose_backend
from reference_impl import corpora
from tests.autograder.golf.rounds import SMALL, examined, source

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def text():
    return corpora.load("kjv")[:150_000].encode()


@pytest.fixture(scope="module")
def machine():
    return Machine(choose_backend(), SMALL, start_seconds=0)


def failed(run, *args) -> str:
    with pytest.raises(Invalid) as caught:
        run(*args)
    return caught.value.check


@pytest.mark.parametrize(
    ("name", "least", "most"), [("unigram", 3.9, 5.0), ("ngram", 2.0, 3.6), ("recurrent", 3.0, 4.5)]
)
def test_an_honest_entry_passes_every_check(machine, text, name, least, most):
    found = examined(machine, text, source(f"entries/{name}"))
    assert least < found.bits_per_byte < most


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("cache_of_test_text", "frozen state"),
        ("sums_to_277", "probabilities"),
        ("negative_probabilities", "probabilities"),
        ("reads_the_pipe", "one pass"),
        ("peeks_into_other_passages", "frozen state"),
        ("longer_context", "context"),
        ("not_reproducible", "decodes"),
        ("two_processes", "runs"),
        ("large_artefact", "artefact size"),
        ("loads_the_corpus", "runs"),
    ],
)
def test_a_cheat_fails_a_check_by_name(machine, text, name, check):
    assert failed(examined, machine, text, source(f"cheats/{name}")) == check


def test_training_beyond_the_budget_is_stopped(machine):
    cheat = source("cheats/trains_too_long")
    assert failed(machine.train, cheat, b"text", 1, 0.5) == "training budget"


def test_a_pass_beyond_the_budget_is_stopped(machine, text):
    slow = source("entries/unigram").replace("return self.rows", "[*range(9**6)]; return self.rows")
    made = draw(text, SMALL, Random(1))
    artefact, _ = machine.train(slow, made.training, 1, 60.0)

    def run():
        return read(lambda: machine.predictor(slow, artefact, 6, 0.4), made.passages)

    assert failed(run) == "prediction budget"


def test_an_entry_that_remembers_a_pass_gains_nothing(machine, text):
    found = examined(machine, text, source("cheats/remembers_the_last_pass"))
    assert found.bits_per_byte == pytest.approx(8, abs=0.01)


def with_hidden(hidden: bytes) -> str:
    packed = base64.b85encode(lzma.compress(hidden, preset=9))
    return source("cheats/hidden_text").replace('HIDDEN = b""', f"HIDDEN = {packed!r}", 1)


def test_text_hidden_in_the_weights_is_found(machine, text):
    longer = replace(machine, rules=replace(SMALL, length=200))
    passages = draw(text, longer.rules, Random(1)).passages
    assert failed(examined, longer, text, with_hidden(passages[2].tobytes())) == "hidden text"


def test_a_source_has_no_room_for_much_text(text, tmp_path):
    path = tmp_path / "entry.py"
    path.write_text(with_hidden(text[:60_000]))
    assert failed(read_entry, path) == "entry size"
    path.write_text("#" * 64_001)
    assert failed(read_entry, path) == "entry size"
    path.write_text("#" * 64_000)
    assert read_entry(path).track == "code"


def leaky(machine: Machine, passages: np.ndarray):
    """Predictors of an entry that finds the whole passage in its sandbox, as no entry does here."""
    cheat = (
        "import numpy as np\n"
        f"TEXT = np.array({passages.tolist()})\n"
        "class Predictor:\n"
        "    def __init__(self, artefact, passages): self.at = 0\n"
        "    def next(self, observed):\n"
        "        rows = np.full((len(TEXT), 256), 0.5 / 256)\n"
        "        rows[np.arange(len(TEXT)), TEXT[:, self.at]] += 0.5\n"
        "        self.at += 1\n"
        "        return rows\n"
    )

    @contextmanager
    def opener():
        with machine.predictor(cheat, b"", len(passages), 60.0) as predictor:
            yield predictor

    return opener


def test_reading_ahead_fails_where_a_passage_has_leaked(machine, text):
    made = draw(text, SMALL, Random(1))
    changed = change(made.passages, made.others, SMALL.context, Random(2))
    first = read(leaky(machine, made.passages), made.passages)
    second = read(leaky(machine, changed.passages), changed.passages)
    same = {"no reading ahead": changed.same["no reading ahead"]}
    assert failed(check_changed, first, second, same) == "no reading ahead"
    assert check_changed(first, first, changed.same) is None


def test_only_what_a_check_allows_is_changed(text):
    made = draw(text, replace(SMALL, passages=9), Random(3))
    changed = change(made.passages, made.others, 24, Random(3))
    kept = changed.passages == made.passages
    for name, mask in changed.same.items():
        assert mask.any(1).sum() == 3
        for row in np.flatnonzero(mask.any(1)):
            if name == "frozen state":
                assert kept[row].all() and mask[row].all()
            for position in np.flatnonzero(mask[row]):
                before = kept[row, max(0, position - 24) : position]
                assert before.all()
            assert name == "frozen state" or not kept[row].all()


def test_every_check_has_a_sentence_and_an_unknown_one_is_refused():
    assert all(text.endswith(".") and text[0].isupper() for text in CHECKS.values())
    with pytest.raises(ValueError, match="not a check of laptop golf"):
        Invalid("luck", "")


def test_the_first_fault_ends_the_examination(text):
    made = draw(text, SMALL, Random(1))

    @contextmanager
    def broken():
        raise Invalid("runs", "it fails")
        yield

    assert failed(examine, broken, made.passages, made.others, SMALL, Random(1)) == "runs"
