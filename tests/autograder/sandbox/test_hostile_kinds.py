"""Students who attack or misuse objects, streams, scripts, buffers, gradients, callables and
counts: the check never trips.

Everything a student's side does must become a StudentError, a CheckFailed or plain values, in
bounded time and memory, and must leave the next stage unharmed. `WORKER` gives a student what
honest code never touches: the worker's own objects.
"""

import resource
import time

import pytest
import torch

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.inputs.buffers import Buffer
from autograder.checks.inputs.callables import Watched
from autograder.checks.student.handles import Gradients, inside
from autograder.checks.student.requests import Returned, StudentError
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
NOTEBOOK = '''
import gc, sys, threading, time, torch
from torch import nn

class Raises:
    """Every question about it is answered by an exception."""
    def __getattribute__(self, name): raise RuntimeError("no " + name)
    def __call__(self): return self
class Exits:
    def __getattr__(self, name): raise SystemExit(name)
    def __repr__(self): raise KeyboardInterrupt
class Lies(torch.Tensor):
    @property
    def shape(self): return (1, 2, 3)
class Meta(type):
    def __getattribute__(cls, name): raise ValueError("meta " + name)
class WithMeta(metaclass=Meta): pass
class Swaps:
    """A number that is another one each time."""
    def __init__(self): self.n = 0
    @property
    def length(self):
        self.n += 1
        return self.n
    def huge(self): return [[0] * 1000] * 2000
    def bomb(self): return torch.zeros(10**12)
    def deep(self):
        inner = []
        for _ in range(100000): inner = [inner]
        return inner
    def cyclic(self):
        inner = []
        inner.append(inner)
        return inner
    def slow_text(self): raise ValueError("x" * 10**8)
    def bad_text(self): raise type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})()
    def subclass(self): return torch.ones(2).as_subclass(Lies)
    def stop(self): raise StopIteration(5)
    def stub(self): raise NotImplementedError(Raises())
    def itself(self): return self
    def code(self): return compile("1", "x", "exec")
def make_raises(): return Raises()
def make_meta(): return WithMeta()
def make_exits(): return Exits()
class Slots:
    __slots__ = ()
class OddState(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(2))
    def state_dict(self, *a, **k): return {"w": "not a tensor", 3: self, Raises(): 1}
    def named_parameters(self, *a, **k): yield Raises(), 5
    def train(self, mode=True): raise SystemExit
    def forward(self, x): return x
class Fakes(nn.Module):
    def __init__(self):
        super().__init__(); self.w = nn.Parameter(torch.ones(2))
        self.w.grad = torch.full((2,), 9.0)
    def load_state_dict(self, *a, **k): return None
    def zero_grad(self, *a, **k): pass
    def forward(self, x): return (x * self.w.detach()).sum().requires_grad_()
def forever():
    while True: yield 1
def sleeper():
    yield 1
    time.sleep(100)
def big_pieces():
    while True: yield torch.zeros(1 << 26)
def never_closes():
    while True:
        try: yield 1
        except GeneratorExit: pass
class Iter:
    def __next__(self): raise SystemExit
    def close(self): raise Raises()
def odd_iterator(): return Iter()
class NotIter:
    __next__ = 5
def not_iterator(): return NotIter()
def resizes(x): x.resize_(10); return 0
def retypes(x): x.data = x.data.double(); return 0
def sparse(x): x.data = torch.ones(2).to_sparse(); return 0
def swaps_memory(x): x.set_(torch.zeros(99)); return 0
def moves(g): g.set_state(torch.zeros(3, dtype=torch.uint8))
def broadcast(f): return f(torch.ones(1 << 20, 1), torch.ones(1, 1 << 20))
def passes_itself(f): return f(f)
def passes_object(f): return f(Raises())
def keyword(f): return f(**{"self": 1, "": 2})
def numbers(f):
    found = []
    for i in range(200):
        try: found.append(ask(i, (torch.ones(1),)))
        except BaseException as error: found.append(type(error).__name__)
    return found
def ask(number, args):
    worker = next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
    worker.send({"say": "callback", "callback": number, "args": args, "kwargs": {}})
    return worker.frames.unpack(worker.receive())
def answers(message):
    worker = next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
    # before the worker's own answer, in the same pipe
    worker.send(message | {"printed": "", "cut": 0})
def keeps(f):
    global kept
    kept = f
    def later():
        for _ in range(50):
            time.sleep(0.02)
            try: stolen.append(f(torch.ones(1)))
            except BaseException: pass
    stolen.clear()
    threading.Thread(target=later, daemon=True).start()
    return 0
stolen = []
def loot(): time.sleep(1.2); return len(stolen)
def touches_handles():
    worker = next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
    worker.executor.objects.clear()
def fine(x): return x + 1
'''


