"""A student's Triton kernels: interpreted under a harness, in the sandbox and in a process of their
own, and compiled.
"""

import json
import linecache
import os
import subprocess
import sys

import pytest
import torch

from autograder.checks.inputs.buffers import Buffer
from autograder.checks.kernels.compiler import expect_compiled
from autograder.checks.student.local import LocalStudent, interprets
from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
pytest.importorskip("triton", reason="Triton has wheels for Linux only")
NOTEBOOK = """
import torch, triton, triton.language as tl

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside),
             mask=inside)

@triton.jit
def no_mask(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) + tl.load(y + offsets))

@triton.jit
def mask_on_load_only(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside))

@triton.jit
def always_first(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside),
             mask=inside)

# a running sum that trusts the program before it
@triton.jit
def chained(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    before = tl.load(out + i - 1, mask=i > 0, other=0.0)
    tl.store(out + i, before + tl.load(x + i))

@triton.jit
def small_dot(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, 4)
    a = tl.load(x + i[:, None] * 4 + i[None, :])
    tl.store(out + i[:, None] * 4 + i[None, :], tl.dot(a, tl.load(y + i[:, None] * 4 + i[None, :])))

@triton.jit
def raises(x, y, out, n, BLOCK: tl.constexpr):
    tl.store(out, nowhere)

@triton.jit
def asserts(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    assert n < BLOCK, "one block is enough"
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

WIDTH = 8
ONE = tl.constexpr(1)

@triton.jit
def of_ours(a, b):
    return a + b * ONE

def of_pythons(a, b):
    return a + b

@triton.jit
def by_helper(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets,
             of_ours(tl.load(x + offsets, mask=inside), tl.load(y + offsets, mask=inside)),
             mask=inside)

@triton.jit
def by_plain_helper(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets,
             of_pythons(tl.load(x + offsets, mask=inside), tl.load(y + offsets, mask=inside)),
             mask=inside)

# in a branch that blocks of other sizes never see
@triton.jit
def breaks(x, y, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    for i in range(first, first + BLOCK):
        if BLOCK == 8:
            if i >= n:
                break
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

@triton.jit
def leans(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * WIDTH + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside),
             mask=inside)

@triton.jit
def changes(x, y, out, n, BLOCK: tl.constexpr):
    total = 0
    for i in range(0, n):
        total += tl.load(x + i)
    tl.store(out + tl.arange(0, BLOCK), total + tl.zeros([BLOCK], tl.float32),
             mask=tl.arange(0, BLOCK) < n)

@triton.jit
def first_does_all(x, y, out, n, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        for first in range(0, n, BLOCK):
            offsets = first + tl.arange(0, BLOCK)
            tl.store(out + offsets,
                     tl.load(x + offsets, mask=offsets < n)
                     + tl.load(y + offsets, mask=offsets < n),
                     mask=offsets < n)

def inside(x):          # a name that the kernels above give to something of their own
    return numpy.asarray(x)

def start(kernel, x, y, out, block):
    kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)
def add(x, y, out, block): start(add_kernel, x, y, out, block)
def add_by_helper(x, y, out, block): start(by_helper, x, y, out, block)
def add_by_plain_helper(x, y, out, block): start(by_plain_helper, x, y, out, block)
def add_breaks(x, y, out, block): start(breaks, x, y, out, block)
def add_leans(x, y, out, block): start(leans, x, y, out, block)
def add_breaks_for_some(x, y, out, block):
    start(breaks if block == 8 else add_kernel, x, y, out, block)
def add_changes(x, y, out, block): start(changes, x, y, out, block)
def add_from_one(x, y, out, block): start(first_does_all, x, y, out, block)
def add_twice(x, y, out, block):
    start(add_kernel, x, y, out, block)
    start(add_kernel, x, y, out, block)
def add_no_mask(x, y, out, block): start(no_mask, x, y, out, block)
def add_half_masked(x, y, out, block): start(mask_on_load_only, x, y, out, block)
def add_first(x, y, out, block): start(always_first, x, y, out, block)
def add_raises(x, y, out, block): start(raises, x, y, out, block)
def add_asserts(x, y, out, block): start(asserts, x, y, out, block)
def dot4(x, y, out, block): small_dot[(1,)](x, y, out, 4, BLOCK=4)
def add_in_torch(x, y, out, block): out.copy_(x + y)
def add_and_torch(x, y, out, block):
    start(add_kernel, x, y, out, block)
    out += 0 * x
def add_of_copies(x, y, out, block):
    room = torch.zeros_like(x.view(2, -1).reshape(-1))
    start(add_kernel, x.clone(), y, room, block)
    out.copy_(room)
def add_hides(x, y, out, block):
    try: start(no_mask, x, y, out, block)
    except Exception: out.copy_(x + y)
def running(x, out): chained[(len(x),)](x, out, len(x), BLOCK=1)
def crashes(x):
    import ctypes
    ctypes.string_at(0)
"""
CALLS = [
    "add",
    "add_no_mask",
    "add_half_masked",
    "add_first",
    "add_raises",
    "dot4",
    "add_in_torch",
    "add_and_torch",
    "add_of_copies",
    "add_hides",
    "running",
    "add_from_one",
    "add_twice",
]
REFUSED = {
    "add_breaks": (
        "`breaks` runs in the interpreter, but does not compile for a GPU: line 6 of it, `break`"
    ),
    "add_breaks_for_some": "line 6 of it, `break`: Triton's compiler does not take `break`",
    "add_leans": (
        "line 2 of it, `WIDTH`: `WIDTH` is a global (`int`) that no kernel sees; give it as an"
        " argument"
    ),
    "add_by_plain_helper": (
        "`of_pythons` is a name from outside the kernel; mark a helper with `@triton.jit`"
    ),
    "add_changes": (
        "`changes` runs in the interpreter, but does not compile for a GPU: line 3 of it, `for i in"
        " range(0, n):`: Loop-carried variable total has initial type int32"
    ),
}


