"""The numbers behind the block tables: one pool of blocks for keys and one for values
in every layer; or one for both, where values are a part of the keys (latent attention).

Kwon et al. 2023, sections 4.1 to 4.3. `BlockManager` decides which block holds what;
here blocks are written, copied and attended to. The tokens of all sequences of a step
come end to end as one row, so no token is padding.

Not here: the attention itself, which is in `kernels.paged_decode` and
`kernels.paged_prefill`, and the decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.engine.scheduler import Move
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.paged_prefill import paged_prefill
from reference_impl.layers.attention import LayerCache


@dataclass
class Layout:
    """Where the tokens of one step belong; the same for all layers.

    B sequences bring T tokens together.

    Those that bring one token come first: for them attention has a quicker form. Counts
    are plain numbers: to ask a GPU for one would mean to wait for all that is queued
    there.
    """

    slot_mapping: Int[
        Tensor, "T"
    ]  # block * block_size + offset of each token's place in the pool
    block_tables: Int[Tensor, "B M"]  # filled up with -1
    context_lens: Int[
        Tensor, "B"
    ]  # tokens of each sequence so far, those of this step included
    num_decodes: int  # how many sequences bring one token
    cu_seqlens_prefill: Int[Tensor, "P"] | None = (
        None  # where the tokens of each other begin, from the first of theirs
    )
    max_seqlen_prefill: int = 0  # the most tokens of one of them


class PagedCache:
    """Keys and values of all layers, (layers, 2, num_blocks, block_size, K, D), on the
    device, and room on the host.

    With `values_in_keys` there is a 1 in place of the 2. `windows` are the layers', if
    they have some.
    """

    def __init__(
        self,
        num_layers: int,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device | str = "cpu",
        num_host_blocks: int = 0,
        values_in_keys: bool = False,
        windows: Sequence[int | None] | None = None,
    ):
        self.windows = windows or [None] * num_layers
        pools = 1 if values_in_keys else 2
        shape = (num_layers, pools, num_blocks, block_size, num_kv_heads, head_dim)
        self.pool = torch.zeros(shape, dtype=dtype, device=device)
        on_gpu = self.pool.device.type == "cuda"
        self.host_pool = torch.zeros(
            (*shape[:2], num_host_blocks, *shape[3:]), dtype=dtype, pin_memory=on_gpu
        )

    @property
    def bytes_per_block(self) -> int:
        """Of keys and values in all layers."""
        return self.pool[:, :, 0].numel() * self.pool.element_size()

    def move(self, moves: list[Move]) -> None:
        """Copy blocks, one after the other: a block may be given up by one move and
        filled by the next.
        """
        for kind, source, target in moves:
            from_pool = self.host_pool if kind == "in" else self.pool
            to_pool = self.host_pool if kind == "out" else self.pool
            to_pool[:, :, target] = from_pool[:, :, source].to(to_pool.device)

    def layers(self, layout: Layout) -> list["PagedLayerCache"]:
        """What the model takes as its `cache` for this step."""
        return [
            PagedLayerCache(pools[0], pools[-1], layout, window)
            for pools, window in zip(self.pool, self.windows, strict=True)
        ]


class PagedLayerCache(LayerCache):
    """One layer's pools in one step.

    Who may see whom is known here and not to the model: it makes no masks.

    `length` stays 0: positions are given by the caller.
    """

    def __init__(
        self,
        k_cache: Float[Tensor, "N S K D"],
        v_cache: Float[Tensor, "N S K D"],
        layout: Layout,
        window: int | None,
    ):
        self.k_cache, self.v_cache, self.layout, self.window = (
            k_cache,
            v_cache,
            layout,
            window,
        )

    def window_mask(
        self, num_queries: int, window: int | None, device: torch.device
    ) -> None:
        """None: `attend` keeps to the window itself."""

    def attend(
        self,
        q: Float[Tensor, "1 H T D"],
        k: Float[Tensor, "1 K T D"],
        v: Float[Tensor, "1 K T D"],
        mask: None = None,
        dropout: float = 0.0,
    ) -> Float[Tensor, "1 H T D"]:
        """Write keys and values into their slots; then every query sees its own
        sequence up to itself.
        """
        return self._attend(q, k, v)

    def attend_with_sink(
        self,
        q: Float[Tensor, "1 H T D"],
        k: Float[Tensor, "1 K T D"],
        v: Float[Tensor, "1 K T D"],
        sink: Float[Tensor, "H"],
        mask: None = None,
    ) -> Float[Tensor, "1 H T D"]:
        """As `attend`, with one more score per head in the softmax."""
        return self._attend(q, k, v, sink)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, *sink: Tensor) -> Tensor:
        layout = self.layout
        q, k, v = (x[0].transpose(0, 1) for x in (q, k, v))  # (T, H, D), (T, K, D)
        store_kv(k, v, self.k_cache, self.v_cache, layout.slot_mapping)
        scale, n, mixed = q.shape[-1] ** -0.5, layout.num_decodes, []
        if n:
            mixed.append(
                paged_attention(
                    q[:n],
                    self.k_cache,
                    self.v_cache,
                    layout.block_tables[:n],
                    layout.context_lens[:n],
                    scale,
                    self.window,
                    *sink,
                )
            )
        if n < len(q):
            mixed.append(
                paged_prefill(
                    q[n:],
                    self.k_cache,
                    self.v_cache,
                    layout.block_tables[n:],
                    layout.cu_seqlens_prefill,
                    layout.context_lens[n:],
                    scale,
                    self.window,
                    *sink,
                    max_seqlen_q=layout.max_seqlen_prefill,
                )
            )
        return torch.cat(mixed).transpose(0, 1)[None]  # (1, H, T, D)
