"""Plausible wrong solutions of chapter 10, part 4: advantages, the clipped loss, groups."""

import torch

from autograder.checks.mistakes.registry import mistake

GAE = "10.advantages"


def _gae(
    rewards,
    values,
    mask,
    discount,
    decay,
    after=None,
    rate=None,
    masked=True,
    own=1.0,
    following=None,
    outside=True,
):
    """Advantages and returns; after: the value behind the last place; rate: of what is ahead;
    masked: whether a step outside the answer begins anew; following: by what the next value is
    multiplied.
    """
    rate, following = (
        discount * decay if rate is None else rate,
        discount if following is None else following,
    )
    found = torch.zeros_like(values)
    ahead = torch.zeros_like(values[:, 0])
    next_value = ahead if after is None else after(values)
    for t in reversed(range(values.shape[1])):
        ahead = rewards[:, t] + following * next_value - own * values[:, t] + rate * ahead
        next_value = values[:, t]
        if masked:
            ahead, next_value = ahead * mask[:, t], next_value * mask[:, t]
        found[:, t] = ahead
    found = found * mask if outside else found
    return found, (found + values) * mask


@mistake(
    GAE,
    "forwards",
    caught_by="ahead",
    loses=3,
    misconception=(
        "You add up what came before a token. An action is praised for what came after it: go"
        " backwards."
    ),
)
def _(rewards, values, mask, discount, decay):
    found, before = torch.zeros_like(values), torch.zeros_like(values[:, 0])
    following = torch.cat((values * mask, torch.zeros_like(values[:, :1])), 1)[:, 1:]
    for t in range(values.shape[1]):
        before = (
            rewards[:, t] + discount * following[:, t] - values[:, t] + discount * decay * before
        ) * mask[:, t]
        found[:, t] = before
    return found, (found + values) * mask


@mistake(
    GAE,
    "value-behind-the-answer",
    caught_by="outside",
    loses=1.5,
    misconception=(
        "You take the value behind the answer's last token for what is still to come. The answer"
        " has ended: nothing is."
    ),
)
def _(rewards, values, mask, discount, decay):
    found, ahead = torch.zeros_like(values), torch.zeros_like(values[:, 0])
    following = torch.cat((values, torch.zeros_like(values[:, :1])), 1)[:, 1:]
    for t in reversed(range(values.shape[1])):
        ahead = (
            rewards[:, t] + discount * following[:, t] - values[:, t] + discount * decay * ahead
        ) * mask[:, t]
        found[:, t] = ahead
    return found, (found + values) * mask


@mistake(
    GAE,
    "last-value-again",
    caught_by="error",
    loses=6,
    misconception="After the last token you use its own value once more. There is none.",
)
def _(*case):
    return _gae(*case, after=lambda values: values[:, -1])


@mistake(
    GAE,
    "decay-alone",
    caught_by="ahead",
    loses=3,
    misconception="You multiply what is ahead by decay and forget the discount.",
)
def _(rewards, values, mask, discount, decay):
    return _gae(rewards, values, mask, discount, decay, rate=decay)


@mistake(
    GAE,
    "discount-alone",
    caught_by="error",
    loses=6,
    misconception="You multiply what is ahead by the discount and forget decay.",
)
def _(rewards, values, mask, discount, decay):
    return _gae(rewards, values, mask, discount, decay, rate=discount)


@mistake(
    GAE,
    "next-value-not-discounted",
    caught_by="error",
    loses=6,
    misconception="You forget the discount of the next token's value.",
)
def _(*case):
    return _gae(*case, following=1.0)


@mistake(
    GAE,
    "decay-of-the-next-value",
    caught_by="error",
    loses=6,
    misconception=(
        "You multiply the next token's value by decay too. Its factor is the discount alone."
    ),
)
def _(rewards, values, mask, discount, decay):
    return _gae(rewards, values, mask, discount, decay, following=discount * decay)


@mistake(
    GAE,
    "one-step",
    caught_by="ahead",
    loses=3,
    misconception="You give the error of one step, whatever decay is: what is ahead is missing.",
)
def _(*case):
    return _gae(*case, rate=0.0)


