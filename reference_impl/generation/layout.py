"""How matrices lie in memory, for decoding on a CPU: a step for one token reads each once and does little else.

A linear layer's matrix (out, in) is stored row by row. Times one vector it can as well be read column by column, and
the product is faster along the longer side, where more lies in one piece: `bench/decoding.py` measures how much.

Not here: fewer bytes to read (half precision, quantisation), several tokens a step (see `engine`).
"""
import torch
from torch import nn


@torch.no_grad()
def store_by_longer_side(model: nn.Module) -> None:
    """Store matrices that are taller than wide column by column, in place; numbers, shapes and names stay.

    Call it once, before decoding; it holds two copies of one matrix for a moment. An embedding that shares its matrix
    with the output layer goes on to. Files are written row by row whatever the layout.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer.out_features > layer.in_features:
            layer.weight.data = layer.weight.data.T.contiguous().T
