"""What crosses the pipe between the checker and a sandbox: one value a frame, as bytes that only
data can come out of.

A frame is eight bytes of length (little-endian) and a safetensors file
(https://github.com/huggingface/safetensors, "Format"): eight bytes of header length, a JSON header,
the numbers one after the other. The header's `__metadata__` holds one text, `message`: the value as
JSON, in which a tensor is `{"tensor": 3}`, the third in the file. So any safetensors reader can
open a recorded frame, and nothing on this path can run code: no pickle, no eval, no class named by
the other side.

The value of a message: None, bool, int, float, str, bytes, list, tuple, dict whose keys are plain,
torch tensors, numpy arrays, and towards the student only, what stands for arguments of ours
(`autograder.checks.inputs.arguments`, TAGS). The types are exact: a tuple arrives as a tuple, an
array as an array. `unpack` takes what comes back as hostile and raises ProtocolError; the memory it
takes is bounded by the bytes that really arrived. Which values a *student* may return is decided in
`autograder.checks.assertions.values`, not here.

torch and numpy are imported only when a frame holds a tensor or an array.
"""

import json
import math
import struct
import sys
from collections.abc import Callable

from autograder.sandbox.protocol.tensors import (
    ITEM_BYTES,
    ProtocolError,
    Unsendable,
    array_bytes,
    numbers_of,
    tensor_bytes,
)

MAX_MESSAGE = (
    4 * 1024 * 1024
)  # bytes of the safetensors header, which holds the JSON; parsed, up to 50 times as much
MAX_DEPTH = 16  # a message adds a few levels to the 8 that a student's value may have
MAX_DIGITS = 1000  # of an int
MAX_DIMENSIONS = 16
MAX_DIMENSION = 2**31 - 1
MAX_KEYS = 10_000  # as in autograder.checks.assertions.values
TAGS = ("callback", "handle", "buffer", "generator", "fake")

LENGTH = struct.Struct("<Q")
ENCODER = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":")
)  # what it is given is a tree that was made here


def pack(value: object, ours: type | None = None) -> bytes:
    """The frame of `value`, its length in front.

    ours: the class of nodes with a `tag` and what is `inner`; without it they are refused, as
    everything is that is no plain value.

    Raises Unsendable.
    """
    blobs: list[tuple[str, tuple, bytes]] = []
    text = ENCODER.encode(_node(value, blobs, ours, 0))
    header, offset = {"__metadata__": {"message": text}}, 0
    for i, (dtype, shape, data) in enumerate(blobs):
        header[str(i)] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [offset, offset + len(data)],
        }
        offset += len(data)
    encoded = ENCODER.encode(header).encode("ascii")
    encoded += b" " * (
        -len(encoded) % 8
    )  # the format asks for numbers that begin at a multiple of eight
    if len(encoded) > MAX_MESSAGE:
        raise Unsendable(f"more than {MAX_MESSAGE:,} bytes of text, lists and dictionaries")
    body = [LENGTH.pack(len(encoded)), encoded, *(data for _, _, data in blobs)]
    return b"".join([LENGTH.pack(8 + len(encoded) + offset), *body])


def unpack(
    frame: bytes | bytearray, deliver: Callable[[str, object], object] | None = None
) -> object:
    """The value in a frame (without the length in front).

    `deliver` makes an argument of ours from its tag and content; without it there may be none.

    Raises ProtocolError for anything that `pack` would not have written.
    """
    header, data = _header(frame)
    metadata = header.pop("__metadata__", None)
    if (
        type(metadata) is not dict
        or list(metadata) != ["message"]
        or type(metadata["message"]) is not str
    ):
        raise ProtocolError("the header holds no message")
    blobs, node = _blobs(header, len(data)), _json(metadata["message"])
    if _keys_that_may_collide(node) > MAX_KEYS:  # before a dictionary is made of them
        raise ProtocolError(
            f"dictionaries with more than {MAX_KEYS:,} keys that are not text, taken together"
        )
    value = _value(node, blobs, data, deliver, 0)
    if blobs:
        raise ProtocolError(
            f"{len(blobs)} tensors that the message does not mention, or mentions twice"
        )
    return value


