"""A folder with config.json and weights into a model, and a model's weights under
Hugging Face's names.

A model's class is a `Pretrained`: it has `config_class`, a dataclass whose `formats`
say how a config.json is read (see `published`), and `files`, which says what its
tensors are called (see `names`). Both stand in `families`.

A file is refused by default. Every key of its configuration is followed, and every
tensor goes to one place; two that go to one place must be equal, or one of them would
be lost in silence.

A configuration is as little trusted as the weights: the model is first built without
memory and its shapes compared with those of the file, so that no file makes us allocate
more than it brings itself.
"""

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from reference_impl.layers.settings import described, is_of
from reference_impl.weights import pytorch_files, safetensors_files
from reference_impl.weights.names import Files, Names, Place
from reference_impl.weights.published import Published, check_only
from reference_impl.weights.shards import WeightsError, read_json

Model = TypeVar("Model", bound=nn.Module)

MAX_LAYERS = 1000
"""Of all published models of these families none has more than a few hundred."""
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""What the parameters of a model can be, and the tensors of a file."""


class Pretrained:
    """What every model that has published weights can do besides computing."""

    config_class: ClassVar[type]
    files: ClassVar[Files]

    @property
    def names(self) -> Names:
        """What Hugging Face calls this model's parameters."""
        return self.files.names_for(self.config)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        path: Path | str,
        *,
        dtype: torch.dtype = torch.float32,
        **arguments: Any,
    ) -> Model:
        """Build the model that a folder's config.json describes and load its weights,
        in evaluation mode.

        Weights are safetensors or PyTorch's files, single or sharded; whatever numbers
        they hold become `dtype`. Of a larger model's file, the part that is this one is
        read. Other arguments go to the class, such as `num_labels`. Raises
        WeightsError, naming the key or the tensor, for a file that does not give this
        very model.
        """
        if dtype not in DTYPES:
            raise WeightsError(
                f"dtype is {dtype!r}: give one of {', '.join(map(str, DTYPES))}"
            )
        folder = Path(path)
        published = read_json(folder / "config.json")
        config = config_from(cls.config_class, published)
        check_only(cls.files.only, published, published)
        weights = cls.files.part(_read_weights(folder))
        model = build(cls, config, weights, dtype=dtype, **arguments)
        load_hugging_face(model, weights)
        model.tie_as_in(weights)
        return model.eval()

    def tie_as_in(self, names: Container[str]) -> None:
        """Make one parameter of two that a checkpoint with these names has as one.

        Only for a model whose configuration does not say so.
        """


def model_types(config_class: type) -> tuple[str, ...]:
    """Which config.json files make a configuration of this class."""
    return tuple(one.model_type for one in config_class.formats)


def config_from(config_class: type, published: Mapping) -> object:
    """Our configuration from the object in a config.json.

    Settings that the file leaves out are the library's.
    """
    kind = published.get("model_type")
    form: Published | None = next(
        (one for one in config_class.formats if one.model_type == kind), None
    )
    if form is None:
        raise WeightsError(
            f"config.json is of model_type {kind!r}, but {config_class.__name__} reads "
            f"{' or '.join(map(repr, model_types(config_class)))}"
        )
    given = form.settings_from(published)
    annotations = {field.name: field.type for field in fields(config_class)}
    for name, value in given.items():
        limit = MAX_LAYERS if name.endswith("layers") else 2**31
        if isinstance(value, int) and value >= limit:
            raise WeightsError(
                f"config.json sets {name} to {value!r}: {config_class.__name__} expects"
                f" int, below {limit:,}"
            )
        if not is_of(value, annotations[name]):
            raise WeightsError(
                f"config.json sets {name} to {value!r}: {config_class.__name__} expects"
                f" {described(annotations[name])}"
            )
    try:
        return config_class(**given)
    except (TypeError, ValueError) as error:
        raise WeightsError(
            f"config.json does not make a {config_class.__name__}: {error}"
        ) from error


