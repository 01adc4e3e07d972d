"""The engine's own share of a step: everything but the model, which is stubbed; beside a plain
scheduler.

    rates = host_rates(repetitions=5)

256 sequences of 1,000 tokens decode; the stub answers with logits of a tiny vocabulary, so that
what is measured is scheduling, block tables, slots, the choice of tokens, stop conditions and the
trace. The rival is a scheduler with the least that serving needs, of the shape that nano-vllm made
known: a queue, one free list, a block taken when a sequence crosses into it, nested lists padded
into a tensor. It has no priorities, no preemption ranks, no stop strings, no trace, no random
numbers of its own for each request.
"""

import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams

NUM_SEQS, CONTEXT, BLOCK, VOCAB = 256, 1000, 16, 8
DEVICE_SECONDS = 0.005
STEPS = 32  # in which every sequence takes two blocks
TIMES, LONGER = 4, "four times the length"  # to see that it costs little more


class StubModel(torch.nn.Module):
    """No layers: hidden vectors of zeros and logits that always prefer token 3.

    device_seconds: how long the answer takes while the host has nothing to do, as with a device of
    its own.
    """

    def __init__(self, longest: int, device_seconds: float = 0.0):
        super().__init__()
        self.device_seconds = device_seconds
        self.config = SimpleNamespace(
            vocab_size=VOCAB,
            hidden_size=2,
            num_layers=1,
            num_heads=1,
            num_kv_heads=1,
            max_position_embeddings=longest,
            sliding_window=None,
        )
        self.embedding = torch.nn.Embedding(VOCAB, 2)
        self.logits = torch.zeros(NUM_SEQS * 8, VOCAB)
        self.logits[:, 3] = 9.0

    def hidden(self, ids, positions=None, cache=None):
        """(1, T) to (1, T, 2) without a multiplication."""
        time.sleep(self.device_seconds)
        return torch.zeros(1, ids.shape[1], 2)

    def output(self, hidden):
        """(R, 2) to (R, V)."""
        return self.logits[: len(hidden)]


