"""Our parameter names to Hugging Face's and back.

A model keeps a table such as {"blocks.*.norm": "encoder.layer.*.LayerNorm"}. A star is a layer's number; what follows
the longest entry that fits (".weight", ".bias") is kept. That is all there is to most families. Two things more:
GPT's linear layers are published transposed, and some tensors are published under two names.
"""
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from reference_impl.weights.safetensors_files import WeightsError

# Tables that old files carry and that are computed, not trained.
COMPUTED = re.compile(r"(position_ids|inv_freq|masked_bias|token_type_ids|(^|\.)attn\.bias)$")


@dataclass(frozen=True)
class Names:
    """How a model's parameters are called elsewhere.

    table       ours to theirs, by module, "*" for a layer's number
    transposed  those of ours whose matrix is published with rows and columns exchanged
    twice       their second names: a second name to the first. Both are written; in reading either will do.
    files       names that are only found in files: such a name to the one above. Read, and never written.
    """

    table: Mapping[str, str]
    transposed: frozenset[str] = frozenset()
    twice: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def inside(self, ours: str, theirs: str, more: Mapping[str, str] | None = None) -> "Names":
        """The names of this model as a part of a larger one, where it is called `ours` and `theirs`."""
        def below(prefix: str, name: str) -> str:
            return f"{prefix}.{name}" if prefix else name
        table = {below(ours, name): below(theirs, other) for name, other in self.table.items()}
        return Names({**table, **(more or {})},
                     frozenset(below(ours, name) for name in self.transposed),
                     {below(theirs, second): below(theirs, first) for second, first in self.twice.items()},
                     {below(theirs, other): below(theirs, name) for other, name in self.files.items()})

    def to_theirs(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state_dict of ours under their names."""
        renamed = {}
        for name, tensor in weights.items():
            entry, their_name = _translate(name, self.table.items())
            renamed[their_name] = tensor.T.contiguous() if self._turned(entry, tensor) else tensor
        return {**renamed, **{second: renamed[first] for second, first in self.twice.items() if first in renamed}}

    def to_ours(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state_dict of theirs under our names. Computed tables are left out; an unknown name is an error."""
        weights = {name: tensor for name, tensor in weights.items() if not COMPUTED.search(name)}
        for second, first in ({**self.twice, **self.files}).items():
            if second in weights:
                given = weights.pop(second)
                weights.setdefault(first, given)
        entries = [(theirs, ours) for ours, theirs in self.table.items()]
        renamed = {}
        for name, tensor in weights.items():
            entry, our_name = _translate(name, entries)
            renamed[our_name] = tensor.T.contiguous() if self._turned(entry, tensor, by_theirs=True) else tensor
        return renamed

    def _turned(self, entry: str, tensor: Tensor, by_theirs: bool = False) -> bool:
        turned = {self.table[name] for name in self.transposed} if by_theirs else self.transposed
        return tensor.ndim == 2 and entry in turned


def _translate(name: str, entries: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """The entry that fits a name, and the name by that entry; the longest entry wins."""
    best = None
    for source, target in entries:
        fits = re.fullmatch(re.escape(source).replace(r"\*", r"(\d+)") + r"((?:\.\w+)?)", name)
        if fits and (best is None or len(source) > len(best[0])):
            *numbers, rest = fits.groups()
            best = source, _fill(target, numbers) + rest
    if best is None:
        raise WeightsError(f"{name!r} is no parameter of this model: is the checkpoint of another architecture?")
    return best


def _fill(template: str, numbers: list[str]) -> str:
    given = iter(numbers)
    return re.sub(r"\*", lambda _: next(given), template)
