"""Read and write a model's weights as safetensors: one file, or several with an index.

The format (Hugging Face, 2022): eight bytes of header length, a JSON header with dtype, shape and offsets of each
tensor, then the numbers. Nothing in it can run, unlike a pickle. The `safetensors` library reads it; here is what
lies around it: which file a folder means, how to cut a model into shards, and errors that say what is wrong.

Not here: GGUF, PyTorch's pickles.
"""
import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from reference_impl.weights.shards import WeightsError, read_json, read_shards

__all__ = ["INDEX", "SINGLE", "WeightsError", "read_file", "read_json", "read_weights", "write_weights"]

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


def read_file(path: Path) -> dict[str, Tensor]:
    """Every tensor of one safetensors file."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise WeightsError(f"{path} does not exist") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise WeightsError(f"{path} is damaged or not a safetensors file: {error}") from None


def read_weights(folder: Path | str) -> dict[str, Tensor]:
    """Every tensor of a folder, from its one file or from all of its shards."""
    folder = Path(folder)
    if (folder / SINGLE).exists():
        return read_file(folder / SINGLE)
    if not (folder / INDEX).exists():
        raise WeightsError(f"{folder} holds neither {SINGLE} nor {INDEX}")
    return read_shards(folder / INDEX, read_file)


def _cut(weights: dict[str, Tensor], max_bytes: int) -> list[dict[str, Tensor]]:
    """In order, as many tensors a shard as fit; a tensor above the size has a shard of its own."""
    shards: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in weights.items():
        if shards[-1] and size + tensor.nbytes > max_bytes:
            shards.append({})
            size = 0
        shards[-1][name] = tensor
        size += tensor.nbytes
    return shards


def write_weights(folder: Path | str, weights: dict[str, Tensor], max_bytes: int = 5_000_000_000) -> None:
    """Write one file, or shards of at most `max_bytes` with an index. Tensors that share memory are written twice."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}
    shards = _cut(weights, max_bytes)
    if len(shards) == 1:
        save_file(weights, folder / SINGLE, metadata={"format": "pt"})
        return
    shard_of = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(shard, folder / file, metadata={"format": "pt"})
        shard_of.update(dict.fromkeys(shard, file))
    total = sum(tensor.nbytes for tensor in weights.values())
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": shard_of}, indent=2))
