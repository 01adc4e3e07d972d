"""What the decoders with rotary positions share: embedding, blocks, norm, output layer.

A family says what a block is, which norm comes last and how its layers rotate; some of
its layers may have a sliding window (`layer_windows` of its configuration).

Not here: the blocks (see `llama`, `deepseek`, `gemma3`, `gpt_oss`), learned positions
(see `gpt`), generating (see `generation`).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import LayerCache
from reference_impl.layers.checks import check_decoding
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import join, key_mask
from reference_impl.layers.rotary import Tables
from reference_impl.weights.pretrained import Pretrained


class RotaryDecoder(Pretrained, nn.Module):
    """The language model of a family.

    Its output layer is a matrix of its own in the large ones, the embedding in the
    small.
    """

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(map(self.block, range(config.num_layers)))
        self.norm = self.last_norm()
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.output.weight = self.embedding.weight
        start_normal(self)

    def block(self, layer: int) -> nn.Module:
        """A new block: `block(x, rotary, mask, cache)` gives the next x."""
        raise NotImplementedError

    def last_norm(self) -> nn.Module:
        """A new norm, for the output of the last block."""
        raise NotImplementedError

    def rotary(
        self, positions: Int[Tensor, "*B T"], dtype: torch.dtype, window: int | None
    ) -> Tables:
        """The rotary tables of the layers with this window."""
        raise NotImplementedError

    def embed(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """What the first block reads."""
        return self.embedding(ids)

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """The last layer's vectors: what the output layer and other heads read.

        Arguments as in `forward`.
        """
        config, before = self.config, cache[0] if cache else LayerCache()
        start = check_decoding(ids, mask, positions, cache, config)
        num_tokens = ids.shape[1]
        if positions is None:
            positions = torch.arange(start, start + num_tokens, device=ids.device)
        x = self.embed(ids)  # (B, T, C)
        tables, masks = {}, {}  # one of each for all layers with the same window
        for window in set(config.layer_windows):
            near = before.window_mask(num_tokens, window, ids.device)
            tables[window] = self.rotary(positions, x.dtype, window)
            masks[window] = join(key_mask(mask), near)
        for i, window in enumerate(config.layer_windows):
            layer_cache = cache[i] if cache else None
            x = self.blocks[i](x, tables[window], masks[window], layer_cache)
        return self.norm(x)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each.

        `mask` is True where there is a token, for all S tokens so far; needed only for
        padding on the left: padding on the right is never seen. With a cache, ids are
        the new ones.
        """
        return self.output(self.hidden(ids, mask, positions, cache))
