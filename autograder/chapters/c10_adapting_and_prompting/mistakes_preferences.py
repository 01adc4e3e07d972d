"""Plausible wrong solutions of chapter 10, part 3: log-probabilities of answers and the losses of
preferences.
"""

import torch
from torch.nn.functional import logsigmoid

from autograder.checks.mistakes.registry import mistake

SUMS = "10.sequence_logprobs"


def _sums(logits, labels, shift=1, sign=1.0):
    """Each token's log-probability where it is asked, and where that is; shift: by how many places
    logits and labels are apart.
    """
    wanted = labels[:, shift:]
    found = (
        logits[:, : logits.shape[1] - shift]
        .log_softmax(2)
        .gather(2, wanted.clamp(min=0)[..., None])[..., 0]
    )
    return sign * torch.where(wanted != -100, found, 0.0), wanted != -100


@mistake(
    SUMS,
    "no-shift",
    caught_by="token",
    loses=4,
    misconception=(
        "You read the logits at the token's own position. It is predicted one position earlier."
    ),
)
def _(logits, labels):
    return _sums(logits, labels, shift=0)[0].sum(1)


@mistake(
    SUMS,
    "shifted-twice",
    caught_by="token",
    loses=4,
    misconception="You shift the other way: the logits at a token predict the next one.",
)
def _(logits, labels):
    wanted = labels[:, :-1]
    found = logits[:, 1:].log_softmax(2).gather(2, wanted.clamp(min=0)[..., None])[..., 0]
    return torch.where(wanted != -100, found, 0.0).sum(1)


@mistake(
    SUMS,
    "raw-logits",
    caught_by="token",
    loses=4,
    misconception=(
        "You add up logits. A logarithm of a probability is a logit less the log-sum-exp of all."
    ),
)
def _(logits, labels):
    wanted = labels[:, 1:]
    return torch.where(
        wanted != -100, logits[:, :-1].gather(2, wanted.clamp(min=0)[..., None])[..., 0], 0.0
    ).sum(1)


@mistake(
    SUMS,
    "minus",
    caught_by="token",
    loses=4,
    misconception=(
        "You return a loss: minus the sum. The logarithm of a probability is never above 0."
    ),
)
def _(logits, labels):
    return _sums(logits, labels, sign=-1.0)[0].sum(1)


@mistake(
    SUMS,
    "probabilities",
    caught_by="token",
    loses=4,
    misconception="You return the probability, not its logarithm.",
)
def _(logits, labels):
    return _sums(logits, labels)[0].sum(1).exp()


@mistake(
    SUMS,
    "softmax-over-places",
    caught_by="token",
    loses=4,
    misconception="Your softmax is over the positions, and not over the vocabulary.",
)
def _(logits, labels):
    wanted = labels[:, 1:]
    found = logits[:, :-1].log_softmax(1).gather(2, wanted.clamp(min=0)[..., None])[..., 0]
    return torch.where(wanted != -100, found, 0.0).sum(1)


@mistake(
    SUMS,
    "mean",
    caught_by="answer",
    loses=2.5,
    misconception=(
        "You take the mean over an answer's tokens. Asked is the sum, the logarithm of the whole"
        " answer's probability."
    ),
)
def _(logits, labels):
    found, asked = _sums(logits, labels)
    return found.sum(1) / asked.sum(1).clamp(min=1)


@mistake(
    SUMS,
    "divided-by-places",
    caught_by="token",
    loses=4,
    misconception="You divide by the number of positions, padding included.",
)
def _(logits, labels):
    found, _ = _sums(logits, labels)
    return found.sum(1) / max(found.shape[1], 1)


@mistake(
    SUMS,
    "last-token-only",
    caught_by="answer",
    loses=2.5,
    misconception="You take the last token of the answer alone.",
)
def _(logits, labels):
    found, asked = _sums(logits, labels)
    last = (
        (torch.arange(1, asked.shape[1] + 1) * asked).amax(1, keepdim=True)
        if asked.shape[1]
        else torch.zeros(len(labels), 1, dtype=torch.int64)
    )
    return torch.cat((torch.zeros(len(labels), 1), found), 1).gather(1, last)[:, 0]


@mistake(
    SUMS,
    "token-zero-for-nothing",
    caught_by="token",
    loses=4,
    misconception="Where there is no label you count token 0 instead. Leave the position out.",
)
def _(logits, labels):
    wanted = labels[:, 1:].clamp(min=0)
    return logits[:, :-1].log_softmax(2).gather(2, wanted[..., None])[..., 0].sum(1)


