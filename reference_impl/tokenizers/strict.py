"""Read a part of a file so that nothing in it goes unread.

A tokenizer that ignores one field of its file cuts most texts right and some wrong, and
nobody is told. So a part is read field by field: each must be there, be of the kind
that is expected, and be asked for. A field that no reader asked for ends in an error
with its name, and so does a value that no code here can honour.

    with JsonObject(data, "the normalizer Strip") as part:
        left, right = part.take("strip_left", bool), part.take("strip_right", bool)

But: this knows nothing of tokenizers. What the fields mean stands in the readers.
"""

import json
from collections.abc import Mapping
from typing import Any

from reference_impl.tokenizers.vocabulary import TokenizerError

_REQUIRED = object()
_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}

WHOLE = 2**64
"""Whole numbers of a file count or name things, and are below this one (unsigned, 64
bits)."""


class JsonObject:
    """An object of a file.

    On leaving the `with` block, a field that was not asked for raises TokenizerError.
    """

    def __init__(self, data: Any, name: str):
        self.name = name
        if not isinstance(data, Mapping):
            raise TokenizerError(f"{name} is {shown(data)}; an object is expected")
        self._data, self._read = data, set()

    def __enter__(self) -> "JsonObject":
        return self

    def __exit__(self, kind: type | None, *_: Any) -> None:
        if kind is None and (
            unread := [field for field in self._data if field not in self._read]
        ):
            raise TokenizerError(
                f"{self.name} has the field {unread[0]!r}, which is not known here "
                f"(its value is {shown(self._data[unread[0]])})"
            )

    def __contains__(self, field: str) -> bool:
        return field in self._data

    def take(self, field: str, *kinds: type, default: Any = _REQUIRED) -> Any:
        """The value of a field, of one of `kinds`.

        Without `default` it must be there. bool is no int here.
        """
        self._read.add(field)
        if field not in self._data:
            if default is _REQUIRED:
                raise TokenizerError(f"{self.name} lacks the field {field!r}")
            return default
        value = self._data[field]
        if kinds and not (
            type(value) in kinds or float in kinds and type(value) is int
        ):
            expected = " or ".join(_WORDS[kind] for kind in kinds)
            raise TokenizerError(
                f"{field!r} of {self.name} is {shown(value)}; {expected} is expected"
            )
        if int in kinds and type(value) is int and not 0 <= value < WHOLE:
            raise TokenizerError(
                f"{field!r} of {self.name} is {shown(value)}; a whole number from 0 to"
                f" {WHOLE - 1} is expected"
            )
        return value

    def only(self, field: str, *allowed: Any, default: Any = _REQUIRED) -> Any:
        """The value of a field that must be one of `allowed`: with another the
        tokenizer would be a different one.
        """
        value = self.take(field, default=default)
        if not any(value == one and type(value) is type(one) for one in allowed):
            raise TokenizerError(
                f"{field!r} of {self.name} is {shown(value)}; known here: "
                f"{', '.join(map(shown, allowed))}"
            )
        return value


def shown(value: Any) -> str:
    """A value as its file writes it, cut where it is long."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 120 else text[:117] + "..."
