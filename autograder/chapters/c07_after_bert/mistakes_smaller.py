"""Plausible wrong solutions of chapter 7, parts 1 and 2."""

import math

import torch
from torch.nn.functional import cross_entropy, kl_div

from autograder.checks.mistakes.registry import mistake

SHARE = "07.asked_share"


@mistake(
    SHARE,
    "product",
    caught_by="ever",
    loses=3,
    misconception=(
        "You multiply the fraction by the number of maskings. Two maskings cover some tokens both:"
        " take what all of them miss."
    ),
)
def _(share, maskings, epochs):
    return min(1.0, share * min(maskings, epochs))


@mistake(
    SHARE,
    "never-asked",
    caught_by="ever",
    loses=3,
    misconception="You return the fraction that is never asked. What is left of 1 was asked for.",
)
def _(share, maskings, epochs):
    return (1 - share) ** min(maskings, epochs)


@mistake(
    SHARE,
    "wrong-base",
    caught_by="ever",
    loses=3,
    misconception=(
        "You raise the fraction itself to a power: that is how often every masking covers the same"
        " token. Raise 1 - share."
    ),
)
def _(share, maskings, epochs):
    return 1 - share ** min(maskings, epochs)


@mistake(
    SHARE,
    "one-masking",
    caught_by="ever",
    loses=3,
    misconception=(
        "You count one masking. Each further one covers some tokens that were missed before."
    ),
)
def _(share, maskings, epochs):
    return float(share)


@mistake(
    SHARE,
    "exponential",
    caught_by="ever",
    loses=3,
    misconception="You use 1 - exp(-share times n), which is right for very small fractions only.",
)
def _(share, maskings, epochs):
    return 1 - math.exp(-share * min(maskings, epochs))


@mistake(
    SHARE,
    "epochs-counted",
    caught_by="again",
    loses=1,
    misconception="You count epochs. A masking that comes again covers nothing new.",
)
def _(share, maskings, epochs):
    return 1 - (1 - share) ** epochs


@mistake(
    SHARE,
    "maskings-counted",
    caught_by="again",
    loses=1,
    misconception="You count all maskings, used or not. With fewer epochs some are never used.",
)
def _(share, maskings, epochs):
    return 1 - (1 - share) ** maskings


@mistake(
    SHARE,
    "epochs-times-maskings",
    caught_by="ever",
    loses=3,
    misconception=(
        "You take epochs times maskings for the number of draws. Each epoch uses one masking of a"
        " text."
    ),
)
def _(share, maskings, epochs):
    return 1 - (1 - share) ** (epochs * maskings)


SIZES = "07.albert_sizes"


def _sizes(V, E, C, L, I, embedding=None, block=None, products=None):
    """The three numbers, with some replaced."""
    matrices = 4 * C * C + 2 * C * I
    return {
        "embedding": V * E + E * C + C if embedding is None else embedding,
        "block": matrices + 9 * C + I if block is None else block,
        "products": E * C + L * matrices if products is None else products,
    }


@mistake(
    SIZES,
    "full-rows",
    caught_by="embedding",
    loses=1.5,
    misconception=(
        "You give each token an embedding of C dimensions, as BERT does. ALBERT's have E, and one"
        " matrix"
        " widens them."
    ),
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, embedding=V * C)


@mistake(
    SIZES,
    "no-widening",
    caught_by="embedding",
    loses=1.5,
    misconception="You leave out the matrix from E to C.",
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, embedding=V * E)


@mistake(
    SIZES,
    "no-widening-bias",
    caught_by="embedding",
    loses=1.5,
    misconception="You leave out the bias of the widening matrix: C parameters.",
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, embedding=V * E + E * C)


@mistake(
    SIZES,
    "times-L",
    caught_by="block",
    loses=1.5,
    misconception="You store a block for each layer. All layers use the same one.",
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, block=L * (4 * C * C + 2 * C * I + 9 * C + I))


@mistake(
    SIZES,
    "no-biases-in-the-block",
    caught_by="block",
    loses=1.5,
    misconception="You leave out the biases of the block's six matrices.",
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, block=4 * C * C + 2 * C * I + 4 * C)


@mistake(
    SIZES,
    "no-norms",
    caught_by="block",
    loses=1.5,
    misconception=(
        "4 C parameters are missing: either the block's two norms, 2 C parameters each, or the"
        " biases"
        " of the four matrices of attention."
    ),
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, block=4 * C * C + 2 * C * I + 5 * C + I)


@mistake(
    SIZES,
    "one-layer-of-work",
    caught_by="products",
    loses=2,
    misconception=(
        "You count the products of one layer. The block is stored once and used L times: sharing"
        " saves memory, no work."
    ),
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, products=E * C + 4 * C * C + 2 * C * I)


@mistake(
    SIZES,
    "widened-in-every-layer",
    caught_by="products",
    loses=2,
    misconception="You widen the token in every layer. It is widened once, before the first.",
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, products=L * (E * C + 4 * C * C + 2 * C * I))


@mistake(
    SIZES,
    "biases-multiply",
    caught_by="products",
    loses=2,
    misconception=(
        "You count stored numbers for products. Biases are added, and those of norms are not"
        " counted here."
    ),
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, products=E * C + C + L * (4 * C * C + 2 * C * I + 9 * C + I))


@mistake(
    SIZES,
    "no-products-in-the-widening",
    caught_by="products",
    loses=2,
    misconception="You leave the products of the widening matrix out.",
)
def _(V, E, C, L, I):
    return _sizes(V, E, C, L, I, products=L * (4 * C * C + 2 * C * I))