@mistake(
    SUMS,
    "token-zero-never-counts",
    caught_by="others",
    loses=1,
    misconception=(
        "You leave token 0 out as if it were no label. -100 is the only number that means none."
    ),
)
def _(logits, labels):
    found, _ = _sums(logits, labels)
    return torch.where(labels[:, 1:] > 0, found, 0.0).sum(1)


@mistake(
    SUMS,
    "all-after-the-first",
    caught_by="others",
    loses=1,
    misconception=(
        "From the first label on you count every position, those without a label as token 0."
    ),
)
def _(logits, labels):
    wanted = labels[:, 1:]
    found = logits[:, :-1].log_softmax(2).gather(2, wanted.clamp(min=0)[..., None])[..., 0]
    last = (
        wanted.shape[1] - (wanted.flip(1) != -100).int().argmax(1, keepdim=True)
        if wanted.shape[1]
        else 0
    )
    since = ((wanted != -100).cumsum(1) > 0) & (torch.arange(wanted.shape[1]) < last)
    return torch.where(since, found, 0.0).sum(1)


@mistake(
    SUMS,
    "over-the-batch",
    caught_by="token",
    loses=4,
    misconception="You sum over the whole batch. Each answer has a log-probability of its own.",
)
def _(logits, labels):
    return _sums(logits, labels)[0].sum().expand(len(labels)).clone()


@mistake(
    SUMS,
    "times-zero",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "You multiply by 0 what is not asked. Minus infinity times 0 is no number: choose with"
        " `torch.where`."
    ),
)
def _(logits, labels):
    wanted = labels[:, 1:]
    return (
        logits[:, :-1].log_softmax(2).gather(2, wanted.clamp(min=0)[..., None])[..., 0]
        * (wanted != -100)
    ).sum(1)


@mistake(
    SUMS,
    "log-of-softmax",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "You take the softmax and then the logarithm: a probability that is 0 in float32 has none."
    ),
)
def _(logits, labels):
    wanted = labels[:, 1:]
    found = logits[:, :-1].softmax(2).gather(2, wanted.clamp(min=0)[..., None])[..., 0].log()
    return torch.where(wanted != -100, found, 0.0).sum(1)


@mistake(
    SUMS,
    "no-gradient",
    caught_by="borders",
    loses=0.5,
    misconception="You detach the logits: nothing can be learned from the sum.",
)
def _(logits, labels):
    return _sums(logits.detach(), labels)[0].sum(1)


DPO = "10.dpo_loss"


@mistake(
    DPO,
    "reward-turned-round",
    replaces="reward_loss",
    caught_by="reward",
    loses=3,
    misconception=(
        "Your reward model learns to prefer the rejected answer: the two rewards are exchanged."
    ),
)
def _(chosen, rejected):
    return -logsigmoid(rejected - chosen).mean()


@mistake(
    DPO,
    "reward-summed",
    replaces="reward_loss",
    caught_by="reward",
    loses=3,
    misconception="You add up the pairs. Asked is their mean.",
)
def _(chosen, rejected):
    return -logsigmoid(chosen - rejected).sum()


@mistake(
    DPO,
    "reward-sign",
    replaces="reward_loss",
    caught_by="reward",
    loses=3,
    misconception="You return the logarithm of the probability. A loss is minus that.",
)
def _(chosen, rejected):
    return logsigmoid(chosen - rejected).mean()


@mistake(
    DPO,
    "reward-no-logarithm",
    replaces="reward_loss",
    caught_by="reward",
    loses=3,
    misconception=(
        "You return the probability that the rejected answer wins. The loss is minus the logarithm"
        " of the other one."
    ),
)
def _(chosen, rejected):
    return (rejected - chosen).sigmoid().mean()


@mistake(
    DPO,
    "reward-mean-inside",
    replaces="reward_loss",
    caught_by="reward",
    loses=3,
    misconception="You take the mean of the differences first. It is taken of the losses.",
)
def _(chosen, rejected):
    return -logsigmoid((chosen - rejected).mean())


@mistake(
    DPO,
    "reward-hinge",
    replaces="reward_loss",
    caught_by="reward",
    loses=3,
    misconception="You return a hinge loss, max(0, 1 - difference).",
)
def _(chosen, rejected):
    return (1 - chosen + rejected).clamp(min=0).mean()


