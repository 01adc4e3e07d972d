"""Plausible wrong solutions of chapter 15, part 3: text that may be shown, and events."""

import codecs
import json

from autograder.checks.mistakes.registry import mistake

STREAMER, SSE = "15.Streamer", "15.sse"


class Right:
    """A right streamer, for mistakes to change."""

    def __init__(self, pieces, stop):
        self.pieces, self.stop = pieces, [one for one in stop if one]
        self.read, self.held, self.stopped = (
            codecs.getincrementaldecoder("utf-8")("replace"),
            "",
            False,
        )

    def decoded(self, piece):
        return self.read.decode(piece)

    def place(self, found):
        return min(found)

    def kept(self, text):
        return max(
            (n for one in self.stop for n in range(1, len(one)) if text.endswith(one[:n])),
            default=0,
        )

    def add(self, id):
        if self.stopped:
            return ""
        text = self.held + self.decoded(self.pieces[id])
        found = [place for one in self.stop if (place := text.find(one)) >= 0]
        if found:
            self.stopped, self.held = True, ""
            return text[: self.place(found)]
        kept = self.kept(text)
        self.held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def finish(self):
        return "" if self.stopped else self.held + self.read.decode(b"", True)


def streamer(name, caught_by, loses, misconception):
    """Register the class below as a mistake."""
    return mistake(STREAMER, name, caught_by=caught_by, loses=loses, misconception=misconception)


@streamer(
    "nothing-held-back",
    "stop strings",
    3.5,
    (
        "You hold nothing back. The start of a stop string is sent, and one across several"
        " tokens is never found."
    ),
)
class NothingHeld(Right):
    def kept(self, text):
        return 0


@streamer(
    "length-of-the-longest",
    "plain text",
    6,
    ("You always hold back a fixed number of characters. Hold back only a suffix that starts one."),
)
class LongestHeld(Right):
    def kept(self, text):
        return min(len(text), max((len(one) - 1 for one in self.stop), default=0))


@streamer(
    "first-letter-only",
    "stop strings",
    3.5,
    "You hold back only one character. Hold back the longest suffix that starts a stop string.",
)
class OneLetter(Right):
    def kept(self, text):
        return int(any(len(one) > 1 and text.endswith(one[0]) for one in self.stop))


@streamer(
    "shortest-end",
    "stop strings",
    3.5,
    "You hold back the shortest suffix that starts a stop string. The longest counts.",
)
class ShortestEnd(Right):
    def kept(self, text):
        return min(
            (n for one in self.stop for n in range(1, len(one)) if text.endswith(one[:n])),
            default=0,
        )


@streamer(
    "stop-text-shown",
    "stop strings",
    2,
    ("You return the stop string itself. Only the text before it is returned."),
)
class StopShown(Right):
    def add(self, id):
        if self.stopped:
            return ""
        before = self.held
        text = super().add(id)
        if self.stopped:
            whole = before + self.pieces[id].decode(errors="ignore")
            return (
                whole[: max(whole.find(one) + len(one) for one in self.stop if one in whole)]
                if any(one in whole for one in self.stop)
                else text
            )
        return text


@streamer(
    "text-before-lost",
    "stop strings",
    2,
    (
        "At a stop string you return nothing. The text before it, in the same token or held"
        " back, is returned."
    ),
)
class BeforeLost(Right):
    def add(self, id):
        text = super().add(id)
        return "" if self.stopped else text


@streamer(
    "first-of-the-list",
    "stop strings",
    1.5,
    (
        "Of several stop strings you take the first in the list. The one that starts first in"
        " the text counts."
    ),
)
class FirstOfList(Right):
    def place(self, found):
        return found[0]


@streamer(
    "goes-on-after-the-stop",
    "stop strings",
    1.5,
    ("You continue after a stop string. From then on, return nothing."),
)
class GoesOn(Right):
    def add(self, id):
        met, self.stopped = self.stopped, False
        text = super().add(id)
        self.stopped = self.stopped or met
        return text


@streamer(
    "empty-stop",
    "stop strings",
    2,
    "An empty stop string stops your answer at once. Ignore it.",
)
class EmptyStop(Right):
    def __init__(self, pieces, stop):
        super().__init__(pieces, stop)
        self.stop = list(stop)


