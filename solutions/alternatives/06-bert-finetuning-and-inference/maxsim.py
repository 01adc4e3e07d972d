"""Differently written correct solutions of chapter 6, MaxSim."""

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("06.maxsim", "pair-by-pair")
def _(queries, query_mask, texts, text_mask):
    scores = torch.zeros(len(queries), len(texts))
    for a, (query, seen) in enumerate(zip(queries, query_mask, strict=True)):
        for b, (text, shown) in enumerate(zip(texts, text_mask, strict=True)):
            if seen.any():
                pairs = torch.cosine_similarity(query[seen][:, None], text[shown][None], dim=-1)
                scores[a, b] = pairs.max(dim=1).values.sum()
    return scores


@alternative("06.maxsim", "numpy")
def _(queries, query_mask, texts, text_mask):
    q, d = queries.double().numpy(), texts.double().numpy()
    dots = np.einsum("amc,btc->abmt", q, d)
    lengths = np.linalg.norm(q, axis=-1)[:, None, :, None] * np.linalg.norm(d, axis=-1)[:, None]
    cosines = np.where(text_mask.numpy()[None, :, None], dots / np.maximum(lengths, 1e-9), -2.0)
    return torch.from_numpy((cosines.max(-1) * query_mask.numpy()[:, None]).sum(-1)).float()


@alternative("06.maxsim", "masks-multiplied")
def _(queries, query_mask, texts, text_mask):
    """Cosines are at least -1, so a text's padding may score -3."""
    cosines = torch.cosine_similarity(queries[:, None, :, None], texts[None, :, None], dim=-1)
    shown = text_mask[None, :, None].float()
    best = (cosines * shown - 3 * (1 - shown)).max(3)[0]
    return torch.einsum("abm,am->ab", best, query_mask.float())
