"""What files of weights in all formats share: the error, JSON beside them, and an index
over several of them.

An index (Hugging Face) is a JSON object whose `weight_map` says for each tensor which
file holds it. It is data from elsewhere: it may name files beside itself and nothing
above.
"""

import json
from collections.abc import Callable
from pathlib import Path

from torch import Tensor


class WeightsError(ValueError):
    """A file of weights, or a folder of them, that can't be used."""


def read_json(path: Path) -> dict:
    """The object in a JSON file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WeightsError(
            f"{path} does not exist: give a folder with config.json and weights"
        ) from None
    except OSError as error:
        raise WeightsError(f"{path} can't be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise WeightsError(
            f"{path} holds a {type(content).__name__}: an object is expected"
        )
    return content


def read_folder(
    folder: Path | str,
    single: str,
    index: str,
    read_file: Callable[[Path], dict[str, Tensor]],
) -> dict[str, Tensor]:
    """Every tensor of a folder, from its one file or from all of its shards; the names
    are the format's.
    """
    folder = Path(folder)
    if (folder / single).exists():
        return read_file(folder / single)
    if not (folder / index).exists():
        raise WeightsError(f"{folder} holds neither {single} nor {index}")
    return read_shards(folder / index, read_file)


def read_shards(
    index: Path, read_file: Callable[[Path], dict[str, Tensor]]
) -> dict[str, Tensor]:
    """Every tensor of the files that an index names, each read by `read_file`."""
    shard_of = read_json(index).get("weight_map")
    if not isinstance(shard_of, dict) or not all(
        isinstance(shard, str) for shard in shard_of.values()
    ):
        raise WeightsError(f"{index} has no weight_map from names to files")
    weights: dict[str, Tensor] = {}
    for shard in sorted(set(shard_of.values())):
        if Path(shard).name != shard:
            raise WeightsError(
                f"{index} names the shard {shard!r}: a file beside the index is"
                " expected"
            )
        held = read_file(index.parent / shard)
        if twice := sorted(weights.keys() & held.keys()):
            raise WeightsError(
                f"{twice[0]!r} is in {shard} and in another shard of {index}"
            )
        weights.update(held)
    if missing := sorted(shard_of.keys() - weights.keys()):
        raise WeightsError(
            f"{index} promises {missing[0]!r} in {shard_of[missing[0]]}, which does not"
            " hold it"
        )
    return weights
