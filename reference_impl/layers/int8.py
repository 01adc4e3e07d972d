"""Linear layers with weights of eight bits, for decoding on a CPU: a step for one token
reads a quarter of the bytes.

Each row of a matrix is divided by its own scale, its largest absolute value over 127,
and rounded to whole numbers (symmetric, per output channel; Dettmers et al. 2022,
"LLM.int8()", section 2.1, calls it absmax). Activations are not quantised. Few rows go
through torch's `_weight_int8pack_mm`, which is quick for bfloat16 activations only:
they, and what comes out, are rounded to eight bits of mantissa. Many rows, as in a
prompt, meet the matrix multiplied out, and so do those of a width that is no multiple
of 32.

Not here: four bits, groups within a row, quantised activations or caches, training.
"""

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_impl.layers.checks import ModelInputError

FEW = 8
"""So many rows at once still gain from reading fewer bytes; beyond, the operator
computes longer than it reads."""

INPUTS, OUTPUTS = 32, 4
"""The operator reads so many columns and rows at once, and past the end of a matrix
that is no multiple of them."""


def quantize_rows(
    weight: Float[Tensor, "R I"],
) -> tuple[Int8[Tensor, "R I"], Float[Tensor, "R"]]:
    """Whole numbers from -127 to 127 and each row's scale; their product is within half
    a scale of `weight`.
    """
    scale = weight.detach().float().abs().amax(1) / 127
    scale = torch.where(scale > 0, scale, 1.0)  # a row of zeros
    return (weight.detach().float() / scale[:, None]).round().to(torch.int8), scale


class Int8Linear(nn.Module):
    """W x + b with W in eight bits."""

    def __init__(
        self,
        weight: Int8[Tensor, "R I"],
        scale: Float[Tensor, "R"],
        bias: Tensor | None = None,
    ):
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        whole = self.out_features // OUTPUTS * OUTPUTS
        self.register_buffer("readable", weight[:whole], persistent=False)
        self.register_buffer("readable_scale", scale[:whole], persistent=False)
        self.register_buffer(
            "ones", torch.ones(whole, dtype=torch.bfloat16), persistent=False
        )
        self.bias = bias

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """In the dtype of x.

        Scales are multiplied in after the product, so that they keep their precision.
        """
        few = x.numel() <= FEW * self.in_features
        if not few or self.in_features % INPUTS:
            return linear(x, self._multiplied_out(0).to(x.dtype), self.bias)
        rows = x.reshape(-1, self.in_features).to(torch.bfloat16)
        y = (
            torch._weight_int8pack_mm(rows, self.readable, self.ones)
            * self.readable_scale
        )  # promoted to float32
        if len(self.readable) < self.out_features:
            rest = self._multiplied_out(len(self.readable))
            y = torch.cat(
                [y, linear(x.reshape(-1, self.in_features).to(rest.dtype), rest)], -1
            )
        y = y.view(*x.shape[:-1], self.out_features).to(x.dtype)
        return y if self.bias is None else y + self.bias

    def _multiplied_out(self, first: int) -> Float[Tensor, "R I"]:
        return self.weight[first:].float() * self.scale[first:, None]


class Int8Embedding(nn.Module):
    """Rows of a matrix in eight bits, which an output layer may share."""

    def __init__(
        self, weight: Int8[Tensor, "V C"], scale: Float[Tensor, "V"], dtype: torch.dtype
    ):
        super().__init__()
        self.dtype = dtype
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    def forward(self, ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B C"]:
        """Each id's row."""
        return self.weight[ids].to(self.dtype) * self.scale[ids][..., None].to(
            self.dtype
        )


@torch.no_grad()
def quantize(model: nn.Module) -> None:
    """Replace all linear layers of a model on a CPU, in place; and its embedding, if
    the output layer is the same matrix.

    Norms, positions and an embedding of its own stay as they are: a step reads few of
    their numbers.
    """
    embedding = model.embedding
    if embedding.weight.device.type != "cpu":
        raise ModelInputError(
            f"the model is on {embedding.weight.device}: eight-bit weights are for"
            " a CPU"
        )
    for name, layer in list(model.named_modules()):
        if not isinstance(layer, nn.Linear):
            continue
        small = Int8Linear(
            *quantize_rows(layer.weight),
            None if layer.bias is None else layer.bias.detach(),
        )
        if layer.weight is embedding.weight:
            model.embedding = Int8Embedding(
                small.weight, small.scale, embedding.weight.dtype
            )
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, small)


def weight_bytes(model: nn.Module) -> int:
    """Of all parameters and buffers, each tensor once."""
    return sum(
        {
            tensor.data_ptr(): tensor.nbytes
            for tensor in (*model.parameters(), *model.buffers())
        }.values()
    )
