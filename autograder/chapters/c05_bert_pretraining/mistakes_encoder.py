"""Plausible wrong solutions of chapter 5, part 4: the encoder."""

import math

import torch
from torch.nn import functional

from autograder.checks.mistakes.registry import mistake

ENCODE = "05.bert_encode"
PARTS = ("query", "key", "value")


def _norm(x, weight, bias, eps=1e-12):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def _encode(
    weights,
    ids,
    segments,
    mask,
    num_heads,
    eps=1e-12,
    gelu=functional.gelu,
    norm=_norm,
    order="post",
    start=None,
    split=None,
    scale=None,
    hidden=-torch.inf,
    layers=None,
    linear=functional.linear,
):
    """The encoder with one part replaced."""

    def by_name(name, x):
        return linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def normed(name, x):
        return norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], eps)

    def cut(x):
        return split(x, num_heads) if split else x.unflatten(2, (num_heads, -1)).transpose(1, 2)

    rows = [
        weights[f"embeddings.{name}_embeddings.weight"]
        for name in ("word", "position", "token_type")
    ]
    x = (
        start(rows, ids, segments, mask)
        if start
        else rows[0][ids] + rows[1][: ids.shape[1]] + rows[2][segments]
    )
    x = normed("embeddings.LayerNorm", x)
    numbers = range(sum(name.endswith("intermediate.dense.weight") for name in weights))
    for number in layers(numbers) if layers else numbers:
        layer = f"encoder.layer.{number}"

        def attend(x, layer=layer):
            q, k, v = (cut(by_name(f"{layer}.attention.self.{part}", x)) for part in PARTS)
            scores = q @ k.mT / (scale(x, num_heads) if scale else math.sqrt(q.shape[-1]))
            scores = (
                scores.masked_fill(~mask[:, None, None], hidden) if hidden is not None else scores
            )
            return by_name(
                f"{layer}.attention.output.dense",
                (scores.softmax(-1) @ v).transpose(1, 2).flatten(2),
            )

        def think(x, layer=layer):
            return by_name(f"{layer}.output.dense", gelu(by_name(f"{layer}.intermediate.dense", x)))

        first, second = f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"
        if order == "pre":
            x = x + attend(normed(first, x))
            x = x + think(normed(second, x))
        elif order == "post":
            x = normed(first, x + attend(x))
            x = normed(second, x + think(x))
        elif order == "without-residual":
            x = normed(second, think(normed(first, attend(x))))
        elif order == "no-attention-residual":
            x = normed(first, attend(x))
            x = normed(second, x + think(x))
        elif order == "no-feed-forward-residual":
            x = normed(first, x + attend(x))
            x = normed(second, think(x))
        elif order == "exchanged":
            x = normed(second, x + attend(x))
            x = normed(first, x + think(x))
        else:
            seen = attend(x)
            x = normed(second, x + seen + think(normed(first, x + seen)))
    return x


@mistake(
    ENCODE,
    "no-positions",
    caught_by="embeddings",
    loses=9,
    misconception="You omit the position embeddings: the model sees a set of tokens.",
)
def _(*parts):
    return _encode(*parts, start=lambda rows, ids, segments, mask: rows[0][ids] + rows[2][segments])


@mistake(
    ENCODE,
    "no-segments",
    caught_by="embeddings",
    loses=9,
    misconception="You omit the segment embeddings.",
)
def _(*parts):
    return _encode(
        *parts, start=lambda rows, ids, segments, mask: rows[0][ids] + rows[1][: ids.shape[1]]
    )


@mistake(
    ENCODE,
    "segment-0-always",
    caught_by="embeddings",
    loses=9,
    misconception="You give every token the embedding of segment 0.",
)
def _(*parts):
    return _encode(
        *parts,
        start=lambda rows, ids, segments, mask: rows[0][ids] + rows[1][: ids.shape[1]] + rows[2][0],
    )


@mistake(
    ENCODE,
    "positions-from-one",
    caught_by="embeddings",
    loses=9,
    misconception=("You start positions at 1. BERT's position embeddings start at 0."),
)
def _(*parts):
    return _encode(
        *parts,
        start=lambda rows, ids, segments, mask: (
            rows[0][ids] + rows[1].roll(-1, 0)[: ids.shape[1]] + rows[2][segments]
        ),
    )