def _node(value: object, blobs: list, ours: type | None, depth: int) -> object:
    """`value` as JSON can hold it. An object has exactly one key, which says what it stands for."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        if value.bit_length() > 3 * MAX_DIGITS:
            raise Unsendable(f"an int of more than {MAX_DIGITS} digits")
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is str:
        return _checked_text(value, Unsendable)
    if kind is bytes:
        blobs.append(("U8", (len(value),), value))
        return {"bytes": len(blobs) - 1}
    if depth == MAX_DEPTH:
        raise Unsendable(f"more than {MAX_DEPTH} levels of lists, tuples or dictionaries")
    if kind is list:
        return [_node(item, blobs, ours, depth + 1) for item in value]
    if kind is tuple:
        return {"tuple": [_node(item, blobs, ours, depth + 1) for item in value]}
    if kind is dict:
        return _node_of_dict(value, blobs, ours, depth)
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch and kind is torch.Tensor:
        blobs.append(tensor_bytes(value, torch))
        return {"tensor": len(blobs) - 1}
    if numpy and kind is numpy.ndarray:
        blobs.append(array_bytes(value, numpy))
        return {"array": len(blobs) - 1}
    if ours is not None and kind is ours and value.tag in TAGS:
        return {value.tag: _node(value.inner, blobs, None, depth + 1)}
    raise Unsendable(f"an object of type {kind.__module__}.{kind.__qualname__}")


def _node_of_dict(value: dict, blobs: list, ours: type | None, depth: int) -> dict:
    if all(type(key) is str for key in value):
        return {
            "dict": {
                _checked_text(key, Unsendable): _node(item, blobs, ours, depth + 1)
                for key, item in value.items()
            }
        }
    if not all(map(_is_key, value)) or sum(type(key) is not str for key in value) > MAX_KEYS:
        raise Unsendable("a dictionary with a key that is not plain")
    return {
        "pairs": [
            [_node(key, blobs, ours, depth + 1), _node(item, blobs, ours, depth + 1)]
            for key, item in value.items()
        ]
    }


def _is_key(key: object, depth: int = 0) -> bool:
    """Whether a dictionary may have this key: plain, with a hash that nobody can steer.

    NaN differs from itself.
    """
    kind = type(key)
    if kind is tuple:
        return depth < 2 and all(_is_key(item, depth + 1) for item in key)
    return (
        key is None
        or kind in (bool, str, bytes)
        or kind is int
        and abs(key) < 2**63
        or kind is float
        and key == key
    )


def _header(frame: bytes | bytearray) -> tuple[dict, memoryview]:
    if len(frame) < 8:
        raise ProtocolError(f"a frame of {len(frame)} bytes has no header")
    length = LENGTH.unpack_from(frame)[0]
    if length > len(frame) - 8 or length > MAX_MESSAGE:
        raise ProtocolError(
            f"a header of {length:,} bytes in a frame of {len(frame):,}; at most {MAX_MESSAGE:,}"
        )
    try:
        text = bytes(frame[8 : 8 + length]).decode("utf-8")
    except UnicodeDecodeError:
        raise ProtocolError("the header is not UTF-8") from None
    header = _json(text)
    if type(header) is not dict:
        raise ProtocolError("the header is not an object")
    return header, memoryview(frame)[8 + length :]


def _json(text: str) -> object:
    """Parse strictly: no NaN, no number that overflows, no duplicate key, no nesting that exhausts
    the stack.
    """
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ProtocolError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ProtocolError(f"broken JSON: {str(error)[:100]}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProtocolError("an object with the same key twice")
    return found


def _no_constant(name: str) -> None:
    raise ProtocolError(f"{name} is not JSON")


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS + 1:
        raise ProtocolError(f"an int of more than {MAX_DIGITS} digits")
    return int(digits)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ProtocolError("a number too large for a float")
    return value


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_int, parse_float=_finite
)


def _checked_text(text: str, error: type[Exception]) -> str:
    """Half a surrogate pair is a str that no file and no database can take; stop it here."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise error("text with half a surrogate pair") from None
    return text


