"""Plausible wrong solutions of chapter 9, part 2."""

import torch

from autograder.checks.mistakes.registry import mistake

DRAW, TOP_K, TOP_P, PENALTY = "09.draw", "09.keep_top_k", "09.keep_top_p", "09.penalise"


def _picked(probs, u, passes=lambda sums, u: sums > u, last=True):
    """The first token whose sum passes; where none does, the last that can come."""
    over = passes(probs.cumsum(1), u[:, None])
    ends = (
        (probs > 0).long().mul(torch.arange(1, probs.shape[1] + 1)).argmax(1)
        if last
        else probs.shape[1]
    )
    return torch.where(over.any(1), over.int().argmax(1), ends)


def _draw(logits, temperature, u, bent=lambda logits, T: (logits / T).softmax(1), **other):
    return logits.argmax(1) if temperature == 0 else _picked(bent(logits, temperature), u, **other)


@mistake(
    DRAW,
    "times-temperature",
    caught_by="temperature",
    loses=2.5,
    misconception=(
        "You multiply the logits by the temperature, or take probabilities to that power, which is"
        " the same. Divide the logits by it."
    ),
)
def _(logits, temperature, u):
    return _draw(logits, temperature, u, lambda logits, T: (logits * T).softmax(1))


@mistake(
    DRAW,
    "temperature-after-softmax",
    caught_by="temperature",
    loses=2.5,
    misconception=(
        "You divide the probabilities by the temperature, and normalise again: that changes"
        " nothing. Divide the logits."
    ),
)
def _(logits, temperature, u):
    return _draw(
        logits,
        temperature,
        u,
        lambda logits, T: (logits.softmax(1) / T) / (logits.softmax(1) / T).sum(1, keepdim=True),
    )


@mistake(
    DRAW,
    "softmax-twice",
    caught_by="sums",
    loses=6,
    misconception="You take the softmax of the softmax.",
)
def _(logits, temperature, u):
    return _draw(logits, temperature, u, lambda logits, T: (logits.softmax(1) / T).softmax(1))


@mistake(
    DRAW,
    "to-the-power-of-the-temperature",
    caught_by="temperature",
    loses=2.5,
    misconception=(
        "You multiply the logits by the temperature, or take probabilities to that power, which is"
        " the same. Divide the logits by it."
    ),
)
def _(logits, temperature, u):
    def powers(logits, T):
        raised = logits.softmax(1) ** T
        return raised / raised.sum(1, keepdim=True)

    return _draw(logits, temperature, u, powers)


@mistake(
    DRAW,
    "divides-by-zero",
    caught_by="greedy",
    loses=0.5,
    misconception="At temperature 0 you divide by 0. Take the largest logit there.",
)
def _(logits, temperature, u):
    return _picked((logits / temperature if temperature else logits / 0).softmax(1), u)


@mistake(
    DRAW,
    "zero-is-neutral",
    caught_by="greedy",
    loses=0.5,
    misconception="At temperature 0 you draw as at temperature 1. It means the largest logit.",
)
def _(logits, temperature, u):
    return _draw(logits, temperature or 1.0, u)


@mistake(
    DRAW,
    "always-the-likeliest",
    caught_by="sums",
    loses=6,
    misconception="You take the most probable token, whatever u is.",
)
def _(logits, temperature, u):
    return logits.argmax(1)


@mistake(
    DRAW,
    "reached-is-enough",
    caught_by="borders",
    loses=1,
    misconception=(
        "You stop where the sum is as large as u. It must be greater: with u = 0 a token of"
        " probability 0 is drawn."
    ),
)
def _(logits, temperature, u):
    return _draw(logits, temperature, u, passes=lambda sums, u: sums >= u)


@mistake(
    DRAW,
    "index-v",
    caught_by="borders",
    loses=1,
    misconception=(
        "Where no sum passes u, you return V, which is no token, or one that cannot come."
    ),
)
def _(logits, temperature, u):
    return (
        logits.argmax(1)
        if temperature == 0
        else ((logits / temperature).softmax(1).cumsum(1).mul(1 - 2**-20) <= u[:, None]).sum(1)
    )


