"""The kernels compile for a Hopper GPU on any machine: what the compiler says of instructions and
memory is checked.

Triton brings its own assembler, so no GPU is needed: entry points run on tensors of zeros, and a
launch compiles its kernel for compute capability 9.0 in the place of starting it. Whether the
results are right is shown by `interpreted`.
"""

import re
import subprocess
from pathlib import Path
from typing import no_type_check

import pytest
import torch

from reference_impl.kernels import backend
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.flash_attention import flash_attention
from reference_impl.kernels.flash_attention_hopper import hopper_attention
from reference_impl.kernels.matmul import matmul
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.paged_prefill import paged_prefill
from reference_impl.kernels.rmsnorm import rms_norm
from reference_impl.kernels.softmax import softmax
from reference_impl.kernels.swiglu import swiglu
from reference_impl.kernels.vector_add import vector_add
from tests.reference_impl.kernels.overflow import too_large

triton = pytest.importorskip("triton", reason="Triton has wheels for Linux only")
tl = triton.language
TensorDescriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor
pytestmark = pytest.mark.skipif(backend.interpreting(), reason="the interpreter compiles nothing")
POINTERS = {
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.int32: "*i32",
    torch.int64: "*i64",
}
SHARED_MEMORY = 232_448  # bytes that one program can have on a Hopper


