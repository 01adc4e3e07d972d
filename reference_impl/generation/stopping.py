"""When a continuation ends, and the text of it that is certain so far.

A token may be half a character, and a stop string may lie across tokens: text is given
out only when no later token can change it or make it part of a stop string.

Not here: choosing tokens (see `sampler`), cutting prompts.
"""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from reference_impl.generation.sampling_params import GenerationError, SamplingParams

Reason = Literal["stop", "length"]
BROKEN = "\ufffd"  # what `decode` writes for bytes that are no character yet


@runtime_checkable
class Decoder(Protocol):
    """What is needed of a tokenizer."""

    def decode(self, ids: Sequence[int]) -> str: ...


class TextStream:
    """Text of ids that come one after the other; it never holds half a UTF-8 character.

    Each new piece is the decoded end of the ids less the decoded end before them:
    tokenizers that write no space at the start of a text would lose it if tokens were
    decoded alone. Only the last few ids are decoded each time.
    """

    def __init__(self, tokenizer: Decoder):
        self.tokenizer = tokenizer
        self.ids: list[int] = []
        self._start = self._read = (
            # ids[_start:_read] is what was given out last, a context for what follows
            0
        )

    def add(self, token: int) -> str:
        """The text that is complete with this token: often one word, sometimes nothing
        yet.
        """
        self.ids.append(token)
        text = self._new()
        return "" if text.endswith(BROKEN) else self._take(text)

    def finish(self) -> str:
        """What is left, an incomplete character as U+FFFD."""
        return self._take(self._new())

    def _new(self) -> str:
        before = self.tokenizer.decode(self.ids[self._start : self._read])
        return self.tokenizer.decode(self.ids[self._start :])[len(before) :]

    def _take(self, text: str) -> str:
        self._start, self._read = self._read, len(self.ids)
        return text


class StopStrings:
    """Lets text through up to the first stop string, which may come in pieces; it is
    cut off with what follows.
    """

    def __init__(self, stop: Sequence[str]):
        self.stop, self._held = tuple(stop), ""

    def add(self, text: str) -> tuple[str, bool]:
        """What may be given out now, and whether a stop string was met."""
        text = self._held + text
        places = [place for place in map(text.find, self.stop) if place >= 0]
        if places:
            self._held = ""
            return text[: min(places)], True
        kept = max(
            (
                length
                for stop in self.stop
                for length in range(1, len(stop))
                if text.endswith(stop[:length])
            ),
            default=0,
        )
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept], False

    def finish(self) -> str:
        """What was held back and proved to be no stop string."""
        held, self._held = self._held, ""
        return held


class Step(NamedTuple):
    """What one token did: the text that is now certain, and why the row ended, if it
    did.
    """

    text: str
    reason: Reason | None


GOING_ON = Step("", None)


class Stopping:
    """One row's end: end tokens, stop strings, max_tokens.

    The text is empty where there is no tokenizer.
    """

    def __init__(
        self,
        params: SamplingParams,
        eos_ids: Collection[int] = (),
        tokenizer: Decoder | None = None,
    ):
        if params.stop and tokenizer is None:
            raise GenerationError(
                f"stop strings {params.stop!r} are looked for in text: give a"
                " tokenizer, or stop_token_ids"
            )
        self.end_ids = frozenset(params.stop_token_ids) | (
            frozenset() if params.ignore_eos else frozenset(eos_ids)
        )
        self._count, self._min_tokens, self._max_tokens = (
            0,
            params.min_tokens,
            params.max_tokens,
        )
        self._text = None if tokenizer is None else TextStream(tokenizer)
        self._strings = StopStrings(params.stop)

    def add(self, token: int) -> Step:
        """The token was chosen. An end token has no text."""
        self._count += 1
        ended = token in self.end_ids
        if self._text is None and not ended and self._count < self._max_tokens:
            return GOING_ON
        text, met = "", False
        if self._text is not None and not ended:
            text = self._text.add(token)
            if self._count >= self._min_tokens:
                text, met = self._strings.add(text)
        if met:
            return Step(text, "stop")
        if ended or self._count >= self._max_tokens:
            rest, met = self._strings.add(
                "" if self._text is None else self._text.finish()
            )
            text += rest + ("" if met else self._strings.finish())
            return Step(text, "stop" if ended or met else "length")
        return Step(text, None)