@mistake(
    DRAW,
    "last-entry",
    caught_by="borders",
    loses=1,
    misconception=(
        "Where no sum passes u, you return the last entry of the vocabulary, though it may be minus"
        " infinity."
    ),
)
def _(logits, temperature, u):
    return _draw(
        logits, temperature, u, passes=lambda sums, u: sums * (1 - 2**-20) > u, last=False
    ).clamp(max=logits.shape[1] - 1)


@mistake(
    DRAW,
    "first-u-for-all",
    caught_by="rows",
    loses=2,
    misconception="You draw all rows with the first u. Each has its own.",
)
def _(logits, temperature, u):
    return _draw(logits, temperature, u[:1].expand(len(u)))


@mistake(
    DRAW,
    "overflow",
    caught_by="borders",
    loses=1,
    misconception="You take `exp` of the logits yourself, which overflows or is 0 for large ones.",
)
def _(logits, temperature, u):
    return _draw(
        logits,
        temperature,
        u,
        lambda logits, T: (logits / T).exp() / (logits / T).exp().sum(1, keepdim=True),
    )


@mistake(
    DRAW,
    "one-too-far",
    caught_by="sums",
    loses=6,
    misconception="You take the token after the one whose sum passes u.",
)
def _(logits, temperature, u):
    return (_draw(logits, temperature, u) + (temperature > 0)).clamp(max=logits.shape[1] - 1)


@mistake(
    DRAW,
    "descending",
    caught_by="sums",
    loses=6,
    misconception="You sort the tokens before you add up. The sums go from token 0 on.",
)
def _(logits, temperature, u):
    ordered, places = logits.sort(1, descending=True)
    return places.gather(1, _draw(ordered, temperature, u)[:, None])[:, 0]


def _least(logits, k):
    return logits.sort(1, descending=True).values.gather(
        1, k.clamp(min=1, max=logits.shape[1])[:, None] - 1
    )


@mistake(TOP_K, "one-more", caught_by="kept", loses=4, misconception="You keep k + 1.")
def _(logits, k):
    return logits.masked_fill(logits < _least(logits, k + 1), -torch.inf)


@mistake(TOP_K, "one-less", caught_by="kept", loses=4, misconception="You keep k - 1.")
def _(logits, k):
    return logits.masked_fill(logits < _least(logits, k - 1), -torch.inf).where(
        k[:, None] > 1, -torch.inf
    )


@mistake(TOP_K, "smallest", caught_by="kept", loses=4, misconception="You keep the smallest.")
def _(logits, k):
    return logits.masked_fill(-logits < _least(-logits, k), -torch.inf)


@mistake(
    TOP_K,
    "ties-lost",
    caught_by="ties",
    loses=1,
    misconception="You keep exactly k. What is as large as the k-th stays, too.",
)
def _(logits, k):
    places = logits.sort(dim=1, descending=True, stable=True).indices.argsort(1)
    return logits.masked_fill(places >= k[:, None], -torch.inf)


@mistake(
    TOP_K,
    "ties-lost-by-topk",
    caught_by="ties",
    loses=1,
    misconception="You keep exactly k, as `topk` does. Logits equal to the k-th stay as well.",
)
def _(logits, k):
    out = torch.full_like(logits, -torch.inf)
    for row, kept, many in zip(logits, out, k.clamp(max=logits.shape[1]).tolist()):
        values, places = row.topk(many)
        kept[places] = values
    return out


@mistake(
    TOP_K,
    "all-ties-lost",
    caught_by="ties",
    loses=1,
    misconception=(
        "You drop what is as large as the next after the k-th. If that ties with the k-th, both"
        " stay."
    ),
)
def _(logits, k):
    least = logits.sort(1, descending=True).values
    least = torch.nn.functional.pad(least, (0, 1), value=-torch.inf)
    next_largest = least.gather(1, k.clamp(max=logits.shape[1])[:, None])
    return logits.masked_fill(logits <= next_largest, -torch.inf)


