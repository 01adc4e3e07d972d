"""Differently written correct solutions of chapter 7, part 3."""

import numpy as np
import torch
from torch.nn.functional import logsigmoid

from autograder.checks.mistakes.registry import alternative


@alternative("07.replace", "loops")
def _(ids, labels, probs, chances):
    filled, replaced = ids.tolist(), [[False] * ids.shape[1] for _ in ids]
    for b, row in enumerate(labels.tolist()):
        for t, label in enumerate(row):
            if label == -100:
                continue
            total, guess = 0.0, probs.shape[2] - 1
            for v, p in enumerate(probs[b, t].tolist()):
                total += p
                if total > float(chances[b, t]):
                    guess = v
                    break
            filled[b][t], replaced[b][t] = guess, guess != label
    return torch.tensor(filled), torch.tensor(replaced)


@alternative("07.replace", "searchsorted")
def _(ids, labels, probs, chances):
    blank = labels != -100
    sums = probs[blank].double().cumsum(-1)
    drawn = (
        torch.searchsorted(sums.contiguous(), chances[blank].double()[:, None], right=True)
        .squeeze(-1)
        .clamp(max=probs.shape[-1] - 1)
    )
    original = torch.where(blank, labels, ids)
    filled = original.clone()
    filled[blank] = drawn
    return filled, filled != original


@alternative("07.replace", "numpy")
def _(ids, labels, probs, chances):
    over = np.cumsum(probs.numpy(), axis=2) > chances.numpy()[..., None]
    over[..., -1] = True
    filled = np.where(labels.numpy() == -100, ids.numpy(), over.argmax(2))
    original = np.where(labels.numpy() == -100, ids.numpy(), labels.numpy())
    return torch.from_numpy(filled), torch.from_numpy(filled != original)


@alternative("07.electra_loss", "log-softmax-and-logsigmoid")
def _(gen, truth, disc, replaced, mask, weight):
    guessing = -gen.log_softmax(-1)[torch.arange(len(gen)), truth]
    judging = -torch.where(replaced, logsigmoid(disc), logsigmoid(-disc))
    tokens = mask.float()
    return guessing.sum() / max(1, gen.shape[0]) + weight * (judging * tokens).sum() / tokens.sum()


@alternative("07.electra_loss", "loops")
def _(gen, truth, disc, replaced, mask, weight):
    first = sum(
        (torch.logsumexp(row, 0) - row[token] for row, token in zip(gen, truth.tolist())),
        torch.zeros(()),
    )
    second = torch.zeros(())
    for row, which, tokens in zip(disc, replaced, mask):
        second = second + torch.nn.functional.softplus(torch.where(which, -row, row))[tokens].sum()
    return first / (len(gen) or 1) + weight * second / int(mask.sum())
