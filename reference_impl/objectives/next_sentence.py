"""Next-sentence prediction and sentence-order prediction.

Devlin et al. 2019, section 3.1, task 2 (next-sentence prediction): half of the pairs
are neighbours, in the other half the second comes from another document. Lan et al.
2020, section 3.1 (sentence order): both are neighbours always, and half of the pairs
are swapped, so that the topic gives nothing away. Both are learned together with
masked language modelling, their losses added.

A "sentence" is whatever list of ids the documents are made of: the releases join
sentences until a pair fills 512.

Not here: that joining, splitting text into sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from reference_impl.objectives.batches import (
    Batch,
    ObjectiveError,
    check_labels,
    model_inputs,
    needs,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.masked_lm import Masking, chosen_terms
from reference_impl.objectives.terms import Terms, token_terms
from reference_impl.tokenizers.encoding import kept_lengths

Document = Sequence[Sequence[int]]


class Pair(NamedTuple):
    """Two texts as ids, without special tokens.

    Label 0: follows, or in order; 1: from elsewhere, or swapped.
    """

    first: Sequence[int]
    second: Sequence[int]
    label: int


def _neighbours(documents: Sequence[Document]) -> list[tuple[int, int]]:
    """(document, place of the first) of every two sentences in a row."""
    found = [
        (number, place)
        for number, document in enumerate(documents)
        for place in range(len(document) - 1)
    ]
    if not found:
        raise ObjectiveError("no document has two sentences: there is no pair to make")
    if any(not sentence for document in documents for sentence in document):
        raise ObjectiveError("a sentence has no tokens: leave empty sentences out")
    return found


def next_sentence_pairs(
    documents: Sequence[Document], generator: torch.Generator
) -> list[Pair]:
    """A pair for every sentence with a successor: with probability 1/2 that successor,
    else a random sentence of another document.

    The other document, then its sentence, are drawn uniformly. Raises ObjectiveError
    with one document only: a sentence of the same document might be the successor.
    """
    if sum(bool(document) for document in documents) < 2:
        raise ObjectiveError(
            "sentences from elsewhere need a second document: give at least two"
        )
    places = [number for number, document in enumerate(documents) if document]
    pairs = []
    for number, place in _neighbours(documents):
        first, second = documents[number][place : place + 2]
        elsewhere = bool(torch.rand((), generator=generator) < 0.5)
        if elsewhere:
            others = [other for other in places if other != number]
            other = documents[others[_draw(len(others), generator)]]
            second = other[_draw(len(other), generator)]
        pairs.append(Pair(first, second, int(elsewhere)))
    return pairs


def sentence_order_pairs(
    documents: Sequence[Document], generator: torch.Generator
) -> list[Pair]:
    """Every two consecutive sentences, swapped with probability 1/2."""
    pairs = []
    for number, place in _neighbours(documents):
        first, second = documents[number][place : place + 2]
        exchanged = bool(torch.rand((), generator=generator) < 0.5)
        pairs.append(Pair(second, first, 1) if exchanged else Pair(first, second, 0))
    return pairs


def _draw(count: int, generator: torch.Generator) -> int:
    return int(torch.randint(count, (), generator=generator))


@dataclass(frozen=True)
class PairCollator:
    """Pairs as "[CLS] first [SEP] second [SEP]" with segments, cut to max_length, with
    tokens masked.
    """

    masking: Masking
    cls_id: int
    sep_id: int
    max_length: int

    def __post_init__(self):
        if self.max_length < 5:
            raise ObjectiveError(
                f"max_length is {self.max_length}: three special tokens and two texts"
                " need 5 or more"
            )

    def __call__(self, pairs: Sequence[Pair], generator: torch.Generator) -> Batch:
        """A batch of ids, mask, segments, labels and pair_labels (B,).

        The longer text is cut down first.
        """
        rows, segments = [], []
        for first, second, _ in pairs:
            one, other = kept_lengths(
                len(first), len(second), self.max_length - 3, "longest_first"
            )
            rows.append(
                [self.cls_id, *first[:one], self.sep_id, *second[:other], self.sep_id]
            )
            segments.append([0] * (one + 2) + [1] * (other + 1))
        ids, mask = pad_rows(rows, self.masking.pad_id), token_mask(rows)
        ids, labels = self.masking.mask_tokens(ids, generator, mask)
        return {
            "ids": ids,
            "mask": mask,
            "segments": pad_rows(segments, 0),
            "labels": labels,
            "pair_labels": torch.tensor([pair.label for pair in pairs]),
        }


def masked_lm_and_pairs(model: nn.Module, batch: Batch) -> Terms:
    """The mean over chosen tokens plus the mean over pairs (appendix A.2); counted by
    chosen tokens.

    The model gives logits of tokens (B, T, V) and of pairs (B, 2): BERT and ALBERT for
    pre-training.
    """
    needs(batch, "labels", "pair_labels", "segments")
    check_labels(batch["pair_labels"], 2)
    token_logits, pair_logits = model(batch["ids"], **model_inputs(batch))
    return chosen_terms(token_logits, batch["labels"]).plus(
        token_terms(pair_logits, batch["pair_labels"])
    )
