"""Plausible wrong predictions and repairs of chapter 5, part 4."""

import torch
from torch.nn.functional import gelu, layer_norm

from autograder.checks.mistakes.registry import mistake

SIZE = "05.predict_parameters"


def _sizes(
    vocab_size,
    positions,
    hidden,
    num_layers,
    num_heads,
    inner,
    rows=None,
    norm=2,
    block=None,
    biases=1,
    pooler=None,
    head=None,
    pairs=None,
):
    """The five numbers with one part replaced.

    rows: of the tables; norm, biases: numbers of a norm and of a bias.
    """
    square = hidden * hidden + biases * hidden
    block = (
        4 * square + 2 * hidden * inner + biases * (inner + hidden) + 2 * norm * hidden
        if block is None
        else block
    )
    rows = vocab_size + positions + 2 if rows is None else rows
    return {
        "embeddings": rows * hidden + norm * hidden,
        "blocks": num_layers * block,
        "pooler": square if pooler is None else pooler,
        "masked_head": square + norm * hidden + vocab_size if head is None else head,
        "pair_head": 2 * hidden + 2 * biases if pairs is None else pairs,
    }


@mistake(
    SIZE,
    "segments-or-norm-missing",
    caught_by="embeddings",
    loses=1.5,
    misconception=(
        "You missed 2 C parameters of the embeddings: the two segments, or the"
        " weights and biases of the norm."
    ),
)
def _(*sizes):
    return _sizes(*sizes, rows=sizes[0] + sizes[1])


@mistake(
    SIZE,
    "positions-missing",
    caught_by="embeddings",
    loses=1.5,
    misconception="You omit the position embeddings, which BERT learns.",
)
def _(*sizes):
    return _sizes(*sizes, rows=sizes[0] + 2)


@mistake(
    SIZE,
    "norms-with-a-weight-only",
    caught_by="embeddings",
    loses=5.5,
    misconception="Your norms have a weight and no bias. LayerNorm has both.",
)
def _(*sizes):
    return _sizes(*sizes, norm=1)


@mistake(
    SIZE,
    "heads-times",
    caught_by="blocks",
    loses=2,
    misconception=("You give each head its own C x C matrices. The heads share the C columns."),
)
def _(*sizes):
    return _sizes(
        *sizes,
        block=(3 * sizes[4] + 1) * (sizes[2] ** 2 + sizes[2])
        + 2 * sizes[2] * sizes[5]
        + sizes[5]
        + sizes[2]
        + 4 * sizes[2],
    )


@mistake(
    SIZE,
    "no-output-matrix",
    caught_by="blocks",
    loses=2,
    misconception="You omit the output projection of attention.",
)
def _(*sizes):
    return _sizes(
        *sizes,
        block=3 * (sizes[2] ** 2 + sizes[2])
        + 2 * sizes[2] * sizes[5]
        + sizes[5]
        + sizes[2]
        + 4 * sizes[2],
    )


@mistake(
    SIZE,
    "one-norm",
    caught_by="blocks",
    loses=2,
    misconception=(
        "You missed 2 C parameters in each block: one of its two norms, or the biases of both."
    ),
)
def _(*sizes):
    return _sizes(
        *sizes,
        block=4 * (sizes[2] ** 2 + sizes[2])
        + 2 * sizes[2] * sizes[5]
        + sizes[5]
        + sizes[2]
        + 2 * sizes[2],
    )


@mistake(
    SIZE,
    "one-block",
    caught_by="blocks",
    loses=2,
    misconception="You count one block. Count all L together.",
)
def _(vocab_size, positions, hidden, num_layers, num_heads, inner):
    return _sizes(vocab_size, positions, hidden, 1, num_heads, inner)


@mistake(
    SIZE,
    "inner-is-four-times",
    caught_by="blocks",
    loses=2,
    misconception=("You use 4 C for the intermediate size. It is given as `inner`."),
)
def _(vocab_size, positions, hidden, num_layers, num_heads, inner):
    return _sizes(vocab_size, positions, hidden, num_layers, num_heads, 4 * hidden)


@mistake(
    SIZE,
    "no-biases",
    caught_by="blocks",
    loses=4.5,
    misconception="You omit the biases of the matrices.",
)
def _(*sizes):
    return _sizes(*sizes, biases=0)


@mistake(
    SIZE,
    "decoder-again",
    caught_by="heads",
    loses=2,
    misconception=(
        "You count the tied decoder again in the MLM head. Its matrix is the token embeddings."
    ),
)
def _(*sizes):
    return _sizes(*sizes, head=sizes[2] ** 2 + 3 * sizes[2] + sizes[0] * sizes[2] + sizes[0])


