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
    misconception="You subtract the mean first, as LayerNorm does. RMSNorm subtracts none.",
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
    misconception=(
        "You take the mean over the first axis, so over tokens. Take it over the last: each token"
        " has its own."
    ),
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
        "You divide by the mean absolute value. It is the root of the mean of the squares."
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
    misconception="You use an eps of your own, 0.000001, instead of the argument.",
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
    misconception="You multiply by the weight before you take the squares. Multiply by it last.",
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
        "You convert to float32 after squaring, when float16 has already overflowed. Convert first."
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
    misconception="You convert eps to float16, where 0.00000001 is 0. Add it in float32.",
)
def _(x, w, eps):
    return _norm(x, w, eps, half_eps=True)


@mistake(
    NORM,
    "float32-comes-out",
    caught_by="half",
    loses=0.8,
    misconception="Your result is float32 where x is float16. Convert it back to x's dtype.",
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
    misconception="You apply SiLU to the up projection. It belongs to the gate.",
)
def _(x, gate, up, down):
    return _gated(x, up, gate, down)


@mistake(
    GATED,
    "gelu",
    caught_by="one-unit",
    loses=4,
    misconception="You use GELU, which is GeGLU. SwiGLU uses SiLU, z times its sigmoid.",
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=gelu)


@mistake(
    GATED,
    "sigmoid",
    caught_by="one-unit",
    loses=4,
    misconception="You use the sigmoid alone, which is GLU. SiLU is z times its sigmoid.",
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=torch.sigmoid)


@mistake(
    GATED, "relu", caught_by="one-unit", loses=4, misconception="You use ReLU. SwiGLU uses SiLU."
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=torch.relu)


@mistake(
    GATED,
    "silu-of-the-product",
    caught_by="one-unit",
    loses=4,
    misconception=(
        "You apply SiLU to the product. It belongs to the gate alone, before the product."
    ),
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, after=True)


@mistake(
    GATED,
    "both-activated",
    caught_by="one-unit",
    loses=4,
    misconception="You apply SiLU to both projections. The up projection stays linear.",
)
def _(x, gate, up, down):
    return (silu(x @ gate.T) * silu(x @ up.T)) @ down.T


@mistake(
    GATED,
    "added",
    caught_by="one-unit",
    loses=4,
    misconception="You add gate and up. The gate multiplies.",
)
def _(x, gate, up, down):
    return (silu(x @ gate.T) + x @ up.T) @ down.T


@mistake(
    GATED, "no-up", caught_by="one-unit", loses=4, misconception="You leave out the up projection."
)
def _(x, gate, up, down):
    return silu(x @ gate.T) @ down.T


@mistake(
    GATED,
    "residual",
    caught_by="one-unit",
    loses=4,
    misconception="You add x. The residual connection belongs to the block, not to this layer.",
)
def _(x, gate, up, down):
    return x + _gated(x, gate, up, down)


@mistake(
    GATED,
    "overflows",
    caught_by="one-unit",
    loses=3,
    misconception=(
        "Your SiLU is z exp(z) / (1 + exp(z)), which is infinity over infinity for large z."
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
        "Your SiLU subtracts the maximum over all tokens before exp, so other tokens underflow."
        " Each token is computed on its own."
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
        "You do not transpose the matrices where they are square. Their rows belong to units: use"
        " `x @ gate.T`."
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
        "You do not transpose `down` where it is square. A row of it makes one dimension of the"
        " result."
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
    misconception="You compute the first token and return its result for all.",
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
        "You count four matrices of C · C. They have H · D or K · D times C parameters."
    ),
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, attention=4 * layers * C * C)


@mistake(
    WEIGHED,
    "no-output-projection",
    caught_by="attention",
    loses=1.5,
    misconception="You leave out the output projection, from the heads back to C.",
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
    misconception="You leave out the norm after the last block.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, norms=2 * layers * C)


@mistake(
    WEIGHED,
    "norms-with-biases",
    caught_by="norms",
    loses=1.5,
    misconception="You give each norm a bias, as LayerNorm has. RMSNorm has only weights.",
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
    misconception="You count in floats, which have 53 bits and round large results. Count in ints.",
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
        "You return the fraction of silent activations. A unit is dead if all of its activations"
        " are silent."
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
        "You count units that are silent for some input. Dead units are silent for all."
    ),
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 0).any(0).float().mean().item()