@mistake(
    GAE,
    "no-baseline",
    caught_by="error",
    loses=6,
    misconception="You do not subtract the token's own value: that is a return, no advantage.",
)
def _(*case):
    found, _ = _gae(*case)
    return (found + case[1]) * case[2], (found + case[1]) * case[2]


@mistake(
    GAE,
    "sign",
    caught_by="error",
    loses=6,
    misconception="Your advantages have the wrong sign: value less reward.",
)
def _(*case):
    found, returns = _gae(*case)
    return -found, returns


@mistake(
    GAE,
    "masked-after",
    caught_by="outside",
    loses=1.5,
    misconception=(
        "You compute over all positions and apply the mask at the end: values after the answer have"
        " entered it by then."
    ),
)
def _(*case):
    return _gae(*case, masked=False)


@mistake(
    GAE,
    "never-masked",
    caught_by="outside",
    loses=1.5,
    misconception="You do not look at the mask where the advantages are made.",
)
def _(*case):
    found, _ = _gae(*case, masked=False, outside=False)
    return found, (found + case[1]) * case[2]


@mistake(
    GAE,
    "mask-of-the-first-row",
    caught_by="outside",
    loses=1.5,
    misconception="You take the first row's mask for all rows.",
)
def _(rewards, values, mask, discount, decay):
    return _gae(rewards, values, mask[:1].expand_as(mask), discount, decay)


@mistake(
    GAE,
    "returns-are-advantages",
    caught_by="returns",
    loses=1.5,
    misconception=(
        "Your returns are the advantages. Add the value: the critic predicts the whole return."
    ),
)
def _(*case):
    found, _ = _gae(*case)
    return found, found.clone()


@mistake(
    GAE,
    "returns-of-rewards",
    caught_by="returns",
    loses=1.5,
    misconception=(
        "Your returns are the discounted sums of rewards, as with a decay of 1. Asked is the"
        " advantage plus the value."
    ),
)
def _(rewards, values, mask, discount, decay):
    found, _ = _gae(rewards, values, mask, discount, decay)
    return found, _gae(rewards, values, mask, discount, 1.0)[1]


@mistake(
    GAE,
    "returns-everywhere",
    caught_by="returns",
    loses=1.5,
    misconception="Your returns hold values where no answer is. They are 0 there.",
)
def _(*case):
    found, _ = _gae(*case)
    return found, found + case[1]


@mistake(
    GAE,
    "normalised",
    caught_by="error",
    loses=6,
    misconception=(
        "You bring the advantages to mean 0 and deviation 1. Some trainers do; here it was not"
        " asked."
    ),
)
def _(*case):
    found, returns = _gae(*case)
    return (
        torch.where(
            case[2],
            (found - found[case[2]].mean()) / (found[case[2]].std(correction=0) + 1e-8),
            0.0,
        ),
        returns,
    )


CLIP = "10.clipped_loss"


def _line(number, misconception):
    @mistake(
        CLIP,
        f"line-{number}",
        replaces="wrong_line",
        caught_by="line",
        loses=1,
        misconception=misconception,
    )
    def wrong():
        return number


_line(1, "Line 1 is right: the ratio of the two probabilities, from their logarithms.")
_line(
    2,
    "Line 2 is right: an answer's advantage holds at each of its tokens, so it gets an axis of"
    " length 1.",
)
_line(3, "Line 3 is right: the ratio times the advantage, with no border.")
_line(4, "Line 4 is right: the ratio kept between 1 - clip and 1 + clip, times the advantage.")
_line(6, "Line 6 is right: the mean over all tokens, and its minus, since a loss is made small.")


def _parts(logprobs, old, advantages, clip):
    ratio = (logprobs - old).exp()
    return ratio * advantages[:, None], ratio.clamp(1 - clip, 1 + clip) * advantages[:, None]


@mistake(
    CLIP,
    "as-printed",
    caught_by="gain",
    loses=3,
    misconception=(
        "This is the function of the card with the wrong line as it was: it takes the larger of the"
        " two."
    ),
)
def _(*case):
    return -torch.maximum(*_parts(*case)).mean()