@mistake(
    SIZE,
    "no-output-bias",
    caught_by="heads",
    loses=2,
    misconception="You omit the bias of each of the V tokens in the MLM head.",
)
def _(*sizes):
    return _sizes(*sizes, head=sizes[2] ** 2 + 3 * sizes[2])


@mistake(
    SIZE,
    "head-is-its-bias",
    caught_by="heads",
    loses=2,
    misconception="You omit the transform of the MLM head: its matrix and its norm.",
)
def _(*sizes):
    return _sizes(*sizes, head=sizes[0])


@mistake(
    SIZE,
    "one-number-for-the-pair",
    caught_by="heads",
    loses=2,
    misconception=(
        'You give the NSP head one output. It has two, for "follows" and "from elsewhere".'
    ),
)
def _(*sizes):
    return _sizes(*sizes, pairs=sizes[2] + 1)


@mistake(
    SIZE,
    "pooler-of-two-vectors",
    caught_by="pooler",
    loses=0.5,
    misconception="You give the pooler two vectors. It takes that of `[CLS]` alone.",
)
def _(*sizes):
    return _sizes(*sizes, pooler=2 * sizes[2] ** 2 + sizes[2])


HEAD = "05.repair_head"


def _head(
    x, weights, activation=gelu, first=None, normed=True, words=None, bias=True, dense_bias=True
):
    """The head with one part replaced."""
    width = weights["norm.weight"].shape
    x = x @ (weights["dense.weight"].T if first is None else first(weights)) + (
        weights["dense.bias"] if dense_bias else 0
    )
    x = activation(x)
    x = layer_norm(x, width, weights["norm.weight"], weights["norm.bias"], 1e-12) if normed else x
    return x @ (weights["words"].T if words is None else words(weights)) + (
        weights["bias"] if bias else 0
    )


@mistake(
    HEAD,
    "as-printed",
    caught_by="activation",
    loses=3,
    misconception=(
        "You copied the statement's code: it normalizes the input of GELU, so GELU has no effect."
    ),
)
def _(x, weights):
    return _head(x, weights, activation=lambda x: x)


@mistake(
    HEAD,
    "norm-before-gelu",
    caught_by="activation",
    loses=3,
    misconception="You apply LayerNorm before GELU. GELU comes first.",
)
def _(x, weights):
    h = layer_norm(
        x @ weights["dense.weight"].T + weights["dense.bias"],
        weights["norm.weight"].shape,
        weights["norm.weight"],
        weights["norm.bias"],
        1e-12,
    )
    return gelu(h) @ weights["words"].T + weights["bias"]


@mistake(
    HEAD,
    "no-norm",
    caught_by="activation",
    loses=3,
    misconception="You omit LayerNorm: the logits are computed from the output of GELU.",
)
def _(x, weights):
    return _head(x, weights, normed=False)


@mistake(
    HEAD,
    "dense-not-turned",
    caught_by="activation",
    loses=3,
    misconception="You multiply by the dense matrix instead of its transpose.",
)
def _(x, weights):
    return _head(x, weights, first=lambda weights: weights["dense.weight"])


@mistake(
    HEAD,
    "dense-bias-lost",
    caught_by="activation",
    loses=3,
    misconception="You omit the bias of the dense matrix.",
)
def _(x, weights):
    return _head(x, weights, dense_bias=False)


@mistake(
    HEAD,
    "relu",
    caught_by="activation",
    loses=3,
    misconception="You use ReLU. BERT's head has GELU.",
)
def _(x, weights):
    return _head(x, weights, activation=torch.relu)


@mistake(
    HEAD,
    "bias-lost",
    caught_by="scores",
    loses=1.5,
    misconception="You omit the tokens' bias in the last line.",
)
def _(x, weights):
    return _head(x, weights, bias=False)


@mistake(
    HEAD,
    "as-shares",
    caught_by="activation",
    loses=3,
    misconception="You return the softmax of the logits. Return the logits.",
)
def _(x, weights):
    return _head(x, weights).softmax(-1)


@mistake(
    HEAD,
    "line-1",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 1 is right: x times the transpose of the dense matrix.",
)
def _():
    return 1


@mistake(
    HEAD,
    "line-2",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 2 is right: it adds the bias of the dense matrix.",
)
def _():
    return 2


@mistake(
    HEAD,
    "line-3",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception=(
        "Line 3 is right: it applies GELU to the result of line 2. Check where"
        " its own result is read."
    ),
)
def _():
    return 3


@mistake(
    HEAD,
    "line-5",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 5 is right: h times the token embeddings.",
)
def _():
    return 5


@mistake(
    HEAD,
    "line-6",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 6 is right: a bias for each token.",
)
def _():
    return 6
