"""Plausible wrong solutions of chapter 6, part 1."""

import torch

from autograder.checks.mistakes.registry import mistake

POOL = "06.mean_pool"


def _weights(x, mask):
    return mask.unsqueeze(2).to(x.dtype)


@mistake(
    POOL,
    "divides-by-all-places",
    caught_by="padding",
    loses=2.5,
    misconception="You divide by all T positions of a sequence. Divide by its number of tokens.",
)
def _(x, mask):
    return (x * _weights(x, mask)).mean(1)


@mistake(
    POOL,
    "padding-in-the-mean",
    caught_by="padding",
    loses=3,
    misconception="You take the mean over all positions, padding too.",
)
def _(x, mask):
    return x.mean(1)


@mistake(
    POOL,
    "padding-in-the-sum",
    caught_by="padding",
    loses=3,
    misconception="You divide by the number of tokens, but padding is still in the sum.",
)
def _(x, mask):
    return x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@mistake(
    POOL,
    "mean-over-the-batch",
    caught_by="mean",
    loses=4,
    misconception="You take the mean over the texts. It goes over the positions of each text.",
)
def _(x, mask):
    weights = _weights(x, mask)
    return (x * weights).sum(0) / weights.sum(0).clamp(min=1)


@mistake(
    POOL,
    "nan-without-tokens",
    caught_by="empty",
    loses=0.5,
    misconception="You divide by 0 where a row has no token: its vector is zeros.",
)
def _(x, mask):
    weights = _weights(x, mask)
    return (x * weights).sum(1) / weights.sum(1)


@mistake(
    POOL,
    "first-token-dropped",
    caught_by="mean",
    loses=4,
    misconception="You leave the first token out. It counts like the others.",
)
def _(x, mask):
    weights = _weights(x, mask)
    weights[:, 0] = 0
    return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


@mistake(
    POOL,
    "largest",
    caught_by="mean",
    loses=4,
    misconception="You take the largest value of each number. The mean is asked for.",
)
def _(x, mask):
    return (
        x.masked_fill(~mask.unsqueeze(2), -torch.inf)
        .amax(1)
        .masked_fill(~mask.any(1, keepdim=True), 0)
    )


@mistake(
    POOL,
    "first-token-only",
    caught_by="mean",
    loses=4,
    misconception=(
        "You return the vector of the first position. The mean of all tokens is asked for."
    ),
)
def _(x, mask):
    return x[:, 0] * mask.any(1, keepdim=True)


@mistake(
    POOL,
    "the-sum",
    caught_by="mean",
    loses=4,
    misconception="You return the sum. Divide by the number of tokens.",
)
def _(x, mask):
    return (x * _weights(x, mask)).sum(1)


@mistake(
    POOL,
    "the-first-so-many",
    caught_by="anywhere",
    loses=1,
    misconception=(
        "You take as many positions from the front as there are tokens. Padding may stand in"
        " front, or between them."
    ),
)
def _(x, mask):
    counts = mask.sum(1, keepdim=True)
    front = _weights(x, torch.arange(x.shape[1]) < counts)
    return (x * front).sum(1) / counts.clamp(min=1)


@mistake(
    POOL,
    "from-first-to-last-token",
    caught_by="anywhere",
    loses=1,
    misconception=(
        "You take all positions from the first token to the last. Padding may stand between them."
    ),
)
def _(x, mask):
    seen = mask.long().cumsum(1)
    within = (seen > 0) & ((seen < seen[:, -1:]) | mask)
    weights = _weights(x, within)
    return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


@mistake(
    POOL,
    "one-count-for-all-rows",
    caught_by="padding",
    loses=2.5,
    misconception="You divide all rows by the number of tokens of the longest. Each has its own.",
)
def _(x, mask):
    return (x * _weights(x, mask)).sum(1) / mask.sum(1).max().clamp(min=1)


@mistake(
    POOL,
    "one-more-token",
    caught_by="mean",
    loses=4,
    misconception=(
        "You add 1 to the number of tokens. Only a row without tokens needs a number that is not 0."
    ),
)
def _(x, mask):
    weights = _weights(x, mask)
    return (x * weights).sum(1) / (weights.sum(1) + 1)


