"""Differently written correct solutions of chapter 9, part 1."""

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from autograder.checks.mistakes.registry import alternative


@alternative("09.generate", "recursion-by-steps")
def _(next_logits, prompt, max_tokens, end_id):
    ids, new = torch.tensor(prompt)[None], []
    while len(new) < max_tokens and (not new or new[-1] != end_id):
        chosen = next_logits(ids)[:, -1].topk(1).indices
        ids = torch.cat((ids, chosen), 1)
        new.append(chosen.item())
    return new


@alternative("09.generate", "numpy")
def _(next_logits, prompt, max_tokens, end_id):
    new = []
    for _ in range(max_tokens):
        scores = next_logits(torch.from_numpy(np.array([[*prompt, *new]], dtype=np.int64))).numpy()
        new += [int(np.argmax(scores[0, len(prompt) + len(new) - 1]))]
        if end_id in new:
            return new
    return new


@alternative("09.repair_padding", "counting-the-mask")
def _(prompts, pad):
    ids = torch.stack(
        [
            torch.cat((torch.full((max(map(len, prompts)) - len(one),), pad), torch.tensor(one)))
            for one in prompts
        ]
    )
    mask = torch.stack([torch.arange(ids.shape[1]) >= ids.shape[1] - len(one) for one in prompts])
    return ids, mask, (mask.cumsum(1) - 1).clamp(min=0)


@alternative("09.repair_padding", "turned-round")
def _(prompts, pad):
    ids = pad_sequence(
        [torch.tensor(one[::-1]) for one in prompts], batch_first=True, padding_value=pad
    ).flip(1)
    places = pad_sequence(
        [torch.arange(len(one)).flip(0) for one in prompts], batch_first=True
    ).flip(1)
    mask = pad_sequence(
        [torch.ones(len(one), dtype=torch.bool) for one in prompts], batch_first=True
    ).flip(1)
    return ids, mask, places


@alternative("09.predict_reading", "pass-by-pass")
def _(prompt, new):
    tokens = pairs = 0
    for length in range(prompt, prompt + new):
        tokens += length
        pairs += length * (length + 1) // 2
    return {
        "tokens": tokens,
        "pairs": pairs,
        "tokens_cached": length,
        "pairs_cached": length * (length + 1) // 2,
    }


@alternative("09.predict_reading", "binomials")
def _(prompt, new):
    from math import comb

    end = prompt + new
    return {
        "tokens": comb(end, 2) - comb(prompt, 2),
        "tokens_cached": end - 1,
        "pairs": comb(end + 1, 3) - comb(prompt + 1, 3),
        "pairs_cached": comb(end, 2),
    }
