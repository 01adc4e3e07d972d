"""Stop at any moment, go on as if nothing had happened.

A checkpoint is a folder `checkpoints/step-00001000` with `model.safetensors`,
`optimizer.safetensors` and `training.json`. It is written under another name and
renamed when it is whole, so a process that is killed while writing leaves the one
before. The last two are kept; if the newest is damaged, the one before it is taken,
with a warning.

Together with batches that are a function of their number, and torch seeded for each
(see `loop`), this is all the state that there is: a training that goes on ends with the
same weights, bit for bit. States of generators need no keeping.

Not here: Hugging Face's names (see `weights`), shards of a checkpoint.
"""

import dataclasses
import json
import os
import shutil
import warnings
import zlib
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from reference_impl.training.distributed import Processes, like, whole
from reference_impl.weights.safetensors_files import WeightsError, read_file, read_json

MODEL, OPTIMIZER, REST = "model.safetensors", "optimizer.safetensors", "training.json"
KEPT = 2
FREE = ("eval_every", "checkpoint_every", "parallel")  # settings that change no weight


class CheckpointError(ValueError):
    """A checkpoint of something else than is being trained."""


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers that make up the model's state, each once: tied weights
    under their first name.
    """
    names = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        names.setdefault(id(tensor), (name, tensor))
    return dict(names.values())


def describe_model(model: nn.Module) -> dict:
    """What a checkpoint's model is compared by: class, configuration, and each tensor's
    kind and shape.
    """
    return {
        "class": type(model).__name__,
        "config": repr(getattr(model, "config", None)),
        "tensors": {
            name: f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
            for name, tensor in model_tensors(model).items()
        },
    }


def describe_config(config) -> dict[str, str]:
    """The settings that decide the weights, as text.

    Where a constant rate ends changes none before.
    """
    free = (*FREE, "num_steps") if config.schedule == "constant" else FREE
    return {
        name: repr(value)
        for name, value in dataclasses.asdict(config).items()
        if name not in free
    }


class Checkpoints:
    """The checkpoints of one training in `folder`; without a folder there are none."""

    def __init__(
        self,
        folder: Path | str | None,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        config,
        processes: Processes,
    ):
        self.folder = None if folder is None else Path(folder) / "checkpoints"
        self.model, self.optimizer, self.processes = model, optimizer, processes
        self.num_steps = config.num_steps
        self.is_of = {
            "model": describe_model(model),
            "training": describe_config(config),
        }

    def _all(self) -> list[Path]:
        """Oldest first."""
        return (
            sorted(self.folder.glob("step-*"))
            if self.folder is not None and self.folder.exists()
            else []
        )

    def last_words(self) -> str:
        """Where the last state is, for an error message."""
        kept = self._all()
        return (
            f"the last checkpoint is {kept[-1]}" if kept else "there is no checkpoint"
        )

    def save(self, step: int, seen: int) -> None:
        """The state after this many steps, with how many terms were seen so far."""
        if self.folder is None:
            return
        files = {
            MODEL: {
                name: whole(tensor.detach())
                for name, tensor in model_tensors(self.model).items()
            },
            OPTIMIZER: self._optimizer_tensors(),
        }
        if self.processes.rank == 0:
            self._write(
                self.folder / f"step-{step:08d}",
                files,
                {"step": step, "terms": seen, **self.is_of},
            )
        self.processes.wait()

    def _write(
        self, path: Path, files: dict[str, dict[str, Tensor]], rest: dict
    ) -> None:
        unfinished = path.with_name(f"unfinished-{path.name}")
        for old in (unfinished, path):  # `path` is there only if it was found damaged
            shutil.rmtree(old, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for name, tensors in files.items():
            save_file(
                {key: tensor.contiguous() for key, tensor in tensors.items()},
                unfinished / name,
            )
        rest["crc32"] = {
            name: zlib.crc32((unfinished / name).read_bytes()) for name in files
        }
        (unfinished / REST).write_text(json.dumps(rest, indent=1), encoding="utf-8")
        for file in (*unfinished.iterdir(), unfinished):
            descriptor = os.open(file, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        os.rename(unfinished, path)
        for old in self._all()[:-KEPT]:
            shutil.rmtree(old)

    def resume(self) -> tuple[int, int]:
        """Put the newest whole checkpoint into model and optimiser; return its step and
        terms, or (0, 0) for none.

        Raises CheckpointError if it is of another model or of other settings.
        """
        for path in reversed(self._all()):
            try:
                rest, tensors = read_checkpoint(path)
            except WeightsError as error:
                warnings.warn(f"checkpoint skipped: {error}", stacklevel=3)
                continue
            self._refuse_others(path, rest)
            if rest["step"] > self.num_steps:
                raise CheckpointError(
                    f"{path} is {rest['step']} steps on, past the {self.num_steps} that"
                    " are asked for: ask for as many or more, or train in another"
                    " folder"
                )
            for name, tensor in model_tensors(self.model).items():
                tensor.data.copy_(
                    like(tensors[MODEL][name].to(tensor.device), tensor.data)
                )
            self._load_optimizer(tensors[OPTIMIZER])
            return rest["step"], rest["terms"]
        return 0, 0

    def _refuse_others(self, path: Path, rest: dict) -> None:
        remedy = "train in another folder, or remove this one"
        ours, theirs = self.is_of["model"], rest["model"]
        if ours != theirs:
            what = next(key for key in ours if ours[key] != theirs.get(key))
            if what == "tensors":
                name = next(
                    n
                    for n in {**ours[what], **theirs[what]}
                    if ours[what].get(n) != theirs[what].get(n)
                )
                raise CheckpointError(
                    f"{path}: {name} is {theirs[what].get(name, 'missing')} there and "
                    f"{ours[what].get(name, 'missing')} in this model: {remedy}"
                )
            raise CheckpointError(
                f"{path} is of {theirs['class']} with {theirs['config']}, this model is"
                f" {ours['class']} with {ours['config']}: {remedy}"
            )
        ours, theirs = self.is_of["training"], rest["training"]
        changed = [
            f"{name} was {theirs.get(name)} and is {value}"
            for name, value in ours.items()
            if theirs.get(name) != value
        ]
        if changed:
            raise CheckpointError(
                f"{path} was made with other settings: {'; '.join(changed)}: {remedy}"
            )

    def _named(self) -> dict[str, nn.Parameter]:
        trained = {
            id(parameter)
            for group in self.optimizer.param_groups
            for parameter in group["params"]
        }
        return {
            name: parameter
            for name, parameter in self.model.named_parameters()
            if id(parameter) in trained
        }

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        """Averages and steps as `average/parameter`."""
        return {
            f"{kind}/{name}": whole(tensor)
            for name, parameter in self._named().items()
            for kind, tensor in self.optimizer.state.get(parameter, {}).items()
        }

    def _load_optimizer(self, tensors: dict[str, Tensor]) -> None:
        named = self._named()
        for key, tensor in tensors.items():
            kind, name = key.split("/", 1)
            if name not in named:
                raise CheckpointError(
                    f"the checkpoint trained {name!r}, which is frozen now: freeze what"
                    " was frozen then"
                )
            parameter = named[name]
            cut = (
                tensor
                if kind == "step"
                else like(tensor.to(parameter.device), parameter.data)
            )
            self.optimizer.state[parameter][kind] = cut


def read_checkpoint(path: Path) -> tuple[dict, dict[str, dict[str, Tensor]]]:
    """What is in a checkpoint's folder: the rest, and the tensors of each file.

    Raises WeightsError if damaged.
    """
    rest = read_json(path / REST)
    missing = [
        key
        for key in ("step", "terms", "model", "training", "crc32")
        if key not in rest
    ]
    if missing:
        raise WeightsError(f"{path / REST} has no {', '.join(missing)}")
    tensors = {}
    for name in (MODEL, OPTIMIZER):
        tensors[name] = read_file(path / name)
        if zlib.crc32((path / name).read_bytes()) != rest["crc32"].get(name):
            raise WeightsError(
                f"{path / name} is not what was written: its checksum differs"
            )
    return rest, tensors
