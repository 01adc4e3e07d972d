"""Answers in the shapes of OpenAI's API: whole ones, and the pieces of a stream.

A stream is server-sent events: lines "data: {json}" with an empty line after each, the last "data: [DONE]".
"""
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from reference_impl.engine.engine import Output
from reference_impl.engine.sampling import SampledToken

Token = Callable[[int], str]
"""From a token's id to its text."""


@dataclass
class Choice:
    """What one continuation has become so far."""

    text: str = ""
    tokens: list[SampledToken] = field(default_factory=list)
    finish_reason: str | None = None

    def add(self, output: Output) -> None:
        """One step's output more."""
        self.text += output.text
        self.tokens += output.tokens
        self.finish_reason = output.finish_reason


@dataclass(frozen=True)
class Answer:
    """What is the same in every piece of one answer: its id, its model, and whether it is a chat."""

    id: str
    model: str
    is_chat: bool
    wants_logprobs: bool
    token: Token
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, choices: Iterable[Choice], num_prompt_tokens: int, num_cached_tokens: int) -> dict:
        """The answer to a request that does not stream."""
        choices = list(choices)
        return {**self._head("chat.completion" if self.is_chat else "text_completion"),
                "choices": [self._choice(i, choice) for i, choice in enumerate(choices)],
                "usage": usage(num_prompt_tokens, sum(len(c.tokens) for c in choices), num_cached_tokens)}

    def piece(self, output: Output, is_first: bool) -> dict:
        """One event of a stream."""
        body = {"index": output.index, "finish_reason": output.finish_reason,
                "logprobs": self._logprobs(output.tokens, 0)}
        if self.is_chat:
            body["delta"] = {"role": "assistant", "content": output.text} if is_first else {"content": output.text}
        else:
            body["text"] = output.text
        return {**self._head("chat.completion.chunk" if self.is_chat else "text_completion"), "choices": [body]}

    def last_piece(self, num_prompt_tokens: int, num_tokens: int, num_cached_tokens: int) -> dict:
        """The event with the usage, for those who asked for it."""
        return {**self._head("chat.completion.chunk" if self.is_chat else "text_completion"), "choices": [],
                "usage": usage(num_prompt_tokens, num_tokens, num_cached_tokens)}

    def _head(self, kind: str) -> dict:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _choice(self, index: int, choice: Choice) -> dict:
        body = {"index": index, "finish_reason": choice.finish_reason, "logprobs": self._logprobs(choice.tokens, 0)}
        if self.is_chat:
            return {**body, "message": {"role": "assistant", "content": choice.text}}
        return {**body, "text": choice.text}

    def _logprobs(self, tokens: list[SampledToken], offset: int) -> dict | None:
        if not self.wants_logprobs:
            return None
        if self.is_chat:
            return {"content": [{**self._entry(t.id, t.logprob),
                                 "top_logprobs": [self._entry(id, value) for id, value in t.top]} for t in tokens]}
        texts = [self.token(t.id) for t in tokens]
        offsets = [offset + sum(map(len, texts[:i])) for i in range(len(texts))]
        return {"tokens": texts, "token_logprobs": [t.logprob for t in tokens], "text_offset": offsets,
                "top_logprobs": [{self.token(id): value for id, value in t.top} for t in tokens]}

    def _entry(self, id: int, logprob: float) -> dict:
        text = self.token(id)
        return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def usage(num_prompt_tokens: int, num_tokens: int, num_cached_tokens: int = 0) -> dict:
    """What the request has cost. Cached tokens are those of the prompt that were not computed anew."""
    return {"prompt_tokens": num_prompt_tokens, "completion_tokens": num_tokens,
            "total_tokens": num_prompt_tokens + num_tokens,
            "prompt_tokens_details": {"cached_tokens": num_cached_tokens}}


def event(body: dict) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


DONE = "data: [DONE]\n\n"
