"""Read a GGUF file: a table of named values, and tensors, mostly in blocks of few bits.

The format (ggml project, "GGUF", version 3) is, all little-endian: "GGUF", version,
number of tensors, number of values; the values, each a name, a type and what it holds;
for each tensor its name, sizes (fastest first), type and place; then, aligned, the
tensors' bytes. A string is eight bytes of length, then UTF-8.

The file is not trusted: nothing is read, looped over or allocated before the length
that it claims was held against the file's size. That is why the header is read here and
not by the `gguf` package, which believes a damaged file's lengths (an array said to
have 2^60 entries fills the memory) and takes longer for the 98,000 strings of a
vocabulary.

Not here: what the values and names mean (`gguf_llama`), block types beyond
`gguf_blocks`, version 1, big-endian files, models split over several files, writing.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.weights.gguf_blocks import BLOCK_TYPES, BlockType, dequantize
from reference_impl.weights.shards import WeightsError

STRING, ARRAY = 8, 9
NUMBERS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "?",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
"""Types of values by their number in the file."""
MAX_DIMENSIONS = 4
SMALLEST_VALUE, SMALLEST_TENSOR = 8 + 4 + 1, 8 + 4 + 8 + 4 + 8
"""Bytes that an entry of either table takes at least."""


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: its shape (slowest first, as torch has it), its type, its
    first byte in the file.
    """

    shape: tuple[int, ...]
    block_type: BlockType
    start: int

    @property
    def num_blocks(self) -> int:
        """How many blocks it is made of."""
        return math.prod(self.shape) // self.block_type.numbers

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.start + self.num_blocks * self.block_type.layout.itemsize


@dataclass(frozen=True)
class GGUFFile:
    """A file whose header was read and checked.

    Values are numbers, text, lists of text or arrays of numbers.
    """

    path: Path
    metadata: Mapping[str, Any]
    places: Mapping[str, Place]

    def tensor(self, name: str) -> Float[Tensor, "..."]:
        """One tensor, dequantised to float32.

        WeightsError if there is none of this name.
        """
        if name not in self.places:
            raise WeightsError(f"{self.path} has no tensor {name!r}")
        place = self.places[name]
        blocks = np.fromfile(
            self.path, place.block_type.layout, place.num_blocks, offset=place.start
        )
        if len(blocks) != place.num_blocks:
            raise WeightsError(f"{self.path} became shorter while it was read")
        return torch.from_numpy(dequantize(blocks, place.block_type)).view(place.shape)


