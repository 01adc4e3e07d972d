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
        "Your embeddings lack 2 C numbers: the two rows of the segments, or the weights and biases"
        " of the norm."
    ),
)
def _(*sizes):
    return _sizes(*sizes, rows=sizes[0] + sizes[1])


@mistake(
    SIZE,
    "positions-missing",
    caught_by="embeddings",
    loses=1.5,
    misconception="You leave out the positions, which BERT learns: each has a row.",
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
    misconception="You give each head matrices of the whole width. The heads share the C columns.",
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
    misconception="You leave out the output matrix of attention.",
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
        "2 C parameters are missing in each block: either one of its two norms, or the biases of"
        " both."
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
    misconception="You count one block. All L together are asked for.",
)
def _(vocab_size, positions, hidden, num_layers, num_heads, inner):
    return _sizes(vocab_size, positions, hidden, 1, num_heads, inner)


@mistake(
    SIZE,
    "inner-is-four-times",
    caught_by="blocks",
    loses=2,
    misconception=(
        "You take four times C for the width inside the feed-forward. It is given: `inner`."
    ),
)
def _(vocab_size, positions, hidden, num_layers, num_heads, inner):
    return _sizes(vocab_size, positions, hidden, num_layers, num_heads, 4 * hidden)


@mistake(
    SIZE,
    "no-biases",
    caught_by="blocks",
    loses=4.5,
    misconception="You leave out the biases of the matrices.",
)
def _(*sizes):
    return _sizes(*sizes, biases=0)


@mistake(
    SIZE,
    "decoder-again",
    caught_by="heads",
    loses=2,
    misconception=(
        "You count the table of tokens once more in the masked head. It is the same table: tied."
    ),
)
def _(*sizes):
    return _sizes(*sizes, head=sizes[2] ** 2 + 3 * sizes[2] + sizes[0] * sizes[2] + sizes[0])


@mistake(
    SIZE,
    "no-output-bias",
    caught_by="heads",
    loses=2,
    misconception="You leave out the bias of each of the V tokens in the masked head.",
)
def _(*sizes):
    return _sizes(*sizes, head=sizes[2] ** 2 + 3 * sizes[2])


@mistake(
    SIZE,
    "head-is-its-bias",
    caught_by="heads",
    loses=2,
    misconception="You leave out the matrix and the norm that come before the scores.",
)
def _(*sizes):
    return _sizes(*sizes, head=sizes[0])


@mistake(
    SIZE,
    "one-number-for-the-pair",
    caught_by="heads",
    loses=2,
    misconception=(
        'You give the pair head one number. It has two, for "follows" and "from elsewhere".'
    ),
)
def _(*sizes):
    return _sizes(*sizes, pairs=sizes[2] + 1)


@mistake(
    SIZE,
    "pooler-of-two-vectors",
    caught_by="pooler",
    loses=0.5,
    misconception="You feed the pooler with two vectors. It takes that of `[CLS]` alone.",
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
        "This is the code of the statement: it norms what comes before GELU, and GELU is lost."
    ),
)
def _(x, weights):
    return _head(x, weights, activation=lambda x: x)


@mistake(
    HEAD,
    "norm-before-gelu",
    caught_by="activation",
    loses=3,
    misconception="You norm first and take GELU then. GELU comes first.",
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
    misconception="You leave the norm out: the scores are made of what GELU gives.",
)
def _(x, weights):
    return _head(x, weights, normed=False)


@mistake(
    HEAD,
    "dense-not-turned",
    caught_by="activation",
    loses=3,
    misconception="You multiply with the dense matrix in the place of its transpose.",
)
def _(x, weights):
    return _head(x, weights, first=lambda weights: weights["dense.weight"])


@mistake(
    HEAD,
    "dense-bias-lost",
    caught_by="activation",
    loses=3,
    misconception="You lose the bias of the dense matrix.",
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
    misconception="You lose the bias of the tokens in the last line.",
)
def _(x, weights):
    return _head(x, weights, bias=False)


@mistake(
    HEAD,
    "as-shares",
    caught_by="activation",
    loses=3,
    misconception="You return the softmax of the scores. The scores themselves are asked for.",
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
    misconception="Line 3 is right: GELU of what line 2 made. Look where its result is read.",
)
def _():
    return 3


@mistake(
    HEAD,
    "line-5",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 5 is right: h times the word rows.",
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
