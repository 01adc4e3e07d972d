"""Plausible wrong solutions of chapter 3, part 3."""

import torch

from autograder.checks.mistakes.registry import mistake

LETTERS, MIX, TARGETS = "03.letter_patterns", "03.mix_layers", "03.both_targets"


def _patterns(
    letters,
    filters,
    bias,
    places=None,
    best=lambda scores: scores.amax(0),
    end=lambda best, bias: (best + bias).relu(),
):
    """The answer with one part replaced.

    places: of W and K; best: over the places; end: bias and ReLU.
    """
    width = filters.shape[1]
    chosen = range(len(letters) - width + 1) if places is None else places(len(letters), width)
    scores = torch.stack(
        [(letters[place : place + width] * filters).sum((1, 2)) for place in chosen]
    )
    return end(best(scores), bias)


@mistake(
    LETTERS,
    "mean-of-the-places",
    caught_by="maximum over positions",
    loses=4,
    misconception="You average over the positions. Take the maximum.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, best=lambda scores: scores.mean(0))


@mistake(
    LETTERS,
    "sum-of-the-places",
    caught_by="maximum over positions",
    loses=4,
    misconception="You sum the scores of all positions. Take the maximum.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, best=lambda scores: scores.sum(0))


@mistake(
    LETTERS,
    "sum-after-the-bias",
    caught_by="maximum over positions",
    loses=4,
    misconception="You add the bias at each position and sum over them. Take the maximum.",
)
def _(letters, filters, bias):
    scores = torch.nn.functional.conv1d(letters.T[None], filters.mT, bias)[0]  # (F, W - K + 1)
    return scores.sum(1).relu()


@mistake(
    LETTERS,
    "sum-after-the-relu",
    caught_by="maximum over positions",
    loses=4,
    misconception="You sum over the positions, after the ReLU of each. Take the maximum.",
)
def _(letters, filters, bias):
    return torch.nn.functional.conv1d(letters.T[None], filters.mT, bias)[0].relu().sum(1)


@mistake(
    LETTERS,
    "mean-after-the-relu",
    caught_by="maximum over positions",
    loses=4,
    misconception="You average over the positions, after the ReLU of each. Take the maximum.",
)
def _(letters, filters, bias):
    return torch.nn.functional.conv1d(letters.T[None], filters.mT, bias)[0].relu().mean(1)


@mistake(
    LETTERS,
    "maximum-inside-the-window",
    caught_by="single position",
    loses=5,
    misconception=(
        "Inside a window you take the largest row's product. Sum over all K rows; the maximum is"
        " over positions."
    ),
)
def _(letters, filters, bias):
    windows = letters.unfold(0, filters.shape[1], 1).mT[:, None]  # (W - K + 1, 1, K, D)
    return ((windows * filters).sum(3).amax(2).amax(0) + bias).relu()


@mistake(
    LETTERS,
    "smallest-score",
    caught_by="maximum over positions",
    loses=4,
    misconception="You take the smallest score.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, best=lambda scores: scores.amin(0))


@mistake(
    LETTERS,
    "first-place-only",
    caught_by="maximum over positions",
    loses=4,
    misconception="You apply the filter at the first position only.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, places=lambda length, width: range(1))


@mistake(
    LETTERS,
    "last-place-missed",
    caught_by="single position",
    loses=5,
    misconception="You miss the last position: there are W - K + 1 of them.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, places=lambda length, width: range(length - width))


@mistake(
    LETTERS,
    "last-place-missed-in-a-loop",
    caught_by="single position",
    loses=5,
    misconception="You miss the last position: there are W - K + 1 of them.",
)
def _(letters, filters, bias):
    best, width = torch.full_like(bias, -torch.inf), filters.shape[1]
    for place in range(len(letters) - width):
        best = best.maximum((letters[place : place + width] * filters).sum((1, 2)))
    return (best + bias).relu()


@mistake(
    LETTERS,
    "maximum-from-zero",
    caught_by="bias after maximum",
    loses=2.5,
    misconception=(
        "Your running maximum starts at 0. All scores may be below 0: start at minus infinity."
    ),
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: (best.relu() + bias).relu())


@mistake(
    LETTERS,
    "maximum-of-each-row",
    caught_by="maximum over positions",
    loses=4,
    misconception=(
        "You take a maximum for each row of the filter. Sum over its K rows at one position first."
    ),
)
def _(letters, filters, bias):
    places = len(letters) - filters.shape[1] + 1
    rows = [(letters[k : k + places] @ filters[:, k].T).amax(0) for k in range(filters.shape[1])]
    return (sum(rows) + bias).relu()


@mistake(
    LETTERS,
    "best-of-all-filters",
    caught_by="single position",
    loses=5,
    misconception="You take one maximum over positions and filters. Each filter has its own.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, best=lambda scores: scores.max())


@mistake(
    LETTERS,
    "maximum-over-the-filters",
    caught_by="single position",
    loses=5,
    misconception="You take the maximum over the filters. It is over the positions.",
)
def _(letters, filters, bias):
    return _patterns(
        letters,
        filters,
        bias,
        end=lambda best, bias: best,
        best=lambda scores: (scores + bias).amax(1).relu(),
    )


@mistake(
    LETTERS,
    "squeezed",
    caught_by="single position",
    loses=4.5,
    misconception="`squeeze()` also removes the axis of filters or positions when its length is 1.",
)
def _(letters, filters, bias):
    scores = torch.nn.functional.conv1d(letters.T[None], filters.mT, bias).squeeze()
    return scores.max(-1).values.relu()


@mistake(
    LETTERS,
    "no-overlap",
    caught_by="maximum over positions",
    loses=4,
    misconception="You move the filter by its own width. Its stride is 1.",
)
def _(letters, filters, bias):
    return _patterns(
        letters, filters, bias, places=lambda length, width: range(0, length - width + 1, width)
    )


@mistake(
    LETTERS,
    "no-relu",
    caught_by="ReLU at zero",
    loses=1.5,
    misconception="You leave out the ReLU: results below 0 become 0.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: best + bias)


@mistake(
    LETTERS,
    "relu-before-bias",
    caught_by="bias after maximum",
    loses=2.5,
    misconception="You apply the ReLU before adding the bias. Add the bias first.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: best.relu() + bias)


@mistake(
    LETTERS,
    "no-bias",
    caught_by="bias after maximum",
    loses=2.5,
    misconception="You leave out the bias.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: best.relu())


@mistake(
    LETTERS,
    "bias-taken-away",
    caught_by="bias after maximum",
    loses=2.5,
    misconception="You subtract the bias. It is added.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: (best - bias).relu())


@mistake(
    LETTERS,
    "tanh",
    caught_by="single position",
    loses=5,
    misconception="You apply tanh, as Kim et al. do. ELMo has a ReLU.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: (best + bias).tanh())


@mistake(
    LETTERS,
    "absolute-value",
    caught_by="ReLU at zero",
    loses=1.5,
    misconception="You take the absolute value. What is below 0 becomes 0.",
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, end=lambda best, bias: (best + bias).abs())


@mistake(
    LETTERS,
    "turned-round",
    caught_by="single position",
    loses=5,
    misconception=(
        "You flip the filter, as convolution in mathematics does. Its first row meets the earlier"
        " character."
    ),
)
def _(letters, filters, bias):
    return _patterns(letters, filters.flip(1), bias)


@mistake(
    LETTERS,
    "zeros-around-the-word",
    caught_by="single position",
    loses=5,
    misconception="You put zeros around the word, so that the filter finds them there.",
)
def _(letters, filters, bias):
    edge = torch.zeros(filters.shape[1] - 1, letters.shape[1])
    return _patterns(torch.cat([edge, letters, edge]), filters, bias)


@mistake(
    LETTERS,
    "padding-same",
    caught_by="single position",
    loses=5,
    misconception="You put zeros around the word, so that the filter finds them there.",
)
def _(letters, filters, bias):
    width = filters.shape[1]
    before, after = (torch.zeros(n, letters.shape[1]) for n in ((width - 1) // 2, width // 2))
    return _patterns(torch.cat([before, letters, after]), filters, bias)


@mistake(
    LETTERS,
    "rows-and-numbers-exchanged",
    caught_by="single position",
    loses=5,
    misconception=(
        "You read the filter as (D, K). It is (K, D): one row of D entries per character."
    ),
)
def _(letters, filters, bias):
    return _patterns(
        letters, filters.reshape(len(filters), filters.shape[2], filters.shape[1]).mT, bias
    )


@mistake(
    LETTERS,
    "one-best-for-all",
    caught_by="maximum over positions",
    loses=4,
    misconception=(
        "You use the one position where all filters together score best. Each filter has its own."
    ),
)
def _(letters, filters, bias):
    return _patterns(letters, filters, bias, best=lambda scores: scores[scores.sum(1).argmax()])


def _mixed(layers, shares, gamma):
    return gamma * (shares.reshape(-1, 1, 1) * layers).sum(0)


@mistake(
    MIX,
    "raw-weights",
    caught_by="equal weights",
    loses=4,
    misconception="You multiply by the weights themselves. Apply a softmax to them first.",
)
def _(layers, weights, gamma):
    return _mixed(layers, weights, gamma)


@mistake(
    MIX,
    "divided-by-the-sum",
    caught_by="equal weights",
    loses=4,
    misconception="You divide the weights by their sum. A softmax exponentiates them first.",
)
def _(layers, weights, gamma):
    return _mixed(layers, weights / weights.sum(), gamma)


@mistake(
    MIX,
    "mean-of-the-layers",
    caught_by="softmax over layers",
    loses=3,
    misconception="You take the mean of the layers and ignore the weights.",
)
def _(layers, weights, gamma):
    return gamma * layers.mean(0)


@mistake(
    MIX,
    "every-weight-is-one",
    caught_by="equal weights",
    loses=4,
    misconception=(
        "Every layer has the weight 1 in your sum. Run the softmax over the layers, not over an"
        " axis of length 1."
    ),
)
def _(layers, weights, gamma):
    return _mixed(layers, torch.ones_like(weights), gamma)


@mistake(
    MIX,
    "divided-by-the-layers",
    caught_by="equal weights",
    loses=4,
    misconception="You average the weighted layers. The weights already add up to 1: sum them.",
)
def _(layers, weights, gamma):
    return _mixed(layers, weights.softmax(0), gamma) / len(layers)


@mistake(
    MIX,
    "top-layer-only",
    caught_by="equal weights",
    loses=4,
    misconception="You take the top layer alone. ELMo mixes all of them.",
)
def _(layers, weights, gamma):
    return gamma * layers[-1]


@mistake(
    MIX,
    "heaviest-layer-only",
    caught_by="equal weights",
    loses=4,
    misconception="You use only the layer with the largest weight. Every layer contributes.",
)
def _(layers, weights, gamma):
    return gamma * layers[weights.argmax()]


@mistake(
    MIX,
    "gamma-in-the-softmax",
    caught_by="scale gamma",
    loses=0.5,
    misconception="You multiply the weights by gamma before the softmax. It multiplies the mix.",
)
def _(layers, weights, gamma):
    return _mixed(layers, (gamma * weights).softmax(0), 1.0)


@mistake(
    MIX, "gamma-left-out", caught_by="scale gamma", loses=0.5, misconception="You leave out gamma."
)
def _(layers, weights, gamma):
    return _mixed(layers, weights.softmax(0), 1.0)


@mistake(
    MIX,
    "gamma-twice",
    caught_by="scale gamma",
    loses=0.5,
    misconception="You multiply by gamma twice, once in the layer weights and once in the mix.",
)
def _(layers, weights, gamma):
    return _mixed(layers, gamma * weights.softmax(0), gamma)


@mistake(
    MIX,
    "softmax-over-places",
    caught_by="equal weights",
    loses=4,
    misconception=(
        "Your softmax is over positions. It is over layers, and the same at every position."
    ),
)
def _(layers, weights, gamma):
    return gamma * ((weights.reshape(-1, 1, 1) * layers).softmax(1) * layers).sum(0)


@mistake(
    MIX,
    "sum-and-no-shares",
    caught_by="equal weights",
    loses=4,
    misconception="You multiply by exp(weight) and do not divide by the sum of the exps.",
)
def _(layers, weights, gamma):
    return _mixed(layers, weights.exp(), gamma)


@mistake(
    MIX,
    "overflow",
    caught_by="large weights",
    loses=1,
    misconception=(
        "You take exp of the weights as they are: exp(89) is infinite. Subtract the largest weight"
        " first, or use softmax."
    ),
)
def _(layers, weights, gamma):
    return _mixed(layers, weights.exp() / weights.exp().sum(), gamma)


@mistake(
    MIX,
    "layers-normalised",
    caught_by="equal weights",
    loses=4,
    misconception="You normalize the layers first. Nothing is normalized but the weights.",
)
def _(layers, weights, gamma):
    middle = layers - layers.mean((1, 2), keepdim=True)
    return _mixed(
        middle / (middle.square().mean((1, 2), keepdim=True) + 1e-5).sqrt(),
        weights.softmax(0),
        gamma,
    )


@mistake(
    MIX,
    "layer-norm",
    caught_by="equal weights",
    loses=4,
    misconception="You normalize the layers first. Nothing is normalized but the weights.",
)
def _(layers, weights, gamma):
    normed = torch.nn.functional.layer_norm(layers, layers.shape[-1:])
    return _mixed(normed, weights.softmax(0), gamma)


@mistake(
    MIX,
    "sigmoids",
    caught_by="equal weights",
    loses=4,
    misconception="You apply a sigmoid to each weight. The layer weights sum to 1: use a softmax.",
)
def _(layers, weights, gamma):
    return _mixed(layers, weights.sigmoid(), gamma)


@mistake(
    MIX,
    "order-turned-round",
    caught_by="softmax over layers",
    loses=3,
    misconception="You give the first weight to the last layer.",
)
def _(layers, weights, gamma):
    return _mixed(layers, weights.softmax(0).flip(0), gamma)


def _neighbours(ids, mask, ahead=None, behind=None):
    """Both targets with one of the two replaced."""
    both = mask[:, :-1] & mask[:, 1:]
    right = {"ahead": torch.full_like(ids, -100), "behind": torch.full_like(ids, -100)}
    right["ahead"][:, :-1] = torch.where(both, ids[:, 1:], -100)
    right["behind"][:, 1:] = torch.where(both, ids[:, :-1], -100)
    return {
        **right,
        **({} if ahead is None else {"ahead": ahead}),
        **({} if behind is None else {"behind": behind}),
    }


@mistake(
    TARGETS,
    "exchanged",
    caught_by="next-token targets",
    loses=4,
    misconception=("You exchange the two: `ahead` is the next token, `behind` the previous one."),
)
def _(ids, mask):
    right = _neighbours(ids, mask)
    return {"ahead": right["behind"], "behind": right["ahead"]}


@mistake(
    TARGETS,
    "the-word-itself",
    caught_by="next-token targets",
    loses=4,
    misconception="Your target is the token itself: a model learns to copy it.",
)
def _(ids, mask):
    own = torch.where(mask, ids, -100)
    return {"ahead": own, "behind": own.clone()}


@mistake(
    TARGETS,
    "both-ahead",
    caught_by="previous-token targets",
    loses=3,
    misconception="You shift both the same way: `behind` is the previous token.",
)
def _(ids, mask):
    right = _neighbours(ids, mask)
    return _neighbours(ids, mask, behind=right["ahead"].clone())


@mistake(
    TARGETS,
    "roll-comes-round",
    caught_by="next-token targets",
    loses=4,
    misconception="`roll` wraps one end around to the other. There the target is -100.",
)
def _(ids, mask):
    return {
        "ahead": torch.where(mask & mask.roll(-1, 1), ids.roll(-1, 1), -100),
        "behind": torch.where(mask & mask.roll(1, 1), ids.roll(1, 1), -100),
    }


@mistake(
    TARGETS,
    "roll-alone",
    caught_by="next-token targets",
    loses=4,
    misconception=(
        "`roll` wraps around: the token of one end becomes the target at the other, and padding has"
        " targets. Both are -100."
    ),
)
def _(ids, mask):
    return {"ahead": ids.roll(-1, 1), "behind": ids.roll(1, 1)}


@mistake(
    TARGETS,
    "roll-with-mask",
    caught_by="next-token targets",
    loses=4,
    misconception=(
        "`roll` wraps around at the ends, and your mask hides padded positions but not padding as a"
        " target."
    ),
)
def _(ids, mask):
    return {
        "ahead": torch.where(mask, ids.roll(-1, 1), -100),
        "behind": torch.where(mask, ids.roll(1, 1), -100),
    }


@mistake(
    TARGETS,
    "each-text-rolled",
    caught_by="next-token targets",
    loses=4,
    misconception=(
        "You wrap around in each text: its first token becomes the target of its last. There the"
        " target is -100."
    ),
)
def _(ids, mask):
    found = {"ahead": torch.full_like(ids, -100), "behind": torch.full_like(ids, -100)}
    for row, length in enumerate(mask.sum(1).tolist()):
        found["ahead"][row, :length] = ids[row, :length].roll(-1)
        found["behind"][row, :length] = ids[row, :length].roll(1)
    return found


@mistake(
    TARGETS,
    "index-minus-one",
    caught_by="previous-token targets",
    loses=3,
    misconception=(
        "At the first position `t - 1` is -1, which Python reads as the last column. There `behind`"
        " is -100."
    ),
)
def _(ids, mask):
    before = torch.arange(ids.shape[1]) - 1
    following = mask & torch.nn.functional.pad(mask[:, 1:], (0, 1))
    return {
        "ahead": torch.where(following, ids.roll(-1, 1), -100),
        "behind": torch.where(mask, ids[:, before], -100),
    }


@mistake(
    TARGETS,
    "filling-is-asked",
    caught_by="padding ignored",
    loses=2,
    misconception=(
        "In `behind`, the first padded position has the last token as its target. Padding has no"
        " target."
    ),
)
def _(ids, mask):
    behind = torch.full_like(ids, -100)
    behind[:, 1:] = torch.where(mask[:, :-1], ids[:, :-1], -100)
    return _neighbours(ids, mask, behind=behind)


@mistake(
    TARGETS,
    "filling-is-a-target",
    caught_by="padding ignored",
    loses=2,
    misconception="In `ahead`, the target of the last token is padding. It is -100.",
)
def _(ids, mask):
    ahead = torch.full_like(ids, -100)
    ahead[:, :-1] = torch.where(mask[:, :-1], ids[:, 1:], -100)
    return _neighbours(ids, mask, ahead=ahead)


@mistake(
    TARGETS,
    "mask-not-used",
    caught_by="padding ignored",
    loses=2,
    misconception="You ignore mask: padded positions have targets, and padding is a target.",
)
def _(ids, mask):
    return _neighbours(ids, torch.ones_like(mask))


@mistake(
    TARGETS,
    "zero-is-filling",
    caught_by="padding ignored",
    loses=1.5,
    misconception="You treat id 0 as padding. Only mask tells what is padding.",
)
def _(ids, mask):
    return _neighbours(ids, mask & (ids != 0))


@mistake(
    TARGETS,
    "zero-for-the-mask",
    caught_by="padding ignored",
    loses=1.5,
    misconception="You treat id 0 as padding. Only mask tells what is padding.",
)
def _(ids, mask):
    return _neighbours(ids, ids != 0)


@mistake(
    TARGETS,
    "zero-for-none",
    caught_by="next-token targets",
    loses=4,
    misconception=("You write 0 where there is no target. That is a token; the loss ignores -100."),
)
def _(ids, mask):
    return {
        name: torch.where(table == -100, 0, table) for name, table in _neighbours(ids, mask).items()
    }


@mistake(
    TARGETS,
    "minus-one-for-none",
    caught_by="next-token targets",
    loses=4,
    misconception="You write -1 where there is no target. It is -100.",
)
def _(ids, mask):
    return {
        name: torch.where(table == -100, -1, table)
        for name, table in _neighbours(ids, mask).items()
    }


@mistake(
    TARGETS,
    "a-column-less",
    caught_by="next-token targets",
    loses=4,
    misconception=(
        "Your results lack a column. The last position ahead, and the first behind, are -100."
    ),
)
def _(ids, mask):
    right = _neighbours(ids, mask)
    return {"ahead": right["ahead"][:, :-1], "behind": right["behind"][:, 1:]}


@mistake(
    TARGETS,
    "two-places-on",
    caught_by="next-token targets",
    loses=4,
    misconception="Your targets are two positions away. The target is the adjacent token.",
)
def _(ids, mask):
    right = _neighbours(ids, mask)
    none = torch.full((len(ids), 1), -100)
    return {
        "ahead": torch.cat([right["ahead"][:, 1:], none], 1),
        "behind": torch.cat([none, right["behind"][:, :-1]], 1),
    }


@mistake(
    TARGETS,
    "turned-round",
    caught_by="previous-token targets",
    loses=3,
    misconception="Your `behind` is the reversed row. It is the token before each position.",
)
def _(ids, mask):
    right = _neighbours(ids, mask)
    return _neighbours(ids, mask, behind=torch.where(mask, ids, -100).flip(1) + 0 * right["ahead"])


@mistake(
    TARGETS,
    "ids-changed",
    caught_by="next-token targets",
    loses=0.8,
    misconception="You write -100 into the padding of `ids`. Leave arguments unchanged.",
)
def _(ids, mask):
    right = _neighbours(ids, mask)
    ids[~mask] = -100
    ids[:, 0] = 0
    return right


@mistake(
    TARGETS,
    "one-column-fails",
    caught_by="short texts",
    loses=0.5,
    misconception="Your code fails for a table of one column.",
)
def _(ids, mask):
    if ids.shape[1] == 1:
        raise IndexError("index 1 is out of bounds for dimension 1 with size 1")
    return _neighbours(ids, mask)
