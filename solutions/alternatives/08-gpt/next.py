"""Differently written correct solutions of chapter 8, part 1."""

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("08.next_token_loss", "loops")
def _(logits, ids, mask):
    prices = []
    for row, text, tokens in zip(logits, ids, mask):
        for t in range(ids.shape[1] - 1):
            if tokens[t + 1]:
                prices.append(row[t].logsumexp(0) - row[t, text[t + 1]])
    return sum(prices) / len(prices) if prices else torch.zeros(())


@alternative("08.next_token_loss", "ignored-labels")
def _(logits, ids, mask):
    labels = torch.where(mask, ids, -100).roll(-1, 1)
    labels[:, -1] = -100
    total = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=-100, reduction="sum"
    )
    return total / (labels != -100).sum().clamp(min=1)


@alternative("08.next_token_loss", "gather-in-double")
def _(logits, ids, mask):
    log_p = logits.double().log_softmax(-1)[:, :-1]
    own = torch.gather(log_p, 2, ids[:, 1:].unsqueeze(2)).squeeze(2)
    weights = mask[:, 1:].double()
    return (-(own * weights).sum() / max(1.0, float(weights.sum()))).float()


@alternative("08.test_causal", "numpy")
def _(model):
    for length in range(1, 7):
        text = np.array([8, 1, 4, 0, 5, 2])[:length]
        seen = np.zeros((length, length), dtype=bool)
        before = model(torch.from_numpy(text[None])).numpy()[0]
        for place in range(length):
            other = text.copy()
            other[place] = 3
            after = model(torch.from_numpy(other[None])).numpy()[0]
            seen[:, place] = (np.abs(after - before) > 5e-3).any(1)
        np.testing.assert_array_equal(seen, np.tril(np.ones((length, length), dtype=bool)))


@alternative("08.test_causal", "rows-at-once")
def _(model):
    for length in range(1, 7):
        base = (torch.arange(length) * 2 + 1) % 9
        rows = base.repeat(length + 1, 1)
        for place in range(length):
            rows[place + 1, place] = (rows[place + 1, place] + 4) % 9
        logits = model(rows)
        apart = (logits[1:] - logits[:1]).abs().amax(-1)  # (place, t)
        if not torch.equal(apart > 1e-3, torch.ones(length, length).triu().bool()):
            raise AssertionError(f"wrong at length {length}")