def build(
    model_class: type[Model],
    config: object,
    weights: Mapping[str, Tensor],
    *,
    dtype: torch.dtype = torch.float32,
    **arguments: Any,
) -> Model:
    """The model of a configuration, once it is sure that `weights` (shapes are enough)
    are of this model.

    Its parameters hold anything: load them.
    """
    try:
        with torch.device("meta"), _NoRandomStart():
            model = model_class(config, **arguments)
    except (ValueError, RuntimeError, ArithmeticError) as error:
        raise WeightsError(
            f"config.json does not make a {model_class.__name__}: {error}"
        ) from error
    _matched(model, weights)
    with _made_in(dtype), _NoRandomStart():
        return model_class(config, **arguments)


@contextmanager
def _made_in(dtype: torch.dtype) -> Iterator[None]:
    """Parameters are made in this dtype, so that none exists in a wider one for a
    moment.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class _NoRandomStart(TorchFunctionMode):
    """No random numbers into parameters that are about to be loaded: they take most of
    the time of loading.
    """

    SKIPPED = {
        "normal_",
        "uniform_",
        "trunc_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "xavier_uniform_",
        "xavier_normal_",
    }

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in self.SKIPPED:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def load_hugging_face(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy a state_dict in Hugging Face's names into the model.

    Every parameter must be there, of the right shape.

    A tensor that the model uses twice (tied input and output embeddings) may be there
    once; if it is there twice, both must be equal.
    """
    wanted = dict(model.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for place in _matched(model, weights):
            wanted[place.ours].copy_(place.tensor)


def _matched(model: nn.Module, weights: Mapping[str, Tensor]) -> list[Place]:
    """Where each tensor goes, one for each parameter; WeightsError unless they are the
    model's, all of them.
    """
    wanted = dict(model.named_parameters(remove_duplicate=False))
    taken: dict[int, Place] = {}
    for place in model.names.to_ours(weights, model.config):
        _check_fits(place, wanted, type(model).__name__)
        first = taken.setdefault(id(wanted[place.ours]), place)
        if first is not place and not _equal(first.tensor, place.tensor):
            raise WeightsError(
                f"{first.theirs!r} and {place.theirs!r} differ in the checkpoint, and"
                f" are one parameter of this {type(model).__name__}, {place.ours!r}:"
                " one of the two would be lost"
            )
    if missing := [
        name for name, parameter in wanted.items() if id(parameter) not in taken
    ]:
        raise WeightsError(
            f"the checkpoint lacks {missing[0]!r} and {len(missing) - 1} more of this"
            f" {type(model).__name__}: is it of another architecture, or without this"
            " head?"
        )
    return list(taken.values())


def _equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors of one shape hold the same numbers, in whichever dtypes; so
    far, if they have none yet.
    """
    if one.is_meta or other.is_meta:
        return True
    return (
        torch.equal(one, other)
        if one.dtype == other.dtype
        else torch.equal(one.double(), other.double())
    )


def _check_fits(place: Place, wanted: Mapping[str, Tensor], model: str) -> None:
    if place.ours not in wanted:
        raise WeightsError(
            f"the checkpoint has {place.ours!r}, there {place.theirs!r}, which this"
            f" {model} lacks: do its config.json and its weights belong together?"
        )
    if place.tensor.dtype not in DTYPES:
        raise WeightsError(
            f"{place.theirs!r} holds {place.tensor.dtype}: is the checkpoint quantised?"
            f" Numbers of {', '.join(map(str, DTYPES))} can be read"
        )
    if place.tensor.shape != wanted[place.ours].shape:
        raise WeightsError(
            f"{place.ours} has shape {tuple(place.tensor.shape)} in the checkpoint but "
            f"{tuple(wanted[place.ours].shape)} in this {model}"
        )


def hugging_face_state(model: nn.Module) -> dict[str, Tensor]:
    """The model's parameters under Hugging Face's names, tied ones under each of
    theirs.
    """
    return model.names.to_theirs(
        {name: p.detach() for name, p in model.named_parameters(remove_duplicate=False)}
    )


def _read_weights(folder: Path) -> dict[str, Tensor]:
    """A folder's safetensors; where there are none, PyTorch's files."""
    safe = any(
        (folder / name).exists()
        for name in (safetensors_files.SINGLE, safetensors_files.INDEX)
    )
    pickled = any(
        (folder / name).exists() for name in (pytorch_files.SINGLE, pytorch_files.INDEX)
    )
    return (pytorch_files if pickled and not safe else safetensors_files).read_weights(
        folder
    )
