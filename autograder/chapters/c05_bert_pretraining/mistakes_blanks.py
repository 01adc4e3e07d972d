"""Plausible wrong solutions of chapter 5, part 2: masking, and the loss at the blanks."""

import torch

from autograder.checks.mistakes.registry import mistake

MASK = "05.mask_tokens"


def _number(special, per_cent=15):
    free = (~special).sum(1)
    return (per_cent * free / 100).round().maximum(free.clamp(max=1))


def _chosen(special, order, number=None):
    number = _number(special) if number is None else number
    return order.masked_fill(special, 2.0).argsort(1).argsort(1) < number[:, None]


def _changed(ids, chosen, fate, others, mask_id):
    return torch.where(chosen & (fate == 8), others, torch.where(chosen & (fate < 8), mask_id, ids))


def _answer(ids, chosen, fate, others, mask_id):
    return _changed(ids, chosen, fate, others, mask_id), torch.where(chosen, ids, -100)


@mistake(
    MASK,
    "a-coin-for-each-token",
    caught_by="count",
    loses=8,
    misconception=(
        "You select every token whose `order` is below 0.15. A sequence then gets"
        " more or fewer than 15 %, sometimes none."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(ids, (order < 0.15) & ~special, fate, others, mask_id)


@mistake(
    MASK,
    "rounded-down",
    caught_by="count",
    loses=2,
    misconception=(
        "You round the number of selected tokens down. Round to the nearest whole number."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    free = (~special).sum(1)
    return _answer(
        ids,
        _chosen(special, order, (15 * free // 100).maximum(free.clamp(max=1))),
        fate,
        others,
        mask_id,
    )


@mistake(
    MASK,
    "rounded-up",
    caught_by="count",
    loses=2,
    misconception=(
        "You round the number of selected tokens up. Round to the nearest whole number."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids, _chosen(special, order, (15 * (~special).sum(1) / 100).ceil()), fate, others, mask_id
    )


@mistake(
    MASK,
    "half-up",
    caught_by="count",
    loses=2,
    misconception=("You round an exact half up. Round it to the even number: 4.5 to 4, 7.5 to 8."),
)
def _(ids, special, order, fate, others, mask_id):
    free = (~special).sum(1)
    return _answer(
        ids,
        _chosen(special, order, ((15 * free + 50) // 100).maximum(free.clamp(max=1))),
        fate,
        others,
        mask_id,
    )


@mistake(
    MASK,
    "in-single-precision",
    caught_by="count",
    loses=2,
    misconception=(
        "You compute 0.15 times n in float32, which is slightly too large:"
        " 190 tokens give 29. `15 * n / 100` is exact."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    free = (~special).sum(1)
    return _answer(
        ids,
        _chosen(
            special, order, (torch.tensor(0.15) * free.float()).round().maximum(free.clamp(max=1))
        ),
        fate,
        others,
        mask_id,
    )


@mistake(
    MASK,
    "none-in-short-rows",
    caught_by="count",
    loses=2,
    misconception=(
        "You select nothing in a short sequence. At least one token is selected,"
        " if any is ordinary."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids, _chosen(special, order, (15 * (~special).sum(1) / 100).round()), fate, others, mask_id
    )


@mistake(
    MASK,
    "over-the-batch",
    caught_by="count",
    loses=8,
    misconception=("You select 15 % of the whole batch. Every sequence has its own number."),
)
def _(ids, special, order, fate, others, mask_id):
    flat = _chosen(special.reshape(1, -1), order.reshape(1, -1)).reshape(ids.shape)
    return _answer(ids, flat, fate, others, mask_id)


@mistake(
    MASK,
    "labels-turned-round",
    caught_by="count",
    loses=6,
    misconception=("Your labels are inverted: -100 at the selected positions and ids elsewhere."),
)
def _(ids, special, order, fate, others, mask_id):
    chosen = _chosen(special, order)
    return _changed(ids, chosen, fate, others, mask_id), torch.where(chosen, -100, ids)


@mistake(
    MASK,
    "every-place-labelled",
    caught_by="count",
    loses=6,
    misconception=(
        "You label every position with its id. Only selected tokens have a label;"
        " elsewhere it is -100, which the loss ignores."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _changed(ids, _chosen(special, order), fate, others, mask_id), ids.clone()


@mistake(
    MASK,
    "every-free-place-labelled",
    caught_by="count",
    loses=6,
    misconception=(
        "You label every ordinary token. Only selected ones have a label;"
        " elsewhere it is -100, which the loss ignores."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _changed(ids, _chosen(special, order), fate, others, mask_id), torch.where(
        special, -100, ids
    )


@mistake(
    MASK,
    "kept-ones-have-no-label",
    caught_by="count",
    loses=6,
    misconception=(
        "You give a selected token that stays no label. It is predicted like the others."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    chosen = _chosen(special, order)
    return _changed(ids, chosen, fate, others, mask_id), torch.where(chosen & (fate < 9), ids, -100)


@mistake(
    MASK,
    "labels-after-masking",
    caught_by="labels",
    loses=3,
    misconception="You take the labels from the masked ids. They are the original ids.",
)
def _(ids, special, order, fate, others, mask_id):
    chosen = _chosen(special, order)
    new = _changed(ids, chosen, fate, others, mask_id)
    return new, torch.where(chosen, new, -100)


@mistake(
    MASK,
    "the-largest",
    caught_by="labels",
    loses=6,
    misconception=(
        "You select the positions with the largest values of `order`. The smallest are selected."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(ids, _chosen(special, 1 - order), fate, others, mask_id)


@mistake(
    MASK,
    "argsort-once",
    caught_by="labels",
    loses=6,
    misconception=(
        "You compare `argsort` itself with the number. It gives the position of"
        " each rank, not the rank of each position: take `argsort` of it again."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    chosen = (order.masked_fill(special, 2.0).argsort(1) < _number(special)[:, None]) & ~special
    return _answer(ids, chosen, fate, others, mask_id)


@mistake(
    MASK,
    "id-0-is-padding",
    caught_by="labels",
    loses=1.5,
    misconception="You treat id 0 as padding. Only `special` says what is special.",
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids, _chosen(special | (ids == 0), order, _number(special)), fate, others, mask_id
    )


@mistake(
    MASK,
    "special-tokens-chosen",
    caught_by="specials",
    loses=1.5,
    misconception="You select special tokens like others. They are never selected.",
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids, order.argsort(1).argsort(1) < _number(special)[:, None], fate, others, mask_id
    )


@mistake(
    MASK,
    "special-tokens-counted",
    caught_by="specials",
    loses=1.5,
    misconception="You take 15 % of all positions. Special tokens do not count.",
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids,
        _chosen(special, order, _number(torch.zeros_like(special))) & ~special,
        fate,
        others,
        mask_id,
    )


@mistake(
    MASK,
    "chosen-then-dropped",
    caught_by="specials",
    loses=1.5,
    misconception=(
        "You select among all positions and drop the special ones afterwards: a"
        " sequence with special tokens gets too few."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids,
        (order.argsort(1).argsort(1) < _number(special)[:, None]) & ~special,
        fate,
        others,
        mask_id,
    )


@mistake(
    MASK,
    "one-in-every-row",
    caught_by="specials",
    loses=1.5,
    misconception=(
        "You select a token in a sequence of special tokens only. There is nothing to select in it."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids, _chosen(special, order, _number(special).clamp(min=1)), fate, others, mask_id
    )


@mistake(
    MASK,
    "every-chosen-one-covered",
    caught_by="replaced",
    loses=2,
    misconception=(
        "You replace every selected token by `mask_id`. One in ten becomes"
        " another token, and one in ten stays."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    chosen = _chosen(special, order)
    return torch.where(chosen, mask_id, ids), torch.where(chosen, ids, -100)


@mistake(
    MASK,
    "swapped-and-kept-exchanged",
    caught_by="replaced",
    loses=2,
    misconception=(
        "You exchanged two cases of `fate`: 8 takes the token from `others`, 9 leaves it."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(
        ids, _chosen(special, order), torch.where(fate < 8, fate, 17 - fate), others, mask_id
    )


@mistake(
    MASK,
    "nine-in-ten-covered",
    caught_by="replaced",
    loses=2,
    misconception=("You use `mask_id` for `fate` 0 to 8. At 8 the token comes from `others`."),
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(ids, _chosen(special, order), torch.where(fate == 8, 0, fate), others, mask_id)


@mistake(
    MASK,
    "swapped-outside",
    caught_by="masked",
    loses=3,
    misconception=(
        "You replace every token with `fate` 8, selected or not. Tokens that are not selected stay."
    ),
)
def _(ids, special, order, fate, others, mask_id):
    chosen = _chosen(special, order)
    fate = torch.where(chosen, fate, torch.where(order > 0.5, 8, 9))
    return _changed(ids, torch.ones_like(chosen), fate, others, mask_id), torch.where(
        chosen, ids, -100
    )


@mistake(
    MASK,
    "nothing-kept",
    caught_by="unchanged",
    loses=1,
    misconception="You take the token from `others` at `fate` 9 as well. 9 leaves it.",
)
def _(ids, special, order, fate, others, mask_id):
    return _answer(ids, _chosen(special, order), fate.clamp(max=8), others, mask_id)


@mistake(
    MASK,
    "writes-into-ids",
    caught_by="count",
    loses=1.6,
    misconception="You write into the caller's ids.",
)
def _(ids, special, order, fate, others, mask_id):
    new, labels = _answer(ids, _chosen(special, order), fate, others, mask_id)
    ids.copy_(new + 1)
    return new, labels


LOSS = "05.mlm_loss"


def _prices(logits, labels):
    return -logits.log_softmax(2).gather(2, labels.clamp(min=0)[..., None])[..., 0]


@mistake(
    LOSS,
    "all-places",
    caught_by="one",
    loses=5,
    misconception=("You divide by all positions of the batch. Divide by the labelled ones."),
)
def _(logits, labels):
    return torch.where(labels != -100, _prices(logits, labels), 0.0).mean()


@mistake(
    LOSS,
    "unasked-places-cost-too",
    caught_by="one",
    loses=5,
    misconception=(
        "You count the loss of token 0 at every position without a label."
        " Positions with -100 do not count."
    ),
)
def _(logits, labels):
    return _prices(logits, labels).mean()


@mistake(
    LOSS,
    "shifted",
    caught_by="one",
    loses=5,
    misconception=(
        "You shift the labels by one, as in GPT. Here a label belongs to its own position."
    ),
)
def _(logits, labels):
    labels = torch.cat([labels[:, 1:], torch.full((len(labels), 1), -100)], 1)
    chosen = labels != -100
    return _prices(logits, labels)[chosen].sum() / max(int(chosen.sum()), 1)


@mistake(
    LOSS,
    "softmax-twice",
    caught_by="one",
    loses=5,
    misconception=(
        "You take the softmax twice: `cross_entropy` and `log_softmax` want logits, not"
        " probabilities."
    ),
)
def _(logits, labels):
    chosen = labels != -100
    return _prices(logits.softmax(2), labels)[chosen].sum() / max(int(chosen.sum()), 1)


@mistake(
    LOSS,
    "base-two",
    caught_by="one",
    loses=5,
    misconception="You take the logarithm to base 2. The loss uses the natural one.",
)
def _(logits, labels):
    chosen = labels != -100
    return (
        _prices(logits, labels)[chosen].sum() / max(int(chosen.sum()), 1) / torch.tensor(2.0).log()
    )


@mistake(
    LOSS,
    "no-logarithm",
    caught_by="one",
    loses=5,
    misconception=(
        "You return 1 minus the probability of the correct token. The loss is minus its logarithm."
    ),
)
def _(logits, labels):
    chosen = labels != -100
    return (1 - (-_prices(logits, labels)).exp())[chosen].sum() / max(int(chosen.sum()), 1)


@mistake(
    LOSS,
    "sum",
    caught_by="mean",
    loses=2.5,
    misconception="You return the sum of the losses. Divide by their number.",
)
def _(logits, labels):
    return _prices(logits, labels)[labels != -100].sum()


@mistake(
    LOSS,
    "mean-of-row-means",
    caught_by="mean",
    loses=2.5,
    misconception=(
        "You average over each sequence first and over the sequences then. Every"
        " labelled position has the same weight."
    ),
)
def _(logits, labels):
    chosen = labels != -100
    rows = [
        _prices(logits, labels)[row][chosen[row]].mean()
        for row in range(len(labels))
        if chosen[row].any()
    ]
    return torch.stack(rows).mean() if rows else logits.sum() * 0


@mistake(
    LOSS,
    "divided-by-the-rows",
    caught_by="mean",
    loses=2.5,
    misconception=(
        "You divide by the number of sequences. Divide by the number of labelled positions."
    ),
)
def _(logits, labels):
    return _prices(logits, labels)[labels != -100].sum() / max(
        int((labels != -100).any(1).sum()), 1
    )


@mistake(
    LOSS,
    "label-0-left-out",
    caught_by="zero",
    loses=0.5,
    misconception="You ignore label 0. It is a token like any other.",
)
def _(logits, labels):
    chosen = labels > 0
    return _prices(logits, labels)[chosen].sum() / max(int(chosen.sum()), 1)


@mistake(
    LOSS,
    "logarithm-of-a-softmax",
    caught_by="borders",
    loses=1,
    misconception=(
        "You take the logarithm of a softmax that may be 0. `log_softmax` does both in one step."
    ),
)
def _(logits, labels):
    chosen = labels != -100
    prices = -logits[chosen].softmax(1).log().gather(1, labels[chosen][:, None])
    return prices.sum() / max(len(prices), 1)


@mistake(
    LOSS,
    "epsilon",
    caught_by="borders",
    loses=1,
    misconception=(
        "You add a small number to the probabilities before the logarithm: a very"
        " unlikely token costs too little."
    ),
)
def _(logits, labels):
    chosen = labels != -100
    prices = -(logits[chosen].softmax(1) + 1e-12).log().gather(1, labels[chosen][:, None])
    return prices.sum() / max(len(prices), 1)


@mistake(
    LOSS,
    "nan-without-labels",
    caught_by="borders",
    loses=1,
    misconception=(
        "Without any label you return the mean of no numbers, which is NaN. The loss is 0.0 then."
    ),
)
def _(logits, labels):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


@mistake(
    LOSS,
    "detached",
    caught_by="gradient",
    loses=1,
    misconception=("You return a new tensor without a graph, so no gradient reaches the logits."),
)
def _(logits, labels):
    chosen = labels != -100
    return torch.tensor((_prices(logits, labels)[chosen].sum() / max(int(chosen.sum()), 1)).item())
