"""From the scheduler's step to logits: tokens laid end to end, slots, block tables, one
pass of the model.

Our GPT, LLaMA (Mistral, Qwen), DeepSeek, Gemma 3 and gpt-oss run as they are: they take
a `cache` for each layer and the positions of the tokens. Only the rows from which
something is sampled go through the output layer, the widest of all. On a GPU a step in
which every sequence brings one token can be replayed from a recording (see
`cuda_graphs`).

Not here: what is computed (see `scheduler`), the choice of tokens (see `sampling`).
"""

from collections.abc import Callable
from collections.abc import Sequence as Ids
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.engine.adapters import Adapters
from reference_impl.engine.block_tables import BlockTables
from reference_impl.engine.cuda_graphs import CudaGraphs
from reference_impl.engine.paged_cache import Layout, PagedCache
from reference_impl.engine.scheduler import Scheduled, Step
from reference_impl.engine.sequence import UNKNOWN, Sequence
from reference_impl.models.decoders import Decoder


@dataclass
class Prepared:
    """A step as the model takes it: B sequences bring T tokens, R rows of what comes
    out go through the output layer.

    `spans` say for each scheduled sequence, in the step's order, which of the R rows
    are its own.
    """

    step: Step
    spans: list[range] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)  # (T,)
    unknown: list[tuple[int, Sequence]] = field(
        default_factory=list
    )  # places in ids of tokens that are to come
    positions: Tensor | None = None  # (T,)
    layout: Layout | None = None
    rows: list[int] | None = None  # (R,) of the T rows; None: all
    adapters: list[str | None] = field(
        default_factory=list
    )  # of each sequence, in the order of its tokens
    num_rows: list[tuple[int, int]] = field(
        default_factory=list
    )  # of each: tokens, and rows for the output layer


@lru_cache(maxsize=8)
def _rows(count: int) -> list[range]:
    """A row for each of `count` sequences.

    Not to be changed: the next step of as many has the same list.
    """
    return [range(row, row + 1) for row in range(count)]