@mistake(
    DPO,
    "reward-log-of-sigmoid",
    replaces="reward_loss",
    caught_by="sure",
    loses=1,
    misconception=(
        "You take the sigmoid and then its logarithm: a sigmoid of 0 has none. `logsigmoid` does"
        " both in one step."
    ),
)
def _(chosen, rejected):
    return -(chosen - rejected).sigmoid().log().mean()


def _dpo(chosen, rejected, ref_chosen, ref_rejected, beta, sign=1.0):
    return -logsigmoid(sign * beta * ((chosen - ref_chosen) - (rejected - ref_rejected))).mean()


@mistake(
    DPO,
    "turned-round",
    caught_by="ratios",
    loses=3,
    misconception="You prefer the rejected answer: the sign inside of the sigmoid is turned round.",
)
def _(*case):
    return _dpo(*case, sign=-1.0)


@mistake(
    DPO,
    "no-reference",
    caught_by="ratios",
    loses=3,
    misconception=(
        "You leave the reference out: what counts is how much more probable an answer became"
        " compared with it."
    ),
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -logsigmoid(beta * (chosen - rejected)).mean()


@mistake(
    DPO,
    "reference-added",
    caught_by="ratios",
    loses=3,
    misconception="You add the reference's difference. It is subtracted.",
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -logsigmoid(beta * ((chosen - rejected) + (ref_chosen - ref_rejected))).mean()


@mistake(
    DPO,
    "summed",
    caught_by="ratios",
    loses=3,
    misconception="You add up the pairs. Asked is their mean.",
)
def _(chosen, *rest):
    return len(chosen) * _dpo(chosen, *rest)


@mistake(
    DPO,
    "mean-inside",
    caught_by="ratios",
    loses=3,
    misconception="You take the mean of the log-ratios first. It is taken of the losses.",
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -logsigmoid(beta * ((chosen - ref_chosen) - (rejected - ref_rejected)).mean())


@mistake(
    DPO,
    "two-sigmoids",
    caught_by="ratios",
    loses=3,
    misconception=(
        "You judge chosen and rejected each by a sigmoid of its own. It is one sigmoid of their"
        " difference."
    ),
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -(
        logsigmoid(beta * (chosen - ref_chosen)) + logsigmoid(-beta * (rejected - ref_rejected))
    ).mean()


@mistake(
    DPO,
    "beta-outside",
    caught_by="beta",
    loses=1.5,
    misconception="You multiply the loss by beta. It belongs into the sigmoid.",
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return beta * _dpo(chosen, rejected, ref_chosen, ref_rejected, 1.0)


@mistake(DPO, "no-beta", caught_by="beta", loses=1.5, misconception="You leave beta out.")
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return _dpo(chosen, rejected, ref_chosen, ref_rejected, 1.0)


@mistake(
    DPO,
    "over-beta",
    caught_by="beta",
    loses=1.5,
    misconception="You divide by beta. It multiplies.",
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return _dpo(chosen, rejected, ref_chosen, ref_rejected, 1 / beta)


@mistake(
    DPO,
    "beta-of-the-chosen",
    caught_by="beta",
    loses=1.5,
    misconception="You multiply only the chosen answer's log-ratio by beta.",
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -logsigmoid(beta * (chosen - ref_chosen) - (rejected - ref_rejected)).mean()


@mistake(
    DPO,
    "log-of-sigmoid",
    caught_by="borders",
    loses=1,
    misconception=(
        "You take the sigmoid and then its logarithm: a sigmoid of 0 has none. `logsigmoid` does"
        " both in one step."
    ),
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -(beta * ((chosen - ref_chosen) - (rejected - ref_rejected))).sigmoid().log().mean()


@mistake(
    DPO,
    "probabilities-divided",
    caught_by="borders",
    loses=1,
    misconception=(
        "You divide probabilities. The probability of a long answer is 0 in float32: subtract"
        " logarithms."
    ),
)
def _(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -logsigmoid(
        beta
        * ((chosen.exp() / ref_chosen.exp()).log() - (rejected.exp() / ref_rejected.exp()).log())
    ).mean()


@mistake(
    DPO,
    "rejected-detached",
    caught_by="gradient",
    loses=0.5,
    misconception="You detach the rejected answer: it is to become less likely.",
)
def _(chosen, rejected, *rest):
    return _dpo(chosen, rejected.detach(), *rest)
