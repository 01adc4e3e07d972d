"""Differently written correct solutions of chapter 15, part 3."""

import json

from autograder.checks.mistakes.registry import alternative


@alternative("15.Streamer", "all-bytes-again")
class AllAgain:
    """Keeps all bytes, and looks at all of the text after each token."""

    def __init__(self, pieces, stop):
        self.pieces, self.stop, self.data, self.given, self.stopped = (
            pieces,
            tuple(filter(None, stop)),
            b"",
            0,
            False,
        )

    def _letters(self):
        for back in range(4):
            try:
                return self.data[: len(self.data) - back].decode()
            except UnicodeDecodeError:
                continue
        raise ValueError("no UTF-8")

    def add(self, id):
        if self.stopped:
            return ""
        self.data += self.pieces[id]
        text = self._letters()
        at = min((text.index(one) for one in self.stop if one in text), default=None)
        if at is not None:
            self.stopped, end = True, at
        else:
            end = next(
                (
                    place
                    for place in range(self.given, len(text))
                    if any(one.startswith(text[place:]) for one in self.stop)
                ),
                len(text),
            )
        new, self.given = text[self.given : end], end
        return new

    def finish(self):
        return "" if self.stopped else self.data.decode(errors="replace")[self.given :]


@alternative("15.Streamer", "letter-by-letter")
class ByLetter:
    """Feeds letters one by one into a list of what is held."""

    def __init__(self, pieces, stop):
        self.pieces, self.stop = pieces, [text for text in stop if text != ""]
        self.rest, self.held, self.stopped = b"", "", False

    def add(self, id):
        if self.stopped:
            return ""
        data = self.rest + self.pieces[id]
        cut = len(data)
        for back in range(1, min(4, len(data) + 1)):
            if data[-back] & 0b11000000 == 0b11000000:
                size = 2 if data[-back] < 0b11100000 else 3 if data[-back] < 0b11110000 else 4
                cut = len(data) - back if back < size else cut
                break
        new, self.rest = data[:cut].decode(), data[cut:]
        self.held += new
        places = sorted(
            place for place in (self.held.find(one) for one in self.stop) if place != -1
        )
        if places:
            self.stopped = True
            return self.held[: places[0]]
        out = ""
        while self.held and not any(one.startswith(self.held) for one in self.stop):
            out, self.held = out + self.held[0], self.held[1:]
        return out

    def finish(self):
        return "" if self.stopped else self.held + ("\ufffd" if self.rest else "")


@alternative("15.sse", "recursive-lines")
def _(head, next_token, prompt_tokens):
    def line(**more):
        return (
            b"data: "
            + json.dumps(head | more, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
            + b"\n" * 2
        )

    def choice(reason=None, **delta):
        return line(choices=[dict(index=0, finish_reason=reason, delta=delta)])

    yield choice(role="assistant", content="")
    tokens = 0
    while True:
        text, reason = next_token()
        tokens += 1
        if text != "":
            yield choice(content=text)
        if reason is not None:
            break
    yield choice(reason)
    if prompt_tokens is not None:
        yield line(
            choices=[],
            usage=dict(
                total_tokens=tokens + prompt_tokens,
                prompt_tokens=prompt_tokens,
                completion_tokens=tokens,
            ),
        )
    yield bytes("data: [DONE]\n\n", "ascii")


@alternative("15.sse", "bodies-first")
def _(head, next_token, prompt_tokens):
    def bodies():
        empty = {"index": 0, "delta": {}, "finish_reason": None}
        yield {"choices": [{**empty, "delta": {"role": "assistant", "content": ""}}]}
        pieces = iter(next_token, object())
        for number, (text, reason) in enumerate(pieces, 1):
            if text:
                yield {"choices": [{**empty, "delta": {"content": text}}]}
            if reason is not None:
                yield {"choices": [{**empty, "finish_reason": reason}]}
                break
        if prompt_tokens is not None:
            yield {
                "usage": {
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": number,
                    "total_tokens": prompt_tokens + number,
                },
                "choices": [],
            }

    for body in bodies():
        yield ("data: " + json.dumps({**body, **head}) + "\n\n").encode("utf8")
    yield b"data: [DONE]\n\n"
