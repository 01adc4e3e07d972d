"""Plausible wrong solutions of chapter 8, part 1: the loss of the next tokens."""

import math

import torch
from torch.nn.functional import cross_entropy

from autograder.checks.mistakes.registry import mistake

LOSS = "08.next_token_loss"


def _mean(prices, asked):
    """The sum of the prices asked for, by their number."""
    return prices[asked].sum() / max(int(asked.sum()), 1)


def _prices(logits, ids):
    return cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none").reshape(ids.shape)


def _right(logits, ids, mask):
    return _mean(_prices(logits[:, :-1], ids[:, 1:]), mask[:, 1:])


@mistake(
    LOSS,
    "no-shift",
    caught_by="shift",
    loses=6,
    misconception=(
        "You compare the logits at a position with the token at the same position. They "
        "predict the next one."
    ),
)
def _(logits, ids, mask):
    return _mean(_prices(logits, ids), mask)


@mistake(
    LOSS,
    "shifted-twice",
    caught_by="shift",
    loses=6,
    misconception=("You shift twice: logits are compared with the token two positions later."),
)
def _(logits, ids, mask):
    return (
        _mean(_prices(logits[:, :-2], ids[:, 2:]), mask[:, 2:])
        if ids.shape[1] > 2
        else logits.sum() * 0
    )


@mistake(
    LOSS,
    "shifted-back",
    caught_by="shift",
    loses=6,
    misconception=(
        "You shift the wrong way: logits are compared with the previous token. They predict "
        "the next one."
    ),
)
def _(logits, ids, mask):
    return _mean(_prices(logits[:, 1:], ids[:, :-1]), mask[:, 1:])


@mistake(
    LOSS,
    "bits",
    caught_by="shift",
    loses=6,
    misconception="You take the logarithm to base 2. Logarithms here are natural ones.",
)
def _(logits, ids, mask):
    return _right(logits, ids, mask) / math.log(2)


@mistake(
    LOSS,
    "sum",
    caught_by="shift",
    loses=6,
    misconception="You add up the prices and don't divide by their number.",
)
def _(logits, ids, mask):
    return _prices(logits[:, :-1], ids[:, 1:])[mask[:, 1:]].sum()


@mistake(
    LOSS,
    "divided-by-all-tokens",
    caught_by="shift",
    loses=6,
    misconception="You divide by the number of tokens. A sequence has one target fewer.",
)
def _(logits, ids, mask):
    return _prices(logits[:, :-1], ids[:, 1:])[mask[:, 1:]].sum() / mask.sum()


@mistake(
    LOSS,
    "rolled-round",
    caught_by="shift",
    loses=6,
    misconception=(
        "You roll the ids round, so that the last logits of a row are judged by its first token."
        " They are judged by nothing."
    ),
)
def _(logits, ids, mask):
    return _mean(_prices(logits, ids.roll(-1, 1)), mask)


@mistake(
    LOSS,
    "flattened-first",
    caught_by="rows",
    loses=3,
    misconception=(
        "You flatten before you shift, so each sequence predicts the first token of the next one."
    ),
)
def _(logits, ids, mask):
    return _mean(
        _prices(logits.flatten(0, 1)[None, :-1], ids.flatten()[None, 1:]), mask.flatten()[None, 1:]
    )


@mistake(
    LOSS,
    "padding-counts",
    caught_by="padding",
    loses=3,
    misconception="You ignore `mask`, so padding counts as a target.",
)
def _(logits, ids, mask):
    return _mean(_prices(logits[:, :-1], ids[:, 1:]), torch.ones_like(mask[:, 1:]))


@mistake(
    LOSS,
    "mask-not-shifted",
    caught_by="padding",
    loses=3,
    misconception=("You mask by the input token. Mask by the target: the last token has none."),
)
def _(logits, ids, mask):
    return _mean(_prices(logits[:, :-1], ids[:, 1:]), mask[:, :-1])


@mistake(
    LOSS,
    "divided-by-all-places",
    caught_by="padding",
    loses=3,
    misconception=(
        "You leave padding out of the sum but divide by all positions. Divide by the number "
        "of targets."
    ),
)
def _(logits, ids, mask):
    asked = mask[:, 1:]
    return (_prices(logits[:, :-1], ids[:, 1:]) * asked).sum() / max(asked.numel(), 1)


@mistake(
    LOSS,
    "id-0-is-padding",
    caught_by="shift",
    loses=6,
    misconception="You take id 0 for padding. Only `mask` says what padding is.",
)
def _(logits, ids, mask):
    return _mean(_prices(logits[:, :-1], ids[:, 1:]), mask[:, 1:] & (ids[:, 1:] != 0))


@mistake(
    LOSS,
    "mean-of-row-means",
    caught_by="mean",
    loses=2,
    misconception=(
        "You take the mean of the sequences' means. All targets of the batch have the same weight."
    ),
)
def _(logits, ids, mask):
    prices, asked = _prices(logits[:, :-1], ids[:, 1:]), mask[:, 1:]
    rows = [price[a].mean() for price, a in zip(prices, asked) if a.any()]
    return torch.stack(rows).mean() if rows else logits.sum() * 0


@mistake(
    LOSS,
    "logarithm-of-a-softmax",
    caught_by="borders",
    loses=1,
    misconception=(
        "You take the softmax first and its logarithm then: where it is exactly 0, the price is"
        " infinite."
    ),
)
def _(logits, ids, mask):
    p = logits[:, :-1].softmax(2).gather(2, ids[:, 1:, None])[..., 0]
    return _mean(-p.log(), mask[:, 1:])


@mistake(
    LOSS,
    "nothing-is-nan",
    caught_by="borders",
    loses=1,
    misconception=("Without a target you return the mean of no numbers, which is NaN. Return 0.0."),
)
def _(logits, ids, mask):
    return _prices(logits[:, :-1], ids[:, 1:])[mask[:, 1:]].mean()


@mistake(
    LOSS,
    "detached",
    caught_by="borders",
    loses=1,
    misconception=(
        "Your loss is a new tensor that knows nothing of the logits, so no gradient reaches them."
    ),
)
def _(logits, ids, mask):
    return torch.tensor(_right(logits, ids, mask).item())
