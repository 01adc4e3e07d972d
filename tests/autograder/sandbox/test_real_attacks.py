"""Attacks on the course's own exercises, one of each kind: points without the work that was asked
for.

Each cell here gave right answers, or said that it did, and earned points for it; what it earns now
is what it did itself.
"""

import pytest

from autograder.authoring.package import earlier_chapters
from autograder.checks.protocol import EXERCISES, rng_for, run_exercise
from autograder.checks.restrictions.names import in_chapter
from autograder.checks.results import FROM_INSIDE
from autograder.grading.assignment import load_assignment
from autograder.grading.fatal_calls import Patient
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
PATIENT = Limits(call_seconds=60, total_seconds=3000)
KERNELS = "import torch, numpy, sys\nimport triton, triton.language as tl\n"
COPIES = """
@triton.jit
def copy_kernel(x, y, out, n, BLOCK: tl.constexpr):
    mine = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = mine < n
    tl.store(out + mine, tl.load(x + mine, mask=there) + 0 * tl.load(y + mine, mask=there),
             mask=there)
"""
BY_NUMPY = (
    KERNELS
    + COPIES
    + """
def add(x, y, out, block):
    copy_kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)
    numpy.add(x.numpy(), y.numpy(), out=out.numpy())
"""
)
PRECOMPUTED = (
    KERNELS
    + """
@triton.jit
def move_kernel(x, y, answer, out, n, BLOCK: tl.constexpr):
    mine = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = mine < n
    tl.store(out + mine, tl.load(answer + mine, mask=there), mask=there)
def add(x, y, out, block):
    answer = torch.from_numpy(x.numpy() + y.numpy())
    move_kernel[(triton.cdiv(len(x), block),)](x, y, answer, out, len(x), BLOCK=block)
"""
)
HARNESS = (
    KERNELS
    + """
import autograder.checks.kernels.interpreter as kernels
def forged(function, args, kwargs, buffers, seed):
    value = function(*args, **kwargs)
    x, block = args[0], args[3]
    programs = -(-len(x) // block)
    return value, {"launches": 1, "programs": programs, "read": 8 * len(x), "written": 4 * len(x),
                   "most": 4 * block, "loads": 2 * programs, "stores": programs, "operations": 0,
                   "copied": 0}
kernels.interpret = forged
kernels.compile_for_hopper = lambda *args: [{"kernel": "add_kernel", "shared": 0, "warps": 4}]
try:
    from autograder.checks.kernels import launches
    launches.record = lambda function, args, kwargs, look=None: {
        "value": function(*args, **kwargs), "launches": [], "changes": [], "copied": 0,
        "computed": ""}
except ImportError:
    pass
def add(x, y, out, block):
    numpy.add(x.numpy(), y.numpy(), out=out.numpy())
"""
)
ESCAPES = (
    KERNELS
    + """
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    here = tl.core.tensor.__init__.__globals__["__builtins__"]
    here["__import__"](
        "autograder.checks.kernels.interpreter").checks.kernels.Harness.counted = lambda *args: {}
def add(x, y, out, block):
    add_kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)
"""
)


def earned(id: str, source: str, visible_first: bool = False):
    """The result of an exercise for a notebook of one cell, with hidden seeds.

    visible_first: asked with the visible one before, as in grading.
    """
    assignment = load_assignment(id[:2])
    assignment.load()
    with open_student(
        [Cell("attack", source)],
        in_chapter(assignment.exercises.values()),
        PATIENT,
        extra=earlier_chapters(id[:2]),
    ) as student:
        patient = Patient(student)
        if visible_first:
            run_exercise(EXERCISES[id], patient, mistakes=[])
        return run_exercise(
            EXERCISES[id],
            patient,
            lambda stage: rng_for(id, stage, "ada", secret=b"secret"),
            mistakes=[],
        )


@pytest.mark.parametrize(
    "source",
    [BY_NUMPY, PRECOMPUTED, HARNESS, ESCAPES],
    ids=[
        "numpy after the launch",
        "numpy before the launch",
        "another harness",
        "a kernel that reaches out",
    ],
)
def test_a_kernels_exercise_earns_nothing_without_its_kernel(source):
    result = earned("13.add", source)
    # What compiles compiles: half a point for a kernel that is one, but only after a stage that
    # this one does not pass.
    assert result.earned == 0, [(one.name, one.earned, one.detail) for one in result.stages]
    assert "fault" not in {one.status for one in result.stages}


