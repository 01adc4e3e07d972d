"""GloVe: vectors whose dot products are the logarithms of the counts, the frequent
pairs weighing more.

Pennington, Socher and Manning 2014, "GloVe: Global Vectors for Word Representation",
sections 3 and 4.2.

The counts are made once; after that the text is not read again. Every pair (w, c) that
occurs asks for w . c + bias_w + bias_c = log count, and `glove_weight` says how much it
matters. As the counts are symmetric, the two tables learn the same thing from different
starts; their sum averages the accidents out, and is what is kept.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Vocabulary


def glove_weight(
    counts: Float[Tensor, "..."], x_max: float = 100.0, alpha: float = 0.75
) -> Float[Tensor, "..."]:
    """How much a pair that was counted x times matters: (x / x_max)^alpha, and 1 from
    x_max on (equation 9).

    A pair that never occurs has weight 0: its log count does not exist and is never
    asked for.
    """
    return (counts / x_max).clamp(max=1) ** alpha


def glove_loss(
    word: Float[Tensor, "B D"],
    context: Float[Tensor, "B D"],
    word_bias: Float[Tensor, "B"],
    context_bias: Float[Tensor, "B"],
    counts: Float[Tensor, "B"],
    x_max: float = 100.0,
    alpha: float = 0.75,
) -> Float[Tensor, ""]:
    """The GloVe loss (equation 8), a mean over B pairs; counts are above 0.

    weight * (word . context + both biases - log count)^2
    """
    miss = (word * context).sum(-1) + word_bias + context_bias - counts.log()
    return (glove_weight(counts, x_max, alpha) * miss**2).mean()


def glove_gradients(
    word: Float[Tensor, "B D"],
    context: Float[Tensor, "B D"],
    word_bias: Float[Tensor, "B"],
    context_bias: Float[Tensor, "B"],
    counts: Float[Tensor, "B"],
    x_max: float = 100.0,
    alpha: float = 0.75,
) -> tuple[
    Float[Tensor, ""], Float[Tensor, "B D"], Float[Tensor, "B D"], Float[Tensor, "B"]
]:
    """The loss and its gradient by word, by context and by either bias (the same for
    both), written out.
    """
    miss = (word * context).sum(-1) + word_bias + context_bias - counts.log()
    weighted = glove_weight(counts, x_max, alpha) * miss
    pull = 2 * weighted / len(counts)  # (B,)
    return (weighted * miss).mean(), pull[:, None] * context, pull[:, None] * word, pull


class GloveTables(NamedTuple):
    """What is trained: vectors and biases of words and of contexts."""

    word: Float[Tensor, "V D"]
    context: Float[Tensor, "V D"]
    word_bias: Float[Tensor, "V"]
    context_bias: Float[Tensor, "V"]

    @classmethod
    def start(
        cls, vocab_size: int, dim: int, generator: torch.Generator
    ) -> "GloveTables":
        """Uniform between -0.5/D and 0.5/D, biases too, as the released
        program starts.
        """
        shapes = ((vocab_size, dim), (vocab_size, dim), (vocab_size,), (vocab_size,))
        return cls(
            *((torch.rand(shape, generator=generator) - 0.5) / dim for shape in shapes)
        )


class GloveStep(NamedTuple):
    """What `observe` is shown after each epoch: share of the work done, mean loss of
    the epoch, the tables.
    """

    done: float
    loss: float
    tables: GloveTables


def adagrad(
    table: Tensor,
    squares: Tensor,
    rows: Int[Tensor, "B"],
    gradient: Tensor,
    rate: float,
) -> None:
    """One AdaGrad step in place on the named rows: each number has its own rate,
    falling with what it has received.

    Duchi, Hazan and Singer 2011. `squares` sums the squared gradients and starts at 1,
    as in the released program, so that the first steps are small. A row that is named
    twice receives both gradients, at the later rate.
    """
    index = rows if table.dim() == 1 else rows[:, None].expand(-1, table.shape[1])
    squares.scatter_add_(0, index, gradient.square())
    table.scatter_add_(
        0, index, squares.index_select(0, rows).rsqrt_().mul_(gradient).mul_(-rate)
    )


def train_glove(
    counts: scipy.sparse.spmatrix,
    vocabulary: Vocabulary,
    *,
    dim: int = 100,
    x_max: float = 100.0,
    alpha: float = 0.75,
    epochs: int = 25,
    learning_rate: float = 0.05,
    batch: int = 1024,
    seed: int = 0,
    observe: Callable[[GloveStep], None] | None = None,
) -> Vectors:
    """Train on a count matrix (see `window_counts` with harmonic weighting) and return
    w + w~.

    Pairs come in random order, `batch` at a time, each batch one AdaGrad step with the
    sum of its gradients.
    """
    generator = torch.Generator().manual_seed(seed)
    pairs = scipy.sparse.coo_matrix(counts)
    rows, columns = (
        torch.from_numpy(np.asarray(index, dtype=np.int64))
        for index in (pairs.row, pairs.col)
    )
    values = torch.from_numpy(pairs.data.astype(np.float32))
    tables = GloveTables.start(len(vocabulary), dim, generator)
    squares = GloveTables(*(torch.ones_like(table) for table in tables))
    for epoch in range(epochs):
        loss_sum = 0.0
        for chosen in torch.randperm(len(values), generator=generator).split(batch):
            w, c, count = rows[chosen], columns[chosen], values[chosen]
            loss, *gradients = glove_gradients(
                tables.word.index_select(0, w),
                tables.context.index_select(0, c),
                tables.word_bias[w],
                tables.context_bias[c],
                count,
                x_max,
                alpha,
            )
            # The gradient of the mean, times the number of pairs: the sum, one step for
            # all.
            d_word, d_context, d_bias = (
                gradient.mul_(len(chosen)) for gradient in gradients
            )
            adagrad(tables.word, squares.word, w, d_word, learning_rate)
            adagrad(tables.context, squares.context, c, d_context, learning_rate)
            adagrad(tables.word_bias, squares.word_bias, w, d_bias, learning_rate)
            adagrad(tables.context_bias, squares.context_bias, c, d_bias, learning_rate)
            loss_sum += float(loss) * len(chosen)
        if observe:
            observe(GloveStep((epoch + 1) / epochs, loss_sum / len(values), tables))
    return Vectors(vocabulary.words, tables.word + tables.context)
