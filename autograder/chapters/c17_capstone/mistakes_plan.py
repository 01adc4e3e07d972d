"""Plausible wrong solutions of chapter 17, part 1."""

import math

from autograder.checks.mistakes.registry import mistake

PLAN, LOSS = "17.plan", "17.predict_loss"


def _plan(
    V,
    C,
    F,
    layers,
    H,
    K,
    batch,
    T,
    steps,
    embeddings=1,
    output=1,
    gates=3,
    norms=2,
    last=1,
    rows=lambda C, H, K: C // H * K,
    entries=None,
    passes=3,
    pairs=lambda T: T * T,
    heads=lambda H, K: H,
    per_pair=4,
    tokens=lambda batch, T, steps: batch * T * steps,
    halves=7,
    whole=int,
):
    """The answer with one part replaced."""
    block = 2 * C * C + 2 * C * rows(C, H, K) + gates * F * C
    parameters = embeddings * V * C + layers * (block + norms * C) + last * C
    multiplied = layers * block + output * V * C if entries is None else entries(parameters, V, C)
    attention = per_pair * pairs(T) * (C // H) * heads(H, K) * layers * batch * steps
    return {
        "parameters": whole(parameters),
        "matrix_flops": whole(2 * passes * multiplied * tokens(batch, T, steps)),
        "attention_flops": whole(halves * attention // 2),
    }


@mistake(
    PLAN,
    "output-twice",
    caught_by="parameters",
    loses=3,
    misconception=(
        "You count the output layer in addition to the embedding. They are tied: one tensor, stored"
        " once."
    ),
)
def _(*sizes):
    return _plan(*sizes, embeddings=2)


@mistake(
    PLAN,
    "no-last-norm",
    caught_by="parameters",
    loses=3,
    misconception="You leave out the norm after the last block, C weights.",
)
def _(*sizes):
    return _plan(*sizes, last=0)


@mistake(
    PLAN,
    "one-norm-per-block",
    caught_by="parameters",
    loses=3,
    misconception=(
        "You count one norm per block. There are two, before attention and before SwiGLU."
    ),
)
def _(*sizes):
    return _plan(*sizes, norms=1)


@mistake(
    PLAN,
    "norms-with-bias",
    caught_by="parameters",
    loses=3,
    misconception="You give RMSNorm a bias. It has C weights and nothing else.",
)
def _(*sizes):
    return _plan(*sizes, norms=4, last=2)


@mistake(
    PLAN,
    "two-matrices-in-swiglu",
    caught_by="parameters",
    loses=4.5,
    misconception="You count two matrices in SwiGLU. It has three: gate, up and down.",
)
def _(*sizes):
    return _plan(*sizes, gates=2)


@mistake(
    PLAN,
    "all-heads-have-keys",
    caught_by="KV heads",
    loses=2.5,
    misconception=(
        "You give keys and values all H heads. There are only K of them, of dimension C / H."
    ),
)
def _(*sizes):
    return _plan(*sizes, rows=lambda C, H, K: C)


@mistake(
    PLAN,
    "keys-of-one-head",
    caught_by="parameters",
    loses=4.5,
    misconception=(
        "You give keys and values one head, C / H rows. There are K heads, so K · C / H rows."
    ),
)
def _(*sizes):
    return _plan(*sizes, rows=lambda C, H, K: C // H)


@mistake(
    PLAN,
    "keys-of-K-rows",
    caught_by="parameters",
    loses=4.5,
    misconception="You give keys and values K rows. They have K heads of dimension C / H.",
)
def _(*sizes):
    return _plan(*sizes, rows=lambda C, H, K: K)


@mistake(
    PLAN,
    "no-output-layer-in-flops",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception=(
        "You leave the output layer out of the FLOPs. It reuses the embedding's parameters, but the"
        " product with V · C entries is computed."
    ),
)
def _(*sizes):
    return _plan(*sizes, output=0)


@mistake(
    PLAN,
    "embedding-lookup-as-product",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception=(
        "You count the embedding twice in the FLOPs. Looking a token up multiplies nothing."
    ),
)
def _(*sizes):
    return _plan(*sizes, output=2)


@mistake(
    PLAN,
    "all-parameters-in-flops",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception="You multiply by all parameters. The norms' weights are in no matrix product.",
)
def _(*sizes):
    return _plan(*sizes, entries=lambda parameters, V, C: parameters)


@mistake(
    PLAN,
    "forward-only",
    caught_by="matrix FLOPs",
    loses=3,
    misconception="You count the forward pass only. The backward pass costs twice as much again.",
)
def _(*sizes):
    return _plan(*sizes, passes=1, halves=2)


@mistake(
    PLAN,
    "backward-as-forward",
    caught_by="matrix FLOPs",
    loses=3,
    misconception=(
        "You count the backward pass like the forward pass. It has two products for each: one for"
        " the input's gradient, one for the weight's."
    ),
)
def _(*sizes):
    return _plan(*sizes, passes=2, halves=4)


@mistake(
    PLAN,
    "multiply-adds",
    caught_by="matrix FLOPs",
    loses=3,
    misconception="You count multiply-adds. Each is two FLOPs, a multiplication and an addition.",
)
def _(*sizes):
    found = _plan(*sizes)
    return {key: one if key == "parameters" else one // 2 for key, one in found.items()}


@mistake(
    PLAN,
    "one-step",
    caught_by="matrix FLOPs",
    loses=3,
    misconception=(
        "You count a single step. The FLOPs are those of the whole run, all `steps` of it."
    ),
)
def _(*sizes):
    return _plan(*sizes[:8], 1)


@mistake(
    PLAN,
    "one-sequence",
    caught_by="matrix FLOPs",
    loses=3,
    misconception="You count one sequence per step. Each step has `batch` of them.",
)
def _(*sizes):
    return _plan(*sizes[:6], 1, *sizes[7:])


@mistake(
    PLAN,
    "causal-pairs",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You count visible pairs only. Here masked pairs count as well: T · T of them.",
)
def _(*sizes):
    return _plan(*sizes, pairs=lambda T: T * (T + 1) // 2)


@mistake(
    PLAN,
    "scores-only",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You count half of attention. The weighted sum costs as much as the scores, and masked"
        " pairs count."
    ),
)
def _(*sizes):
    return _plan(*sizes, per_pair=2)


@mistake(
    PLAN,
    "KV-heads-attend",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You count K heads in attention. Each of the H query heads computes its own scores."
    ),
)
def _(*sizes):
    return _plan(*sizes, heads=lambda H, K: K)


@mistake(
    PLAN,
    "attention-forward-only",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You count attention's forward pass only. Training costs 3.5 times as much.",
)
def _(*sizes):
    return _plan(*sizes, halves=2)


@mistake(
    PLAN,
    "scores-kept",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You count three times the forward pass. Fused attention also computes the scores again in"
        " its backward pass: 3.5 times."
    ),
)
def _(*sizes):
    return _plan(*sizes, halves=6)


@mistake(
    PLAN,
    "pairs-of-the-batch",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You let tokens attend across sequences. Pairs are counted within each sequence.",
)
def _(*sizes):
    batch = sizes[6]
    return _plan(*sizes, pairs=lambda T: batch * T * T)


@mistake(
    PLAN,
    "one-layer-attends",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You count attention in one layer. Each layer computes scores and sums of its own."
    ),
)
def _(*sizes):
    found = _plan(*sizes)
    return found | {"attention_flops": found["attention_flops"] // sizes[3]}


@mistake(
    PLAN,
    "floats",
    caught_by="parameters",
    loses=5,
    misconception="You count in floats, which round numbers beyond sixteen digits.",
)
def _(*sizes):
    return _plan(*map(float, sizes), whole=lambda one: int(float(one)))


@mistake(
    PLAN,
    "floats-in-attention",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception=(
        "You multiply by 3.5 as a float, which rounds numbers beyond sixteen digits. 3.5 · 4 is the"
        " int 14."
    ),
)
def _(*sizes):
    found = _plan(*sizes)
    return found | {"attention_flops": int(float(found["attention_flops"]))}


@mistake(
    PLAN,
    "one-step-of-attention",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You count attention in a single step. The run has `steps` of them.",
)
def _(*sizes):
    found = _plan(*sizes)
    return found | {"attention_flops": _plan(*sizes[:8], 1)["attention_flops"]}


@mistake(
    PLAN,
    "tokens-for-pairs",
    caught_by="attention FLOPs",
    loses=1.5,
    misconception="You multiply by T once. Each of the T tokens attends to T tokens: T · T pairs.",
)
def _(*sizes):
    return _plan(*sizes, pairs=lambda T: T)


@mistake(
    PLAN,
    "matrices-forward-only",
    caught_by="matrix FLOPs",
    loses=1.5,
    misconception=(
        "You count the matrices' forward pass only. The backward pass costs twice as much again."
    ),
)
def _(*sizes):
    return _plan(*sizes, passes=1)


def _slope(x, y):
    """The least-squares slope and both means."""
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - x_mean) ** 2 for a in x)
    return sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y)) / spread, x_mean, y_mean


