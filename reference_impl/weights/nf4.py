"""NF4: sixteen levels that fit weights with a normal distribution, and their scales.

Dettmers et al. 2023 (QLoRA), section 3 and appendix E. The levels are quantiles of the
standard normal distribution, divided by the largest; 0 is one of them, so there are
seven below it and eight above. Blocks of 64 weights share a float32 scale, their
largest absolute value. Double quantization stores these scales, less their mean, in
eight bits (E4M3) with one float32 scale for 256 of them.

`NF4Linear` is a frozen layer whose weight is kept in this format and dequantized for
every pass: the base of a `LoRALinear` in QLoRA.

Not here: kernels, paged optimizer states.
"""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_impl.weights.small_floats import E4M3, round_to

BLOCK, SCALES = 64, 256


def _quantiles(count: int) -> Float[Tensor, "N"]:
    """The upper `count` quantiles, from the outermost towards the middle."""
    outermost = 1 - (1 / 32 + 1 / 30) / 2  # half a step of 16 and of 15, on average
    probabilities = torch.linspace(outermost, 0.5, count + 1, dtype=torch.float64)[:-1]
    return torch.special.ndtri(probabilities)


def levels() -> Float[Tensor, "16"]:
    """The sixteen numbers from -1 to 1 that a code can stand for, ascending."""
    above, below = _quantiles(8), -_quantiles(7)
    found = torch.cat((below, torch.zeros(1, dtype=torch.float64), above.flip(0)))
    return (found / above[0]).float()


def double_quantized(scales: Float[Tensor, "N"]) -> Float[Tensor, "N"]:
    """The scales as eight bits each can hold them, with a scale for 256 of them."""
    mean = scales.mean()
    padding = -len(scales) % SCALES
    blocks = torch.cat((scales - mean, scales.new_zeros(padding))).view(-1, SCALES)
    scale = (blocks.abs().amax(1, keepdim=True) / E4M3.largest).clamp(min=1e-30)
    return (scale * round_to(E4M3, blocks / scale)).flatten()[: len(scales)] + mean


class NF4Linear(nn.Linear):
    """A linear layer that is not trained, with half a byte for each weight."""

    def __init__(self, base: nn.Linear):
        nn.Module.__init__(self)  # past nn.Linear's, which would make a weight
        self.in_features, self.out_features = base.in_features, base.out_features
        self.bias = base.bias
        weights = base.weight.detach().float().flatten()
        weights = torch.cat((weights, weights.new_zeros(-len(weights) % BLOCK)))
        blocks = weights.view(-1, BLOCK)
        scales = blocks.abs().amax(1)
        inner = blocks / scales.clamp(min=1e-30)[:, None]
        codes = (inner[..., None] - levels()).abs().argmin(-1).to(torch.uint8)
        self.register_buffer("codes", codes[:, ::2] * 16 + codes[:, 1::2])  # packed
        self.register_buffer("scales", double_quantized(scales))
        self.requires_grad_(False)

    @property
    def weight(self) -> Float[Tensor, "O I"]:
        """The weights that the codes stand for."""
        codes: UInt8[Tensor, "N 32"] = self.codes
        pairs = torch.stack((codes // 16, codes % 16), -1).flatten(1)
        values = levels()[pairs.long()] * self.scales[:, None]
        count = self.in_features * self.out_features
        return values.flatten()[:count].view(self.out_features, self.in_features)

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """W x + c with the dequantized W; x gets its gradient, W has none."""
        return linear(x, self.weight, self.bias)


def bits_per_weight() -> float:
    """Four for the code, eight for 64 codes' scale, and 32 for 256 scales' own."""
    return 4 + 8 / BLOCK + 32 / (BLOCK * SCALES)


def quantize_linear(model: nn.Module, targets: tuple[str, ...]) -> None:
    """Replace each linear layer whose name ends with a target by its NF4 form."""
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and name.endswith(targets):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, NF4Linear(module))
