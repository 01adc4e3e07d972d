"""What a step of a decoder costs on a machine, on paper: operations, bytes, seconds,
memory, and more than one GPU.

Williams et al. 2009: a part of a program takes as long as its operations or its bytes,
whichever takes longer. Pope et al. 2022, sections 2 and 3 (decoding: each step reads
all weights once, and each sequence its own keys and values). Shoeybi et al. 2019,
section 3 (tensor parallelism: heads and columns are shared out, two all-reduces a
block); Patarasuk and Yuan 2009 (what a ring all-reduce sends); Huang et al. 2019,
section 2.3 (pipeline, bubbles).

The matrices and the attention of a step run one after the other, so each has its own
roof. Operations are counted as in `flops`, masked scores too. The result is a bound
from below: no kernel does better, and a good one comes near.

Not here: numbers that one kernel writes and the next reads, the choice of tokens,
biases, mixtures of experts, host and network, communication behind computation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import torch

from reference_impl.layers.checks import ModelInputError
from reference_impl.measure.cache_bytes import bytes_per_token, reserved_blocks
from reference_impl.measure.flops import attention_flops, block_weights
from reference_impl.models.llama import LlamaConfig

# Norm, q k v, rotation, cache write, attention, output, sum; norm, gate and up, SwiGLU,
# down, sum.
KERNELS_PER_BLOCK = 12


@dataclass(frozen=True)
class Machine:
    """One device and its link to the others, in operations, bytes and seconds."""

    name: str
    flops: float  # a second, in the dtype of the weights
    bandwidth: float  # bytes a second, memory to processor
    memory: float
    link_bandwidth: float = (
        inf  # bytes a second that a device sends, while it receives as many
    )
    link_latency: float = 0.0  # of one message
    step_overhead: float = 0.0
    kernel_overhead: float = 0.0

    @property
    def ridge(self) -> float:
        """Operations a byte from which on a part is bound by operations."""
        return self.flops / self.bandwidth


# NVIDIA's data sheets, SXM form: bf16 without sparsity (half of what the sheets of H100
# and H200 print), NVLink in one direction (half of the printed sum of both). The sheets
# give no latencies.
A100 = Machine(
    "A100 80 GB SXM, data sheet", 312e12, 2.039e12, 80e9, link_bandwidth=300e9
)
H100 = Machine("H100 SXM, data sheet", 989.4e12, 3.35e12, 80e9, link_bandwidth=450e9)
H200 = Machine("H200 SXM, data sheet", 989.4e12, 4.8e12, 141e9, link_bandwidth=450e9)

LLAMA_3_8B = LlamaConfig(
    128_256, 4096, 14_336, num_layers=32, num_heads=32, num_kv_heads=8
)
LLAMA_3_70B = LlamaConfig(
    128_256, 8192, 28_672, num_layers=80, num_heads=64, num_kv_heads=8
)


class Chunk(NamedTuple):
    """One sequence's part in a step: one token in decoding, a piece of the prompt in
    prefill.
    """

    num_tokens: int
    context: int  # tokens of the sequence so far, these included
    samples: bool = True  # whether the output layer reads its last token


class Work(NamedTuple):
    """Operations, and bytes read and written."""

    flops: float
    bytes: float

    def seconds(self, machine: Machine) -> float:
        """The roof: whichever takes longer."""
        return max(self.flops / machine.flops, self.bytes / machine.bandwidth)


class StepTime(NamedTuple):
    """Seconds of one step."""

    matrices: float
    attention: float
    communication: float
    overhead: float

    @property
    def total(self) -> float:
        """One after the other."""
        return sum(self)


class Memory(NamedTuple):
    """Bytes on one device."""

    weights: float
    kv_cache: float
    activations: float

    @property
    def total(self) -> float:
        """All three at once."""
        return sum(self)


def _heads(config: LlamaConfig, num_devices: int = 1) -> tuple[int, int]:
    """Heads of keys, and their width."""
    num_kv_heads = config.num_kv_heads or config.num_heads
    head_dim = config.hidden_size // config.num_heads
    if config.head_dim not in (None, head_dim):
        raise ModelInputError(
            f"head_dim is {config.head_dim}, but the formulas are for hidden_size /"
            f" num_heads, {head_dim}"
        )
    if num_devices < 1 or num_kv_heads % num_devices:
        raise ModelInputError(
            f"{num_kv_heads} heads of keys can't be shared out among {num_devices}"
            " devices"
        )
    return num_kv_heads, head_dim


def _check(chunks: Sequence[Chunk]) -> None:
    wrong = next(
        (chunk for chunk in chunks if not 1 <= chunk.num_tokens <= chunk.context), None
    )
    if wrong is not None:
        raise ModelInputError(
            f"{wrong.num_tokens} new tokens in a context of {wrong.context}: a sequence"
            " brings at least one, and its context includes them"
        )


def num_weights(
    config: LlamaConfig, num_devices: int = 1, *, stored: bool = True
) -> float:
    """Weights on each device: of all that are stored, or of those that a step reads.

    A step reads a few rows of the embedding, not all. Matrices are shared out; every
    device has all norms.
    """
    num_kv_heads, _ = _heads(config, num_devices)
    block = block_weights(
        config.hidden_size,
        config.num_heads,
        config.intermediate_size,
        num_kv_heads=num_kv_heads,
        gated=True,
    )
    matrices = config.num_layers * block + config.vocab_size * config.hidden_size
    if stored and not config.tie_word_embeddings:
        matrices += config.vocab_size * config.hidden_size
    return matrices / num_devices + (2 * config.num_layers + 1) * config.hidden_size


def matrix_work(
    config: LlamaConfig,
    chunks: Sequence[Chunk],
    dtype: torch.dtype,
    num_devices: int = 1,
) -> Work:
    """Projections, feed-forward and output layer on each device.

    The weights are read once for all tokens.
    """
    _check(chunks)
    num_kv_heads, _ = _heads(config, num_devices)
    block = block_weights(
        config.hidden_size,
        config.num_heads,
        config.intermediate_size,
        num_kv_heads=num_kv_heads,
        gated=True,
    )
    num_tokens, num_rows = (
        sum(chunk.num_tokens for chunk in chunks),
        sum(chunk.samples for chunk in chunks),
    )
    flops = (
        2 * num_tokens * config.num_layers * block
        + 2 * num_rows * config.vocab_size * config.hidden_size
    )
    return Work(
        flops / num_devices,
        num_weights(config, num_devices, stored=False) * dtype.itemsize,
    )


def attention_work(
    config: LlamaConfig,
    chunks: Sequence[Chunk],
    dtype: torch.dtype,
    num_devices: int = 1,
) -> Work:
    """Scores and weighted means on each device.

    Keys and values of each sequence are read once, the new ones written.

    With a sliding window a chunk sees no more than the window before its first token.
    """
    _check(chunks)
    num_kv_heads, head_dim = _heads(config, num_devices)
    window = config.sliding_window or inf
    seen = [min(chunk.context, chunk.num_tokens + window - 1) for chunk in chunks]
    flops = config.num_layers * sum(
        attention_flops(chunk.num_tokens, num_keys, config.num_heads, head_dim)
        for chunk, num_keys in zip(chunks, seen, strict=True)
    )
    moved = sum(seen) + sum(chunk.num_tokens for chunk in chunks)
    return Work(
        flops / num_devices,
        moved
        * bytes_per_token(config.num_layers, num_kv_heads, head_dim, dtype)
        / num_devices,
    )


def all_reduce_seconds(num_bytes: int, num_devices: int, machine: Machine) -> float:
    """A ring: each device sends 2 (n - 1) messages, each the n-th part, first to add up
    and then to hand out.
    """
    num_messages = 2 * (num_devices - 1)
    return num_messages * (
        num_bytes / num_devices / machine.link_bandwidth + machine.link_latency
    )


def communication_seconds(
    config: LlamaConfig,
    chunks: Sequence[Chunk],
    machine: Machine,
    dtype: torch.dtype,
    num_devices: int,
) -> float:
    """Tensor parallelism: vectors are added up after the embedding, after attention and
    after the feed-forward of each block; at the end each device sends its part of the
    logits round the ring.
    """
    num_tokens, num_rows = (
        sum(chunk.num_tokens for chunk in chunks),
        sum(chunk.samples for chunk in chunks),
    )
    vectors, logits = (
        num_tokens * config.hidden_size * dtype.itemsize,
        num_rows * config.vocab_size * dtype.itemsize,
    )
    gather = (num_devices - 1) * (
        logits / num_devices / machine.link_bandwidth + machine.link_latency
    )
    return (2 * config.num_layers + 1) * all_reduce_seconds(
        vectors, num_devices, machine
    ) + gather


def step_time(
    config: LlamaConfig,
    chunks: Sequence[Chunk],
    machine: Machine,
    dtype: torch.dtype = torch.bfloat16,
    num_devices: int = 1,
) -> StepTime:
    """One step with each matrix and each head's cache shared out among the devices.

    ModelInputError if the heads of keys can't be.
    """
    overhead = (
        machine.step_overhead
        + config.num_layers * KERNELS_PER_BLOCK * machine.kernel_overhead
    )
    return StepTime(
        matrix_work(config, chunks, dtype, num_devices).seconds(machine),
        attention_work(config, chunks, dtype, num_devices).seconds(machine),
        communication_seconds(config, chunks, machine, dtype, num_devices),
        overhead,
    )


def step_memory(
    config: LlamaConfig,
    chunks: Sequence[Chunk],
    dtype: torch.dtype = torch.bfloat16,
    block_size: int = 16,
    num_devices: int = 1,
) -> Memory:
    """What each device holds at the widest moment of a step, the cache in blocks.

    In the feed-forward three vectors of a token are alive (the block's input, the sum
    after attention, its norm) and three inner ones (gate, up, their product); at the
    end, the last vectors and the logits.
    """
    _check(chunks)
    num_kv_heads, head_dim = _heads(config, num_devices)
    num_tokens, num_rows = (
        sum(chunk.num_tokens for chunk in chunks),
        sum(chunk.samples for chunk in chunks),
    )
    inside = (
        num_tokens * 3 * (config.hidden_size + config.intermediate_size / num_devices)
    )
    at_end = num_tokens * config.hidden_size + num_rows * config.vocab_size
    slots = reserved_blocks([chunk.context for chunk in chunks], block_size)
    return Memory(
        num_weights(config, num_devices) * dtype.itemsize,
        slots
        * bytes_per_token(config.num_layers, num_kv_heads, head_dim, dtype)
        / num_devices,
        max(inside, at_end) * dtype.itemsize,
    )


def max_sequences(
    config: LlamaConfig,
    context: int,
    machine: Machine,
    dtype: torch.dtype = torch.bfloat16,
    block_size: int = 16,
    num_devices: int = 1,
) -> int:
    """How many sequences of this length can decode at once in what the weights leave; 0
    if nothing is left.

    Each needs its blocks and its share of the activations, which grow with the
    sequences as the cache does.
    """
    one = step_memory(config, [Chunk(1, context)], dtype, block_size, num_devices)
    return max(
        int((machine.memory - one.weights) // (one.kv_cache + one.activations)), 0
    )


def bubble(num_stages: int, num_microbatches: int) -> float:
    """The share of a pipeline's time in which a stage waits: p - 1 of m + p -
    1 places.
    """
    return (num_stages - 1) / (num_microbatches + num_stages - 1)


def pipeline_seconds(
    config: LlamaConfig,
    chunks: Sequence[Chunk],
    machine: Machine,
    num_stages: int,
    num_microbatches: int,
    dtype: torch.dtype = torch.bfloat16,
) -> float:
    """One step with the layers shared out among stages and the sequences among
    microbatches that follow each other.

    All stages take as long as the slowest: the last, which has the output layer. Every
    microbatch reads a stage's weights again, and is sent on as one vector a token.
    """
    if config.num_layers % num_stages or not 1 <= num_microbatches <= len(chunks):
        raise ModelInputError(
            f"{config.num_layers} layers on {num_stages} stages and {len(chunks)}"
            f" sequences in {num_microbatches} microbatches: stages have equally many,"
            " no microbatch is empty"
        )
    stage = replace(config, num_layers=config.num_layers // num_stages)

    def seconds(microbatch: Sequence[Chunk]) -> float:
        sent = (
            sum(chunk.num_tokens for chunk in microbatch)
            * config.hidden_size
            * dtype.itemsize
        )
        send = (
            sent / machine.link_bandwidth + machine.link_latency
            if num_stages > 1
            else 0.0
        )
        return step_time(stage, microbatch, machine, dtype).total + send

    slowest = max(seconds(chunks[i::num_microbatches]) for i in range(num_microbatches))
    return (num_microbatches + num_stages - 1) * slowest
