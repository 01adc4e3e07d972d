"""From the scheduler's step to logits: tokens laid end to end, slots, block tables, one pass of the model.

Our GPT and LLaMA (Mistral, Qwen) run as they are: they take a `cache` for each layer and the positions of the tokens.
Only the rows from which something is sampled go through the output layer, the widest of all.
On a GPU a step in which every sequence brings one token can be replayed from a recording (see `cuda_graphs`).

Not here: what is computed (see `scheduler`), the choice of tokens (see `sampling`).
"""
import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.engine.adapters import Adapters
from reference_impl.engine.block_tables import BlockTables
from reference_impl.engine.cuda_graphs import CudaGraphs
from reference_impl.engine.paged_cache import Layout, PagedCache
from reference_impl.engine.scheduler import Scheduled, Step
from reference_impl.models.gpt import GPT
from reference_impl.models.llama import Llama


class ModelRunner:
    """A model and its paged cache."""

    def __init__(self, model: GPT | Llama, num_blocks: int, block_size: int, num_host_blocks: int = 0,
                 adapters: Adapters | None = None):
        config = model.config
        self.model, self.block_size = model.eval(), block_size
        self.window = getattr(config, "sliding_window", None)
        weight = model.embedding.weight
        self.device = weight.device
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_heads
        num_kv_heads = getattr(config, "num_kv_heads", None) or config.num_heads
        self.cache = PagedCache(config.num_layers, num_blocks, block_size, num_kv_heads, head_dim, weight.dtype,
                                self.device, num_host_blocks)
        self.tables, self.adapters = BlockTables(), adapters
        self.graphs: CudaGraphs | None = None

    def record_graphs(self, max_num_seqs: int, max_model_len: int) -> None:
        """From now on replay steps in which all of up to max_num_seqs sequences decode. ValueError on a CPU."""
        max_blocks = -(-max_model_len // self.block_size)
        self.graphs = CudaGraphs(self.model, self.cache, self.window, max_num_seqs, max_blocks)

    @torch.inference_mode()
    def run(self, step: Step) -> tuple[Float[Tensor, "R V"], list[range]]:
        """Move blocks, compute the step, and return logits, and which rows of them belong to each scheduled sequence.

        None, an empty range, where a prompt is not finished; else one row for the last token and one for each draft. A
        sequence that scores its prompt has a row for every token of the prompt too.
        """
        self.cache.move(step.moves)
        if not step.scheduled:
            return torch.zeros(0, self.model.config.vocab_size), []
        # Those that bring one token come first, see `Layout`.
        order = sorted(range(len(step.scheduled)), key=[item.num_tokens > 1 for item in step.scheduled].__getitem__)
        scheduled = [step.scheduled[place] for place in order]
        ids, positions, layout = self._prepare(scheduled)
        adapted = self._choose_adapters(scheduled, [item.num_tokens for item in scheduled])
        if self.graphs is not None and layout.num_decodes == len(ids) and not adapted:
            hidden = self.graphs.run(ids, positions, layout)  # (T, C)
        else:
            hidden = self.model.hidden(ids[None], positions=positions[None],
                                       cache=self.cache.layers(layout, self.window))[0]  # (T, C)
        if layout.num_decodes == len(ids) and all(
                item.samples for item in scheduled):  # most steps; `order` moved none
            return self.model.output(hidden), [range(row, row + 1) for row in range(len(scheduled))]
        rows, spans, end = [], [range(0)] * len(scheduled), 0
        for place, item in zip(order, scheduled, strict=True):
            end += item.num_tokens
            count = 1 + item.num_drafts if item.samples else 0
            if item.sequence.scores_prompt and item.sequence.num_computed_tokens < len(item.sequence.prompt_ids):
                count = item.num_tokens
            spans[place] = range(len(rows), len(rows) + count)
            rows += range(end - count, end)
        if adapted:
            self._choose_adapters(scheduled, [len(spans[place]) for place in order])
        read = torch.tensor(rows, dtype=torch.int64, device=self.device)
        return self.model.output(hidden[read]), spans

    def _choose_adapters(self, scheduled: list[Scheduled], counts: list[int]) -> bool:
        """Say whose rows pass next, so many of each. Whether an adapter is among them."""
        if self.adapters is None:
            return False
        names = [item.sequence.adapter for item in scheduled]
        self.adapters.choose(names, counts, self.device)
        return any(name is not None for name in names)

    def _prepare(self, scheduled: list[Scheduled]) -> tuple[Tensor, Tensor, Layout]:
        """Ids and positions of the step's tokens, and where their keys and values go."""
        ids: list[int] = []
        for sequence, num_tokens, num_drafts in scheduled:
            first = sequence.num_computed_tokens
            if num_tokens == 1:
                ids.append(sequence.ids[first])
            else:
                ids += sequence.ids[first:first + num_tokens - num_drafts]
                ids += sequence.draft_ids[:num_drafts]
        counts = np.array([item.num_tokens for item in scheduled])  # (B,)
        firsts = np.array([item.sequence.num_computed_tokens for item in scheduled])  # (B,)
        rows = np.repeat(np.arange(len(scheduled)), counts)  # (T,), whose token it is
        positions = np.arange(len(ids)) - np.repeat(counts.cumsum() - counts, counts) + firsts[rows]  # (T,)
        tables = self.tables.padded([item.sequence for item in scheduled])  # (B, M)
        slots = tables[rows, positions // self.block_size].astype(np.int64) * self.block_size + positions % self.block_size

        def tensor(values: np.ndarray | list[int], dtype: torch.dtype) -> Tensor:
            return torch.as_tensor(values, dtype=dtype).to(self.device)
        longer = counts[counts > 1]
        layout = Layout(tensor(slots, torch.int64), tensor(tables, torch.int32), tensor(firsts + counts, torch.int32),
                        len(scheduled) - len(longer))
        if len(longer):
            layout.cu_seqlens_prefill = tensor(np.concatenate([[0], longer.cumsum()]), torch.int32)
            layout.max_seqlen_prefill = int(longer.max())
        return tensor(ids, torch.int64), tensor(positions, torch.int64), layout