class ModelRunner:
    """A model and its paged cache.

    With `num_shards` it is one of so many slices of a model (see
    `layers.tensor_parallel`), and its cache holds the keys and values of its own heads.
    `tell` is called with each step before it is computed.
    """

    def __init__(
        self,
        model: Decoder,
        num_blocks: int,
        block_size: int,
        num_host_blocks: int = 0,
        adapters: Adapters | None = None,
        num_shards: int = 1,
        tell: Callable[[Prepared], None] | None = None,
    ):
        config = model.config
        self.model, self.block_size = model.eval(), block_size
        weight = next(
            model.parameters()
        )  # of the first norm, if the embedding is quantised
        self.device = weight.device
        head_dim = (
            getattr(config, "head_dim", None) or config.hidden_size // config.num_heads
        )
        num_kv_heads = getattr(config, "num_kv_heads", None) or config.num_heads
        self.cache = PagedCache(
            config.num_layers,
            num_blocks,
            block_size,
            num_kv_heads // num_shards,
            head_dim,
            weight.dtype,
            self.device,
            num_host_blocks,
            getattr(config, "values_in_keys", False),
            getattr(config, "layer_windows", None),
        )
        self.tables, self.adapters, self.num_shards, self._tell = (
            BlockTables(),
            adapters,
            num_shards,
            tell,
        )
        self.graphs: CudaGraphs | None = None

    def record_graphs(self, max_num_seqs: int, max_model_len: int) -> None:
        """From now on replay steps in which all of up to max_num_seqs sequences decode.

        ValueError on a CPU.
        """
        max_blocks = -(-max_model_len // self.block_size)
        self.graphs = CudaGraphs(self.model, self.cache, max_num_seqs, max_blocks)

    def use_device(self) -> None:
        """Compute on the model's device in this thread."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)

    def prepare(self, step: Step) -> Prepared:
        """What the model reads in a step, before the step's tokens count as computed.

        It computes nothing.

        No row, an empty range, for a sequence whose prompt is not finished; else one
        for the last token and one for each draft. A sequence that scores its prompt has
        a row for every token of the prompt too.
        """
        prepared = Prepared(step)
        if not step.scheduled:
            return prepared
        scheduled, order = step.scheduled, range(len(step.scheduled))
        counts = [num_tokens for _, num_tokens, _ in scheduled]
        decodes = counts.count(1) == len(counts)  # most steps
        if not decodes:  # those that bring one token come first, see `Layout`
            order = sorted(order, key=[count > 1 for count in counts].__getitem__)
            scheduled, counts = (
                [scheduled[place] for place in order],
                [counts[place] for place in order],
            )
        sequences = [item.sequence for item in scheduled]
        firsts = [sequence.num_computed_tokens for sequence in sequences]
        if decodes:
            prepared.ids = [
                sequence.ids[first]
                for sequence, first in zip(sequences, firsts, strict=True)
            ]
            if UNKNOWN in prepared.ids:
                prepared.unknown = [
                    (place, sequence)
                    for place, sequence in enumerate(sequences)
                    if prepared.ids[place] == UNKNOWN
                ]
        else:
            self._read_ids(scheduled, prepared)
        self._lay_out(sequences, np.array(counts), np.array(firsts), prepared)
        if (
            decodes and [len(sequence.ids) - 1 for sequence in sequences] == firsts
        ):  # each says its next token
            prepared.spans = _rows(len(scheduled))
        else:
            self._choose_rows(scheduled, order, prepared)
        if self.adapters is not None:
            prepared.adapters = [item.sequence.adapter for item in scheduled]
            prepared.num_rows = [
                (item.num_tokens, len(prepared.spans[place]))
                for place, item in zip(order, scheduled, strict=True)
            ]
        return prepared

    @staticmethod
    def _choose_rows(
        scheduled: list[Scheduled], order: Ids[int], prepared: Prepared
    ) -> None:
        prepared.rows, prepared.spans, end = [], [range(0)] * len(scheduled), 0
        for place, item in zip(order, scheduled, strict=True):
            end += item.num_tokens
            count = 1 + item.num_drafts if item.samples else 0
            if item.sequence.scores_prompt and item.sequence.num_computed_tokens < len(
                item.sequence.prompt_ids
            ):
                count = item.num_tokens
            prepared.spans[place] = range(
                len(prepared.rows), len(prepared.rows) + count
            )
            prepared.rows += range(end - count, end)

    @torch.inference_mode()
    def compute(self, prepared: Prepared) -> Float[Tensor, "R V"]:
        """Move blocks, pass the step's tokens through the model, and return logits.

        All tokens must be known.
        """
        if self._tell is not None and (prepared.ids or prepared.step.moves):
            self._tell(prepared)
        self.cache.move(prepared.step.moves)
        if not prepared.ids:
            return torch.zeros(0, self.model.config.vocab_size)
        ids, positions, layout = (
            torch.tensor(prepared.ids).to(self.device),
            prepared.positions,
            prepared.layout,
        )
        adapted = any(prepared.adapters)
        if self.adapters is not None:
            self.adapters.choose(
                prepared.adapters,
                [tokens for tokens, _ in prepared.num_rows],
                self.device,
            )
        if self.graphs is not None and layout.num_decodes == len(ids) and not adapted:
            hidden = self.graphs.run(ids, positions, layout)  # (T, C)
        else:
            hidden = self.model.hidden(
                ids[None],
                positions=positions[None],
                cache=self.cache.layers(layout),
            )[0]  # (T, C)
        if prepared.rows is None:
            return self.model.output(hidden)
        if adapted:
            self.adapters.choose(
                prepared.adapters, [rows for _, rows in prepared.num_rows], self.device
            )
        return self.model.output(
            hidden[torch.tensor(prepared.rows, dtype=torch.int64, device=self.device)]
        )

    @staticmethod
    def _read_ids(scheduled: list[Scheduled], prepared: Prepared) -> None:
        ids = prepared.ids
        for sequence, num_tokens, num_drafts in scheduled:
            first = sequence.num_computed_tokens
            ids += sequence.ids[first : first + num_tokens - num_drafts]
            ids += sequence.draft_ids[:num_drafts]
            if ids[-1] == UNKNOWN:
                prepared.unknown.append((len(ids) - 1, sequence))

    def _lay_out(
        self,
        sequences: list[Sequence],
        counts: Int[np.ndarray, "B"],
        firsts: Int[np.ndarray, "B"],
        prepared: Prepared,
    ) -> None:
        """Positions of the step's tokens, so many of each sequence, and where their
        keys and values go.
        """
        rows = np.repeat(np.arange(len(counts)), counts)  # (T,), whose token it is
        positions = (
            np.arange(len(rows))
            - np.repeat(counts.cumsum() - counts, counts)
            + firsts[rows]
        )  # (T,)
        tables = self.tables.padded(sequences)  # (B, M)
        slots = (
            tables[rows, positions // self.block_size].astype(np.int64)
            * self.block_size
            + positions % self.block_size
        )

        def tensor(values: np.ndarray, dtype: torch.dtype) -> Tensor:
            return torch.as_tensor(values, dtype=dtype).to(self.device)

        longer = counts[counts > 1]
        layout = Layout(
            tensor(slots, torch.int64),
            tensor(tables, torch.int32),
            tensor(firsts + counts, torch.int32),
            len(counts) - len(longer),
        )
        if len(longer):
            layout.cu_seqlens_prefill = tensor(
                np.concatenate([[0], longer.cumsum()]), torch.int32
            )
            layout.max_seqlen_prefill = int(longer.max())
        prepared.positions, prepared.layout = tensor(positions, torch.int64), layout
