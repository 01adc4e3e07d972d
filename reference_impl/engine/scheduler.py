"""What the model computes in the next step: which sequences, and how many tokens of
each.

Continuous batching (Yu et al. 2022, Orca): the batch is made anew for every step, so a
sequence that ends leaves at once and another takes its place. Chunked prefill (Agrawal
et al. 2024, Sarathi-Serve): a step has a budget of tokens; every sequence that is past
its prompt gets one first, what is left is filled with pieces of prompts. So a long
prompt does not hold up those who wait for their next token.

The policy, all of it:
1. Sequences have a rank: priority, raised by one for every `patience` steps of waiting;
   then who came first.
2. Those that run are served in order of rank. If blocks are short, the one of lowest
   rank is preempted.
3. If none was preempted, waiting ones are admitted in order of rank. If the first does
   not fit, none behind it may pass: else a long prompt would wait for ever.
Of those that run, the one of highest rank is never preempted, and each request fits
into the pool alone (`add` sees to it): none starves.

With `policy="lpm"` (longest prefix match, SGLang's name) waiting requests of one
priority are admitted by how much of their prompt is cached. Patience still raises a
request that waits, so that those without a prefix starve no more than before.
"""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Ids
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.sequence import Sequence, Status
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.layers.settings import Count, CountOrZero, Settings

PolicyName = Literal["fcfs", "lpm", "sjf"]


@dataclass(frozen=True)
class SchedulerConfig(Settings):
    """The limits of one step, with vLLM's names."""

    max_num_seqs: Count = 64  # sequences that run at the same time
    max_num_batched_tokens: Count = 512  # tokens in one step
    max_model_len: Count = 2048  # tokens of one sequence, prompt and output
    # blocks on the host for those that are swapped out; 0: they are computed again
    num_host_blocks: CountOrZero = 0
    patience: Count = 200  # steps of waiting that are worth one level of priority
    policy: PolicyName = "fcfs"  # who is admitted first among equals

    def check_together(self) -> None:
        """Every running sequence gets a token of each step."""
        if self.max_num_seqs > self.max_num_batched_tokens:
            raise ValueError(
                f"max_num_seqs is {self.max_num_seqs}, max_num_batched_tokens"
                f" {self.max_num_batched_tokens}: every running sequence needs a token"
                " of each step"
            )


# Of a longer queue prefixes are not matched: that would take longer than it saves.
LONGEST_MATCHED_QUEUE = 128


class Move(NamedTuple):
    """A block to be copied before the step is computed, in the order given: on the
    device, or to or from the host.
    """

    kind: Literal["copy", "out", "in"]
    source: int
    target: int


class Scheduled(NamedTuple):
    """A sequence and how many of its next tokens this step computes; the drafts among
    them come last.
    """

    sequence: Sequence
    num_tokens: int
    num_drafts: int = 0

    @property
    def samples(self) -> bool:
        """Whether this reaches the sequence's last token, so that a next one can be
        sampled.
        """
        return self.num_tokens - self.num_drafts == self.sequence.num_uncomputed


@dataclass
class Step:
    """One step of the engine."""

    scheduled: list[Scheduled] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    admitted: list[Sequence] = field(default_factory=list)
    preempted: list[Sequence] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        """Tokens that the model reads in this step."""
        return sum(item.num_tokens for item in self.scheduled)


