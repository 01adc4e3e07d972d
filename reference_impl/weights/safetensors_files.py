"""Read and write a model's weights as safetensors: one file, or several with an index.

The format (Hugging Face, 2022): eight bytes of header length, a JSON header with dtype,
shape and offsets of each tensor, then the numbers. Nothing in it can run, unlike a
pickle. The `safetensors` library reads it and checks sizes and offsets; here is what
lies around it: which file a folder means, how to cut a model into shards, errors that
say what is wrong, and two things that the library lets pass, a name that is there twice
and thousands of dimensions.

Not here: GGUF, PyTorch's pickles.
"""

import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from reference_impl.weights.shards import WeightsError, read_folder, read_json

__all__ = [
    "INDEX",
    "SINGLE",
    "WeightsError",
    "read_file",
    "read_json",
    "read_weights",
    "write_weights",
]

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MAX_HEADER = 100_000_000
"""The format's own limit."""
MAX_DIMENSIONS = 64
"""Torch's own."""


def read_file(path: Path) -> dict[str, Tensor]:
    """Every tensor of one safetensors file."""
    try:
        _check_header(path)
        return load_file(path)
    except FileNotFoundError:
        raise WeightsError(f"{path} does not exist") from None
    except (
        SafetensorError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise WeightsError(
            f"{path} is damaged or not a safetensors file: {error}"
        ) from None


def _check_header(path: Path) -> None:
    """ValueError for a header that is longer than the file or the format allows, or
    says a thing twice.
    """

    def once(pairs: list) -> dict:
        if len(pairs) != len({name for name, _ in pairs}):
            raise ValueError("a name in its header is there twice")
        return dict(pairs)

    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(path.stat().st_size - 8, MAX_HEADER):
            raise ValueError(
                f"its header is said to have {length:,} bytes; the file has"
                f" {path.stat().st_size:,}"
            )
        header = json.loads(stream.read(length), object_pairs_hook=once)
    for name, entry in header.items():
        if name != "__metadata__" and len(entry["shape"]) > MAX_DIMENSIONS:
            raise ValueError(
                f"{name!r} is said to have {len(entry['shape']):,} dimensions"
            )


def read_weights(folder: Path | str) -> dict[str, Tensor]:
    """Every tensor of a folder, from its one file or from all of its shards."""
    return read_folder(folder, SINGLE, INDEX, read_file)


def _cut(weights: dict[str, Tensor], max_bytes: int) -> list[dict[str, Tensor]]:
    """In order, as many tensors a shard as fit; a tensor above the size has a shard of
    its own.
    """
    shards: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in weights.items():
        if shards[-1] and size + tensor.nbytes > max_bytes:
            shards.append({})
            size = 0
        shards[-1][name] = tensor
        size += tensor.nbytes
    return shards


def write_weights(
    folder: Path | str, weights: dict[str, Tensor], max_bytes: int = 5_000_000_000
) -> None:
    """Write one file, or shards of at most `max_bytes` with an index.

    Tensors that share memory are written twice.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().clone().contiguous() for name, tensor in weights.items()
    }
    shards = _cut(weights, max_bytes)
    if len(shards) == 1:
        save_file(weights, folder / SINGLE, metadata={"format": "pt"})
        (folder / INDEX).unlink(missing_ok=True)  # of what lay here before
        return
    shard_of = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(shard, folder / file, metadata={"format": "pt"})
        shard_of.update(dict.fromkeys(shard, file))
    total = sum(tensor.nbytes for tensor in weights.values())
    (folder / INDEX).write_text(
        json.dumps(
            {"metadata": {"total_size": total}, "weight_map": shard_of}, indent=2
        )
    )
    (folder / SINGLE).unlink(missing_ok=True)  # it would be read in place of the shards
