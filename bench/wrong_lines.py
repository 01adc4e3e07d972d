"""SmolLM2-135M with one wrong line at a time: what it loses on real text, and what it then writes.

    python bench/wrong_lines.py        after `course download-data`; about five minutes on one core

The weights are as published. Each wrong line is a mistake that gives no error: shapes fit and
numbers come out. The text is newspaper editorials, the first 49 tokens of each of twelve; whether
SmolLM2 has read them is not known. Losses are kept per text, so that a wrong line and the right one
can be compared text by text. Continuations are greedy.

Beside them: how large the numbers are that the norms read, since their squares must fit into the
format that holds them.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [
    str(Path(__file__).resolve().parent / "trained"),
    str(Path(__file__).resolve().parent),
]

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from strategies import editorials  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import GenerationError, SamplingParams  # noqa: E402
from reference_impl.layers import rotary  # noqa: E402
from reference_impl.layers.attention import causal_attention  # noqa: E402
from reference_impl.layers.feed_forward import GatedFeedForward  # noqa: E402
from reference_impl.layers.norms import RMSNorm  # noqa: E402
from reference_impl.models import llama  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

TEXTS, GIVEN, NEW = 12, 48, 12
PROMPTS = ("We sat on the bank of the", "The bank lends money to", "The capital of France is")


def gated(mix: Callable[[Tensor, Tensor], Tensor]) -> ExitStack:
    """Every feed-forward layer mixes what its two first matrices give in this way."""
    return patch.object(
        GatedFeedForward, "forward", lambda layer, x: layer.down(mix(layer.gate(x), layer.up(x)))
    )


def normed(norm: Callable[[RMSNorm, Tensor], Tensor]) -> ExitStack:
    """Every norm is this one."""
    return patch.object(RMSNorm, "forward", norm)


def attending(change: Callable[[Tensor, int], Tensor]) -> ExitStack:
    """Keys and values, (B, K, T, D), are changed before H heads of queries attend to them."""
    return patch.object(
        llama,
        "causal_attention",
        lambda q, k, v, mask, cache: causal_attention(
            q, change(k, q.shape[1]), change(v, q.shape[1]), mask, cache
        ),
    )


def turned(rotate: Callable) -> ExitStack:
    """Queries and keys are turned in this way."""
    return patch.object(llama, "rotate", rotate)


def based(base: float) -> ExitStack:
    """The angles of another base."""
    tables = rotary.rotary_tables
    return patch.object(
        llama,
        "rotary_tables",
        lambda positions, head_dim, theta, *more: tables(positions, head_dim, base, *more),
    )


def half_squares(norm: RMSNorm, x: Tensor) -> Tensor:
    """The mean of squares in the half precision of a model in float16: above 65,504 it is
    infinite.
    """
    mean = x.half().square().mean(-1, keepdim=True).float()
    return x / (mean + norm.eps).sqrt() * norm.weight


def residual_of_normed(
    block: llama.Block, x: Tensor, rotary_: rotary.Tables, mask: Tensor | None = None, cache=None
) -> Tensor:
    """What goes around a sublayer is the normed vector."""
    n = block.attention_norm(x)
    x = n + block.attention(n, rotary_, mask, cache)
    n = block.feed_forward_norm(x)
    return n + block.feed_forward(n)


def without_second_norm(
    block: llama.Block, x: Tensor, rotary_: rotary.Tables, mask: Tensor | None = None, cache=None
) -> Tensor:
    """The feed-forward layer reads what nobody has normed."""
    x = x + block.attention(block.attention_norm(x), rotary_, mask, cache)
    return x + block.feed_forward(x)


# What is wrong, its part of the block, and how it is made wrong. The first is right.
LINES: dict[str, tuple[str, Callable[[], ExitStack | None]]] = {
    "right": ("", lambda: None),
    "LayerNorm for RMSNorm": (
        "norm",
        lambda: normed(
            lambda norm, x: F.layer_norm(x, norm.weight.shape, norm.weight, None, norm.eps)
        ),
    ),
    "norm's weight left out": (
        "norm",
        lambda: normed(lambda norm, x: F.rms_norm(x, norm.weight.shape, None, norm.eps)),
    ),
    "squares in half precision": ("norm", lambda: normed(half_squares)),
    "second norm left out": (
        "norm",
        lambda: patch.object(llama.Block, "forward", without_second_norm),
    ),
    "residual of the normed vector": (
        "norm",
        lambda: patch.object(llama.Block, "forward", residual_of_normed),
    ),
    "gate and up swapped": ("gate", lambda: gated(lambda gate, up: gate * F.silu(up))),
    "GELU for SiLU": ("gate", lambda: gated(lambda gate, up: F.gelu(gate) * up)),
    "ReLU for SiLU": ("gate", lambda: gated(lambda gate, up: F.relu(gate) * up)),
    "sigmoid for SiLU": ("gate", lambda: gated(lambda gate, up: gate.sigmoid() * up)),
    "SiLU after the product": ("gate", lambda: gated(lambda gate, up: F.silu(gate * up))),
    "neighbours for halves": (
        "rotary",
        lambda: turned(lambda x, tables: rotary.rotate(x, tables, "pairs")),
    ),
    "turned backwards": (
        "rotary",
        lambda: turned(lambda x, tables: rotary.rotate(x, rotary.Tables(tables.cos, -tables.sin))),
    ),
    "nothing turned": ("rotary", lambda: turned(lambda x, tables: x)),
    "base 10,000 for 100,000": ("rotary", lambda: based(10_000.0)),
    "groups dealt out in turn": (
        "heads",
        lambda: attending(lambda kept, heads: kept.repeat(1, heads // kept.shape[1], 1, 1)),
    ),
    "one key head, the mean of three": (
        "heads",
        lambda: attending(lambda kept, heads: kept.mean(1, keepdim=True)),
    ),
}


@contextmanager
def wrong(name: str) -> Iterator[None]:
    """Inside, the model's code has this one wrong line."""
    with ExitStack() as stack:
        if (change := LINES[name][1]()) is not None:
            stack.enter_context(change)
        yield


