"""Generating: a pass over the prompts, then one token after the other, each chosen from
what the model says next.

`stream` gives each token as it is chosen, `generate` the whole. Prompts of different
length are padded on the left, so that the next token of every row is at the same place;
a mask hides the padding and each row counts its own positions.

Not here: rows that leave and others that join (see `engine`), several hypotheses a row
(see `beam`).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.generation.cache import LayersCache, SlidingCache, cache_for
from reference_impl.generation.processors import keep_allowed, process
from reference_impl.generation.sampler import (
    check_logits,
    generator_for,
    logprobs_of,
    sample,
)
from reference_impl.generation.sampling_params import GenerationError, SamplingParams
from reference_impl.generation.stopping import Decoder, Reason, Stopping

Allowed = Callable[[Sequence[int]], Collection[int]]
"""From a row's output so far to the ids that may come next."""


class Chosen(NamedTuple):
    """One token of one row.

    `top` has alternatives by falling log-probability, if they were asked for.
    """

    row: int
    token: int
    text: str
    reason: Reason | None
    logprob: float | None
    top: tuple[tuple[int, float], ...]


@dataclass
class Continuation:
    """What came after a prompt; `ids` end with the end token, if there was one, and
    `text` before it.
    """

    ids: list[int] = field(default_factory=list)
    text: str = ""
    finish_reason: Reason | None = None
    logprobs: list[float] = field(default_factory=list)
    top_logprobs: list[tuple[tuple[int, float], ...]] = field(default_factory=list)


def check_prompts(
    prompts: Sequence[Sequence[int]],
    max_tokens: Sequence[int],
    max_positions: int | None,
) -> None:
    """Refuse no prompts, an empty one, and one that leaves no room for its
    max_tokens.
    """
    if not prompts:
        raise GenerationError("there are no prompts: give at least one list of ids")
    for row, (prompt, more) in enumerate(zip(prompts, max_tokens, strict=True)):
        if len(prompt) == 0:
            raise GenerationError(
                f"prompt {row} is empty: give at least one id, such as that of the"
                " start token"
            )
        if max_positions is not None and len(prompt) + more > max_positions:
            raise GenerationError(
                f"prompt {row} has {len(prompt)} ids and max_tokens is {more}, but the"
                f" model has {max_positions} positions: shorten the prompt or lower"
                " max_tokens"
            )


