"""Which values may pass between a check and a student, and when two of them are the same.

Both kinds of student, in this process and behind the sandbox's pipe, let through exactly these
types, so that a check cannot tell them apart: None, bool, int of 64 bits, float, str, bytes, list,
tuple, dict whose keys are plain too (text, numbers, None, and tuples of them), numpy arrays and CPU
torch tensors of the dtypes below. Types are exact, since a subclass could answer "equal" to every
question: one of Python's own types crosses as what it is made of. Not here: what only goes towards
a student (see `arguments`).
"""

import math
import unicodedata
from collections.abc import Sequence

import numpy as np
import torch

from autograder.checks.assertions.comparison_time import compares

SCALARS = (bool, int, float, str, bytes)
EXACT = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: bytes.__bytes__,
}  # of a subclass, whatever it overrides
TENSOR_DTYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)
ARRAY_KINDS = "biuf"  # numpy's letters for bool, int, unsigned and float
MAX_DEPTH = 8
SHOWN = 200  # characters of a value in a message
FEW = 12  # a tensor with at most so many numbers is written as Python writes it
# Printable, says Python, and yet nothing to see: fillers, joiners, variation selectors, the empty
# braille cell.
BLANK = {
    0x34F,
    0x115F,
    0x1160,
    0x17B4,
    0x17B5,
    0x2800,
    0x3164,
    0xFFA0,
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
}
# in one dictionary, text apart: hashes of numbers, and of tuples of them, can be made to collide
MAX_KEYS = 10_000


PLAIN = (list, tuple, dict, torch.Tensor, np.ndarray)  # what a call can change


class Unreadable(Exception):
    """A value that cannot cross; the message is a sentence fragment such as "a numpy.float64;
    return float(x)".
    """


class UnreadableItem(Unreadable):
    """One whose message begins with the innermost key that it stands under."""


def type_name(value: object) -> str:
    """The type as a student would write it: `float`, `numpy.float64`, `torch.Tensor`."""
    kind = type(value)
    own = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if own else f"{kind.__module__}.{kind.__qualname__}"


def _cross_items(value: list | tuple | dict, depth: int) -> object:
    if depth == MAX_DEPTH:
        raise Unreadable(f"more than {MAX_DEPTH} levels of lists, tuples or dictionaries")
    if type(value) is not dict:
        return type(value)(cross(item, depth + 1) for item in value)
    if sum(type(key) is not str for key in value) > MAX_KEYS:
        raise Unreadable(f"a dictionary with more than {MAX_KEYS:,} keys that are not text")
    return {cross_key(key): _cross_under(key, item, depth + 1) for key, item in value.items()}


def _cross_under(key: object, item: object, depth: int) -> object:
    """`cross` of what stands under a key, which the sentence of Unreadable then names."""
    try:
        return cross(item, depth)
    except UnreadableItem:
        raise
    except Unreadable as reason:
        raise UnreadableItem(f"under the key {readable(key, 40)} {reason}") from None


def cross(value: object, depth: int = 0) -> object:
    """A plain copy of `value`, as if it had passed through the pipe: detached, contiguous, sharing
    no memory.

    Raises Unreadable for anything but the types of the module's docstring.
    """
    kind = type(value)
    if kind is int and abs(value) >= 2**63:
        raise Unreadable("an int beyond 64 bits")
    if value is None or kind in SCALARS:
        return value
    if kind is torch.Tensor:
        return _cross_tensor(value)
    if kind is np.ndarray:
        if value.dtype.kind not in ARRAY_KINDS:
            raise Unreadable(f"a numpy array of dtype {value.dtype}")
        return np.array(value, order="C")
    if kind in (list, tuple, dict):
        return _cross_items(value, depth)
    if isinstance(value, np.generic) and type(value.item()) in SCALARS:
        number = isinstance(value, np.number) and not isinstance(value, float)
        # numpy.float64 is a float, numpy.int64 is no int
        return np.array(value) if number else cross(value.item())
    for plain in (dict, list, tuple):  # an OrderedDict, a namedtuple, a torch.Size
        if isinstance(value, plain):
            items = dict.items(value) if plain is dict else plain.__iter__(value)
            return cross(plain(items), depth)
    for plain, exact in EXACT.items():  # a member of an IntEnum
        if issubclass(kind, plain):
            return cross(exact(value))
    if type(value) is torch.nn.Parameter:
        return _cross_tensor(value)
    if isinstance(value, torch.Tensor):
        raise Unreadable(
            f"a {type_name(value)}, which is a subclass of torch.Tensor; return a plain"
            " torch.Tensor"
        )
    if kind is torch.dtype:
        raise Unreadable("a torch.dtype, which JSON does not have; return its name, a text")
    raise Unreadable(f"an object of type {type_name(value)}")


