"""The twins in float64 against torch's own operators, their gradients, and what they hold in
memory.
"""

import pytest
import torch

from reference_impl.kernels import paged_decode, textbook
from reference_impl.kernels.backend import Tiles
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.flash_attention import (
    flash_attention,
    flash_attention_varlen,
    flash_forward_twin,
)
from reference_impl.kernels.matmul import matmul
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.paged_prefill import paged_prefill
from reference_impl.kernels.rmsnorm import rms_norm
from reference_impl.kernels.softmax import softmax
from reference_impl.kernels.swiglu import swiglu
from reference_impl.kernels.traffic import counting, flash_attention_bytes
from reference_impl.kernels.vector_add import vector_add
from reference_impl.layers.long_context import sink_attention
from reference_impl.layers.masks import window_mask
from reference_impl.measure.tensors import TensorCounter

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture
def randn():
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(
        *shape, generator=generator, dtype=torch.float64, requires_grad=True
    )


def assert_close(ours, theirs):
    torch.testing.assert_close(ours, theirs, **CLOSE)


def assert_same_with_gradients(ours, theirs, leaves):
    """Both functions give the same output of the leaves, and the same gradients for a random one of
    the output.
    """
    out, expected = ours(*leaves), theirs(*leaves)
    assert_close(out, expected)
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(1), dtype=out.dtype)
    for mine, other in zip(
        torch.autograd.grad(out, leaves, grad),
        torch.autograd.grad(expected, leaves, grad),
        strict=True,
    ):
        assert_close(mine, other)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_vector_add_and_softmax_in_any_blocks(randn, block):
    x, y = randn(50).detach(), randn(50).detach()
    assert torch.equal(vector_add(x, y, backend="torch", block=block), x + y)
    rows = torch.stack(
        [x * 200, torch.arange(50.0).double(), x.masked_fill(x < 0, -torch.inf)]
    )  # overflow; rising
    assert_close(softmax(rows, backend="torch", block=block), rows.softmax(1))


def test_matmul_in_tiles_is_matmul(randn):
    a, b = randn(33, 50).detach(), randn(50, 17).detach()
    assert_close(matmul(a, b, backend="torch", tiles=Tiles(16, 8), depth=32), a @ b)


def test_rms_norm_and_swiglu_with_gradients(randn):
    for programs in (1, 3):
        assert_same_with_gradients(
            lambda x, w: rms_norm(x, w, 0.1, backend="torch", num_programs=programs),
            lambda x, w: torch.nn.functional.rms_norm(x, (8,), w, 0.1),
            [randn(2, 5, 8), randn(8)],
        )
    assert_same_with_gradients(
        lambda g, u: swiglu(g, u, backend="torch"),
        lambda g, u: torch.nn.functional.silu(g) * u,
        [randn(3, 7), randn(3, 7)],
    )


def dense(q, k, v, causal, window):
    """torch's operator with a mask by its own function of positions; rows that see nothing are
    zero.
    """
    shift = k.shape[2] - q.shape[2]
    query, key = torch.arange(q.shape[2])[:, None] + shift, torch.arange(k.shape[2])
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    if causal:
        mask = (key <= query) & (query - key < (window or 10**9))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, torch.where(mask, 0.0, -1e30).double()
    )
    return out * mask.any(1)[:, None]


CASES = [
    (77, 77, 4, 2, False, None),
    (65, 65, 2, 1, True, None),
    (70, 70, 2, 2, True, 9),
    (20, 60, 3, 1, True, None),
    (60, 20, 2, 2, True, None),
    (1, 50, 2, 1, True, 13),
    (64, 64, 1, 1, True, 1),
]


@pytest.mark.parametrize("backend", ["torch", "sdpa"])
@pytest.mark.parametrize("num_queries, num_keys, heads, kv_heads, causal, window", CASES)
def test_flash_attention_with_gradients_is_torchs(
    randn, backend, num_queries, num_keys, heads, kv_heads, causal, window
):
    leaves = [
        randn(2, heads, num_queries, 8),
        randn(2, kv_heads, num_keys, 8),
        randn(2, kv_heads, num_keys, 8),
    ]
    tiles = Tiles(16, 24)
    assert_same_with_gradients(
        lambda *x: flash_attention(*x, causal=causal, window=window, backend=backend, tiles=tiles),
        lambda *x: dense(*x, causal, window),
        leaves,
    )