@mistake(
    TOP_K,
    "ties-count-once",
    caught_by="ties",
    loses=1,
    misconception="You count equal logits as one. The k-th largest is counted with repetition.",
)
def _(logits, k):
    out = logits.clone()
    for row, many in zip(out, k.tolist()):
        different = row.unique()
        row[row < different[-min(many, len(different))]] = -torch.inf
    return out


@mistake(
    TOP_K,
    "strictly-larger",
    caught_by="kept",
    loses=4,
    misconception="You keep what is larger than the k-th, and the k-th itself is lost.",
)
def _(logits, k):
    return logits.masked_fill(logits <= _least(logits, k), -torch.inf)


@mistake(
    TOP_K,
    "k-above-v",
    caught_by="borders",
    loses=0.5,
    misconception="You fail where k is larger than V.",
)
def _(logits, k):
    return logits.masked_fill(
        logits < logits.sort(1, descending=True).values.gather(1, k[:, None] - 1), -torch.inf
    )


@mistake(
    TOP_K,
    "zero-in-place-of-minus-infinity",
    caught_by="kept",
    loses=4,
    misconception=(
        "You write 0 instead of minus infinity: after a softmax such a token has some probability."
    ),
)
def _(logits, k):
    return logits.masked_fill(logits < _least(logits, k), 0.0)


@mistake(
    TOP_K,
    "first-k-for-all",
    caught_by="rows",
    loses=1.5,
    misconception="You keep as many in all rows as the first k says.",
)
def _(logits, k):
    return logits.masked_fill(logits < _least(logits, k[:1].expand(len(k))), -torch.inf)


@mistake(
    TOP_K,
    "largest-k-for-all",
    caught_by="rows",
    loses=1.5,
    misconception="You keep as many in all rows as the largest k says.",
)
def _(logits, k):
    return logits.masked_fill(logits < _least(logits, k.max().expand(len(k))), -torch.inf)


@mistake(
    TOP_K,
    "probabilities",
    caught_by="kept",
    loses=4,
    misconception="You return probabilities. Logits are asked for, as they were.",
)
def _(logits, k):
    return logits.softmax(1).masked_fill(logits < _least(logits, k), -torch.inf)


@mistake(
    TOP_K,
    "writes",
    caught_by="kept",
    loses=0.8,
    misconception="You write into the logits that you were given.",
)
def _(logits, k):
    least = _least(logits, k)
    kept = logits.clone().masked_fill(logits < least, -torch.inf)
    logits[logits < least] = -torch.inf
    return kept


CROSSING = "You drop the token with which the sum reaches p. It stays."


def _nucleus(logits, p, dropped, descending=True, back=True, first=True, whole=True):
    """Drop by a mask of the sorted row; dropped: of probabilities and their sums."""
    ordered, order = logits.sort(1, descending=descending)
    probs = ordered.softmax(1)
    out = dropped(probs, probs.cumsum(1), p[:, None])
    if first:
        out[:, 0] = False
    if whole:
        out &= p[:, None] < 1
    return logits.masked_fill(
        torch.zeros_like(out).scatter(1, order, out) if back else out, -torch.inf
    )


@mistake(
    TOP_P,
    "crossing-token-dropped",
    caught_by="crossing",
    loses=6,
    misconception=CROSSING,
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums >= p)


@mistake(
    TOP_P,
    "sum-at-most-p",
    caught_by="crossing",
    loses=6,
    misconception=CROSSING,
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums > p, whole=False)


@mistake(
    TOP_P,
    "sum-at-most-p-or-nothing",
    caught_by="crossing",
    loses=6,
    misconception=(
        "You keep tokens while their sum is at most p. The one that crosses p stays, even if it is"
        " the first."
    ),
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums > p, first=False, whole=False)