@streamer(
    "replacement-signs",
    "split characters",
    5,
    "You decode each token alone, so half a character becomes a replacement character.",
)
class Replacement(Right):
    def decoded(self, piece):
        return piece.decode(errors="replace")


@streamer(
    "half-letters-lost",
    "split characters",
    5,
    "You drop the bytes of an incomplete character. Keep them for the next token.",
)
class HalfLost(Right):
    def decoded(self, piece):
        return piece.decode(errors="ignore")


@streamer(
    "latin-1",
    "plain text",
    6,
    ("You decode each byte as one character (Latin-1). The bytes are UTF-8."),
)
class Latin(Right):
    def decoded(self, piece):
        return piece.decode("latin-1")


@streamer(
    "whole-token-held",
    "split characters",
    2,
    (
        "You hold back a whole token that ends in half a character. The characters before that"
        " are certain."
    ),
)
class WholeTokenHeld(Right):
    def __init__(self, pieces, stop):
        super().__init__(pieces, stop)
        self.bytes = b""

    def decoded(self, piece):
        self.bytes += piece
        try:
            text = self.bytes.decode()
        except UnicodeDecodeError:
            return ""
        self.bytes = b""
        return text

    def finish(self):
        return "" if self.stopped else self.held + self.bytes.decode(errors="replace")


@streamer(
    "end-unflushed",
    "finish",
    0.5,
    "Your `finish` returns nothing. Return what was held back.",
)
class Unflushed(Right):
    def finish(self):
        return ""


@streamer(
    "end-without-the-half-letter",
    "finish",
    0.5,
    "Your `finish` drops an incomplete character. Return one replacement character for it.",
)
class NoHalf(Right):
    def finish(self):
        return "" if self.stopped else self.held


@streamer(
    "finish-stops",
    "finish",
    0.5,
    "Your `finish` sets `stopped`. Only a stop string does.",
)
class FinishStops(Right):
    def finish(self):
        text = super().finish()
        self.stopped = True
        return text


@streamer(
    "never-stopped",
    "stop strings",
    2,
    ("Your `stopped` never becomes True. Set it when a stop string is found."),
)
class NeverStopped(Right):
    met = False

    def add(self, id):
        self.stopped = self.met
        text = super().add(id)
        self.met, self.stopped = self.stopped, False
        return text


@streamer("all-so-far", "plain text", 6, "You return all the text so far. Return only what is new.")
class AllSoFar(Right):
    so_far = ""

    def add(self, id):
        self.so_far += super().add(id)
        return self.so_far


def _events(
    head,
    next_token,
    prompt_tokens,
    end="\n\n",
    prefix="data: ",
    done=True,
    role="first",
    reason="own",
    empty=False,
    usage="last",
    counted=lambda texts: len(texts),
    heads=True,
    dump=json.dumps,
    none=True,
):
    """The events with parts replaced."""

    def event(choices, **more):
        if usage == "everywhere" and "usage" not in more:
            more["usage"] = None
        return (
            f"{prefix}{dump({**(head if heads else {}), 'choices': choices, **more})}{end}".encode()
        )

    def piece(delta, why=None):
        return event(
            [{"index": 0, "delta": delta, **({"finish_reason": why} if none or why else {})}]
        )

    texts, why = [], None
    if role == "first":
        yield piece({"role": "assistant", "content": ""})
    while why is None:
        text, why = next_token()
        texts.append(text)
        more = (
            {"role": "assistant"}
            if role == "everywhere" or role == "text" and len(texts) == 1
            else {}
        )
        if reason == "text" and why is not None:
            yield piece({"content": text, **more}, why)
        elif text or empty:
            yield piece({"content": text, **more})
    if reason == "own":
        yield piece({}, why)
    if prompt_tokens is not None and usage != "never":
        count = counted(texts)
        yield event(
            [],
            usage={
                "prompt_tokens": prompt_tokens,
                "completion_tokens": count,
                "total_tokens": prompt_tokens + count,
            },
        )
    if done:
        yield f"{prefix}[DONE]{end}".encode()


def _sse(name, caught_by, loses, misconception, **options):
    """Register a mistake that is the events with options."""

    @mistake(SSE, name, caught_by=caught_by, loses=loses, misconception=misconception)
    def _(head, next_token, prompt_tokens):
        yield from _events(head, next_token, prompt_tokens, **options)


