"""Plausible wrong solutions of chapter 4, part 2."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

HEADS = "04.multi_head"


def _split(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).transpose(1, 2)


def _merge(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def _heads(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    num_heads,
    project=lambda x, weight: x @ weight.T,
    split=_split,
    merge=_merge,
    scale=None,
    weigh=lambda scores: scores.softmax(-1),
    mix=lambda merged, w_o: merged @ w_o.T,
):
    """The answer with one part replaced.

    scale: the number that the scores are divided by, from C and H.
    """
    q, k, v = (split(project(x, weight), num_heads) for weight in (w_q, w_k, w_v))
    root = math.sqrt(q.shape[-1]) if scale is None else scale(x.shape[-1], num_heads)
    return mix(merge(weigh(q @ k.mT / root) @ v), w_o)


@mistake(
    HEADS,
    "not-transposed",
    caught_by="single head",
    loses=7,
    misconception=(
        "You multiply by the matrices themselves. As in torch.nn.Linear, multiply x by their"
        " transposes."
    ),
)
def _(*parts):
    return _heads(
        *parts, project=lambda x, weight: x @ weight, mix=lambda merged, w_o: merged @ w_o
    )


@mistake(
    HEADS,
    "queries-and-keys-exchanged",
    caught_by="single head",
    loses=6,
    misconception="You project the queries with w_k and the keys with w_q.",
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    return _heads(x, w_k, w_q, w_v, w_o, num_heads)


@mistake(
    HEADS,
    "values-not-projected",
    caught_by="single head",
    loses=7,
    misconception="You use the tokens themselves as values. Values are projected by w_v.",
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    return _heads(x, w_q, w_k, torch.eye(x.shape[2], dtype=x.dtype), w_o, num_heads)


@mistake(
    HEADS,
    "softmax-over-queries",
    caught_by="single head",
    loses=6,
    misconception=(
        "You apply the softmax over the queries. A query's weights add up to 1 over the keys."
    ),
)
def _(*parts):
    return _heads(*parts, weigh=lambda scores: scores.softmax(-2))


@mistake(
    HEADS,
    "softmax-over-heads",
    caught_by="single head",
    loses=7,
    misconception=(
        "You apply the softmax over the heads. Each head has weights of its own, over the keys."
    ),
)
def _(*parts):
    return _heads(*parts, weigh=lambda scores: scores.softmax(1))


@mistake(
    HEADS,
    "causal",
    caught_by="single head",
    loses=7,
    misconception=(
        "You apply a causal mask. Nothing is masked here: every token attends to every token of its"
        " sequence."
    ),
)
def _(*parts):
    return _heads(
        *parts,
        weigh=lambda scores: scores.masked_fill(
            torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf
        ).softmax(-1),
    )


@mistake(
    HEADS,
    "token-added",
    caught_by="single head",
    loses=7,
    misconception=(
        "You add x to the result. The residual connection belongs to the block, not to attention."
    ),
)
def _(x, *more):
    return x + _heads(x, *more)


@mistake(
    HEADS,
    "other-texts-seen",
    caught_by="single head",
    loses=7,
    misconception=(
        "You let tokens attend to other sequences of the batch. Each sequence is independent."
    ),
)
def _(x, *more):
    return _heads(x.reshape(1, -1, x.shape[2]), *more).reshape(x.shape)


@mistake(
    HEADS,
    "sequences-for-tokens",
    caught_by="single head",
    loses=7,
    misconception=(
        "You attend over the sequences of the batch, as if the tokens came first. They are on the"
        " second axis: (B, T, C)."
    ),
)
def _(x, *more):
    return _heads(x.transpose(0, 1), *more).transpose(0, 1)


@mistake(
    HEADS,
    "no-scale",
    caught_by="single head",
    loses=6,
    misconception="You do not divide the scores by the square root of D.",
)
def _(*parts):
    return _heads(*parts, scale=lambda width, number: 1.0)


@mistake(
    HEADS,
    "divided-by-width",
    caught_by="single head",
    loses=6,
    misconception="You divide the scores by D. Divide by its square root.",
)
def _(*parts):
    return _heads(*parts, scale=lambda width, number: width / number)


@mistake(
    HEADS,
    "root-of-all-columns",
    caught_by="columns per head",
    loses=4.5,
    misconception=(
        "You divide by the square root of C, the dimension of the token. Divide by that of D, the"
        " dimension of a head."
    ),
)
def _(*parts):
    return _heads(*parts, scale=lambda width, number: math.sqrt(width))


@mistake(
    HEADS,
    "root-of-the-heads",
    caught_by="single head",
    loses=6,
    misconception=(
        "You divide by the square root of H, the number of heads. Divide by that of D, the"
        " dimension of a head."
    ),
)
def _(*parts):
    return _heads(*parts, scale=lambda width, number: math.sqrt(number))


@mistake(
    HEADS,
    "one-head-always",
    caught_by="columns per head",
    loses=4.5,
    misconception="You attend once over all columns. Each head attends with its own D columns.",
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    return _heads(x, w_q, w_k, w_v, w_o, 1)


@mistake(
    HEADS,
    "reshaped-into-heads",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception=(
        "You reshape straight to (B, H, T, D), which splits the tokens, not the columns. Reshape to"
        " (B, T, H, D), then transpose."
    ),
)
def _(*parts):
    return _heads(*parts, split=lambda x, number: x.reshape(x.shape[0], number, x.shape[1], -1))


@mistake(
    HEADS,
    "attends-over-the-heads",
    caught_by="single head",
    loses=7,
    misconception=(
        "You attend over the heads of one token. Transpose to (B, H, T, D) before attention."
    ),
)
def _(*parts):
    return _heads(
        *parts,
        split=lambda x, number: x.reshape(*x.shape[:2], number, -1),
        merge=lambda x: x.flatten(2),
    )


@mistake(
    HEADS,
    "attends-over-the-heads-and-transposes",
    caught_by="single head",
    loses=7,
    misconception=(
        "You attend over the heads of one token. Transpose to (B, H, T, D) before attention."
    ),
)
def _(*parts):
    return _heads(
        *parts,
        split=lambda x, number: x.reshape(*x.shape[:2], number, -1),
        merge=lambda x: x.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1),
    )


@mistake(
    HEADS,
    "merged-without-transpose",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception=(
        "You reshape (B, H, T, D) straight to (B, T, C), which mixes the tokens. Transpose back to"
        " (B, T, H, D) first."
    ),
)
def _(*parts):
    return _heads(*parts, merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1))


@mistake(
    HEADS,
    "reshaped-both-ways",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception=(
        "You reshape to (B, H, T, D) and back without a transpose: each head gets some whole tokens"
        " instead of some columns of all tokens."
    ),
)
def _(*parts):
    return _heads(
        *parts,
        split=lambda x, number: x.reshape(x.shape[0], number, x.shape[1], -1),
        merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1),
    )


@mistake(
    HEADS,
    "heads-of-every-hth-column",
    caught_by="columns per head",
    loses=4.5,
    misconception="You give head h the columns h, h + H, h + 2H and so on. It has D adjacent ones.",
)
def _(*parts):
    return _heads(
        *parts,
        split=lambda x, number: x.reshape(*x.shape[:2], -1, number).permute(0, 3, 1, 2),
        merge=lambda x: x.permute(0, 2, 3, 1).reshape(x.shape[0], x.shape[2], -1),
    )


@mistake(
    HEADS,
    "merged-column-by-column",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception=(
        "You concatenate the first columns of all heads, then the second ones. All columns of head"
        " 0 come first."
    ),
)
def _(*parts):
    return _heads(*parts, merge=lambda x: x.permute(0, 2, 3, 1).reshape(x.shape[0], x.shape[2], -1))


@mistake(
    HEADS,
    "last-head-first",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception="You concatenate the heads in reverse order.",
)
def _(*parts):
    return _heads(*parts, merge=lambda x: _merge(x.flip(1)))


@mistake(
    HEADS,
    "width-and-heads-exchanged",
    caught_by="single head",
    loses=6,
    misconception="You make C / H heads of dimension H. There are H heads of dimension C / H.",
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    return _heads(x, w_q, w_k, w_v, w_o, x.shape[2] // num_heads)


@mistake(
    HEADS,
    "mean-of-the-heads",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception="You average the heads. Concatenate them.",
)
def _(*parts):
    return _heads(*parts, merge=lambda x: x.mean(1).repeat(1, 1, x.shape[1]))


@mistake(
    HEADS,
    "first-head-only",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception="You repeat the first head instead of concatenating all heads.",
)
def _(*parts):
    return _heads(*parts, merge=lambda x: _merge(x[:, :1].expand(x.shape)))


@mistake(
    HEADS,
    "weights-of-the-first-head",
    caught_by="columns per head",
    loses=4.5,
    misconception=(
        "You use the first head's attention weights for all heads. Each head has its own."
    ),
)
def _(*parts):
    return _heads(*parts, weigh=lambda scores: scores[:, :1].softmax(-1))


@mistake(
    HEADS,
    "split-before-projecting",
    caught_by="concatenating the heads",
    loses=5.5,
    misconception=(
        "You split x into heads before the projection, so a head sees only some dimensions of the"
        " token. Project all C first."
    ),
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    def project(x, weight):
        own = [
            slice(first, first + x.shape[2] // num_heads)
            for first in range(0, x.shape[2], x.shape[2] // num_heads)
        ]
        return torch.cat([x[..., one] @ weight[one, one].T for one in own], -1)

    return _heads(x, w_q, w_k, w_v, w_o, num_heads, project=project)


@mistake(
    HEADS,
    "no-last-matrix",
    caught_by="output projection",
    loses=2.5,
    misconception="You leave out the output projection w_o.",
)
def _(*parts):
    return _heads(*parts, mix=lambda merged, w_o: merged)


@mistake(
    HEADS,
    "last-matrix-not-transposed",
    caught_by="output projection",
    loses=2.5,
    misconception=(
        "You multiply the heads by w_o itself. Use its transpose, as for the other three."
    ),
)
def _(*parts):
    return _heads(*parts, mix=lambda merged, w_o: merged @ w_o)


@mistake(
    HEADS,
    "values-mixed-first-to-last",
    caught_by="output projection",
    loses=2.5,
    misconception=(
        "You multiply each head by its own block of w_o and concatenate: the heads are never mixed."
    ),
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    def mix(merged, w_o):
        width = merged.shape[2] // num_heads
        own = [slice(first, first + width) for first in range(0, merged.shape[2], width)]
        return torch.cat([merged[..., one] @ w_o[one, one].T for one in own], -1)

    return _heads(x, w_q, w_k, w_v, w_o, num_heads, mix=mix)


@mistake(
    HEADS,
    "overflow",
    caught_by="sizes and float64",
    loses=1,
    misconception=(
        "You exponentiate the scores as they are, which overflows from 89 on. Subtract the row's"
        " maximum first, or use softmax."
    ),
)
def _(*parts):
    return _heads(*parts, weigh=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))


@mistake(
    HEADS,
    "single-precision",
    caught_by="sizes and float64",
    loses=1,
    misconception="You compute in float32 whatever comes in, and lose the digits of float64.",
)
def _(x, w_q, w_k, w_v, w_o, num_heads):
    return _heads(x.float(), w_q.float(), w_k.float(), w_v.float(), w_o.float(), num_heads).to(
        x.dtype
    )


@mistake(
    HEADS,
    "one-token-fails",
    caught_by="sizes and float64",
    loses=1,
    misconception="Your code fails for a sequence of one token.",
)
def _(x, *more):
    if x.shape[1] == 1:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    return _heads(x, *more)
