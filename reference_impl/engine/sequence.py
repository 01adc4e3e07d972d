"""One continuation of one request: its tokens, how many of them are in the cache, and
which blocks hold those.

A request for n continuations starts as one sequence; when its prompt is computed it is
forked into n, which share the prompt's blocks (Kwon et al. 2023, section 4.4).

    WAITING --admit--> RUNNING --last token--> FINISHED
       ^                  |
       +-----preempt------+      recompute: its blocks are given up; swap: they are
                                 moved to the host and back

There is no state for prefill and none for decode. A sequence has `num_uncomputed`
tokens that are not in the cache yet: many in a prompt, one after each sampled token.
The scheduler gives it as many of them as fit into a step.
"""

import enum
import time
from dataclasses import dataclass, field

from reference_impl.generation.sampling_params import SamplingParams

UNKNOWN = -1
"""Stands in `ids` for a token that is being computed, where the next step is scheduled
before it is known."""


class Status(enum.Enum):
    """Where a sequence is on its way."""

    WAITING = "waiting"
    SWAPPED = "swapped"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(eq=False)
class Sequence:
    """Tokens, blocks and state of one continuation.

    Identity is equality: two equal prompts are two sequences.
    """

    request_id: str
    prompt_ids: list[int]
    params: SamplingParams
    index: int = 0  # which of the request's n continuations
    priority: int = 0  # larger is sooner
    arrival: int = 0  # a running number: what came first is served first
    output_ids: list[int] = field(default_factory=list)
    draft_ids: list[int] = field(
        default_factory=list
    )  # guesses at the next tokens, to be verified in this step
    block_table: list[int] = field(
        default_factory=list
    )  # block i holds tokens i * block_size and after
    num_computed_tokens: int = (
        0  # how many tokens have their keys and values in those blocks
    )
    num_cached_tokens: int = (
        0  # of these, how many were found there at the last admission (prefix caching)
    )
    table_version: int = 0  # counts the changes of block_table
    num_given_up: int = (
        0  # entries at the table's start whose blocks lie behind the model's window
    )
    host_table: list[int] = field(
        default_factory=list
    )  # while swapped out: where its blocks lie on the host
    num_forks: int = (
        0  # how many more continuations start from this one when its prompt is computed
    )
    num_preemptions: int = 0
    steps_waited: int = 0
    arrived: float = field(
        default_factory=time.perf_counter
    )  # in seconds, of a clock that only runs forward
    status: Status = Status.WAITING
    finish_reason: str | None = None  # "stop", "length", "abort" or "error"
    cache_salt: bytes = b""  # only sequences of one salt share computed prefixes
    adapter: str | None = (
        # whose update is added to the model's layers; prefixes are not shared with
        # others
        None
    )
    num_scored: int = 0  # of these tokens, how many have been computed
    prompt_logprobs: list = field(
        default_factory=list
    )  # of the prompt's second token and those after it, if asked for
    ids: list[int] = field(
        init=False
    )  # prompt and output so far, kept so that no step has to put them together
    id: str = field(init=False)  # the request and which of its continuations

    def __post_init__(self):
        self.ids = [*self.prompt_ids, *self.output_ids]
        self.id = f"{self.request_id}/{self.index}"

    def append(self, token: int) -> None:
        """The model said `token`."""
        self.output_ids.append(token)
        if self.ids[-1] == UNKNOWN:
            self.ids[-1] = token
        else:
            self.ids.append(token)

    def expect(self) -> None:
        """The model is about to say a token: count it before it is known."""
        self.ids.append(UNKNOWN)

    @property
    def num_tokens(self) -> int:
        """Of prompt and output so far, drafts not counted."""
        return len(self.ids)

    @property
    def num_uncomputed(self) -> int:
        """Tokens that the model must still read before the next one can be sampled,
        drafts not counted.
        """
        return len(self.ids) - self.num_computed_tokens

    @property
    def scores_prompt(self) -> bool:
        """Whether logits are wanted for the prompt's own tokens: then none of them may
        be found computed.
        """
        return self.params.prompt_logprobs is not None

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will be sampled."""
        return self.status is Status.FINISHED

    def fork(self, index: int) -> "Sequence":
        """Another continuation of what is there so far.

        Its block table is made by `BlockManager.fork`.
        """
        return Sequence(
            self.request_id,
            self.prompt_ids,
            self.params,
            index,
            self.priority,
            self.arrival,
            list(self.output_ids),
            num_computed_tokens=self.num_computed_tokens,
            num_cached_tokens=self.num_cached_tokens,
            num_given_up=self.num_given_up,
            status=self.status,
            cache_salt=self.cache_salt,
            adapter=self.adapter,
            num_scored=self.num_scored,
        )
