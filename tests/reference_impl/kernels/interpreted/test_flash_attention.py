"""Flash attention's kernel and its gradients against attention by definition in float64."""

import pytest
import torch

from reference_impl.kernels.backend import Tiles
from reference_impl.kernels.flash_attention import flash_attention, flash_attention_varlen

# queries, keys, heads, key heads, head size, causal, window: ragged ends, groups, more keys, more
# queries, one query.
SHAPES = [
    (77, 77, 2, 1, 32, False, None),
    (130, 130, 1, 1, 64, True, None),
    (67, 67, 4, 2, 32, True, 9),
    (33, 90, 3, 1, 32, True, None),
    (90, 33, 1, 1, 32, True, None),
    (1, 130, 2, 2, 32, True, 40),
    (35, 5, 1, 1, 128, False, None),
    (100, 100, 1, 1, 32, True, 1),
    (64, 64, 1, 1, 32, True, 64),
    (32, 65, 1, 1, 32, True, None),
]  # the last query's own key is the first of a tile


def reference(naive, q, k, v, grad, **rules):
    """Output and gradients in float64."""
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    out = naive(*leaves, **rules)
    out.backward(grad.double())
    return [out.detach(), *(x.grad for x in leaves)]


def with_gradients(attention, leaves, grad):
    """Output and gradients of our kernel."""
    leaves = [x.detach().requires_grad_() for x in leaves]
    out = attention(*leaves)
    out.backward(grad)
    return [out.detach(), *(x.grad for x in leaves)]


@pytest.mark.parametrize("num_queries, num_keys, heads, kv_heads, head_dim, causal, window", SHAPES)
def test_output_and_gradients(
    kernel, naive, dtype, num_queries, num_keys, heads, kv_heads, head_dim, causal, window
):
    rules = {"causal": causal, "window": window}
    q, grad = (kernel.rand(1, heads, num_queries, head_dim, dtype=dtype) for _ in range(2))
    k, v = (kernel.rand(1, kv_heads, num_keys, head_dim, dtype=dtype) for _ in range(2))
    ours = with_gradients(
        lambda *x: flash_attention(*x, **rules, backend="triton"), (q, k, v), grad
    )
    for mine, expected in zip(ours, reference(naive, q, k, v, grad, **rules), strict=True):
        kernel.assert_close(mine, expected, factor=2)


@pytest.mark.parametrize("head_dim, window", [(1, None), (40, 6)])
def test_heads_of_another_size_are_padded(kernel, naive, head_dim, window):
    q, grad = (kernel.rand(1, 2, 5, head_dim, dtype=torch.float32) for _ in range(2))
    k, v = (kernel.rand(1, 1, 37, head_dim, dtype=torch.float32) for _ in range(2))
    rules = {"causal": True, "window": window}
    expected = reference(naive, q, k, v, grad, **rules)
    ours = with_gradients(
        lambda *x: flash_attention(*x, **rules, backend="triton"), (q, k, v), grad
    )
    starts = [torch.tensor([0, n], dtype=torch.int32, device=kernel.device) for n in (5, 37)]
    packed = [x[0].transpose(0, 1) for x in (q, k, v, grad)]
    varied = with_gradients(
        lambda *x: flash_attention_varlen(*x, *starts, **rules, backend="triton"),
        packed[:3],
        packed[3],
    )
    for mine, other, exact in zip(ours, varied, expected, strict=True):
        assert mine.shape[-1] == head_dim
        kernel.assert_close(mine, exact)
        kernel.assert_close(other, exact[0].transpose(0, 1))


@pytest.mark.parametrize("tiles", [Tiles(16, 64), Tiles(64, 16)])
def test_tiles_do_not_change_the_answer(kernel, naive, tiles):
    q, k, v, grad = (kernel.rand(1, 1, 101, 32, dtype=torch.float32) for _ in range(4))
    for rules in ({"causal": True}, {"causal": True, "window": 37}):
        ours = with_gradients(
            lambda *x: flash_attention(*x, **rules, backend="triton", tiles=tiles), (q, k, v), grad
        )
        for mine, expected in zip(ours, reference(naive, q, k, v, grad, **rules), strict=True):
            kernel.assert_close(mine, expected)


def test_strides_of_a_projection_that_holds_queries_keys_and_values(kernel, naive):
    projection = kernel.rand(
        2, 37, 4, 32, dtype=torch.float32, gap=1
    )  # two heads of queries, one key, one value
    grad = kernel.rand(2, 2, 37, 32, dtype=torch.float32, order=(2, 0, 1, 3))
    q, k, v = (x.transpose(1, 2) for x in projection.split([2, 1, 1], dim=2))
    ours = with_gradients(
        lambda *x: flash_attention(*x, causal=True, backend="triton"), (q, k, v), grad
    )
    for mine, expected in zip(ours, reference(naive, q, k, v, grad, causal=True), strict=True):
        kernel.assert_close(mine, expected)


@pytest.mark.parametrize("scale, size", [(1.0, 1.0), (0.01, 1.0), (0.125, 30.0)])
def test_scales_and_scores_that_a_plain_exponential_would_overflow(kernel, naive, scale, size):
    q, k, v, grad = (kernel.rand(1, 1, 45, 32, dtype=torch.float32) for _ in range(4))
    q = kernel.guard(q * size)
    ours = with_gradients(
        lambda *x: flash_attention(*x, causal=True, scale=scale, backend="triton"), (q, k, v), grad
    )
    for mine, expected in zip(
        ours, reference(naive, q, k, v, grad, causal=True, scale=scale), strict=True
    ):
        assert mine.isfinite().all()
        kernel.assert_close(
            mine, expected, factor=20 * size
        )  # an error in a score of size s is s times as large


@pytest.mark.parametrize("causal, window", [(False, None), (True, None), (True, 5)])
def test_sequences_of_varied_length_do_not_see_each_other(kernel, naive, dtype, causal, window):
    lengths_q, lengths_k = [3, 0, 40, 7, 0], [3, 5, 40, 33, 0]
    starts = [
        torch.tensor(
            [0, *torch.tensor(x).cumsum(0).tolist()], dtype=torch.int32, device=kernel.device
        )
        for x in (lengths_q, lengths_k)
    ]
    q, grad = (kernel.rand(sum(lengths_q), 2, 32, dtype=dtype) for _ in range(2))
    k, v = (kernel.rand(sum(lengths_k), 1, 32, dtype=dtype) for _ in range(2))
    rules = {"causal": causal, "window": window}
    ours = with_gradients(
        lambda *x: flash_attention_varlen(*x, *starts, **rules, backend="triton"), (q, k, v), grad
    )
    parts = []
    for place in range(starts[0].numel() - 1):
        rows, columns = (slice(*bounds[place : place + 2].tolist()) for bounds in starts)
        packed = [
            x[s].transpose(0, 1)[None]
            for x, s in ((q, rows), (k, columns), (v, columns), (grad, rows))
        ]
        parts.append([x[0].transpose(0, 1) for x in reference(naive, *packed, **rules)])
    for mine, expected in zip(
        ours, (torch.cat(part) for part in zip(*parts, strict=True)), strict=True
    ):
        kernel.assert_close(mine, expected, factor=2)
