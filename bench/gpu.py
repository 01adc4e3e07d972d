"""Everything that needs a GPU: correctness of all kernels in bfloat16, then each GPU row of the performance table.

    python bench/gpu.py            meant to take under ten minutes; writes bench/results/gpu.json

It needs torch 2.11 or newer, Triton 3.6 or newer and numpy; for what else the package imports there are stand-ins (see
`gpu_stand_ins`). Without a GPU it says so, writes nothing and exits with status 77, which nothing else gives.

Times of kernels and training are taken by CUDA events around enough calls to fill 20 ms, five or more repetitions,
ours and the rival's in turn; the engine's by the wall clock, as many runs as its time allows. Rivals: FlashAttention-2
and cuDNN as torch's SDPA runs them, the copy of a large tensor, the peak of dense bfloat16 products that NVIDIA gives
for Hopper; nanoGPT and nano-vllm, if the folder that W2S_RIVALS names (else /opt/rivals) has nanogpt/model.py and
nano-vllm/nanovllm/. If not, the record says so under "not_measured", and their rows have the share of the bound alone.
"""
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import rms_norm as torch_rms_norm
from torch.nn.functional import scaled_dot_product_attention, silu

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench.gpu_stand_ins import install  # noqa: E402

RIVALS, STAND_INS = Path(os.environ.get("W2S_RIVALS", "/opt/rivals")), install()
from bench.gpu_engine import engine_rows  # noqa: E402
from bench.gpu_timing import error, in_turn, randn, rate  # noqa: E402
from bench.gpu_training import training_rows  # noqa: E402
from bench.record import compare, save  # noqa: E402
from reference_impl.kernels.cache_write import store_kv  # noqa: E402
from reference_impl.kernels.flash_attention import flash_attention, flash_attention_varlen  # noqa: E402
from reference_impl.kernels.matmul import matmul  # noqa: E402
from reference_impl.kernels.paged_decode import paged_attention  # noqa: E402
from reference_impl.kernels.paged_prefill import paged_prefill  # noqa: E402
from reference_impl.kernels.rmsnorm import rms_norm  # noqa: E402
from reference_impl.kernels.softmax import softmax  # noqa: E402
from reference_impl.kernels.swiglu import swiglu  # noqa: E402
from reference_impl.kernels.traffic import paged_decode_bytes  # noqa: E402
from reference_impl.kernels.vector_add import vector_add  # noqa: E402


