"""Part "checks" of `bench/gpu.py`: every kernel in bfloat16 against torch in float64, outputs and
gradients.

A check is the largest difference over the largest number of the exact result. What is above 0.02 is
wrong.
"""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import rms_norm as torch_rms_norm
from torch.nn.functional import silu

from bench.gpu_timing import Bench, Job, error
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.flash_attention import flash_attention, flash_attention_varlen
from reference_impl.kernels.flash_attention_hopper import hopper_attention
from reference_impl.kernels.matmul import matmul
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.paged_prefill import paged_prefill
from reference_impl.kernels.rmsnorm import rms_norm
from reference_impl.kernels.softmax import softmax
from reference_impl.kernels.swiglu import swiglu
from reference_impl.kernels.vector_add import vector_add

HEADS_AS_THEY_ARE = (32, 64, 128)
HEAD_DIMS = (*HEADS_AS_THEY_ARE, 40)  # 40 is padded


def exact_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool, window: int | None) -> Tensor:
    """By definition, all scores at once, in the precision given; (B, H, T, D)."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    distance = (
        torch.arange(k.shape[2], device=q.device)
        - torch.arange(q.shape[2], device=q.device)[:, None]
        - (k.shape[2] - q.shape[2])
    )
    seen = torch.ones_like(distance, dtype=torch.bool)
    if causal:
        seen = (distance <= 0) & (distance > -(window or 1 << 30))
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -1e30)
    return scores.softmax(-1) * seen @ v


def with_gradients(
    function: Callable[..., Tensor], leaves: list[Tensor], grad: Tensor
) -> list[Tensor]:
    """The output and the gradients of all leaves."""
    leaves = [x.detach().requires_grad_() for x in leaves]
    out = function(*leaves)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


def worst(
    ours: Callable[..., Tensor], theirs: Callable[..., Tensor], leaves: list[Tensor], grad: Tensor
) -> float:
    """The largest error of output and gradients; theirs is computed in float64."""
    mine = with_gradients(ours, leaves, grad)
    exact = with_gradients(theirs, [x.double() for x in leaves], grad.double())
    return max(map(error, mine, exact))


def paged_case(
    bench: Bench, contexts: list[int], block_size: int, heads: int, kv_heads: int, head_dim: int
) -> dict[str, Tensor]:
    """A filled cache with shuffled blocks for these contexts, and a query for each."""
    counts = [-(-n // block_size) for n in contexts]
    order = torch.randperm(sum(counts), device=bench.device, dtype=torch.int32)
    tables = torch.full((len(contexts), max(counts)), -1, dtype=torch.int32, device=bench.device)
    for i, start in enumerate(itertools.accumulate(counts[:-1], initial=0)):
        tables[i, : counts[i]] = order[start : start + counts[i]]
    shape = (sum(counts), block_size, kv_heads, head_dim)
    return {
        "q": bench.randn(len(contexts), heads, head_dim),
        "k_cache": bench.randn(*shape),
        "v_cache": bench.randn(*shape),
        "block_tables": tables,
        "context_lens": torch.tensor(contexts, dtype=torch.int32, device=bench.device),
    }


def ladder(bench: Bench) -> None:
    """The simple kernels and the cache write."""
    rows, columns = bench.size(333, 5), bench.size(1000, 37)
    x, y, weight = bench.randn(rows, columns), bench.randn(rows, columns), bench.randn(columns)
    bench.check(
        "vector_add",
        lambda: error(vector_add(x.flatten(), y.flatten()), (x.double() + y.double()).flatten()),
    )
    bench.check("softmax", lambda: error(softmax(x), x.double().softmax(1)))
    bench.check("matmul", lambda: error(matmul(x, y.T), x.double() @ y.double().T))
    bench.check(
        "rms_norm",
        lambda: worst(
            lambda a, b: rms_norm(a, b, 1e-5),
            lambda a, b: torch_rms_norm(a, (columns,), b, 1e-5),
            [x, weight],
            y,
        ),
    )
    bench.check("swiglu", lambda: worst(swiglu, lambda a, b: silu(a) * b, [x, y], y))

    def stored() -> float:
        k, cache = (
            bench.randn(50, 4, 128),
            torch.zeros(9, 16, 4, 128, dtype=bench.dtype, device=bench.device),
        )
        slots = torch.randperm(9 * 16, device=bench.device)[:50]
        slots[7] = -1
        store_kv(k, k, cache, cache.clone(), slots)
        kept = slots >= 0
        return (cache.flatten(0, 1)[slots[kept]] != k[kept]).sum() + (
            cache.any(-1).any(-1).sum() != kept.sum()
        )

    bench.check("store_kv", stored)


def flash(bench: Bench) -> None:
    """Forward and backward in every head size, with ragged ends, groups and windows."""
    for head_dim, (causal, window), (num_queries, num_keys) in itertools.product(
        HEAD_DIMS if not bench.rehearsal else (40,),
        ((False, None), (True, None), (True, 100)),
        ((517, 517), (130, 701)) if not bench.rehearsal else ((5, 37),),
    ):

        def compared(
            d: int = head_dim,
            c: bool = causal,
            w: int | None = window,
            t: int = num_queries,
            s: int = num_keys,
        ) -> float:
            q, k, v = (
                bench.randn(2, tokens, heads, d).transpose(1, 2)
                for tokens, heads in ((t, 4), (s, 2), (s, 2))
            )
            return worst(
                lambda *x: flash_attention(*x, causal=c, window=w),
                lambda *x: exact_attention(*x, c, w),
                [q, k, v],
                torch.randn_like(q),
            )

        bench.check(
            f"flash {head_dim} causal={causal} window={window} {num_queries}x{num_keys}", compared
        )


def packed(bench: Bench) -> None:
    """Sequences of varied length end to end, some of them empty, against each by itself."""
    lengths = [300, 0, 1, 517] if not bench.rehearsal else [5, 0, 3]
    starts = torch.tensor(
        [0, *itertools.accumulate(lengths)], dtype=torch.int32, device=bench.device
    )

    def each_alone(q: Tensor, k: Tensor, v: Tensor, causal: bool, window: int | None) -> Tensor:
        parts = (
            (x[a:b].transpose(0, 1)[None] for x in (q, k, v))
            for a, b in itertools.pairwise(starts.tolist())
        )
        return torch.cat(
            [exact_attention(*part, causal, window)[0].transpose(0, 1) for part in parts]
        )

    for head_dim, (causal, window) in itertools.product(
        (64, 128) if not bench.rehearsal else (32,), ((False, None), (True, None), (True, 100))
    ):

        def compared(d: int = head_dim, c: bool = causal, w: int | None = window) -> float:
            q, k, v = (bench.randn(sum(lengths), heads, d) for heads in (4, 2, 2))
            return worst(
                lambda *x: flash_attention_varlen(*x, starts, starts, causal=c, window=w),
                lambda *x: each_alone(*x, c, w),
                [q, k, v],
                torch.randn_like(q),
            )

        bench.check(f"packed {head_dim} causal={causal} window={window}", compared)


def hopper_or_its_stand_in(bench: Bench) -> Callable[..., Tensor]:
    """The second form; in a rehearsal, where no Triton runs, the plain form takes its place."""
    return flash_attention if bench.rehearsal else hopper_attention


def hopper(bench: Bench) -> None:
    """The second form of flash attention: every head size, ragged ends, groups, more tiles than
    multiprocessors.
    """
    attention = hopper_or_its_stand_in(bench)
    for head_dim, causal, (num_queries, num_keys) in itertools.product(
        HEADS_AS_THEY_ARE if not bench.rehearsal else (32,),
        (False, True),
        ((517, 517), (130, 701), (2100, 2100)) if not bench.rehearsal else ((5, 37),),
    ):

        def compared(
            d: int = head_dim, c: bool = causal, t: int = num_queries, s: int = num_keys
        ) -> float:
            q, k, v = (
                bench.randn(2, tokens, heads, d).transpose(1, 2)
                for tokens, heads in ((t, 8), (s, 2), (s, 2))
            )
            return worst(
                lambda *x: attention(*x, causal=c),
                lambda *x: exact_attention(*x, c, None),
                [q, k, v],
                torch.randn_like(q),
            )

        bench.check(f"second form {head_dim} causal={causal} {num_queries}x{num_keys}", compared)


def paged(bench: Bench) -> None:
    """Decoding from and prefilling into a cache in blocks."""
    contexts = [700, 1, 333] if not bench.rehearsal else [37, 1, 17]
    for block_size in (16, 256):
        case = paged_case(bench, contexts, block_size, 8, 2, 128)
        starts = torch.tensor([0, 1, 2, 3], dtype=torch.int32, device=bench.device)

        def off(out: Tensor, case: dict[str, Tensor] = case, block_size: int = block_size) -> float:
            errors = []
            for i, context in enumerate(contexts):
                held = case["block_tables"][i, : -(-context // block_size)].long()
                k, v = (
                    case[name][held].flatten(0, 1)[:context].transpose(0, 1)[None].double()
                    for name in ("k_cache", "v_cache")
                )
                errors.append(
                    error(
                        out[i],
                        exact_attention(case["q"][i].double()[None, :, None], k, v, True, None)[
                            0, :, 0
                        ],
                    )
                )
            return max(errors)

        bench.check(
            f"paged decode, blocks of {block_size}",
            lambda case=case, off=off: off(paged_attention(**case, scale=128**-0.5)),
        )
        bench.check(
            f"paged prefill, blocks of {block_size}",
            lambda case=case, off=off: off(
                paged_prefill(cu_seqlens_q=starts, **case, scale=128**-0.5)
            ),
        )


JOBS = [
    Job("ladder", ladder, 60),
    Job("flash", flash, 200),
    Job("paged", paged, 60),
    Job("packed", packed, 40),
    Job("second form", hopper, 60),
]
