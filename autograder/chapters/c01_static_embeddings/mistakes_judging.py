"""Plausible wrong solutions of chapter 1, parts 3 and 4: GloVe's weight and the analogy search."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

WEIGHT = "01.glove_weight"


@mistake(
    WEIGHT,
    "no-limit",
    caught_by="limit at one",
    loses=2,
    misconception="You forgot the case of counts above x_max: their weight is 1, not more.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / x_max) ** alpha


@mistake(
    WEIGHT,
    "no-power",
    caught_by="power below x_max",
    loses=2,
    misconception="You forgot the power alpha: the weight is not proportional to the count.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / x_max).clamp(max=1)


@mistake(
    WEIGHT,
    "power-before-division",
    caught_by="power below x_max",
    loses=3,
    misconception=(
        "You raise the count to the power and divide by x_max afterwards. The power belongs to the "
        "whole fraction."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    return counts.float().clamp(max=x_max) ** alpha / x_max


@mistake(
    WEIGHT,
    "numbers-fixed",
    caught_by="x_max and alpha",
    loses=1,
    misconception=(
        "You wrote 100 and 0.75 into the formula. They are only the defaults of x_max and alpha."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / 100).clamp(max=1) ** 0.75


@mistake(
    WEIGHT,
    "alpha-fixed",
    caught_by="x_max and alpha",
    loses=1,
    misconception="You wrote 0.75 into the formula. It is only the default of `alpha`.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / x_max).clamp(max=1) ** 0.75


@mistake(
    WEIGHT,
    "x-max-fixed",
    caught_by="x_max and alpha",
    loses=1,
    misconception="You wrote 100 into the formula. It is only the default of `x_max`.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / 100).clamp(max=1) ** alpha


@mistake(
    WEIGHT,
    "neither-power-nor-limit",
    caught_by="power below x_max",
    loses=3,
    misconception="You return counts / x_max. The power `alpha` and the limit of 1 are missing.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return counts.float() / x_max


@mistake(
    WEIGHT,
    "nothing-above",
    caught_by="limit at one",
    loses=2,
    misconception=(
        "Counts of x_max and more get the weight 0. They are the pairs that are known best: their "
        "weight is 1."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    return torch.where(counts < x_max, (counts.float() / x_max) ** alpha, 0.0)


@mistake(
    WEIGHT,
    "zero-counts-weigh",
    caught_by="power below x_max",
    loses=1,
    misconception=(
        "A count of 0 gets the weight 1. Pairs that never met weigh nothing: their logarithm is"
        " minus infinity."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    return torch.where((counts > 0) & (counts < x_max), (counts.float() / x_max) ** alpha, 1.0)


@mistake(
    WEIGHT,
    "changes-the-counts",
    caught_by="limit at one",
    loses=1.6,
    misconception=(
        "An operation such as `counts[counts > x_max] = x_max` writes into the caller's counts."
        " Make a new tensor."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    counts[counts > x_max] = x_max
    return (counts.float() / x_max) ** alpha


@mistake(
    WEIGHT,
    "logarithm",
    caught_by="power below x_max",
    loses=2,
    misconception="You compress with a logarithm. GloVe's weight is a power of the count.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float().log1p() / math.log1p(x_max)).clamp(max=1)


@mistake(
    WEIGHT,
    "power-before-division-and-limit",
    caught_by="power below x_max",
    loses=3,
    misconception=(
        "You raise the count to the power and divide by x_max afterwards. The power belongs to the "
        "whole fraction."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() ** alpha / x_max).clamp(max=1)


@mistake(
    WEIGHT,
    "power-of-x-max-only",
    caught_by="power below x_max",
    loses=3,
    misconception=(
        "`x / x_max ** alpha` raises only x_max to the power. Put the fraction in parentheses."
    ),
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / x_max**alpha).clamp(max=1)


@mistake(
    WEIGHT,
    "largest-count",
    caught_by="power below x_max",
    loses=3,
    misconception="You divide by the largest count that was given. x_max is an argument.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() / counts.max()) ** alpha


@mistake(
    WEIGHT,
    "whole-quotient",
    caught_by="power below x_max",
    loses=2,
    misconception="`//` drops the fraction, so every count below x_max weighs 0. Divide with `/`.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return (counts.float() // x_max).clamp(max=1) ** alpha


@mistake(
    WEIGHT,
    "flattened",
    caught_by="power below x_max",
    loses=1,
    misconception="You return one flat axis. The result has the shape of the counts.",
)
def _(counts, x_max=100.0, alpha=0.75):
    return ((counts.float() / x_max).clamp(max=1) ** alpha).flatten()


ANALOGY = "01.analogy"


def _unit(matrix):
    """Rows of length 1; a zero row stays zero."""
    return matrix / matrix.norm(dim=1, keepdim=True).clamp(min=1e-12)


def _best(scores, without=()):
    """The first row of the largest score, some rows left out."""
    scores = scores.clone()
    scores[list(without)] = -math.inf
    return int(scores.argmax())


@mistake(
    ANALOGY,
    "a-minus-b",
    caught_by="vector difference",
    loses=5,
    misconception="You subtract b from a. The target is b - a + c.",
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(unit @ (unit[a] - unit[b] + unit[c]), (a, b, c))


@mistake(
    ANALOGY,
    "a-plus-b",
    caught_by="vector difference",
    loses=5,
    misconception="You compute a + b - c. The target is b - a + c.",
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(unit @ (unit[a] + unit[b] - unit[c]), (a, b, c))


@mistake(
    ANALOGY,
    "a-left-out",
    caught_by="vector difference",
    loses=4.5,
    misconception=(
        "You forgot to subtract a: the sum of b and c finds words near both, not the relation."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(unit @ (unit[b] + unit[c]), (a, b, c))


@mistake(
    ANALOGY,
    "question-words-win",
    caught_by="excluded question words",
    loses=1.5,
    misconception=(
        "You let the words of the question take part. The best score is then nearly always b or c "
        "itself."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(unit @ (unit[b] - unit[a] + unit[c]))


@mistake(
    ANALOGY,
    "only-c-left-out",
    caught_by="excluded question words",
    loses=1.5,
    misconception="You leave out one word of the question. All three are left out: a, b and c.",
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(unit @ (unit[b] - unit[a] + unit[c]), (c,))


@mistake(
    ANALOGY,
    "a-may-win",
    caught_by="excluded question words",
    loses=1.5,
    misconception="You leave out b and c, but a may also win, when it lies between them.",
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(unit @ (unit[b] - unit[a] + unit[c]), (b, c))


@mistake(
    ANALOGY,
    "dot-product",
    caught_by="unit length",
    loses=1,
    misconception=(
        "You compare dot products of the raw rows, so long vectors win. Give every row length 1"
        " first."
    ),
)
def _(matrix, a, b, c):
    return _best(matrix @ (matrix[b] - matrix[a] + matrix[c]), (a, b, c))


@mistake(
    ANALOGY,
    "target-from-raw-rows",
    caught_by="unit length",
    loses=1,
    misconception=(
        "You build the target from the raw rows: the longest word of the question dominates it. Use"
        " the rows of length 1."
    ),
)
def _(matrix, a, b, c):
    return _best(_unit(matrix) @ (matrix[b] - matrix[a] + matrix[c]), (a, b, c))


@mistake(
    ANALOGY,
    "nan-wins",
    caught_by="zero rows",
    loses=0.5,
    misconception=(
        "You divide a row of zeros by its length 0. That is NaN, and argmax takes NaN for the"
        " largest number."
    ),
)
def _(matrix, a, b, c):
    unit = matrix / matrix.norm(dim=1, keepdim=True)
    return _best(unit @ (unit[b] - unit[a] + unit[c]), (a, b, c))


@mistake(
    ANALOGY,
    "last-of-equals",
    caught_by="equal scores",
    loses=0.5,
    misconception=(
        "Of several best words you return the last one, as the end of an ascending sort does. The "
        "first was asked for."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    scores[[a, b, c]] = -math.inf
    return int(scores.argsort(stable=True)[-1])


@mistake(
    ANALOGY,
    "a-tensor",
    caught_by="vector difference",
    loses=1,
    misconception="You return a tensor. A plain int was asked for: .item() or int() makes one.",
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    scores[[a, b, c]] = -math.inf
    return scores.argmax()


@mistake(
    ANALOGY,
    "added-to-the-length",
    caught_by="unit length",
    loses=1,
    misconception=(
        "You add a small number to every length. Short rows then stay shorter than 1: set a floor"
        " far below them."
    ),
)
def _(matrix, a, b, c):
    unit = matrix / (matrix.norm(dim=1, keepdim=True) + 1e-4)
    return _best(unit @ (unit[b] - unit[a] + unit[c]), (a, b, c))


@mistake(
    ANALOGY,
    "nearest-by-distance",
    caught_by="zero rows",
    loses=0.5,
    misconception=(
        "You return the row closest to b - a + c. That is the largest dot product only "
        "if all rows have the same length."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    return _best(-(unit - (unit[b] - unit[a] + unit[c])).square().sum(1), (a, b, c))


@mistake(
    ANALOGY,
    "zero-in-place-of-left-out",
    caught_by="excluded question words",
    loses=1.5,
    misconception=(
        "You give the words of the question the score 0. Where all other scores are negative, one"
        " of them wins."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    scores[[a, b, c]] = 0.0
    return int(scores.argmax())


@mistake(
    ANALOGY,
    "leaves-out-equal-rows",
    caught_by="excluded question words",
    loses=1,
    misconception=(
        "You leave out every row that equals a row of the question. Only the three numbers are left"
        " out."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    equal = [
        row
        for row in range(len(matrix))
        if any(torch.equal(matrix[row], matrix[one]) for one in (a, b, c))
    ]
    return _best(unit @ (unit[b] - unit[a] + unit[c]), equal)


@mistake(
    ANALOGY,
    "best-starts-at-zero",
    caught_by="excluded question words",
    loses=1.5,
    misconception=(
        "Your best score starts at 0, so a word with a negative score never wins: start at minus"
        " infinity."
    ),
)
def _(matrix, a, b, c):
    unit = _unit(matrix)
    best, answer = 0.0, 0
    for row, score in enumerate((unit @ (unit[b] - unit[a] + unit[c])).tolist()):
        if row not in (a, b, c) and score > best:
            best, answer = score, row
    return answer
