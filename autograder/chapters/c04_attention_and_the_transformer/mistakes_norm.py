"""Plausible wrong solutions of chapter 4, part 4: the norm."""

import torch

from autograder.checks.mistakes.registry import mistake

NORM = "04.layer_norm"


def _norm(
    x,
    weight,
    bias,
    eps,
    mean=lambda x: x.mean(-1, keepdim=True),
    variance=lambda x, mean: (x - mean).square().mean(-1, keepdim=True),
    divisor=lambda variance, eps: (variance + eps).sqrt(),
    end=lambda normed, weight, bias: normed * weight + bias,
):
    """The answer with one part replaced."""
    middle = mean(x)
    return end((x - middle) / divisor(variance(x, middle), eps), weight, bias)


@mistake(
    NORM,
    "unbiased",
    caught_by="mean and deviation",
    loses=4,
    misconception="You divide by C - 1, the default of torch's var. Divide by C.",
)
def _(*parts):
    return _norm(
        *parts,
        variance=lambda x, mean: (
            (x - mean).square().sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)
        ),
    )


@mistake(
    NORM,
    "unbiased-and-nan-for-one-element",
    caught_by="mean and deviation",
    loses=4,
    misconception="You divide by C - 1, the default of torch's var. Divide by C.",
)
def _(*parts):
    return _norm(
        *parts,
        variance=lambda x, mean: (
            x.var(-1, keepdim=True) if x.shape[-1] > 1 else torch.full_like(mean, torch.nan)
        ),
    )


@mistake(
    NORM,
    "unbiased-and-eps-outside",
    caught_by="mean and deviation",
    loses=4,
    misconception=(
        "You add eps to torch's std. That divides by C - 1 instead of C, and eps belongs inside the"
        " root."
    ),
)
def _(*parts):
    return _norm(
        *parts,
        variance=lambda x, mean: (
            x.std(-1, keepdim=True) if x.shape[-1] > 1 else torch.full_like(mean, torch.nan)
        ),
        divisor=lambda deviation, eps: deviation + eps,
    )


@mistake(
    NORM,
    "no-mean",
    caught_by="mean and deviation",
    loses=4,
    misconception=(
        "You do not subtract the mean: that is RMSNorm. LayerNorm centres the token first."
    ),
)
def _(*parts):
    return _norm(*parts, mean=lambda x: torch.zeros_like(x[..., :1]))


@mistake(
    NORM,
    "not-centred-above",
    caught_by="mean and deviation",
    loses=4,
    misconception="You divide x by its standard deviation without subtracting the mean from x.",
)
def _(x, weight, bias, eps):
    return x / (x.var(-1, correction=0, keepdim=True) + eps).sqrt() * weight + bias


@mistake(
    NORM,
    "only-centred",
    caught_by="mean and deviation",
    loses=4,
    misconception="You subtract the mean but do not divide by the standard deviation.",
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: 1.0)


@mistake(
    NORM,
    "divided-by-the-variance",
    caught_by="mean and deviation",
    loses=4,
    misconception="You divide by the variance. Divide by its square root, the standard deviation.",
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: variance + eps)


@mistake(
    NORM,
    "mean-distance",
    caught_by="mean and deviation",
    loses=4,
    misconception=(
        "You divide by the mean absolute deviation. Divide by the root of the mean of the squares."
    ),
)
def _(*parts):
    return _norm(*parts, variance=lambda x, mean: (x - mean).abs().mean(-1, keepdim=True).square())


@mistake(
    NORM,
    "length-one",
    caught_by="mean and deviation",
    loses=4,
    misconception=(
        "You divide by the norm of the vector, the root of the sum of the squares. Divide by the"
        " root of their mean."
    ),
)
def _(*parts):
    return _norm(*parts, variance=lambda x, mean: (x - mean).square().sum(-1, keepdim=True))


@mistake(
    NORM,
    "eps-outside",
    caught_by="eps inside the root",
    loses=3,
    misconception="You add eps after the square root. It belongs to the variance, inside the root.",
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: variance.sqrt() + eps)


@mistake(
    NORM, "no-eps", caught_by="eps inside the root", loses=3, misconception="You leave out eps."
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: variance.sqrt())


@mistake(
    NORM,
    "eps-of-its-own",
    caught_by="eps inside the root",
    loses=2.5,
    misconception="You use 1e-5 for eps whatever is given.",
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: (variance + 1e-5).sqrt())


@mistake(
    NORM,
    "eps-as-a-floor",
    caught_by="eps inside the root",
    loses=3,
    misconception="You take the maximum of the variance and eps. Add them.",
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: variance.clamp(min=eps).sqrt())


@mistake(
    NORM,
    "eps-squared",
    caught_by="eps inside the root",
    loses=3,
    misconception="You add the square of eps to the variance. Add eps itself.",
)
def _(*parts):
    return _norm(*parts, divisor=lambda variance, eps: (variance + eps**2).sqrt())


