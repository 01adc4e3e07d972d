"""Our parameter names to Hugging Face's and back.

A family keeps a table such as {"blocks.*.norm": "encoder.layer.*.LayerNorm"}. A star is
a layer's number; what follows the longest entry that fits (".weight", ".bias") is kept.
That is all there is to most families. Three things more: GPT's linear layers are
published transposed, some tensors are published under two names, and files of older
libraries carry tables that are computed (see `families.tables`).

Every name of a file leads to one place or is an error; two that lead to the same place
are compared in `pretrained`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from torch import Tensor

from reference_impl.weights.published import Only
from reference_impl.weights.shards import WeightsError

Computed = Mapping[str, Callable[[Tensor, object], bool]]
"""Names of tables that are computed, each with what says that a tensor is the table of
a configuration."""
OLD_ENDINGS = {"gamma": "weight", "beta": "bias"}  # of norms, in BERT's first files


class Place(NamedTuple):
    """Where a tensor of a file goes: its name there, our parameter, its numbers as ours
    has them.
    """

    theirs: str
    ours: str
    tensor: Tensor


@dataclass(frozen=True)
class Names:
    """How a model's parameters are called elsewhere.

    table       ours to theirs, by module, "*" for a layer's number
    transposed  those of ours whose matrix is published with rows and columns exchanged
    twice       their second names: a second name to the first. Both are written; in
                reading either will do.
    files       names that are only found in files: such a name to the one above. Read,
                and never written.
    computed    tables in old files, which are looked at and left
    otherwise   a name to another, whose tensor it has where a file leaves it out
    """

    table: Mapping[str, str]
    transposed: frozenset[str] = frozenset()
    twice: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    computed: Computed = field(default_factory=dict)
    otherwise: Mapping[str, str] = field(default_factory=dict)

    def inside(self, ours: str, theirs: str) -> "Names":
        """The names of this model as a part of a larger one, where it is called `ours`
        and `theirs`.
        """

        def below(prefix: str, name: str) -> str:
            return f"{prefix}.{name}" if prefix else name

        def below_theirs(pairs: Mapping[str, str]) -> dict[str, str]:
            return {
                below(theirs, one): below(theirs, other) for one, other in pairs.items()
            }

        return Names(
            {
                below(ours, name): below(theirs, other)
                for name, other in self.table.items()
            },
            frozenset(below(ours, name) for name in self.transposed),
            below_theirs(self.twice),
            below_theirs(self.files),
            {below(theirs, name): is_it for name, is_it in self.computed.items()},
            below_theirs(self.otherwise),
        )

    def with_more(
        self,
        table: Mapping[str, str],
        twice: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
    ) -> "Names":
        """These and those of a head."""
        return replace(
            self,
            table={**self.table, **table},
            twice={**self.twice, **(twice or {})},
            files={**self.files, **(files or {})},
        )

    def module_to_theirs(self, name: str) -> str:
        """Their name of one of our modules."""
        return _translate(name, self.table.items())[1]

    def to_theirs(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state_dict of ours under their names."""
        renamed = {}
        for name, tensor in weights.items():
            entry, their_name = _translate(name, self.table.items())
            renamed[their_name] = (
                tensor.T.contiguous()
                if _turned(tensor, entry in self.transposed)
                else tensor
            )
        return {
            **renamed,
            **{
                second: renamed[first]
                for second, first in self.twice.items()
                if first in renamed
            },
        }

    def to_ours(
        self, weights: Mapping[str, Tensor], config: object = None
    ) -> list[Place]:
        """Where each tensor of theirs goes; several may go to one place.

        An unknown name is an error.
        """
        entries = [(theirs, ours) for ours, theirs in self.table.items()]
        turned = {self.table[name] for name in self.transposed}
        given = list(weights.items())
        given += [
            (first, weights[other])
            for first, other in self.otherwise.items()
            if first not in weights and other in weights
        ]
        places = []
        for name, tensor in given:
            if self._is_computed(name, tensor, config):
                continue
            known = self.twice.get(name, self.files.get(name, name))
            entry, our_name = _translate(_with_new_ending(known), entries)
            places.append(
                Place(
                    name,
                    our_name,
                    tensor.T if _turned(tensor, entry in turned) else tensor,
                )
            )
        return places

    def _is_computed(self, name: str, tensor: Tensor, config: object) -> bool:
        for pattern, is_it in self.computed.items():
            if re.fullmatch(_pattern(pattern), name):
                if not tensor.is_meta and not is_it(tensor, config):
                    raise WeightsError(
                        f"{name!r} is a table that this model computes, and the"
                        " checkpoint has another one: it was made for another model"
                    )
                return True
        return False


@dataclass(frozen=True)
class Files:
    """Where a model's parameters are in the files of its family.

    names   by its configuration, if that decides
    inside  what the model is called inside larger ones ("bert" in BertForMaskedLM): of
            their files, that part is read
    outer   what stands before the names of most files, and is put before those of a
            file that lacks it everywhere
    leave   starts of names of what a file may have beside this model: heads, poolers.
            All others must be known
    only    settings of a config.json that must have one value for this model, beside
            those of its family
    unpack  brings tensors that a file has in another format to those of the names
    """

    names: Names | Callable[[object], Names]
    inside: str = ""
    outer: str = ""
    leave: tuple[str, ...] = ()
    only: Only = field(default_factory=dict)
    unpack: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]] = dict

    def names_for(self, config: object) -> Names:
        """The names of a model of this configuration."""
        return self.names if isinstance(self.names, Names) else self.names(config)

    def part(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What of a file's tensors must be this model's."""
        weights = self.unpack(weights)
        prefix = f"{self.inside}."
        wrapped = bool(self.inside) and any(name.startswith(prefix) for name in weights)
        unwrapped = bool(self.outer) and not any(
            name.startswith(f"{self.outer}.") for name in weights
        )
        found = {}
        for name, tensor in weights.items():
            short = (
                name.removeprefix(prefix)
                if wrapped
                else f"{self.outer}.{name}"
                if unwrapped
                else name
            )
            if wrapped and short == name and not name.startswith(self.leave):
                raise WeightsError(
                    f"{name!r} is neither a part of {self.inside!r} nor of a head that"
                    " is known to be left: is the checkpoint of another architecture?"
                )
            if not short.startswith(self.leave):
                found[short] = tensor
        return found


def _turned(tensor: Tensor, transposed: bool) -> bool:
    """Biases of layers whose matrices are published transposed are as they are."""
    return transposed and tensor.ndim == 2


def _with_new_ending(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    return (
        f"{stem}.{OLD_ENDINGS[ending]}"
        if ending in OLD_ENDINGS and "norm" in stem.lower()
        else name
    )


def _pattern(entry: str) -> str:
    """The regular expression of an entry: a star is a number."""
    return re.escape(entry).replace(r"\*", r"(\d+)")


def _translate(name: str, entries: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """The entry that fits a name, and the name by that entry; the longest
    entry wins.
    """
    best = None
    for source, target in entries:
        fits = re.fullmatch(_pattern(source) + r"((?:\.\w+)?)", name)
        if fits and (best is None or len(source) > len(best[0])):
            *numbers, rest = fits.groups()
            best = source, _fill(target, numbers) + rest
    if best is None:
        raise WeightsError(
            f"{name!r} is no parameter of this model: is the checkpoint of another"
            " architecture?"
        )
    return best


def _fill(template: str, numbers: list[str]) -> str:
    given = iter(numbers)
    return re.sub(r"\*", lambda _: next(given), template)
