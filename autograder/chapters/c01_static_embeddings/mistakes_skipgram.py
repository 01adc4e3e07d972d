"""Plausible wrong solutions of chapter 1, part 2: the skip-gram loss, its gradient, and CBOW."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

LOSS = "01.sgns_loss"


def _scores(center, context, negatives):
    """The scores of the contexts (B,) and of the negatives (B, K)."""
    return (center * context).sum(-1), torch.einsum("bd,bkd->bk", center, negatives)


@mistake(
    LOSS,
    "sum-over-batch",
    caught_by="batch mean",
    loses=1,
    misconception="You sum over the batch. The loss is the mean over its pairs.",
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)
    ).sum()


@mistake(
    LOSS,
    "mean-over-negatives",
    caught_by="untrained loss",
    loses=1.5,
    misconception=(
        "You average over the K negatives. Inside one pair they are summed; only the batch is"
        " averaged."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).mean(-1)
    ).mean()


@mistake(
    LOSS,
    "negatives-pulled",
    caught_by="negative samples",
    loses=2,
    misconception=(
        "You treat negatives like true contexts. Their score enters the sigmoid with a minus."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(bad).sum(-1)
    ).mean()


@mistake(
    LOSS,
    "one-minus-log",
    caught_by="negative samples",
    loses=2,
    misconception=(
        "You subtract the negatives' log-sigmoid as a whole. The minus belongs inside the sigmoid,"
        " in front of the score."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    log_two = math.log(2)
    return (
        -torch.nn.functional.logsigmoid(good)
        + (2 * log_two + torch.nn.functional.logsigmoid(bad)).sum(-1)
    ).mean()


@mistake(
    LOSS,
    "maximises",
    caught_by="untrained loss",
    loses=5,
    misconception=(
        "You return what the paper maximizes. The loss is its negative, so that smaller is better."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return (
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)
    ).mean()


@mistake(
    LOSS,
    "negatives-against-context",
    caught_by="negative samples",
    loses=2,
    misconception="You compare the negatives with the context. They are compared with the centre.",
)
def _(center, context, negatives):
    good, _ = _scores(center, context, negatives)
    bad = torch.einsum("bd,bkd->bk", context, negatives)
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)
    ).mean()


@mistake(
    LOSS,
    "log-of-sigmoid",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You take the sigmoid first and its logarithm afterwards. In float32 the "
        "sigmoid of -104 is 0, and log 0 is minus infinity: use `logsigmoid`."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.sigmoid(good).log() + torch.sigmoid(-bad).log().sum(-1)).mean()


@mistake(
    LOSS,
    "epsilon",
    caught_by="large scores",
    loses=1,
    misconception=(
        "Your epsilon inside the logarithm limits the loss of a pair: the true loss of "
        "the score -200 is 200."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(
        (torch.sigmoid(good) + 1e-10).log() + (torch.sigmoid(-bad) + 1e-10).log().sum(-1)
    ).mean()


@mistake(
    LOSS,
    "first-pair-only",
    caught_by="every pair",
    loses=2.5,
    misconception=(
        "You return the loss of the first pair; the others play no part. Take the mean over the"
        " batch."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1))[0]


@mistake(
    LOSS,
    "exp-over-one-plus-exp",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You write the sigmoid as exp(x) / (1 + exp(x)). In float32 exp(90) is infinite, and"
        " infinity divided by infinity is NaN."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    loss = good.exp() / (1 + good.exp())
    return -(loss.log() + ((-bad).exp() / (1 + (-bad).exp())).log().sum(-1)).mean()


@mistake(
    LOSS,
    "one-minus-sigmoid",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You take the logarithm of 1 - sigmoid, which is log 0 from a score of 17 on: use the"
        " log-sigmoid of minus the score."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.nn.functional.logsigmoid(good) + (1 - torch.sigmoid(bad)).log().sum(-1)).mean()


@mistake(
    LOSS,
    "scores-clamped",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You clip the scores at 50. The loss stays finite, but a score of -200 then "
        "costs 50 and not 200."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    log_sigmoid = torch.nn.functional.logsigmoid
    return -(log_sigmoid(good.clamp(-50, 50)) + log_sigmoid(-bad.clamp(-50, 50)).sum(-1)).mean()


@mistake(
    LOSS,
    "mean-of-all-scores",
    caught_by="untrained loss",
    loses=5,
    misconception=(
        "You average over all B (K + 1) scores. Inside one pair the terms are summed; only the"
        " batch is averaged."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    scores = torch.cat([good[:, None], -bad], 1)
    return -torch.nn.functional.logsigmoid(scores).mean()


@mistake(
    LOSS,
    "softmax",
    caught_by="untrained loss",
    loses=5,
    misconception=(
        "You take a softmax over the context and the negatives. Here each score goes through its"
        " own sigmoid."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -torch.cat([good[:, None], bad], 1).log_softmax(1)[:, 0].mean()


@mistake(
    LOSS,
    "one-sigmoid-for-all-negatives",
    caught_by="untrained loss",
    loses=1.5,
    misconception=(
        "You sum the scores of the negatives before the sigmoid. Each negative has its own"
        " log-sigmoid; these are summed."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad.sum(-1))
    ).mean()


@mistake(
    LOSS,
    "no-logarithm",
    caught_by="untrained loss",
    loses=5,
    misconception="You sum 1 - sigmoid. The loss takes minus the logarithm of each sigmoid.",
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return (1 - torch.sigmoid(good) + torch.sigmoid(bad).sum(-1)).mean()


@mistake(
    LOSS,
    "divided-by-root-d",
    caught_by="true context",
    loses=4.5,
    misconception=(
        "You divide the scores by the root of D, as attention does. Skip-gram takes the dot"
        " products as they are."
    ),
)
def _(center, context, negatives):
    good, bad = (score / center.shape[1] ** 0.5 for score in _scores(center, context, negatives))
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)
    ).mean()


@mistake(
    LOSS,
    "cosines",
    caught_by="true context",
    loses=4.5,
    misconception=(
        "You normalize the vectors, so your scores are cosines. Skip-gram takes the dot products"
        " as they are."
    ),
)
def _(center, context, negatives):
    unit = (torch.nn.functional.normalize(part, dim=-1) for part in (center, context, negatives))
    good, bad = _scores(*unit)
    return -(
        torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)
    ).mean()


SQUEEZED = (
    "`squeeze()` drops every axis of length 1, that of one pair or of one negative as well: name"
    " the axis, `squeeze(-1)`."
)


@mistake(LOSS, "squeezed", caught_by="untrained loss", loses=5, misconception=SQUEEZED)
def _(center, context, negatives):
    bad = torch.bmm(negatives, center.unsqueeze(2)).squeeze()
    return -(
        torch.nn.functional.logsigmoid((center * context).sum(1))
        + torch.nn.functional.logsigmoid(-bad).sum(1)
    ).mean()


GRADIENTS = "01.sgns_gradients"


def _gradients(center, context, negatives, pull=None, push=None):
    """The right gradients, with the two errors replaced where given."""
    good, bad = _scores(center, context, negatives)
    pull = (torch.sigmoid(good) - 1) / len(center) if pull is None else pull(good) / len(center)
    push = torch.sigmoid(bad) / len(center) if push is None else push(bad) / len(center)
    return (
        pull[:, None] * context + torch.einsum("bk,bkd->bd", push, negatives),
        pull[:, None] * center,
        push[:, :, None] * center[:, None],
    )


@mistake(
    GRADIENTS,
    "batch-forgotten",
    caught_by="batch mean",
    loses=1,
    misconception=(
        "These are the gradients of the sum over the batch. The loss is a mean: divide by B."
    ),
)
def _(center, context, negatives):
    return tuple(len(center) * part for part in _gradients(center, context, negatives))


@mistake(
    GRADIENTS,
    "sigmoid-without-minus-one",
    caught_by="context gradient",
    loses=3.5,
    misconception=(
        "For the true context the error is sigmoid(s) - 1, not sigmoid(s): a good score must leave "
        "little to do."
    ),
)
def _(center, context, negatives):
    return _gradients(center, context, negatives, pull=torch.sigmoid)


@mistake(
    GRADIENTS,
    "minus-one-everywhere",
    caught_by="gradient of negatives",
    loses=2,
    misconception=(
        "You use sigmoid(s) - 1 for the negatives as well. They should score low: their error is "
        "sigmoid(s)."
    ),
)
def _(center, context, negatives):
    return _gradients(center, context, negatives, push=lambda score: torch.sigmoid(score) - 1)


@mistake(
    GRADIENTS,
    "centre-forgets-negatives",
    caught_by="centre from negatives",
    loses=1,
    misconception=(
        "The centre takes part in every negative's score too, so its gradient also has the sum over"
        " the negatives."
    ),
)
def _(center, context, negatives):
    _, d_context, d_negatives = _gradients(center, context, negatives)
    good, _ = _scores(center, context, negatives)
    return (torch.sigmoid(good) - 1)[:, None] * context / len(center), d_context, d_negatives


@mistake(
    GRADIENTS,
    "first-negative-only",
    caught_by="centre from negatives",
    loses=0.5,
    misconception="The centre's gradient takes only the first negative. All K are summed.",
)
def _(center, context, negatives):
    _, d_context, d_negatives = _gradients(center, context, negatives)
    return _gradients(center, context, negatives[:, :1])[0], d_context, d_negatives


@mistake(
    GRADIENTS,
    "uphill",
    caught_by="context gradient",
    loses=5,
    misconception=(
        "All signs are reversed: this is the direction of the step, not the gradient of the loss."
    ),
)
def _(center, context, negatives):
    return tuple(-part for part in _gradients(center, context, negatives))


@mistake(
    GRADIENTS,
    "centre-and-context-swapped",
    caught_by="context gradient",
    loses=4,
    misconception=(
        "The gradients of centre and context are swapped: each vector receives the *other* one,"
        " times the error."
    ),
)
def _(center, context, negatives):
    d_center, d_context, d_negatives = _gradients(center, context, negatives)
    return d_context, d_center, d_negatives


@mistake(
    GRADIENTS,
    "negatives-averaged",
    caught_by="gradient of negatives",
    loses=1.5,
    misconception=(
        "You divide by K as well. Inside one pair the negatives are summed, only the batch is"
        " averaged."
    ),
)
def _(center, context, negatives):
    return _gradients(
        center, context, negatives, push=lambda score: torch.sigmoid(score) / score.shape[1]
    )


@mistake(
    GRADIENTS,
    "own-vector",
    caught_by="context gradient",
    loses=5,
    misconception=(
        "You multiply each error by the vector itself. A dot product passes on the *other* vector."
    ),
)
def _(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    pull, push = (
        (torch.sigmoid(good) - 1)[:, None] / len(center),
        torch.sigmoid(bad)[:, :, None] / len(center),
    )
    return pull * center + (push * center[:, None]).sum(1), pull * context, push * negatives


@mistake(
    GRADIENTS,
    "exp-over-one-plus-exp",
    caught_by="large scores",
    loses=0.5,
    misconception=(
        "You write the sigmoid as exp(x) / (1 + exp(x)). In float32 exp(90) is infinite, and"
        " infinity divided by infinity is NaN."
    ),
)
def _(center, context, negatives):
    return _gradients(
        center,
        context,
        negatives,
        pull=lambda score: score.exp() / (1 + score.exp()) - 1,
        push=lambda score: score.exp() / (1 + score.exp()),
    )


@mistake(
    GRADIENTS,
    "derivative-of-the-sigmoid",
    caught_by="context gradient",
    loses=5,
    misconception=(
        "You use sigmoid(s) (1 - sigmoid(s)), the derivative of the sigmoid. That of"
        " -log sigmoid(s) is sigmoid(s) - 1."
    ),
)
def _(center, context, negatives):
    slope = lambda score: torch.sigmoid(score) * (1 - torch.sigmoid(score))
    return _gradients(center, context, negatives, pull=lambda score: -slope(score), push=slope)


@mistake(
    GRADIENTS,
    "context-moves-the-negatives",
    caught_by="gradient of negatives",
    loses=1.5,
    misconception=(
        "You give each negative its error times the context u. It is scored with the centre, so it"
        " receives v."
    ),
)
def _(center, context, negatives):
    _, bad = _scores(center, context, negatives)
    d_center, d_context, _ = _gradients(center, context, negatives)
    push = torch.sigmoid(bad) / len(center)
    return d_center, d_context, push[:, :, None] * context[:, None]


@mistake(
    GRADIENTS,
    "autograd-of-log-of-sigmoid",
    caught_by="large scores",
    loses=0.5,
    misconception=(
        "Your autograd goes through the log of a sigmoid. In float32 sigmoid(-200) is 0, and its"
        " gradient NaN: use `logsigmoid`."
    ),
)
def _(center, context, negatives):
    leaves = [part.clone().requires_grad_() for part in (center, context, negatives)]
    good, bad = _scores(*leaves)
    loss = -(torch.sigmoid(good).log() + torch.sigmoid(-bad).log().sum(-1)).mean()
    return torch.autograd.grad(loss, leaves)


@mistake(GRADIENTS, "squeezed", caught_by="context gradient", loses=5, misconception=SQUEEZED)
def _(center, context, negatives):
    pull = torch.sigmoid((center * context).sum(1)) - 1
    push = torch.sigmoid(torch.bmm(negatives, center.unsqueeze(2)).squeeze())
    d_center = pull[:, None] * context + (push[:, :, None] * negatives).sum(1)
    parts = d_center, pull[:, None] * center, push[:, :, None] * center[:, None]
    return tuple(part / len(center) for part in parts)


CBOW = "01.cbow_scores"


@mistake(
    CBOW,
    "not-repaired",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "This is still the function of the statement: it divides by the number of "
        "positions, padding included."
    ),
)
def _(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) / contexts.shape[1] @ output_vectors.T


@mistake(
    CBOW,
    "sum-instead",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "You removed the division. CBOW averages, so that a long context does not score higher"
        " than a short one."
    ),
)
def _(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) @ output_vectors.T


@mistake(
    CBOW,
    "word-zero-is-empty",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "You count positions with a number above 0. Word 0 is a word like any other; "
        "only -1 is padding."
    ),
)
def _(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) / (contexts > 0).sum(1, keepdim=True).clamp(min=1) @ output_vectors.T


@mistake(
    CBOW,
    "batch-average",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "You divide every row by the same number. Each row has its own number of "
        "words: sum over the positions only."
    ),
)
def _(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    rows = word_vectors[contexts.clamp(min=0)] * present
    return rows.sum(1) / (present.sum() / len(contexts)) @ output_vectors.T


@mistake(
    CBOW,
    "mask-removed",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "Padding must play no part. Without the mask of line 3 each of them adds the vector of "
        "word 0."
    ),
)
def _(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    return word_vectors[contexts.clamp(min=0)].sum(1) / present.sum(1) @ output_vectors.T


@mistake(
    CBOW,
    "empty-slots-at-the-end",
    caught_by="mean without padding",
    loses=2,
    misconception=("You assume that padding comes last in each row. It may be anywhere."),
)
def _(word_vectors, output_vectors, contexts):
    number = (contexts >= 0).sum(1)
    rows = [word_vectors[row[:n].clamp(min=0)].mean(0) for row, n in zip(contexts, number)]
    return torch.stack(rows) @ output_vectors.T


@mistake(
    CBOW,
    "zero-vectors-not-counted",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "You count the vectors that are not zero. A word whose vector is zero is still present."
    ),
)
def _(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) / (rows != 0).any(-1).sum(1, keepdim=True).clamp(min=1) @ output_vectors.T


@mistake(
    CBOW,
    "line-three",
    caught_by="wrong line",
    loses=1,
    replaces="wrong_line",
    misconception=(
        "Line 3 is right: it sets the vectors of padding to zero, so that they add "
        "nothing to the sum."
    ),
)
def _():
    return 3


@mistake(
    CBOW,
    "line-two",
    caught_by="wrong line",
    loses=1,
    replaces="wrong_line",
    misconception=(
        "Line 2 is right: padding takes the vector of word 0 for a moment, and line 3 "
        "removes it again."
    ),
)
def _():
    return 2


@mistake(
    CBOW,
    "line-four",
    caught_by="wrong line",
    loses=1,
    replaces="wrong_line",
    misconception=(
        "Line 4 is right: it sums over the positions (axis 1), and the batch (axis 0) stays."
    ),
)
def _():
    return 4


@mistake(
    CBOW,
    "each-word-once",
    caught_by="mean without padding",
    loses=2,
    misconception="You count each word once. A word that occurs twice in a row counts twice.",
)
def _(word_vectors, output_vectors, contexts):
    rows = [word_vectors[row[row >= 0].unique()].mean(0) for row in contexts]
    return torch.stack(rows) @ output_vectors.T


@mistake(
    CBOW,
    "last-word-for-padding",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "You index with -1, which reads the last word's vector. Padding must play no part."
    ),
)
def _(word_vectors, output_vectors, contexts):
    return word_vectors[contexts].mean(1) @ output_vectors.T


@mistake(
    CBOW,
    "scored-with-word-vectors",
    caught_by="mean without padding",
    loses=2,
    misconception="You score with the word vectors. The mean meets the output vectors.",
)
def _(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    rows = word_vectors[contexts.clamp(min=0)] * present
    return rows.sum(1) / present.sum(1) @ word_vectors.T


@mistake(
    CBOW,
    "words-of-the-batch",
    caught_by="mean without padding",
    loses=2,
    misconception=(
        "You divide by the number of words in the whole batch. Each row has its own number: sum"
        " over axis 1."
    ),
)
def _(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    rows = word_vectors[contexts.clamp(min=0)] * present
    return rows.sum(1) / present.sum() @ output_vectors.T


@mistake(
    CBOW,
    "softmax-of-scores",
    caught_by="mean without padding",
    loses=2,
    misconception="You return probabilities. The scores are the dot products, without a softmax.",
)
def _(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    rows = word_vectors[contexts.clamp(min=0)] * present
    return (rows.sum(1) / present.sum(1) @ output_vectors.T).softmax(-1)