@mistake(
    CLIP,
    "always-clipped",
    caught_by="gain",
    loses=3,
    misconception=(
        "You always take the clipped ratio. A good answer that became less probable, or a bad one"
        " that became more probable, then has no gradient."
    ),
)
def _(*case):
    return -_parts(*case)[1].mean()


@mistake(
    CLIP,
    "never-clipped",
    caught_by="gain",
    loses=3,
    misconception="You never clip: the ratio may run away.",
)
def _(*case):
    return -_parts(*case)[0].mean()


@mistake(
    CLIP,
    "sign-lost",
    caught_by="gain",
    loses=3,
    misconception="You lost the minus: to make this small is to make good answers rarer.",
)
def _(*case):
    return torch.minimum(*_parts(*case)).mean()


@mistake(
    CLIP,
    "summed",
    caught_by="gain",
    loses=3,
    misconception="You add up the tokens. Asked is their mean.",
)
def _(*case):
    return -torch.minimum(*_parts(*case)).sum()


@mistake(
    CLIP,
    "smaller-ratio",
    caught_by="harm",
    loses=2,
    misconception=(
        "You take the smaller ratio and multiply it by the advantage afterwards. With a negative"
        " advantage that is the larger of the two."
    ),
)
def _(logprobs, old, advantages, clip):
    ratio = (logprobs - old).exp()
    return -(torch.minimum(ratio, ratio.clamp(1 - clip, 1 + clip)) * advantages[:, None]).mean()


@mistake(
    CLIP,
    "ratio-detached",
    caught_by="gradient",
    loses=1,
    misconception="You detach the ratio: nothing is learned.",
)
def _(logprobs, *rest):
    return -torch.minimum(*_parts(logprobs.detach(), *rest)).mean() + 0 * logprobs.sum()


GROUP = "10.group_advantages"


def _standard(rewards, correction=0, centre=True, axis=1, below=None):
    """Advantages with the right treatment of equal rewards, and one thing otherwise."""
    centred = rewards - rewards.mean(axis, keepdim=True) if centre else rewards
    spread = (
        rewards.std(axis, keepdim=True, correction=correction) if below is None else below(rewards)
    )
    alike = rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True)
    return torch.where(alike, 0.0, centred / torch.where(alike, 1.0, spread))


@mistake(
    GROUP,
    "sample-deviation",
    caught_by="group",
    loses=2.5,
    misconception=(
        "You divide by the sample's standard deviation, with G - 1 below, which is what torch gives"
        " by default. Asked is the population's."
    ),
)
def _(rewards):
    return _standard(rewards, correction=1)


@mistake(
    GROUP,
    "not-divided",
    caught_by="group",
    loses=2.5,
    misconception="You subtract the mean and do not divide by the deviation.",
)
def _(rewards):
    return _standard(rewards, below=lambda rewards: torch.ones_like(rewards[:, :1]))


@mistake(
    GROUP,
    "variance",
    caught_by="group",
    loses=2.5,
    misconception="You divide by the variance. Its root is asked for.",
)
def _(rewards):
    return _standard(rewards, below=lambda rewards: rewards.var(1, keepdim=True, correction=0))


@mistake(
    GROUP,
    "not-centred",
    caught_by="group",
    loses=2.5,
    misconception="You do not subtract the mean: then every answer with a reward is good.",
)
def _(rewards):
    return _standard(rewards, centre=False)


@mistake(
    GROUP,
    "visible-epsilon",
    caught_by="group",
    loses=2.5,
    misconception=(
        "You add 0.0001 to the deviation, as some trainers do. Where rewards lie close together"
        " that shows."
    ),
)
def _(rewards):
    return (
        (rewards - rewards.mean(1, keepdim=True))
        / (rewards.std(1, keepdim=True, correction=0) + 1e-4)
        * (rewards.amax(1, keepdim=True) > rewards.amin(1, keepdim=True))
    )


@mistake(
    GROUP,
    "clipped",
    caught_by="group",
    loses=2.5,
    misconception=(
        "You clip the advantages. One answer of 300 that stands out is 17 deviations away."
    ),
)
def _(rewards):
    return _standard(rewards).clamp(-5, 5)