def cross_key(key: object, depth: int = 0) -> object:
    """A dictionary's key, if it is one whose hash and equality are Python's own.

    Raises Unreadable.
    """
    kind = type(key)
    if kind is tuple and depth < 2:
        return tuple(cross_key(item, depth + 1) for item in key)
    if (
        key is not None
        and kind not in SCALARS
        or kind is int
        and abs(key) >= 2**63
        or kind is float
        and key != key
    ):
        what = (
            f"a key of type {type_name(key)}"
            if kind not in (int, float)
            else f"the key {str(key)[:40]}"
        )
        raise Unreadable(f"a dictionary with {what}; use text, numbers or tuples of them")
    return key


def _cross_tensor(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        raise Unreadable("a sparse tensor; return a dense one with .to_dense()")
    if tensor.device.type != "cpu":
        raise Unreadable(f"a tensor on the device {tensor.device}; return it with .cpu()")
    if tensor.dtype not in TENSOR_DTYPES:
        raise Unreadable(f"a tensor of dtype {str(tensor.dtype).removeprefix('torch.')}")
    plain = tensor.detach().clone(memory_format=torch.contiguous_format)
    return plain if type(plain) is torch.Tensor else plain.as_subclass(torch.Tensor)


@compares
def same(
    left: object, right: object, rtol: float = 1e-5, atol: float = 1e-7, ordered: bool = False
) -> bool:
    """Whether two crossed values agree in types, dtypes, shapes and, within the tolerances, values;
    NaN equals NaN.

    ordered: the keys of dictionaries come in the same order too.
    """
    return _same(left, right, rtol, atol, ordered)


def _same(left: object, right: object, rtol: float, atol: float, ordered: bool) -> bool:
    if type(left) is not type(right):
        return False
    if type(left) is torch.Tensor:
        return left.dtype == right.dtype and (
            torch.equal(left, right)
            or left.shape == right.shape
            and torch.allclose(left.double(), right.double(), rtol, atol, equal_nan=True)
        )  # mostly they are equal, which is seen at once
    if type(left) is np.ndarray:
        return (
            left.dtype == right.dtype
            and left.shape == right.shape
            and np.allclose(left.astype(float), right.astype(float), rtol, atol, equal_nan=True)
        )
    if type(left) is float:
        return math.isclose(left, right, rel_tol=rtol, abs_tol=atol) or (
            math.isnan(left) and math.isnan(right)
        )
    if type(left) in (list, tuple):
        return len(left) == len(right) and all(
            _same(a, b, rtol, atol, ordered) for a, b in zip(left, right)
        )
    if type(left) is dict:
        # By type too: 1, 1.0 and True are one key to Python.
        theirs = {_typed(key): item for key, item in right.items()}
        if len(left) != len(right) or ordered and list(map(_typed, left)) != list(theirs):
            return False
        return all(
            _typed(key) in theirs and _same(item, theirs[_typed(key)], rtol, atol, ordered)
            for key, item in left.items()
        )
    if hasattr(type(left), "crossed"):  # a Buffer after a call
        return _same(left.crossed(), right.crossed(), rtol, atol, False)
    return left == right


def without_ones(shape: Sequence[int]) -> list[int]:
    """The axes that hold something: two shapes that agree in them differ by a slip only."""
    return [size for size in shape if size != 1]


def _typed(key: object) -> tuple:
    return type(key), tuple(map(_typed, key)) if type(key) is tuple else key


def visible(text: str) -> str:
    """`text` for a message, with what nobody can see written as escapes: "a\\u200bb", "\\x00",
    "\\xa0".

    Combining marks that stand alone, spaces other than the space, and everything without a glyph
    are written out.
    """
    shown = []
    for place, letter in enumerate(text):
        alone = unicodedata.combining(letter) and (place == 0 or not text[place - 1].isalnum())
        seen = (
            letter.isprintable()
            and not alone
            and ord(letter) not in BLANK
            and unicodedata.category(letter) != "Zs"
        )
        shown.append(letter if letter == " " or seen else letter.encode("unicode_escape").decode())
    return "".join(shown)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters: cut between two words, with " ..." where something is
    left out.
    """
    if len(text) <= most:
        return text
    kept = text[: most - 4]
    return (kept.rsplit(None, 1)[0] if len(kept.split()) > 1 else kept).rstrip() + " ..."


def in_digits(value: float, digits: int) -> str:
    """A number with so many digits: 0.3053, 10000, 1e-12; a large one without an exponent."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e15 else text


def readable(value: object, most: int = SHOWN) -> str:
    """A value's repr for a message: nothing invisible in it, and "and 38 more" in the place of what
    is too much.

    Python refuses to write an int of more than 4,300 digits.
    """
    kind = type(value)
    if kind is int and abs(value) >= 10**30:
        return (
            f"{'-' if value < 0 else ''}an integer of about"
            f" {int(abs(value).bit_length() * 0.30103)} digits"
        )
    if kind in (torch.Tensor, np.ndarray) and value.reshape(-1).shape[0] > FEW:
        return (
            f"{type_name(value)} of shape {tuple(value.shape)}:"
            f" {readable(value.reshape(-1)[:most].tolist(), most)}"
        )
    if kind in (str, bytes):
        text = visible(repr(value[:most]))
        return text if len(value) <= most else f"{text} and {len(value) - most:,} more"
    if kind in (list, tuple, dict):
        return _first_of(value, most)
    text = visible(repr(value))
    return text if len(text) <= most else text[:most] + " ..."


def _first_of(value: list | tuple | dict, most: int) -> str:
    """The first items of a collection, as many as there is room for, and how many more
    there are.
    """
    parts, room = [], most
    for item in value.items() if type(value) is dict else value:
        text = (
            f"{readable(item[0], room)}: {readable(item[1], room)}"
            if type(value) is dict
            else readable(item, room)
        )
        if parts and len(text) > room:
            break
        parts.append(text)
        room = max(room - len(text) - 2, 0)
    more = f", and {len(value) - len(parts):,} more" if len(parts) < len(value) else ","
    more = more if more != "," or type(value) is tuple and len(value) == 1 else ""
    return {list: "[{}{}]", tuple: "({}{})", dict: "{{{}{}}}"}[type(value)].format(
        ", ".join(parts), more
    )


def two_lines(yours: str, expected: str) -> str:
    """A student's value below which the expected one stands, both as they are to be shown."""
    return f"yours    {yours}\nexpected {expected}"


def told_apart(came: object, expected: object) -> tuple[str, str]:
    """Two different values as `readable`, so that a reader sees the difference.

    Texts that look alike (composed and decomposed letters) are written in ASCII; long ones start
    near where they differ.
    """
    if type(came) is str and type(expected) is str:
        alike = unicodedata.normalize("NFKC", came) == unicodedata.normalize("NFKC", expected)
        write = ascii if alike else lambda text: visible(repr(text))
        differ = next(
            (i for i, (a, b) in enumerate(zip(came, expected)) if a != b),
            min(len(came), len(expected)),
        )
        start = max(0, differ - 20) if max(len(came), len(expected)) > SHOWN else 0
        return tuple(
            ("... " if start else "")
            + write(text[start : start + SHOWN])
            + (" ..." if len(text) > start + SHOWN else "")
            for text in (came, expected)
        )
    return readable(came), readable(expected)
