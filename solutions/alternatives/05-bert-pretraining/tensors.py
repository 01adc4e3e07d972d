"""Differently written correct solutions of chapter 5, blanks and the model."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from autograder.checks.mistakes.registry import alternative


@alternative("05.mask_tokens", "loops")
def _(ids, special, order, fate, others, mask_id):
    new, labels = ids.tolist(), [[-100] * ids.shape[1] for _ in ids]
    for b, row in enumerate(ids.tolist()):
        free = [t for t in range(len(row)) if not special[b, t]]
        number = max(1, round(15 * len(free) / 100)) if free else 0
        for t in sorted(free, key=lambda t: float(order[b, t]))[:number]:
            labels[b][t] = row[t]
            new[b][t] = (
                mask_id if fate[b, t] <= 7 else int(others[b, t]) if fate[b, t] == 8 else row[t]
            )
    return torch.tensor(new), torch.tensor(labels)


@alternative("05.mask_tokens", "topk-by-row")
def _(ids, special, order, fate, others, mask_id):
    chosen = torch.zeros_like(special)
    for row in range(ids.size(0)):
        n = int((~special[row]).sum())
        if n:
            number = max(round(0.15 * n), 1)
            chosen[
                row,
                torch.where(special[row], torch.inf, order[row])
                .topk(number, largest=False)
                .indices,
            ] = True
    new = ids.clone()
    new[chosen & (fate < 8)] = mask_id
    swapped = chosen & (fate == 8)
    new[swapped] = others[swapped]
    labels = ids.clone()
    labels[~chosen] = -100
    return new, labels


@alternative("05.mask_tokens", "numpy")
def _(ids, special, order, fate, others, mask_id):
    x, out = ids.numpy().copy(), special.numpy()
    labels = np.full_like(x, -100)
    for b in range(len(x)):
        free = np.flatnonzero(~out[b])
        number = 0 if not len(free) else max(1, int(np.round(15 * len(free) / 100)))
        picked = free[np.argsort(order[b].numpy()[free])[:number]]
        labels[b, picked] = x[b, picked]
        die = fate[b].numpy()[picked]
        x[b, picked] = np.select(
            [die < 8, die == 8], [mask_id, others[b].numpy()[picked]], x[b, picked]
        )
    return torch.from_numpy(x), torch.from_numpy(labels)


@alternative("05.mlm_loss", "cross-entropy-sum")
def _(logits, labels):
    total = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="sum"
    )
    return total / (labels != -100).sum().clamp(min=1)


@alternative("05.mlm_loss", "logsumexp-everywhere")
def _(logits, labels):
    asked = labels.ne(-100)
    right = logits.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    prices = (logits.logsumexp(-1) - right) * asked
    return prices.sum() / max(1, int(asked.sum()))


@alternative("05.mlm_loss", "axis-one")
def _(logits, labels):
    if (labels == -100).all():
        return logits.sum() * 0
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100)


@alternative("05.bert_encode", "einsum-and-loops")
def _(weights, ids, segments, mask, num_heads):
    def norm(x, name):
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-12) * weights[name + ".weight"] + weights[
            name + ".bias"
        ]

    def apply(x, name):
        return torch.einsum("btc,dc->btd", x, weights[name + ".weight"]) + weights[name + ".bias"]

    places = torch.arange(ids.size(1))
    x = F.embedding(ids, weights["embeddings.word_embeddings.weight"]) + F.embedding(
        segments, weights["embeddings.token_type_embeddings.weight"]
    )
    x = norm(x + weights["embeddings.position_embeddings.weight"][places], "embeddings.LayerNorm")
    hidden = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)[:, None, :]
    depth = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
    for number in range(depth):
        p = f"encoder.layer.{number}."
        q, k, v = (
            apply(x, p + "attention.self." + part).chunk(num_heads, -1)
            for part in ("query", "key", "value")
        )
        heads = [
            ((q[h] @ k[h].transpose(1, 2)) / math.sqrt(q[h].size(-1)) + hidden).softmax(-1) @ v[h]
            for h in range(num_heads)
        ]
        x = norm(
            x + apply(torch.cat(heads, -1), p + "attention.output.dense"),
            p + "attention.output.LayerNorm",
        )
        inner = apply(x, p + "intermediate.dense")
        x = norm(
            x + apply(0.5 * inner * (1 + torch.erf(inner / 2**0.5)), p + "output.dense"),
            p + "output.LayerNorm",
        )
    return x


@alternative("05.bert_encode", "text-by-text-without-padding")
def _(weights, ids, segments, mask, num_heads):
    w = weights
    out = torch.zeros(*ids.shape, len(w["embeddings.LayerNorm.weight"]))
    for row in range(len(ids)):
        places = mask[row].nonzero()[:, 0]
        x = (
            w["embeddings.word_embeddings.weight"][ids[row, places]]
            + w["embeddings.position_embeddings.weight"][places]
        )
        x = x + w["embeddings.token_type_embeddings.weight"][segments[row, places]]
        x = F.layer_norm(
            x, x.shape[1:], w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], 1e-12
        )
        number = 0
        while (p := f"encoder.layer.{number}") + ".output.dense.weight" in w:
            q, k, v = (
                F.linear(x, w[f"{p}.attention.self.{n}.weight"], w[f"{p}.attention.self.{n}.bias"])
                .view(len(x), num_heads, -1)
                .transpose(0, 1)
                for n in ("query", "key", "value")
            )
            heads = F.softmax(q @ k.mT * q.shape[-1] ** -0.5, dim=-1) @ v
            y = F.linear(
                heads.transpose(0, 1).reshape(len(x), -1),
                w[f"{p}.attention.output.dense.weight"],
                w[f"{p}.attention.output.dense.bias"],
            )
            x = F.layer_norm(
                x + y,
                x.shape[1:],
                w[f"{p}.attention.output.LayerNorm.weight"],
                w[f"{p}.attention.output.LayerNorm.bias"],
                1e-12,
            )
            y = torch.nn.GELU()(
                F.linear(x, w[f"{p}.intermediate.dense.weight"], w[f"{p}.intermediate.dense.bias"])
            )
            y = F.linear(y, w[f"{p}.output.dense.weight"], w[f"{p}.output.dense.bias"])
            x = F.layer_norm(
                x + y,
                x.shape[1:],
                w[f"{p}.output.LayerNorm.weight"],
                w[f"{p}.output.LayerNorm.bias"],
                1e-12,
            )
            number += 1
        out[row, places] = x
    return out


@alternative("05.predict_parameters", "multiplied-out")
def _(vocab_size, positions, hidden, num_layers, num_heads, inner):
    c = hidden
    return {
        "pair_head": 2 * (c + 1),
        "masked_head": c * (c + 3) + vocab_size,
        "pooler": c * (c + 1),
        "blocks": num_layers * (4 * c**2 + 9 * c + 2 * c * inner + inner),
        "embeddings": c * (vocab_size + positions + 4),
    }


@alternative("05.repair_head", "the-line-repaired")
def _(x, weights):
    dense = x @ weights["dense.weight"].T
    dense = dense + weights["dense.bias"]
    active = F.gelu(dense)
    h = F.layer_norm(active, active.shape[-1:], weights["norm.weight"], weights["norm.bias"], 1e-12)
    scores = h @ weights["words"].T
    return scores + weights["bias"]


@alternative("05.test_masking", "testing-and-several-calls")
def _(implementation):
    generator = torch.Generator().manual_seed(1)
    fates = []
    for seed in range(4):
        ids = torch.randint(5, 1000, (200, 100), generator=generator)
        ids[:, 0], ids[:, 81], ids[:, 82:] = 2, 3, 0
        special = ids < 5
        new, labels = implementation(ids.clone(), special.clone(), seed)
        for row in labels.tolist():
            asked = [t for t, label in enumerate(row) if label != -100]
            assert len(asked) == 12
            assert all(1 <= t <= 80 for t in asked)
        unasked = labels == -100
        torch.testing.assert_close(new[unasked], ids[unasked])
        torch.testing.assert_close(labels[~unasked], ids[~unasked])
        fates += list(zip(new[~unasked].tolist(), ids[~unasked].tolist()))
    covered = sum(now == 4 for now, _ in fates) / len(fates)
    kept = sum(now == was for now, was in fates) / len(fates)
    swapped = [now for now, was in fates if now not in (4, was)]
    assert abs(covered - 0.8) < 0.03 and abs(kept - 0.1) < 0.03
    assert min(swapped) >= 5 and len(set(swapped)) > 200