@mistake(
    GROUP,
    "over-the-batch",
    caught_by="groups",
    loses=1.5,
    misconception=(
        "You take mean and deviation over the whole batch. An answer is compared with those to the"
        " same question."
    ),
)
def _(rewards):
    centred, spread = rewards - rewards.mean(), rewards.std(correction=0)
    return torch.where(
        rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True),
        0.0,
        centred / (spread if spread > 1e-6 else 1.0),
    )


@mistake(
    GROUP,
    "deviation-of-the-batch",
    caught_by="groups",
    loses=1.5,
    misconception="You subtract each group's mean and divide by the deviation of the whole batch.",
)
def _(rewards):
    spread = rewards.std(correction=0)
    return torch.where(
        rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True),
        0.0,
        (rewards - rewards.mean(1, keepdim=True)) / (spread if spread > 1e-6 else 1.0),
    )


@mistake(
    GROUP,
    "zero-by-zero",
    caught_by="alike",
    loses=1,
    misconception="You divide 0 by 0 where all rewards are the same.",
)
def _(rewards):
    return (rewards - rewards.mean(1, keepdim=True)) / rewards.std(1, keepdim=True, correction=0)


@mistake(
    GROUP,
    "rounding-by-rounding",
    caught_by="alike",
    loses=1,
    misconception=(
        "You ask whether the deviation is 0. By rounding it may be tiny and not 0, and tiny by tiny"
        " is about 1."
    ),
)
def _(rewards):
    spread = rewards.std(1, keepdim=True, correction=0)
    return torch.where(
        spread == 0,
        0.0,
        (rewards - rewards.mean(1, keepdim=True)) / torch.where(spread == 0, 1.0, spread),
    )


@mistake(
    GROUP,
    "one-for-alike",
    caught_by="alike",
    loses=1,
    misconception=(
        "You give 1 where all rewards are the same. Nobody is better than the others: it is 0."
    ),
)
def _(rewards):
    return torch.where(
        rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True), 1.0, _standard(rewards)
    )


@mistake(
    GROUP,
    "k3-turned",
    replaces="k3",
    caught_by="k3",
    loses=2.5,
    misconception="You have policy and reference the wrong way round: p / q instead of q / p.",
)
def _(logprobs, reference):
    return (logprobs - reference).exp() - (logprobs - reference) - 1


@mistake(
    GROUP,
    "k1",
    replaces="k3",
    caught_by="k3",
    loses=2.5,
    misconception=(
        "You give log p - log q, which is right in the mean, and negative half of the time."
    ),
)
def _(logprobs, reference):
    return logprobs - reference


@mistake(
    GROUP,
    "k2",
    replaces="k3",
    caught_by="k3",
    loses=2.5,
    misconception=(
        "You give half the square of the difference. It is close to k3 near 0, and not the same."
    ),
)
def _(logprobs, reference):
    return (logprobs - reference).square() / 2


@mistake(
    GROUP,
    "k3-without-one",
    replaces="k3",
    caught_by="k3",
    loses=2.5,
    misconception="You forget to subtract 1: where both agree the distance is 0.",
)
def _(logprobs, reference):
    return (reference - logprobs).exp() - (reference - logprobs)


@mistake(
    GROUP,
    "k3-sign-of-the-logarithm",
    replaces="k3",
    caught_by="k3",
    loses=2.5,
    misconception="You add the logarithm of q / p. It is subtracted.",
)
def _(logprobs, reference):
    return (reference - logprobs).exp() + (reference - logprobs) - 1


@mistake(
    GROUP,
    "k3-summed",
    replaces="k3",
    caught_by="k3",
    loses=2.5,
    misconception="You give one number for each row. Each token has its own.",
)
def _(logprobs, reference):
    return ((reference - logprobs).exp() - (reference - logprobs) - 1).sum(1)


DAPO = "10.dapo_loss"


def _gains(logprobs, old, advantages, mask, low, high, choose=torch.minimum):
    """What each token gains; 0 outside of the mask."""
    ratio = (logprobs - old).masked_fill(~mask, 0.0).exp()
    weight = advantages[:, None]
    return choose(ratio * weight, ratio.clamp(1 - low, 1 + high) * weight) * mask


