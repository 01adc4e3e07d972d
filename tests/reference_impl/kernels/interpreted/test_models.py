"""The switch: with our kernels in their layers models give the numbers and gradients that torch's
operators give.
"""

import pytest
import torch

from reference_impl.kernels import selection
from reference_impl.kernels.selection import OPERATIONS, SelectionError, runs_ours, use_kernels
from reference_impl.layers.packing import packed_attention
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.llama import Llama, LlamaConfig

LLAMA = LlamaConfig(41, 40, 33, 2, 4, 2, head_dim=10, qk_norm=True, rms_norm_eps=0.01)


def logits_and_gradients(model, ids):
    model.zero_grad()
    logits = model(ids)
    logits.square().mean().backward()
    return [logits.detach(), *(p.grad.clone() for p in model.parameters())]


@pytest.fixture
def calls(monkeypatch):
    """How often each kernel's entry point was reached."""
    from reference_impl.kernels import flash_attention, rmsnorm, swiglu

    count = dict.fromkeys(OPERATIONS, 0)
    for operation, module, name in (
        ("attention", flash_attention, "flash_attention"),
        ("swiglu", swiglu, "swiglu"),
        ("rms_norm", rmsnorm, "rms_norm"),
        ("packed_attention", flash_attention, "flash_attention_varlen"),
    ):

        def counted(*args, operation=operation, original=getattr(module, name), **named):
            count[operation] += 1
            return original(*args, **named)

        monkeypatch.setattr(module, name, counted)
    return count


@pytest.mark.parametrize(
    "make, expected",
    [
        (
            lambda: Llama(LLAMA),
            {"attention": 2, "packed_attention": 0, "rms_norm": 2 * 4 + 1, "swiglu": 2},
        ),
        (
            lambda: GPT(GPTConfig(41, 32, 1, 2, 16)),
            {"attention": 1, "packed_attention": 0, "rms_norm": 0, "swiglu": 0},
        ),
    ],
)
def test_the_switch_changes_who_computes_and_not_what(kernel, calls, make, expected):
    torch.manual_seed(0)
    model = make().to(kernel.device).eval()
    ids = torch.randint(0, 41, (2, 5), device=kernel.device)
    with use_kernels("torch"):
        plain = logits_and_gradients(model, ids)
    assert not any(calls.values())
    with use_kernels("triton"):
        ours = logits_and_gradients(model, ids)
    assert calls == expected
    for mine, exact in zip(ours, plain, strict=True):
        torch.testing.assert_close(mine, exact, rtol=1e-4, atol=1e-6)


def test_only_what_is_proven_runs_by_default(kernel, calls, monkeypatch):
    monkeypatch.setattr(selection, "PROVEN", frozenset(["swiglu"]))
    model = Llama(LLAMA).to(kernel.device)
    with use_kernels("proven"), torch.no_grad():
        model(torch.tensor([[3]], device=kernel.device))
    assert calls == {"attention": 0, "packed_attention": 0, "rms_norm": 0, "swiglu": 2}


@pytest.mark.parametrize(
    "causal, window, reached",
    [(False, None, 1), (True, None, 1), (True, (3, 0), 1), (False, (2, 2), 0)],
)
def test_packed_sequences_are_attended_to_by_the_kernel_for_varied_lengths(
    kernel, calls, causal, window, reached
):
    torch.manual_seed(0)
    starts = torch.tensor([0, 9, 9, 10, 17], dtype=torch.int32, device=kernel.device)
    leaves = [
        torch.randn(1, heads, 17, 32, device=kernel.device, requires_grad=True)
        for heads in (4, 2, 2)
    ]

    def with_gradients(choice):
        with use_kernels(choice):
            out = packed_attention(*leaves, starts, window=window, causal=causal)
            return [out, *torch.autograd.grad(out.sin().sum(), leaves)]

    expected = with_gradients("torch")
    assert not any(calls.values())
    for mine, exact in zip(with_gradients("triton"), expected, strict=True):
        torch.testing.assert_close(mine, exact, rtol=1e-4, atol=1e-5)
    assert calls["packed_attention"] == reached


def test_what_a_kernel_does_not_take_stays_with_torch(kernel):
    with use_kernels("triton"):
        assert not runs_ours("rms_norm", torch.ones(1, dtype=torch.float64, device=kernel.device))
        with (
            pytest.raises(
                SelectionError, match="kernels 'cuda' .*choose from proven, torch, triton"
            ),
            use_kernels("cuda"),
        ):
            pass
