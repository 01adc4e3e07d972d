"""What an archive's checks give in the place of working answers out: values, sketches, places, and who may not be recorded."""

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder.authoring.catalogue import ROOT
from autograder.checks.fakes import TableModel
from autograder.classroom import recorder
from autograder.classroom.places import Module
from autograder.classroom.recording import Run
from autograder.recorded.plain import Arrays, NotPlain, decoded, encoded
from autograder.recorded.sketch import Opaque, alike, sketch

VALUES = [
    None,
    True,
    3,
    2**70,
    0.1,
    float("inf"),
    "a\nb",
    b"\xff\0",
    [1, (2, [3.0])],
    {"a": {1, 2}, 3: (4,)},
    Counter("aab"),
    Fraction(1, 3),
    slice(0, None),
    range(4),
    torch.int64,
    np.float32(1.5),
    np.arange(6).reshape(2, 3),
    torch.zeros(0, 3),
    torch.randn(2, 3).t(),
    torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    torch.tensor(True),
    torch.tensor([1, 2], dtype=torch.int32),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda one: type(one).__name__)
def test_a_plain_value_comes_back_as_it_was_and_as_another_object(value, tmp_path):
    arrays = Arrays()
    tree = encoded([value], arrays)
    for name, array in arrays.joined().items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=False)
    kept = Arrays.read(tmp_path)
    (first,), (second,) = decoded(tree, kept), decoded(tree, kept)
    assert type(first) is type(value)
    if isinstance(value, (torch.Tensor, np.ndarray)):
        assert (
            first.dtype == value.dtype
            and first.shape == value.shape
            and bool((first == value).all())
        )
        first[...] = False if first.dtype == torch.bool else 0  # who changes one changes no other
        assert bool((second == value).all())
    else:
        assert first == value


def test_a_tensor_that_asks_for_a_gradient_comes_back_as_one():
    arrays = Arrays()
    tree = encoded((torch.ones(2, requires_grad=True) * 3, torch.ones(2)), arrays)
    first, second = decoded(tree, Arrays(arrays.joined()))
    assert first.requires_grad and first.tolist() == [3, 3] and not second.requires_grad


def test_what_is_no_plain_data_is_refused():
    for value in (
        object(),
        lambda: 1,
        (one for one in ()),
        torch.nn.Linear(1, 1),
        torch.zeros(2**20),
    ):
        with pytest.raises(NotPlain):
            encoded([value], Arrays())


def test_a_model_of_the_frame_comes_back_and_is_the_same_whatever_it_was_asked():
    model, arrays = TableModel(torch.eye(3), {(0, 1): torch.ones(3)}), Arrays()
    tree, before = encoded(model, arrays), sketch(model)
    model(torch.tensor([[0, 1]]))
    again = decoded(tree, Arrays(arrays.joined()))
    assert (
        type(again) is TableModel
        and torch.equal(again(torch.tensor([[0, 1]])), model(torch.tensor([[0, 1]])))
        and again.calls == 1
    )
    assert sketch(model) == before != sketch(TableModel(torch.eye(3)))


def test_a_sketch_forgives_the_last_bit_and_no_more():
    numbers = torch.randn(40)
    for other in (numbers * (1 + 1e-6), numbers + 1e-7):
        assert alike(sketch([numbers, 0.5]), sketch([other, 0.5]))
    for other in (
        [numbers * 1.01, 0.5],
        [numbers, 0.51],
        [numbers.double(), 0.5],
        [numbers[:39], 0.5],
        [numbers.reshape(4, 10), 0.5],
        [(numbers,), 0.5],
    ):
        assert not alike(sketch([numbers, 0.5]), sketch(other))
    assert not alike(sketch(torch.tensor([1, 2])), sketch(torch.tensor([1, 3]))) and not alike(
        sketch([1]), sketch([True])
    )
    assert alike(sketch(torch.Generator()), sketch(torch.Generator().manual_seed(5)))
    with pytest.raises(Opaque):
        sketch([object()])