def _fitted(x, y, at, added, undo=math.exp, line=_slope):
    """The answer of a line through (x, y): its value at `at` undone, and what is added."""
    slope, x_mean, y_mean = line(x, y)
    return {"exponent": -slope, "loss": added + undo(y_mean + slope * (at - x_mean))}


def _logs(values, off=0.0, log=math.log):
    return [log(one - off) for one in values]


def _loss(flops, losses, irreducible, target, line=_slope, off=None, added=None):
    """The answer with another line, or another use of the irreducible loss."""
    y = _logs(losses, irreducible if off is None else off)
    added = irreducible if added is None else added
    return _fitted(_logs(flops), y, math.log(target), added, line=line)


@mistake(
    LOSS,
    "negative-exponent",
    caught_by="two runs",
    loses=5,
    misconception=(
        "You return the slope. The exponent b is its negative, positive where losses fall."
    ),
)
def _(*runs):
    found = _loss(*runs)
    return found | {"exponent": -found["exponent"]}


@mistake(
    LOSS,
    "straight-line",
    caught_by="two runs",
    loses=5,
    misconception=(
        "You fit a straight line to losses and FLOPs. A power law is a line in their logarithms"
        " only."
    ),
)
def _(flops, losses, irreducible, target):
    y = [one - irreducible for one in losses]
    return _fitted(flops, y, target, irreducible, undo=float)


