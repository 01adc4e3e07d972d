"""Keys and values of the tokens so far, so that each token passes through the model
once.

Without a cache the T-th token costs a pass over all T; with one, a pass over itself.
What is stored is read again each step: 2 * layers * key heads * head_dim numbers a
token. Mistral (Jiang et al. 2023, section 2) needs those of the last `sliding_window`
tokens alone.

A model's cache is a list of these, one a layer: see `layers.attention.LayerCache`.

Not here: blocks shared by many sequences (see `engine`).
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from reference_impl.generation.sampling_params import GenerationError
from reference_impl.layers.attention import LayerCache

Kept = Float[Tensor, "B K T D"]


class GrowingCache(LayerCache):
    """The plain one: new tokens are put behind the old, and all is copied each time."""

    def __init__(self):
        self.length = 0
        self.keys = self.values = None

    def append(
        self, k: Kept, v: Kept
    ) -> tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]]:
        """Keep these and return all so far, these last."""
        self.keys = (
            k if self.keys is None else torch.cat((self.keys, k), dim=2)
        )  # (B, K, S, D)
        self.values = v if self.values is None else torch.cat((self.values, v), dim=2)
        self.length = self.keys.shape[2]
        return self.keys, self.values

    def reorder(self, rows: Int[Tensor, "N"]) -> None:
        """Go on with these rows, each as often as it is named: beams do."""
        self.keys, self.values = self.keys[rows], self.values[rows]


class PreallocatedCache(LayerCache):
    """The fast one: room for `max_length` tokens, of which a step writes its own and
    copies none.

    What is returned are views, which later steps change only behind their end. `length`
    may be lowered to forget the last tokens.
    """

    def __init__(self, max_length: int):
        self.max_length, self.length = max_length, 0
        self.keys = self.values = None

    def append(
        self, k: Kept, v: Kept
    ) -> tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]]:
        """Keep these and return all so far, these last.

        GenerationError if there is no room.
        """
        end = self.length + k.shape[2]
        if end > self.max_length:
            raise GenerationError(
                f"{end} tokens in a cache for {self.max_length}: make it with a larger"
                " max_length"
            )
        if self.keys is None:
            shape = (*k.shape[:2], self.max_length, k.shape[3])  # (B, K, max_length, D)
            self.keys, self.values = k.new_empty(shape), v.new_empty(shape)
        self.keys[:, :, self.length : end] = k
        self.values[:, :, self.length : end] = v
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def reorder(self, rows: Int[Tensor, "N"]) -> None:
        """Go on with these rows, each as often as it is named: beams do."""
        self.keys, self.values = self.keys[rows], self.values[rows]


class SlidingCache(LayerCache):
    """Mistral's: the last window - 1 tokens and no more, however long the text.

    `length` counts what is kept, so that the model's mask fits what `append` returns.
    Positions must be given to the model: they go on where `length` stands still.
    """

    def __init__(self, window: int):
        if window < 2:
            raise GenerationError(
                f"a window of {window}: a token sees itself and at least one before,"
                " give 2 or more"
            )
        self.window, self.length = window, 0
        self.keys = self.values = None

    def append(
        self, k: Kept, v: Kept
    ) -> tuple[Float[Tensor, "B K S D"], Float[Tensor, "B K S D"]]:
        """Return what was kept and these behind it, then keep what the next token will
        see besides itself.
        """
        keys = (
            k if self.keys is None else torch.cat((self.keys, k), dim=2)
        )  # (B, K, S, D)
        values = v if self.values is None else torch.cat((self.values, v), dim=2)
        kept = self.window - 1
        if keys.shape[2] > kept:  # a copy: a view would hold all the memory
            self.keys, self.values = (
                keys[:, :, -kept:].clone(),
                values[:, :, -kept:].clone(),
            )
        else:
            self.keys, self.values = keys, values
        self.length = self.keys.shape[2]
        return keys, values

    def reorder(self, rows: Int[Tensor, "N"]) -> None:
        """Go on with these rows, each as often as it is named: beams do."""
        self.keys, self.values = self.keys[rows], self.values[rows]


LayersCache = list[GrowingCache] | list[PreallocatedCache] | list[SlidingCache]


def cache_for(model: nn.Module, max_length: int) -> LayersCache:
    """Sliding for a model with a sliding window that the text will outgrow, else
    preallocated.
    """
    window = getattr(model.config, "sliding_window", None)
    make: Callable = (
        (lambda: SlidingCache(window))
        if window is not None and 2 <= window < max_length
        else (lambda: PreallocatedCache(max_length))
    )
    return [make() for _ in model.blocks]