SOURCE = '''"""A chapter's checks."""
import torch

def right(x):
    """The right answer."""
    doubled = 2 * x.double()
    return doubled.softmax(0)

def ask(student, x, factor):
    came = student.mine(x.exp() + 1)
    wanted = right(x) * factor.sum()
    expect(came).close(wanted - came.mean() * 2 + x.sum(), cause=f"{x.exp()} is wrong", given=x.exp() - 1)

@mine.stage("all", points=1)
def test_all(student, rng):
    drawn = torch.randn(3, generator=rng).exp()
    for factor in (drawn, drawn.sum() * [4.0 for _ in drawn][0]):
        ask(student, drawn, factor)
'''


def texts_of(module: Module) -> dict[str, str]:
    return {
        one.key.removeprefix(module.key("")): module.text[one.first : one.last]
        for one in module.places
    }


def test_places_are_what_is_worked_out_and_nothing_that_a_student_reaches():
    module = Module("autograder.chapters.c99_x.test_x", SOURCE)
    found = set(texts_of(module).values())
    assert {
        "2 * x.double()",
        "doubled.softmax(0)",
        "right(x) * factor.sum()",
        "right(x)",
        "x.sum()",
        "drawn.sum() * [4.0 for _ in drawn][0]",
    } <= found
    assert not [
        one for one in found if "came" in one or "student" in one or "rng" in one or "exp" in one
    ]  # nor what is asked or said
    assert set(module.candidates) == {"right"} and [one.name for one in module.stages] == [
        "test_all"
    ]


def test_a_stripped_module_has_no_body_left_where_it_was_recorded_and_all_else_as_it_was():
    module = Module("autograder.chapters.c99_x.test_x", SOURCE)
    keys = {text: name for name, text in texts_of(module).items()}
    text = module.stripped(
        {
            module.key("right"),
            module.key(keys["right(x) * factor.sum()"]),
            module.key(keys["right(x)"]),
        }
    )
    assert (
        "softmax" not in text
        and "doubled" not in text
        and '"""The right answer."""' in text
        and "@recorded.function\ndef right(x):" in text
    )
    assert (
        f'wanted = recorded.at("{keys["right(x) * factor.sum()"]}", factor, x)\n' in text
        and text.count("recorded.at(") == 1
    )
    assert '@mine.stage("all", points=1)\n@recorded.stage\ndef test_all' in text
    (
        compile(text, "x", "exec"),
        compile(module.watched("autograder.classroom.recorder"), "x", "exec"),
    )
    dropped = [
        line for line in SOURCE.split("\n") if line and line not in text and "right(x)" not in line
    ]
    assert dropped == ["    doubled = 2 * x.double()", "    return doubled.softmax(0)"]


MODEL = """class Blocks:
    def allocate(self, count):
        return [count] * 2

    def left(self):
        return self.long() * 3

    def long(self):
        return 4 ** 5

@mine.stage("all", points=1)
def test_all(student):
    for name in ("allocate", "left"):
        student.compare(getattr(Blocks(), name))
"""


def test_what_was_missed_keeps_its_body_and_its_helpers_though_only_getattr_asks_for_it():
    run = Run.__new__(Run)
    run.modules = {"x": (module := Module("autograder.chapters.c99_x.models", MODEL))}
    run.dropped = {}
    watching = SimpleNamespace(state=SimpleNamespace(chosen=set()))
    assert run.unasked(watching) == {
        module.key(f"Blocks.{name}") for name in ("allocate", "left", "long")
    }
    run.dropped = {module.key("Blocks.left"): "missed"}
    assert run.unasked(watching) == {module.key("Blocks.allocate")}