@mistake(
    TOP_P,
    "one-too-many",
    caught_by="crossing",
    loses=6,
    misconception="You keep one token after the one with which the sum reaches p.",
)
def _(logits, p):
    def dropped(probs, sums, p):
        enough = sums - probs >= p
        return torch.cat((torch.zeros_like(enough[:, :1]), enough[:, :-1]), 1)

    return _nucleus(logits, p, dropped)


@mistake(
    TOP_P,
    "not-brought-back",
    caught_by="order",
    loses=4,
    misconception=(
        "Your mask belongs to the sorted row, and you lay it over the row as it stands. Bring it"
        " back first."
    ),
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums - probs >= p, back=False)


@mistake(
    TOP_P,
    "brought-back-wrongly",
    caught_by="order",
    loses=4,
    misconception=(
        "You index the sorted mask with the order, which leads from the row to the sorted one. The"
        " way back is `scatter`, or the `argsort` of the order."
    ),
)
def _(logits, p):
    ordered, order = logits.sort(1, descending=True)
    probs = ordered.softmax(1)
    out = (probs.cumsum(1) - probs >= p[:, None]) & (p[:, None] < 1)
    out[:, 0] = False
    return logits.masked_fill(out.gather(1, order), -torch.inf)


@mistake(
    TOP_P,
    "returned-sorted",
    caught_by="order",
    loses=4,
    misconception="You return the sorted row. The result stands in the order of the row.",
)
def _(logits, p):
    ordered = logits.sort(1, descending=True).values
    return _nucleus(ordered, p, lambda probs, sums, p: sums - probs >= p)


@mistake(
    TOP_P,
    "ascending",
    caught_by="crossing",
    loses=6,
    misconception=(
        "You add up from the unlikeliest token: unlikely ones stay, and likely ones are lost."
    ),
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums - probs >= p, descending=False)


@mistake(
    TOP_P,
    "empty-row",
    caught_by="borders",
    loses=1.5,
    misconception="With a tiny p you keep nothing at all. At least the most probable token stays.",
)
def _(logits, p):
    return _nucleus(
        logits, p, lambda probs, sums, p: (sums - probs >= p) | (p < 0.005), first=False
    )


@mistake(
    TOP_P,
    "whole-p-drops",
    caught_by="borders",
    loses=1.5,
    misconception=(
        "With p = 1 you lose unlikely tokens, because sums in floating point reach 1 before the"
        " end."
    ),
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums - probs >= p, whole=False)


@mistake(
    TOP_P,
    "cut-by-value",
    caught_by="crossing",
    loses=6,
    misconception=(
        "You keep the tokens whose own probability is at least 1 - p. The"
        " cumulative sum is what counts."
    ),
)
def _(logits, p):
    probs = logits.softmax(1)
    return logits.masked_fill(
        (probs < 1 - p[:, None]) & (probs < probs.amax(1, keepdim=True)), -torch.inf
    )


@mistake(
    TOP_P,
    "part-of-the-largest",
    caught_by="crossing",
    loses=6,
    misconception=(
        "You keep tokens with p times the highest probability. That is min-p, another filter."
    ),
)
def _(logits, p):
    probs = logits.softmax(1)
    return logits.masked_fill(probs < p[:, None] * probs.amax(1, keepdim=True), -torch.inf)


@mistake(
    TOP_P,
    "one-less-p-of-the-largest",
    caught_by="crossing",
    loses=6,
    misconception=(
        "You keep tokens with 1 - p times the highest probability. That is min-p, another filter."
    ),
)
def _(logits, p):
    probs = logits.softmax(1)
    least = (1 - p[:, None]) * probs.amax(1, keepdim=True)
    return logits.masked_fill(probs < least, -torch.inf)


@mistake(
    TOP_P,
    "own-probability",
    caught_by="crossing",
    loses=6,
    misconception=(
        "You keep tokens whose own probability is at least p. The cumulative sum is what counts."
    ),
)
def _(logits, p):
    return logits.masked_fill(logits.softmax(1) < p[:, None], -torch.inf)