def compile_for_hopper(kernel, arguments):
    """What Triton and its assembler make of this launch: its first form and PTX, shared memory,
    bytes spilled.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature, constants, aligned = {}, {}, {}
    for position, parameter in enumerate(kernel.params):
        value = arguments.pop(parameter.name)
        if parameter.is_constexpr or (isinstance(value, int) and value == 1):
            signature[parameter.name], constants[parameter.name] = "constexpr", value
            continue
        if isinstance(value, TensorDescriptor):
            signature[parameter.name] = f"tensordesc<bf16{str(value.block_shape).replace(' ', '')}>"
            continue
        kind = (
            POINTERS[value.dtype]
            if torch.is_tensor(value)
            else "fp32"
            if isinstance(value, float)
            else "i32"
        )
        signature[parameter.name] = kind
        if torch.is_tensor(value) or kind == "i32" and value % 16 == 0:
            aligned[(position,)] = [["tt.divisibility", 16]]
    compiled = triton.compile(
        ASTSource(kernel, signature, constants, aligned),
        target=GPUTarget("cuda", 90, 32),
        options=arguments,
    )  # what is left over are num_warps and num_stages
    assembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    said = subprocess.run(
        [assembler, "-v", "--gpu-name=sm_90a", "-", "-o", "/dev/null"],
        input=compiled.asm["ptx"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    return {
        "ptx": compiled.asm["ptx"],
        "ttir": compiled.asm["ttir"],
        "shared": compiled.metadata.shared,
        "registers": int(re.search(r"Used (\d+) registers", said)[1]),
        "spilled": int(re.search(r"(\d+) bytes spill stores", said)[1]),
    }


@pytest.fixture
def compiled(monkeypatch):
    """Kernels by name, as launches compiled them."""
    found = {}

    def launch(kernel, grid):
        def compile_one(*positional, **named):
            arguments = dict(zip([p.name for p in kernel.params], positional, strict=False)) | named
            found[kernel.__name__] = compile_for_hopper(kernel, arguments)

        return compile_one

    monkeypatch.setattr(triton.runtime.jit.JITFunction, "__getitem__", launch)
    monkeypatch.setattr(backend, "_check_triton", lambda operation, x: None)
    return found


def zeros(*shape):
    return torch.zeros(*shape, dtype=torch.bfloat16)


@triton.jit
@no_type_check
def offset_kernel(x, out, stride, WIDE: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) if WIDE else tl.program_id(1)
    column = tl.arange(0, 16)
    tl.store(out + column, tl.load(x + head * stride + column))


@pytest.mark.parametrize("wide", [True, False])
def test_an_offset_in_32_bits_is_found(compiled, wide):
    offset_kernel[(1, 4)](zeros(64), zeros(64), 16, WIDE=wide)
    found = too_large(compiled["offset_kernel"]["ttir"])
    assert not found if wide else "%stride" in found[0]


def test_the_ladder_and_the_cache_write_compile(compiled):
    vector_add(zeros(64), zeros(64), backend="triton")
    softmax(zeros(2, 1000), backend="triton")
    matmul(zeros(256, 128), zeros(128, 256), backend="triton")
    for operation in (
        lambda x: rms_norm(x, zeros(256), backend="triton"),
        lambda x: swiglu(x, x, backend="triton"),
    ):
        operation(zeros(4, 256).requires_grad_()).sum().backward()
    store_kv(
        zeros(3, 2, 64),
        zeros(3, 2, 64),
        zeros(4, 16, 2, 64),
        zeros(4, 16, 2, 64),
        torch.arange(3),
        backend="triton",
    )
    assert {
        "_add_kernel",
        "_softmax_kernel",
        "_matmul_kernel",
        "_backward_kernel",
        "_store_kernel",
    } <= set(compiled)
    assert "wgmma" in compiled["_matmul_kernel"]["ptx"]
    for name, kernel in compiled.items():
        assert kernel["spilled"] == 0 and kernel["shared"] <= SHARED_MEMORY
        assert (
            not too_large(kernel["ttir"]) or name == "_matmul_kernel"
        )  # whose strides of a column are taken on trust


@pytest.mark.parametrize(
    "head_dim, window, keys_spill, others_spill", [(64, None, 0, 0), (128, 1024, 512, 64)]
)
def test_flash_attention_uses_wide_tensor_core_instructions_and_fits(
    compiled, head_dim, window, keys_spill, others_spill
):
    q = zeros(1, 256, 8, head_dim).transpose(1, 2).requires_grad_()
    k = zeros(1, 256, 2, head_dim).transpose(1, 2)
    flash_attention(q, k, k, causal=True, window=window, backend="triton").backward(
        zeros(1, 8, 256, head_dim)
    )
    assert set(compiled) == {"_forward_kernel", "_delta_kernel", "_keys_kernel", "_queries_kernel"}
    for name, kernel in compiled.items():
        assert ("wgmma" in kernel["ptx"]) == (name != "_delta_kernel")
        assert kernel["shared"] <= SHARED_MEMORY
        assert kernel["spilled"] <= (keys_spill if name == "_keys_kernel" else others_spill), name
        assert not too_large(kernel["ttir"]), name


def test_paged_kernels_fit_and_address_the_cache_with_64_bits(compiled):
    cache, tables, lengths = (
        zeros(8, 16, 2, 128),
        torch.zeros(1, 8, dtype=torch.int32),
        torch.tensor([100]),
    )
    paged_attention(zeros(1, 8, 128), cache, cache, tables, lengths.int(), 0.1, backend="triton")
    paged_prefill(
        zeros(64, 8, 128),
        cache,
        cache,
        tables,
        torch.tensor([0, 64]).int(),
        lengths.int(),
        0.1,
        backend="triton",
    )
    assert set(compiled) == {"_split_kernel", "_combine_kernel", "_prefill_kernel"}
    for kernel in compiled.values():
        assert kernel["shared"] <= SHARED_MEMORY and kernel["spilled"] == 0
        assert not too_large(kernel["ttir"])


def in_flight(ptx):
    """The most groups of wgmma begun and not waited for where a power of two, the softmax's, is
    computed.
    """
    begun = most = 0
    for line in ptx.splitlines():
        if "wgmma.commit_group" in line:
            begun += 1
        elif wait := re.search(r"wgmma.wait_group.sync.aligned (\d+)", line):
            begun = min(begun, int(wait[1]))
        elif "ex2.approx" in line:
            most = max(most, begun)
    return most


def test_the_second_form_multiplies_beside_its_softmax_and_the_plain_one_waits(compiled):
    q, k = (zeros(1, 256, heads, 128).transpose(1, 2) for heads in (8, 2))
    flash_attention(q, k, k, causal=True, backend="triton")
    hopper_attention(q.requires_grad_(), k, k, causal=True).backward(zeros(1, 8, 256, 128))
    assert set(compiled) == {
        "_forward_kernel",
        "_persistent_kernel",
        "_delta_kernel",
        "_keys_kernel",
    }
    forward, backward = compiled["_persistent_kernel"], compiled["_keys_kernel"]
    assert (in_flight(compiled["_forward_kernel"]["ptx"]), in_flight(forward["ptx"])) == (0, 1)
    assert "cp.async.bulk.tensor" in forward["ptx"]  # tiles come and go by the copy unit
    assert (
        forward["registers"] <= 255
        and forward["spilled"] == 0
        and forward["shared"] <= SHARED_MEMORY // 2 + 1024
    )
    assert "wgmma" in backward["ptx"] and re.search(r"(atom|red)\.global", backward["ptx"])
    assert not re.search(
        r"(?<!wg)mma\.sync", backward["ptx"]
    )  # none of the five products falls back to narrow ones
    assert backward["spilled"] <= 256 and backward["shared"] <= SHARED_MEMORY
    assert not too_large(
        backward["ttir"]
    )  # the forward pass names tiles by coordinates, not by addresses