@mistake(
    LOSS,
    "losses-without-logarithm",
    caught_by="two runs",
    loses=5,
    misconception="You take the logarithm of the FLOPs only. The losses need it as well.",
)
def _(flops, losses, irreducible, target):
    y = [one - irreducible for one in losses]
    return _fitted(_logs(flops), y, math.log(target), irreducible, undo=float)


@mistake(
    LOSS,
    "flops-without-logarithm",
    caught_by="two runs",
    loses=5,
    misconception="You take the logarithm of the losses only. The FLOPs need it as well.",
)
def _(flops, losses, irreducible, target):
    def undo(value):
        return math.exp(max(min(value, 300), -300))

    return _fitted(flops, _logs(losses, irreducible), target, irreducible, undo)


@mistake(
    LOSS,
    "two-bases",
    caught_by="two runs",
    loses=5,
    misconception=(
        "You take logarithms to base 10 and undo them with `exp`. Use one base for both ways."
    ),
)
def _(flops, losses, irreducible, target):
    y = _logs(losses, irreducible, math.log10)
    return _fitted(_logs(flops, log=math.log10), y, math.log10(target), irreducible)


@mistake(
    LOSS,
    "natural-logarithm-undone-with-10",
    caught_by="two runs",
    loses=5,
    misconception=(
        "You take natural logarithms and undo them with a power of 10. Use one base for both ways."
    ),
)
def _(flops, losses, irreducible, target):
    found = _loss(flops, losses, irreducible, target)
    rest = min(math.log(found["loss"] - irreducible), 300)
    return found | {"loss": irreducible + 10**rest}


