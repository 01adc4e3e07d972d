"""The second form of flash attention and its gradients against float64 and against the
plain form.
"""

import pytest
import torch

from reference_impl.kernels.backend import KernelError, Tiles
from reference_impl.kernels.flash_attention import flash_attention
from reference_impl.kernels.flash_attention_hopper import hopper_attention


def with_gradients(attention, leaves, grad):
    leaves = [x.detach().requires_grad_() for x in leaves]
    out = attention(*leaves)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


@pytest.mark.parametrize(
    "num_queries, num_keys, heads, kv_heads, causal, tiles",
    [
        (1, 1, 1, 1, True, None),
        (17, 17, 2, 1, False, None),
        (33, 33, 2, 1, True, Tiles(16, 16)),
        (5, 37, 2, 2, True, Tiles(16, 16)),
        (37, 5, 1, 1, True, None),
        (33, 33, 1, 1, True, Tiles(32, 16)),
        (20, 70, 1, 1, False, Tiles(16, 32)),
    ],
)
def test_the_numbers_are_those_of_float64_and_of_the_plain_form(
    kernel, naive, num_queries, num_keys, heads, kv_heads, causal, tiles
):
    # Two sequences: more tiles than the three programs that take them in turn. Scores of size 12
    # show a lost rescaling.
    q, grad = (
        kernel.rand(2, num_queries, heads, 32, dtype=torch.float32).transpose(1, 2)
        for _ in range(2)
    )
    k, v = (
        kernel.rand(2, num_keys, kv_heads, 32, dtype=torch.float32).transpose(1, 2)
        for _ in range(2)
    )
    leaves, rules = [q, k, v], {"causal": causal, "scale": 0.7}
    ours = with_gradients(lambda *x: hopper_attention(*x, **rules, tiles=tiles), leaves, grad)
    plain = with_gradients(lambda *x: flash_attention(*x, **rules, backend="triton"), leaves, grad)
    exact = with_gradients(
        lambda *x: naive(*x, **rules), [x.double() for x in leaves], grad.double()
    )
    for mine, other, expected in zip(ours, plain, exact, strict=True):
        kernel.assert_close(mine, expected, factor=5)
        kernel.assert_close(mine, other.double(), factor=5)


def test_what_it_does_not_take_is_refused(kernel):
    x = torch.ones(1, 2, 3, 40, device=kernel.device)
    with pytest.raises(
        KernelError, match="2 heads of queries, 2 of keys, of 40 numbers, 3 keys: give heads of"
    ):
        hopper_attention(x, x, x)