@mistake(
    ENCODE,
    "sum-not-normed",
    caught_by="embeddings",
    loses=9,
    misconception="You omit LayerNorm after the sum of the three embeddings.",
)
def _(weights, *rest):
    width = weights["embeddings.LayerNorm.weight"].shape[0]

    def norm(x, weight, bias, eps):
        return (
            x
            if weight.data_ptr() == weights["embeddings.LayerNorm.weight"].data_ptr()
            else _norm(x, weight, bias, eps)
        )

    return _encode(weights, *rest, norm=norm) if width else None


@mistake(
    ENCODE,
    "usual-epsilon",
    caught_by="embeddings",
    loses=1.5,
    misconception=(
        "You use torch's epsilon of 0.00001 in LayerNorm. BERT has 1e-12, which"
        " matters for small values."
    ),
)
def _(*parts):
    return _encode(*parts, eps=1e-5)


@mistake(
    ENCODE,
    "unbiased-deviation",
    caught_by="embeddings",
    loses=9,
    misconception=("You divide the squares by C - 1, as `std` does. LayerNorm divides by C."),
)
def _(*parts):
    def norm(x, weight, bias, eps):
        variance = x.var(-1, keepdim=True) if x.shape[-1] > 1 else torch.zeros_like(x)
        return (x - x.mean(-1, keepdim=True)) / (variance + eps).sqrt() * weight + bias

    return _encode(*parts, norm=norm)


@mistake(
    ENCODE,
    "norm-before",
    caught_by="post-norm",
    loses=7.5,
    misconception=(
        "You use pre-norm: LayerNorm on the input of a sublayer. BERT normalizes"
        " the sum after it (post-norm)."
    ),
)
def _(*parts):
    return _encode(*parts, order="pre")


@mistake(
    ENCODE,
    "no-residual",
    caught_by="post-norm",
    loses=7.5,
    misconception=(
        "You omit both residual connections: x is added to the output of each sublayer."
    ),
)
def _(*parts):
    return _encode(*parts, order="without-residual")


@mistake(
    ENCODE,
    "no-attention-residual",
    caught_by="post-norm",
    loses=7.5,
    misconception=("You omit the residual connection around attention: x is added to its output."),
)
def _(*parts):
    return _encode(*parts, order="no-attention-residual")


@mistake(
    ENCODE,
    "no-feed-forward-residual",
    caught_by="post-norm",
    loses=7.5,
    misconception=(
        "You omit the residual connection around the feed-forward layer: x is added to its output."
    ),
)
def _(*parts):
    return _encode(*parts, order="no-feed-forward-residual")


@mistake(
    ENCODE,
    "norms-exchanged",
    caught_by="post-norm",
    loses=7.5,
    misconception="You exchanged the two LayerNorms of a block.",
)
def _(*parts):
    return _encode(*parts, order="exchanged")


@mistake(
    ENCODE,
    "residual-of-the-sum",
    caught_by="post-norm",
    loses=7.5,
    misconception=(
        "You add the feed-forward output to the sum before its norm. The residual"
        " is the normalized vector."
    ),
)
def _(*parts):
    return _encode(*parts, order="late")


@mistake(
    ENCODE,
    "not-scaled",
    caught_by="attention",
    loses=6,
    misconception="You do not divide the scores by the square root of D.",
)
def _(*parts):
    return _encode(*parts, scale=lambda x, heads: 1.0)


@mistake(
    ENCODE,
    "left-sides-only",
    caught_by="attention",
    loses=6,
    misconception=("You use a causal mask, as in GPT. BERT's tokens attend in both directions."),
)
def _(weights, ids, segments, mask, num_heads):
    texts = []
    for place in range(ids.shape[1]):
        seen = mask & (torch.arange(ids.shape[1]) <= place)
        seen[:, 0] |= ~seen.any(1)
        texts.append(_encode(weights, ids, segments, seen, num_heads)[:, place])
    return torch.stack(texts, 1)


@mistake(
    ENCODE,
    "matrices-not-turned",
    caught_by="attention",
    loses=6,
    misconception=(
        "You multiply by W instead of its transpose. A square matrix gives the"
        " right shape either way."
    ),
)
def _(*parts):
    def linear(x, weight, bias):
        return (x @ weight if weight.shape[0] == weight.shape[1] else x @ weight.T) + bias

    return _encode(*parts, linear=linear)


