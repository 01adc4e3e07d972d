"""Plausible wrong solutions of chapter 7, part 3."""

import torch
from torch.nn.functional import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
)

from autograder.checks.mistakes.registry import mistake

REPLACE = "07.replace"


def _guesses(probs, chances, equal=True):
    sums = probs.cumsum(2)
    below = sums <= chances[..., None] if equal else sums < chances[..., None]
    return below.sum(2).clamp(max=probs.shape[2] - 1)


def _filled(ids, labels, guesses):
    blank = labels != -100
    return torch.where(blank, guesses, ids), blank & (guesses != labels)


@mistake(
    REPLACE,
    "argmax",
    caught_by="drawn",
    loses=6,
    misconception=(
        "You take the most probable token at each mask. The generator's guess is drawn, by the"
        " chance."
    ),
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, probs.argmax(2))


@mistake(
    REPLACE,
    "truth-put-back",
    caught_by="drawn",
    loses=6,
    misconception=(
        "You put the right token back at each mask. The guess belongs there, right or wrong."
    ),
)
def _(ids, labels, probs, chances):
    return torch.where(labels != -100, labels, ids), torch.zeros_like(ids, dtype=torch.bool)


@mistake(
    REPLACE,
    "one-too-early",
    caught_by="drawn",
    loses=6,
    misconception=(
        "You take the last token whose sum is not greater than the chance. It is the one after it."
    ),
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, (_guesses(probs, chances) - 1).clamp(min=0))


@mistake(
    REPLACE,
    "single-probabilities",
    caught_by="drawn",
    loses=6,
    misconception="You compare each probability with the chance. It is their sum, from token 0 on.",
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, (probs > chances[..., None]).int().argmax(2))


@mistake(
    REPLACE,
    "from-the-other-end",
    caught_by="drawn",
    loses=6,
    misconception="You add up from the last token on. It is from token 0.",
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, probs.shape[2] - 1 - _guesses(probs.flip(2), chances))


@mistake(
    REPLACE,
    "guesses-everywhere",
    caught_by="kept",
    loses=3,
    misconception=(
        "You put a guess at every position. Only masks are filled; all other tokens stay."
    ),
)
def _(ids, labels, probs, chances):
    guesses = _guesses(probs, chances)
    return guesses, torch.where(labels != -100, guesses != labels, guesses != ids)


@mistake(
    REPLACE,
    "minus-100-as-id",
    caught_by="kept",
    loses=3,
    misconception=(
        "You take the labels for the original text. Where no token is masked they hold -100, which"
        " is no id."
    ),
)
def _(ids, labels, probs, chances):
    filled = torch.where(labels != -100, _guesses(probs, chances), labels)
    return filled, torch.where(labels != -100, filled != labels, filled != ids)


@mistake(
    REPLACE,
    "one-at-each-blank",
    caught_by="lucky",
    loses=3,
    misconception=(
        'You predict "replaced" at each mask. A sample that is right is the original token.'
    ),
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, _guesses(probs, chances))[0], labels != -100


@mistake(
    REPLACE,
    "compared-with-the-blanked-text",
    caught_by="lucky",
    loses=3,
    misconception=(
        "You compare with `ids`, which holds the masks. Compare with the original text, which"
        " has the labels there."
    ),
)
def _(ids, labels, probs, chances):
    filled = _filled(ids, labels, _guesses(probs, chances))[0]
    return filled, filled != ids


@mistake(
    REPLACE,
    "compared-with-the-labels",
    caught_by="lucky",
    loses=2,
    misconception=(
        "You compare with `labels` at every position: where no token is masked they hold -100, and"
        " every token counts as replaced."
    ),
)
def _(ids, labels, probs, chances):
    filled = _filled(ids, labels, _guesses(probs, chances))[0]
    return filled, filled != labels


@mistake(
    REPLACE,
    "turned-round",
    caught_by="lucky",
    loses=3,
    misconception=(
        "Your second tensor is True where the token is the original one. True means replaced."
    ),
)
def _(ids, labels, probs, chances):
    filled, replaced = _filled(ids, labels, _guesses(probs, chances))
    return filled, ~replaced


@mistake(
    REPLACE,
    "label-0-is-no-blank",
    caught_by="lucky",
    loses=3,
    misconception="You take label 0 for *not masked*. Only -100 means that there is none.",
)
def _(ids, labels, probs, chances):
    return _filled(ids, torch.where(labels > 0, labels, -100), _guesses(probs, chances))


@mistake(
    REPLACE,
    "equal-is-enough",
    caught_by="borders",
    loses=1,
    misconception="You stop where the sum is equal to the chance. It has to be greater.",
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, _guesses(probs, chances, equal=False))


@mistake(
    REPLACE,
    "beyond-the-last-token",
    caught_by="borders",
    loses=1,
    misconception=(
        "Where the sums end below the chance you return V, which is no token. It is the last one, V"
        " - 1."
    ),
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, (probs.cumsum(2) <= chances[..., None]).sum(2))


@mistake(
    REPLACE,
    "token-0-without-a-sum",
    caught_by="borders",
    loses=1,
    misconception=(
        "Where no sum is greater than the chance you return token 0: `argmax` of nothing but False."
        " It is the last token."
    ),
)
def _(ids, labels, probs, chances):
    return _filled(ids, labels, (probs.cumsum(2) > chances[..., None]).int().argmax(2))


LOSS = "07.electra_loss"