SOFT = "07.soft_loss"


def _soft(student, teacher, T, before=None, factor=None, over=None):
    """The loss with another pair of temperatures, another factor or another divisor."""
    first, second = before or (T, T)
    log_q, log_p = (student / first).log_softmax(1), (teacher / second).log_softmax(1)
    total = (log_p.exp() * (log_p - log_q)).sum()
    return (T * T if factor is None else factor) * total / (len(student) if over is None else over)


@mistake(
    SOFT,
    "turned-round",
    caught_by="direction",
    loses=6,
    misconception=(
        "You exchange the two: your weights are the student's probabilities. The teacher's weigh."
    ),
)
def _(student, teacher, T):
    return _soft(teacher, student, T)


@mistake(
    SOFT,
    "teacher-twice",
    caught_by="direction",
    loses=6,
    misconception=(
        "You use the teacher's logits twice, so that the loss is always 0 and nothing is learned."
    ),
)
def _(student, teacher, T):
    return _soft(teacher, teacher, T)


@mistake(
    SOFT,
    "mean-over-V",
    caught_by="direction",
    loses=6,
    misconception=(
        'You take the mean over all N times V numbers, as `reduction="mean"` does. Sum over the V'
        " tokens; the mean goes over the N predictions."
    ),
)
def _(student, teacher, T):
    return _soft(student, teacher, T, over=student.numel())


@mistake(
    SOFT,
    "cross-entropy",
    caught_by="direction",
    loses=6,
    misconception=(
        "You return the cross-entropy: the teacher's own entropy is missing, so a student that"
        " agrees does not get 0."
    ),
)
def _(student, teacher, T):
    return T * T * cross_entropy(student / T, (teacher / T).softmax(1))


@mistake(
    SOFT,
    "hard-labels",
    caught_by="direction",
    loses=6,
    misconception=(
        "You ask for the teacher's most probable token only. All of its probabilities are asked"
        " for."
    ),
)
def _(student, teacher, T):
    return T * T * cross_entropy(student / T, teacher.argmax(1))


@mistake(
    SOFT,
    "no-logarithm",
    caught_by="direction",
    loses=6,
    misconception="You give `kl_div` the student's probabilities. It wants their logarithms.",
)
def _(student, teacher, T):
    return T * T * kl_div((student / T).softmax(1), (teacher / T).softmax(1), reduction="batchmean")


@mistake(
    SOFT,
    "squares",
    caught_by="direction",
    loses=6,
    misconception=(
        "You compare logits by their squared differences. Here probabilities are compared, by the"
        " Kullback-Leibler divergence."
    ),
)
def _(student, teacher, T):
    return (student - teacher).square().mean()


@mistake(
    SOFT,
    "no-square",
    caught_by="temperature",
    loses=1.5,
    misconception="You leave out the factor of the temperature squared.",
)
def _(student, teacher, T):
    return _soft(student, teacher, T, factor=1)


@mistake(
    SOFT,
    "temperature-once",
    caught_by="temperature",
    loses=1.5,
    misconception="You multiply with the temperature. It is its square.",
)
def _(student, teacher, T):
    return _soft(student, teacher, T, factor=T)


@mistake(
    SOFT,
    "only-the-student-softened",
    caught_by="temperature",
    loses=1.5,
    misconception="You divide the student's logits only by the temperature. Both are divided.",
)
def _(student, teacher, T):
    return _soft(student, teacher, T, before=(T, 1))


@mistake(
    SOFT,
    "only-the-teacher-softened",
    caught_by="temperature",
    loses=1.5,
    misconception="You divide the teacher's logits only by the temperature. Both are divided.",
)
def _(student, teacher, T):
    return _soft(student, teacher, T, before=(1, T))


@mistake(
    SOFT,
    "multiplied",
    caught_by="temperature",
    loses=1.5,
    misconception="You multiply the logits with the temperature. They are divided.",
)
def _(student, teacher, T):
    return _soft(student, teacher, T, before=(1 / T, 1 / T))


@mistake(
    SOFT,
    "sum",
    caught_by="batch",
    loses=2.5,
    misconception="You sum over the predictions. Take their mean.",
)
def _(student, teacher, T):
    return _soft(student, teacher, T, over=1)


@mistake(
    SOFT,
    "logarithm-of-a-softmax",
    caught_by="borders",
    loses=1.5,
    misconception=(
        "You take the logarithm of a softmax that may be 0. `log_softmax` does both in one step."
    ),
)
def _(student, teacher, T):
    q, p = (student / T).softmax(1), (teacher / T).softmax(1)
    return T * T * (p * (p.log() - q.log())).sum(1).mean()


@mistake(
    SOFT,
    "epsilon",
    caught_by="borders",
    loses=1.5,
    misconception=(
        "You add a small number before the logarithm: what the student holds for impossible costs"
        " too little."
    ),
)
def _(student, teacher, T):
    q, p = (student / T).softmax(1), (teacher / T).softmax(1)
    return T * T * (p * ((p + 1e-12).log() - (q + 1e-12).log())).sum(1).mean()


@mistake(
    SOFT,
    "detached",
    caught_by="gradient",
    loses=0.5,
    misconception=(
        "Your loss is a new tensor that knows nothing of the logits, so no gradient reaches the"
        " student."
    ),
)
def _(student, teacher, T):
    return torch.tensor(_soft(student, teacher, T).item())
