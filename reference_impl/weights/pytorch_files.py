"""Read a model's weights from PyTorch's own files (`pytorch_model.bin`, `.pt`), single
or sharded with an index.

Such a file is a zip archive: `data.pkl`, a pickle that says which tensor is made of
which part, and the parts. A pickle is a program. Unpickled as usual, one that names
`os.system` runs it; so it is read by `torch.load(weights_only=True)` only, whose
unpickler knows a short list of harmless functions.

Before that, two things are looked at that it doesn't look at. The zip must hold its
parts as they are: a compressed one (PyTorch writes none) can claim any size. And the
pickle may name only what a dictionary of tensors needs: even torch's short list has
functions that allocate as much as they are told.

Not here: files from before PyTorch 1.6, which are bare pickles and say nothing of their
sizes in advance; optimiser states; writing (see `safetensors_files`).
"""

import pickletools
import zipfile
from pathlib import Path

import torch
from torch import Tensor

from reference_impl.weights.shards import WeightsError, read_folder

SINGLE, INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"

STORAGES = (
    "Double",
    "Float",
    "Half",
    "BFloat16",
    "Long",
    "Int",
    "Short",
    "Char",
    "Byte",
    "Bool",
)
NEEDED = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    *(f"torch {kind}Storage" for kind in STORAGES),
}
"""All that the pickle of a dictionary of tensors names."""


def read_file(path: Path) -> dict[str, Tensor]:
    """Every tensor of one file, on the CPU and still in the file: its pages are read as
    they are used.
    """
    try:
        if not zipfile.is_zipfile(path):
            with path.open("rb"):
                raise WeightsError(
                    f"{path} is damaged, or from before PyTorch 1.6: a zip archive is"
                    " expected. If you trust an old one, load it with"
                    " torch.load(weights_only=True) and save it again"
                )
        _check_archive(path)
        weights = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except WeightsError:
        raise
    except FileNotFoundError:
        raise WeightsError(f"{path} does not exist") from None
    # Three parsers of others' (zip, pickle, torch) read here what a stranger wrote;
    # whatever they stumble over, with whichever exception, is the file's fault.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise WeightsError(
            f"{path} is damaged or not a PyTorch file: {reason}"
        ) from error
    _check_tensors(path, weights)
    return dict(weights)


def _check_archive(path: Path) -> None:
    """Parts that are stored as they are, and a pickle that names nothing but what
    tensors need.
    """
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if (
            any(part.compress_type != zipfile.ZIP_STORED for part in parts)
            or sum(p.file_size for p in parts) > size
        ):
            raise WeightsError(
                f"{path} is a compressed zip archive: PyTorch writes its parts as they"
                " are, and a compressed one can fill the memory"
            )
        # torch takes a part's name in capitals for the same name, and of two parts of
        # one name its own choice.
        pickles = [part for part in parts if part.filename.lower().endswith(".pkl")]
        if len(pickles) != 1 or not pickles[0].filename.endswith("/data.pkl"):
            raise WeightsError(
                f"{path} holds the pickles {[p.filename for p in pickles]}: one"
                " data.pkl is expected"
            )
        program = archive.read(pickles[0])
    for instruction, argument, _ in pickletools.genops(program):
        if instruction.name in (
            "STACK_GLOBAL",
            "INST",
            "OBJ",
            "EXT1",
            "EXT2",
            "EXT4",
        ) or (instruction.name == "GLOBAL" and argument not in NEEDED):
            named = (
                str(argument).replace(" ", ".")
                if argument
                else f"something by {instruction.name}"
            )
            raise WeightsError(
                f"{path} asks to call {named}, which no tensor needs. It was not"
                " called: this file is malicious, or holds more than a dictionary of"
                " tensors"
            )


def _check_tensors(path: Path, weights: object) -> None:
    if not isinstance(weights, dict):
        raise WeightsError(
            f"{path} holds a {type(weights).__name__}: a dictionary of tensors is"
            " expected"
        )
    size = path.stat().st_size
    for name, tensor in weights.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise WeightsError(
                f"{path} holds {name!r}, a {type(tensor).__name__}: tensors by name are"
                " expected. If it is a checkpoint of a training run, save its model's"
                " state_dict alone"
            )
        # A stride of zero lets one number stand for any shape.
        if tensor.nbytes > size:
            raise WeightsError(
                f"{path} says that {name!r} has shape {tuple(tensor.shape)}: it takes"
                f" {tensor.nbytes:,} bytes, and the file has {size:,}"
            )


def read_weights(folder: Path | str) -> dict[str, Tensor]:
    """Every tensor of a folder, from its one file or from all of its shards."""
    return read_folder(folder, SINGLE, INDEX, read_file)
