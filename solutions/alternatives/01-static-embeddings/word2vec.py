"""Differently written correct solutions of chapter 1, part 2."""

import math

import numpy as np
import scipy.special
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("01.keep_probability", "python")
def _(counts, threshold):
    numbers = counts.tolist()
    total = sum(numbers)
    return torch.tensor([min(1.0, math.sqrt(threshold * total / n)) if n else 1.0 for n in numbers])


@alternative("01.keep_probability", "where")
def _(counts, threshold):
    share = counts / counts.sum()
    return torch.where(
        share > threshold, torch.sqrt(threshold / share), torch.ones(counts.shape)
    ).float()


@alternative("01.keep_probability", "numpy")
def _(counts, threshold):
    share = counts.double().numpy() / float(counts.sum())
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.minimum(1.0, (share / threshold) ** -0.5)).float()


@alternative("01.test_keep", "word-by-word")
def _(candidate):
    for numbers, threshold in (([500, 300, 180, 20], 0.1), ([7, 1, 1, 1], 0.02), ([30, 1], 0.5)):
        answers = candidate(torch.tensor(numbers), threshold).tolist()
        for number, answer in zip(numbers, answers, strict=True):
            assert abs(answer - min(1, math.sqrt(threshold * sum(numbers) / number))) < 1e-4, (
                number,
                answer,
            )


@alternative("01.test_keep", "numpy")
def _(candidate):
    keep = candidate(torch.tensor([90.0, 9.0, 1.0]), 0.05)
    np.testing.assert_allclose(keep.numpy(), [0.2357, 0.7454, 1.0], atol=1e-3)


@alternative("01.noise_distribution", "logarithms")
def _(counts, power=0.75):
    return torch.softmax(power * counts.double().log(), dim=0).float()


@alternative("01.noise_distribution", "python")
def _(counts, power=0.75):
    weights = [number**power for number in counts.tolist()]
    return torch.tensor([weight / sum(weights) for weight in weights])


@alternative("01.noise_distribution", "shares-bent-and-normalised-again")
def _(counts, power=0.75):
    share = (counts.float() / counts.sum()) ** power
    return torch.nn.functional.normalize(share, p=1, dim=0)


@alternative("01.sgns_loss", "loops")
def _(center, context, negatives):
    total = 0.0
    for v, u, noise in zip(center.tolist(), context.tolist(), negatives.tolist(), strict=True):
        total += np.logaddexp(0, -np.dot(v, u)) + sum(np.logaddexp(0, np.dot(v, n)) for n in noise)
    return torch.tensor(total / len(center), dtype=torch.float32)


@alternative("01.sgns_loss", "one-binary-cross-entropy")
def _(center, context, negatives):
    words = torch.cat([context.unsqueeze(1), negatives], 1)
    scores = torch.bmm(words, center.unsqueeze(2)).squeeze(2)
    labels = torch.zeros_like(scores)
    labels[:, 0] = 1
    return torch.nn.functional.binary_cross_entropy_with_logits(
        scores, labels, reduction="sum"
    ) / len(center)


@alternative("01.sgns_loss", "scipy")
def _(center, context, negatives):
    v, u, n = (part.double().numpy() for part in (center, context, negatives))
    good, bad = np.einsum("bd,bd->b", v, u), np.einsum("bd,bkd->bk", v, n)
    losses = -scipy.special.log_expit(good) - scipy.special.log_expit(-bad).sum(1)
    return torch.tensor(float(losses.mean()))


@alternative("01.sgns_loss", "softplus")
def _(center, context, negatives):
    softplus = torch.nn.functional.softplus
    good = torch.diag(center @ context.T)
    bad = torch.matmul(negatives, center[:, :, None])[..., 0]
    return softplus(-good).mean() + softplus(bad).mean(0).sum()


@alternative("01.sgns_gradients", "loops")
def _(center, context, negatives):
    batch, number, _ = negatives.shape
    d_center, d_context, d_negatives = (
        torch.zeros(part.shape) for part in (center, context, negatives)
    )
    for b in range(batch):
        pull = (torch.sigmoid(center[b] @ context[b]) - 1) / batch
        d_center[b] += pull * context[b]
        d_context[b] = pull * center[b]
        for k in range(number):
            push = torch.sigmoid(center[b] @ negatives[b, k]) / batch
            d_center[b] += push * negatives[b, k]
            d_negatives[b, k] = push * center[b]
    return d_center, d_context, d_negatives


@alternative("01.sgns_gradients", "contexts-and-negatives-together")
def _(center, context, negatives):
    words = torch.cat([context[:, None], negatives], 1)  # (B, 1 + K, D)
    error = torch.sigmoid(words @ center[:, :, None])[..., 0]
    error[:, 0] -= 1
    error = error / center.size(0)
    d_words = error[:, :, None] * center[:, None]
    return (error[:, None] @ words)[:, 0], d_words[:, 0], d_words[:, 1:]


@alternative("01.sgns_gradients", "numpy")
def _(center, context, negatives):
    v, u, n = (part.double().numpy() for part in (center, context, negatives))
    pull = (scipy.special.expit((v * u).sum(1, keepdims=True)) - 1) / len(v)
    push = scipy.special.expit(np.einsum("bd,bkd->bk", v, n))[:, :, None] / len(v)
    return tuple(
        torch.from_numpy(part).float()
        for part in (pull * u + (push * n).sum(1), pull * v, push * v[:, None])
    )


@alternative("01.cbow_scores", "row-by-row")
def _(word_vectors, output_vectors, contexts):
    means = [word_vectors[row[row >= 0]].mean(dim=0) for row in contexts]
    return torch.stack(means) @ output_vectors.T


@alternative("01.cbow_scores", "weights")
def _(word_vectors, output_vectors, contexts):
    one_hot = (
        torch.nn.functional.one_hot(contexts + 1, len(word_vectors) + 1)[:, :, 1:].sum(1).float()
    )  # (B, V)
    return one_hot / one_hot.sum(1, keepdim=True) @ word_vectors @ output_vectors.T


@alternative("01.cbow_scores", "mean-without-nan")
def _(word_vectors, output_vectors, contexts):
    rows = torch.where((contexts >= 0).unsqueeze(-1), word_vectors[contexts], math.nan)  # (B, S, D)
    return rows.nanmean(dim=1) @ output_vectors.T


@alternative("01.sgns_gradients", "autograd-on-copies")
def _(center, context, negatives):
    leaves = [part.detach().clone().requires_grad_() for part in (center, context, negatives)]
    right, wrong = (
        torch.einsum("bd,bd->b", leaves[0], leaves[1]),
        torch.einsum("bd,bkd->bk", leaves[0], leaves[2]),
    )
    loss = (
        torch.nn.functional.softplus(-right) + torch.nn.functional.softplus(wrong).sum(1)
    ).mean()
    return torch.autograd.grad(loss, leaves)
