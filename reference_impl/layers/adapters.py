"""Adapters: small layers between the layers of a model that does not learn.

Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP", section 2.1: after
the projection that ends attention, and after that which ends the feed-forward layer, a
bottleneck: C numbers through m and back to C, with a nonlinearity between and a path
around it. An adapter has 2 C m + C + m numbers. The norms learn too.

This is not LoRA (`layers.lora`): an adapter stands behind a layer, not beside its
matrix, and bends what comes out. So it cannot be merged, and the model is deeper for
good.

Not here: one adapter a block, adapters that are joined or switched among tasks.
"""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.feed_forward import gelu


class Adapter(nn.Module):
    """A layer that is not trained, and behind it a bottleneck that is."""

    def __init__(self, base: nn.Linear, size: int):
        super().__init__()
        if size < 1:
            raise ModelInputError(f"size {size}: give one or more")
        self.base = base.requires_grad_(False)
        self.down, self.up = (
            nn.Linear(base.out_features, size),
            nn.Linear(size, base.out_features),
        )
        for layer in (
            self.down,
            self.up,
        ):  # nearly nothing at the start, so that the model is what it was
            nn.init.trunc_normal_(layer.weight, std=0.01, a=-0.02, b=0.02)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """What the layer gives, and a correction to it."""
        h = self.base(x)
        return h + self.up(gelu(self.down(h)))


def add_adapters(model: nn.Module, targets: Sequence[str], size: int) -> list[str]:
    """Put an adapter behind each linear layer whose name ends with a target; they and
    the norms are all that learns.

    Returns the full names of what was wrapped. Every target must name at least one
    layer.
    """
    matched = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and any(f".{name}".endswith(f".{target}") for target in targets)
    }
    if missing := [
        target
        for target in targets
        if not any(f".{name}".endswith(f".{target}") for name in matched)
    ]:
        raise ModelInputError(f"no linear layer is named {missing}")
    model.requires_grad_(False)
    for name, module in model.named_modules():
        if name.rpartition(".")[2].endswith("norm"):
            module.requires_grad_(True)
    for name, module in matched.items():
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, Adapter(module, size))
    return list(matched)