@mistake(
    TOP_P,
    "first-p-for-all",
    caught_by="rows",
    loses=2.5,
    misconception="You take the first p for all rows. Each has its own.",
)
def _(logits, p):
    return _nucleus(logits, p[:1].expand(len(p)), lambda probs, sums, p: sums - probs >= p)


@mistake(
    TOP_P,
    "renormalised",
    caught_by="crossing",
    loses=6,
    misconception="You return the logarithms of new probabilities. What stays keeps its logit.",
)
def _(logits, p):
    return _nucleus(logits, p, lambda probs, sums, p: sums - probs >= p).log_softmax(1)


def _penalised(
    logits,
    text,
    penalty,
    change=lambda logits, penalty: torch.where(logits < 0, logits * penalty, logits / penalty),
):
    seen = torch.zeros(logits.shape, dtype=torch.bool).scatter(1, text, True)
    return torch.where(seen, change(logits, penalty), logits)


@mistake(
    PENALTY,
    "divides-all",
    caught_by="signs",
    loses=3,
    misconception=(
        "You also divide negative logits: that makes them larger, and the token more probable."
    ),
)
def _(logits, text, penalty):
    return _penalised(logits, text, penalty, lambda logits, penalty: logits / penalty)


@mistake(
    PENALTY,
    "multiplies-all",
    caught_by="signs",
    loses=3,
    misconception="You also multiply positive logits: that makes the token more probable.",
)
def _(logits, text, penalty):
    return _penalised(logits, text, penalty, lambda logits, penalty: logits * penalty)


@mistake(
    PENALTY,
    "signs-exchanged",
    caught_by="signs",
    loses=3,
    misconception=(
        "You multiply positive logits and divide negative ones. It is the other way round."
    ),
)
def _(logits, text, penalty):
    return _penalised(
        logits,
        text,
        penalty,
        lambda logits, penalty: torch.where(logits < 0, logits / penalty, logits * penalty),
    )


@mistake(
    PENALTY, "subtracts", caught_by="signs", loses=3, misconception="You subtract the penalty."
)
def _(logits, text, penalty):
    return _penalised(logits, text, penalty, lambda logits, penalty: logits - penalty)


@mistake(
    PENALTY,
    "everything",
    caught_by="signs",
    loses=3,
    misconception="You punish every token of the vocabulary. Only those in the text are meant.",
)
def _(logits, text, penalty):
    return torch.where(logits < 0, logits * penalty, logits / penalty)


@mistake(
    PENALTY,
    "unseen",
    caught_by="signs",
    loses=3,
    misconception="You punish the tokens that are not in the text.",
)
def _(logits, text, penalty):
    return torch.where(
        _penalised(logits, text, 2.0) != logits,
        logits,
        torch.where(logits < 0, logits * penalty, logits / penalty),
    )


@mistake(
    PENALTY,
    "per-occurrence",
    caught_by="once",
    loses=1.5,
    misconception=(
        "You punish a token once for each time that it stands in the text. It counts once."
    ),
)
def _(logits, text, penalty):
    times = torch.zeros_like(logits).scatter_add(1, text, torch.ones(text.shape))
    return torch.where(logits < 0, logits * penalty**times, logits / penalty**times)


@mistake(
    PENALTY,
    "last-token-only",
    caught_by="signs",
    loses=3,
    misconception="You punish the last token of the text only.",
)
def _(logits, text, penalty):
    return _penalised(logits, text[:, -1:], penalty)


@mistake(
    PENALTY,
    "texts-of-all-rows",
    caught_by="rows",
    loses=0.5,
    misconception="You punish each row for the texts of all rows.",
)
def _(logits, text, penalty):
    return _penalised(logits, text.reshape(1, -1).expand(len(text), -1), penalty)


@mistake(
    PENALTY,
    "never-likelier",
    caught_by="borders",
    loses=0.5,
    misconception=(
        "You leave logits alone where the penalty is below 1. It makes tokens of the text more"
        " probable."
    ),
)
def _(logits, text, penalty):
    return _penalised(logits, text, max(penalty, 1.0))
