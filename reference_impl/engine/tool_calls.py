"""Tool calls: from a request's tools to what the model reads, and from what it
generates to the calls that OpenAI's clients expect.

With `tool_choice` "auto" the tools go to the chat template, and each
`<tool_call>{"name": ..., "arguments": {...}}</tool_call>` of an answer becomes a call
(the format of Hermes and Qwen). A template without tools leaves them out, and the model
never hears of them. With "required", or with one function named, a grammar makes the
whole answer one such object, whatever the template.

Any other answer, or a function that was not offered, stays text.

Not here: running the functions, which is the client's part.
"""

import copy
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from reference_impl.generation.sampling_params import Structure

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MOST_CALLS = 64
"""Of one answer; what comes after them stays text."""


@dataclass(frozen=True)
class Tools:
    """The functions of a request, and whether one of them must be called."""

    functions: tuple[dict[str, Any], ...] = ()
    is_forced: bool = False

    @property
    def names(self) -> set[str]:
        """The functions' names."""
        return {function["name"] for function in self.functions}

    def for_template(self) -> list[dict[str, Any]]:
        """As templates expect them."""
        return [
            {"type": "function", "function": copy.deepcopy(each)}
            for each in self.functions
        ]

    def structure(self) -> Structure | None:
        """The form of an answer that must be a call; None if it need not."""
        if not self.is_forced:
            return None
        calls = [
            {
                "type": "object",
                "properties": {
                    "name": {"const": each["name"]},
                    "arguments": each.get("parameters") or {"type": "object"},
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for each in self.functions
        ]
        return Structure(
            "json_schema", json.dumps(calls[0] if len(calls) == 1 else {"anyOf": calls})
        )


@dataclass
class CallParser:
    """Takes the calls out of one continuation, while it comes."""

    tools: Tools
    _held: str = ""  # what may be, or is, a call
    _calls: list[dict[str, Any]] = field(default_factory=list)

    def add(self, text: str) -> str:
        """The part of the answer's text that may be shown by now."""
        self._held += text
        if self.tools.is_forced:
            return ""
        start = self._held.find(OPEN)
        if start < 0:  # the end may be the first half of a tag
            start = len(self._held) - _overlap(self._held, OPEN)
        shown, self._held = self._held[:start], self._held[start:]
        return shown

    def end(self) -> tuple[str, list[dict[str, Any]]]:
        """What is left to show, and the calls in OpenAI's shape."""
        if self.tools.is_forced:
            return self._take(self._held), self._calls
        parts = re.split(
            f"({re.escape(OPEN)}.*?{re.escape(CLOSE)})", self._held, flags=re.DOTALL
        )
        shown = [
            self._take(part[len(OPEN) : -len(CLOSE)], part) if n % 2 else part
            for n, part in enumerate(parts)
        ]
        text = "".join(shown)
        return ("" if self._calls and not text.strip() else text), self._calls

    def _take(self, body: str, whole: str | None = None) -> str:
        """Keep this as a call and return nothing, or return it as text."""
        try:
            call = json.loads(body)
        except (ValueError, RecursionError):
            call = None
        is_call = (
            isinstance(call, dict)
            and isinstance(call.get("name"), str)
            and call["name"] in self.tools.names
            and isinstance(call.get("arguments", {}), dict)
            and len(self._calls) < MOST_CALLS
        )
        if not is_call:
            return body if whole is None else whole
        arguments = json.dumps(call.get("arguments", {}), ensure_ascii=False)
        self._calls.append(
            {
                "id": f"call_{uuid.uuid4().hex[:24]}",
                "type": "function",
                "function": {"name": call["name"], "arguments": arguments},
            }
        )
        return ""


def _overlap(text: str, tag: str) -> int:
    """How many characters of the tag's beginning the text ends with."""
    return next(
        (n for n in range(len(tag) - 1, 0, -1) if text.endswith(tag[:n])),
        0,
    )


def whole_with_calls(body: dict[str, Any], tools: Tools) -> dict[str, Any]:
    """A chat's whole answer, made by `responses.Answer`, with its calls taken out."""
    for choice in body["choices"]:
        parser = CallParser(tools)
        shown = parser.add(choice["message"]["content"])
        rest, calls = parser.end()
        if calls:
            message = {**choice["message"], "content": shown + rest or None}
            choice["message"] = {**message, "tool_calls": calls}
            choice["finish_reason"] = _reason(choice["finish_reason"])
    return body


class CallStream:
    """The same for the pieces of a stream."""

    def __init__(self, tools: Tools):
        self._tools = tools
        self._parsers: dict[int, CallParser] = {}

    def piece(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        """A piece with what may be shown by now; None if that is nothing."""
        (choice,) = piece["choices"]
        delta = choice["delta"]
        parser = self._parsers.setdefault(choice["index"], CallParser(self._tools))
        shown = parser.add(delta.get("content") or "")
        if choice["finish_reason"] is not None:
            rest, calls = parser.end()
            shown += rest
            if calls:
                numbered = [{"index": n, **call} for n, call in enumerate(calls)]
                delta["tool_calls"] = numbered
                choice["finish_reason"] = _reason(choice["finish_reason"])
        elif not (shown or choice["logprobs"] or "role" in delta):
            return None
        delta["content"] = shown or None
        return piece


def _reason(reason: str) -> str:
    return "tool_calls" if reason == "stop" else reason