@mistake(
    NORM, "no-weight", caught_by="weight and bias", loses=2, misconception="You leave out weight."
)
def _(*parts):
    return _norm(*parts, end=lambda normed, weight, bias: normed + bias)


@mistake(NORM, "no-bias", caught_by="weight and bias", loses=2, misconception="You leave out bias.")
def _(*parts):
    return _norm(*parts, end=lambda normed, weight, bias: normed * weight)


@mistake(
    NORM,
    "neither-weight-nor-bias",
    caught_by="weight and bias",
    loses=2,
    misconception="You leave out weight and bias.",
)
def _(*parts):
    return _norm(*parts, end=lambda normed, weight, bias: normed)


@mistake(
    NORM,
    "bias-first",
    caught_by="weight and bias",
    loses=2,
    misconception="You add the bias before you multiply by the weight. Weight first, then bias.",
)
def _(*parts):
    return _norm(*parts, end=lambda normed, weight, bias: (normed + bias) * weight)


@mistake(
    NORM,
    "weight-first",
    caught_by="weight and bias",
    loses=2,
    misconception=(
        "You multiply by the weight before you normalize. It comes last, before the bias."
    ),
)
def _(x, weight, bias, eps):
    return _norm(x * weight, torch.ones_like(weight), bias, eps)


@mistake(
    NORM,
    "one-plus-weight",
    caught_by="mean and deviation",
    loses=4,
    misconception="You multiply by 1 plus the weight. Multiply by the weight itself.",
)
def _(*parts):
    return _norm(*parts, end=lambda normed, weight, bias: normed * (1 + weight) + bias)


@mistake(
    NORM,
    "one-norm-for-all-tokens",
    caught_by="last axis only",
    loses=2,
    misconception="You take one mean and one variance over all tokens. Each token has its own.",
)
def _(*parts):
    return _norm(
        *parts, mean=lambda x: x.mean(), variance=lambda x, mean: (x - mean).square().mean()
    )


@mistake(
    NORM,
    "over-the-tokens",
    caught_by="mean and deviation",
    loses=4,
    misconception=(
        "You take mean and variance of each column over the tokens: that is batch norm. Take them"
        " over each token's columns."
    ),
)
def _(*parts):
    return _norm(
        *parts,
        mean=lambda x: x.mean(0, keepdim=True),
        variance=lambda x, mean: (x - mean).square().mean(0, keepdim=True),
    )


@mistake(
    NORM,
    "over-the-text",
    caught_by="last axis only",
    loses=2,
    misconception=(
        "You take one mean and one variance over all tokens of a sequence. Each token has its own."
    ),
)
def _(*parts):
    axes = {"dim": (-2, -1), "keepdim": True}
    return _norm(
        *parts,
        mean=lambda x: x.mean(**(axes if x.dim() > 1 else {})),
        variance=lambda x, mean: (x - mean).square().mean(**(axes if x.dim() > 1 else {})),
    )


@mistake(
    NORM,
    "second-axis",
    caught_by="last axis only",
    loses=2,
    misconception="You take mean and variance over axis 1. Take them over the last axis.",
)
def _(*parts):
    return _norm(
        *parts,
        mean=lambda x: x.mean(1, keepdim=True),
        variance=lambda x, mean: (x - mean).square().mean(1, keepdim=True),
    )


@mistake(
    NORM,
    "axis-not-kept",
    caught_by="last axis only",
    loses=2,
    misconception=(
        "You lose the mean's axis, so it is subtracted from the wrong elements: use keepdim=True."
    ),
)
def _(*parts):
    return _norm(
        *parts, mean=lambda x: x.mean(-1), variance=lambda x, mean: (x - mean).square().mean(-1)
    )


@mistake(
    NORM,
    "squares-less-square",
    caught_by="sizes and large means",
    loses=0.5,
    misconception=(
        "You subtract the mean's square from the mean of the squares: far from zero both are large"
        " and nearly equal, so every digit cancels."
    ),
)
def _(*parts):
    return _norm(
        *parts,
        variance=lambda x, mean: (x.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0),
    )


@mistake(
    NORM,
    "one-number-is-nan",
    caught_by="sizes and large means",
    loses=0.5,
    misconception=(
        "You return NaN for a token of one element: you divide by C - 1 and correct it afterwards."
    ),
)
def _(*parts):
    return _norm(
        *parts,
        variance=lambda x, mean: (
            x.var(-1, keepdim=True) * (x.shape[-1] - 1) / x.shape[-1]
            if x.shape[-1] > 1
            else torch.full_like(mean, torch.nan)
        ),
    )


@mistake(
    NORM,
    "single-precision",
    caught_by="sizes and large means",
    loses=0.5,
    misconception="You compute in float32 whatever comes in, and lose the digits of float64.",
)
def _(x, weight, bias, eps):
    return _norm(x.float(), weight.float(), bias.float(), eps).to(x.dtype)