def exact_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool, window: int | None) -> Tensor:
    """By definition, all scores at once, in the precision given; (B, H, T, D)."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    distance = (torch.arange(k.shape[2], device="cuda") - torch.arange(q.shape[2], device="cuda")[:, None]
                - (k.shape[2] - q.shape[2]))
    seen = torch.ones_like(distance, dtype=torch.bool)
    if causal:
        seen = (distance <= 0) & (distance > -(window or 1 << 30))
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -1e30)
    return scores.softmax(-1) * seen @ v


def with_gradients(function: Callable[..., Tensor], leaves: list[Tensor], grad: Tensor) -> list[Tensor]:
    """The output and the gradients of all leaves."""
    leaves = [x.detach().requires_grad_() for x in leaves]
    out = function(*leaves)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


def paged_case(contexts: list[int], block_size: int, heads: int, kv_heads: int, head_dim: int) -> dict[str, Tensor]:
    """A filled cache with shuffled blocks for these contexts, and a query for each."""
    counts = [-(-n // block_size) for n in contexts]
    order = torch.randperm(sum(counts), device="cuda", dtype=torch.int32)
    tables = torch.full((len(contexts), max(counts)), -1, dtype=torch.int32, device="cuda")
    for i, start in enumerate(itertools.accumulate(counts[:-1], initial=0)):
        tables[i, :counts[i]] = order[start:start + counts[i]]
    shape = (sum(counts), block_size, kv_heads, head_dim)
    return {"q": randn(len(contexts), heads, head_dim), "k_cache": randn(*shape), "v_cache": randn(*shape),
            "block_tables": tables, "context_lens": torch.tensor(contexts, dtype=torch.int32, device="cuda")}


def check_ladder() -> dict[str, float]:
    """The simple kernels and the cache write, outputs and gradients."""
    x, y, weight = randn(333, 1000), randn(333, 1000), randn(1000)
    errors = {"vector_add": error(vector_add(x.flatten(), y.flatten()), (x.double() + y.double()).flatten()),
              "softmax": error(softmax(x), x.double().softmax(1)),
              "matmul": error(matmul(x, y.T), x.double() @ y.double().T)}
    pairs = {"rms_norm": (lambda a, b: rms_norm(a, b, 1e-5), lambda a, b: torch_rms_norm(a, (1000,), b, 1e-5), weight),
             "swiglu": (swiglu, lambda a, b: silu(a) * b, y)}
    for name, (ours, theirs, second) in pairs.items():
        mine = with_gradients(ours, [x, second], y)
        exact = with_gradients(theirs, [x.double(), second.double()], y.double())
        errors[name] = max(map(error, mine, exact))
    k, cache = randn(50, 4, 128), torch.zeros(9, 16, 4, 128, dtype=torch.bfloat16, device="cuda")
    slots = torch.randperm(9 * 16, device="cuda")[:50]
    slots[7] = -1
    store_kv(k, k, cache, cache.clone(), slots)
    kept = slots >= 0
    wrong = (cache.flatten(0, 1)[slots[kept]] != k[kept]).sum() + (cache.any(-1).any(-1).sum() != kept.sum())
    return errors | {"store_kv": float(wrong)}


def check_attention() -> dict[str, float]:
    """Flash attention forward and backward in every head size, varied lengths, and attention to a paged cache."""
    errors = {}
    for head_dim, (causal, window), (num_queries, num_keys) in itertools.product(
            (32, 64, 128), ((False, None), (True, None), (True, 100)), ((517, 517), (130, 701))):
        shapes = ((num_queries, 4), (num_keys, 2), (num_keys, 2))
        q, k, v = (randn(2, tokens, heads, head_dim).transpose(1, 2) for tokens, heads in shapes)
        grad = torch.randn_like(q)
        mine = with_gradients(lambda *x, c=causal, w=window: flash_attention(*x, causal=c, window=w), [q, k, v], grad)
        exact = with_gradients(lambda *x, c=causal, w=window: exact_attention(*x, c, w),
                               [x.double() for x in (q, k, v)], grad.double())
        name = f"flash {head_dim} causal={causal} window={window} {num_queries}x{num_keys}"
        errors[name] = max(map(error, mine, exact))
    contexts = [700, 1, 333]
    for block_size in (16, 256):
        case = paged_case(contexts, block_size, 8, 2, 128)
        decoded = paged_attention(**case, scale=128 ** -0.5)
        starts = torch.tensor([0, 1, 2, 3], dtype=torch.int32, device="cuda")
        prefilled = paged_prefill(cu_seqlens_q=starts, **case, scale=128 ** -0.5)
        for i, context in enumerate(contexts):
            held = case["block_tables"][i, :-(-context // block_size)].long()
            k, v = (case[name][held].flatten(0, 1)[:context].transpose(0, 1)[None].double()
                    for name in ("k_cache", "v_cache"))
            exact = exact_attention(case["q"][i].double()[None, :, None], k, v, True, None)[0, :, 0]
            errors[f"paged decode, blocks of {block_size}, {context}"] = error(decoded[i], exact)
            errors[f"paged prefill, blocks of {block_size}, {context}"] = error(prefilled[i], exact)
    return errors


def flash_rows() -> list[dict[str, Any]]:
    """Forward and backward against SDPA's two fast backends, head 128, causal, 4k to 16k tokens; then a window."""
    rows = []
    for length in (4096, 8192, 16384):
        q, k, v = (randn(32768 // length, length, 16, 128, grad=True).transpose(1, 2) for _ in range(3))
        flops = 4 * q.shape[0] * 16 * length ** 2 * 128 / 2
        grad = torch.randn_like(q)

        def rival(backend: SDPBackend, q: Tensor = q, k: Tensor = k, v: Tensor = v) -> Tensor:
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, is_causal=True)

        sides = [lambda q=q, k=k, v=v: flash_attention(q, k, v, causal=True), lambda: rival(SDPBackend.FLASH_ATTENTION),
                 lambda: rival(SDPBackend.CUDNN_ATTENTION)]
        with torch.no_grad():
            ours, flash, cudnn = (rate(flops / 1e12, s) for s in in_turn(*sides))
        name = f"flash forward, head 128, {length:,} tokens"
        rows += [compare(name, "FlashAttention-2 in torch's SDPA", "TFLOP/s", ours, flash, 1.0),
                 compare(name, "cuDNN in torch's SDPA", "TFLOP/s", ours, cudnn, None, 0.75),
                 compare(name, "400 TFLOP/s", "TFLOP/s", ours, [400.0] * len(ours), 1.0)]
        outs = [side() for side in sides[:2]]
        ours, flash = (rate(2.5 * flops / 1e12, s) for s in in_turn(
            *(lambda out=out, q=q, k=k, v=v, grad=grad: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)
              for out in outs)))
        rows.append(compare(name.replace("forward", "backward"), "FlashAttention-2 in torch's SDPA", "TFLOP/s", ours,
                            flash, 0.8, 0.95))
    with torch.no_grad():
        windowed, full = in_turn(lambda: flash_attention(q, k, v, causal=True, window=1024), sides[0])
    rows.append(compare("sliding window 1k of 16k", "own full causal", "s", windowed, full, 5, 7, False))
    return rows


