"""Plausible wrong solutions of chapter 8, part 3."""

import torch

from autograder.checks.mistakes.registry import mistake

STEP = "08.adamw_step"


def _step(p, g, m, v, t, rate, betas, eps, decay, correct=True, grow=None, under=False):
    """A right step, with parts replaced; grow: what the parameter goes down by, of the quotient."""
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    top, bottom = (m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)) if correct else (m, v)
    quotient = top / ((bottom + eps).sqrt() if under else bottom.sqrt() + eps)
    return (
        (
            p - rate * (quotient + decay * p)
            if grow is None
            else grow(p, quotient, bottom.sqrt() + eps)
        ),
        m,
        v,
    )


@mistake(
    STEP,
    "decay-in-the-gradient",
    caught_by="means",
    loses=4.5,
    misconception=(
        "You add the decay to the gradient. That is Adam with L2, in which the decay is divided by"
        " the root of v, too: in AdamW it acts on the parameter alone."
    ),
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    return _step(p, g + decay * p, m, v, t, rate, betas, eps, 0.0)


@mistake(
    STEP,
    "betas-exchanged",
    caught_by="means",
    loses=5,
    misconception=(
        "You exchange the betas: the first is that of the mean, the second that of the squares."
    ),
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    return _step(p, g, m, v, t, rate, betas[::-1], eps, decay)


@mistake(
    STEP,
    "weights-turned-round",
    caught_by="means",
    loses=5,
    misconception=(
        "You give the new gradient the weight beta and the old mean 1 - beta. It is the other way"
        " round."
    ),
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    return _step(p, g, m, v, t, rate, (1 - betas[0], 1 - betas[1]), eps, decay)


@mistake(
    STEP,
    "with-hats",
    caught_by="means",
    loses=5,
    misconception="You return the means with hats. The next step would correct them once more.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    p, m, v = _step(p, g, m, v, t, rate, betas, eps, decay)
    return p, m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)


@mistake(
    STEP,
    "squared-mean",
    caught_by="means",
    loses=5,
    misconception="Your v is made of the squared mean. It is a mean of the squared gradients.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * m**2
    return (
        p - rate * (m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps) + decay * p),
        m,
        v,
    )


@mistake(
    STEP,
    "no-correction",
    caught_by="step",
    loses=4,
    misconception="You leave the corrections out: in the first steps both means are still near 0.",
)
def _(*case):
    return _step(*case, correct=False)


@mistake(
    STEP,
    "corrected-by-t-less-one",
    caught_by="step",
    loses=4,
    misconception="You count the steps from 0. The first is 1.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    _, m, v = _step(p, g, m, v, t, rate, betas, eps, decay)
    first, second = (max(1 - beta ** (t - 1), 1e-8) for beta in betas)
    return p - rate * (m / first / ((v / second).sqrt() + eps) + decay * p), m, v


@mistake(
    STEP,
    "corrected-by-t-and-one",
    caught_by="step",
    loses=4,
    misconception="You correct by t + 1. The first step is t = 1 already.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    _, m, v = _step(p, g, m, v, t, rate, betas, eps, decay)
    return (
        p
        - rate
        * (
            m / (1 - betas[0] ** (t + 1)) / ((v / (1 - betas[1] ** (t + 1))).sqrt() + eps)
            + decay * p
        ),
        m,
        v,
    )


@mistake(
    STEP,
    "corrected-by-t-times-beta",
    caught_by="step",
    loses=4,
    misconception="You correct by 1 - beta, whatever the step: the power of t is missing.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    _, m, v = _step(p, g, m, v, t, rate, betas, eps, decay)
    return p - rate * (m / (1 - betas[0]) / ((v / (1 - betas[1])).sqrt() + eps) + decay * p), m, v


@mistake(
    STEP,
    "no-root",
    caught_by="step",
    loses=4,
    misconception="You divide by v. It is the root of v.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    _, m, v = _step(p, g, m, v, t, rate, betas, eps, decay)
    return p - rate * (m / (1 - betas[0] ** t) / (v / (1 - betas[1] ** t) + eps) + decay * p), m, v


@mistake(
    STEP,
    "up",
    caught_by="step",
    loses=4,
    misconception="You go up the gradient. The quotient is taken away from the parameter.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    return _step(
        p,
        g,
        m,
        v,
        t,
        rate,
        betas,
        eps,
        decay,
        grow=lambda p, quotient, _: p + rate * (quotient - decay * p),
    )


@mistake(
    STEP,
    "eps-under-the-root",
    caught_by="eps",
    loses=2.5,
    misconception="You put eps under the root. It is added to the root.",
)
def _(*case):
    return _step(*case, under=True)


@mistake(
    STEP,
    "no-eps",
    caught_by="eps",
    loses=2.5,
    misconception="You leave eps out: where a gradient was 0 from the start, that is 0 / 0.",
)
def _(p, g, m, v, t, rate, betas, eps, decay):
    return _step(p, g, m, v, t, rate, betas, 0.0, decay)


@mistake(STEP, "no-decay", caught_by="decay", loses=2, misconception="You leave the decay out.")
def _(p, g, m, v, t, rate, betas, eps, decay):
    return _step(p, g, m, v, t, rate, betas, eps, 0.0)


@mistake(
    STEP,
    "decay-without-the-rate",
    caught_by="decay",
    loses=2,
    misconception="You subtract decay times the parameter without the learning rate.",
)
def _(*case):
    decay, rate = case[8], case[5]
    return _step(*case, grow=lambda p, quotient, _: p - rate * quotient - decay * p)


@mistake(
    STEP,
    "decay-in-the-quotient",
    caught_by="decay",
    loses=2,
    misconception=("You divide the decay by the root of v as well. It is outside the quotient."),
)
def _(*case):
    decay, rate = case[8], case[5]
    return _step(*case, grow=lambda p, quotient, root: p - rate * (quotient + decay * p / root))


@mistake(
    STEP,
    "decay-of-the-new",
    caught_by="decay",
    loses=2,
    misconception=(
        "You let the decay act on the parameter that has made its step. It acts on the old one."
    ),
)
def _(*case):
    decay, rate = case[8], case[5]
    return _step(*case, grow=lambda p, quotient, _: (p - rate * quotient) * (1 - rate * decay))


COMBINE = "08.combine"


def _sum(parts):
    return {name: torch.stack([part[name] for part in parts]).sum(0) for name in parts[0]}


def _length(gradients):
    return sum(float(one.square().sum()) for one in gradients.values()) ** 0.5


def _times(gradients, factor):
    return {name: factor * one for name, one in gradients.items()}


def _clipped(mean, max_norm, length=None, longer=False):
    length = _length(mean) if length is None else length
    factor = max_norm / length if length > max_norm or longer and length > 0 else 1.0
    return _times(mean, factor), length


@mistake(
    COMBINE,
    "mean-of-means",
    caught_by="mean",
    loses=5,
    misconception=(
        "You take the mean of the parts' means: one target weighs as much as a hundred in "
        "another part."
    ),
)
def _(parts, counts, max_norm):
    means = [_times(part, 1 / max(count, 1)) for part, count in zip(parts, counts)]
    return _clipped(_times(_sum(means), 1 / len(parts)), max_norm)


@mistake(
    COMBINE,
    "divided-by-parts",
    caught_by="mean",
    loses=5,
    misconception="You divide by the number of parts. Divide by the number of all targets.",
)
def _(parts, counts, max_norm):
    return _clipped(_times(_sum(parts), 1 / len(parts)), max_norm)


@mistake(
    COMBINE,
    "not-divided",
    caught_by="mean",
    loses=5,
    misconception="You don't divide by the number of targets.",
)
def _(parts, counts, max_norm):
    return _clipped(_sum(parts), max_norm)


@mistake(
    COMBINE,
    "last-part-only",
    caught_by="mean",
    loses=5,
    misconception="Each part overwrites the one before, and only the last is left.",
)
def _(parts, counts, max_norm):
    return _clipped(_times(parts[-1], 1 / sum(counts)), max_norm)


@mistake(
    COMBINE,
    "by-place-not-by-name",
    caught_by="mean",
    loses=3.5,
    misconception=("You add entries by their order in the dictionaries. Add by name."),
)
def _(parts, counts, max_norm):
    try:
        totals = [
            torch.stack(values).sum(0) / sum(counts)
            for values in zip(*(part.values() for part in parts))
        ]
    except RuntimeError:
        totals = [
            sum(one.sum() for one in values) / sum(counts) * torch.ones_like(values[0])
            for values in zip(*(part.values() for part in parts))
        ]
    return _clipped(dict(zip(parts[0], totals)), max_norm)


@mistake(
    COMBINE,
    "equal-shapes-by-order",
    caught_by="mean",
    loses=3.5,
    misconception="You match gradients of equal shape by their order. Match them by name.",
)
def _(parts, counts, max_norm):
    totals = {name: torch.zeros_like(one) for name, one in parts[0].items()}
    for part in parts:
        left = list(part.values())
        for name, total in totals.items():
            place = next(at for at, one in enumerate(left) if one.shape == total.shape)
            totals[name] = total + left.pop(place)
    return _clipped(_times(totals, 1 / sum(counts)), max_norm)


@mistake(
    COMBINE,
    "length-after",
    caught_by="length",
    loses=3,
    misconception=(
        "You return the length after it was cut. Asked is the one before, which says whether the"
        " training is in trouble."
    ),
)
def _(parts, counts, max_norm):
    clipped, _ = _clipped(_times(_sum(parts), 1 / sum(counts)), max_norm)
    return clipped, _length(clipped)


@mistake(
    COMBINE,
    "length-of-the-sum",
    caught_by="length",
    loses=3,
    misconception="You measure and shorten the sum, and divide afterwards. First divide.",
)
def _(parts, counts, max_norm):
    clipped, length = _clipped(_sum(parts), max_norm)
    return _times(clipped, 1 / sum(counts)), length


@mistake(
    COMBINE,
    "sum-of-lengths",
    caught_by="length",
    loses=3,
    misconception=(
        "You add up the lengths of the names. The length of all together is the root of the sum of"
        " all squares."
    ),
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    return _clipped(mean, max_norm, sum(float(one.norm()) for one in mean.values()))


@mistake(
    COMBINE,
    "largest-number",
    caught_by="length",
    loses=3,
    misconception=(
        "You take the largest number for the length. It is the root of the sum of the squares."
    ),
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    return _clipped(mean, max_norm, max(float(one.abs().max()) for one in mean.values()))


@mistake(
    COMBINE,
    "squared-length",
    caught_by="length",
    loses=3,
    misconception="You forget the root: your length is the square of one.",
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    return _clipped(mean, max_norm, _length(mean) ** 2)


@mistake(
    COMBINE,
    "each-by-itself",
    caught_by="clip",
    loses=2,
    misconception="You shorten each name by itself, which turns the direction. One factor for all.",
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    return {name: _clipped({name: one}, max_norm)[0][name] for name, one in mean.items()}, _length(
        mean
    )


@mistake(
    COMBINE,
    "number-by-number",
    caught_by="clip",
    loses=2,
    misconception=(
        "You cut each number off at max_norm. What is shortened is the whole gradient, by one"
        " factor."
    ),
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    return {name: one.clamp(-max_norm, max_norm) for name, one in mean.items()}, _length(mean)


@mistake(
    COMBINE, "not-clipped", caught_by="clip", loses=2, misconception="You don't shorten anything."
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    return mean, _length(mean)


@mistake(
    COMBINE,
    "lengthened",
    caught_by="mean",
    loses=4,
    misconception=(
        "You bring each gradient to the length max_norm, short ones too. Only what is longer is"
        " changed."
    ),
)
def _(parts, counts, max_norm):
    return _clipped(_times(_sum(parts), 1 / sum(counts)), max_norm, longer=True)


@mistake(
    COMBINE,
    "divided-by-zero",
    caught_by="short",
    loses=0.5,
    misconception="You divide by the length, which may be 0.",
)
def _(parts, counts, max_norm):
    mean = _times(_sum(parts), 1 / sum(counts))
    length = torch.tensor(_length(mean))
    return _times(
        mean, float(torch.minimum(torch.tensor(1.0), max_norm / length)) if length else float("nan")
    ), float(length)
