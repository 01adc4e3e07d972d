"""Masked language modelling: hide some tokens and predict them from both sides.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of a sequence's tokens are
chosen; of these 80 % become [MASK], 10 % another token and 10 % stay, so that no token
can be trusted. The loss is taken at the chosen positions only.
Whole-word masking, of the release of May 2019, chooses words and takes all their
pieces.

Every call draws anew: with a batch made again at each epoch that is RoBERTa's dynamic
masking (Liu et al. 2019, section 4.1); BERT's release drew ten times in advance.

As in the release, the number of chosen tokens is rounded and at least one. But: a
replacement is never a special token, where the release draws from the whole vocabulary.

Not here: masking of spans (see `span_corruption`), computing logits at the chosen
positions alone.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from reference_impl.objectives.batches import (
    Batch,
    ObjectiveError,
    check_share,
    model_inputs,
    needs,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.terms import IGNORED, Terms, token_terms


def continuing_ids(tokens: Iterable[str], prefix: str = "##") -> frozenset[int]:
    """Ids of the pieces that continue a word, from a vocabulary in the order of its
    ids.
    """
    return frozenset(id for id, token in enumerate(tokens) if token.startswith(prefix))


@dataclass(frozen=True)
class Masking:
    """How to choose and replace.

    With `continues`, the ids of pieces inside a word, whole words are chosen.
    """

    mask_id: int
    vocab_size: int
    special_ids: Collection[
        int
    ]  # never chosen, never a replacement: [PAD], [CLS], [SEP], [MASK]
    pad_id: int = 0
    share: float = 0.15
    masked: float = 0.8
    replaced: float = 0.1
    continues: frozenset[int] = frozenset()

    def __post_init__(self):
        for name in ("share", "masked", "replaced"):
            check_share(name, getattr(self, name))
        check_share("masked + replaced", self.masked + self.replaced)
        if not 0 <= self.mask_id < self.vocab_size:
            raise ObjectiveError(
                f"mask_id is {self.mask_id} but the vocabulary has {self.vocab_size}"
                " entries"
            )
        if len(set(self.special_ids)) >= self.vocab_size:
            raise ObjectiveError(
                "every entry of the vocabulary is special: there is nothing to predict"
            )

    def __call__(
        self, rows: Sequence[Sequence[int]], generator: torch.Generator
    ) -> Batch:
        """Rows with their special tokens, as a batch of ids, mask and labels."""
        ids, mask = pad_rows(rows, self.pad_id), token_mask(rows)
        ids, labels = self.mask_tokens(ids, generator, mask)
        return {"ids": ids, "mask": mask, "labels": labels}

    def mask_tokens(
        self,
        ids: Int[Tensor, "B T"],
        generator: torch.Generator,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        """The masked ids, and the labels: IGNORED at positions that were not chosen."""
        special = torch.isin(
            ids, torch.tensor(sorted(self.special_ids), dtype=ids.dtype)
        )
        free = ~special if mask is None else ~special & mask
        chosen = (
            self._choose_words(ids, free, generator)
            if self.continues
            else self._choose(free, generator)
        )
        draw = torch.rand(ids.shape, generator=generator)
        hidden = chosen & (draw < self.masked)
        swap = chosen & ~hidden & (draw < self.masked + self.replaced)
        ordinary = torch.tensor(
            sorted(set(range(self.vocab_size)) - set(self.special_ids))
        )
        others = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
        return (
            torch.where(swap, others, ids).masked_fill(hidden, self.mask_id),
            ids.masked_fill(~chosen, IGNORED),
        )

    def _how_many(self, free: Bool[Tensor, "B T"]) -> Int[Tensor, "B"]:
        """The share of each row's free tokens, rounded; at least one if there are any
        and a share is wanted.
        """
        count = free.sum(1)
        least = count.clamp(max=1) if self.share else 0 * count
        # In float64, as the release's Python computes it: 0.15 of 190 is 28.5 there,
        # and rounds to 28.
        return (self.share * count.double()).round().long().maximum(least)

    def _choose(
        self, free: Bool[Tensor, "B T"], generator: torch.Generator
    ) -> Bool[Tensor, "B T"]:
        """Tokens of each row, all equally likely: those that a shuffle puts first."""
        order = torch.rand(free.shape, generator=generator).masked_fill(~free, 2.0)
        return order.argsort(1).argsort(1) < self._how_many(free)[:, None]

    def _choose_words(
        self,
        ids: Int[Tensor, "B T"],
        free: Bool[Tensor, "B T"],
        generator: torch.Generator,
    ) -> Bool[Tensor, "B T"]:
        """Words of each row in the order of a shuffle, passing over a word that would
        make too many tokens.
        """
        inside = (
            torch.isin(ids, torch.tensor(sorted(self.continues), dtype=ids.dtype))
            & free
        )
        inside[:, 1:] &= free[
            :, :-1
        ]  # a piece after a special token starts a word: what came before is cut off
        inside[:, 0] = False
        words = (free & ~inside).cumsum(
            1
        )  # (B, T): the number of each token's word, from 1
        chosen = torch.zeros_like(free)
        for row, room in enumerate(self._how_many(free).tolist()):
            lengths = words[row][free[row]].bincount()
            taken = torch.zeros(len(lengths), dtype=torch.bool)
            for word in (
                torch.randperm(max(len(lengths) - 1, 0), generator=generator) + 1
            ).tolist():
                if lengths[word] <= room:
                    taken[word] = True
                    room -= int(lengths[word])
            if len(lengths):
                chosen[row] = taken[words[row].clamp(max=len(lengths) - 1)] & free[row]
        return chosen


def masked_lm(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy at the chosen positions. The model gives logits (B, T, V)."""
    needs(batch, "labels")
    return chosen_terms(model(batch["ids"], **model_inputs(batch)), batch["labels"])


def chosen_terms(logits: Tensor, labels: Int[Tensor, "B T"]) -> Terms:
    """Cross-entropy where there is a label; no softmax is computed elsewhere."""
    chosen = labels != IGNORED
    return token_terms(logits[chosen], labels[chosen])