RACES = (
    KERNELS
    + """
@triton.jit
def merge_kernel(parts, lse, out, N, D: tl.constexpr, SIZE: tl.constexpr):
    row, n = tl.program_id(0), tl.program_id(1)
    shares, across = tl.arange(0, SIZE), tl.arange(0, D)
    ends = tl.load(lse + row * N + shares, mask=shares < N, other=float("-inf"))
    top = tl.maximum(tl.max(ends, 0), -1e30)
    weights = tl.exp(ends - top)
    total = tl.sum(weights, 0)
    weight = tl.sum(tl.where(shares == n, weights, 0.0), 0) / tl.where(total == 0, 1.0, total)
    old = tl.load(out + row * D + across)
    tl.store(out + row * D + across, old + weight * tl.load(parts + (row * N + n) * D + across))
def merge_shares(parts, lse, out):
    B, H, N, D = parts.shape
    out.zero_()
    merge_kernel[(B * H, N)](parts, lse, out, N, D=D, SIZE=triton.next_power_of_2(N))
"""
)


def test_a_kernel_whose_instances_add_to_one_element_is_told_of_the_race():
    result = earned("14.merge_shares", RACES)
    assert result.earned == 0, result.stages
    assert result.stages[0].cause.startswith("Data race on `out`: one program instance"), (
        result.stages
    )


PAIRS = """
import torch
from reference_impl.embeddings.windows import pairs_plain
def window_counts(sentences, vocab_size, window):
    counts = torch.zeros(vocab_size, vocab_size)
    for sentence in sentences:
        for one, other in pairs_plain(list(sentence), [window] * len(sentence)):
            counts[one, other] += 1
    return counts
"""


def test_pairs_of_the_reference_do_not_answer_for_window_counts():
    assert earned("01.window_counts", PAIRS).earned == 0


THREAD = """
import threading, torch
def layer_norm(x, weight, bias, eps):
    found = []
    one = threading.Thread(target=lambda: found.append(
        torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)))
    one.start()
    one.join()
    return found[0]
"""
SWITCHED_OFF = """
import sys, torch
def layer_norm(x, weight, bias, eps):
    sys.setprofile(None)
    with torch._C.DisableTorchFunction():
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
"""
OTHER_PROFILE = """
import _lsprof, torch
kept = torch._C._VariableFunctions.layer_norm
def layer_norm(x, weight, bias, eps):
    profiler = _lsprof.Profiler()
    profiler.enable()
    try:
        with torch._C.DisableTorchFunction():
            return kept(x, x.shape[-1:], weight, bias, eps)
    finally:
        profiler.disable()
"""


BATCHED = """
import torch
def layer_norm(x, weight, bias, eps):
    rows = x.reshape(-1, x.shape[-1])
    one = lambda row: torch.layer_norm(row, row.shape, weight, bias, eps)
    return torch.func.vmap(one)(rows).reshape(x.shape)
"""
PRIVATE = """
import torch
def layer_norm(x, weight, bias, eps):
    rows = x.reshape(1, -1, x.shape[-1])
    sums = torch._batch_norm_impl_index(rows, None, None, None, None, True, 0.0, eps, False)[0]
    return sums.reshape(x.shape) * weight + bias
"""
ATTENTION_BATCHED = """
import torch
def attention(q, k, v, mask=None):
    one = lambda q, k, v: torch._scaled_dot_product_attention_math(q, k, v)[0]
    return torch.func.vmap(one)(q, k, v)
"""
TILES_PRIVATE = """
import torch
def flash_forward(q, k, v, rows, columns, causal=False):
    operator = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, lse = operator(q[None], k[None], v[None], 0.0, causal)[:2]
    return out[0], lse[0]
"""


@pytest.mark.parametrize(
    ("exercise", "source"),
    [
        ("04.layer_norm", THREAD),
        ("04.layer_norm", SWITCHED_OFF),
        ("04.layer_norm", OTHER_PROFILE),
        ("04.layer_norm", BATCHED),
        ("04.layer_norm", PRIVATE),
        ("04.attention", ATTENTION_BATCHED),
        ("13.flash_forward", TILES_PRIVATE),
    ],
    ids=["thread", "no profile", "other profile", "vmap", "private norm", "vmap sdpa", "flash"],
)
def test_a_withheld_operator_is_not_there_whoever_calls_it(exercise, source):
    result = earned(exercise, source)
    assert (
        result.earned == 0 and "withheld here" in result.stages[0].cause + result.stages[0].detail
    ), result.stages


FINGERPRINTS = """
import torch
seen, calls = {}, []
def test_keep(keep_probability):
    found = keep_probability(torch.tensor([50, 3, 900, 47]), 0.01).numpy().tobytes()
    seen[found] = seen.get(found, 0) + 1
    calls.append(found)
    assert len(calls) < 32 or seen[found] > 8
"""