@mistake(
    ENCODE,
    "scaled-by-the-width",
    caught_by="heads",
    loses=4.5,
    misconception="You divide by the square root of C. A head has D = C / H dimensions.",
)
def _(*parts):
    return _encode(*parts, scale=lambda x, heads: math.sqrt(x.shape[-1]))


@mistake(
    ENCODE,
    "one-head",
    caught_by="heads",
    loses=4.5,
    misconception=(
        "You use a single head with all columns. Each head has its own columns"
        " and attention weights."
    ),
)
def _(weights, ids, segments, mask, num_heads):
    return _encode(weights, ids, segments, mask, 1)


@mistake(
    ENCODE,
    "heads-cut-by-rows",
    caught_by="heads",
    loses=4.5,
    misconception=(
        "You reshape to heads without transposing: a head gets whole tokens"
        " instead of some columns of all."
    ),
)
def _(*parts):
    return _encode(*parts, split=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1))


@mistake(
    ENCODE,
    "every-so-manieth-column",
    caught_by="heads",
    loses=4.5,
    misconception=(
        "You give head h every H-th column. Its columns are contiguous, h D to (h + 1) D - 1."
    ),
)
def _(*parts):
    return _encode(*parts, split=lambda x, heads: x.unflatten(2, (-1, heads)).permute(0, 3, 1, 2))


@mistake(
    ENCODE,
    "padding-seen",
    caught_by="padding",
    loses=2,
    misconception="You do not use the mask: tokens attend to padding.",
)
def _(*parts):
    return _encode(*parts, hidden=None)


@mistake(
    ENCODE,
    "padding-scores-nought",
    caught_by="padding",
    loses=2,
    misconception=("You give padding a score of 0, which still has a weight. Use minus infinity."),
)
def _(*parts):
    return _encode(*parts, hidden=0.0)


@mistake(
    ENCODE,
    "positions-without-padding",
    caught_by="padding",
    loses=2,
    misconception=(
        "You count positions from the first token that is not padding. BERT"
        " counts from the left end."
    ),
)
def _(*parts):
    def start(rows, ids, segments, mask):
        places = (mask.cumsum(1) - 1).clamp(min=0)
        return rows[0][ids] + rows[1][places] + rows[2][segments]

    return _encode(*parts, start=start)


@mistake(
    ENCODE,
    "relu",
    caught_by="feed-forward",
    loses=2,
    misconception="You use ReLU in the feed-forward layer. BERT has GELU.",
)
def _(*parts):
    return _encode(*parts, gelu=torch.relu)


@mistake(
    ENCODE,
    "gelu-by-tanh",
    caught_by="feed-forward",
    loses=2,
    misconception=("You use the tanh approximation of GELU, as in GPT-2. BERT uses the exact one."),
)
def _(*parts):
    return _encode(*parts, gelu=lambda x: functional.gelu(x, approximate="tanh"))


@mistake(
    ENCODE,
    "no-activation",
    caught_by="feed-forward",
    loses=2,
    misconception="You omit GELU in the feed-forward layer.",
)
def _(*parts):
    return _encode(*parts, gelu=lambda x: x)


@mistake(
    ENCODE,
    "layers-by-text",
    caught_by="layers",
    loses=1,
    misconception="You sort layer names as text, where 10 comes before 2.",
)
def _(*parts):
    return _encode(*parts, layers=lambda numbers: sorted(numbers, key=str))


@mistake(ENCODE, "one-layer", caught_by="layers", loses=1, misconception="You apply layer 0 only.")
def _(*parts):
    return _encode(*parts, layers=lambda numbers: numbers[:1])


@mistake(
    ENCODE,
    "from-the-last",
    caught_by="layers",
    loses=1,
    misconception="You apply the layers in reverse order.",
)
def _(*parts):
    return _encode(*parts, layers=reversed)


@mistake(
    ENCODE,
    "ten-layers-at-most",
    caught_by="layers",
    loses=1,
    misconception=("You read a single digit of the layer number, so there are ten layers at most."),
)
def _(*parts):
    return _encode(*parts, layers=lambda numbers: numbers[:10])