@torch.inference_mode()
def losses(model: llama.Llama, rows: Tensor) -> list[float]:
    """Nats a token of each text."""
    nats = F.cross_entropy(
        model(rows[:, :-1]).transpose(1, 2), rows[:, 1:], reduction="none"
    )  # (N, T)
    return [
        round(value, 4) if math.isfinite(value) else None
        for value in nats.double().mean(1).tolist()
    ]


@torch.inference_mode()
def largest(model: llama.Llama, rows: Tensor) -> list[float]:
    """The largest size of a number that each block's first norm reads."""
    found = []
    hooks = [
        block.attention_norm.register_forward_pre_hook(
            lambda _, given: found.append(round(float(given[0].abs().max()), 2))
        )
        for block in model.blocks
    ]
    model(rows)
    for hook in hooks:
        hook.remove()
    return found


def main() -> None:
    """Try every line, write bench/results/wrong_lines.json."""
    torch.set_num_threads(1)
    started = time.process_time()
    model = corpora.load("smollm2")
    tokenizer = tokenizer_from_metadata(
        read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata
    )
    rows = torch.tensor(
        [given + more[:1] for given, more in editorials(tokenizer, TEXTS, GIVEN)]
    )  # (N, T + 1)
    params = SamplingParams(
        temperature=0.0, max_tokens=NEW, stop_token_ids=(tokenizer.vocabulary.id("<|im_end|>"),)
    )
    prompts = [tokenizer.encode(prompt).ids for prompt in PROMPTS]
    found = {}
    for name, (part, _) in LINES.items():
        with wrong(name):
            nats = losses(model, rows)
            try:
                written = [tokenizer.decode(one.ids) for one in generate(model, prompts, params)]
            except GenerationError:  # logits that are no numbers choose nothing
                written = None
        found[name] = {"part": part, "nats": nats, "written": written}
        print(f"{name:32}", nats[:2], written, flush=True)
    save(
        "wrong_lines",
        versions=("torch",),
        model="SmolLM2-135M-Instruct, Q4_1",
        predictions=rows[:, 1:].numel(),
        texts=len(rows),
        prompts=PROMPTS,
        uniform=round(math.log(model.config.vocab_size), 4),
        largest_read_by_norms=largest(model, rows),
        half_squares_end_at=round(math.sqrt(torch.finfo(torch.float16).max), 2),
        cpu_seconds=round(time.process_time() - started),
        found=found,
    )


if __name__ == "__main__":
    main()