@mistake(
    DAPO,
    "lower-bound-twice",
    caught_by="two bounds",
    loses=4,
    misconception="You use `low` for both bounds. Above 1 it is `high`.",
)
def _(logprobs, old, advantages, mask, low, high):
    return -_gains(logprobs, old, advantages, mask, low, low).sum() / mask.sum()


@mistake(
    DAPO,
    "upper-bound-twice",
    caught_by="two bounds",
    loses=4,
    misconception="You use `high` for both bounds. Below 1 it is `low`.",
)
def _(logprobs, old, advantages, mask, low, high):
    return -_gains(logprobs, old, advantages, mask, high, high).sum() / mask.sum()


@mistake(
    DAPO,
    "bounds-swapped",
    caught_by="two bounds",
    loses=4,
    misconception="You swapped the bounds: 1 - low is below, 1 + high above.",
)
def _(logprobs, old, advantages, mask, low, high):
    return -_gains(logprobs, old, advantages, mask, high, low).sum() / mask.sum()


@mistake(
    DAPO,
    "larger-of-the-two",
    caught_by="two bounds",
    loses=4,
    misconception="You take the larger of the two products. The smaller one limits the gain.",
)
def _(logprobs, old, advantages, mask, low, high):
    gains = _gains(logprobs, old, advantages, mask, low, high, torch.maximum)
    return -gains.sum() / mask.sum()


@mistake(
    DAPO,
    "sign-lost",
    caught_by="two bounds",
    loses=4,
    misconception="You lost the minus: the loss is minus the mean.",
)
def _(logprobs, old, advantages, mask, low, high):
    return _gains(logprobs, old, advantages, mask, low, high).sum() / mask.sum()


@mistake(
    DAPO,
    "never-clipped",
    caught_by="two bounds",
    loses=4,
    misconception="You never clip the ratio.",
)
def _(logprobs, old, advantages, mask, low, high):
    ratio = (logprobs - old).masked_fill(~mask, 0.0).exp()
    return -(ratio * advantages[:, None] * mask).sum() / mask.sum()


@mistake(
    DAPO,
    "mean-per-answer",
    caught_by="token mean",
    loses=2.5,
    misconception="You take a mean per answer first. Here every token of the batch counts equally.",
)
def _(logprobs, old, advantages, mask, low, high):
    gains = _gains(logprobs, old, advantages, mask, low, high)
    return -(gains.sum(1) / mask.sum(1).clamp(min=1)).mean()


@mistake(
    DAPO,
    "padding-in-the-number",
    caught_by="token mean",
    loses=2.5,
    misconception="You divide by all positions, padding included. Divide by `mask.sum()`.",
)
def _(*case):
    return -_gains(*case).mean()


@mistake(
    DAPO,
    "divided-by-answers",
    caught_by="two bounds",
    loses=4,
    misconception="You divide by the number of answers. Divide by the number of tokens.",
)
def _(*case):
    return -_gains(*case).sum() / len(case[0])


@mistake(
    DAPO,
    "mask-ignored",
    caught_by="token mean",
    loses=2.5,
    misconception="You ignore the mask: positions outside of it count as well.",
)
def _(logprobs, old, advantages, mask, low, high):
    return -_gains(logprobs, old, advantages, torch.ones_like(mask), low, high).mean()


@mistake(
    DAPO,
    "multiplied-by-the-mask",
    caught_by="outside",
    loses=0.5,
    misconception=(
        "You multiply by the mask after the exponential. Where it has overflowed, infinity times 0"
        " is not 0."
    ),
)
def _(logprobs, old, advantages, mask, low, high):
    ratio, weight = (logprobs - old).exp(), advantages[:, None]
    gains = torch.minimum(ratio * weight, ratio.clamp(1 - low, 1 + high) * weight)
    return -(gains * mask).sum() / mask.sum()


@mistake(
    DAPO,
    "ratio-detached",
    caught_by="outside",
    loses=1,
    misconception="You detach the ratio: no gradient reaches `logprobs`.",
)
def _(logprobs, *rest):
    mask = rest[2]
    return -_gains(logprobs.detach(), *rest).sum() / mask.sum() + 0 * logprobs.sum()
