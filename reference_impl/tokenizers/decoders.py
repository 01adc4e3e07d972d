"""From tokens back to a text, by the steps that `tokenizer.json` names under "decoder".

A step gets the tokens as texts and gives texts; the last step's are joined. LLaMA's
file has four: the sign for a space becomes a space, byte tokens become characters, all
is fused, and the first space goes.

    Decoder(metaspace(U+2581, keep_first=False))(["U+2581 Hello", "U+2581 world"])
        "Hello world"

A file without a decoder joins its tokens with spaces: `Decoder(spaced)`.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

import regex

from reference_impl.tokenizers.byte_level import BYTE_OF
from reference_impl.tokenizers.oniguruma import Finder
from reference_impl.tokenizers.text_normalizers import spans

Step = Callable[[list[str]], list[str]]
_BYTE = regex.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")
CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)
"""What BERT's clean-up replaces, in this order."""


class Decoder:
    """Steps, one after the other."""

    def __init__(self, *steps: Step):
        self.steps = steps

    def __call__(self, tokens: Sequence[str]) -> str:
        """The text of the tokens."""
        texts = list(tokens)
        for step in self.steps:
            texts = step(texts)
        return "".join(texts)

    def token_bytes(self, token: str) -> bytes:
        """What a token stands for inside a text: decoded after another, so that no step
        takes it for the first.
        """
        if byte_fallback in self.steps and (byte := _BYTE.fullmatch(token)):
            return bytes([int(byte[1], 16)])
        return self(["a", token]).removeprefix("a").encode()


def spaced(tokens: list[str]) -> list[str]:
    """A space between tokens."""
    return [" ".join(tokens)]


def fused(tokens: list[str]) -> list[str]:
    """All tokens as one, so that later steps see the whole text."""
    return ["".join(tokens)]


def byte_level(tokens: list[str]) -> list[str]:
    """Characters of the byte table become bytes, the bytes a text.

    A token with other characters is its own UTF-8.
    """
    data = b"".join(
        (
            bytes(map(BYTE_OF.__getitem__, token))
            if all(c in BYTE_OF for c in token)
            else token.encode()
        )
        for token in tokens
    )
    return [data.decode("utf-8", "replace")]


def byte_fallback(tokens: list[str]) -> list[str]:
    """Runs of <0xNN> become the text of their bytes; if they are none, one U+FFFD a
    byte.
    """
    texts: list[str] = []
    for is_byte, run in groupby(
        tokens, lambda token: _BYTE.fullmatch(token) is not None
    ):
        if not is_byte:
            texts += run
            continue
        data = bytes(int(token[3:5], 16) for token in run)
        try:
            texts.append(data.decode())
        except UnicodeDecodeError:
            texts += ["\ufffd"] * len(data)
    return texts


def metaspace(sign: str, keep_first: bool) -> Step:
    """The sign becomes a space; in the first token it goes, unless `keep_first`."""

    def step(tokens: list[str]) -> list[str]:
        return [
            token.replace(sign, " " if i or keep_first else "")
            for i, token in enumerate(tokens)
        ]

    return step


def replaced(pattern: Finder, content: str) -> Step:
    """Matches of an expression, token by token, become `content`."""

    def one(token: str) -> str:
        parts, done = [], 0
        for start, end in spans(pattern, token):
            parts += [token[done:start], content]
            done = end
        return "".join(parts) + token[done:]

    return lambda tokens: [one(token) for token in tokens]


def stripped(sign: str, start: int, stop: int) -> Step:
    """At most `start` signs go from the beginning of each token and at most `stop` from
    its end.
    """

    def one(token: str) -> str:
        first = min(start, len(token) - len(token.lstrip(sign)))
        last = len(token) - min(stop, len(token) - len(token.rstrip(sign)))
        return token[first : max(first, last)]

    return lambda tokens: [one(token) for token in tokens]


def word_pieces(prefix: str, clean_up: bool) -> Step:
    """A space before each token but the first and those with the prefix, which they
    lose.
    """

    def step(tokens: list[str]) -> list[str]:
        texts = [
            (
                token
                if not i
                else (
                    token.removeprefix(prefix)
                    if token.startswith(prefix)
                    else f" {token}"
                )
            )
            for i, token in enumerate(tokens)
        ]
        return [cleaned(text) for text in texts] if clean_up else texts

    return step


def cleaned(text: str) -> str:
    """Without the spaces that stand before English punctuation and endings."""
    for old, new in CLEANED:
        text = text.replace(old, new)
    return text


def suffixed(suffix: str) -> Step:
    """The suffix that ends a word becomes a space, in the last token nothing."""

    def step(tokens: list[str]) -> list[str]:
        return [
            token.replace(suffix, " " if i < len(tokens) - 1 else "")
            for i, token in enumerate(tokens)
        ]

    return step


def ctc(pad: str, delimiter: str, clean_up: bool) -> Step:
    """A speech recogniser's row of letters: repeated ones count once, padding goes, the
    delimiter is a space.
    """

    def step(tokens: list[str]) -> list[str]:
        texts = [token.replace(pad, "") for token, _ in groupby(tokens)]
        if clean_up:
            texts = [cleaned(text).replace(delimiter, " ") for text in texts]
        return [text for text in texts if text]

    return step