_sse(
    "one-line-break",
    "event format",
    5,
    "You end each event with one line break. Without the empty line the client keeps waiting.",
    end="\n",
)
_sse("no-data", "event format", 5, "Your events do not start with `data: `.", prefix="")
_sse(
    "python-s-words",
    "event format",
    5,
    "You send Python's `str` of a dictionary. JSON has null and double quotes: use json.dumps.",
    dump=str,
)
_sse(
    "many-lines",
    "event format",
    5,
    "Your JSON is indented over several lines. Only the first starts with `data: `.",
    dump=lambda body: json.dumps(body, indent=1),
)
_sse("no-done", "usage", 1, "The last event, `data: [DONE]`, is missing.", done=False)
_sse(
    "role-everywhere",
    "chunks",
    3.5,
    "You send the role in every event. It is sent once, first.",
    role="everywhere",
)
_sse(
    "role-with-the-text",
    "chunks",
    3.5,
    (
        "You send the role with the first text. It needs a separate event, before any token is"
        " requested."
    ),
    role="text",
)
_sse(
    "reason-with-the-text",
    "chunks",
    2.5,
    "You send the reason with the last text. It needs a separate event with an empty delta.",
    reason="text",
)
_sse(
    "no-reason",
    "chunks",
    2.5,
    "No event has the finish reason. Send it in a separate event.",
    reason="none",
)
_sse(
    "empty-texts", "chunks", 3.5, "You send an event for a token without text. Skip it.", empty=True
)
_sse(
    "usage-everywhere",
    "chunks",
    2.5,
    "You send the usage in every event. Only the event after the answer has it.",
    usage="everywhere",
)
_sse(
    "no-usage",
    "usage",
    1,
    "The usage event is missing, although `prompt_tokens` is given.",
    usage="never",
)
_sse(
    "texts-counted",
    "usage",
    1,
    "You count non-empty texts. `completion_tokens` counts every token.",
    counted=lambda texts: sum(map(bool, texts)),
)
_sse(
    "letters-counted",
    "usage",
    1,
    "You count characters. `completion_tokens` counts tokens.",
    counted=lambda texts: sum(map(len, texts)),
)
_sse(
    "last-not-counted",
    "usage",
    1,
    "You do not count the last token, which has the reason.",
    counted=lambda texts: len(texts) - 1,
)
_sse("no-head", "chunks", 2.5, "Your events lack the entries of `head`.", heads=False)
_sse(
    "no-null",
    "chunks",
    2.5,
    "You omit `finish_reason` where it is None. Send it as null.",
    none=False,
)


@mistake(
    SSE,
    "zero-is-none",
    caught_by="usage",
    loses=1,
    misconception="You treat 0 prompt tokens like None. Test `is not None`.",
)
def _(head, next_token, prompt_tokens):
    yield from _events(head, next_token, prompt_tokens or None)


@mistake(
    SSE,
    "all-at-the-end",
    caught_by="one at a time",
    loses=1,
    misconception=("You request another token while an event is ready. Yield each event first."),
)
def _(head, next_token, prompt_tokens):
    yield from list(_events(head, next_token, prompt_tokens))


@mistake(
    SSE,
    "a-token-late",
    caught_by="one at a time",
    loses=1,
    misconception=("You request another token while an event is ready. Yield each event first."),
)
def _(head, next_token, prompt_tokens):
    waiting = None
    for event in _events(head, next_token, prompt_tokens):
        if waiting is not None:
            yield waiting
        waiting = event
    yield waiting


@mistake(
    SSE,
    "texts-for-bytes",
    caught_by="event format",
    loses=5,
    misconception="You yield str. Yield bytes.",
)
def _(head, next_token, prompt_tokens):
    for event in _events(head, next_token, prompt_tokens):
        yield event.decode()


@mistake(
    SSE,
    "letters-in-pieces",
    caught_by="event format",
    loses=5,
    misconception="You split events over several yields. Each yield is one event.",
)
def _(head, next_token, prompt_tokens):
    for event in _events(head, next_token, prompt_tokens):
        yield event[:8]
        yield event[8:]
