"""A student's attention, masks, heads and norm in the place of the course's, inside a model with trained weights.

    model = with_your_parts(load("minilm"), attention=attention, masks=masks, layer_norm=layer_norm)
    layers = bert_layers(model, ids, lengths)                 a batch of padded texts, (L, B, T, C)
    with_your_heads(load("minilm"), multi_head)               the same by `multi_head`, one text at a time

Everything else (tables, projections, feed-forward) stays the model's own. Every attention of the model is replaced, so
a Transformer's decoder runs by it too. Nothing here gives points, and nothing here runs in the grader.
"""
import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import MultiHeadAttention, merge_heads, split_heads

Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
Masks = Callable[[Tensor, int, int], Tensor]
Norm = Callable[[Tensor, Tensor, Tensor, float], Tensor]
Heads = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int], Tensor]


class YourNorm(nn.Module):
    """A norm's weight, bias and epsilon, given to your function."""

    def __init__(self, norm: nn.LayerNorm, layer_norm: Norm):
        super().__init__()
        self.norm, self.layer_norm = norm, layer_norm

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        """What your function makes of each token."""
        return self.layer_norm(x, self.norm.weight, self.norm.bias, self.norm.eps)


class YourAttention(nn.Module):
    """A layer's projections; between them your attention, under your masks."""

    def __init__(self, layer: MultiHeadAttention, attention: Attention, masks: Masks):
        super().__init__()
        self.layer, self.attention, self.masks = layer, attention, masks

    def forward(self, x: Float[Tensor, "B T C"], memory: Float[Tensor, "B S C"] | None = None, *,
                mask: Bool[Tensor, "B 1 1 S"] | None = None, causal: bool = False,
                packing: None = None) -> Float[Tensor, "B T C"]:
        """As `MultiHeadAttention`. `mask` says only how long each text is; the mask itself is made by your function."""
        q = split_heads(self.layer.query(x), self.layer.num_heads)  # (B, H, T, D)
        k, v = self.layer.keys_values(x if memory is None else memory)
        queries, keys = q.shape[2], k.shape[2]
        lengths = torch.full((len(x),), keys) if mask is None else mask[:, 0, 0].sum(-1)  # (B)
        # without causal order every query sees what the last place of its text sees: all that is no padding
        seen = self.masks(lengths, queries if causal else 1, keys).expand(-1, -1, queries, -1)
        return self.layer.output(merge_heads(self.attention(q, k, v, seen)))


class YourHeads(nn.Module):
    """A layer's weights, given to your `multi_head`, which has no mask and no biases: for one text without padding."""

    def __init__(self, layer: MultiHeadAttention, multi_head: Heads):
        super().__init__()
        self.num_heads, self.multi_head = layer.num_heads, multi_head
        self.squares = nn.ParameterList(square_weights(layer))

    def forward(self, x: Float[Tensor, "B T C"], *, mask: Bool[Tensor, "B 1 1 T"] | None = None,
                packing: None = None) -> Float[Tensor, "B T C"]:
        """Raises ValueError for a padded batch."""
        if mask is not None and not bool(mask.all()):
            raise ValueError("a batch with padding: multi_head has no mask; give one text at a time")
        ones = x.new_zeros(*x.shape[:2], self.num_heads)
        ones[..., 0] = 1
        return self.multi_head(torch.cat((x, ones), -1), *self.squares, self.num_heads)[..., :x.shape[-1]]


def square_weights(layer: MultiHeadAttention) -> tuple[Float[Tensor, "E E"], ...]:
    """The four matrices of a layer, laid out as in nn.Linear, with the biases in columns for a one beside each token.

    Each head gets one number more, so E = C + H. For queries and keys it is 0, and the queries are stretched, because
    your scale is 1 / sqrt(D + 1). For values it is 1, so any mean of it is 1, and the output's bias hangs on that.
    """
    heads, width = layer.num_heads, layer.query.in_features
    size, wide = width // heads, width + heads
    places = torch.arange(wide).view(heads, size + 1)[:, :size].flatten()  # where a head's own numbers go
    stretch = math.sqrt((size + 1) / size)
    found = []
    for linear, factor in ((layer.query, stretch), (layer.key, 1.0), (layer.value, 1.0)):
        matrix = torch.zeros(wide, wide)
        matrix[:width, places] = factor * linear.weight.detach().T
        matrix[width, places] = factor * linear.bias.detach()
        found.append(matrix)
    found[2][width, size] = 1  # the first head's further number
    output = torch.zeros(wide, wide)
    output[places, :width] = layer.output.weight.detach().T
    output[size, :width] = layer.output.bias.detach()
    return tuple(matrix.T.contiguous() for matrix in (*found, output))  # built as inputs by outputs


def with_your_parts(model: nn.Module, attention: Attention, masks: Masks, layer_norm: Norm) -> nn.Module:
    """The same model, in which your functions do attention, masks and norms; changed in place."""
    return _replaced(model, {MultiHeadAttention: lambda layer: YourAttention(layer, attention, masks),
                             nn.LayerNorm: lambda norm: YourNorm(norm, layer_norm)})


def with_your_heads(model: nn.Module, multi_head: Heads) -> nn.Module:
    """The same model, in which your `multi_head` does every attention; changed in place. One text at a time."""
    return _replaced(model, {MultiHeadAttention: lambda layer: YourHeads(layer, multi_head)})


def _replaced(model: nn.Module, ways: dict[type, Callable[[nn.Module], nn.Module]]) -> nn.Module:
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            for kind, way in ways.items():
                if isinstance(child, kind):
                    setattr(parent, name, way(child))
    return model


@torch.no_grad()
def bert_layers(model: nn.Module, ids: Int[Tensor, "B T"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "L B T C"]:
    """The vectors of a Bert before its first block and after each."""
    layers: list[Tensor] = []
    hooks = [model.blocks[0].register_forward_pre_hook(lambda block, given: layers.append(given[0]))]
    hooks += [block.register_forward_hook(lambda block, given, made: layers.append(made)) for block in model.blocks]
    model(ids, mask=torch.arange(ids.shape[1]) < lengths[:, None])
    for hook in hooks:
        hook.remove()
    return torch.stack(layers)