def _blobs(header: dict, available: int) -> dict[int, tuple[str, tuple, int, int]]:
    """Each tensor's (dtype, shape, begin, end).

    They tile the data in order, so no byte is counted twice.
    """
    blobs, expected = {}, 0
    for i, (name, entry) in enumerate(header.items()):
        if (
            name != str(i)
            or type(entry) is not dict
            or set(entry) != {"dtype", "shape", "data_offsets"}
        ):
            raise ProtocolError(f"tensor {i} is not described as safetensors does")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if type(dtype) is not str or dtype not in ITEM_BYTES:
            raise ProtocolError(f"tensor {i} has an unknown dtype")
        if (
            type(shape) is not list
            or len(shape) > MAX_DIMENSIONS
            or any(type(size) is not int or not 0 <= size <= MAX_DIMENSION for size in shape)
        ):
            raise ProtocolError(f"tensor {i} has an impossible shape")
        # With a zero among the sizes no byte is needed, but strides are computed from the others
        # and can overflow.
        if math.prod(size or 1 for size in shape) > 2**40:
            raise ProtocolError(f"tensor {i} has an impossible shape")
        end = expected + math.prod(shape) * ITEM_BYTES[dtype]
        if (
            type(offsets) is not list
            or list(map(type, offsets)) != [int, int]
            or offsets != [expected, end]
        ):
            raise ProtocolError(f"tensor {i} does not begin and end where its shape and dtype say")
        if end > available:
            raise ProtocolError(f"tensor {i} is longer than the frame")
        blobs[i], expected = (dtype, tuple(shape), expected, end), end
    if expected != available:
        raise ProtocolError(f"{available - expected:,} bytes that belong to no tensor")
    return blobs


def _value(
    node: object, blobs: dict, data: memoryview, deliver: Callable | None, depth: int
) -> object:
    kind = type(node)
    if node is None or kind in (bool, int, float):
        return node
    if kind is str:
        return _checked_text(node, ProtocolError)
    if depth == MAX_DEPTH:
        raise ProtocolError(f"more than {MAX_DEPTH} levels of lists, tuples or dictionaries")
    if kind is list:
        return [_value(item, blobs, data, deliver, depth + 1) for item in node]
    if len(node) != 1:
        raise ProtocolError("an object that does not have exactly one key")
    ((what, inner),) = node.items()
    if what == "tuple" and type(inner) is list:
        return tuple(_value(item, blobs, data, deliver, depth + 1) for item in inner)
    if what == "dict" and type(inner) is dict:
        return {
            _checked_text(key, ProtocolError): _value(item, blobs, data, deliver, depth + 1)
            for key, item in inner.items()
        }
    if what == "pairs" and type(inner) is list:
        return _pairs([_value(pair, blobs, data, deliver, depth + 1) for pair in inner])
    if what == "float" and inner in ("nan", "inf", "-inf"):
        return float(inner)
    if type(inner) is int and what == "bytes" and inner in blobs:
        dtype, shape, begin, end = blobs.pop(inner)
        if dtype != "U8" or len(shape) != 1:
            raise ProtocolError("bytes that are not a row of bytes")
        return bytes(data[begin:end])
    if type(inner) is int and what in ("tensor", "array") and inner in blobs:
        return numbers_of(what, *blobs.pop(inner), data)
    if deliver is not None and what in TAGS:
        return deliver(what, _value(inner, blobs, data, None, depth + 1))
    raise ProtocolError(f"an object that stands for nothing known: {what[:40]!r}")


def _keys_that_may_collide(node: object) -> int:
    """How many keys that are not text all dictionaries have together: their hashes can be made to
    collide.
    """
    count, stack = 0, [node]
    while stack:
        one = stack.pop()
        if type(one) is dict and len(one) == 1:
            ((what, inner),) = one.items()
            stack += inner.values() if what == "dict" and type(inner) is dict else [inner]
            if what == "pairs" and type(inner) is list:
                count += sum(
                    type(pair) is list and len(pair) == 2 and type(pair[0]) is not str
                    for pair in inner
                )
        elif type(one) is list:
            stack += one
    return count


def _pairs(pairs: list) -> dict:
    """A dictionary from its pairs, if every key is plain and stands there once."""
    if any(type(pair) is not list or len(pair) != 2 or not _is_key(pair[0]) for pair in pairs):
        raise ProtocolError("a dictionary with a key that is not plain")
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProtocolError("a dictionary with the same key twice")
    return found