def decoding_engine(
    params: SamplingParams,
    context: int,
    num_seqs: int = NUM_SEQS,
    device_seconds: float = 0.0,
    **options: bool,
) -> Engine:
    """An engine on the stub, of which each sequence has `context` tokens and decodes one a step."""
    longest = context + params.max_tokens
    limits = SchedulerConfig(
        max_num_seqs=num_seqs, max_num_batched_tokens=65536, max_model_len=longest
    )
    engine = Engine(
        StubModel(longest, device_seconds),
        EngineConfig(
            num_blocks=num_seqs * (-(-longest // BLOCK) + 1),
            block_size=BLOCK,
            prefix_caching=True,
            scheduler=limits,
            **options,
        ),
    )
    for number in range(num_seqs):
        prompt = [(number * 7 + place * (1 + number % 5)) % VOCAB for place in range(context - 1)]
        engine.add_request(prompt, params, str(number))
    while (
        any(not sequence.output_ids for sequence in engine.scheduler.running)
        or engine.scheduler.waiting
    ):
        engine.step()
    return engine


def engine_step_seconds(
    params: SamplingParams, context: int = CONTEXT, steps: int = STEPS
) -> float:
    """Median seconds of the processor for a step in which all sequences decode one token."""
    engine, seconds = decoding_engine(params, context), []
    for _ in range(steps):
        started = time.process_time()
        said = engine.step()
        seconds.append(time.process_time() - started)
        if len(said) != NUM_SEQS or any(output.tokens[0].id != 3 for output in said):
            raise SystemExit("the stubbed engine did not say one token 3 for each sequence")
    return statistics.median(seconds)


def overlapped_seconds(overlap: bool) -> float:
    """Median seconds of the clock for a step on a model that takes DEVICE_SECONDS, the next step
    scheduled meanwhile or not.
    """
    engine = decoding_engine(
        GREEDY, CONTEXT, device_seconds=DEVICE_SECONDS, async_scheduling=overlap
    )
    seconds, tokens = [], 0
    for _ in range(STEPS):
        started = time.perf_counter()
        tokens += len(engine.step())
        seconds.append(time.perf_counter() - started)
    if tokens < (STEPS - 1) * NUM_SEQS or bool(engine.num_overlapped_steps) != overlap:
        raise SystemExit("the engine did not decode a token a step, or did not schedule as asked")
    return statistics.median(seconds)


@dataclass
class PlainSequence:
    """Tokens and blocks, and nothing else."""

    ids: list[int]
    table: list[int] = field(default_factory=list)


class PlainScheduler:
    """Decode everybody, in the order of arrival; take a block when a sequence crosses into it."""

    def __init__(self, num_blocks: int):
        self.free = deque(range(num_blocks))
        self.running: deque[PlainSequence] = deque()

    def add(self, ids: list[int]) -> None:
        """Start a sequence with blocks for its tokens."""
        blocks = [self.free.popleft() for _ in range(-(-len(ids) // BLOCK))]
        self.running.append(PlainSequence(list(ids), blocks))

    def schedule(self) -> list[PlainSequence]:
        """All that have a block for their next token, which they take if need be."""
        chosen = []
        for sequence in self.running:
            if len(sequence.ids) > len(sequence.table) * BLOCK:
                if not self.free:
                    break
                sequence.table.append(self.free.popleft())
            chosen.append(sequence)
        return chosen

    def step(self) -> None:
        """Inputs of the model, its stubbed answer, one token for each."""
        chosen = self.schedule()
        torch.tensor([sequence.ids[-1] for sequence in chosen])
        torch.tensor([len(sequence.ids) - 1 for sequence in chosen])
        torch.tensor(
            [sequence.table[-1] * BLOCK + (len(sequence.ids) - 1) % BLOCK for sequence in chosen]
        )
        torch.tensor([len(sequence.ids) for sequence in chosen], dtype=torch.int32)
        widest = max(len(sequence.table) for sequence in chosen)
        torch.tensor(
            [sequence.table + [-1] * (widest - len(sequence.table)) for sequence in chosen],
            dtype=torch.int32,
        )
        logits = torch.zeros(len(chosen), VOCAB)
        logits[:, 3] = 9.0
        for sequence, token in zip(chosen, logits.argmax(-1).tolist(), strict=True):
            sequence.ids.append(token)


def plain_step_seconds(context: int = CONTEXT, steps: int = STEPS) -> float:
    """The same work by the plain scheduler."""
    scheduler = PlainScheduler(NUM_SEQS * (-(-(context + steps + 2) // BLOCK) + 1))
    for number in range(NUM_SEQS):
        scheduler.add([(number + place) % VOCAB for place in range(context)])
    seconds = []
    for _ in range(steps):
        started = time.process_time()
        scheduler.step()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


GREEDY = SamplingParams(temperature=0, max_tokens=4 * STEPS, ignore_eos=True)
DRAWN = SamplingParams(temperature=0.1, max_tokens=4 * STEPS, ignore_eos=True, seed=1)


def host_rates(repetitions: int = 5) -> dict[str, list[float]]:
    """Steps a second of ours and of the plain scheduler, each time in turn, also of texts that are
    longer.

    The processor's time is counted, not the clock's.
    """
    ways = {
        "greedy": lambda: engine_step_seconds(GREEDY),
        "drawn": lambda: engine_step_seconds(DRAWN),
        "plain": plain_step_seconds,
        LONGER: lambda: engine_step_seconds(GREEDY, TIMES * CONTEXT),
        f"plain, {LONGER}": lambda: plain_step_seconds(TIMES * CONTEXT),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, measure in ways.items():
            rates[name].append(1 / measure())
    return rates


def overlap_rates(repetitions: int = 5) -> tuple[list[float], list[float]]:
    """Steps a second with the next step scheduled while one is computed, and one after the other,
    in turn.
    """
    pairs = [
        (1 / overlapped_seconds(True), 1 / overlapped_seconds(False)) for _ in range(repetitions)
    ]
    return [a for a, _ in pairs], [b for _, b in pairs]


def calls_a_sequence(params: SamplingParams) -> float:
    """Python functions that are entered for each sequence in a step in which none takes a block."""
    counts = []
    for num_seqs in (8, 40):
        engine, entered = decoding_engine(params, 18, num_seqs), []
        engine.step()
        sys.setprofile(
            lambda frame, event, _, entered=entered: (
                entered.append(event) if event == "call" else None
            )
        )
        try:
            engine.step()
        finally:
            sys.setprofile(None)
        counts.append(len(entered))
    return (counts[1] - counts[0]) / (40 - 8)


def bytes_of_a_step(context: int, num_seqs: int = 16) -> int:
    """The most memory that Python and numpy hold in a step beyond what they held before it."""
    engine = decoding_engine(GREEDY, context, num_seqs)
    for _ in range(3):
        engine.step()
    gc.collect()
    tracemalloc.start()
    engine.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    """Print milliseconds a step, or with --count what the test of the engine's host work
    looks at.
    """
    torch.set_num_threads(1)
    if "--count" in sys.argv:
        print(
            json.dumps(
                {
                    "calls": {"greedy": calls_a_sequence(GREEDY), "drawn": calls_a_sequence(DRAWN)},
                    "bytes": {context: bytes_of_a_step(context) for context in (18, 4018)},
                }
            )
        )
        return
    for name, found in host_rates().items():
        print(f"{name}: {1e3 / max(found):.2f} ms a step")


if __name__ == "__main__":
    main()
