"""word2vec's continuous bag of words: predict a word from the mean of the words around
it.

Mikolov et al. 2013a, "Efficient Estimation of Word Representations in Vector Space",
section 3.1, with the negative sampling of 2013b. The roles are skip-gram's turned
round: the context words are the input, the word in the middle is the output. There is
one prediction a place, not one a pair.

The mean hands each context word its share of the gradient. The released program, and
gensim after it, take the mean but hand each the whole gradient (Irsoy, Benton and
Stratos 2021, "Corrected CBOW Performs as well as Skip-gram"). The steps here are the
true ones, smaller by the number of contexts, and so want a higher learning rate.

`cbow_loss` states the objective for autograd, `batch_gradients` is its gradient by hand
for a whole batch.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from reference_impl.embeddings.skipgram import (
    Step,
    Tables,
    add_rows,
    keep_probability,
    noise_distribution,
    sample_noise,
    trained_vectors,
)
from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Sentence, Vocabulary
from reference_impl.embeddings.windows import walk


def cbow_loss(
    contexts: Float[Tensor, "B C D"],
    present: Bool[Tensor, "B C"],
    center: Float[Tensor, "B D"],
    negatives: Float[Tensor, "B K D"],
) -> Float[Tensor, ""]:
    """The negative-sampling loss of CBOW, a mean over B predictions.

    -log s(h . center) - sum of log s(-h . negative), with h the mean of the contexts
    and s the logistic function.

    `contexts` are input vectors, `center` and `negatives` output vectors. `present`
    marks the contexts that exist: near the end of a sentence there are fewer. Every
    prediction needs at least one.
    """
    share = present / present.sum(1, keepdim=True)  # (B, C)
    h = torch.einsum("bc,bcd->bd", share.to(contexts.dtype), contexts)
    positive = (h * center).sum(-1)  # (B,)
    negative = torch.einsum("bd,bkd->bk", h, negatives)  # (B, K)
    return -(logsigmoid(positive) + logsigmoid(-negative).sum(-1)).mean()


def batch_gradients(
    context: Float[Tensor, "R T D"],
    center: Float[Tensor, "R T D"],
    mask: Bool[Tensor, "R T T"],
    noise: Float[Tensor, "N D"],
    negatives: int,
) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T D"], Float[Tensor, "N D"]]:
    """The gradients of `cbow_loss`, summed over all places of a batch that share N
    noise words.

    `context` and `center` are the input and output vectors at each place. A place
    without any context predicts nothing. Each noise word counts negatives/N times, as
    in skip-gram.
    """
    size = mask.sum(2, keepdim=True)  # (R, T, 1), how many words each place sees
    share = mask.to(context.dtype) / size.clamp(min=1)  # (R, T, T)
    predicts = size > 0
    h = torch.bmm(share, context)  # (R, T, D)
    error = ((h * center).sum(-1, keepdim=True).sigmoid() - 1) * predicts  # (R, T, 1)
    noise_error = (
        (h @ noise.T).sigmoid() * predicts * (negatives / len(noise))
    )  # (R, T, N)
    d_h = error * center + noise_error @ noise
    d_context = torch.bmm(share.transpose(1, 2), d_h)
    return d_context, error * h, noise_error.flatten(0, 1).T @ h.flatten(0, 1)


def train_cbow(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    dim: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.05,
    threshold: float = 1e-3,
    shared_noise: int = 64,
    row_length: int = 32,
    rows: int = 8,
    seed: int = 0,
    observe: Callable[[Step], None] | None = None,
) -> Vectors:
    """Train on encoded sentences and return the input vectors; the settings are those
    of `train_skipgram`.
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
        d_context, d_center, d_noise = (
            -rate * gradient.reshape(-1, dim) for gradient in gradients
        )
        add_rows(tables.input, words, d_context)
        add_rows(tables.output, words, d_center)
        add_rows(tables.output, drawn, d_noise)
        if observe:
            observe(Step(done, batch, drawn, tables))
    return trained_vectors(vocabulary, tables, learning_rate, rows)
