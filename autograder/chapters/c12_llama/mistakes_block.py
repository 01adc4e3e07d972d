"""Plausible wrong solutions of chapter 12, part 1."""

import torch
from torch.nn.functional import gelu, silu

from autograder.checks.mistakes.registry import mistake

NORM, GATED, WEIGHED, DEAD = "12.rms_norm", "12.swiglu", "12.predict_llama", "12.dead_units"


def _norm(
    x,
    w,
    eps,
    centre=False,
    axis=-1,
    mean=lambda squares, axis: squares.mean(axis, keepdim=True),
    divisor=lambda square, eps: (square + eps).sqrt(),
    weight=lambda w: w,
    wide=torch.float32,
    half_eps=False,
):
    """The answer with one part replaced."""
    full = x.to(wide) if wide else x
    full = full - full.mean(-1, keepdim=True) if centre else full
    eps = torch.tensor(eps).half().item() if half_eps and x.dtype == torch.float16 else eps
    return (full / divisor(mean(full.square(), axis), eps) * weight(w.to(full.dtype))).to(x.dtype)


@mistake(
    NORM,
    "centred",
    caught_by="size",
    loses=4,
    misconception="You take the mean away first, as LayerNorm does. RMSNorm takes nothing away.",
)
def _(x, w, eps):
    return _norm(x, w, eps, centre=True)


@mistake(
    NORM,
    "sum",
    caught_by="size",
    loses=4,
    misconception="You divide by the root of the sum of the squares. It is the root of their mean.",
)
def _(x, w, eps):
    return _norm(x, w, eps, mean=lambda squares, axis: squares.sum(axis, keepdim=True))


@mistake(
    NORM,
    "unbiased",
    caught_by="size",
    loses=4,
    misconception=(
        "You divide the sum of the squares by C - 1. The mean of the squares divides by C."
    ),
)
def _(x, w, eps):
    return _norm(
        x,
        w,
        eps,
        mean=lambda squares, axis: (
            squares.sum(axis, keepdim=True) / max(squares.shape[axis] - 1, 1)
        ),
    )


@mistake(
    NORM,
    "first-axis",
    caught_by="size",
    loses=4,
    misconception="You take the mean over the first axis, so over tokens. Each token has its own.",
)
def _(x, w, eps):
    return _norm(x, w, eps, axis=0)


@mistake(
    NORM,
    "whole-tensor",
    caught_by="size",
    loses=4,
    misconception="You take one mean over all tokens together. Each token has its own.",
)
def _(x, w, eps):
    return _norm(x, w, eps, mean=lambda squares, axis: squares.mean())


@mistake(
    NORM,
    "no-root",
    caught_by="size",
    loses=4,
    misconception="You divide by the mean of the squares, without its root.",
)
def _(x, w, eps):
    return _norm(x, w, eps, divisor=lambda square, eps: square + eps)


@mistake(
    NORM,
    "mean-of-sizes",
    caught_by="size",
    loses=4,
    misconception=(
        "You divide by the mean of the numbers without their signs. It is the root of the mean of"
        " their squares."
    ),
)
def _(x, w, eps):
    full = x.float()
    return (full / (full.abs().mean(-1, keepdim=True) ** 2 + eps).sqrt() * w.float()).to(x.dtype)


@mistake(
    NORM,
    "eps-outside",
    caught_by="eps",
    loses=3,
    misconception=(
        "You add eps to the root. It belongs to the mean of the squares, inside the root."
    ),
)
def _(x, w, eps):
    return _norm(x, w, eps, divisor=lambda square, eps: square.sqrt() + eps)


@mistake(
    NORM,
    "own-eps",
    caught_by="eps",
    loses=3,
    misconception="You take an eps of your own, 0.000001, and not the one that is given.",
)
def _(x, w, eps):
    return _norm(x, w, 1e-6)


@mistake(
    NORM,
    "eps-squared",
    caught_by="eps",
    loses=3,
    misconception=(
        "You add the square of eps. It is eps itself that is added to the mean of the squares."
    ),
)
def _(x, w, eps):
    return _norm(x, w, eps * eps)


@mistake(
    NORM,
    "larger-eps",
    caught_by="eps",
    loses=2,
    misconception="You replace a small eps by 0.00000001.",
)
def _(x, w, eps):
    return _norm(x, w, max(eps, 1e-8))


@mistake(NORM, "no-weight", caught_by="weight", loses=2, misconception="You leave the weight out.")
def _(x, w, eps):
    return _norm(x, w, eps, weight=lambda w: 1.0)