def outcomes(student) -> dict[str, list]:
    """What a check sees of every kernel, in a form that JSON can carry."""
    found = {}
    for name in CALLS:
        student.new_stage()
        x, y = torch.arange(16.0), torch.ones(16)
        if name == "running":
            args = (x[:6], Buffer(torch.zeros(6)))
        elif name == "dot4":
            args = (x, y, Buffer(torch.zeros(16)), 4)
        else:
            args = (x[:10].clone(), y[:10].clone(), Buffer(torch.zeros(10), guard=32), 8)
        try:
            after = student.kernel(name, *args, seed=3)
            out = next(one for one in after.args if isinstance(one, Buffer))
            found[name] = [out.values.tolist(), out.strays, dict(sorted(after.counted.items()))]
        except StudentError as error:
            line = 0 if error.kind == "unreadable" else -1  # of an exception the last
            found[name] = [error.kind, error.text.split("\n")[line]]
    return found


SCRIPT = """
import json, os, sys
os.environ["TRITON_INTERPRET"] = "1"
import linecache
from tests.autograder.sandbox import test_kernels as tests
from autograder.checks.student.local import LocalStudent
linecache.cache["cell"] = (1, None, tests.NOTEBOOK.splitlines(keepends=True), "cell")
namespace = {"__name__": "notebook"}
exec(compile(tests.NOTEBOOK, "cell", "exec"), namespace)
print(json.dumps(tests.outcomes(LocalStudent(namespace))))
"""


@pytest.fixture(scope="module")
def sandboxed():
    with open_student(
        [Cell("setup", NOTEBOOK)], limits=Limits(call_seconds=120, total_seconds=900)
    ) as student:
        assert student.cell_errors == []
        yield student


@pytest.fixture(scope="module")
def found(sandboxed):
    return outcomes(sandboxed)


def test_a_right_kernel_passes_and_is_counted(found):
    values, strays, counted = found["add"]
    assert values == [i + 1 for i in range(10)] and strays == 0
    assert counted == {
        "launches": 1,
        "programs": 2,
        "loads": 4,
        "stores": 2,
        "read": 80,
        "written": 40,
        "most": 32,
        "operations": 0,
        "rounded": 0,
        "copied": 0,
        "read 2": 0,
    }


def test_the_work_of_one_program_and_a_second_start_are_counted(found):
    assert [found["add_from_one"][2][name] for name in ("launches", "programs", "most")] == [
        1,
        2,
        40,
    ]
    assert [found["add_twice"][2][name] for name in ("launches", "programs", "most")] == [2, 4, 32]


def test_reads_are_counted_for_each_guarded_tensor(sandboxed):
    sandboxed.new_stage()
    x, y = (Buffer(torch.ones(10)) for _ in range(2))
    counted = sandboxed.kernel("add", x, y, Buffer(torch.zeros(10)), 8).counted
    assert [counted[f"read {place}"] for place in range(3)] == [40, 40, 0]


def test_a_stray_is_refused_in_words_before_it_happens(found):
    kind, text = found["add_no_mask"]
    assert (
        kind == "unreadable"
        and "tl.load reads numbers outside" in text
        and "nearest to `x`" in text
    )
    assert "tl.store writes numbers outside" in found["add_half_masked"][1]
    assert "tl.load reads numbers outside" in found["add_hides"][1]


def test_wrong_kernels_are_told_apart(found):
    kind, text = found["add_first"]
    assert kind == "unreadable" and text.startswith("Data race on `out`: two program instances")
    assert found["add_raises"][0] == "error" and "nowhere" in found["add_raises"][1]
    assert (
        found["add_in_torch"][0] == "unreadable"
        and "No kernel was launched" in found["add_in_torch"][1]
    )
    assert found["dot4"][2]["operations"] == 2 * 4**3


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("add_asserts", 'assert n < BLOCK, "one block is enough"', "AssertionError: one block"),
        ("add_raises", "tl.store(out, nowhere)", "NameError: name 'nowhere'"),
    ],
)
def test_an_exception_in_a_kernel_names_the_kernels_own_line(sandboxed, name, line, message):
    sandboxed.new_stage()
    number = NOTEBOOK.split("\n").index(f"    {line}") + 1
    with pytest.raises(StudentError) as error:
        sandboxed.kernel(name, torch.ones(4), torch.ones(4), Buffer(torch.zeros(4)), 4)
    assert f"cell 1 (setup), line {number}: {line}\n{message}" in error.value.text


