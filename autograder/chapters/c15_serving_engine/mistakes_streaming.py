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
    "stop",
    3.5,
    "You hold nothing back: the beginning of a stop text is shown, and a stop text over several"
    " tokens is never met.",
)
class NothingHeld(Right):
    def kept(self, text):
        return 0


@streamer(
    "length-of-the-longest",
    "text",
    6,
    "You always hold back as many letters as the longest stop text has. Only what is the beginning"
    " of one is held.",
)
class LongestHeld(Right):
    def kept(self, text):
        return min(len(text), max((len(one) - 1 for one in self.stop), default=0))


@streamer(
    "first-letter-only",
    "stop",
    3.5,
    "You hold back only the first letter of a stop text. The longest end that begins one is held.",
)
class OneLetter(Right):
    def kept(self, text):
        return int(any(len(one) > 1 and text.endswith(one[0]) for one in self.stop))


@streamer(
    "shortest-end",
    "stop",
    3.5,
    "You hold back the shortest end that may begin a stop text. The longest counts.",
)
class ShortestEnd(Right):
    def kept(self, text):
        return min(
            (n for one in self.stop for n in range(1, len(one)) if text.endswith(one[:n])),
            default=0,
        )


@streamer("stop-text-shown", "stop", 3.5, "You show the stop text itself.")
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
    "stop",
    3.5,
    "When a stop text is met you return nothing. The text before it in the same token, or held"
    " back, was still to come.",
)
class BeforeLost(Right):
    def add(self, id):
        text = super().add(id)
        return "" if self.stopped else text


@streamer(
    "first-of-the-list",
    "stop",
    1.5,
    "If several stop texts are found you take the first of the list. The one that begins first"
    " counts.",
)
class FirstOfList(Right):
    def place(self, found):
        return found[0]


@streamer(
    "goes-on-after-the-stop", "stop", 3, "You continue after a stop text. Nothing comes any more."
)
class GoesOn(Right):
    def add(self, id):
        met, self.stopped = self.stopped, False
        text = super().add(id)
        self.stopped = self.stopped or met
        return text


@streamer(
    "empty-stop",
    "stop",
    2,
    "An empty stop text stops your answer at once. It is as if it were not there.",
)
class EmptyStop(Right):
    def __init__(self, pieces, stop):
        super().__init__(pieces, stop)
        self.stop = list(stop)


@streamer(
    "replacement-signs",
    "letters",
    5,
    "You decode each token by itself: a half letter becomes a replacement character.",
)
class Replacement(Right):
    def decoded(self, piece):
        return piece.decode(errors="replace")


@streamer(
    "half-letters-lost",
    "letters",
    5,
    "You leave out bytes that are no whole letter. They are held back, and completed by the next"
    " token.",
)
class HalfLost(Right):
    def decoded(self, piece):
        return piece.decode(errors="ignore")


@streamer("latin-1", "text", 6, "You read each byte as a letter. The bytes are UTF-8.")
class Latin(Right):
    def decoded(self, piece):
        return piece.decode("latin-1")


@streamer(
    "whole-token-held",
    "letters",
    3.5,
    "You hold back the whole token if its end is half a letter. The whole letters before it are"
    " certain.",
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
    "`finish` returns nothing. What was held back is text after all.",
)
class Unflushed(Right):
    def finish(self):
        return ""


@streamer(
    "end-without-the-half-letter",
    "finish",
    0.5,
    "`finish` leaves out the beginning of a letter. One replacement character stands for it.",
)
class NoHalf(Right):
    def finish(self):
        return "" if self.stopped else self.held


@streamer(
    "finish-stops",
    "finish",
    0.5,
    "`finish` sets `stopped`. It is True only when a stop text was met.",
)
class FinishStops(Right):
    def finish(self):
        text = super().finish()
        self.stopped = True
        return text


