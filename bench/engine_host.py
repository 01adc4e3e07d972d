"""The engine's own share of a step: everything but the model, which is stubbed; beside a plain scheduler.

    row, flatness = host_rows(repetitions=5)

256 sequences of 1,000 tokens decode; the stub answers with logits of a tiny vocabulary, so that what is measured is
scheduling, block tables, slots, the choice of tokens, stop conditions and the trace. The rival is a scheduler with the
least that serving needs, of the shape that nano-vllm made known:
a queue, one free list, a block taken when a sequence crosses into it, nested lists padded into a tensor. It has no
priorities, no preemption ranks, no stop strings, no trace, no random numbers of its own for each request.
"""
import statistics
import time
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams

NUM_SEQS, CONTEXT, BLOCK, VOCAB = 256, 1000, 16, 8


class StubModel(torch.nn.Module):
    """No layers: hidden vectors of zeros and logits that always prefer token 3."""

    def __init__(self, longest: int):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=VOCAB, hidden_size=2, num_layers=1, num_heads=1, num_kv_heads=1,
                                      max_position_embeddings=longest, sliding_window=None)
        self.embedding = torch.nn.Embedding(VOCAB, 2)
        self.logits = torch.zeros(NUM_SEQS * 8, VOCAB)
        self.logits[:, 3] = 9.0

    def hidden(self, ids, positions=None, cache=None):
        """(1, T) to (1, T, 2) without a multiplication."""
        return torch.zeros(1, ids.shape[1], 2)

    def output(self, hidden):
        """(R, 2) to (R, V)."""
        return self.logits[:len(hidden)]


def engine_step_seconds(params: SamplingParams, context: int = CONTEXT, steps: int = 40) -> float:
    """Median seconds of a step in which all sequences decode one token."""
    longest = context + params.max_tokens
    limits = SchedulerConfig(max_num_seqs=NUM_SEQS, max_num_batched_tokens=65536, max_model_len=longest)
    engine = Engine(StubModel(longest), EngineConfig(num_blocks=NUM_SEQS * (-(-longest // BLOCK) + 1), block_size=BLOCK,
                                                     prefix_caching=True, scheduler=limits))
    for number in range(NUM_SEQS):
        prompt = [(number * 7 + place * (1 + number % 5)) % VOCAB for place in range(context - 1)]
        engine.add_request(prompt, params, str(number))
    while any(sequence.num_uncomputed != 1 for sequence in engine.scheduler.running) or engine.scheduler.waiting:
        engine.step()
    seconds = []
    for _ in range(steps):
        started = time.process_time()
        said = engine.step()
        seconds.append(time.process_time() - started)
        if len(said) != NUM_SEQS or any(output.tokens[0].id != 3 for output in said):
            raise SystemExit("the stubbed engine did not say one token 3 for each sequence")
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
        torch.tensor([sequence.table[-1] * BLOCK + (len(sequence.ids) - 1) % BLOCK for sequence in chosen])
        torch.tensor([len(sequence.ids) for sequence in chosen], dtype=torch.int32)
        widest = max(len(sequence.table) for sequence in chosen)
        torch.tensor([sequence.table + [-1] * (widest - len(sequence.table)) for sequence in chosen], dtype=torch.int32)
        logits = torch.zeros(len(chosen), VOCAB)
        logits[:, 3] = 9.0
        for sequence, token in zip(chosen, logits.argmax(-1).tolist(), strict=True):
            sequence.ids.append(token)


def plain_step_seconds(context: int = CONTEXT, steps: int = 40) -> float:
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


GREEDY = SamplingParams(temperature=0, max_tokens=120, ignore_eos=True)
DRAWN = SamplingParams(temperature=0.1, max_tokens=120, ignore_eos=True, seed=1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, params in (("greedy", GREEDY), ("sampled", DRAWN)):
        print(f"{name}: {1e3 * engine_step_seconds(params):.2f} ms a step")
    print(f"plain: {1e3 * plain_step_seconds():.2f} ms a step")