def _joint(gen, truth, disc, replaced, mask, weight, guessing=None, judging=None, first=1.0):
    """The joint loss, with a part replaced."""
    guessing = (
        cross_entropy(gen, truth, reduction="sum") / max(len(gen), 1)
        if guessing is None
        else guessing
    )
    judging = (
        binary_cross_entropy_with_logits(disc[mask], replaced[mask].float())
        if judging is None
        else judging
    )
    return first * guessing + weight * judging


@mistake(
    LOSS,
    "generator-summed",
    caught_by="masked tokens",
    loses=2.5,
    misconception="You sum the generator's prices. Take the mean over the masked tokens.",
)
def _(gen, truth, *rest):
    return _joint(gen, truth, *rest, guessing=cross_entropy(gen, truth, reduction="sum"))


@mistake(
    LOSS,
    "generator-over-all-tokens",
    caught_by="masked tokens",
    loses=2.5,
    misconception=(
        "You divide the generator's prices by the number of tokens. It answered at the N masked"
        " tokens"
        " only."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(
        gen,
        truth,
        disc,
        replaced,
        mask,
        weight,
        guessing=cross_entropy(gen, truth, reduction="sum") / mask.sum(),
    )


@mistake(
    LOSS,
    "replaced-tokens-only",
    caught_by="tokens",
    loses=3,
    misconception=(
        "Your discriminator pays at the replaced tokens only. It pays at every token: that is what"
        " ELECTRA gains by."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    at = replaced & mask
    judging = binary_cross_entropy_with_logits(
        disc[at], replaced[at].float(), reduction="sum"
    ) / max(int(at.sum()), 1)
    return _joint(gen, truth, disc, replaced, mask, weight, judging=judging)


@mistake(
    LOSS,
    "turned-round",
    caught_by="tokens",
    loses=3,
    misconception='Your discriminator\'s answers are turned round: a large logit says "replaced".',
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(gen, truth, disc, ~replaced, mask, weight)


@mistake(
    LOSS,
    "sigmoid-twice",
    caught_by="tokens",
    loses=3,
    misconception="You take the sigmoid twice: `binary_cross_entropy_with_logits` wants logits.",
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(gen, truth, disc.sigmoid(), replaced, mask, weight)


@mistake(
    LOSS,
    "discriminator-summed",
    caught_by="tokens",
    loses=3,
    misconception="You sum the discriminator's prices. Take the mean over the tokens.",
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(
        gen,
        truth,
        disc,
        replaced,
        mask,
        weight,
        judging=binary_cross_entropy_with_logits(
            disc[mask], replaced[mask].float(), reduction="sum"
        ),
    )


@mistake(
    LOSS,
    "padding-counts",
    caught_by="padding",
    loses=0.5,
    misconception="Your discriminator pays at padding too.",
)
def _(gen, truth, disc, replaced, mask, weight):
    return (
        _joint(gen, truth, disc, replaced, torch.ones_like(mask), weight)
        if mask.any()
        else gen.sum()
    )


@mistake(
    LOSS,
    "divided-by-all-places",
    caught_by="padding",
    loses=0.5,
    misconception=(
        "You leave padding out of the sum and divide by all positions. Divide by the number of"
        " tokens."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    judging = (
        binary_cross_entropy_with_logits(disc[mask], replaced[mask].float(), reduction="sum")
        / mask.numel()
    )
    return _joint(gen, truth, disc, replaced, mask, weight, judging=judging)


@mistake(
    LOSS,
    "mean-of-row-means",
    caught_by="padding",
    loses=0.5,
    misconception="You take the mean of each row first. Every token of the batch weighs the same.",
)
def _(gen, truth, disc, replaced, mask, weight):
    rows = [
        binary_cross_entropy_with_logits(d[m], r[m].float())
        for d, r, m in zip(disc, replaced, mask)
        if m.any()
    ]
    return _joint(gen, truth, disc, replaced, mask, weight, judging=torch.stack(rows).mean())


@mistake(
    LOSS,
    "weight-on-both",
    caught_by="masked tokens",
    loses=2.5,
    misconception="You multiply both parts with the weight. It belongs to the discriminator.",
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(gen, truth, disc, replaced, mask, weight, first=weight)


@mistake(
    LOSS,
    "weight-on-the-generator",
    caught_by="masked tokens",
    loses=2.5,
    misconception=(
        "You multiply the generator's part with the weight. It belongs to the discriminator."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    return weight * _joint(gen, truth, disc, replaced, mask, 1.0, judging=0.0) + _joint(
        gen, truth, disc, replaced, mask, 1.0, first=0.0
    )


@mistake(
    LOSS,
    "weight-left-out",
    caught_by="masked tokens",
    loses=2.5,
    misconception="You leave the weight out.",
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(gen, truth, disc, replaced, mask, 1.0)


@mistake(
    LOSS,
    "no-blank-is-nan",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "Without a masked token you return the mean of no numbers, which is NaN. The generator's"
        " part is 0"
        " then."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(gen, truth, disc, replaced, mask, weight, guessing=cross_entropy(gen, truth))


@mistake(
    LOSS,
    "logarithm-of-a-sigmoid",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "You take the sigmoid first and its logarithm then: where it is exactly 0 or 1, the price"
        " is cut off or infinite."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    return _joint(
        gen,
        truth,
        disc,
        replaced,
        mask,
        weight,
        judging=binary_cross_entropy(disc.sigmoid()[mask], replaced[mask].float()),
    )


@mistake(
    LOSS,
    "detached",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "Your loss is a new tensor that knows nothing of the logits, so no gradient reaches either"
        " model."
    ),
)
def _(gen, truth, disc, replaced, mask, weight):
    return torch.tensor(_joint(gen, truth, disc, replaced, mask, weight).item())