def test_a_place_that_was_missed_takes_the_others_of_its_function_along():
    run = Run.__new__(Run)
    run.modules = {"x": (module := Module("autograder.chapters.c99_x.test_x", SOURCE))}
    keys = {one.key for one in module.places}
    of_ask = {key for key in keys if key.startswith(module.key("ask."))}
    one = min(of_ask)
    assert len(of_ask) > 1 and run.beside({one: "missed"}).keys() == of_ask - {one}
    assert (
        run.beside({module.key("right"): "missed"}).keys()
        == {key for key in keys if key.startswith(module.key("right."))}
        != set()
    )


@pytest.fixture
def state(monkeypatch):
    fresh = recorder.Recorder(stage="s")
    monkeypatch.setattr(recorder, "state", fresh)
    return fresh


def asked(key, run, *given):
    return recorder.at(key, run, *given)


def test_who_is_asked_about_a_students_answer_cannot_be_recorded(state):
    for answer in (1.0, 1.0 + 1e-9):
        asked("free", lambda: 2, torch.ones(2))
        asked("bound", lambda: 2, torch.tensor([answer], dtype=torch.float64))
        state.first = False
    assert state.unfit == {"bound": recorder.DEPENDS} and state.asked == {"free", "bound"}


def test_who_changes_what_it_is_given_or_is_called_by_a_student_or_takes_an_object_of_theirs_cannot_be_recorded(
    state,
):
    def change(one):
        one += 1

    counts = torch.zeros(2)
    asked("changes", lambda: change(counts), counts)
    asked("object", lambda: 1, object())
    state.performing = 1
    asked("called", lambda: 1, 1)
    assert state.unfit == {
        "changes": recorder.CHANGES,
        "object": "it is given an object of type object",
        "called": recorder.CALLED,
    }


def test_what_is_inside_something_recorded_is_written_down_once(state):
    for chosen in (None, {"outer", "inner"}):
        if chosen:
            state.begin(chosen)
        assert asked("outer", lambda: asked("inner", lambda: 3, 1) + 1, 1) == 4
    assert list(state.calls["s"]) == ["outer"]
    state.begin({"inner"})
    asked("outer", lambda: asked("inner", lambda: 3, 1) + 1, 1)
    assert list(state.calls["s"]) == ["inner"]


def test_a_method_may_change_its_object_and_what_that_holds_then_is_written_down(state):
    counter = type("Counter", (), {"__module__": "autograder.chapters.c99_x.test_x"})()
    counter.number = 1

    def count(by):
        counter.number += by
        return counter.number

    for chosen in (None, {"c99_x.test_x.Counter.count"}):
        if chosen:
            state.begin(chosen)
        asked("c99_x.test_x.Counter.count", lambda: count(2), counter, 2)
    assert not state.unfit
    ((_, value, _, fields),) = state.calls["s"]["c99_x.test_x.Counter.count"]
    assert decoded(state.values[value], Arrays()) == 5 and decoded(
        state.values[fields], Arrays()
    ) == {"number": 5}


def test_a_generator_is_left_as_it_was_left(state):
    rng = torch.Generator().manual_seed(1)
    state.begin({"draws"})
    drawn = asked("draws", lambda: torch.rand(2, generator=rng), rng)
    ((seen, value, after),) = state.calls["s"]["draws"]
    kept = Arrays(state.arrays.joined())
    other = torch.Generator()
    other.set_state(decoded(state.values[after], kept))
    assert torch.equal(decoded(state.values[value], kept), drawn) and torch.equal(
        torch.rand(3, generator=other), torch.rand(3, generator=rng)
    )


def test_every_module_of_checks_can_be_watched_and_stripped_of_everything():
    for path in sorted(ROOT.glob("autograder/chapters/c*/*.py")):
        module = Module(
            ".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text(encoding="utf-8")
        )
        everything = {one.key for one in module.places} | {
            module.key(name) for name in module.candidates
        }
        assert len({one.key for one in module.places}) == len(module.places)
        for text in (
            module.watched("autograder.classroom.recorder"),
            module.stripped(everything),
            module.stripped(set()),
        ):
            compile(text, str(path), "exec")
