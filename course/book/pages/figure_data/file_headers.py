"""Files of weights as the figure file-header shows them: each tensor's place, its line in the
header, and its first bytes.

    safetensors_file("one file", path, names, ours)        gguf_file("GGUF", path, names, ours)

`names` are the tensors that are shown, `ours` gives the name of each in our model. The headers are
read by `reference_impl.weights`, which refuses what cannot be true; this module only words what is
there.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from reference_impl.weights.gguf_blocks import BLOCK_TYPES, dequantize
from reference_impl.weights.gguf_files import read_gguf

WIDTHS = {"F16": "<f2", "F32": "<f4"}
SHOWN = 4


def safetensors_file(
    label: str, path: Path, names: Iterable[str], ours: Callable[[str], str]
) -> dict[str, Any]:
    """Eight bytes say how long the header is, the header is JSON, and places count from its end."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    tensors = []
    for name in names:
        entry = header[name]
        start, end = (8 + length + place for place in entry["data_offsets"])
        tensors.append(
            {
                "name": name,
                "ours": ours(name),
                "shape": entry["shape"],
                "type": entry["dtype"],
                "start": start,
                "end": end,
                "entry": f"{json.dumps(name)}: {json.dumps(entry)}",
                "first": _first_numbers(path, start, entry["dtype"]),
            }
        )
    return {
        "label": label,
        "name": path.name,
        "bytes": path.stat().st_size,
        "header": 8 + length,
        "count": len(header),
        "tensors": sorted(tensors, key=lambda tensor: tensor["start"]),
    }


def _first_numbers(path: Path, start: int, dtype: str) -> list[dict[str, str]]:
    """The first SHOWN numbers of a tensor, each with its bytes."""
    width = np.dtype(WIDTHS[dtype])
    raw = np.fromfile(path, np.uint8, SHOWN * width.itemsize, offset=start).reshape(SHOWN, -1)
    return [
        {
            "bytes": _hex(one),
            "label": f"number {n}",
            "value": f"{float(one.copy().view(width)[0]):.4g}",
        }
        for n, one in enumerate(raw)
    ]


def gguf_file(
    label: str, path: Path, names: Iterable[str], ours: Callable[[str], str]
) -> dict[str, Any]:
    """Values first, then an entry a tensor, then the tensors, each at a multiple of 32 bytes;
    places count from the first.
    """
    file = read_gguf(path)
    begin = min(place.start for place in file.places.values())
    number = {one.name: key for key, one in BLOCK_TYPES.items()}
    tensors = []
    for name in names:
        place = file.places[name]
        entry = (
            f"name: {name}\nsizes, fastest first: {', '.join(map(str, place.shape[::-1]))}\ntype:"
            f" {number[place.block_type.name]} ({place.block_type.name})\nfirst byte, counted from"
            f" the tensors: {place.start - begin:,}"
        )
        tensors.append(
            {
                "name": name,
                "ours": ours(name),
                "shape": list(place.shape),
                "type": place.block_type.name,
                "start": place.start,
                "end": place.end,
                "entry": entry,
                "first": _first_block(path, place),
            }
        )
    return {
        "label": label,
        "name": path.name,
        "bytes": path.stat().st_size,
        "header": begin,
        "count": len(file.places),
        "tensors": sorted(tensors, key=lambda tensor: tensor["start"]),
    }


def _first_block(path: Path, place: Any) -> list[dict[str, str]]:
    """The fields of the first block, four bytes of whole numbers at most; of plain numbers the
    first four.
    """
    kind = place.block_type
    blocks = np.fromfile(path, kind.layout, SHOWN if kind.numbers == 1 else 1, offset=place.start)
    if kind.numbers == 1:
        return [
            {
                "bytes": _hex(blocks[n : n + 1].view(np.uint8)),
                "label": f"number {n}",
                "value": f"{float(blocks[n]['x']):.4g}",
            }
            for n in range(SHOWN)
        ]
    found, numbers = [], dequantize(blocks, kind)
    for field in kind.layout.names:
        raw = np.ascontiguousarray(blocks[field]).view(np.uint8).reshape(-1)
        if field in ("scale", "minimum"):
            found.append(
                {"bytes": _hex(raw), "label": field, "value": f"{float(blocks[field][0]):.4g}"}
            )
            continue
        for n, byte in enumerate(raw[: SHOWN - 1]):
            two = kind.numbers == 2 * len(raw)  # a byte of two numbers: low half, then high half
            said = (
                [(n, int(byte) & 15), (n + len(raw), int(byte) >> 4)]
                if two
                else [(n, int(blocks[field][0, n]))]
            )
            found.append(
                {
                    "bytes": _hex(raw[n : n + 1]),
                    "label": " and ".join(f"q {at}" for at, _ in said),
                    "value": ", ".join(f"{q}: {float(numbers[at]):.3g}" for at, q in said),
                }
            )
    return found


def _hex(raw: np.ndarray) -> str:
    return bytes(raw).hex(" ")