@pytest.fixture(scope="module")
def student():
    with open_student(
        [Cell("setup", NOTEBOOK)], limits=Limits(call_seconds=5, restarts=30, total_seconds=1500)
    ) as student:
        assert student.cell_errors == []
        yield student


def attempt(question):
    """Whatever comes of it, if it is one of the three things that may come."""
    begun = time.monotonic()
    try:
        found = question()
    except (StudentError, CheckFailed) as refused:
        found = refused
    assert time.monotonic() - begun < 90
    return found


OBJECTS = {
    f"{name}.{method}": (name, method)
    for name in ("Swaps", "make_raises", "make_meta", "make_exits", "Slots")
    for method in (
        "huge",
        "bomb",
        "deep",
        "cyclic",
        "slow_text",
        "bad_text",
        "subclass",
        "stop",
        "stub",
        "itself",
        "code",
        "__class__",
        "",
        "length",
    )
    if name == "Swaps" or method in ("", "code", "length")
}


def test_objects_that_raise_lie_or_explode_become_sentences(student):
    for name, method in OBJECTS.values():
        student.new_stage()
        found = attempt(lambda name=name: student.build(name))
        if isinstance(found, StudentError):
            continue
        questions = [lambda f=found, m=method: inside(f).call(m)]
        if method == "length":
            questions += [
                lambda f=found: inside(f).get("length"),
                lambda f=found: inside(f).get("length.0.__class__"),
                lambda f=found: inside(f).state(),
                lambda f=found: inside(f).script([("bad_text",), ("stop",)], watch=["length"]),
            ]
        for question in questions:
            answer = attempt(question)
            if isinstance(answer, StudentError):
                assert answer.kind in (
                    "error",
                    "unreadable",
                    "missing",
                    "not_attempted",
                    "memory",
                    "time",
                    "killed",
                ), answer
                assert len(answer.text) < 5000 and answer.text.isprintable() or "\n" in answer.text
    student.new_stage()
    assert student.fine(1) == 2


def test_a_module_that_lies_about_itself_is_refused_or_gives_plain_values(student):
    student.new_stage()
    odd, fakes = student.build("OddState"), student.build("Fakes")
    for question in (
        lambda: inside(odd).state(),
        lambda: inside(odd).shapes(),
        lambda: inside(odd).learning(),
        lambda: inside(odd).train(False),
        lambda: inside(odd).load({"w": torch.ones(2)}),
        lambda: inside(odd).gradients("", torch.ones(2)),
    ):
        assert isinstance(attempt(question), StudentError)
    inside(fakes).load({"w": torch.zeros(2)})
    assert torch.equal(
        inside(fakes).state()["w"], torch.ones(2)
    )  # what it loaded shows, whatever it said
    assert isinstance(
        attempt(lambda: inside(fakes).gradients("", torch.ones(2))), (Gradients, StudentError)
    )


def test_streams_without_end_without_pieces_and_without_manners(student):
    student.new_stage()
    endless = student.stream("forever")
    assert endless.take(50) == [1] * 50 and not endless.ended
    for name, count in (("sleeper", 2), ("big_pieces", 3), ("odd_iterator", 1)):
        student.new_stage()
        stream = attempt(lambda name=name: student.stream(name))
        assert isinstance(attempt(lambda s=stream, n=count: s.take(n)), StudentError), name
    student.new_stage()
    assert isinstance(attempt(lambda: student.stream("not_iterator").take(1)), StudentError)
    stubborn = student.stream("never_closes")
    stubborn.take(1)
    assert isinstance(attempt(stubborn.close), StudentError)