@pytest.mark.parametrize("backend", ["torch", "sdpa"])
def test_sequences_of_varied_length_do_not_see_each_other(randn, backend):
    starts = torch.tensor([0, 5, 5, 30]), torch.tensor([0, 5, 9, 40])
    leaves = [randn(30, 2, 8), randn(40, 1, 8), randn(40, 1, 8)]

    def one_by_one(q, k, v):
        parts = [
            [x[a:b].transpose(0, 1)[None] for x, (a, b) in ((q, rows), (k, columns), (v, columns))]
            for rows, columns in (((0, 5), (0, 5)), ((5, 30), (9, 40)))
        ]
        return torch.cat([dense(*part, True, 7)[0].transpose(0, 1) for part in parts])

    assert_same_with_gradients(
        lambda *x: flash_attention_varlen(
            *x, *starts, causal=True, window=7, backend=backend, tiles=Tiles(8, 8)
        ),
        one_by_one,
        leaves,
    )


def test_the_log_sum_exp_is_kept_and_is_minus_infinity_where_nothing_is_seen(randn):
    q, k, v = (randn(n, 2, 8).detach() for n in (30, 20, 20))
    _, lse = flash_forward_twin(q, k, v, causal=True, window=None, scale=0.5, tiles=Tiles(8, 8))
    scores = torch.einsum("thd,shd->ths", q, k) * 0.5
    seen = torch.arange(20) <= torch.arange(30)[:, None] - 10
    assert_close(lse, scores.masked_fill(~seen[:, None], -torch.inf).logsumexp(-1))
    assert (lse[:10] == -torch.inf).all() and lse[10:].isfinite().all()


def test_no_tensor_grows_with_the_square_of_the_length_forward_or_backward(randn):
    watched = {}
    for length in (64, 128, 256):
        q, k, v = (randn(1, 1, length, 4) for _ in range(3))
        with TensorCounter() as watched[length]:
            flash_attention(
                q, k, v, causal=True, backend="torch", tiles=Tiles(16, 16)
            ).sum().backward()
    # The largest are the inputs' own size; scores of 256 x 256 would be 64 times one of them.
    assert {length: watch.largest for length, watch in watched.items()} == {
        length: length * 4 for length in watched
    }
    assert watched[256].peak < 2.1 * watched[128].peak < 2.1 * 2.1 * watched[64].peak
    with TensorCounter() as watch:
        dense(*(randn(1, 1, 256, 4) for _ in range(3)), True, None)
    assert watch.largest >= 256 * 256  # the watch sees scores where they are written down


