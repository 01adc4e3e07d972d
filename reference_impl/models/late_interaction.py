"""Scores from token vectors, without one vector for the text: late interaction and
learned sparse weights.

Khattab and Zaharia 2020 (ColBERT), section 3.2: each query token takes its best match
among the document's tokens. Formal et al. 2021 (SPLADE v2), section 3.1: the MLM head
weights every entry of the vocabulary, and the maximum over the tokens is kept.

Not here: training either, compressing token vectors, an inverted index.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize


def maxsim(
    queries: Float[Tensor, "Q T C"],
    query_mask: Bool[Tensor, "Q T"],
    texts: Float[Tensor, "N S C"],
    text_mask: Bool[Tensor, "N S"],
) -> Float[Tensor, "Q N"]:
    """For each query and text: over the query's tokens, the sum of the largest cosine
    with a token of the text.

    A text without tokens scores -inf; a query without tokens 0 for every other text.
    """
    cosines = torch.einsum(
        "qtc,nsc->qnts", normalize(queries, dim=-1), normalize(texts, dim=-1)
    )
    best = cosines.masked_fill(~text_mask[None, :, None], -torch.inf).amax(-1)
    best = best.masked_fill(~query_mask[:, None], 0).sum(-1)  # (Q, N)
    return best.masked_fill(~text_mask.any(1), -torch.inf)


def sparse_weights(
    logits: Float[Tensor, "B T V"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B V"]:
    """A weight of at least 0 for each entry of the vocabulary: the maximum over a
    text's tokens of log(1 + max(0, logit)).

    Two texts are scored by the dot product of their weights.
    """
    return logits.relu().log1p().masked_fill(~mask.unsqueeze(-1), 0).amax(1)
