"""word2vec's skip-gram with negative sampling: predict the words around a word, and
tell them from noise.

Mikolov et al. 2013b, "Distributed Representations of Words and Phrases and their
Compositionality", sections 2.2 (negative sampling) and 2.3 (subsampling); the released
C program for what the paper leaves open.

Two tables of vectors are trained: one for a word as centre, one for a word as context.
The first is kept. `sgns_loss` says what is minimised and lets autograd find the
gradient; `sgns_gradients` is the same gradient by hand; `train_skipgram` uses it on
batches of pairs that share their negatives, which is what makes it fast.

Not here: phrases, the hierarchical softmax.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Sentence, Vocabulary
from reference_impl.embeddings.windows import Batch, walk


def noise_distribution(
    counts: Float[Tensor, "V"] | Int[Tensor, "V"], power: float = 0.75
) -> Float[Tensor, "V"]:
    """The probability of each word as a negative: its count to the `power`, over the
    sum.

    Power 1 draws words as the text does, 0 draws all alike; 3/4 was found best (section
    2.2).
    """
    weights = counts.double() ** power
    return weights / weights.sum()


def sample_noise(
    cumulative: Float[Tensor, "V"], shape: Sequence[int], generator: torch.Generator
) -> Int[Tensor, "..."]:
    """Draw word ids from a distribution, given by its cumulative sums: a uniform
    number, and the first sum above it.

    The search takes log2(V) steps; an alias table (Walker 1977) takes one, but here the
    search is one call for all.
    """
    uniform = (
        torch.rand(tuple(shape), generator=generator, dtype=cumulative.dtype)
        * cumulative[-1]
    )
    # Rounding may lift the product to the last sum itself.
    return torch.searchsorted(cumulative, uniform, right=True).clamp(
        max=len(cumulative) - 1
    )


def keep_probability(
    counts: Float[Tensor, "V"] | Int[Tensor, "V"],
    threshold: float = 1e-3,
    released: bool = False,
) -> Float[Tensor, "V"]:
    """With which probability an occurrence of each word stays in the text: min(1,
    sqrt(threshold / frequency)).

    So a word more frequent than the threshold is thinned (section 2.3). The released
    program, and gensim with it, adds threshold / frequency, which keeps a little more:
    `released=True`.
    """
    ratio = threshold / (counts.double() / counts.sum())
    keep = ratio.sqrt() + ratio if released else ratio.sqrt()
    return keep.clamp(max=1)


def sgns_loss(
    center: Float[Tensor, "B D"],
    context: Float[Tensor, "B D"],
    negatives: Float[Tensor, "B K D"],
) -> Float[Tensor, ""]:
    """The negative-sampling loss of skip-gram, a mean over B pairs.

    -log s(center . context) - sum over negatives of log s(-center . negative), where
    s is the logistic function. Section 2.2, equation 4, with its sign turned so that
    less is better.
    """
    positive = (center * context).sum(-1)  # (B,)
    negative = torch.einsum("bd,bkd->bk", center, negatives)  # (B, K)
    return -(logsigmoid(positive) + logsigmoid(-negative).sum(-1)).mean()


def sgns_gradients(
    center: Float[Tensor, "B D"],
    context: Float[Tensor, "B D"],
    negatives: Float[Tensor, "B K D"],
) -> tuple[
    Float[Tensor, ""],
    Float[Tensor, "B D"],
    Float[Tensor, "B D"],
    Float[Tensor, "B K D"],
]:
    """The loss of `sgns_loss` and its gradient with respect to each of the three,
    written out.

    The derivative of -log s(x) is s(x) - 1, that of -log s(-x) is s(x): how wrong the
    model is about the pair.
    """
    size = len(center)  # B, by which the mean divides
    true_score = (center * context).sum(-1)  # (B,)
    noise_scores = torch.einsum("bd,bkd->bk", center, negatives)  # (B, K)
    loss = -(logsigmoid(true_score) + logsigmoid(-noise_scores).sum(-1)).mean()
    error_positive = (true_score.sigmoid() - 1) / size  # (B,)
    error_negative = noise_scores.sigmoid() / size  # (B, K)
    d_center = error_positive[:, None] * context + torch.einsum(
        "bk,bkd->bd", error_negative, negatives
    )
    d_context = error_positive[:, None] * center
    d_negatives = error_negative[:, :, None] * center[:, None, :]  # (B, K, D)
    return loss, d_center, d_context, d_negatives


class Tables(NamedTuple):
    """The two tables in training: `input` has a word's vector as centre, `output` its
    vector as context.
    """

    input: Float[Tensor, "V D"]
    output: Float[Tensor, "V D"]

    @classmethod
    def start(cls, vocab_size: int, dim: int, generator: torch.Generator) -> "Tables":
        """Small random numbers in one, zeros in the other, as the released program
        starts.
        """
        return cls(
            (torch.rand(vocab_size, dim, generator=generator) - 0.5) / dim,
            torch.zeros(vocab_size, dim),
        )


class Step(NamedTuple):
    """What `observe` is shown after each batch: share of the work done, the batch, its
    negatives, the tables.
    """

    done: float
    batch: Batch
    negatives: Int[Tensor, "N"]
    tables: Tables


def batch_gradients(
    center: Float[Tensor, "R T D"],
    context: Float[Tensor, "R T D"],
    mask: Bool[Tensor, "R T T"],
    noise: Float[Tensor, "N D"],
    negatives: int,
) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T D"], Float[Tensor, "N D"]]:
    """The gradients of `sgns_loss`, summed over all pairs of a batch that share N noise
    words.

    `center` and `context` are the input and output vectors at each place, `mask` says
    which pairs there are. A pair counts each of the N noise words negatives/N times: in
    expectation that is `negatives` words drawn for this pair alone, and it turns
    thousands of small products into one large one. So trained, with a window of 10,
    skip-gram takes in 1.5 times as many words a second as gensim with one worker
    (bench/results/skipgram.json).
    """
    error = (
        torch.bmm(center, context.transpose(1, 2)).sigmoid_().sub_(1).mul_(mask)
    )  # (R, T, T)
    weight = mask.sum(2, keepdim=True) * (
        negatives / len(noise)
    )  # (R, T, 1): a centre's pairs have one noise term
    noise_error = (center @ noise.T).sigmoid_().mul_(weight)  # (R, T, N)
    d_center = torch.bmm(error, context) + noise_error @ noise
    d_context = torch.bmm(error.transpose(1, 2), center)
    d_noise = noise_error.flatten(0, 1).T @ center.flatten(0, 1)
    return d_center, d_context, d_noise


def add_rows(
    table: Float[Tensor, "V D"], rows: Int[Tensor, "N"], values: Float[Tensor, "N D"]
) -> None:
    """table[rows[i]] += values[i] in place; a row that is named twice receives both."""
    table.scatter_add_(0, rows[:, None].expand(-1, table.shape[1]), values)


def trained_vectors(
    vocabulary: Vocabulary, tables: Tables, learning_rate: float, rows: int
) -> Vectors:
    """The input table as Vectors; ValueError if the steps were so large that the
    numbers left all bounds.
    """
    if not bool(tables.input.isfinite().all()):
        raise ValueError(
            f"the training diverged: a batch of {rows} rows is one step of all its"
            f" pairs, too large a one for learning_rate {learning_rate}; lower either"
        )
    return Vectors(vocabulary.words, tables.input)


def train_skipgram(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    dim: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.025,
    threshold: float = 1e-3,
    shared_noise: int = 64,
    row_length: int = 32,
    rows: int = 8,
    seed: int = 0,
    observe: Callable[[Step], None] | None = None,
) -> Vectors:
    """Train on encoded sentences and return the input vectors, in the order of the
    vocabulary.

    The learning rate falls in a straight line to a ten-thousandth of itself. Frequent
    words are thinned anew in each epoch. `rows` rows of `row_length` words are one
    batch: one step of all their pairs at once, with `shared_noise` noise words.
    `observe` is called after each batch and must not change what it is shown.
    """
    generator = torch.Generator().manual_seed(seed)
    counts = torch.from_numpy(vocabulary.counts)
    cumulative = noise_distribution(counts).cumsum(0)
    keep = keep_probability(counts, threshold, released=True)
    tables = Tables.start(len(vocabulary), dim, generator)
    for done, batch in walk(
        sentences,
        keep,
        window=window,
        epochs=epochs,
        row_length=row_length,
        rows=rows,
        generator=generator,
    ):
        rate = learning_rate * max(1 - done, 1e-4)
        drawn = sample_noise(cumulative, (shared_noise,), generator)
        words = batch.words.flatten()
        shape = (*batch.words.shape, dim)
        gradients = batch_gradients(
            tables.input.index_select(0, words).view(shape),
            tables.output.index_select(0, words).view(shape),
            batch.mask,
            tables.output[drawn],
            negatives,
        )
        d_center, d_context, d_noise = (
            -rate * gradient.reshape(-1, dim) for gradient in gradients
        )
        add_rows(tables.input, words, d_center)
        add_rows(tables.output, words, d_context)
        add_rows(tables.output, drawn, d_noise)
        if observe:
            observe(Step(done, batch, drawn, tables))
    return trained_vectors(vocabulary, tables, learning_rate, rows)
