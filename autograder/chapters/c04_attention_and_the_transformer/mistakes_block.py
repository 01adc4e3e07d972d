"""Plausible wrong solutions of chapter 4, the block."""

import torch

from autograder.checks.mistakes.registry import mistake

BLOCK = "04.block"


@mistake(
    BLOCK,
    "as-printed",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "This is the code of the statement: it adds attention's output to norm_1(x) instead of x"
        " itself."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    normed = norm_1(x)
    x = normed + attend(normed)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "norm-on-the-second-residual",
    caught_by="residual connections",
    loses=4,
    misconception="You add the feed-forward's output to the norm of the sum instead of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    normed = norm_2(x)
    return normed + feed_forward(normed)


@mistake(
    BLOCK,
    "norm-on-both-residuals",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "You add to normalized vectors at both sublayers. The residual stream is never normalized."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = norm_1(x)
    x = norm_2(x + attend(x))
    return x + feed_forward(x)


@mistake(
    BLOCK,
    "post-norm",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "You normalize the sums: that is post-norm, as in the first Transformer and BERT. Pre-norm"
        " normalizes the input of a sublayer."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


@mistake(
    BLOCK,
    "norms-the-results",
    caught_by="residual connections",
    loses=4,
    misconception="You normalize the output of a sublayer. Normalize its input.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + norm_1(attend(x))
    return x + norm_2(feed_forward(x))


@mistake(
    BLOCK,
    "normed-at-the-end",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "You normalize the result once more. The final norm comes once, after all blocks."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return norm_2(x + feed_forward(norm_2(x)))


@mistake(
    BLOCK,
    "no-residual",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "You leave out both residual connections: each sublayer's output replaces the stream."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return feed_forward(norm_2(attend(norm_1(x))))


@mistake(
    BLOCK,
    "no-first-residual",
    caught_by="residual connections",
    loses=4,
    misconception="You leave out the residual connection around attention: add its output to x.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = attend(norm_1(x))
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "no-second-residual",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "You leave out the residual connection around the feed-forward: add its output to the sum."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return feed_forward(norm_2(x + attend(norm_1(x))))


@mistake(
    BLOCK,
    "second-residual-from-the-input",
    caught_by="residual connections",
    loses=4,
    misconception=(
        "You add the feed-forward's output to the block's input, so attention's output is lost. Add"
        " it to the sum."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + feed_forward(norm_2(x + attend(norm_1(x))))


@mistake(
    BLOCK,
    "input-added-twice",
    caught_by="residual connections",
    loses=4,
    misconception="You add the block's input once more at the end. It is in the sum already.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    seen = x + attend(norm_1(x))
    return x + seen + feed_forward(norm_2(seen))


@mistake(
    BLOCK,
    "halved",
    caught_by="residual connections",
    loses=4,
    misconception="You average x and the sublayer's output. Add them.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = (x + attend(norm_1(x))) / 2
    return (x + feed_forward(norm_2(x))) / 2


@mistake(
    BLOCK,
    "attention-left-out",
    caught_by="residual connections",
    loses=4,
    misconception="You never call attention.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "feed-forward-left-out",
    caught_by="residual connections",
    loses=3,
    misconception="You never call the feed-forward.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + attend(norm_1(x))


@mistake(
    BLOCK,
    "attention-fed-raw",
    caught_by="input of attention",
    loses=3,
    misconception="You feed attention x itself. It gets norm_1 of x.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(x)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "nothing-normed",
    caught_by="input of attention",
    loses=3,
    misconception="You use neither norm.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(x)
    return x + feed_forward(x)


@mistake(
    BLOCK,
    "norms-exchanged",
    caught_by="input of attention",
    loses=3,
    misconception="You swap the norms: norm_1 belongs to attention, norm_2 to the feed-forward.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_2(x))
    return x + feed_forward(norm_1(x))


@mistake(
    BLOCK,
    "sublayers-swapped",
    caught_by="input of attention",
    loses=3,
    misconception="You apply the feed-forward first. Attention comes first.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + feed_forward(norm_1(x))
    return x + attend(norm_2(x))


@mistake(
    BLOCK,
    "normed-twice",
    caught_by="input of attention",
    loses=3,
    misconception="You apply both norms before attention. Each belongs to its own sublayer.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_2(norm_1(x)))
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "the-first-sequence-only",
    caught_by="input of attention",
    loses=3,
    misconception="You give every sequence of the batch the attention output of the first one.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x[:1]))
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "token-by-token",
    caught_by="input of attention",
    loses=3,
    misconception=(
        "You feed attention one token at a time, so that it has no other token to attend to."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = torch.cat([one + attend(norm_1(one)) for one in x.split(1, 1)], 1)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "axes-exchanged",
    caught_by="input of attention",
    loses=3,
    misconception=(
        "You swap batch and sequence axes before attention: it mixes different sequences."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x).transpose(0, 1)).transpose(0, 1)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "one-norm-twice",
    caught_by="input of feed-forward",
    loses=2,
    misconception="You use norm_1 at both sublayers. The second has its own.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_1(x))


@mistake(
    BLOCK,
    "feed-forward-fed-raw",
    caught_by="input of feed-forward",
    loses=2,
    misconception="You feed the feed-forward the sum itself. It gets norm_2 of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return x + feed_forward(x)


@mistake(
    BLOCK,
    "feed-forward-of-the-input",
    caught_by="input of feed-forward",
    loses=2,
    misconception=(
        "You feed the feed-forward the norm of the block's input: that is a parallel block, as in"
        " GPT-J. It gets norm_2 of the sum."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + attend(norm_1(x)) + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "feed-forward-of-the-attention",
    caught_by="input of feed-forward",
    loses=2,
    misconception=(
        "You feed the feed-forward the norm of attention's output. It gets norm_2 of the sum."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    seen = attend(norm_1(x))
    return x + seen + feed_forward(norm_2(seen))


@mistake(
    BLOCK,
    "feed-forward-of-the-old-norm",
    caught_by="input of feed-forward",
    loses=2,
    misconception="You feed the feed-forward what you fed attention. It gets norm_2 of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    normed = norm_1(x)
    return x + attend(normed) + feed_forward(normed)


@mistake(
    BLOCK,
    "feed-forward-of-both-norms",
    caught_by="input of feed-forward",
    loses=2,
    misconception="You apply both norms before the feed-forward. It gets norm_2 of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_2(norm_1(x)))


@mistake(
    BLOCK,
    "cut",
    caught_by="input of feed-forward",
    loses=2,
    misconception="You clip large values. The residual stream may grow: clip nothing.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return (x + feed_forward(norm_2(x))).clamp(-50, 50)


@mistake(
    BLOCK,
    "attention-asked-twice",
    caught_by="one call each",
    loses=0.5,
    misconception=(
        "You call one of the four functions more than once. Call each once and keep its result in a"
        " variable."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + attend(norm_1(x)) + feed_forward(norm_2(x + attend(norm_1(x))))


@mistake(
    BLOCK,
    "written-into-x",
    caught_by="residual connections",
    loses=1,
    misconception="You modify the argument: `x += ...` writes into the caller's tensor.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x += attend(norm_1(x))
    x += feed_forward(norm_2(x))
    return x.clone()


@mistake(
    BLOCK,
    "line-1",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception="Line 1 is right: it normalizes the input of attention.",
)
def _():
    return 1


@mistake(
    BLOCK,
    "line-2",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception="Line 2 is right: attention is fed the norm of x.",
)
def _():
    return 2


@mistake(
    BLOCK,
    "line-4",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception=(
        "Line 4 is right: it takes the second norm of x as it is by then. Check what x holds."
    ),
)
def _():
    return 4


@mistake(
    BLOCK,
    "line-5",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception="Line 5 is right: the feed-forward is fed the second norm.",
)
def _():
    return 5


@mistake(
    BLOCK,
    "line-6",
    replaces="wrong_line",
    caught_by="wrong line",
    loses=1,
    misconception="Line 6 is right: it adds the update to the residual stream x.",
)
def _():
    return 6