class Scheduler:
    """Queues, and the policy above."""

    def __init__(self, config: SchedulerConfig, blocks: BlockManager):
        self.config, self.blocks = config, blocks
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self._free_host_blocks = list(range(config.num_host_blocks))
        self._arrivals = 0
        # whether a sequence began to run since those that run were put in order
        self._came = False

    @property
    def has_work(self) -> bool:
        """Whether a sequence is not finished."""
        return bool(self.waiting or self.running)

    def check_request(self, prompt_ids: Ids[int], params: SamplingParams) -> None:
        """ValueError if such a request could never run, however long it waited."""
        longest = len(prompt_ids) + params.max_tokens
        if not prompt_ids:
            raise ValueError(
                "the prompt has no token: start with the tokenizer's beginning-of-text"
                " token"
            )
        if longest > self.config.max_model_len:
            raise ValueError(
                f"the prompt has {len(prompt_ids)} tokens and max_tokens is"
                f" {params.max_tokens}, {longest} together, but this model is served"
                f" with {self.config.max_model_len}: shorten the prompt or lower"
                " max_tokens"
            )
        if params.n > self.config.max_num_seqs:
            raise ValueError(
                f"n is {params.n}, but at most {self.config.max_num_seqs} sequences run"
                " at once"
            )
        needed = self.blocks.blocks_for(longest, self.config.max_num_batched_tokens)
        if needed > self.blocks.num_blocks:
            raise ValueError(
                f"{longest} tokens need {needed} blocks of {self.blocks.block_size},"
                f" but the cache has {self.blocks.num_blocks}: start the engine with"
                " more blocks, or lower max_tokens"
            )

    def add(self, sequence: Sequence) -> None:
        """Queue a request. ValueError as in `check_request`."""
        self.check_request(sequence.prompt_ids, sequence.params)
        sequence.arrival = self._arrivals
        self._arrivals += 1
        sequence.num_forks = sequence.params.n - 1
        self.waiting.append(sequence)

    def schedule(self) -> Step:
        """Decide the next step and take the blocks for it."""
        step = Step()
        if (
            self._came
        ):  # only waiting changes a rank, and who leaves takes nobody's place
            self.running.sort(key=self._rank)
            self._came = False
        self._serve_running(step)
        if self.waiting and not step.preempted:
            self._admit(step)
        for sequence in self.waiting:
            sequence.steps_waited += 1
        return step

    def _rank(self, sequence: Sequence) -> tuple[int, int, int]:
        """Smaller is sooner.

        Waiting that was rewarded once is kept, or an old request would be preempted at
        once.
        """
        return (
            -(sequence.priority + sequence.steps_waited // self.config.patience),
            sequence.arrival,
            sequence.index,
        )

    def _rank_by_prefix(self, sequence: Sequence) -> tuple[int, int, int, int]:
        """As `_rank`, but within a level the longest cached prefix is first."""
        level, *others = self._rank(sequence)
        cached = len(self.blocks.prefix_of(sequence))
        return (level, -cached, *others)

    def _rank_by_length(self, sequence: Sequence) -> tuple[int, int, int, int]:
        """As `_rank`, but within a level the shortest prefill is first."""
        level, *others = self._rank(sequence)
        return (level, sequence.num_uncomputed, *others)

    def _admission_rank(self) -> Callable[[Sequence], tuple[int, ...]]:
        """What the queue is sorted by."""
        if self.config.policy == "sjf":
            return self._rank_by_length
        if self.config.policy == "lpm" and len(self.waiting) <= LONGEST_MATCHED_QUEUE:
            return self._rank_by_prefix
        return self._rank

    def _serve_running(self, step: Step) -> None:
        budget = self.config.max_num_batched_tokens
        uncomputed = [
            len(sequence.ids) - sequence.num_computed_tokens
            for sequence in self.running
        ]
        promised = uncomputed.count(1)  # one token for each that decodes
        position, has_room, scheduled = 0, self.blocks.has_room, step.scheduled
        while position < len(self.running):
            sequence = self.running[position]
            decodes = uncomputed[position] == 1
            promised -= decodes
            if (
                decodes and not sequence.draft_ids and has_room(sequence)
            ):  # most sequences in most steps
                scheduled.append(Scheduled(sequence, 1))
                budget -= 1
                position += 1
                continue
            left = budget - promised
            num_tokens = min(sequence.num_uncomputed, left)
            num_drafts = self._affordable_drafts(sequence, left - 1) if decodes else 0
            if num_tokens < 1:  # this prompt's turn comes in a later step
                position += 1
                continue
            while (
                self.blocks.blocks_needed(sequence, num_tokens)
                > self.blocks.num_free_blocks
            ):
                victim = self.running[-1]
                if victim is not sequence:
                    promised -= victim.num_uncomputed == 1
                self._preempt(victim, step)
                if victim is sequence:
                    return
            self._schedule(step, sequence, num_tokens, num_drafts)
            budget -= num_tokens + num_drafts
            position += 1

    def _affordable_drafts(self, sequence: Sequence, budget: int) -> int:
        """As many drafts as the budget and the free blocks allow: guessing preempts
        nobody.
        """
        count = min(len(sequence.draft_ids), budget)
        while (
            count > 0
            and self.blocks.blocks_needed(sequence, 1 + count)
            > self.blocks.num_free_blocks
        ):
            count -= 1
        return max(count, 0)

    def _schedule(
        self, step: Step, sequence: Sequence, num_tokens: int, num_drafts: int = 0
    ) -> None:
        copies = self.blocks.grow(sequence, num_tokens + num_drafts)
        step.moves += [Move("copy", *pair) for pair in copies]
        del sequence.draft_ids[num_drafts:]
        step.scheduled.append(Scheduled(sequence, num_tokens + num_drafts, num_drafts))

    def _preempt(self, sequence: Sequence, step: Step) -> None:
        """Give up its blocks.

        Its tokens are kept: it goes on where it was, after computing them again or a
        swap.
        """
        self.running.remove(sequence)
        sequence.num_preemptions += 1
        sequence.draft_ids.clear()
        step.preempted.append(sequence)
        computed = sequence.num_computed_tokens
        if (
            computed
            and not sequence.num_given_up
            and len(sequence.block_table) <= len(self._free_host_blocks)
        ):
            sequence.host_table = [
                self._free_host_blocks.pop() for _ in sequence.block_table
            ]
            step.moves += [
                Move("out", *pair)
                for pair in zip(sequence.block_table, sequence.host_table, strict=True)
            ]
            self.blocks.free(sequence)
            sequence.num_computed_tokens, sequence.status = computed, Status.SWAPPED
        else:
            self.blocks.free(sequence)
            sequence.status = Status.WAITING
        self.waiting.append(sequence)

    def _admit(self, step: Step) -> None:
        budget = self.config.max_num_batched_tokens - step.num_tokens
        self.waiting.sort(key=self._admission_rank())
        while self.waiting and budget > 0:
            sequence = self.waiting[0]
            slots = (
                sum(1 + other.num_forks for other in self.running)
                + 1
                + sequence.num_forks
            )
            if slots > self.config.max_num_seqs or not self._start(
                sequence, budget, step
            ):
                break
            self.waiting.pop(0)
            self.running.append(sequence)
            self._came = True
            sequence.status = Status.RUNNING
            step.admitted.append(sequence)
            num_tokens = min(sequence.num_uncomputed, budget)
            self._schedule(step, sequence, num_tokens)
            budget -= num_tokens

    def _start(self, sequence: Sequence, budget: int, step: Step) -> bool:
        """Take the blocks that hold what is computed already: from the host, or those
        of a known prefix.
        """
        spare = self.blocks.watermark_blocks if self.running else 0
        if sequence.status is Status.WAITING:
            if not self.blocks.can_admit(sequence, budget, spare):
                return False
            self.blocks.admit(sequence)
            return True
        chunk = min(sequence.num_uncomputed, budget)
        total = -(-(sequence.num_computed_tokens + chunk) // self.blocks.block_size)
        if self.blocks.num_free_blocks - max(total, len(sequence.host_table)) < spare:
            return False
        self.blocks.restore(sequence, len(sequence.host_table))
        step.moves += [
            Move("in", *pair)
            for pair in zip(sequence.host_table, sequence.block_table, strict=True)
        ]
        self._free_host_blocks += sequence.host_table
        sequence.host_table = []
        return True

    def fork(self, sequence: Sequence) -> list[Sequence]:
        """Start the other continuations of a sequence whose prompt is computed."""
        children = [sequence.fork(index) for index in range(1, sequence.num_forks + 1)]
        sequence.num_forks = 0
        for child in children:
            self.blocks.fork(sequence, child)
        self.running += children
        self._came = True
        return children

    def finish(self, sequence: Sequence, reason: str) -> None:
        """Take a sequence out, wherever it is, and give up what it holds."""
        (self.running if sequence.status is Status.RUNNING else self.waiting).remove(
            sequence
        )
        self.blocks.free(sequence)
        self._free_host_blocks += sequence.host_table
        sequence.host_table = []
        sequence.draft_ids.clear()
        sequence.status, sequence.finish_reason = Status.FINISHED, reason

    def abort(self, request_id: str) -> list[Sequence]:
        """Finish every continuation of a request; a request that is not here is no
        error, it may just have ended.
        """
        gone = [s for s in [*self.waiting, *self.running] if s.request_id == request_id]
        for sequence in gone:
            self.finish(sequence, "abort")
        return gone

    def check(self, others: Iterable[Sequence] = ()) -> None:
        """AssertionError if blocks or queues are not in order."""
        self.blocks.check([*self.running, *others])
        assert all(not sequence.block_table for sequence in self.waiting)
        on_host = [block for sequence in self.waiting for block in sequence.host_table]
        assert sorted(on_host + self._free_host_blocks) == list(
            range(self.config.num_host_blocks)
        )
        assert sum(1 + s.num_forks for s in self.running) <= self.config.max_num_seqs