def test_buffers_and_generators_that_come_back_as_something_else(student):
    for name in ("resizes", "retypes", "sparse", "swaps_memory"):
        student.new_stage()
        for argument in (Buffer(torch.zeros(4)), torch.zeros(4)):
            found = attempt(lambda name=name, argument=argument: student.call(name, argument))
            assert isinstance(found, (StudentError, Returned))
            if isinstance(found, Returned) and isinstance(argument, Buffer):
                assert (
                    found.args[0].values.shape == (4,)
                    and found.args[0].values.dtype == torch.float32
                )
    assert isinstance(attempt(lambda: student.call("moves", torch.Generator())), StudentError)


def test_callables_refuse_what_would_cost_the_checker(student):
    student.new_stage()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seen = Watched(lambda *args, **kwargs: args[0] * args[1], calls=5)
    for name in ("broadcast", "passes_itself", "passes_object", "keyword"):
        assert isinstance(
            attempt(lambda name=name: student.call(name, seen)), (StudentError, Returned)
        )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024


def test_functions_of_other_calls_cannot_be_asked_for(student):
    student.new_stage()
    secret = Watched(lambda x: torch.tensor([42.0]))
    student.keeps(secret)
    assert student.loot() == 0 or secret.calls == student.loot()
    assert secret.calls == 0
    found = attempt(lambda: student.numbers(torch.neg))
    assert secret.calls == 0 and not isinstance(found, Returned)


ANSWERS = [
    {"say": "returned"},
    {"say": "returned", "value": 1},
    {"say": "returned", "value": 1, "args": [1]},
    {"say": "returned", "value": 1, "args": [(True, None)] * 7},
    {"say": "returned", "value": {"handle": 1}, "args": [], "counted": 3},
    {"say": "returned", "value": 1, "args": [], "counted": {"flops": "many"}},
    {"say": "apart"},
    {"say": "started", "errors": []},
    {"say": "error", "kind": "passed", "text": "x"},
    {"say": "error", "kind": "fault", "text": 5},
    {"say": "callback", "callback": True, "args": (), "kwargs": {}},
    {"say": "callback", "callback": 10**18, "args": [], "kwargs": {}},
    {"say": "callback", "callback": 1, "args": (), "kwargs": {1: 2}},
    {"say": ["returned"]},
    {},
]


@pytest.mark.parametrize("message", ANSWERS, ids=lambda message: str(message)[:60])
def test_forged_answers_are_no_answers(student, message):
    student.new_stage()
    found = attempt(lambda: student.call("answers", message))
    assert isinstance(found, (StudentError, Returned))
    if isinstance(
        found, Returned
    ):  # a frame that it sent earlier, or this one: its own word either way
        assert found.value in (1, None) and type(found.counted) is dict


FORGED = {
    "next": [
        5,
        {"pieces": 1, "ended": True},
        {"pieces": [1] * 9, "ended": True},
        {"pieces": [], "ended": False},
        {"pieces": [], "ended": 1},
    ],
    "script": [5, [], [(1, "", "", {})] * 2, [(1, 2, "", {})], [(1, "", "")], [[1, "", "", {}]]],
    "gradients": [
        5,
        {},
        {"value": 1, "arguments": [], "parameters": {}},
        {"value": torch.ones(()), "arguments": [1], "parameters": {}},
        {"value": torch.ones(()), "arguments": [None] * 3, "parameters": {}},
        {"value": torch.ones(()), "arguments": [None], "parameters": {"w": "x"}},
    ],
}
REPLACED = """
def replaced(operation, value):
    worker = next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
    setattr(type(worker.executor), "_" + operation,
            lambda self, request: {"value": value, "args": []})
"""


def test_a_worker_that_lies_about_pieces_scripts_and_gradients_is_not_believed():
    ask = {
        "next": lambda s: s.stream("forever").take(2),
        "script": lambda s: s.script([("fine", 1)]),
        "gradients": lambda s: s.gradients("fine", torch.ones(())),
    }
    with open_student(
        [Cell("setup", NOTEBOOK + REPLACED)], limits=Limits(call_seconds=20)
    ) as student:
        for operation, values in FORGED.items():
            for value in values:
                student.new_stage()
                student.replaced(operation, value)
                assert isinstance(attempt(lambda: ask[operation](student)), StudentError), (
                    operation,
                    value,
                )


def test_objects_that_the_student_throws_away_are_the_students_loss(student):
    student.new_stage()
    one = student.build("Swaps")
    student.touches_handles()
    assert isinstance(attempt(lambda: inside(one).get("length")), StudentError)
    student.new_stage()
    assert student.fine(1) == 2
