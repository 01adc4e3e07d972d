"""What goes on top of an encoder, one head a task.

Devlin et al. 2019, sections 3.1 (masked language model, pooler) and 4 (sentence, token,
span); Reimers and Gurevych 2019, section 3 (sentence embeddings by the mean).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reference_impl.layers.feed_forward import activation
from reference_impl.layers.norms import LayerNorm


class MaskedLMHead(nn.Module):
    """Logits over the vocabulary: a transform, then a dot product with every token
    embedding, plus a bias each.

    `embedding` is the input embedding; its weight is the decoder's, the same parameter.
    """

    def __init__(self, embedding: nn.Embedding, hidden_size: int, act: str, eps: float):
        super().__init__()
        self.dense = nn.Linear(hidden_size, embedding.embedding_dim)
        self.act = activation(act)
        self.norm = LayerNorm(embedding.embedding_dim, eps)
        self.decoder = nn.Linear(embedding.embedding_dim, embedding.num_embeddings)
        self.decoder.weight = embedding.weight

    def forward(self, x: Float[Tensor, "*B C"]) -> Float[Tensor, "*B V"]:
        """Logits (..., V) at every position, or at those that were selected."""
        return self.decoder(self.norm(self.act(self.dense(x))))


class Pooler(nn.Module):
    """One vector for the sequence: that of [CLS] through a linear layer and tanh."""

    def __init__(self, hidden_size: int):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B C"]:
        """Only the first position: [CLS] knows the others through attention."""
        return self.dense(x[:, 0]).tanh()


class Classifier(nn.Module):
    """Dropout and a linear layer: on the pooled vector for a sentence or a pair, on
    each token's for tagging.
    """

    def __init__(self, hidden_size: int, num_labels: int, dropout: float):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(hidden_size, num_labels)

    def forward(self, x: Float[Tensor, "*B C"]) -> Float[Tensor, "*B L"]:
        """Logits of the labels."""
        return self.linear(self.dropout(x))


class SpanHead(nn.Module):
    """Where an answer starts and where it ends: two numbers a token, each a softmax
    over the tokens.
    """

    def __init__(self, hidden_size: int):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(
        self, x: Float[Tensor, "B T C"]
    ) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
        """Logits of the first and of the last token of the answer."""
        start, end = self.linear(x).unbind(-1)
        return start, end


def mean_pool(
    x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B C"]:
    """A sentence's vector: the mean over its tokens, padding left out.

    A row without tokens is zero.
    """
    weights = mask.unsqueeze(-1).to(x.dtype)  # (B, T, 1)
    return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


def similarity(
    one: Float[Tensor, "M C"], other: Float[Tensor, "N C"]
) -> Float[Tensor, "M N"]:
    """The cosine between each of one and each of the other."""
    return (
        torch.nn.functional.normalize(one, dim=-1)
        @ torch.nn.functional.normalize(other, dim=-1).T
    )