def varlen_row() -> dict[str, Any]:
    """Sequences of 256 to 4,096 tokens packed, against padded to the longest; 1 is what the tokens saved would give."""
    lengths = torch.linspace(256, 4096, 16).long().tolist()
    starts = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device="cuda")
    packed = [randn(sum(lengths), 16, 128) for _ in range(3)]
    padded = [randn(16, 4096, 16, 128).transpose(1, 2) for _ in range(3)]
    token_ratio = 16 * 4096 / sum(lengths)
    ours, theirs = in_turn(
        lambda: flash_attention_varlen(*packed, starts, starts, max_seqlens=(4096, 4096), causal=True),
        lambda: flash_attention(*padded, causal=True))
    return compare("variable length", "own padded, times the token ratio", "s", ours,
                   [s / token_ratio for s in theirs], 0.85, 0.95, False)


def memory_rows() -> list[dict[str, Any]]:
    """Kernels bound by memory, against the bandwidth that a copy of 1 GB reaches."""
    source, target = (torch.empty(2 ** 29, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    x, y, weight = randn(16384, 4096, grad=True), randn(16384, 4096, grad=True), randn(4096, grad=True)
    size = x.numel() * 2
    normed, gated, grad = rms_norm(x, weight), swiglu(x, y), randn(16384, 4096)
    case = paged_case([4096] * 64, 16, 32, 8, 128)
    decode = paged_decode_bytes([4096] * 64, 32, 8, 128, 2)
    jobs = {"paged decode over 1 GB of cache": (lambda: paged_attention(**case, scale=128 ** -0.5), decode, 0.8, 0.9),
            "RMSNorm forward": (lambda: rms_norm(x.detach(), weight.detach()), 2 * size, 0.85, 0.92),
            "RMSNorm backward": (lambda: torch.autograd.grad(normed, (x, weight), grad, retain_graph=True), 3 * size,
                                 0.85, 0.92),
            "SwiGLU forward": (lambda: swiglu(x.detach(), y.detach()), 3 * size, 0.85, 0.92),
            "SwiGLU backward": (lambda: torch.autograd.grad(gated, (x, y), grad, retain_graph=True), 5 * size, 0.85,
                                0.92)}
    rows = []
    for name, (job, moved, must, aim) in jobs.items():
        ours, copy = in_turn(job, lambda: target.copy_(source))
        rows.append(compare(name, "copy of 1 GB", "GB/s", rate(moved / 1e9, ours), rate(2 * 2 ** 30 / 1e9, copy), must,
                            aim))
    return rows


def main() -> int:
    """Correctness first: a fast wrong kernel is no row. Returns the exit status."""
    if not torch.cuda.is_available():
        print("no GPU: torch.cuda.is_available() is False here. Nothing was measured and no record was written.")
        return 77
    torch.manual_seed(0)
    begun = time.time()
    errors = check_ladder() | check_attention()
    wrong = {name: value for name, value in errors.items() if not value < 0.02}
    for name, value in wrong.items():
        print(f"WRONG in bfloat16: {name}: {value:.3g} of the largest number")
    print(f"{len(errors) - len(wrong)} of {len(errors)} kernels' cases right in bfloat16; largest error "
          f"{max(errors.values()):.4f}, median {statistics.median(errors.values()):.4f}; {time.time() - begun:.0f} s")
    if wrong:
        return 1
    rows, failed, crashed = [], [], []
    for part in (flash_rows, lambda: [varlen_row()], memory_rows, lambda: training_rows(RIVALS, failed),
                 lambda: engine_rows(RIVALS, failed)):
        try:
            rows += part()
        except Exception as problem:  # say, a backend that this torch lacks: the other parts are measured all the same
            crashed.append(repr(problem)[:300])
        torch.cuda.empty_cache()  # what follows may need it in other pieces
        print(f"{time.time() - begun:.0f} s")
    save("gpu", rows, ("torch", "triton", "numpy"), gpu=torch.cuda.get_device_name(),
         seconds=round(time.time() - begun), errors={name: round(value, 5) for name, value in errors.items()},
         stand_ins=STAND_INS, not_measured=failed, crashed=crashed)
    for words in failed:
        print(f"not measured: {words}")
    for words in crashed:
        print(f"CRASHED: {words}")
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
