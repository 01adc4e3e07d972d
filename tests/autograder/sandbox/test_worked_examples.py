"""The worked examples of the book's page on kinds of exercises, run: a right student gets all
points, wrong ones are told what is wrong; in both places.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.checks import protocol
from autograder.checks.mistakes.registry import _mistakes, mistake
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.student.base import Student
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).resolve().parents[3]
SETUP = "import torch\nfrom torch import nn\n"

CACHE = """
class KVCache:
    def __init__(self, room): self.room, self.kept = room, torch.empty(0, 3)
    @property
    def length(self): return len(self.kept)
    def append(self, k):
        if len(self.kept) + len(k) > self.room: raise OverflowError("full")
        self.kept = torch.cat([self.kept, k])
        return self.kept
"""
LORA = """
class LoRALinear(nn.Module):
    def __init__(self, inputs, outputs, rank, alpha):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False).requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(rank, inputs)), nn.Parameter(torch.zeros(outputs, rank))
        self.scale = alpha / rank
    def forward(self, x): return self.base(x) + self.scale * (x @ self.a.T @ self.b.T)
"""
STREAM = """
def generate(model, first):
    ids = torch.tensor([[first]])
    while True:
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], 1)
        yield int(ids[0, -1])
"""
SCALE = "def scale_into(x, out): torch.add(x, x, out=out)\n"
BLOCKS = """
class Blocks:
    def __init__(self, number, size):
        self.free, self.size, self.tables, self.lengths, self.users = list(range(number)), size, {}, {}, [0] * number
    def take(self):
        block = self.free.pop()
        self.users[block] = 1
        return block
    def allocate(self, name, length):
        self.tables[name] = [self.take() for _ in range(-(-length // self.size))]
        self.lengths[name] = length
    def fork(self, old, new):
        self.tables[new], self.lengths[new] = list(self.tables[old]), self.lengths[old]
        for block in self.tables[new]: self.users[block] += 1
    def append(self, name):
        table = self.tables[name]
        if self.lengths[name] % self.size == 0: table.append(self.take())
        elif self.users[table[-1]] > 1:
            self.users[table[-1]] -= 1
            table[-1] = self.take()
        self.lengths[name] += 1
"""
SAMPLE = (
    "def sample(p, n, generator): return torch.multinomial(p, n, replacement=True,"
    " generator=generator)\n"
)
LOSS = """
def soften(logits, temperature): return torch.softmax(logits / temperature, -1)
def soft_loss(student, teacher):
    return -(soften(teacher.detach(), 2.0) * torch.log_softmax(student / 2.0, -1)).sum(-1).mean()
"""
FLAT = "def flat_distribution(): return torch.full((20,), 0.05)\n"
BROKEN = """
def wrong_line(): return 2
def weights(q, k):
    scores = q @ k.T / q.shape[1] ** 0.5
    scores = scores - scores.max(dim=1, keepdim=True).values
    return scores.exp() / scores.exp().sum(dim=1, keepdim=True)
"""
RIGHT = {
    "99.broken": BROKEN,
    "99.cache": CACHE,
    "99.lora": LORA,
    "99.stream": STREAM,
    "99.scale": SCALE,
    "99.blocks": BLOCKS,
    "99.sample": SAMPLE,
    "99.loss": LOSS,
    "99.flat": FLAT,
}
# What is replaced in the right answer, by what, and what the first failed stage says.
WRONG = {
    "99.broken": [
        ("return 2", "return 3", "Run each line by itself"),
        (" ** 0.5", "", "still wrong"),
        ("sum(dim=1", "sum(dim=0", "still wrong"),
    ],
    "99.cache": [
        ("return self.kept", "return k", r"shape \(1, 3\)"),
        ("OverflowError", "ValueError", "Raise OverflowError"),
        ("def append", "def add", "`KVCache` has no method `append`. It has `add`"),
        (
            "        if len",
            "        self.kept = torch.cat([self.kept, k])\n        if len",
            "raises an exception",
        ),
        ("return self.kept", "return [self.kept]", "list"),
    ],
    "99.lora": [
        ("alpha / rank", "alpha", "Scale by alpha / rank"),
        (".requires_grad_(False)", "", "must not ask"),
        ("self.a, self.b =", "self.down, self.b =", "no parameter or buffer `a`"),
        ("nn.Module", "object", "not a torch.nn.Module"),
        ("return self.base", "return None; self.base", "None"),
    ],
    "99.stream": [
        ("yield int(ids[0, -1])", "yield 0", "Each token is the likeliest"),
        (
            "    while True:",
            "    for _ in range(5): model(ids)\n    while True:",
            "Ask the model when",
        ),
        ("yield int", "return int", "use `yield`"),
        (
            "    while True:",
            "    for _ in range(20): model(ids)\n    while True:",
            "raises an exception",
        ),
    ],
    "99.scale": [
        (
            "torch.add(x, x, out=out)",
            "torch.as_strided(out, (9,), (1,), out.storage_offset()).fill_(2)",
            "outside out",
        ),
        ("torch.add(x, x, out=out)", "out = x + x", "twice x"),
        ("torch.add(x, x, out=out)", "out.copy_(torch.cat([x] * 24)[:len(x)] * 2)", "memory"),
    ],
    "99.blocks": [
        ("list(self.tables[old])", "self.tables[old]", "copied first"),
        ("elif self.users[table[-1]] > 1", "elif False", "copied first"),
        (
            "self.tables[new], self.lengths[new] = list(self.tables[old])",
            "self.tables[new], self.lengths[new] = [self.take() for _ in self.tables[old]]",
            "copies the table only",
        ),
    ],
    "99.sample": [
        (", generator=generator", "", "generator that you are given"),
        ("multinomial(p,", "multinomial(p.sqrt(),", "do not follow"),
        (
            "torch.multinomial(p, n, replacement=True, generator=generator)",
            "torch.zeros(n, dtype=torch.int64)",
            "do not follow",
        ),
    ],
    "99.loss": [
        ("logits / temperature", "logits * temperature", "Divide by the temperature"),
        ("teacher.detach()", "teacher", "Detach the teacher"),
        (".mean()", ".mean().item()", "torch.Tensor to differentiate"),
    ],
    "99.flat": [
        ("(20,), 0.05", "(4,), 0.25", "five likeliest"),
        ("(20,), 0.05", "(20,), 0.5", "do not add up to 1"),
        ("(20,), 0.05", "(10**6,), 1e-6", "2 to 100"),
        ("torch.full((20,), 0.05)", "torch.full((20,), float('nan'))", "NaN"),
    ],
}


@pytest.fixture(scope="module")
def examples():
    """The exercises of that page by id."""
    before = dict(protocol.EXERCISES)
    text = (ROOT / "book" / "exercise-kinds.md").read_text(encoding="utf-8")
    section = text.partition("## The kinds")[2].partition("\n## ")[0]
    namespace = {**vars(protocol), "torch": torch, "mistake": mistake}
    for block in re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL):
        exec(block, namespace)
    yield {id: one for id, one in protocol.EXERCISES.items() if id.startswith("99.")}
    protocol.EXERCISES.clear()
    protocol.EXERCISES.update(before)
    for id in list(_mistakes):
        if id.startswith("99."):
            del _mistakes[id]


def first_failure(result):
    return next(
        (
            f"{stage.cause} {stage.detail} {stage.misconception}"
            for stage in result.stages
            if stage.status != "passed"
        ),
        "",
    )


class Renamed(Student):
    """One of many answers that live in one sandbox, each under names of its own."""

    def __init__(self, inner, suffix):
        super().__init__()
        self.inner, self.suffix = inner, suffix

    def new_stage(self):
        super().new_stage()
        self.inner.new_stage()

    def perform(self, request):
        return self.inner.perform(
            replace(request, name=request.name + self.suffix) if request.of is None else request
        )

    def cap(self, memory):
        return self.inner.cap(memory)


def answers(id):
    """(suffix, source, what the first failed stage says): the right answer, then the wrong ones."""
    for number, (old, new, says) in enumerate([("", "", ""), *WRONG[id]]):
        source = RIGHT[id].replace(old, new) if old else RIGHT[id]
        assert not old or source != RIGHT[id], old
        yield f"_{id[3:]}_{number}", source, says


def renamed(source, suffix):
    for name in re.findall(r"^(?:def|class) (\w+)", source, flags=re.MULTILINE):
        source = re.sub(rf"\b{name}\b", name + suffix, source)
    return source


@pytest.fixture(scope="module")
def crowd():
    """One sandbox with every answer in it."""
    cells = [
        Cell("setup", SETUP),
        *(
            Cell(suffix, renamed(source, suffix))
            for id in RIGHT
            for suffix, source, _ in answers(id)
        ),
    ]
    with open_student(
        cells, limits=Limits(call_seconds=60, total_seconds=1200, cells_seconds=300)
    ) as student:
        assert student.cell_errors == []
        yield student


def test_there_is_an_answer_for_every_example(examples):
    assert examples.keys() == RIGHT.keys() | {"99.add"}


@pytest.mark.parametrize("id", RIGHT)
@pytest.mark.parametrize("place", ["notebook", "sandbox"])
def test_a_right_student_gets_all_points_and_wrong_ones_are_told_why(examples, request, place, id):
    for suffix, source, says in answers(id):
        if place == "notebook":
            namespace = {"__name__": "notebook"}
            exec(compile(SETUP + source, "notebook", "exec"), namespace)
            student = LocalStudent(namespace)
        else:
            student = Renamed(request.getfixturevalue("crowd"), suffix)
        result = run_exercise(examples[id], student, mistakes=[])
        said = first_failure(result).replace(suffix, "")
        if says:
            assert result.earned < result.points and re.search(says, said), (says, said, source)
        else:
            assert result.earned == result.points and not said, said


def test_each_of_two_functions_has_its_own_mistakes(examples):
    [one] = _mistakes["99.loss"].values()
    assert one.replaces == "soften" and one.caught_by == "soften"
    namespace = {}
    exec(SETUP + LOSS, namespace)
    stages = run_exercise(
        examples["99.loss"], LocalStudent({**namespace, "soften": one.function}), mistakes=[]
    ).stages
    assert [stage.status for stage in stages] == ["wrong", "passed"]


ADD = """
import triton, triton.language as tl
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside), mask=inside)
def add(x, y, out, block): add_kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)
"""


def test_the_kernel_example_in_the_sandbox(examples):
    pytest.importorskip("triton", reason="Triton has wheels for Linux only")
    sources = {
        "_right": (ADD, ""),
        "_stray": (ADD.replace(", mask=inside)\ndef", ")\ndef"), "tl.store writes numbers outside"),
        "_short": (
            ADD.replace("triton.cdiv(len(x), block)", "len(x) // block"),
            "Every number is x",
        ),
    }
    cells = [
        Cell("setup", SETUP),
        *(Cell(suffix, renamed(source, suffix)) for suffix, (source, _) in sources.items()),
    ]
    with open_student(cells, limits=Limits(call_seconds=120, total_seconds=1200)) as student:
        assert student.cell_errors == []
        for suffix, (_, says) in sources.items():
            result = run_exercise(examples["99.add"], Renamed(student, suffix), mistakes=[])
            assert says in first_failure(result) and (says or result.earned == 2), first_failure(
                result
            )