@streamer("never-stopped", "stop", 2, "`stopped` is never True.")
class NeverStopped(Right):
    met = False

    def add(self, id):
        self.stopped = self.met
        text = super().add(id)
        self.met, self.stopped = self.stopped, False
        return text


@streamer("all-so-far", "text", 6, "You return all the text so far. Only what is new is returned.")
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
    "form",
    5,
    "You end each event with one line break. Without the empty line the client waits on.",
    end="\n",
)
_sse("no-data", "form", 5, "Your lines do not begin with `data: `.", prefix="")
_sse(
    "python-s-words",
    "form",
    5,
    "You write Python's form of a dictionary. JSON has null and double quotes.",
    dump=str,
)
_sse(
    "many-lines",
    "form",
    5,
    "Your JSON has line breaks: only the first of its lines begins with `data: `.",
    dump=lambda body: json.dumps(body, indent=1),
)
_sse("no-done", "usage", 1, "The last event, `data: [DONE]`, is missing.", done=False)
_sse(
    "role-everywhere",
    "chunks",
    3.5,
    "You give the role in every event. It comes once, first.",
    role="everywhere",
)
_sse(
    "role-with-the-text",
    "chunks",
    3.5,
    "You send the role with the first text. It is an event of its own, before any token is asked"
    " for.",
    role="text",
)
_sse(
    "reason-with-the-text",
    "chunks",
    2.5,
    "You send the reason with the last text. It is an event of its own, with an empty delta.",
    reason="text",
)
_sse("no-reason", "chunks", 2.5, "No event says why the answer ended.", reason="none")
_sse("empty-texts", "chunks", 3.5, "You send an event for a token without text.", empty=True)
_sse(
    "usage-everywhere",
    "chunks",
    2.5,
    "You give every event a usage. Only the one behind the answer has it.",
    usage="everywhere",
)
_sse("no-usage", "usage", 1, "The usage is missing where it was asked for.", usage="never")
_sse(
    "texts-counted",
    "usage",
    1,
    "You count texts that are not empty. Each token counts.",
    counted=lambda texts: sum(map(bool, texts)),
)
_sse(
    "letters-counted",
    "usage",
    1,
    "You count letters. Tokens were asked for.",
    counted=lambda texts: sum(map(len, texts)),
)
_sse(
    "last-not-counted",
    "usage",
    1,
    "You do not count the token that comes with the reason.",
    counted=lambda texts: len(texts) - 1,
)
_sse("no-head", "chunks", 2.5, "The entries of `head` are missing in your events.", heads=False)
_sse(
    "no-null",
    "chunks",
    2.5,
    "You leave `finish_reason` out where it is None. It is there, as null.",
    none=False,
)


@mistake(
    SSE,
    "zero-is-none",
    caught_by="usage",
    loses=1,
    misconception="You take 0 prompt tokens for None. The usage is wanted all the same.",
)
def _(head, next_token, prompt_tokens):
    yield from _events(head, next_token, prompt_tokens or None)


@mistake(
    SSE,
    "all-at-the-end",
    caught_by="at once",
    loses=1,
    misconception=(
        "You ask for another token while an event is ready. Each event is yielded before the next"
        " token is asked for."
    ),
)
def _(head, next_token, prompt_tokens):
    yield from list(_events(head, next_token, prompt_tokens))


@mistake(
    SSE,
    "a-token-late",
    caught_by="at once",
    loses=1,
    misconception=(
        "You ask for another token while an event is ready. Each event is yielded before the next"
        " token is asked for."
    ),
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
    caught_by="form",
    loses=5,
    misconception="You yield str. Bytes were asked for.",
)
def _(head, next_token, prompt_tokens):
    for event in _events(head, next_token, prompt_tokens):
        yield event.decode()


@mistake(
    SSE,
    "letters-in-pieces",
    caught_by="form",
    loses=5,
    misconception="You cut events into pieces. Each yield is one event.",
)
def _(head, next_token, prompt_tokens):
    for event in _events(head, next_token, prompt_tokens):
        yield event[:8]
        yield event[8:]
