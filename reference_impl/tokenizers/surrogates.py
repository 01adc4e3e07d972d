"""Halves of surrogate pairs, which a Python string may hold and no Unicode text does.

UTF-16 writes characters above U+FFFF as two halves, and JSON does too. A string that
was read carelessly has the halves as two characters. Every tokenizer here reads them
alike, as `tiktoken` does: two halves that belong together are the character they mean,
and one alone is U+FFFD.

But: bytes that are not UTF-8 come as halves too, in Python's "surrogateescape".
`ByteLevelBPE.encode_bytes` takes those.
"""

from collections.abc import Sequence

import regex

_HALF = regex.compile("[\ud800-\udfff]")
_READ = regex.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """The text with pairs of surrogates joined to the character they mean, and single
    ones replaced by U+FFFD.
    """
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def places_without(text: str) -> Sequence[int] | None:
    """Where each character of `without_surrogates(text)` begins in `text`, and its end;
    None if nothing changes.
    """
    if not _HALF.search(text):
        return None
    second_halves = {
        match.end() - 1
        for match in _READ.finditer(text)
        if match.end() - match.start() == 2
    }
    return [place for place in range(len(text) + 1) if place not in second_halves]