@mistake(
    NORM,
    "one-plus-weight",
    caught_by="size",
    loses=4,
    misconception="You multiply by 1 + w, as some models keep their weights. Here it is w.",
)
def _(x, w, eps):
    return _norm(x, w, eps, weight=lambda w: 1 + w)


@mistake(
    NORM,
    "weighted-first",
    caught_by="weight",
    loses=2,
    misconception="You multiply by the weight before you take the squares. It comes last.",
)
def _(x, w, eps):
    full = x.float() * w.float()
    return (full / (full.square().mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype)


@mistake(
    NORM,
    "squares-in-half",
    caught_by="half",
    loses=1,
    misconception="You square in x's own precision: in float16 the square of 300 is infinite.",
)
def _(x, w, eps):
    return _norm(x, w, eps, wide=None)


@mistake(
    NORM,
    "squared-then-widened",
    caught_by="half",
    loses=1,
    misconception=(
        "You go to float32 after squaring. Then what was too large for float16 is infinite already."
    ),
)
def _(x, w, eps):
    return (x.float() / (x.square().float().mean(-1, keepdim=True) + eps).sqrt() * w.float()).to(
        x.dtype
    )


@mistake(
    NORM,
    "eps-in-half",
    caught_by="half",
    loses=1,
    misconception="Your eps is a float16: 0.00000001 is 0 there.",
)
def _(x, w, eps):
    return _norm(x, w, eps, half_eps=True)


@mistake(
    NORM,
    "float32-comes-out",
    caught_by="half",
    loses=0.8,
    misconception="Your result is float32 where x is float16.",
)
def _(x, w, eps):
    return _norm(x, w, eps).float()


@mistake(
    NORM,
    "zeros-themselves",
    caught_by="eps",
    loses=0.8,
    misconception="For a token of zeros you return x itself. Return something new.",
)
def _(x, w, eps):
    return _norm(x, w, eps) if x.any() else x


def _gated(x, gate, up, down, act=silu, after=False):
    said, other = x @ gate.T, x @ up.T
    return (act(said * other) if after else act(said) * other) @ down.T


@mistake(
    GATED,
    "exchanged",
    caught_by="one-unit",
    loses=4,
    misconception="You put silu around what `up` says. It is for what `gate` says.",
)
def _(x, gate, up, down):
    return _gated(x, up, gate, down)


@mistake(
    GATED,
    "gelu",
    caught_by="one-unit",
    loses=4,
    misconception="You take GELU, which is GeGLU. Here it is silu, z times its sigmoid.",
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=gelu)


@mistake(
    GATED,
    "sigmoid",
    caught_by="one-unit",
    loses=4,
    misconception="You take the sigmoid alone, which is GLU. silu is z times its sigmoid.",
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=torch.sigmoid)


@mistake(
    GATED, "relu", caught_by="one-unit", loses=4, misconception="You take ReLU. Here it is silu."
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=torch.relu)


@mistake(
    GATED,
    "silu-of-the-product",
    caught_by="one-unit",
    loses=4,
    misconception=(
        "You put silu around the product of both. It is for what `gate` says, before the product."
    ),
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, after=True)


@mistake(
    GATED,
    "both-activated",
    caught_by="one-unit",
    loses=4,
    misconception="You put silu around both. What `up` says goes through as it is.",
)
def _(x, gate, up, down):
    return (silu(x @ gate.T) * silu(x @ up.T)) @ down.T


@mistake(
    GATED,
    "added",
    caught_by="one-unit",
    loses=4,
    misconception="You add the two. The gate multiplies.",
)
def _(x, gate, up, down):
    return (silu(x @ gate.T) + x @ up.T) @ down.T


@mistake(
    GATED, "no-up", caught_by="one-unit", loses=4, misconception="You leave out what `up` says."
)
def _(x, gate, up, down):
    return silu(x @ gate.T) @ down.T


@mistake(
    GATED,
    "residual",
    caught_by="one-unit",
    loses=4,
    misconception="You add x. The block does that, not this layer.",
)
def _(x, gate, up, down):
    return x + _gated(x, gate, up, down)


@mistake(
    GATED,
    "overflows",
    caught_by="one-unit",
    loses=3,
    misconception=(
        "Your silu is z exp(z) / (1 + exp(z)), which is infinity over infinity for large z."
    ),
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=lambda z: z * z.exp() / (1 + z.exp()))


@mistake(
    GATED,
    "largest-of-all-tokens",
    caught_by="tokens",
    loses=1,
    misconception=(
        "Your silu takes the largest number of all tokens away before exp, so that other tokens"
        " underflow. Each token is worked on alone."
    ),
)
def _(x, gate, up, down):
    def act(z):
        largest = z.max()
        return z * (z - largest).exp() / ((-largest).exp() + (z - largest).exp()).clamp(min=1e-20)

    return _gated(x, gate, up, down, act=act)


@mistake(
    GATED,
    "not-transposed",
    caught_by="matrices",
    loses=2,
    misconception=(
        "You multiply by the matrices as they lie wherever that fits. A row is what a unit"
        " multiplies with: transpose."
    ),
)
def _(x, gate, up, down):
    if gate.shape[0] == gate.shape[1]:
        return (silu(x @ gate) * (x @ up)) @ down
    return _gated(x, gate, up, down)


@mistake(
    GATED,
    "down-not-transposed",
    caught_by="matrices",
    loses=2,
    misconception=(
        "You multiply by `down` as it lies. A row of it makes one number of the result: transpose."
    ),
)
def _(x, gate, up, down):
    return (silu(x @ gate.T) * (x @ up.T)) @ (down if down.shape[0] == down.shape[1] else down.T)


@mistake(
    GATED,
    "fused-in-pairs",
    caught_by="closed",
    loses=2.5,
    misconception=(
        "You join both matrices and take every second unit for a gate. Unit i of `gate` gates unit"
        " i of `up`."
    ),
)
def _(x, gate, up, down):
    both = x @ torch.cat((gate, up)).T
    return (silu(both[..., 0::2]) * both[..., 1::2]) @ down.T


@mistake(
    GATED,
    "first-token",
    caught_by="tokens",
    loses=1,
    misconception="You work on the first token and give its answer to all.",
)
def _(x, gate, up, down):
    rows = x.reshape(-1, x.shape[-1])[:1]
    return _gated(rows, gate, up, down).reshape(*[1] * (x.dim() - 1), -1).expand(x.shape).clone()


def _weighed(V, C, layers, H, K, D, F, tied, **other):
    """The right numbers, but for those that are given."""
    parts = {
        "embedding": V * C,
        "attention": layers * (2 * H * D * C + 2 * K * D * C),
        "feed_forward": layers * 3 * F * C,
        "norms": (2 * layers + 1) * C,
        "output": 0 if tied else V * C,
    } | other
    return {"total": sum(parts.values())} | parts


@mistake(
    WEIGHED,
    "tied-twice",
    caught_by="ends",
    loses=1.5,
    misconception="You count an output layer that is tied. It is the embedding, and stored once.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, False)


@mistake(
    WEIGHED,
    "always-tied",
    caught_by="ends",
    loses=1.5,
    misconception="You never count an output layer. It is there unless it is tied.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, True)


@mistake(
    WEIGHED,
    "tied-in-the-total-only",
    caught_by="total",
    loses=0.5,
    misconception="Your total counts a tied output layer, which your own part does not.",
)
def _(V, C, layers, H, K, D, F, tied):
    found = _weighed(V, C, layers, H, K, D, F, tied)
    return found | {"total": found["total"] + tied * V * C}


@mistake(
    WEIGHED,
    "keys-for-all-heads",
    caught_by="attention",
    loses=1.5,
    misconception="You give keys and values H heads. They have K.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, H, D, F, tied)


@mistake(
    WEIGHED,
    "squares",
    caught_by="attention",
    loses=1.5,
    misconception=(
        "You count four matrices of C · C. They are H · D and K · D wide, which need not be C."
    ),
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, attention=4 * layers * C * C)


@mistake(
    WEIGHED,
    "no-output-projection",
    caught_by="attention",
    loses=1.5,
    misconception="You leave out the matrix that leads from the heads back to C.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, attention=layers * (H + 2 * K) * D * C)


@mistake(
    WEIGHED,
    "attention-biases",
    caught_by="attention",
    loses=1.5,
    misconception="You count biases in attention. There are none.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(
        V,
        C,
        layers,
        H,
        K,
        D,
        F,
        tied,
        attention=layers * (2 * H * D * C + 2 * K * D * C + H * D + 2 * K * D + C),
    )


@mistake(
    WEIGHED,
    "two-matrices",
    caught_by="feed_forward",
    loses=1,
    misconception="You count two matrices in the feed-forward layer. SwiGLU has three.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, feed_forward=2 * layers * F * C)


@mistake(
    WEIGHED,
    "one-block",
    caught_by="attention",
    loses=2,
    misconception="You count the matrices of one block. Each block has its own.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(
        V, C, layers, H, K, D, F, tied, attention=2 * (H + K) * D * C, feed_forward=3 * F * C
    )


@mistake(
    WEIGHED,
    "no-last-norm",
    caught_by="norms",
    loses=1.5,
    misconception="You leave out the norm behind the last block.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, norms=2 * layers * C)


@mistake(
    WEIGHED,
    "norms-with-biases",
    caught_by="norms",
    loses=1.5,
    misconception="You give each norm a bias, as LayerNorm has it. RMSNorm has weights alone.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, norms=2 * (2 * layers + 1) * C)


@mistake(
    WEIGHED,
    "no-norms-in-the-total",
    caught_by="total",
    loses=0.5,
    misconception="Your total leaves out the norms.",
)
def _(V, C, layers, H, K, D, F, tied):
    found = _weighed(V, C, layers, H, K, D, F, tied)
    return found | {"total": found["total"] - found["norms"]}


@mistake(
    WEIGHED,
    "floats",
    caught_by="attention",
    loses=2,
    misconception="You count in floats, which have 53 bits.",
)
def _(V, C, layers, H, K, D, F, tied):
    return {
        key: int(float(one) * 1.0)
        for key, one in _weighed(
            V, C, layers, H, K, D, F, tied, feed_forward=float(layers) * 3.0 * F * C + 0.0
        ).items()
    }


@mistake(
    DEAD,
    "share-of-zeros",
    caught_by="all-rows",
    loses=4,
    misconception=(
        "You return the fraction of silent outputs. A unit is dead if all of its outputs are 0."
    ),
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 0).float().mean().item()


@mistake(
    DEAD,
    "any-row",
    caught_by="all-rows",
    loses=4,
    misconception=(
        "You count units that are silent in some row. They are dead if they are silent in all."
    ),
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 0).any(0).float().mean().item()


@mistake(
    DEAD,
    "rows-for-units",
    caught_by="all-rows",
    loses=4,
    misconception="You count rows in which all units are silent. Units are the columns.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 0).all(1).float().mean().item()


@mistake(
    DEAD,
    "number",
    caught_by="all-rows",
    loses=4,
    misconception="You return the number of dead units, not their fraction.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else float((pre <= 0).all(0).sum())


@mistake(
    DEAD,
    "alive",
    caught_by="all-rows",
    loses=4,
    misconception="You return the fraction of units that are alive.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre > 0).any(0).float().mean().item()


@mistake(
    DEAD,
    "mean-below-zero",
    caught_by="all-rows",
    loses=4,
    misconception=(
        "You look at each unit's mean over the rows. One row above 0 is enough to be alive."
    ),
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre.mean(0) <= 0).float().mean().item()


@mistake(
    DEAD,
    "zero-alive",
    caught_by="border",
    loses=0.5,
    misconception="You take 0 for a sign of life. At exactly 0 nothing goes back.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre < 0).all(0).float().mean().item()


@mistake(
    DEAD,
    "nearly-zero",
    caught_by="border",
    loses=0.5,
    misconception="You take small numbers above 0 for 0.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 1e-5).all(0).float().mean().item()


@mistake(
    DEAD,
    "after-the-activation",
    caught_by="leaky",
    loses=1,
    misconception=(
        "You look for answers at or below 0 whatever the slope is. A leaky ReLU sends a gradient"
        " back there too."
    ),
)
def _(pre, slope):
    return (
        0.0
        if not len(pre)
        else (torch.where(pre > 0, pre, slope * pre) <= 0).all(0).float().mean().item()
    )


@mistake(
    DEAD,
    "small-slope-is-none",
    caught_by="leaky",
    loses=1,
    misconception="You take a small slope for 0. However small it is, some gradient goes back.",
)
def _(pre, slope):
    return 0.0 if slope > 1e-3 or not len(pre) else (pre <= 0).all(0).float().mean().item()


@mistake(
    DEAD,
    "empty-is-dead",
    caught_by="empty",
    loses=0.5,
    misconception="In an empty batch you find all units dead: `all` over no rows is True.",
)
def _(pre, slope):
    return 0.0 if slope else (pre <= 0).all(0).float().mean().item()
