"""Causal language modelling: at every token, say the next.

Radford et al. 2018, equation 1. All documents are joined, each closed by the token that
ends a text, and cut into chunks of one length, so that no position is padding (Radford
et al. 2019, section 2; Brown et al. 2020, appendix B). Rows of their own lengths, for
texts that must not be joined, are filled up and masked.

Not here: hiding a document from the next one in its chunk (see `layers.masks`),
perplexity (see `measure`).
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor, nn

from reference_impl.objectives.batches import (
    Batch,
    ObjectiveError,
    needs,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.terms import IGNORED, Terms, token_terms


def join_documents(documents: Iterable[Sequence[int]], end_id: int) -> Int[Tensor, "N"]:
    """All documents one after the other, each followed by `end_id`.

    Empty documents are left out.
    """
    return torch.tensor(
        [token for document in documents if document for token in (*document, end_id)],
        dtype=torch.long,
    )


def cut_chunks(tokens: Int[Tensor, "N"], chunk_size: int) -> Int[Tensor, "M L"]:
    """Chunks from which a model of `chunk_size` positions learns: rows of L =
    chunk_size + 1 tokens.

    A row's last token is only predicted, and is the next row's first: every token but
    the first is predicted once. What is left at the end and fills no chunk is left out.
    A view: nothing is copied.

    Raises ObjectiveError for fewer tokens than one row.
    """
    if chunk_size < 1:
        raise ObjectiveError(f"chunk_size is {chunk_size}: give 1 or more")
    if len(tokens) < chunk_size + 1:
        raise ObjectiveError(
            f"{len(tokens)} tokens do not fill a chunk of {chunk_size} and the token"
            " after it: give more text, or a smaller chunk_size"
        )
    return tokens.unfold(0, chunk_size + 1, chunk_size)


def chunk_batch(chunks: Int[Tensor, "B L"]) -> Batch:
    """Rows of `cut_chunks` as a batch: every token is a label too."""
    return {"ids": chunks, "labels": chunks}


def ragged_batch(rows: Sequence[Sequence[int]], pad_id: int = 0) -> Batch:
    """Texts of their own lengths as ids, mask and labels; padding, on the right, is
    never a label.

    Raises ObjectiveError for a text of fewer than two tokens: there is nothing to
    predict.
    """
    ids, mask = pad_rows(rows, pad_id), token_mask(rows)
    short = next((place for place, row in enumerate(rows) if len(row) < 2), None)
    if short is not None:
        raise ObjectiveError(
            f"example {short} is one token long: after it there is nothing to predict"
        )
    return {"ids": ids, "mask": mask, "labels": ids.masked_fill(~mask, IGNORED)}


def causal_lm(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy of each label under the logits one place before it.

    A row's first label is never predicted.

    Labels stand at the places of their tokens. The model is not fed the last token,
    after which nothing is asked; nor a mask: padding is on the right, where no token
    sees it.
    """
    needs(batch, "ids", "labels")
    return token_terms(model(batch["ids"][:, :-1]), batch["labels"][:, 1:])