@mistake(
    POOL,
    "mask-turned-round",
    caught_by="mean",
    loses=4,
    misconception="You take the positions where the mask is False. It is True at tokens.",
)
def _(x, mask):
    weights = _weights(x, ~mask)
    return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


LABELS = "06.repair_inference"


def _named(shares, least, values=None):
    values = shares if values is None else values
    best = shares.argmax(1)
    return torch.where(values.gather(1, best[:, None])[:, 0] >= least, best, -1).tolist()


@mistake(
    LABELS,
    "as-printed",
    caught_by="one",
    loses=3,
    misconception=(
        "This is the code of the statement: the probabilities add up over the texts of the batch,"
        " and not over the labels of a text."
    ),
)
def _(logits, least):
    weights = (logits - logits.max(1, keepdim=True).values).exp()
    return _named(weights / weights.sum(0, keepdim=True), least)


@mistake(
    LABELS,
    "softmax-over-the-batch",
    caught_by="one",
    loses=3,
    misconception=(
        "Your softmax goes over the texts of the batch. It goes over the labels of a text."
    ),
)
def _(logits, least):
    return _named(logits.softmax(0), least)


@mistake(
    LABELS,
    "threshold-on-logits",
    caught_by="one",
    loses=3,
    misconception="You compare the largest logit with `least`. Compare the probability.",
)
def _(logits, least):
    return _named(logits, least)


@mistake(
    LABELS,
    "softmax-over-everything",
    caught_by="batch",
    loses=2,
    misconception=(
        "Your shares add up to 1 over the whole batch. They add up over the labels of one text."
    ),
)
def _(logits, least):
    return _named(logits.flatten().softmax(0).reshape(logits.shape), least)


@mistake(
    LABELS,
    "sigmoid",
    caught_by="one",
    loses=3,
    misconception=(
        "You take a sigmoid of each logit. Shares of a text add up to 1: that is a softmax."
    ),
)
def _(logits, least):
    return _named(logits, least, logits.sigmoid())


@mistake(LABELS, "always-sure", caught_by="one", loses=3, misconception="You never answer -1.")
def _(logits, least):
    return logits.argmax(1).tolist()


@mistake(
    LABELS,
    "zero-where-not-sure",
    caught_by="one",
    loses=3,
    misconception="You answer 0 where no share is large enough. 0 is a label: answer -1.",
)
def _(logits, least):
    return [max(label, 0) for label in _named(logits.softmax(1), least)]


@mistake(
    LABELS,
    "labels-from-one",
    caught_by="one",
    loses=3,
    misconception="You count labels from 1. They count from 0.",
)
def _(logits, least):
    return [label + (label >= 0) for label in _named(logits.softmax(1), least)]


@mistake(
    LABELS,
    "exp-overflows",
    caught_by="large",
    loses=1,
    misconception="You lost the shift of line 1: `exp` of a large logit is infinite.",
)
def _(logits, least):
    weights = logits.exp()
    return _named(weights / weights.sum(1, keepdim=True), least)


@mistake(
    LABELS,
    "one-shift-for-the-batch",
    caught_by="large",
    loses=1,
    misconception=(
        "You take the largest logit of the whole batch away. In a text with far smaller ones all"
        " weights become 0: each text has its own largest."
    ),
)
def _(logits, least):
    weights = (logits - logits.max()).exp()
    return _named(weights / weights.sum(1, keepdim=True), least)


@mistake(
    LABELS,
    "last-of-equals",
    caught_by="one",
    loses=3,
    misconception="Of equal logits you take the last. The first counts.",
)
def _(logits, least):
    shares = logits.softmax(1)
    found = _named(shares.flip(1), least)
    return [label if label < 0 else logits.shape[1] - 1 - label for label in found]


@mistake(
    LABELS,
    "line-1",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 1 is right: it takes each text's largest logit away.",
)
def _():
    return 1


@mistake(
    LABELS,
    "line-2",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 2 is right: it makes positive weights of the logits.",
)
def _():
    return 2


@mistake(
    LABELS,
    "line-4",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 4 is right: it finds each text's largest share and its label.",
)
def _():
    return 4


@mistake(
    LABELS,
    "line-5",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 5 is right: it compares the largest share with `least`.",
)
def _():
    return 5


@mistake(
    LABELS,
    "line-6",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 6 is right: it puts -1 where a text is not sure.",
)
def _():
    return 6
