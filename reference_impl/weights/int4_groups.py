"""Weights of four bits in groups, rounded so that a layer's output changes little.

Frantar et al. 2023 (GPTQ), section 3 and algorithm 1: columns are rounded one after
another, and the error of each is made up for by the columns that follow. Lin et al.
2024 (AWQ), section 3.2: input channels with large activations are scaled up before
rounding, and the scale is taken out again.

Every function returns the dequantized weights.

Not here: packing, GPTQ's blocks of columns and order by activation, AWQ's clipping.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def group_scales(
    weight: Float[Tensor, "N S"], bits: int = 4
) -> tuple[Float[Tensor, "N 1"], Float[Tensor, "N 1"]]:
    """Scale and zero point of each row, so that its range and 0 fit into the codes."""
    low = weight.amin(-1, keepdim=True).clamp(max=0)
    high = weight.amax(-1, keepdim=True).clamp(min=0)
    scale = (high - low) / (2**bits - 1)
    scale = scale.where(scale > 0, 1.0)
    return scale, (-low / scale).round()


def round_group(
    weight: Float[Tensor, "N S"],
    scale: Float[Tensor, "N 1"],
    zero: Float[Tensor, "N 1"],
    bits: int = 4,
) -> Float[Tensor, "N S"]:
    """To the nearest of 2^bits levels, and back."""
    codes = (weight / scale).round() + zero
    return (codes.clamp(0, 2**bits - 1) - zero) * scale


def round_to_nearest(
    weight: Float[Tensor, "O C"], size: int = 128, bits: int = 4
) -> Float[Tensor, "O C"]:
    """Every group of `size` weights of a row with its own scale and zero point."""
    groups = weight.unflatten(-1, (-1, size)).flatten(0, 1)
    rounded = round_group(groups, *group_scales(groups, bits), bits)
    return rounded.view_as(weight)


def gptq(
    weight: Float[Tensor, "O C"],
    inputs: Float[Tensor, "N C"],
    size: int = 128,
    bits: int = 4,
    damping: float = 0.01,
) -> Float[Tensor, "O C"]:
    """Column by column; what follows a column makes up for its error on `inputs`."""
    weight, num_columns = weight.double().clone(), weight.shape[1]
    hessian = inputs.double().T @ inputs.double()
    hessian += damping * hessian.diagonal().mean() * torch.eye(num_columns)
    inverse = torch.linalg.cholesky(torch.linalg.inv(hessian), upper=True)
    rounded = torch.empty_like(weight)
    for j in range(num_columns):
        if j % size == 0:
            scale, zero = group_scales(weight[:, j : j + size], bits)
        column = weight[:, j : j + 1]
        rounded[:, j : j + 1] = round_group(column, scale, zero, bits)
        error = (column - rounded[:, j : j + 1]) / inverse[j, j]
        weight[:, j + 1 :] -= error * inverse[j, j + 1 :]
    return rounded.float()


def awq(
    weight: Float[Tensor, "O C"],
    inputs: Float[Tensor, "N C"],
    size: int = 128,
    bits: int = 4,
) -> Float[Tensor, "O C"]:
    """Scale channels by a power of their mean activation; the best of 20 powers."""
    large = inputs.abs().mean(0).clamp(min=1e-8)
    best, least = weight, torch.inf
    for power in torch.arange(20) / 20:
        scale = large**power
        scale = scale / (scale.max() * scale.min()).sqrt()
        rounded = round_to_nearest(weight * scale, size, bits) / scale
        error = float((inputs @ (rounded - weight).T).square().sum())
        if error < least:
            best, least = rounded, error
    return best
