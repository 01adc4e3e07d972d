"""Objects of a student's by handle, streams, scripts, buffers, generators: the same in a notebook
and in the sandbox.
"""

import pytest
import torch

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.inputs.buffers import Buffer
from autograder.checks.inputs.callables import Watched
from autograder.checks.inputs.fakes import SuccessorModel, TableModel, VirtualClock
from autograder.checks.student.handles import inside
from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
NOTEBOOK = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, size, out=1):
        super().__init__()
        self.hidden = size
        self.first = nn.Linear(size, size)
        self.blocks = nn.ModuleList([nn.Linear(size, out)])
        self.register_buffer("seen", torch.zeros(1))
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        return self.blocks[0](self.drop(torch.relu(self.first(x))))
    def loss(self, x, y):
        return ((self(x) - y) ** 2).mean()
    def detached(self, x):
        return self(x).detach().sum()

class Cache:
    def __init__(self, room):
        self.room, self.items = room, []
    def append(self, item):
        if len(self.items) == self.room:
            raise OverflowError(f"full at {self.room}")
        self.items.append(item)
        return list(self.items)
    def truncate(self, n):
        del self.items[n:]
    def copy(self):
        other = Cache(self.room)
        other.items = list(self.items)
        return other
    def later(self): raise NotImplementedError("replace this line")
    def each(self):
        yield from self.items
    def fill(self, out):
        out += 1
    @property
    def length(self): return len(self.items)
    @property
    def broken(self): raise ValueError("no")

class Plain:
    pass

closed = []
def count_up(start=0):
    try:
        while True:
            yield start
            start += 1
    finally:
        closed.append(start)
def when_closed(): return closed
def three(): yield 1; yield 2; raise KeyError("three")
def a_list(): return [1, 2]
def tokens(next_token, first, n):
    for _ in range(n):
        first = next_token(first)
        yield first
class Keeps:
    def __init__(self, model): self.model = model
    def run(self, x): return self.model(x)
def total(cache): return sum(cache.items)
def calls_often(f, n):
    return sum(f(i) for i in range(n))
def hides(f, n):
    for i in range(n):
        try: f(i)
        except Exception: pass
    return 0
def add_into(x, out): out.copy_(x + 1)
def spills(x, out): torch.as_strided(out, (out.numel() + 3,), (1,), out.storage_offset())[:] = 9.
def sums(x): return x.sum()
def draw(generator): return torch.rand(2, generator=generator)
def generate(model, ids, n):
    for _ in range(n):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], 1)
    return ids
def waits(clock):
    clock.sleep(2.5)
    return clock()
