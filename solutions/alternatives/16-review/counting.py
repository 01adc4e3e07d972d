"""Differently written correct solutions of chapter 16, part 1."""

import numpy as np

from autograder.checks.mistakes.registry import alternative


@alternative("16.weigh_models", "kind-by-kind")
def _(kind, V, P, C, layers, F, H, K):
    if kind == "bert":
        parts = {
            "embeddings": (V + P + 2 + 2) * C,
            "blocks": layers * (4 * C * (C + 1) + F * (C + 1) + C * (F + 1) + 4 * C),
            "rest": C * (C + 1),
        }
    elif kind == "gpt":
        parts = {
            "embeddings": (V + P) * C,
            "blocks": layers * (4 * C * (C + 1) + F * (C + 1) + C * (F + 1) + 4 * C),
            "rest": 2 * C,
        }
    elif kind == "llama":
        parts = {
            "embeddings": V * C,
            "blocks": layers * (2 * C * C + 2 * C * K * (C // H) + 3 * C * F + 2 * C),
            "rest": (V + 1) * C,
        }
    else:
        parts = {
            "embeddings": (V + 1) * C,
            "blocks": layers * (4 * C * C + 3 * C * F + 2 * C) - C,
            "rest": C,
        }
    parts["total"] = sum(parts.values())
    return parts


@alternative("16.weigh_models", "block-by-block")
def _(kind, V, P, C, layers, F, H, K):
    bias = int(kind in ("bert", "gpt"))
    norm = (1 + bias) * C
    keys = K * C // H if kind == "llama" else C
    one = (
        2 * (C * C + bias * C)
        + 2 * (C * keys + bias * keys)
        + (2 if bias else 3) * F * C
        + bias * (F + C)
    )
    blocks = sum(
        one + norm * (1 if number == 0 and kind == "modernbert" else 2)
        for number in range(min(layers, 2))
    )
    blocks += max(layers - 2, 0) * (one + 2 * norm)
    before = {
        "bert": V * C + P * C + 2 * C + norm,
        "gpt": V * C + P * C,
        "llama": V * C,
        "modernbert": V * C + norm,
    }[kind]
    behind = {"bert": C * C + C}.get(kind, norm + (V * C if kind == "llama" else 0))
    return {
        "total": before + blocks + behind,
        "rest": behind,
        "embeddings": before,
        "blocks": blocks,
    }


@alternative("16.step_bytes", "token-by-token")
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    pairs = sum(S + new + 1 for new in range(T))
    kept = 2 * K * D * layers
    return {
        "matrix_flops": 2 * N * T * B,
        "attention_flops": pairs * B * H * layers * 4 * D,
        "weight_bytes": (N * bits) // 8,
        "embedding_bytes": (B * T * C * bits) // 8,
        "cache_bytes": (kept * (T + S) * B * bits) // 8,
    }


@alternative("16.step_bytes", "python-objects-in-numpy")
def _(N, V, C, layers, H, K, D, bits, B, S, T):
    numbers = np.array([N, B * T * C, 2 * K * D * layers * B * (S + T)], dtype=object) * bits // 8
    keys = ("weight_bytes", "embedding_bytes", "cache_bytes")
    return dict(zip(keys, numbers.tolist())) | {
        "matrix_flops": 2 * B * N * T,
        "attention_flops": (2 * S + T + 1) * T * B * 2 * D * H * layers,
    }
