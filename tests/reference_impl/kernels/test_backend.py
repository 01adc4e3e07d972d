"""Which implementation runs can be asked for and chosen, and what it can't take is refused in
words.
"""

import ast
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from torch._subclasses import FakeTensorMode

from reference_impl.kernels import backend
from reference_impl.kernels.backend import (
    HEAD_DIMS,
    IMPLEMENTATIONS,
    LONGEST_STRIDE,
    KernelError,
    choose,
    default_backend,
    device_of,
    interpreting,
    side_by_side,
)
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.flash_attention import flash_attention, flash_attention_varlen
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.paged_prefill import paged_prefill
from reference_impl.kernels.vector_add import vector_add

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def test_the_default_is_the_kernel_on_a_gpu_and_sdpa_or_the_twin_on_a_cpu():
    assert {default_backend(operation, GPU) for operation in IMPLEMENTATIONS} == {"triton"}
    assert {o for o in IMPLEMENTATIONS if default_backend(o, CPU) == "sdpa"} == {
        "flash_attention",
        "paged_attention",
        "paged_prefill",
    }
    assert default_backend("softmax", CPU) == "torch"
    assert choose("flash_attention", torch.ones(1)) == "sdpa"


@pytest.mark.skipif(interpreting(), reason="in the interpreter a CPU runs kernels")
def test_a_kernel_on_a_cpu_is_refused_with_both_remedies():
    with pytest.raises(
        KernelError, match=r"on cpu: use backend=\"torch\", or set TRITON_INTERPRET=1"
    ):
        vector_add(torch.ones(3), torch.ones(3), backend="triton")


def test_bfloat16_is_refused_in_the_interpreter(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(KernelError, match="float16 here, not torch.bfloat16"):
        choose("softmax", torch.ones(1, dtype=torch.bfloat16), "triton")


def test_unknown_names_are_refused():
    with pytest.raises(KernelError, match="no operation 'conv'"):
        choose("conv", torch.ones(1))
    with pytest.raises(KernelError, match="softmax has no backend 'sdpa'"):
        choose("softmax", torch.ones(1), "sdpa")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"heads": 3}, "3 heads of queries are not a multiple of 2"),
        ({"window": 4}, "a window of 4 with causal=False"),
        ({"window": 0, "causal": True}, "a window of 0"),
        ({"scale": -1.0}, "a scale of -1.0"),
    ],
)
def test_attention_that_makes_no_sense_is_refused(change, message):
    settings = dict(change)
    q, k = torch.ones(1, settings.pop("heads", 4), 5, 8), torch.ones(1, 2, 5, 8)
    with pytest.raises(KernelError, match=message):
        flash_attention(q, k, k, **settings)


def test_bounds_slots_and_tables_that_do_not_fit_are_refused():
    q, starts = torch.ones(5, 2, 8), torch.tensor([0, 4])
    with pytest.raises(
        KernelError, match="cu_seqlens end at 4 and 4 but there are 5 queries and 5 keys"
    ):
        flash_attention_varlen(q, q, q, starts, starts)
    cache, tables = torch.zeros(3, 4, 2, 8), torch.tensor([[0, 1]])
    with pytest.raises(KernelError, match="slot 12 but the cache has 12: 3 blocks of 4"):
        store_kv(q, q, cache, cache, torch.tensor([0, 1, 2, 3, 12]))
    with pytest.raises(KernelError, match="a context of 9 tokens but 2 blocks of 4"):
        paged_attention(q[:1], cache, cache, tables, torch.tensor([9]), 1.0)
    with pytest.raises(KernelError, match="2 bounds in cu_seqlens_q but 2 contexts"):
        paged_prefill(
            q, cache, cache, tables.repeat(2, 1), torch.tensor([0, 5]), torch.tensor([5, 1]), 1.0
        )
    with pytest.raises(KernelError, match="3 heads of queries are not a multiple of 2"):
        paged_attention(torch.ones(1, 3, 8), cache, cache, tables, torch.tensor([2]), 1.0)


@pytest.mark.parametrize(
    "head_dim, flash, paged",
    [(64, "triton", "triton"), (40, "triton", "sdpa"), (256, "sdpa", "sdpa")],
)
def test_heads_that_the_kernels_are_not_made_for_are_padded_or_left_to_torch(
    head_dim, flash, paged
):
    assert default_backend("flash_attention", GPU, head_dim) == flash
    assert {
        default_backend(name, GPU, head_dim) for name in ("paged_attention", "paged_prefill")
    } == {paged}


def test_torch_taking_over_is_said_and_a_kernel_asked_for_by_name_is_refused(monkeypatch):
    monkeypatch.setattr(backend, "_check_triton", lambda operation, x: None)
    with FakeTensorMode():
        on_gpu = torch.empty(1, device="cuda:1", dtype=torch.bfloat16)
    with pytest.warns(
        UserWarning, match="paged_attention: the kernel takes heads of 32, 64, 128, not 40: torch's"
    ):
        assert choose("paged_attention", on_gpu, None, 40) == "sdpa"
    with pytest.raises(
        KernelError, match="flash_attention: the kernel takes heads of 1 to 128, not 256"
    ):
        choose("flash_attention", on_gpu, "triton", 256)
    with pytest.raises(
        KernelError, match="paged_prefill: the kernel takes heads of 32, 64, 128, not 40: leave"
    ):
        choose("paged_prefill", on_gpu, "triton", 40)
    assert choose("flash_attention", on_gpu, None, HEAD_DIMS[-1]) == "triton"


def test_rows_too_far_apart_for_32_bits_are_copied():
    storage = torch.UntypedStorage(
        2 * (LONGEST_STRIDE + 5) * 2
    )  # two rows; only touched pages exist
    rows = torch.tensor([], dtype=torch.float16).set_(storage, 0, (2, 4), (LONGEST_STRIDE + 1, 1))
    rows[:] = torch.arange(8.0).view(2, 4)
    assert side_by_side(rows).stride() == (4, 1) and torch.equal(side_by_side(rows), rows)
    assert side_by_side(rows.as_strided((2, 4), (LONGEST_STRIDE, 1))).stride(0) == LONGEST_STRIDE


def test_the_gpu_of_a_tensor_is_current_while_its_kernel_is_launched(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device", nullcontext)  # what it is given is what `as` names
    with FakeTensorMode(), device_of(torch.empty(1, device="cuda:1")) as current:
        assert current == torch.device("cuda", 1)
    with device_of(torch.ones(1)) as nothing:
        assert nothing is None


def test_every_launch_stands_inside_device_of():
    launches, guarded = set(), set()
    for path in Path(backend.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.With) and ast.unparse(node.items[0]).startswith("device_of("):
                guarded |= {(path.name, call.lineno) for call in ast.walk(node) if _launches(call)}
            elif _launches(node):
                launches.add((path.name, node.lineno))
    assert launches == guarded and len(launches) >= 13


def _launches(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Subscript)
        and ast.unparse(node.func.value).endswith("kernel")
    )
