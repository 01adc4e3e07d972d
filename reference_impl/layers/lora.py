"""LoRA: leave a trained matrix alone and learn a low-rank one beside it.

Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1: W x
becomes W x + (alpha / r) B A x, with A (r, in) random and B (out, r) zero, so that
training starts where the model stood. Only A and B are trained, r (in + out) numbers in
place of in * out; `merge` adds the product to W, after which a forward pass costs what
it did.

Not here: adapters of embeddings, dropout before A, quantised base weights.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_impl.layers.checks import ModelInputError


class LoRALinear(nn.Module):
    """A linear layer that is not trained, and a low-rank update that is."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float | int):
        super().__init__()
        if rank < 1:
            raise ModelInputError(f"rank {rank}: give one or more")
        self.base, self.scale, self.merged = (
            base.requires_grad_(False),
            alpha / rank,
            False,
        )
        self.a = nn.Parameter(base.weight.new_empty(rank, base.in_features))
        self.b = nn.Parameter(base.weight.new_zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(
            self.a, a=math.sqrt(5)
        )  # as nn.Linear starts its own weight

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """W x + (alpha / r) B A x; when merged the sum is in W already."""
        if self.merged:
            return self.base(x)
        return self.base(x) + self.scale * linear(
            linear(x, self.a), self.b
        )  # through r numbers, never B A itself

    @torch.no_grad()
    def merge(self) -> None:
        """Add the update to the weight."""
        if self.merged:
            raise ModelInputError(
                "merged already: merging twice would add the update twice; unmerge"
                " first"
            )
        self.base.weight += self.scale * self.b @ self.a
        self.merged = True

    @torch.no_grad()
    def unmerge(self) -> None:
        """Take it out again; up to rounding the weight is what it was."""
        if not self.merged:
            raise ModelInputError(
                "not merged: there is no update in the weight to take out"
            )
        self.base.weight -= self.scale * self.b @ self.a
        self.merged = False


def _layers(model: nn.Module) -> dict[str, LoRALinear]:
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, LoRALinear)
    }


def add_lora(
    model: nn.Module, targets: Sequence[str], rank: int, alpha: float | int
) -> list[str]:
    """Replace each linear layer whose name ends with a target; nothing else of the
    model is trained any more.

    A target is a last name ("query"), or more of it where that is not enough
    ("attention.output", not the output layer). Returns the full names of what was
    replaced. Every target must name at least one layer.
    """
    if _layers(model):
        raise ModelInputError("the model has an adapter already: one at a time")

    def ends_with(name: str, target: str) -> bool:
        return f".{name}".endswith(f".{target}")

    matched = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and any(ends_with(name, target) for target in targets)
    }
    missing = {
        target
        for target in targets
        if not any(ends_with(name, target) for name in matched)
    }
    if missing or not matched:
        there = {
            name.rsplit(".", 1)[-1]
            for name, module in model.named_modules()
            if isinstance(module, nn.Linear)
        }
        raise ModelInputError(
            f"no linear layer is named {sorted(missing)}: the model has {sorted(there)}"
        )
    uses = Counter(
        id(weight) for _, weight in model.named_parameters(remove_duplicate=False)
    )
    if tied := [
        name for name, module in matched.items() if uses[id(module.weight)] > 1
    ]:
        raise ModelInputError(
            f"the weight of {tied[0]!r} serves elsewhere too: merging an update into it"
            " would change both; leave it out of the targets"
        )
    model.requires_grad_(False)
    for name, module in matched.items():
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, LoRALinear(module, rank, alpha))
    return list(matched)


def merge(model: nn.Module) -> None:
    """Add all updates to their weights."""
    for layer in _layers(model).values():
        layer.merge()


def unmerge(model: nn.Module) -> None:
    """Take all updates out of their weights again."""
    for layer in _layers(model).values():
        layer.unmerge()


def lora_state(model: nn.Module) -> dict[str, Tensor]:
    """A and B of every layer by name, and nothing else."""
    return {
        f"{name}.{part}": getattr(layer, part)
        for name, layer in _layers(model).items()
        for part in ("a", "b")
    }


def save_lora(model: nn.Module, path: Path | str) -> None:
    """Write the adapter alone as safetensors.

    alpha is not in the file: add_lora is called with it before loading.
    """
    save_file(
        {
            name: tensor.detach().contiguous()
            for name, tensor in lora_state(model).items()
        },
        path,
    )


@torch.no_grad()
def load_lora(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy an adapter, as `weights.safetensors_files.read_file` gives it, into a model
    that add_lora made ready.
    """
    state = lora_state(model)
    if state.keys() != weights.keys():
        raise ModelInputError(
            "the adapter and the model differ in"
            f" {sorted(state.keys() ^ weights.keys())[:4]}: call add_lora with the"
            " targets it was trained with"
        )
    if any(layer.merged for layer in _layers(model).values()):
        raise ModelInputError(
            "the model has an adapter merged: unmerge it before another is loaded"
        )
    for name, tensor in weights.items():
        if tensor.shape != state[name].shape:
            raise ModelInputError(
                f"{name} is {tuple(tensor.shape)} in the adapter but"
                f" {tuple(state[name].shape)} in the model: call add_lora with the rank"
                " it was trained with"
            )
    for name, tensor in weights.items():
        state[name].copy_(tensor)