def squared(x, y): return (x ** 2 * y).sum()
def halves(x): return x / 2
def product(x, y): return x @ y
def numbers_only(x): return float(x.sum())
def apply_all(functions, x): return [f(x) for f in functions]
"""


@pytest.fixture(scope="module")
def sandboxed():
    with open_student([Cell("setup", NOTEBOOK)], limits=Limits(call_seconds=60)) as student:
        assert student.cell_errors == []
        yield student


@pytest.fixture(params=["notebook", "sandbox"])
def student(request):
    """The same student twice: in this process, and behind the walls."""
    if request.param == "sandbox":
        found = request.getfixturevalue("sandboxed")
    else:
        namespace = {"__name__": "notebook"}
        exec(compile(NOTEBOOK, "notebook", "exec"), namespace)
        found = LocalStudent(namespace)
    found.new_stage()
    return found


def error_of(function, *args, **kwargs):
    with pytest.raises(StudentError) as caught:
        function(*args, **kwargs)
    return caught.value


def weights(size=3):
    return {
        "first.weight": torch.eye(size),
        "first.bias": torch.zeros(size),
        "blocks.0.weight": torch.ones(1, size),
        "blocks.0.bias": torch.ones(1),
        "seen": torch.zeros(1),
    }


def test_a_module_is_built_loaded_by_name_called_and_read_back(student):
    net = student.build("Net", 3)
    inside(net).load(weights())
    inside(net).train(False)
    assert inside(net).training() is False
    assert net(torch.tensor([[1.0, -2.0, 3.0]])).item() == 5.0
    assert {name: tensor.shape for name, tensor in inside(net).state().items()} == {
        n: t.shape for n, t in weights().items()
    }
    assert (
        inside(net).shapes()["blocks.0.weight"] == (1, 3)
        and inside(net).learning()["first.bias"] is True
    )
    assert inside(net).get("hidden") == 3 and inside(net).get("blocks.0.out_features") == 1


def test_weights_that_do_not_fit_are_named(student):
    net = student.build("Net", 3)
    given = weights() | {"head.weight": torch.ones(2)}
    del given["first.bias"]
    given["seen"] = torch.zeros(4)
    said = error_of(inside(net).load, given).text
    assert (
        "no parameter or buffer `head.weight`" in said
        and "also has `first.bias`, which was not asked for" in said
    )
    assert "`seen` has shape (1,); (4,) was asked for" in said


def test_gradients_and_a_step_are_those_of_the_same_module_here(student):
    net, x, y = student.build("Net", 3), torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[2.0]])
    inside(net).load(weights())
    inside(net).train(False)
    ours = torch.nn.Linear(3, 1)
    ours.load_state_dict({"weight": torch.ones(1, 3), "bias": torch.ones(1)})
    loss = ((ours(x) - y) ** 2).mean()
    loss.backward()
    found = inside(net).gradients("loss", x, y)
    assert found.value.item() == loss.item() and torch.equal(
        found.parameters["blocks.0.weight"], ours.weight.grad
    )
    inside(net).update(0.01)
    assert torch.allclose(
        inside(net).state()["blocks.0.weight"], ours.weight.detach() - 0.01 * ours.weight.grad
    )
    by_output = inside(net).gradients("", x, upstream=torch.tensor([[2.0]]), wrt=[0])
    assert by_output.arguments[0].shape == (1, 3)


def test_a_value_without_a_gradient_gets_a_sentence(student):
    net = student.build("Net", 3)
    assert (
        "No gradient can pass" in error_of(inside(net).gradients, "detached", torch.ones(1, 3)).text
    )
    assert "shape ()" in error_of(inside(net).gradients, "", torch.ones(2, 3)).text
    assert "float came" in error_of(student.gradients, "numbers_only", torch.ones(2)).text


def test_gradients_of_a_function_by_its_arguments(student):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    found = student.gradients("squared", x, y, wrt=(0, 1))
    assert (
        found.value == 19
        and torch.equal(found.arguments[0], 2 * x * y)
        and torch.equal(found.arguments[1], x**2)
    )
    found = student.gradients("halves", x, upstream=torch.tensor([1.0, 10.0]))
    assert torch.equal(found.arguments[0], torch.tensor([0.5, 5.0]))


def test_several_objects_live_side_by_side_and_may_be_arguments(student):
    one, other = student.build("Cache", 3), student.build("Cache", 3)
    one.append(1), one.append(2), other.append(5)
    third = inside(one).build("copy")
    one.truncate(0)
    assert student.total(one) == 0 and student.total(other) == 5 and student.total(third) == 3
    assert inside(third).get("length") == 2


def test_what_an_object_lacks_is_a_sentence_that_says_what_it_has(student):
    cache = student.build("Cache", 3)
    wrong = error_of(cache.append_all, [1])
    assert (
        wrong.kind == "missing"
        and "has no method `append_all`" in wrong.text
        and "`truncate`" in wrong.text
    )
    wrong = error_of(inside(cache).get, "size")
    assert (
        wrong.kind == "unreadable"
        and "no attribute 'size'" in wrong.text
        and "`room`" in wrong.text
    )
    assert "no" in error_of(inside(cache).get, "broken").text
    assert "not a torch.nn.Module" in error_of(inside(cache).state).text
    assert (
        error_of(cache.later).kind == "not_attempted"
        and "`Cache.later` is not written" in error_of(cache.later).text
    )
    assert "no method" in error_of(student.build("Plain").run).text
    assert "a method was asked for" in error_of(cache.room).text


def test_an_error_in_a_method_shows_the_students_own_line(student):
    cache = student.build("Cache", 0)
    said = error_of(cache.append, 1)
    assert (
        said.kind == "error"
        and said.text.endswith("OverflowError: full at 0")
        and "line 25" in said.text
    )


def test_an_object_of_an_earlier_stage_is_the_checks_own_fault(student):
    cache = student.build("Cache", 3)
    student.new_stage()
    with pytest.raises(ValueError, match="objects live for one stage"):
        cache.append(1)


def test_a_script_is_one_message_with_every_outcome_and_what_was_watched(student):
    cache = student.build("Cache", 2)
    before = len(student.calls)
    found = inside(cache).script(
        [("append", 7), ("append", 8), ("append", 9), ("truncate", 1)], watch=["length"]
    )
    assert len(student.calls) == before + 1
    assert [one.raised for one in found] == ["", "", "OverflowError", ""] and found[1].value == [
        7,
        8,
    ]
    assert [one.watched["length"] for one in found] == [1, 2, 2, 1] and "full at 2" in found[2].text
    assert [one.value for one in student.script([("halves", 3), ("halves", 4.0)])] == [1.5, 2.0]


def test_a_stream_makes_its_pieces_when_they_are_asked_for_and_can_be_closed(student):
    numbers = student.stream("count_up", 5)
    assert numbers.take(3) == [5, 6, 7] and not numbers.ended
    numbers.close()
    assert student.when_closed()[-1:] == [7] and numbers.take(1) == []
    assert list(inside(student.build("Cache", 3)).stream("each")) == []
    broken = student.stream("three")
    assert broken.take(2) == [1, 2] and "KeyError" in error_of(broken.take, 1).text
    assert "use `yield`" in error_of(student.stream, "a_list").text


def test_a_stream_asks_our_function_once_a_piece(student):
    ours = Watched(lambda token: token + 1)
    pieces = student.stream("tokens", ours, 3, 10)
    assert pieces.take(2) == [4, 5] and ours.calls == 2 and ours.asked == [(3,), (4,)]


def test_a_function_given_to_an_object_lives_as_long_as_the_object(student):
    keeps = student.build("Keeps", torch.exp)
    assert torch.equal(keeps.run(torch.zeros(2)), torch.ones(2))
    assert student.apply_all([torch.exp, {"f": torch.neg}["f"]], torch.zeros(1)) == [
        torch.ones(1),
        torch.zeros(1),
    ]


def test_a_budget_of_calls_holds_even_where_the_student_hides_the_refusal(student):
    assert student.calls_often(Watched(lambda i: i, calls=5), 5) == 10
    for name in ("calls_often", "hides"):
        used_up = error_of(student.call, name, Watched(lambda i: i, calls=5), 6)
        assert "more than 5 times" in used_up.text or "may be called 5 times" in used_up.text
    small = Watched(lambda x: x, numbers=3)
    assert "4" in error_of(student.apply_all, [small], torch.ones(4)).text


def test_a_buffer_has_strides_and_guards_and_comes_back_whole(student):
    out = Buffer(torch.zeros(3, 2), order=(1, 0), gap=2)
    after = student.call("add_into", torch.arange(6.0).reshape(3, 2), out).args[1]
    assert torch.equal(after.values, torch.arange(6.0).reshape(3, 2) + 1) and after.strays == 0
    after.expect_intact(cause="no")
    assert torch.equal(out.values, torch.zeros(3, 2))
    spilt = student.call("spills", 0, Buffer(torch.zeros(4), guard=8)).args[1]
    with pytest.raises(CheckFailed, match="beyond the end") as caught:
        spilt.expect_intact(cause="It writes beyond the end.")
    assert "3 numbers outside" in caught.value.detail and "1 behind the end" in caught.value.detail
    assert student.sums(Buffer(torch.ones(2, 3), gap=1)) == 6


def test_a_buffer_of_whole_numbers_is_guarded_too(student):
    cache = (
        inside(student.build("Cache", 1))
        .call("fill", Buffer(torch.arange(4, dtype=torch.int32), guard=2))
        .args[0]
    )
    assert cache.values.tolist() == [1, 2, 3, 4] and cache.strays == 0


def test_a_generator_arrives_in_its_state_and_comes_back_moved_on(student):
    ours, theirs = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    answer = student.call("draw", theirs)
    assert torch.equal(answer.value, torch.rand(2, generator=ours))
    assert torch.equal(answer.args[0], ours.get_state()) and not torch.equal(
        theirs.get_state(), ours.get_state()
    )


def test_small_models_and_a_clock_of_ours_live_beside_the_student(student):
    ids = torch.tensor([[2]])
    assert student.generate(SuccessorModel([1, 2, 0]), ids, 4).tolist() == [[2, 0, 1, 2, 0]]
    rows = torch.eye(3)
    table = TableModel(rows, {(0, 1): torch.tensor([0.0, 0.0, 9.0])})
    assert student.generate(table, torch.tensor([[0, 1]]), 1).tolist() == [[0, 1, 2]]
    assert student.waits(VirtualClock(1.0)) == 3.5


def test_what_a_call_makes_of_tensors_is_counted(student):
    found = student.counted("halves", torch.ones(100))
    assert (
        found.counted["largest"] == 100
        and found.counted["allocated"] == 400
        and found.counted["flops"] == 0
    )
    assert (
        student.counted("product", torch.ones(4, 5), torch.ones(5, 6)).counted["flops"]
        == 2 * 4 * 5 * 6
    )
