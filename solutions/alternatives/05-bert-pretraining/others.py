"""More correct solutions of chapter 5, each by another road than the two files beside this one."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from autograder.checks.mistakes.registry import alternative


@alternative("05.pair_input", "by-the-last-index")
def _(a, b, cls, sep, max_length):
    tokens = [(place, 0) for place in range(len(a))] + [(place, 1) for place in range(len(b))]
    room = max_length - 2 - bool(b)
    staying = sorted(tokens)[: max(room, 0)] if len(tokens) > room else tokens
    first = [a[place] for place, segment in staying if segment == 0]
    second = [b[place] for place, segment in staying if segment == 1]
    ids, segments = [cls] + first + [sep], [0] * (len(first) + 2)
    return (ids + second + [sep], segments + [1] * (len(second) + 1)) if b else (ids, segments)


@alternative("05.sentence_pairs", "pairwise-and-pop")
def _(docs, coin, other, place):
    tosses, answer = list(zip(coin, other, place))[::-1], []
    for own, doc in enumerate(docs):
        for first, follows in itertools.pairwise(doc):
            toss, drawn, which = tosses.pop()
            if toss:
                rest = [number for number in range(len(docs)) if number != own]
                text = docs[rest[drawn % len(rest)]]
                follows = text[which % len(text)]
            answer.append((first, follows, toss))
    return answer


@alternative("05.predict_parameters", "by-shapes")
def _(vocab_size, positions, hidden, num_layers, num_heads, inner):
    def count(*shapes):
        return sum(math.prod(shape) for shape in shapes)

    norm = (2, hidden)
    attention = [(hidden, hidden), (hidden,)] * 4
    forward = [(inner, hidden), (inner,), (hidden, inner), (hidden,)]
    return {
        "embeddings": count((vocab_size, hidden), (positions, hidden), (2, hidden), norm),
        "blocks": num_layers * count(*attention, *forward, norm, norm),
        "pooler": count((hidden, hidden), (hidden,)),
        "masked_head": count((hidden, hidden), (hidden,), norm, (vocab_size,)),
        "pair_head": count((2, hidden), (2,)),
    }


@alternative("05.repair_head", "in-numpy")
def _(x, weights):
    part = {name: tensor.detach().double().numpy() for name, tensor in weights.items()}
    dense = x.detach().double().numpy() @ part["dense.weight"].T + part["dense.bias"]
    active = dense * 0.5 * (1 + np.vectorize(math.erf)(dense / math.sqrt(2)))
    centred = active - active.mean(1, keepdims=True)
    h = (
        centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-12) * part["norm.weight"]
        + part["norm.bias"]
    )
    return torch.from_numpy(h @ part["words"].T + part["bias"]).float()


@alternative("05.bert_encode", "ready-attention")
def _(weights, ids, segments, mask, num_heads):
    def dense(name, x):
        return F.linear(x, weights[name + ".weight"], weights[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(
            x, (x.size(-1),), weights[name + ".weight"], weights[name + ".bias"], eps=1e-12
        )

    numbers = sorted(
        {int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer.")}
    )
    x = sum(
        weights[f"embeddings.{kind}_embeddings.weight"][rows]
        for kind, rows in (
            ("word", ids),
            ("token_type", segments),
            ("position", torch.arange(ids.shape[-1]).expand_as(ids)),
        )
    )
    x = norm("embeddings.LayerNorm", x)
    for layer in (f"encoder.layer.{number}" for number in numbers):
        q, k, v = (
            dense(f"{layer}.attention.self.{part}", x)
            .reshape(*ids.shape, num_heads, -1)
            .permute(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        x = norm(
            f"{layer}.attention.output.LayerNorm",
            x + dense(f"{layer}.attention.output.dense", seen.transpose(1, 2).flatten(2)),
        )
        inner = F.gelu(dense(f"{layer}.intermediate.dense", x))
        x = norm(f"{layer}.output.LayerNorm", x + dense(f"{layer}.output.dense", inner))
    return x


@alternative("05.test_masking", "in-numpy-with-rows-of-all-lengths")
def _(implementation):
    chance = np.random.default_rng(7)
    for seed in (3, 12):
        ids = chance.integers(5, 1000, size=(400, 100))
        lengths = np.array([[20, 40, 60, 80][row % 4] for row in range(400)])
        places = np.arange(100)[None]
        ids[places.repeat(400, 0) > lengths[:, None] + 1] = 0
        ids[:, 0] = 2
        ids[np.arange(400), lengths + 1] = 3
        new, labels = (
            one.numpy() for one in implementation(torch.tensor(ids), torch.tensor(ids < 5), seed)
        )
        chosen = labels != -100
        assert (chosen.sum(1) * 20 == 3 * lengths).all()
        assert not (chosen & (ids < 5)).any()
        assert (new[~chosen] == ids[~chosen]).all()
        assert (labels[chosen] == ids[chosen]).all()
        now, was = new[chosen], ids[chosen]
        assert 0.76 < (now == 4).mean() < 0.84 and 0.06 < (now == was).mean() < 0.14
        drawn = now[(now != 4) & (now != was)]
        assert drawn.min() >= 5 and drawn.max() < 1000
        assert np.bincount(drawn).max() < 10
