"""From the scheduler's step to logits: tokens laid end to end, slots, block tables, one pass of the model.

Our GPT and LLaMA (Mistral, Qwen) run as they are: they take a `cache` for each layer and the positions of the tokens.
Only the rows from which something is sampled go through the output layer, the widest of all.
On a GPU a step in which every sequence brings one token can be replayed from a recording (see `cuda_graphs`).

Not here: what is computed (see `scheduler`), the choice of tokens (see `sampling`).
"""
import itertools

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.engine.cuda_graphs import CudaGraphs
from reference_impl.engine.paged_cache import Layout, PagedCache
from reference_impl.engine.scheduler import Scheduled, Step
from reference_impl.models.gpt import GPT
from reference_impl.models.llama import Llama


class ModelRunner:
    """A model and its paged cache."""

    def __init__(self, model: GPT | Llama, num_blocks: int, block_size: int, num_host_blocks: int = 0):
        config = model.config
        self.model, self.block_size = model.eval(), block_size
        self.window = getattr(config, "sliding_window", None)
        weight = model.embedding.weight
        self.device = weight.device
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_heads
        num_kv_heads = getattr(config, "num_kv_heads", None) or config.num_heads
        self.cache = PagedCache(config.num_layers, num_blocks, block_size, num_kv_heads, head_dim, weight.dtype,
                                self.device, num_host_blocks)
        self.graphs: CudaGraphs | None = None

    def record_graphs(self, max_num_seqs: int, max_model_len: int) -> None:
        """From now on replay steps in which all of up to max_num_seqs sequences decode. ValueError on a CPU."""
        max_blocks = -(-max_model_len // self.block_size)
        self.graphs = CudaGraphs(self.model, self.cache, self.window, max_num_seqs, max_blocks)

    @torch.inference_mode()
    def run(self, step: Step) -> list[Float[Tensor, "_ V"] | None]:
        """Move blocks, compute the step, and return logits for each scheduled sequence.

        None for one whose prompt is not finished; else one row for its last token and one for each draft after it.
        """
        self.cache.move(step.moves)
        if not step.scheduled:
            return []
        order = sorted(range(len(step.scheduled)), key=lambda place: step.scheduled[place].num_tokens > 1)
        scheduled = [step.scheduled[place] for place in order]
        ids, positions, layout = self._prepare(scheduled)
        if self.graphs is not None and layout.num_decodes == len(ids):
            hidden = self.graphs.run(ids, positions, layout)  # (T, C)
        else:
            hidden = self.model.hidden(ids[None], positions=positions[None],
                                       cache=self.cache.layers(layout, self.window))[0]  # (T, C)
        rows, counts, end = [], [], 0
        for item in scheduled:
            end += item.num_tokens
            counts.append(1 + item.num_drafts if item.samples else 0)
            rows += range(end - counts[-1], end)
        read = torch.tensor(rows, dtype=torch.int64, device=self.device)
        logits = self.model.output(hidden[read]).split(counts)  # (R, V) each
        found = dict(zip(order, logits, strict=True))
        return [found[place] if item.samples else None for place, item in enumerate(step.scheduled)]

    def _prepare(self, scheduled: list[Scheduled]) -> tuple[Tensor, Tensor, Layout]:
        """Ids and positions of the step's tokens, and where their keys and values go."""
        ids: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        lengths, tables = [], []
        for sequence, num_tokens, num_drafts in scheduled:
            first = sequence.num_computed_tokens
            places = range(first, first + num_tokens)
            known = sequence.ids[first:first + num_tokens - num_drafts]
            ids += [*known, *sequence.draft_ids[:num_drafts]]
            positions += places
            table = sequence.block_table
            slots += [table[place // self.block_size] * self.block_size + place % self.block_size for place in places]
            lengths.append(first + num_tokens)
            tables.append(table)
        widest = max(map(len, tables))
        longer = [item.num_tokens for item in scheduled if item.num_tokens > 1]

        def tensor(values, dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=self.device)
        layout = Layout(tensor(slots, torch.int64),
                        tensor([table + [-1] * (widest - len(table)) for table in tables], torch.int32),
                        tensor(lengths, torch.int32), len(scheduled) - len(longer))
        if longer:
            layout.cu_seqlens_prefill = tensor([0, *itertools.accumulate(longer)], torch.int32)
            layout.max_seqlen_prefill = max(longer)
        return tensor(ids, torch.int64), tensor(positions, torch.int64), layout
