"""Several LoRA adapters on one model, each sequence of a batch with its own or with
none.

Hu et al. 2021, section 4.1: W x + (alpha / r) B A x. All rows of a step go through W
together; what A and B add is computed for the rows of one adapter at a time and added
there (Chen et al. 2023, "Punica", section 4, does all of them in one kernel). So n
adapters cost their own few numbers and not n models.

Adapters are read as peft saves them: adapter_config.json and adapter_model.safetensors.
Every setting that is not followed here is refused by name, and so is every tensor
without a place.

Not here: training one (see `layers.lora`), adapters of embeddings, loading while
requests are served.
"""

import math
from collections.abc import Mapping
from collections.abc import Sequence as Ids
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_impl.weights.safetensors_files import read_file
from reference_impl.weights.shards import WeightsError, read_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
FOLLOWED = {"r", "lora_alpha", "use_rslora"}
FREE = frozenset(
    """
    peft_version base_model_name_or_path revision task_type auto_mapping inference_mode
    target_modules exclude_modules lora_dropout fan_in_fan_out layers_to_transform
    layers_pattern rank_pattern megatron_core qalora_group_size ensure_weight_tying
""".split()
)
"""Change no number of an adapter that is read: how it was trained, and what its tensors
show themselves."""
ONLY = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "init_lora_weights": (True, False, "gaussian", "orthogonal", "eva"),
}


class Update(tuple[Tensor, Tensor]):
    """A (r, in) and B (out, r), the latter times alpha / r."""


@dataclass
class Chosen:
    """Which rows of what passes through the model belong to which adapter; rows of none
    are in no group.
    """

    groups: Ids[tuple[str, Int[Tensor, "N"]]] = ()


class AdaptedLinear(nn.Module):
    """A linear layer, and for some rows the update of their adapter."""

    def __init__(self, base: nn.Module, chosen: Chosen):
        super().__init__()
        self.base, self.chosen = base, chosen
        self.in_features, self.out_features = base.in_features, base.out_features
        self.updates: dict[str, Update] = {}

    def forward(self, x: Float[Tensor, "*B T I"]) -> Float[Tensor, "*B T O"]:
        """W x for every row, and B A x beside it through r numbers."""
        y = self.base(x)
        for name, rows in self.chosen.groups:
            if name in self.updates:
                a, b = self.updates[name]
                y = y.index_add(
                    -2, rows, linear(linear(x.index_select(-2, rows), a), b)
                )
        return y


class Adapters:
    """The adapters of one model, by name.

    Layers that one of them changes are replaced in the model.
    """

    def __init__(self, model: nn.Module, paths: Mapping[str, Path | str]):
        self._chosen = Chosen()
        self._of_base = _linear_layers(model)
        updates = {
            name: read_adapter(path, model, self._of_base)
            for name, path in paths.items()
        }
        for layer in {layer for each in updates.values() for layer in each}:
            adapted = AdaptedLinear(model.get_submodule(layer), self._chosen)
            adapted.updates = {
                name: each[layer] for name, each in updates.items() if layer in each
            }
            parent, _, last = layer.rpartition(".")
            setattr(model.get_submodule(parent), last, adapted)
        self.names = list(updates)

    def choose(
        self, names: Ids[str | None], counts: Ids[int], device: torch.device
    ) -> None:
        """The next rows that pass are `counts` of each of these, None for the base
        model.
        """
        rows: dict[str, list[int]] = {}
        start = 0
        for name, count in zip(names, counts, strict=True):
            if name is not None:
                rows.setdefault(name, []).extend(range(start, start + count))
            start += count
        self._chosen.groups = [
            (name, torch.tensor(each, device=device))
            for name, each in rows.items()
            if each
        ]


def _linear_layers(model: nn.Module) -> dict[str, str]:
    """What published files call each linear layer, to our name.

    One whose matrix is the embedding's too is left out.
    """
    shared = model.embedding.weight
    return {
        model.names.module_to_theirs(name): name
        for name, module in model.named_modules()
        if hasattr(module, "in_features")
        and getattr(module, "weight", None) is not shared
    }