@mistake(
    LOSS,
    "mean-not-subtracted",
    caught_by="two runs",
    loses=5,
    misconception=(
        "You add slope · log(target) to the mean of v. The line passes through both means: subtract"
        " the mean of u first."
    ),
)
def _(*runs):
    def line(x, y):
        slope, _, y_mean = _slope(x, y)
        return slope, 0.0, y_mean

    return _loss(*runs, line=line)


@mistake(
    LOSS,
    "no-intercept",
    caught_by="two runs",
    loses=5,
    misconception=(
        "You fit a line through the origin. The law has a factor a, the line an intercept."
    ),
)
def _(*runs):
    def line(x, y):
        return sum(a * b for a, b in zip(x, y)) / sum(a * a for a in x), 0.0, 0.0

    return _loss(*runs, line=line)


@mistake(
    LOSS,
    "irreducible-ignored",
    caught_by="irreducible loss",
    loses=3.5,
    misconception=(
        "You ignore the irreducible loss. Only the rest of the loss follows the power law."
    ),
)
def _(*runs):
    return _loss(*runs, off=0.0, added=0.0)


@mistake(
    LOSS,
    "irreducible-not-added",
    caught_by="irreducible loss",
    loses=3.5,
    misconception="You do not add the irreducible loss to the prediction again.",
)
def _(*runs):
    return _loss(*runs, added=0.0)


@mistake(
    LOSS,
    "irreducible-not-subtracted",
    caught_by="irreducible loss",
    loses=3.5,
    misconception=(
        "You add the irreducible loss to the prediction without subtracting it before the fit."
    ),
)
def _(*runs):
    return _loss(*runs, off=0.0)


@mistake(
    LOSS,
    "subtracted-after-the-logarithm",
    caught_by="irreducible loss",
    loses=3.5,
    misconception="You subtract the irreducible loss after the logarithm. It comes off the losses.",
)
def _(flops, losses, irreducible, target):
    y = [one - irreducible for one in _logs(losses)]
    return _fitted(_logs(flops), y, math.log(target), irreducible)


@mistake(
    LOSS,
    "first-and-last",
    caught_by="least squares",
    loses=2,
    misconception="You use two of the runs only. The least-squares line uses all of them.",
)
def _(*runs):
    def line(x, y):
        low, high = x.index(min(x)), x.index(max(x))
        return (y[high] - y[low]) / (x[high] - x[low]), x[low], y[low]

    return _loss(*runs, line=line)


@mistake(
    LOSS,
    "through-the-last-run",
    caught_by="least squares",
    loses=2,
    misconception=(
        "You continue from the largest run. The least-squares line passes through the means, not"
        " through a run."
    ),
)
def _(*runs):
    def line(x, y):
        last = x.index(max(x))
        return _slope(x, y)[0], x[last], y[last]

    return _loss(*runs, line=line)


@mistake(
    LOSS,
    "mean-of-slopes",
    caught_by="least squares",
    loses=2,
    misconception=(
        "You average the slopes between neighbouring runs. Least squares weighs runs by their"
        " distance from the mean."
    ),
)
def _(*runs):
    def line(x, y):
        pairs = sorted(zip(x, y))
        steps = [(d - b) / (c - a) for (a, b), (c, d) in zip(pairs, pairs[1:]) if c > a]
        return sum(steps) / len(steps), sum(x) / len(x), sum(y) / len(y)

    return _loss(*runs, line=line)


@mistake(
    LOSS,
    "flops-from-losses",
    caught_by="least squares",
    loses=2,
    misconception=(
        "You fit the FLOPs as a function of the loss and invert it. The error to minimize is the"
        " loss's."
    ),
)
def _(*runs):
    def line(x, y):
        slope, y_mean, x_mean = _slope(y, x)
        return 1 / slope, x_mean, y_mean

    return _loss(*runs, line=line)