@pytest.fixture
def cache():
    """Contexts of 13, 0 and 6 tokens in blocks of 4, in a shuffled order, beside the dense rows."""
    generator = torch.Generator().manual_seed(0)
    contexts = torch.tensor([13, 0, 6])
    tables = torch.tensor([[7, 2, 5, 6], [-1, -1, -1, -1], [3, 8, -1, -1]])
    dense_rows = [
        [torch.randn(n, 2, 8, generator=generator, dtype=torch.float64) for n in contexts.tolist()]
        for _ in range(2)
    ]
    caches = [torch.full((9, 4, 2, 8), torch.nan, dtype=torch.float64) for _ in range(2)]
    for i, n in enumerate(contexts.tolist()):
        slots = torch.tensor(
            [int(tables[i, t // 4]) * 4 + t % 4 for t in range(n)], dtype=torch.long
        )
        store_kv(dense_rows[0][i], dense_rows[1][i], *caches, slots)
    return *caches, tables, contexts, *dense_rows


def test_padding_is_not_written(cache):
    k_cache, v_cache, *_ = cache
    before = k_cache.clone()
    rows = torch.ones(3, 2, 8, dtype=torch.float64)
    store_kv(rows, rows, k_cache, v_cache, torch.tensor([-1, 4, -1]))
    changed = (k_cache.nan_to_num(0) != before.nan_to_num(0)).any(-1).any(-1)
    assert changed.nonzero().tolist() == [[1, 0]]


@pytest.mark.parametrize("window", [None, 1, 5])
@pytest.mark.parametrize(
    "backend, together", [("torch", 0), ("sdpa", 0), ("sdpa", 99)]
)  # one by one; padded
def test_decoding_through_block_tables_is_dense_attention(
    cache, monkeypatch, backend, together, window
):
    monkeypatch.setattr(paged_decode, "ROWS_TOGETHER", together)
    k_cache, v_cache, tables, contexts, keys, values = cache
    q = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for splits in (1, 3):
        out = paged_attention(
            q,
            k_cache,
            v_cache,
            tables,
            contexts,
            8**-0.5,
            window,
            backend=backend,
            num_splits=splits,
        )
        assert not out[1].any()  # an empty context
        for i in (0, 2):
            heads_first = (x.transpose(0, 1)[None] for x in (q[i : i + 1], keys[i], values[i]))
            assert_close(out[i], dense(*heads_first, True, window)[0, :, 0])


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("backend", ["torch", "sdpa"])
def test_a_chunk_of_a_prompt_sees_the_cache_before_it(cache, backend, window):
    k_cache, v_cache, tables, contexts, keys, values = cache
    starts = torch.tensor([0, 5, 5, 11])
    q = torch.randn(11, 4, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    out = paged_prefill(
        q, k_cache, v_cache, tables, starts, contexts, 8**-0.5, window, backend=backend
    )
    for i in (0, 2):
        rows = slice(*starts[i : i + 2].tolist())
        heads_first = (x.transpose(0, 1)[None] for x in (q[rows], keys[i], values[i]))
        assert_close(out[rows], dense(*heads_first, True, window)[0].transpose(0, 1))


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("backend", ["torch", "sdpa"])
def test_a_sink_through_block_tables_is_the_dense_one(cache, backend, window):
    k_cache, v_cache, tables, contexts, keys, values = cache
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(11, 4, 8, generator=generator, dtype=torch.float64)
    sink = torch.randn(4, generator=generator, dtype=torch.float64) * 3
    paged = (k_cache, v_cache, tables)

    def expected(rows, i):
        heads_first = (x.transpose(0, 1)[None] for x in (rows, keys[i], values[i]))
        distance = window_mask(len(rows), len(keys[i]), before=(window or 99) - 1)
        return sink_attention(*heads_first, sink, distance)[0].transpose(0, 1)

    for splits in (1, 3):
        out = paged_attention(
            q[:3], *paged, contexts, 8**-0.5, window, sink, backend=backend, num_splits=splits
        )
        assert not out[1].any()  # an empty context
        for i in (0, 2):
            assert_close(out[i : i + 1], expected(q[i : i + 1], i))
    starts = torch.tensor([0, 5, 5, 11])
    out = paged_prefill(q, *paged, starts, contexts, 8**-0.5, window, sink, backend=backend)
    for i in (0, 2):
        rows = slice(*starts[i : i + 2].tolist())
        assert_close(out[rows], expected(q[rows], i))


@pytest.mark.parametrize(
    "queries, keys, rows, columns", [(1, 1, 4, 4), (33, 17, 16, 8), (8, 40, 8, 64)]
)
def test_the_textbook_form_is_attention_with_its_gradients(randn, queries, keys, rows, columns):
    q, k, v = randn(queries, 16), randn(keys, 16), randn(keys, 16)
    scores = q @ k.T / 4
    exact = scores.softmax(1) @ v
    out, lse = textbook.flash_forward(q, k, v, rows, columns)
    assert_close(out, exact)
    assert_close(lse[:, 0], scores.logsumexp(1))
    grad = torch.linspace(-1, 1, exact.numel(), dtype=exact.dtype).view_as(exact)
    wanted = torch.autograd.grad(exact, (q, k, v), grad)
    for ours, theirs in zip(
        textbook.flash_backward(grad, q, k, v, out, lse, tile=columns), wanted, strict=True
    ):
        assert_close(ours, theirs)


def test_the_textbook_form_moves_the_bytes_of_the_formula():
    q, k, v = torch.randn(3, 100, 16)
    with counting() as traffic:
        textbook.flash_forward(q, k, v, 32, 16)
    assert traffic.read + traffic.written == flash_attention_bytes(100, 1, 16, 4, 32)
