"""Answers in the shapes of OpenAI's API: whole ones, and the pieces of a stream.

A stream is server-sent events: lines "data: {json}" with an empty line after each, the
last "data: [DONE]".

Not here: when a piece comes, and what a refusal looks like (`protocol.ApiError`).
"""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from reference_impl.engine.engine import Output
from reference_impl.engine.sampling import SampledToken
from reference_impl.engine.token_bytes import token_bytes, token_text
from reference_impl.generation.stopping import TextStream
from reference_impl.tokenizers.tokenizer import Tokenizer

LEAST_LOGPROB = -9999.0
"""JSON has no infinity."""
DONE = "data: [DONE]\n\n"


@dataclass
class Answer:
    """One answer while it comes: what all its pieces share, and where each of its
    continuations is.
    """

    id: str
    model: str
    is_chat: bool
    wants_logprobs: bool
    wants_usage: bool  # as the last event of a stream
    tokenizer: Tokenizer
    prompts: list[list[int]]
    n: int = 1  # continuations of each prompt
    echo: bool = False  # each begins with its prompt
    says_nothing: bool = False  # the prompt's own tokens are all that is wanted
    tells_cached: bool = (
        False  # whether the usage says how much of the prompt was found computed
    )
    created: int = field(default_factory=lambda: int(time.time()))
    num_tokens: int = 0  # of all continuations together
    _cached: dict[int, int] = field(default_factory=dict)  # of each prompt
    _scores: dict[int, list[SampledToken]] = field(
        default_factory=dict
    )  # of each prompt's tokens
    _started: set[int] = field(default_factory=set)
    _texts: dict[int, TextStream] = field(default_factory=dict)
    _lengths: dict[int, int] = field(default_factory=dict)

    def whole(self, outputs: Iterable[Output]) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        parts: dict[int, list[Output]] = {}
        for output in outputs:
            output = self._count(output)
            parts.setdefault(output.index, []).append(output)
        return {
            **self._head("chat.completion" if self.is_chat else "text_completion"),
            "choices": [self._choice(parts[index]) for index in sorted(parts)],
            "usage": self.usage(),
        }

    def piece(self, output: Output) -> dict[str, Any] | None:
        """One event of a stream; None if there is nothing to tell yet."""
        output = self._count(output)
        begins = self.echo and output.index not in self._started
        if not (output.text or output.finish_reason or self.wants_logprobs or begins):
            return None
        begun = output.index not in self._started
        choice = self._choice([output])
        if self.is_chat:
            delta = choice.pop("message")
            choice["delta"] = delta if begun else {"content": delta["content"]}
        return {**self._chunk(), "choices": [choice]}

    def last_piece(self) -> dict[str, Any]:
        """The event with the usage, for those who asked for it."""
        return {**self._chunk(), "choices": [], "usage": self.usage()}

    def usage(self) -> dict[str, Any]:
        """What the request has cost so far.

        Cached tokens, those of the prompt that were not computed anew, are told only
        where the server was started to: they say to a stranger whether somebody has
        sent this prompt before.
        """
        num_prompt_tokens = sum(map(len, self.prompts))
        usage = {
            "prompt_tokens": num_prompt_tokens,
            "completion_tokens": self.num_tokens,
            "total_tokens": num_prompt_tokens + self.num_tokens,
        }
        return (
            {
                **usage,
                "prompt_tokens_details": {"cached_tokens": sum(self._cached.values())},
            }
            if self.tells_cached
            else usage
        )

    def _count(self, output: Output) -> Output:
        if self.says_nothing:
            output = output._replace(
                tokens=[], text="", finish_reason=output.finish_reason and "length"
            )
        self.num_tokens += len(output.tokens)
        prompt = output.index // self.n
        self._cached.setdefault(
            prompt, output.num_cached_tokens
        )  # later ones count what a preempted one found again
        if output.prompt_logprobs:
            self._scores[prompt] = output.prompt_logprobs
        return output

    def _chunk(self) -> dict[str, Any]:
        head = self._head(
            "chat.completion.chunk" if self.is_chat else "text_completion"
        )
        return {**head, "usage": None} if self.wants_usage else head

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    def _choice(self, outputs: list[Output]) -> dict[str, Any]:
        """Some consecutive outputs of one continuation."""
        text, last = "".join(output.text for output in outputs), outputs[-1]
        tokens = [token for output in outputs for token in output.tokens]
        if self.echo and last.index not in self._started:
            ids = self.prompts[last.index // self.n]
            text = self.tokenizer.decode(ids) + text
            if self.wants_logprobs:
                tokens = [
                    SampledToken(ids[0]),
                    *self._scores.get(last.index // self.n, []),
                    *tokens,
                ]
        self._started.add(last.index)
        body = {
            "index": last.index,
            "finish_reason": last.finish_reason,
            "logprobs": (
                self._logprobs(last.index, tokens) if self.wants_logprobs else None
            ),
        }
        return {
            **body,
            **(
                {"message": {"role": "assistant", "content": text}}
                if self.is_chat
                else {"text": text}
            ),
        }

    def _logprobs(self, index: int, tokens: list[SampledToken]) -> dict[str, Any]:
        if self.is_chat:
            return {
                "content": [
                    {
                        **self._entry(t.id, t.logprob),
                        "top_logprobs": [self._entry(*each) for each in t.top],
                    }
                    for t in tokens
                ]
            }
        return {
            "tokens": [token_text(self.tokenizer, t.id) for t in tokens],
            "token_logprobs": [
                None if t.logprob is None else max(t.logprob, LEAST_LOGPROB)
                for t in tokens
            ],
            "text_offset": [self._offset(index, t.id) for t in tokens],
            "top_logprobs": [
                None if t.logprob is None else self._likeliest(t) for t in tokens
            ],
        }

    def _likeliest(self, token: SampledToken) -> dict[str, float]:
        """The likeliest tokens and, as in OpenAI's completions, the one that was said,
        if it is none of them.
        """
        found = {id: value for id, value in [*token.top, (token.id, token.logprob)]}
        return {
            token_text(self.tokenizer, id): max(value, LEAST_LOGPROB)
            for id, value in found.items()
        }

    def _offset(self, index: int, id: int) -> int:
        """Where in the continuation's text the next token begins; for a part of a
        character, where that begins.
        """
        before, own = self._lengths.get(index, 0), token_text(self.tokenizer, id)
        new = self._texts.setdefault(index, TextStream(self.tokenizer)).add(id)
        self._lengths[index] = before + len(new)
        # What is new may start with bytes of earlier tokens that proved to be no
        # character.
        return before + (len(new) - len(own) if new.endswith(own) else 0)

    def _entry(self, id: int, logprob: float) -> dict[str, Any]:
        return {
            "token": token_text(self.tokenizer, id),
            "logprob": max(logprob, LEAST_LOGPROB),
            "bytes": list(token_bytes(self.tokenizer, id)),
        }


def event(body: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