def read_gguf(path: Path | str) -> GGUFFile:
    """Read the header of a GGUF file.

    WeightsError, with the place, if anything in it can't be true.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            header = _Header(path, stream)
            metadata, infos = _read_tables(header)
            return GGUFFile(path, metadata, _places(header, metadata, infos))
    except FileNotFoundError:
        raise WeightsError(f"{path} does not exist") from None
    except OSError as error:
        raise WeightsError(f"{path} can't be read: {error}") from None


class _Header:
    """The bytes from the start of a file, in order. Never takes more than there are."""

    def __init__(self, path: Path, stream: BinaryIO):
        self.path, self._stream, self.at = path, stream, 0
        self.size = stream.seek(0, 2)
        stream.seek(0)

    @property
    def left(self) -> int:
        return self.size - self.at

    def wrong(self, what: str) -> WeightsError:
        return WeightsError(f"{self.path} is damaged or not a GGUF file: {what}")

    def take(self, size: int, what: str) -> bytes:
        if size > self.left:
            raise self.wrong(
                f"{what} takes {size:,} bytes at byte {self.at:,}, and {self.left:,}"
                " are left"
            )
        content = self._stream.read(size)
        if len(content) != size:
            raise self.wrong("it became shorter while it was read")
        self.at += size
        return content

    def count(self, size: int, what: str) -> int:
        """A number without sign in `size` bytes: lengths, counts, sizes, types."""
        return int.from_bytes(self.take(size, what), "little")

    def texts(self, length: int, what: str) -> list[str]:
        """That many strings.

        All in one loop without further calls: a vocabulary with its merges has 98,000.
        """
        if length * 8 > self.left:
            raise self.wrong(
                f"{what} is said to hold {length:,} texts, and {self.left:,} bytes are"
                " left"
            )
        found, left, read = [], self.left, self._stream.read
        try:
            for _ in range(length):
                size = int.from_bytes(read(8), "little")
                left -= 8 + size
                if left < 0:
                    raise self.wrong(
                        f"a text of {what} is said to have {size:,} bytes, and"
                        f" {left + size:,} are left"
                    )
                found.append(read(size).decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self.wrong(f"{what} is not UTF-8: {error}") from None
        self.at = self.size - left
        return found

    def text(self, what: str) -> str:
        return self.texts(1, what)[0]

    def value(self, type_: int, name: str) -> Any:
        if type_ == STRING:
            return self.text(name)
        if type_ in NUMBERS:
            return np.frombuffer(
                self.take(np.dtype(NUMBERS[type_]).itemsize, name), NUMBERS[type_]
            )[0].item()
        if type_ != ARRAY:
            raise self.wrong(f"{name} has the type {type_}, which there is not")
        inner, length = self.count(4, name), self.count(8, name)
        if inner == STRING:
            return self.texts(length, name)
        if inner not in NUMBERS:
            raise self.wrong(
                f"{name} is an array of type {inner}: numbers or text are expected"
            )
        return np.frombuffer(
            self.take(length * np.dtype(NUMBERS[inner]).itemsize, name), NUMBERS[inner]
        )


def _read_tables(
    header: _Header,
) -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], int, int]]]:
    """The values, and for each tensor its sizes, type and offset as the file gives
    them.
    """
    if (magic := header.take(4, "its mark")) != b"GGUF":
        raise header.wrong(f"it begins with {magic!r}, not with b'GGUF'")
    version = header.count(4, "the version")
    if version not in (2, 3):
        big = struct.unpack(">I", struct.pack("<I", version))[0]
        raise header.wrong(
            f"its version is {version}: 2 or 3, little-endian, are read"
            if big not in (2, 3)
            else "it is big-endian, and only little-endian ones are read"
        )
    num_tensors, num_values = (
        header.count(8, "the counts"),
        header.count(8, "the counts"),
    )
    if num_values * SMALLEST_VALUE + num_tensors * SMALLEST_TENSOR > header.left:
        raise header.wrong(
            f"{num_values:,} values and {num_tensors:,} tensors don't fit into"
            f" {header.left:,} bytes"
        )
    metadata: dict[str, Any] = {}
    for _ in range(num_values):
        name = header.text("the name of a value")
        if name in metadata:
            raise header.wrong(f"the value {name!r} is there twice")
        metadata[name] = header.value(
            header.count(4, f"the type of {name!r}"), repr(name)
        )
    infos: dict[str, tuple[tuple[int, ...], int, int]] = {}
    for _ in range(num_tensors):
        name = header.text("the name of a tensor")
        if name in infos:
            raise header.wrong(f"the tensor {name!r} is there twice")
        num_dimensions = header.count(4, f"the number of dimensions of {name!r}")
        if not 1 <= num_dimensions <= MAX_DIMENSIONS:
            raise header.wrong(
                f"the tensor {name!r} is said to have {num_dimensions:,} dimensions"
            )
        sizes = tuple(
            header.count(8, f"the shape of {name!r}") for _ in range(num_dimensions)
        )
        infos[name] = sizes, header.count(4, name), header.count(8, name)
    return metadata, infos


def _places(
    header: _Header, metadata: Mapping[str, Any], infos: Mapping
) -> dict[str, Place]:
    """Where the tensors lie.

    Each must be inside the file, aligned, and apart from all others.
    """
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise header.wrong(
            f"its alignment is {alignment!r}: a power of two is expected"
        )
    begin = -(-header.at // alignment) * alignment
    places = {}
    for name, (sizes, type_, offset) in infos.items():
        if type_ not in BLOCK_TYPES:
            known = ", ".join(
                f"{one.name} ({number})" for number, one in BLOCK_TYPES.items()
            )
            raise WeightsError(
                f"{header.path} holds {name!r} in the type {type_}; read here are"
                f" {known}"
            )
        block_type = BLOCK_TYPES[type_]
        if 0 in sizes or sizes[0] % block_type.numbers:
            raise header.wrong(
                f"rows of {name!r} have {sizes[0]:,} numbers: {block_type.name} has"
                f" blocks of {block_type.numbers}"
            )
        place = Place(sizes[::-1], block_type, begin + offset)
        if offset % alignment or place.end > header.size:
            raise header.wrong(
                f"{name!r} of shape {place.shape} is said to lie from byte"
                f" {place.start:,} to {place.end:,}; the file has {header.size:,}, and"
                f" tensors begin at multiples of {alignment}"
            )
        places[name] = place
    in_order = sorted(places.items(), key=lambda item: item[1].start)
    for (first, one), (second, other) in zip(in_order, in_order[1:]):
        if other.start < one.end:
            raise header.wrong(f"{first!r} and {second!r} overlap")
    return places
