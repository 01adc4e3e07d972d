"""A folder with config.json and weights into a model, and a model's weights under Hugging Face's names.

A model class has `config_class`, a dataclass whose `model_types` says which config.json it reads and whose `published`
maps its field names to the published ones, and an attribute `names` (see `names`). The dataclass may have `only`, the
published settings that must have one value, and `read`, which brings a published object into a flat form.

A configuration is as little trusted as the weights: the model is first built without memory and its shapes compared
with those of the file, so that no file makes us allocate more than it brings itself.
"""
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from reference_impl.weights import pytorch_files, safetensors_files
from reference_impl.weights.shards import WeightsError, read_json

Model = TypeVar("Model", bound=nn.Module)

MAX_LAYERS = 1000
"""Of all published models of these families none has more than a few hundred."""


def config_from(config_class: type, published: Mapping) -> object:
    """Our configuration from the object in a config.json. Fields that the file leaves out keep our default."""
    kind = published.get("model_type")
    if kind not in config_class.model_types:
        raise WeightsError(f"config.json is of model_type {kind!r}, but {config_class.__name__} reads "
                           f"{' or '.join(map(repr, config_class.model_types))}")
    try:
        published = getattr(config_class, "read", dict)(published)
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise WeightsError(f"config.json is not one that {config_class.__name__} understands: {error!r}") from error
    names = {field.name: config_class.published.get(field.name, field.name) for field in fields(config_class)}
    given = {ours: published[theirs] for ours, theirs in names.items() if published.get(theirs) is not None}
    for name, (only, why) in getattr(config_class, "only", {}).items():
        if published.get(name, only) != only:
            raise WeightsError(f"config.json sets {name} to {published[name]!r}, {config_class.__name__} can only "
                               f"{only!r}: {why}")
    for field in fields(config_class):
        if field.name in given:
            _check_setting(field.name, given[field.name], field.type, config_class)
    try:
        return config_class(**given)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"config.json does not make a {config_class.__name__}: {error}") from error


def refuse_scaled_rotary(published: Mapping, config_name: str) -> None:
    """WeightsError if a config.json stretches rotary positions, which this model does not: it would be read wrongly."""
    settings = [published.get("rope_scaling"), published.get("rope_parameters")]
    settings += [inner for outer in settings if isinstance(outer, Mapping) for inner in outer.values()]
    for rope in settings:
        kind = rope.get("rope_type", rope.get("type", "default")) if isinstance(rope, Mapping) else "default"
        if kind != "default":
            raise WeightsError(f"config.json scales rotary positions by {kind!r}: {config_name} can only 'default'")


def _check_setting(name: str, value: object, kind: object, config_class: type) -> None:
    """A number where a number belongs, and none that no model has. Other kinds are for the configuration to judge."""
    kinds = set(kind.__args__) if isinstance(kind, types.UnionType) else {kind}
    if not kinds <= {int, float, bool, str, type(None)}:
        return
    fits = isinstance(value, (int, float) if float in kinds else tuple(kinds)) and (bool in kinds or
                                                                                    not isinstance(value, bool))
    limit = MAX_LAYERS if name.endswith("layers") else 2 ** 31
    if not fits or (int in kinds and isinstance(value, int) and not -1 <= value < limit):
        raise WeightsError(f"config.json sets {name} to {value!r}: {config_class.__name__} expects "
                           f"{' or '.join(sorted(one.__name__ for one in kinds))}, below {limit:,} if it is a number")


def build(model_class: type[Model], config: object, weights: Mapping[str, Tensor], **arguments) -> Model:
    """The model of a configuration, once it is sure that `weights` (shapes are enough) are of this model.

    Its parameters hold anything: load them.
    """
    try:
        with torch.device("meta"), _NoRandomStart():
            model = model_class(config, **arguments)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise WeightsError(f"config.json does not make a {model_class.__name__}: {error}") from error
    _matched(model, weights)
    with _NoRandomStart():
        return model_class(config, **arguments)


class _NoRandomStart(TorchFunctionMode):
    """No random numbers into parameters that are about to be loaded: they take most of the time of loading."""

    SKIPPED = {"normal_", "uniform_", "trunc_normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_",
               "xavier_normal_"}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in self.SKIPPED:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def load_hugging_face(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy a state_dict in Hugging Face's names into the model. Every parameter must be there, of the right shape.

    A tensor that the model uses twice (tied input and output embeddings) may be there once.
    """
    ours = _matched(model, weights)
    wanted = dict(model.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, tensor in ours.items():
            wanted[name].copy_(tensor)


def _matched(model: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights under our names; WeightsError unless they are the model's, all of them, of the right shapes."""
    ours = model.names.to_ours(weights)
    wanted = dict(model.named_parameters(remove_duplicate=False))
    for name, tensor in ours.items():
        if name not in wanted:
            raise WeightsError(f"the checkpoint has {name!r}, which this {type(model).__name__} lacks: "
                               "do its config.json and its weights belong together?")
        if tensor.shape != wanted[name].shape:
            raise WeightsError(f"{name} has shape {tuple(tensor.shape)} in the checkpoint but "
                               f"{tuple(wanted[name].shape)} in this {type(model).__name__}")
    given = {id(wanted[name]) for name in ours}
    if missing := [name for name, parameter in wanted.items() if id(parameter) not in given]:
        raise WeightsError(f"the checkpoint lacks {missing[0]!r} and {len(missing) - 1} more of this "
                           f"{type(model).__name__}: is it of another architecture, or without this head?")
    return ours


def hugging_face_state(model: nn.Module) -> dict[str, Tensor]:
    """The model's parameters under Hugging Face's names, tied ones under each of theirs."""
    return model.names.to_theirs({name: p.detach() for name, p in model.named_parameters(remove_duplicate=False)})


def from_pretrained(model_class: type[Model], folder: Path | str, inside: str = "", leave: Sequence[str] = (),
                    outer: str = "", **arguments) -> Model:
    """Build the model that config.json describes and load the folder's weights into it, in evaluation mode.

    `inside` is what the model is called inside larger ones ("bert" in BertForMaskedLM): if the file is of such a one,
    the part is taken and its head is left. `leave` are starts of names that a file may have and this model does not
    use. `outer` stands before the names of most files, and is put before those of a file that lacks it everywhere.
    Other arguments go to the model.
    """
    folder = Path(folder)
    config = config_from(model_class.config_class, read_json(folder / "config.json"))
    weights = _read_weights(folder)
    prefix = f"{inside}."
    if inside and any(name.startswith(prefix) for name in weights):
        weights = {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
    if outer and not any(name.startswith(f"{outer}.") for name in weights):
        weights = {f"{outer}.{name}": tensor for name, tensor in weights.items()}
    weights = {name: tensor for name, tensor in weights.items() if not name.startswith(tuple(leave))}
    model = build(model_class, config, weights, **arguments)
    load_hugging_face(model, weights)
    return model.eval()


def _read_weights(folder: Path) -> dict[str, Tensor]:
    """A folder's safetensors; where there are none, PyTorch's files."""
    safe = any((folder / name).exists() for name in (safetensors_files.SINGLE, safetensors_files.INDEX))
    pickled = any((folder / name).exists() for name in (pytorch_files.SINGLE, pytorch_files.INDEX))
    return (pytorch_files if pickled and not safe else safetensors_files).read_weights(folder)