class Decoding:
    """A model that has read the prompts and goes on by one token a row and step; with a
    cache or without.

    `num_processed` counts the tokens that passed through the model, padding too,
    `num_seen` those of a row so far. `ids` are the prompts, and without a cache, when
    all must be read again, what came after them.
    """

    def __init__(
        self,
        model: nn.Module,
        prompts: Sequence[Sequence[int]],
        max_tokens: int,
        cache: bool = True,
    ):
        self.model = model
        width, lengths = (
            max(map(len, prompts)),
            torch.tensor([len(prompt) for prompt in prompts]),
        )
        self.ids = torch.tensor(
            [[0] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        )  # (B, T)
        # without padding every key is a token, and attention is faster without a mask
        self.mask = None
        if int(lengths.min()) < width:
            self.mask = torch.arange(width) >= (width - lengths)[:, None]
        device = next(model.parameters()).device
        self.ids, self.mask = (
            self.ids.to(device),
            None if self.mask is None else self.mask.to(device),
        )
        self.cache: LayersCache | None = (
            cache_for(model, width + max_tokens) if cache else None
        )
        self.num_processed = self.num_seen = 0

    def logits(self, new: Int[Tensor, "B T"], num_seen: int) -> Float[Tensor, "B V"]:
        """Logits after the last of `new`; num_seen tokens came before them."""
        self.num_processed += new.numel()
        self.num_seen = num_seen + new.shape[1]
        mask, positions = self.mask, None
        if mask is not None:
            positions = (mask.cumsum(1) - 1).clamp(min=0)[:, num_seen:]
            limit = getattr(self.model.config, "max_position_embeddings", None)
            positions = positions.clamp(
                max=None if limit is None else limit - 1
            )  # of rows that have ended
        if self.cache is not None and isinstance(self.cache[0], SlidingCache):
            if positions is None:
                positions = torch.arange(
                    num_seen, num_seen + new.shape[1], device=new.device
                ).expand(new.shape)
            else:
                mask = mask[:, -(self.cache[0].length + new.shape[1]) :]
        if hasattr(
            self.model, "hidden"
        ):  # the output layer, a large one, is needed for the last token alone
            return self.model.output(
                self.model.hidden(new, mask, positions, self.cache)[:, -1]
            )
        return self.model(new, mask, positions, self.cache)[:, -1]

    def start(self) -> Float[Tensor, "B V"]:
        """Read the prompts: logits of each row's first token."""
        return self.logits(self.ids, 0)

    def advance(self, chosen: Int[Tensor, "B"]) -> Float[Tensor, "B V"]:
        """Put a token behind each row: logits of the next."""
        new = chosen[:, None]  # (B, 1)
        if self.mask is not None:
            self.mask = torch.cat((self.mask, torch.ones_like(self.mask[:, :1])), dim=1)
        if self.cache is not None:
            return self.logits(new, self.num_seen)
        self.ids = torch.cat((self.ids, new), dim=1)
        return self.logits(self.ids, 0)

    def reorder(self, rows: Int[Tensor, "N"]) -> None:
        """Go on with these rows."""
        self.ids, self.mask = (
            self.ids[rows],
            None if self.mask is None else self.mask[rows],
        )
        for layer in self.cache or ():
            layer.reorder(rows)


def _only(
    logits: Float[Tensor, "B V"],
    allowed: Allowed,
    outputs: Sequence[Sequence[int]],
    live: Sequence[bool],
) -> Float[Tensor, "B V"]:
    mask: Bool[Tensor, "B V"] = torch.zeros(
        logits.shape, dtype=torch.bool, device=logits.device
    )
    for row, (output, goes_on) in enumerate(zip(outputs, live, strict=True)):
        mask[row, sorted(allowed(output)) if goes_on else slice(None)] = True
    return keep_allowed(logits, mask)


def stream(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    params: SamplingParams | Sequence[SamplingParams],
    tokenizer: Decoder | None = None,
    *,
    cache: bool = True,
    eos_ids: Collection[int] = (),
    allowed: Allowed | None = None,
) -> Iterator[Chosen]:
    """Each token as it is chosen, row by row.

    `params` is one for all or one a prompt; n > 1 makes n rows.

    Takes the model out of training (its dropout) while it runs. Raises GenerationError
    for a prompt that is empty or too long, stop strings without a tokenizer, and logits
    that are no numbers.
    """
    each = (
        [params] * len(prompts) if isinstance(params, SamplingParams) else list(params)
    )
    if len(each) != len(prompts):
        raise GenerationError(
            f"{len(prompts)} prompts but {len(each)} parameters: give one for all, or"
            " one for each"
        )
    check_prompts(
        prompts,
        [p.max_tokens for p in each],
        getattr(model.config, "max_position_embeddings", None),
    )
    generators = [generator_for(p, i) for p in each for i in range(p.n)]
    prompts = [
        list(prompt)
        for prompt, p in zip(prompts, each, strict=True)
        for _ in range(p.n)
    ]
    each = [p for p in each for _ in range(p.n)]
    stopping = [Stopping(p, eos_ids, tokenizer) for p in each]
    return _run(model, prompts, each, generators, stopping, cache, allowed)


def _run(
    model: nn.Module,
    prompts: list[list[int]],
    params: list[SamplingParams],
    generators: list[torch.Generator | None],
    stopping: list[Stopping],
    cache: bool,
    allowed: Allowed | None,
) -> Iterator[Chosen]:
    training = model.training
    model.eval()
    live, outputs = [True] * len(prompts), [[] for _ in prompts]
    decoding = Decoding(model, prompts, max(p.max_tokens for p in params), cache)
    ends, num_top = (
        [sorted(s.end_ids) for s in stopping],
        max(p.logprobs or 0 for p in params),
    )
    wanted = any(p.logprobs is not None for p in params)
    try:
        chosen = None
        while any(live):
            # Around each pass alone: a generator's caller would find the mode switched
            # between its steps.
            with torch.inference_mode():
                raw = decoding.start() if chosen is None else decoding.advance(chosen)
                check_logits(raw)
                logits = raw if allowed is None else _only(raw, allowed, outputs, live)
                chosen = sample(
                    process(logits, params, prompts, outputs, ends), generators
                )
                found = logprobs_of(raw, chosen, num_top) if wanted else None
            for row, token in enumerate(chosen.tolist()):
                if not live[row]:
                    continue
                outputs[row].append(token)
                text, reason = stopping[row].add(token)
                live[row] = reason is None
                count = params[row].logprobs
                top = (
                    ()
                    if not count
                    else tuple(
                        zip(
                            found.top_ids[row, :count].tolist(),
                            found.top[row, :count].tolist(),
                            strict=True,
                        )
                    )
                )
                yield Chosen(
                    row,
                    token,
                    text,
                    reason,
                    None if count is None else float(found.chosen[row]),
                    top,
                )
    finally:
        model.train(training)


def generate(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    params: SamplingParams | Sequence[SamplingParams],
    tokenizer: Decoder | None = None,
    *,
    cache: bool = True,
    eos_ids: Collection[int] = (),
    allowed: Allowed | None = None,
) -> list[Continuation]:
    """The continuation of each prompt, n of them one after the other.

    Arguments and errors are those of `stream`.
    """
    count = (
        [params.n] * len(prompts)
        if isinstance(params, SamplingParams)
        else [p.n for p in params]
    )
    continuations = [Continuation() for _ in range(sum(count))]
    for step in stream(
        model, prompts, params, tokenizer, cache=cache, eos_ids=eos_ids, allowed=allowed
    ):
        into = continuations[step.row]
        into.ids.append(step.token)
        into.text += step.text
        into.finish_reason = step.reason
        if step.logprob is not None:
            into.logprobs.append(step.logprob)
            into.top_logprobs.append(step.top)
    return continuations
