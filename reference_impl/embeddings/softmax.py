"""Skip-gram as a language model: a probability for every word of the vocabulary, and
what that costs.

Mikolov et al. 2013b, section 2, equation 2. It is the loss that skip-gram approximates
and that GPT pays in full: one dot product with each of the V output vectors, for every
pair.

Two ways round the cost are in `hierarchical` (log2 V products) and `skipgram` (K + 1
products, another question).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def softmax(scores: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
    """exp(score) over the sum of all exp(score), along the last axis.

    The largest score is subtracted first. That changes nothing, since it cancels, and
    keeps exp from overflowing.
    """
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


def softmax_loss(
    center: Float[Tensor, "B D"],
    output: Float[Tensor, "V D"],
    context: Int[Tensor, "B"],
) -> Float[Tensor, ""]:
    """The mean over B pairs of -log P(context | center).

    P is the softmax of `center . output` over all V words.
    """
    scores = center @ output.T  # (B, V)
    wanted = scores.gather(1, context[:, None])[:, 0]  # (B,)
    return (scores.logsumexp(1) - wanted).mean()


def softmax_gradients(
    center: Float[Tensor, "B D"],
    output: Float[Tensor, "V D"],
    context: Int[Tensor, "B"],
) -> tuple[Float[Tensor, ""], Float[Tensor, "B D"], Float[Tensor, "V D"]]:
    """The loss of `softmax_loss` and its gradients by the centres and by the whole
    output table, written out.

    The error of a score is what the model said minus what it should have said: P(word),
    less 1 for the word that came.
    """
    scores = center @ output.T  # (B, V)
    error = softmax(scores)  # (B, V)
    here = torch.arange(len(context))
    loss = (scores.logsumexp(1) - scores[here, context]).mean()
    error[here, context] -= 1
    error = error / len(context)
    return loss, error @ output, error.T @ center


def products_per_pair(
    vocab_size: int, mean_path: float, negatives: int
) -> dict[str, float]:
    """Dot products of length D that the scores of one pair take: all words, a path of
    the tree, or K + 1 words.
    """
    return {
        "softmax": float(vocab_size),
        "hierarchical": mean_path,
        "negatives": negatives + 1.0,
    }