def read_adapter(
    path: Path | str, model: nn.Module, layers: Mapping[str, str] | None = None
) -> dict[str, Update]:
    """The updates of peft's adapter in a folder, by our names of the model's layers.

    Raises WeightsError for a setting that is not followed, and for a tensor without a
    place or of another shape.
    """
    folder, layers = Path(path), _linear_layers(model) if layers is None else layers
    config = read_json(folder / CONFIG)
    _check_config(config, folder / CONFIG)
    weight = next(model.parameters())
    found: dict[str, dict[str, Tensor]] = {}
    for name, tensor in read_file(folder / WEIGHTS).items():
        short = name.removeprefix("base_model.model.")
        if _is_base(short.replace(".base_layer.", "."), tensor, model):
            continue
        stem, _, part = short.removesuffix(".weight").rpartition(".")
        layer = layers.get(stem)
        if layer is None or part not in ("lora_A", "lora_B"):
            raise WeightsError(
                f"{folder / WEIGHTS} has {name!r}, which is neither an update of a"
                f" linear layer of this {type(model).__name__} nor its own weight: was"
                " it trained on another model?"
            )
        found.setdefault(layer, {})[part] = tensor.to(weight.device, weight.dtype)
    if not found:
        raise WeightsError(f"{folder / WEIGHTS} holds no update")
    return {
        layer: _update(layer, parts, config, model.get_submodule(layer), folder)
        for layer, parts in found.items()
    }


def _is_base(name: str, tensor: Tensor, model: nn.Module) -> bool:
    """Whether a file repeats this parameter of the model, with the same numbers: peft
    saves embeddings along.
    """
    try:
        [place] = model.names.to_ours({name: tensor}, model.config)
        ours = model.get_parameter(place.ours)
    except (WeightsError, AttributeError, ValueError):
        return False
    return ours.shape == place.tensor.shape and torch.equal(
        ours.cpu(), place.tensor.to(ours.dtype)
    )


def _check_config(config: Mapping[str, Any], path: Path) -> None:
    for key, values in ONLY.items():
        if key in config and config[key] not in values:
            raise WeightsError(
                f"{path} sets {key} to {config[key]!r}: only"
                f" {' or '.join(map(repr, values))} can be served"
            )
    for key, value in config.items():
        if (
            key not in FOLLOWED
            and key not in FREE
            and key not in ONLY
            and value not in (None, False, {}, [])
        ):
            raise WeightsError(
                f"{path} sets {key} to {value!r}, which is not followed here: the"
                " adapter would give other numbers than it was trained to"
            )
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if (
        type(rank) is not int
        or rank < 1
        or type(alpha) not in (int, float)
        or not math.isfinite(alpha)
    ):
        raise WeightsError(
            f"{path} has r {rank!r} and lora_alpha {alpha!r}: a whole number from 1 on"
            " and a number are expected"
        )


def _update(
    layer: str,
    parts: Mapping[str, Tensor],
    config: Mapping[str, Any],
    module: nn.Module,
    folder: Path,
) -> Update:
    if missing := {"lora_A", "lora_B"} - parts.keys():
        raise WeightsError(
            f"{folder / WEIGHTS} lacks {missing.pop()} of {layer}: A and B come"
            " together"
        )
    a, b = parts["lora_A"], parts["lora_B"]
    rank = a.shape[0] if config.get("rank_pattern") else config["r"]
    if a.shape != (rank, module.in_features) or b.shape != (module.out_features, rank):
        raise WeightsError(
            f"{folder / WEIGHTS}: A and B of {layer} have shapes {tuple(a.shape)} and"
            f" {tuple(b.shape)}, but the layer is {module.out_features} x"
            f" {module.in_features} and the rank {rank}"
        )
    return Update(
        (
            a,
            config["lora_alpha"]
            / (math.sqrt(rank) if config.get("use_rslora") else rank)
            * b,
        )
    )
