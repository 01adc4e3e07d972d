"""The engine: requests in, tokens out, one step at a time.

    engine = Engine(model, EngineConfig(num_blocks=512), tokenizer)
    engine.add_request("Once upon a time", SamplingParams(max_tokens=20))
    while engine.has_work:
        for output in engine.step():
            print(output.text, end="")

A step: the scheduler says what to compute, the runner gives logits, each sequence that
has reached its last token samples the next, blocks are made known, and who is done
leaves (Kwon et al. 2023, section 4 and figure 4).

What comes out does not depend on who else is served: every sequence has its own random
numbers, its own penalties and its own stop strings. (With guesses that holds for greedy
answers; sampled ones keep their distribution, see `speculative`.)

Not here: how several processes compute one model (see `ranks`), pictures.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Ids
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from reference_impl.engine.adapters import Adapters
from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.model_runner import ModelRunner, Prepared
from reference_impl.engine.prefix_index import IndexName
from reference_impl.engine.ranks import Ranks
from reference_impl.engine.sampling import SampledToken, Sampling, report
from reference_impl.engine.scheduler import Scheduler, SchedulerConfig, Step
from reference_impl.engine.sequence import Sequence, Status
from reference_impl.engine.speculative import Draft, Proposer
from reference_impl.engine.structured import StructuredOutput
from reference_impl.engine.trace import Trace
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.generation.stopping import Stopping
from reference_impl.layers.settings import Count, CountOrZero, Rate, Settings
from reference_impl.models.decoders import Decoder
from reference_impl.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True)
class EngineConfig(Settings):
    """How much memory the cache has, and the limits of a step."""

    num_blocks: Count = 512
    block_size: Count = 16
    prefix_caching: bool = True
    watermark: Rate = 0.01
    num_speculative_tokens: CountOrZero = (
        0  # guesses a step and sequence, if there is a proposer
    )
    trace_steps: CountOrZero = 10_000  # so many of the last steps are remembered
    cuda_graphs: bool = (
        False  # on a GPU: replay recorded launches where all sequences decode
    )
    # schedule the next step while one is computed; none ahead of guesses and grammars
    async_scheduling: bool = False
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    prefix_index: IndexName = "hash_chain"  # or "radix_tree": see `prefix_index`


class Flight(NamedTuple):
    """A step on its way through the model: whose tokens it says, and what waits for
    these, and for prompts' scores.
    """

    step: Step
    sequences: list[Sequence]
    result: Callable[
        [], tuple[list[list[SampledToken]], list[tuple[Sequence, list[SampledToken]]]]
    ]


class Output(NamedTuple):
    """What one step added to one continuation."""

    request_id: str
    index: int
    tokens: list[SampledToken]
    text: str  # empty as long as a character or a stop string may still be incomplete
    finish_reason: (
        str | None
    )  # with the last one "stop", "length", or "error" if its logits allow no choice
    num_cached_tokens: int = 0  # tokens of the prompt that were found computed
    prompt_logprobs: list[
        SampledToken
    ] = []  # with the first of index 0, if asked for: of all the prompt but its start


@dataclass
class Completion:
    """A whole continuation, as `Engine.generate` returns it."""

    ids: list[int]
    text: str
    tokens: list[SampledToken]
    finish_reason: str


class Engine:
    """A model, its cache, its queues. Not to be shared by threads: see `async_engine`.

    `adapters` are folders by the names that requests choose them by (see `adapters`).
    `ranks` are the processes that hold the model's other slices, of which this one is
    the first.
    """

    def __init__(
        self,
        model: Decoder,
        config: EngineConfig = EngineConfig(),
        tokenizer: Tokenizer | None = None,
        eos_ids: Iterable[int] = (),
        proposer: Proposer | None = None,
        adapters: Mapping[str, Path | str] | None = None,
        ranks: Ranks | None = None,
    ):
        limits = config.scheduler
        if ranks is not None and (adapters or config.cuda_graphs):
            raise ValueError(
                f"{'adapters' if adapters else 'cuda_graphs'} with a model in"
                f" {ranks.size} slices: serve it without, or in one"
            )
        if limits.max_model_len > model.config.max_position_embeddings:
            raise ValueError(
                f"max_model_len is {limits.max_model_len}, but the model has "
                f"{model.config.max_position_embeddings} positions: lower max_model_len"
            )
        self.config, self.tokenizer, self.eos_ids, self.proposer = (
            config,
            tokenizer,
            tuple(eos_ids),
            proposer,
        )
        self.blocks = BlockManager(
            config.num_blocks,
            config.block_size,
            config.prefix_caching,
            config.watermark,
            getattr(model.config, "sliding_window", None),
            config.prefix_index,
        )
        self.scheduler = Scheduler(limits, self.blocks)
        self.adapters = Adapters(model, adapters) if adapters else None
        sizes = (config.num_blocks, config.block_size, limits.num_host_blocks)
        self.runner = ModelRunner(
            model, *sizes, self.adapters, *((ranks.size, ranks.tell) if ranks else ())
        )
        if ranks is not None:
            ranks.begin(*sizes)
        if config.cuda_graphs:
            self.runner.record_graphs(limits.max_num_seqs, limits.max_model_len)
        self.sampling, self.trace = Sampling(self.eos_ids), Trace(config.trace_steps)
        # With one thread steps are computed in order, and while one is, the next is
        # scheduled here.
        self._worker = (
            ThreadPoolExecutor(1, "model", self.runner.use_device)
            if config.async_scheduling
            else None
        )
        self._flight: Flight | None = None
        self.num_overlapped_steps = 0  # scheduled while the one before was computed
        self.num_drafted = self.num_accepted = self.num_preemptions = 0
        self.last_step = Step()
        self._left: dict[
            str, int
        ] = {}  # continuations of each request that are not finished
        self._stopping: dict[Sequence, Stopping] = {}
        self._drafts: dict[Sequence, Draft] = {}
        self._numbers = itertools.count()

    @property
    def has_work(self) -> bool:
        """Whether a request is not finished, or a step is being computed."""
        return self.scheduler.has_work or self._flight is not None

    @cached_property
    def structures(self) -> StructuredOutput:
        """The grammars of requests that ask for a form.

        ValueError without a tokenizer or an end token.
        """
        if self.tokenizer is None:
            raise ValueError(
                "an answer of a given form is checked as text, and the engine has no"
                " tokenizer"
            )
        made = StructuredOutput(
            self.tokenizer, self.eos_ids, self.runner.model.config.vocab_size
        )
        self.sampling.structures = made
        return made

    def check_request(self, prompt: Ids[int], params: SamplingParams) -> None:
        """ValueError if these can't be served, with nothing queued."""
        vocab_size = self.runner.model.config.vocab_size
        wrong = next((id for id in prompt if not 0 <= id < vocab_size), None)
        if wrong is not None:
            raise ValueError(
                f"the prompt has id {wrong}, but the vocabulary has {vocab_size} tokens"
            )
        for name in ("logit_bias", "allowed_token_ids", "stop_token_ids"):
            largest = max(getattr(params, name) or (), default=0)
            if largest >= vocab_size:
                raise ValueError(
                    f"{name} has id {largest}, but the vocabulary has {vocab_size}"
                    " tokens"
                )
        self.scheduler.check_request(prompt, params)
        Stopping(params, self.eos_ids, self.tokenizer)
        if params.structure is not None:
            self.structures.compile(params.structure)
        if params.structure is not None or params.asks_for & {
            "allowed_token_ids",
            "min_tokens",
            "logit_bias",
        }:
            self.sampling.check_first_token(params, prompt, vocab_size)

    def add_request(
        self,
        prompt: str | Ids[int],
        params: SamplingParams,
        request_id: str | None = None,
        priority: int = 0,
        cache_salt: bytes = b"",
        adapter: str | None = None,
    ) -> str:
        """Queue a prompt, as text or ids, and return its id.

        ValueError says why it can't be served.

        Computed prefixes are shared among requests of one `cache_salt` and one adapter
        only. TypeError for vLLM's order of arguments.
        """
        if not isinstance(params, SamplingParams):
            raise TypeError(
                f"params is a {type(params).__name__}: the order is prompt, params,"
                " request_id, while vLLM's is request_id, prompt, params"
            )
        known = self.adapters.names if self.adapters else []
        if adapter is not None and adapter not in known:
            raise ValueError(
                f"the adapter {adapter!r} is not served: there are {known}"
            )
        request_id = (
            f"request-{next(self._numbers)}" if request_id is None else request_id
        )
        if request_id in self._left:
            raise ValueError(
                f"a request called {request_id!r} is being served: give each its own id"
            )
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise ValueError(
                    "the prompt is text and the engine has no tokenizer: give ids"
                )
            prompt = self.tokenizer.encode(prompt).ids
        self.check_request(prompt, params)
        sequence = Sequence(
            request_id,
            list(prompt),
            params,
            priority=priority,
            cache_salt=cache_salt,
            adapter=adapter,
        )
        self.scheduler.add(sequence)
        self._stopping[sequence] = Stopping(params, self.eos_ids, self.tokenizer)
        self._left[request_id] = params.n
        return request_id

    def abort(self, request_id: str) -> None:
        """Stop a request and give up its blocks.

        One that has just ended is no error.
        """
        for sequence in self.scheduler.abort(request_id):
            self._forget(sequence)
        self._left.pop(request_id, None)

    def step(self) -> list[Output]:
        """Compute one step and return what it added."""
        self._propose()
        flight = self._flight or self._start(self.scheduler.schedule())
        ahead = self._schedule_ahead(flight)
        said, scores = flight.result()
        self._flight = None
        going_on = [
            (sequence, tokens)
            for sequence, tokens in zip(flight.sequences, said, strict=True)
            if sequence.status is not Status.FINISHED
        ]  # one that ended or was aborted since has one token too many here
        if ahead is not None:
            for sequence, tokens in going_on:
                sequence.append(tokens[0].id if tokens else 0)
            self._flight = self._start(*ahead)
        for sequence, rows in scores:
            sequence.prompt_logprobs += rows
        outputs, finished = [], []
        for sequence, tokens in going_on:
            output = self._advance(sequence, tokens, appended=ahead is not None)
            outputs.append(output)
            if output.finish_reason is not None:
                self.scheduler.finish(sequence, output.finish_reason)
                self._forget(sequence)
                self._left[sequence.request_id] -= 1
                if not self._left[sequence.request_id]:
                    del self._left[sequence.request_id]
                finished.append(sequence)
        if len(going_on) < len(said):
            for sequence in flight.sequences:
                if sequence.is_finished:
                    self._forget(sequence)
        self.num_preemptions += len(flight.step.preempted)
        self.last_step = flight.step
        self.trace.record(
            flight.step,
            finished,
            self.scheduler.waiting,
            self.scheduler.running,
            self.blocks,
        )
        return outputs

    def _start(self, step: Step, prepared: Prepared | None = None) -> "Flight":
        """Count the step's tokens as computed and, if steps overlap, begin to compute
        them.
        """
        prepared = self.runner.prepare(step) if prepared is None else prepared
        for place, sequence in prepared.unknown:
            prepared.ids[place] = sequence.ids[-1]
        rows: list[tuple[Sequence, range]] = []
        scored: list[tuple[Sequence, range, range]] = []
        for (sequence, num_tokens, num_drafts), span in zip(
            step.scheduled, prepared.spans, strict=True
        ):
            if sequence.params.prompt_logprobs is not None and span:
                span = self._score_prompt(
                    sequence, num_tokens, num_drafts, span, scored
                )
            self.blocks.commit(sequence, num_tokens - num_drafts)
            if span:
                rows.append((sequence, span))
                if sequence.num_forks:
                    rows += [(child, span) for child in self._fork(sequence)]

        def compute() -> tuple[
            list[list[SampledToken]], list[tuple[Sequence, list[SampledToken]]]
        ]:
            logits = self.runner.compute(prepared)
            said = self.sampling.choose(logits, rows, self._drafts)
            return said, [
                (
                    sequence,
                    report(
                        logits[span.start : span.stop],
                        sequence.ids[known.start : known.stop],
                        sequence.params.prompt_logprobs,
                    ),
                )
                for sequence, span, known in scored
            ]

        return Flight(
            step,
            [sequence for sequence, _ in rows],
            compute if self._worker is None else self._worker.submit(compute).result,
        )

    def _schedule_ahead(self, flight: "Flight") -> tuple[Step, Prepared] | None:
        """The step after the one that is being computed, with its tokens still to come;
        None if it must wait for them.

        Who reaches max_tokens takes no part. Who ends otherwise does, for nothing: that
        is found when the step after is on its way. A guess or a grammar needs the token
        itself.
        """
        if (
            self._worker is None
            or self.proposer is not None
            or not flight.step.scheduled
            or any(
                sequence.params.structure is not None for sequence in flight.sequences
            )
        ):
            return None
        for sequence in flight.sequences:
            if (
                len(sequence.output_ids) + 1 < sequence.params.max_tokens
                and not sequence.is_finished
            ):
                sequence.expect()
        step = self.scheduler.schedule()
        self.num_overlapped_steps += bool(step.scheduled)
        return step, self.runner.prepare(step)

    @staticmethod
    def _score_prompt(
        sequence: Sequence,
        num_tokens: int,
        num_drafts: int,
        span: range,
        scored: list[tuple[Sequence, range, range]],
    ) -> range:
        """Note which rows tell of which of the prompt's tokens; the rows that are left
        are those to sample from.
        """
        first, known, ids = (
            sequence.num_computed_tokens,
            sequence.num_scored + 1,
            sequence.prompt_ids,
        )
        stop = min(
            first + num_tokens + 1, len(ids)
        )  # the row of token i is about token i + 1
        if known < stop and first < known:
            scored.append(
                (
                    sequence,
                    range(
                        span.start + known - 1 - first, span.start + stop - 1 - first
                    ),
                    range(known, stop),
                )
            )
            sequence.num_scored = stop - 1
        samples = num_tokens - num_drafts == sequence.num_uncomputed
        return range(span.stop - (1 + num_drafts if samples else 0), span.stop)

    def _fork(self, sequence: Sequence) -> list[Sequence]:
        children = self.scheduler.fork(sequence)
        for child in children:
            self._stopping[child] = Stopping(child.params, self.eos_ids, self.tokenizer)
        return children

    def _propose(self) -> None:
        """Guess at what follows each sequence that is past its prompt."""
        self._drafts.clear()
        if self.proposer is None:
            return
        for sequence in self.scheduler.running:
            # The last token is never a draft: after it the model still says one of its
            # own.
            left = sequence.params.max_tokens - len(sequence.output_ids) - 1
            count = min(self.config.num_speculative_tokens, left)
            if sequence.num_uncomputed == 1 and sequence.output_ids and count > 0:
                draft = self.proposer.propose(
                    sequence,
                    count,
                    self.sampling.probabilities,
                    self.sampling.generator(sequence),
                )
                sequence.draft_ids, self._drafts[sequence] = list(draft.ids), draft

    def _advance(
        self, sequence: Sequence, tokens: list[SampledToken], appended: bool
    ) -> Output:
        """Append what was said, up to where the sequence ends, unless its one token is
        there already.
        """
        if sequence.params.structure is not None:
            self.structures.advance(sequence, [token.id for token in tokens])
        if len(tokens) == 1 and not sequence.draft_ids:  # most
            token = tokens[0].id
            if not appended:
                sequence.append(token)
            text, reason = self._stopping[sequence].add(token)
        else:
            tokens, text, reason = self._advance_by_guesses(sequence, tokens, appended)
        scores = sequence.prompt_logprobs
        if scores:
            sequence.prompt_logprobs = []
        return Output(
            sequence.request_id,
            sequence.index,
            tokens,
            text,
            reason,
            sequence.num_cached_tokens,
            scores,
        )

    def _advance_by_guesses(
        self, sequence: Sequence, tokens: list[SampledToken], appended: bool
    ) -> tuple[list[SampledToken], str, str | None]:
        """The same for several tokens or none; which are said, their text, and why the
        sequence ended if it did.
        """
        stopping, text, reason = (
            self._stopping[sequence],
            "",
            None if tokens else "error",
        )
        num_accepted = max(len(tokens) - 1, 0)
        for place, token in enumerate(tokens):
            if not appended:
                sequence.append(token.id)
            piece, reason = stopping.add(token.id)
            text += piece
            if reason is not None:
                tokens = tokens[: place + 1]
                break
        if sequence.draft_ids:
            self.num_drafted += len(sequence.draft_ids)
            self.num_accepted += num_accepted
            sequence.draft_ids = []
            # Accepted drafts are in the cache already; what was written for refused
            # ones will be written over.
            self.blocks.commit(sequence, min(num_accepted, max(len(tokens) - 1, 0)))
            self.blocks.shrink(sequence)
        return tokens, text, reason

    def _forget(self, sequence: Sequence) -> None:
        self._stopping.pop(sequence, None)
        self._drafts.pop(sequence, None)
        self.sampling.forget(sequence)
        if self.proposer is not None:
            self.proposer.forget(sequence)

    def generate(
        self,
        prompts: Iterable[str | Ids[int]],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[list[Completion]]:
        """Serve all prompts to their end: for each prompt, in order, its n
        completions.
        """
        names = [
            self.add_request(prompt, params, adapter=adapter) for prompt in prompts
        ]
        parts: dict[tuple[str, int], list[Output]] = {
            (name, i): [] for name in names for i in range(params.n)
        }
        while self.has_work:
            for output in self.step():
                parts[output.request_id, output.index].append(output)
        return [
            [self._completion(parts[name, i]) for i in range(params.n)]
            for name in names
        ]

    @staticmethod
    def _completion(outputs: list[Output]) -> Completion:
        tokens = [token for output in outputs for token in output.tokens]
        return Completion(
            [token.id for token in tokens],
            "".join(output.text for output in outputs),
            tokens,
            outputs[-1].finish_reason,
        )