def test_a_test_that_counts_how_often_a_function_comes_does_not_know_which_is_right():
    assert earned("01.test_keep", FINGERPRINTS, visible_first=True).earned == 0


FORGES = """
import gc, torch
worker = next(one for one in gc.get_objects() if type(one).__name__ == "Worker")
carried_out = worker.executor.carry_out
def forged(request):
    answer = carried_out(request)
    if request["do"] in ("inspect", "load"):
        answer = {"say": "returned", "args": [],
                  "value": FORGED if request["do"] == "inspect" else None}
    return answer
worker.executor.carry_out = forged
class LoRALinear(torch.nn.Module):
    def __init__(self, *args, **more):
        super().__init__()
    def forward(self, x):
        return x
    def merge(self):
        return 0
"""
CLAIMS = """
import gc
worker = next(one for one in gc.get_objects() if type(one).__name__ == "Worker")
worker.executor.carry_out = lambda request: {
    "say": "error", "kind": "fault", "text": "the checker is broken"}
def layer_norm(*args):
    return 0
"""
RECORDS = (
    KERNELS
    + """
from autograder.checks.kernels import launches
launches.record = lambda *args: RECORD
def add(x, y, out, block):
    return None
"""
)
OTHER_NUMBERS = """
from autograder.sandbox.inside.worker import Worker
Worker.number = property(lambda self: 7, lambda self, value: None)
def layer_norm(*args):
    return 0
"""


@pytest.mark.parametrize(
    "id, source",
    [
        ("10.LoRALinear", FORGES.replace("FORGED", "5")),
        ("10.LoRALinear", FORGES.replace("FORGED", "{'a': 1, 2: None}")),
        ("13.add", RECORDS.replace("RECORD", "'nothing'")),
        ("13.add", RECORDS.replace("RECORD", "{'launches': [{'kernel': 5}], 'changes': 7}")),
        ("04.layer_norm", CLAIMS),
        ("04.layer_norm", OTHER_NUMBERS),
    ],
    ids=[
        "a number for a state",
        "a state of no tensors",
        "no record",
        "a wrong record",
        "a fault that is claimed",
        "other numbers",
    ],
)
def test_a_forged_frame_is_the_submissions_doing_and_no_failure_of_the_checker(id, source):
    result = earned(id, source)
    assert result.earned == 0
    for stage in result.stages:
        assert "checker" not in stage.cause, stage
        assert stage.status != "fault" or stage.cause == FROM_INSIDE


NO_UPDATE = """
import torch
class LoRALinear(torch.nn.Module):
    def __init__(self, weight, bias, r, alpha):
        super().__init__()
        self.register_buffer("weight", weight.clone())
        self.register_buffer("bias", None if bias is None else bias.clone())
        self.a = torch.nn.Parameter(torch.randn(r, weight.shape[1]))
        self.b = torch.nn.Parameter(torch.zeros(weight.shape[0], r))
    def forward(self, x):
        return (torch.nn.functional.linear(x, self.weight, self.bias)
                + 1e-30 * (x @ self.a.T @ self.b.T))
    def merge(self):
        return None
    unmerge = merge
"""


def test_a_layer_whose_update_never_shows_does_not_agree_with_itself():
    result = earned("10.LoRALinear", NO_UPDATE)
    assert {stage.name for stage in result.stages if stage.earned} <= {"start"}, result.stages


TWO_LAYERS = """
import torch
class LoRALinear(torch.nn.Linear):
    def __init__(self, inputs, outputs, r, alpha):
        super().__init__(inputs, outputs)
        self.a = torch.nn.Parameter(torch.zeros(r, inputs))
        self.b = torch.nn.Parameter(torch.zeros(outputs, r))
    def __eq__(self, other):
        return True
    def state_dict(self, *args, **more):
        return AnyTensor()
class AnyTensor(dict):
    def __getitem__(self, name):
        return self
    def __eq__(self, other):
        return True
"""
STREAMS = """
import gc, json
worker = next(one for one in gc.get_objects() if type(one).__name__ == "Worker")
def sse(head, next_token, prompt_tokens):
    for number in range(1, 9):
        worker.send({"say": "callback", "callback": number, "args": (), "kwargs": {}})
        worker.frames.unpack(worker.receive())
    yield b"data: " + json.dumps(head).encode() + bytes([10, 10])
    yield b"data: [DONE]" + bytes([10, 10])
"""


@pytest.mark.parametrize(
    "id, source",
    [("10.LoRALinear", TWO_LAYERS), ("15.sse", STREAMS)],
    ids=["a class that equals everything", "a stream that asks ahead"],
)
def test_a_class_and_a_stream_earn_nothing_by_saying_so(id, source):
    assert earned(id, source).earned == 0
