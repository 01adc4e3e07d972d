"""CUDA graphs: the launches of a step in which all sequences decode, recorded once and
sent to the GPU as one.

NVIDIA, CUDA C++ Programming Guide, chapter "CUDA Graphs". A decoding step launches many
small kernels in each layer, and where the processor takes longer to launch them than
the GPU to run them, the GPU waits. A graph repeats the same kernels with the same
shapes on the same addresses, so:

- inputs are copied into buffers that stay where they are;
- there is a graph for each of some batch sizes, and a batch is padded to the next of
  them. A padded row has slot -1, so its keys and values are not written, and a context
  of 0, so it reads none; its result is not used;
- nothing between the first and the last kernel may look at a number on the GPU: how
  many sequences there are, how many blocks a table can name and into how many shares a
  context is split are known from shapes.

The recording and the replay were written without a GPU at hand and have not run; a test
for them waits for one. What runs in them is `decode`, and its padding is tested on a
CPU.

Not here: steps with prompts or drafts, whose shapes vary too much; the output layer and
sampling, which follow.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.engine.paged_cache import Layout, PagedCache
from reference_impl.kernels.backend import default_backend
from reference_impl.models.decoders import Decoder


def batch_sizes(max_num_seqs: int) -> list[int]:
    """The batch sizes to capture: 1, 2, 4, then every multiple of 8, and the largest.

    Few enough graphs to capture quickly, close enough that padding costs little.
    """
    return [
        size for size in (1, 2, 4, *range(8, max_num_seqs, 8)) if size < max_num_seqs
    ] + [max_num_seqs]


@dataclass
class DecodeBuffers:
    """What a decoding step of S sequences reads: one token of each, and where its
    context is.
    """

    ids: Int[Tensor, "S"]
    positions: Int[Tensor, "S"]
    slot_mapping: Int[Tensor, "S"]
    block_tables: Int[Tensor, "S M"]
    context_lens: Int[Tensor, "S"]

    @classmethod
    def padding(
        cls, size: int, max_blocks: int, device: torch.device
    ) -> "DecodeBuffers":
        """Rows without a sequence."""
        ids, positions = torch.zeros(2, size, dtype=torch.int64, device=device)
        return cls(
            ids,
            positions,
            torch.full_like(ids, -1),
            torch.full((size, max_blocks), -1, dtype=torch.int32, device=device),
            torch.zeros(size, dtype=torch.int32, device=device),
        )

    def first(self, size: int) -> "DecodeBuffers":
        """The first rows of the same memory: all graphs read the same buffers, each as
        many rows as it has.
        """
        return DecodeBuffers(
            self.ids[:size],
            self.positions[:size],
            self.slot_mapping[:size],
            self.block_tables[:size],
            self.context_lens[:size],
        )

    def fill(
        self, ids: Int[Tensor, "N"], positions: Int[Tensor, "N"], layout: Layout
    ) -> None:
        """Put N sequences into the first rows; what the last step left in the others
        becomes padding.

        Block tables are left as they were where nobody reads them: past a sequence's
        blocks, and without a context.
        """
        n, num_blocks = layout.block_tables.shape
        self.block_tables[:n, :num_blocks] = layout.block_tables
        for buffer, values, padding in (
            (self.ids, ids, 0),
            (self.positions, positions, 0),
            (self.slot_mapping, layout.slot_mapping, -1),
            (self.context_lens, layout.context_lens, 0),
        ):
            buffer[:n] = values
            buffer[n:] = padding


def decode(
    model: Decoder, cache: PagedCache, buffers: DecodeBuffers
) -> Float[Tensor, "S C"]:
    """The last layer's vector for each row; keys and values of rows with a slot are
    written. It never waits.
    """
    layout = Layout(
        buffers.slot_mapping,
        buffers.block_tables,
        buffers.context_lens,
        len(buffers.ids),
    )
    return model.hidden(
        buffers.ids[None],
        positions=buffers.positions[None],
        cache=cache.layers(layout),
    )[0]


class CudaGraphs:
    """`decode` for every batch size up to `max_num_seqs`, recorded when this is made.

    ValueError on a CPU.

    max_blocks is the most blocks that one sequence has.
    """

    def __init__(
        self,
        model: Decoder,
        cache: PagedCache,
        max_num_seqs: int,
        max_blocks: int,
    ):
        self.model, self.cache = model, cache
        self.sizes = batch_sizes(max_num_seqs)
        self.buffers = DecodeBuffers.padding(
            max_num_seqs, max_blocks, cache.pool.device
        )
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        # one pool for what is between the kernels: only one graph runs at a time
        self._memory = None
        for size in reversed(
            self.sizes
        ):  # the largest first: the others find room in what it took
            self.capture(size)

    def run(
        self, ids: Int[Tensor, "N"], positions: Int[Tensor, "N"], layout: Layout
    ) -> Float[Tensor, "N C"]:
        """What the model's `hidden` gives for these N sequences.

        To be read before the next step writes over it.
        """
        size = next(size for size in self.sizes if size >= len(ids))
        self.buffers.first(size).fill(ids, positions, layout)
        return self.replay(size)[: len(ids)]

    @torch.inference_mode()
    def capture(self, size: int) -> None:
        """Record `decode` for a batch of this size.

        The buffers hold padding only: nothing is written to the cache.
        """
        device = self.cache.pool.device
        if device.type != "cuda":
            raise ValueError(
                f"cuda_graphs=True, but the model is on {device.type}: move the model"
                " to a GPU, or leave cuda_graphs off"
            )
        head_dim = self.cache.pool.shape[-1]
        if default_backend("paged_attention", device, head_dim) != "triton":
            raise ValueError(
                f"cuda_graphs=True, but heads have {head_dim} numbers: for these"
                " torch's operator attends, which waits for the GPU and can't be"
                " recorded; leave cuda_graphs off"
            )
        buffers = self.buffers.first(size)
        decode(
            self.model, self.cache, buffers
        )  # compiles kernels, which can't be done while recording
        torch.cuda.synchronize(device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._memory):
            hidden = decode(self.model, self.cache, buffers)
        self._memory = graph.pool()
        self._graphs[size] = (
            graph,
            hidden,
        )  # kept, so that no other graph is given its memory

    def replay(self, size: int) -> Float[Tensor, "S C"]:
        """Run the recorded kernels on what the buffers hold now."""
        graph, hidden = self._graphs[size]
        graph.replay()
        return hidden
