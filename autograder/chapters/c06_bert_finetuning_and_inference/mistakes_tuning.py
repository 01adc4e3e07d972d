"""Plausible wrong predictions and solutions of chapter 6, part 2."""

import math

import numpy as np

from autograder.checks.mistakes.registry import mistake

RATES = "06.rates"


def _share(step, steps, warmup):
    return step / warmup if step < warmup else (steps - step) / (steps - warmup)


def _by_layer(rate, layers, decay):
    return [rate * decay ** (layers - place) for place in range(layers + 1)] + [rate]


@mistake(
    RATES,
    "first-step-learns",
    caught_by="climb",
    loses=3.5,
    misconception=(
        "Your first step has a learning rate above 0. Steps count from 0, and the climb begins at"
        " 0."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(
        peak * ((step + 1) / warmup if step < warmup else (steps - step) / (steps - warmup)),
        layers,
        decay,
    )


@mistake(
    RATES,
    "no-warm-up",
    caught_by="climb",
    loses=5,
    misconception="Your rate falls from step 0 on. It climbs during the warm-up.",
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(peak * (steps - step) / steps, layers, decay)


@mistake(
    RATES,
    "falls-from-step-0",
    caught_by="climb",
    loses=5,
    misconception=(
        "Your fall is measured from step 0: after the warm-up the learning rate jumps. It falls"
        " from `peak` at step `warmup`, in `steps` - `warmup` steps."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(
        peak * (step / warmup if step < warmup else (steps - step) / steps), layers, decay
    )


@mistake(
    RATES,
    "no-fall",
    caught_by="fall",
    loses=3.5,
    misconception="Your rate stays at the peak after the warm-up. It falls to 0.",
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(peak * (step / warmup if step < warmup else 1), layers, decay)


@mistake(
    RATES,
    "cosine",
    caught_by="fall",
    loses=3.5,
    misconception="Your rate falls along a cosine. It falls in a straight line.",
)
def _(step, steps, warmup, peak, layers, decay):
    share = (
        step / warmup
        if step < warmup
        else (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
    )
    return _by_layer(peak * share, layers, decay)


@mistake(
    RATES,
    "zero-one-step-early",
    caught_by="climb",
    loses=5,
    misconception=(
        "Your rate reaches 0 one step before `steps`, or starts to fall one step before the peak."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    share = (
        step / warmup if step < warmup else max(steps - 1 - step, 0) / max(steps - 1 - warmup, 1)
    )
    return _by_layer(peak * share, layers, decay)


@mistake(
    RATES,
    "decay-upside-down",
    caught_by="layers",
    loses=2,
    misconception=(
        "Your embeddings learn fastest. The top layer and the head have the whole rate, and what"
        " lies lower has less."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    found = _by_layer(peak * _share(step, steps, warmup), layers, decay)
    return found[:-1][::-1] + [found[0]]


@mistake(
    RATES,
    "from-above-to-below",
    caught_by="layers",
    loses=2,
    misconception="Your list goes from above to below. It begins with the embeddings.",
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(peak * _share(step, steps, warmup), layers, decay)[::-1]


@mistake(
    RATES,
    "embeddings-as-the-lowest-layer",
    caught_by="layers",
    loses=2,
    misconception=(
        "Your embeddings learn as the lowest layer does. They lie below it: once more times"
        " `decay`."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    found = _by_layer(peak * _share(step, steps, warmup), layers, decay)
    return [found[1], *found[1:]]


@mistake(
    RATES,
    "top-layer-decayed",
    caught_by="layers",
    loses=2,
    misconception="Your top layer learns more slowly than the head. Both have the whole rate.",
)
def _(step, steps, warmup, peak, layers, decay):
    rate = peak * _share(step, steps, warmup)
    return [rate * decay ** (layers + 1 - place) for place in range(layers + 2)]


@mistake(
    RATES,
    "steps-in-place-of-powers",
    caught_by="layers",
    loses=2,
    misconception=(
        "You take the same amount off for each layer. Each layer below has `decay` times the rate"
        " of the one above it."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    rate = peak * _share(step, steps, warmup)
    return [rate * max(0.0, 1 - (layers - place) * (1 - decay)) for place in range(layers + 1)] + [
        rate
    ]


@mistake(
    RATES,
    "divided-by-decay",
    caught_by="layers",
    loses=2,
    misconception="You divide by `decay` for each layer below. Multiply.",
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(peak * _share(step, steps, warmup), layers, 1 / decay)


@mistake(
    RATES,
    "peak-left-out",
    caught_by="climb",
    loses=5,
    misconception="You leave `peak` out: yours are shares of it.",
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(_share(step, steps, warmup), layers, decay)


@mistake(
    RATES,
    "rounded",
    caught_by="climb",
    loses=5,
    misconception="You round. Every rate is compared to four digits, however small it is.",
)
def _(step, steps, warmup, peak, layers, decay):
    return [round(rate, 6) for rate in _by_layer(peak * _share(step, steps, warmup), layers, decay)]


@mistake(
    RATES,
    "divides-by-no-warm-up",
    caught_by="fall",
    loses=1.5,
    misconception=(
        "Where `warmup` is 0 you divide by it, or start at 0. The first rate is `peak` then."
    ),
)
def _(step, steps, warmup, peak, layers, decay):
    return _by_layer(
        peak * (step / warmup if step <= warmup else (steps - step) / (steps - warmup)),
        layers,
        decay,
    )


MATTHEWS = "06.matthews"


def _root(tp, fp, fn, tn):
    return math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


@mistake(
    MATTHEWS,
    "accuracy",
    caught_by="value",
    loses=4,
    misconception=("This is accuracy. It is high for a constant prediction of the frequent class."),
)
def _(tp, fp, fn, tn):
    return (tp + tn) / (tp + fp + fn + tn) if tp + fp + fn + tn else 0.0


@mistake(
    MATTHEWS,
    "f1",
    caught_by="value",
    loses=4,
    misconception="This is F1, in which `tn` plays no part.",
)
def _(tp, fp, fn, tn):
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0


@mistake(
    MATTHEWS,
    "tn-forgotten",
    caught_by="value",
    loses=4,
    misconception="Two of the four sums are missing under your root: those with `tn`.",
)
def _(tp, fp, fn, tn):
    product = (tp + fp) * (tp + fn)
    return (tp * tn - fp * fn) / product if product else 0.0


@mistake(
    MATTHEWS,
    "no-root",
    caught_by="value",
    loses=4,
    misconception="You divide by the product of the four sums. Divide by its root.",
)
def _(tp, fp, fn, tn):
    root = _root(tp, fp, fn, tn)
    return (tp * tn - fp * fn) / root**2 if root else 0.0


@mistake(
    MATTHEWS,
    "never-negative",
    caught_by="sign",
    loses=1.5,
    misconception="You cut what is below 0, or take its size. Worse than chance is below 0.",
)
def _(tp, fp, fn, tn):
    root = _root(tp, fp, fn, tn)
    return abs(tp * tn - fp * fn) / root if root else 0.0


@mistake(
    MATTHEWS,
    "cut-at-zero",
    caught_by="sign",
    loses=1.5,
    misconception="You return 0 where the number is below 0. Worse than chance is below 0.",
)
def _(tp, fp, fn, tn):
    root = _root(tp, fp, fn, tn)
    return max(0.0, tp * tn - fp * fn) / root if root else 0.0


@mistake(
    MATTHEWS,
    "pairs-mixed-up",
    caught_by="value",
    loses=4,
    misconception=(
        "You multiply `tp` with `fp` and `fn` with `tn`. What is right belongs together, and what"
        " is wrong."
    ),
)
def _(tp, fp, fn, tn):
    root = _root(tp, fp, fn, tn)
    return (tp * fp - fn * tn) / root if root else 0.0


@mistake(
    MATTHEWS,
    "zero-divided",
    caught_by="one-class",
    loses=1,
    misconception=(
        "You divide by 0 where only one class is predicted, or only one is true. It is 0.0 then."
    ),
)
def _(tp, fp, fn, tn):
    return (tp * tn - fp * fn) / _root(tp, fp, fn, tn)


@mistake(
    MATTHEWS,
    "one-where-the-root-is-zero",
    caught_by="one-class",
    loses=1,
    misconception="You return 1 where the root is 0. It is 0.0 then, even if everything is right.",
)
def _(tp, fp, fn, tn):
    root = _root(tp, fp, fn, tn)
    return (tp * tn - fp * fn) / root if root else 1.0


@mistake(
    MATTHEWS,
    "zero-without-yes",
    caught_by="one-class",
    loses=1,
    misconception=(
        "Only where nobody said yes do you return 0.0. The root is 0 in other cases as well:"
        " everybody said yes, all is true, nothing is."
    ),
)
def _(tp, fp, fn, tn):
    return (tp * tn - fp * fn) / _root(tp, fp, fn, tn) if tp + fp else 0.0


@mistake(
    MATTHEWS,
    "safety",
    caught_by="value",
    loses=3.5,
    misconception=(
        "You add 1 under the root, so as not to divide by 0. It changes small counts: ask whether"
        " the root is 0."
    ),
)
def _(tp, fp, fn, tn):
    return (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn) + 1)


@mistake(
    MATTHEWS,
    "in-64-bits",
    caught_by="large",
    loses=0.5,
    misconception=(
        "You count in whole numbers of 64 bits, which run over without a word. Python's ints have"
        " no end."
    ),
)
def _(tp, fp, fn, tn):
    tp, fp, fn, tn = (np.int64(one) for one in (tp, fp, fn, tn))
    with np.errstate(all="ignore"):
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return float((tp * tn - fp * fn) / np.sqrt(product)) if product else 0.0


@mistake(
    MATTHEWS,
    "in-64-bits-if-above-zero",
    caught_by="large",
    loses=0.5,
    misconception=(
        "Your product overflows an integer of 64 bits, to a wrong or negative number. Use Python's"
        " ints or floats."
    ),
)
def _(tp, fp, fn, tn):
    tp, fp, fn, tn = (np.int64(one) for one in (tp, fp, fn, tn))
    with np.errstate(all="ignore"):
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return float((tp * tn - fp * fn) / np.sqrt(product)) if product > 0 else 0.0


@mistake(
    MATTHEWS,
    "in-32-bits",
    caught_by="value",
    loses=4,
    misconception="Your product overflows an integer of 32 bits. Use Python's ints or floats.",
)
def _(tp, fp, fn, tn):
    tp, fp, fn, tn = (np.int32(one) for one in (tp, fp, fn, tn))
    with np.errstate(all="ignore"):
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return float((tp * tn - fp * fn) / np.sqrt(product)) if product > 0 else 0.0