@mistake(
    DEAD,
    "rows-for-units",
    caught_by="all-rows",
    loses=4,
    misconception="You count inputs for which all units are silent. Units are the columns.",
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
    misconception="You return the fraction of units that are active.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre > 0).any(0).float().mean().item()


@mistake(
    DEAD,
    "mean-below-zero",
    caught_by="all-rows",
    loses=4,
    misconception=(
        "You look at each unit's mean over the inputs. One input above 0 is enough to be active."
    ),
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre.mean(0) <= 0).float().mean().item()


@mistake(
    DEAD,
    "zero-alive",
    caught_by="border",
    loses=0.5,
    misconception="You count 0 as active. At exactly 0 no gradient arrives.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre < 0).all(0).float().mean().item()


@mistake(
    DEAD,
    "nearly-zero",
    caught_by="border",
    loses=0.5,
    misconception="You treat small positive pre-activations as 0. The unit is active there.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 1e-5).all(0).float().mean().item()


@mistake(
    DEAD,
    "after-the-activation",
    caught_by="leaky",
    loses=1,
    misconception=(
        "You look for values at or below 0 whatever the slope is. With a leaky ReLU some gradient"
        " arrives there."
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
    misconception="You treat a small slope as 0. However small it is, some gradient arrives.",
)
def _(pre, slope):
    return 0.0 if slope > 1e-3 or not len(pre) else (pre <= 0).all(0).float().mean().item()


@mistake(
    DEAD,
    "empty-is-dead",
    caught_by="empty",
    loses=0.5,
    misconception="You find all units dead in an empty batch: `all` over no rows is True.",
)
def _(pre, slope):
    return 0.0 if slope else (pre <= 0).all(0).float().mean().item()


@mistake(
    NORM,
    "no-eps",
    caught_by="eps",
    loses=3,
    misconception="You leave eps out. It is added to the mean of the squares.",
)
def _(x, w, eps):
    return _norm(x, w, 0.0)


@mistake(
    NORM,
    "mean-in-half",
    caught_by="half",
    loses=1,
    misconception=(
        "You convert the mean of the squares back to float16, where it overflows or becomes 0. Take"
        " the root in float32."
    ),
)
def _(x, w, eps):
    square = x.float().square().mean(-1, keepdim=True).to(x.dtype)
    return x / (square + eps).sqrt() * w


@mistake(
    GATED,
    "never-transposed",
    caught_by="closed",
    loses=2.5,
    misconception=(
        "You multiply by the matrices without transposing them. Their rows belong to units: use `x"
        " @ gate.T`."
    ),
)
def _(x, gate, up, down):
    return (silu(x @ gate) * (x @ up)) @ down


@mistake(
    GATED,
    "no-silu",
    caught_by="one-unit",
    loses=4,
    misconception="You leave SiLU out: gate and up are multiplied as they are.",
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=lambda z: z)


@mistake(
    WEIGHED,
    "two-squares",
    caught_by="attention",
    loses=1.5,
    misconception=(
        "You count queries and the output projection as C · C. Each has H · D times C parameters."
    ),
)
def _(V, C, layers, H, K, D, F, tied):
    attention = layers * (2 * C * C + 2 * K * D * C)
    return _weighed(V, C, layers, H, K, D, F, tied, attention=attention)


@mistake(
    WEIGHED,
    "tied-inverted",
    caught_by="ends",
    loses=1.5,
    misconception=(
        "You count the output layer when it is tied. It has parameters of its own when it is not."
    ),
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, not tied)


@mistake(
    WEIGHED,
    "one-norm-a-block",
    caught_by="norms",
    loses=1.5,
    misconception="You count one norm per block. There are two.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, norms=(layers + 1) * C)


@mistake(
    WEIGHED,
    "norms-of-one-block",
    caught_by="norms",
    loses=1.5,
    misconception="You count the norms of one block. Each block has two of its own.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, norms=3 * C)


@mistake(
    DEAD,
    "no-output",
    caught_by="leaky",
    loses=1,
    misconception="You look for activations of 0. With a slope, 0 has a gradient all the same.",
)
def _(pre, slope):
    silent = torch.where(pre > 0, pre, slope * pre) == 0
    return silent.all(0).float().mean().item() if len(pre) else 0.0


@mistake(
    DEAD,
    "divided-by-inputs",
    caught_by="all-rows",
    loses=4,
    misconception="You divide by the number of inputs. The fraction is of units.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else (pre <= 0).all(0).sum().item() / len(pre)


@mistake(
    NORM,
    "no-keepdim",
    caught_by="size",
    loses=4,
    misconception=(
        "Your mean loses its axis, so it does not broadcast against x. Use `keepdim=True`."
    ),
)
def _(x, w, eps):
    return _norm(x, w, eps, mean=lambda squares, axis: squares.mean(axis))


@mistake(
    NORM,
    "eps-after-the-inverse",
    caught_by="eps",
    loses=3,
    misconception="You add eps after taking the inverse root. Add it to the mean of the squares.",
)
def _(x, w, eps):
    full = x.float()
    inverse = full.square().mean(-1, keepdim=True).rsqrt() + eps
    return (full * inverse * w.float()).to(x.dtype)


@mistake(
    GATED,
    "down-never-transposed",
    caught_by="closed",
    loses=2.5,
    misconception=(
        "You multiply by `down` without transposing it. A row of it makes one dimension of the"
        " result."
    ),
)
def _(x, gate, up, down):
    return (silu(x @ gate.T) * (x @ up.T)) @ down


@mistake(
    GATED,
    "no-down",
    caught_by="one-unit",
    loses=4,
    misconception="You leave out the down projection.",
)
def _(x, gate, up, down):
    return silu(x @ gate.T) * (x @ up.T)


@mistake(
    GATED,
    "silu-of-the-result",
    caught_by="one-unit",
    loses=4,
    misconception="You apply SiLU to the result. It belongs to the gate alone.",
)
def _(x, gate, up, down):
    return silu(((x @ gate.T) * (x @ up.T)) @ down.T)


@mistake(
    GATED,
    "softmax",
    caught_by="one-unit",
    loses=4,
    misconception="You use a softmax over the units. SwiGLU uses SiLU, unit by unit.",
)
def _(x, gate, up, down):
    return _gated(x, gate, up, down, act=lambda z: z.softmax(-1))


@mistake(
    WEIGHED,
    "queries-for-kv-heads",
    caught_by="attention",
    loses=1.5,
    misconception="You give queries K heads. They have H; only keys and values have K.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, attention=layers * (H + 3 * K) * D * C)


@mistake(
    WEIGHED,
    "no-values",
    caught_by="attention",
    loses=1.5,
    misconception="You count keys or values. Both have a matrix of K · D rows.",
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, attention=layers * (2 * H + K) * D * C)


@mistake(
    WEIGHED,
    "three-norms-a-block",
    caught_by="norms",
    loses=1.5,
    misconception=(
        "You count three norms per block. There are two, and one more after the last block."
    ),
)
def _(V, C, layers, H, K, D, F, tied):
    return _weighed(V, C, layers, H, K, D, F, tied, norms=3 * layers * C)


@mistake(
    WEIGHED,
    "no-output-in-the-total",
    caught_by="total",
    loses=0.5,
    misconception="Your total leaves out the output layer.",
)
def _(V, C, layers, H, K, D, F, tied):
    found = _weighed(V, C, layers, H, K, D, F, tied)
    return found | {"total": found["total"] - found["output"]}


@mistake(
    DEAD,
    "percent",
    caught_by="all-rows",
    loses=4,
    misconception="You return percent. A fraction goes from 0 to 1.",
)
def _(pre, slope):
    return 0.0 if slope or not len(pre) else 100 * (pre <= 0).all(0).float().mean().item()
