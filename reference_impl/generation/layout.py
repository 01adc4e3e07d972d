"""How matrices lie in memory, for decoding: a step for one token reads each once and
does little else.

On a CPU: a linear layer's matrix (out, in) is stored row by row. Times one vector it
can as well be read column by column, and the product is faster along the longer side,
where more lies in one piece: `bench/decoding.py` measures how much.

On a GPU: matrices with one input lie together, so that one product takes the place of
two or three (see `layers.joined`).

Not here: fewer bytes to read (half precision, quantisation), several tokens a step (see
`engine`).
"""

import torch
from torch import nn

from reference_impl.layers.joined import lay_together

JOINED = (("query", "key", "value"), ("gate", "up"))


@torch.no_grad()
def store_by_longer_side(model: nn.Module) -> None:
    """Store matrices that are taller than wide column by column, in place; numbers,
    shapes and names stay.

    Call it once, before decoding; it holds two copies of one matrix for a moment. An
    embedding that shares its matrix with the output layer goes on to. Files are written
    row by row whatever the layout.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer.out_features > layer.in_features:
            layer.weight.data = layer.weight.data.T.contiguous().T


@torch.no_grad()
def join_projections(model: nn.Module) -> None:
    """Lay queries, keys and values of each attention together, and gate and up, in
    place; numbers, shapes, names stay.

    Call it once the model is on its device in its dtype; it holds two copies of one
    layer's matrices for a moment.
    """
    for module in model.modules():
        for names in JOINED:
            layers = [getattr(module, name, None) for name in names]
            if (
                all(type(layer) is nn.Linear for layer in layers)
                and len({layer.in_features for layer in layers}) == 1
            ):
                lay_together(layers)