def test_torch_beside_a_kernel_is_refused_where_it_computes_and_counted_where_it_copies(found):
    assert (
        found["add_and_torch"][0] == "unreadable"
        and "torch computes beside your kernels (`mul`)" in found["add_and_torch"][1]
    )
    assert (
        found["add_of_copies"][0] == [i + 1 for i in range(10)]
        and found["add_of_copies"][2]["copied"] == 80
    )


def test_an_instance_that_reads_its_neighbours_result_races(found):
    kind, text = found["running"]
    assert kind == "unreadable" and "Data race on `" in text and "loads an element" in text


def test_a_process_of_their_own_gives_what_the_sandbox_gives(found):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    at_home = json.loads(done.stdout.splitlines()[-1])
    assert at_home == json.loads(json.dumps(found))


def test_a_crash_in_a_kernel_ends_its_child_and_not_the_worker(sandboxed):
    sandboxed.new_stage()
    with pytest.raises(StudentError, match="ended by SIGSEGV"):
        sandboxed.kernel("crashes", torch.ones(1))
    assert (
        sandboxed.kernel("add", torch.ones(4), torch.ones(4), Buffer(torch.zeros(4)), 4)
        .args[2]
        .values.sum()
        == 8
    )


def test_a_kernel_that_a_gpu_can_have_compiles_and_one_that_it_cannot_is_named(sandboxed):
    sandboxed.new_stage()
    x = torch.ones(100)
    made = sandboxed.compiles("add", x, x, x, 64)
    assert [one["kernel"] for one in made] == ["add_kernel"] and made[0]["warps"] == 4
    with pytest.raises(StudentError) as caught:
        sandboxed.compiles("dot4", x, x, x, 4)
    assert (
        caught.value.kind == "unreadable"
        and "`small_dot` runs in the interpreter, but does not compile" in caught.value.text
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_compiler_takes_is_named_whatever_size_is_compiled(sandboxed, name):
    sandboxed.new_stage()
    with pytest.raises(StudentError) as caught:
        expect_compiled(sandboxed, name, *(torch.ones(100),) * 3, 64)
    assert caught.value.kind == "unreadable" and REFUSED[name] in caught.value.text


def test_a_helper_and_a_constant_that_the_compiler_knows_are_taken(sandboxed):
    sandboxed.new_stage()
    expect_compiled(sandboxed, "add_by_helper", *(torch.ones(100),) * 3, 64)


HOME = """
import json, os
os.environ["TRITON_INTERPRET"] = "1"
import linecache
import torch
from tests.autograder.sandbox import test_kernels as tests
from autograder.checks.kernels.compiler import expect_compiled
from autograder.checks.student.requests import StudentError
from autograder.checks.student.local import LocalStudent
linecache.cache["cell"] = (1, None, tests.NOTEBOOK.splitlines(keepends=True), "cell")
namespace = {"__name__": "notebook"}
exec(compile(tests.NOTEBOOK, "cell", "exec"), namespace)
student, said = LocalStudent(namespace), {}
for name in ["add", "add_by_helper", *tests.REFUSED]:
    try:
        expect_compiled(student, name, *(torch.ones(100),) * 3, 64)
    except StudentError as error:
        said[name] = error.text
print(json.dumps(said))
"""


def test_a_notebook_which_only_interprets_says_the_same_of_kernels_that_do_not_compile(sandboxed):
    done = subprocess.run(
        [sys.executable, "-c", HOME],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    said = json.loads(done.stdout.splitlines()[-1])
    assert said.keys() == REFUSED.keys() and all(
        part in said[name] for name, part in REFUSED.items()
    )
    with pytest.raises(StudentError) as caught:
        sandboxed.compiles("add_changes", *(torch.ones(100),) * 3, 64)
    assert said["add_changes"] == caught.value.text


@pytest.mark.skipif(interprets(), reason="a process that interprets compiles nothing")
def test_a_process_that_compiles_interprets_for_a_while_and_compiles_again(found):
    linecache.cache["here"] = (1, None, NOTEBOOK.splitlines(keepends=True), "here")
    namespace = {"__name__": "notebook"}
    exec(compile(NOTEBOOK, "here", "exec"), namespace)
    student, x = LocalStudent(namespace), torch.ones(100)
    for _ in range(2):
        assert json.loads(json.dumps(outcomes(student))) == json.loads(json.dumps(found))
        assert [one["kernel"] for one in student.compiles("add", x, x, x, 64)] == ["add_kernel"]
