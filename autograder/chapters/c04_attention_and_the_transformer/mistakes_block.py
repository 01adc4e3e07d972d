"""Plausible wrong solutions of chapter 4, the block."""

import torch

from autograder.checks.registry import mistake

BLOCK = "04.block"


@mistake(
    BLOCK,
    "as-printed",
    caught_by="residual",
    loses=4,
    misconception=(
        "This is the code of the statement: it adds what attention gave to the norm of x, in place"
        " of x itself."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    normed = norm_1(x)
    x = normed + attend(normed)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "norm-on-the-second-residual",
    caught_by="residual",
    loses=4,
    misconception="You add what the feed-forward gave to the norm of the sum, in place of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    normed = norm_2(x)
    return normed + feed_forward(normed)


@mistake(
    BLOCK,
    "norm-on-both-residuals",
    caught_by="residual",
    loses=4,
    misconception=(
        "You add to the normed vectors, at both sublayers. What goes past a sublayer is never"
        " normed."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = norm_1(x)
    x = norm_2(x + attend(x))
    return x + feed_forward(x)


@mistake(
    BLOCK,
    "post-norm",
    caught_by="residual",
    loses=4,
    misconception=(
        "You norm the sums, as the first Transformer and BERT do. This block norms what goes into a"
        " sublayer."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


@mistake(
    BLOCK,
    "norms-the-results",
    caught_by="residual",
    loses=4,
    misconception="You norm what a sublayer gives. Norm what goes into it.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + norm_1(attend(x))
    return x + norm_2(feed_forward(x))


@mistake(
    BLOCK,
    "normed-at-the-end",
    caught_by="residual",
    loses=4,
    misconception=(
        "You norm the result of the block once more. The last norm stands once, after all blocks,"
        " and not in each."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return norm_2(x + feed_forward(norm_2(x)))


@mistake(
    BLOCK,
    "no-residual",
    caught_by="residual",
    loses=4,
    misconception="You add nothing: each sublayer's result takes the place of what was there.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return feed_forward(norm_2(attend(norm_1(x))))


@mistake(
    BLOCK,
    "no-first-residual",
    caught_by="residual",
    loses=4,
    misconception="You leave x out at attention: what it gives is added to x.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = attend(norm_1(x))
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "no-second-residual",
    caught_by="residual",
    loses=4,
    misconception="You leave the sum out at the feed-forward: what it gives is added to the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return feed_forward(norm_2(x + attend(norm_1(x))))


@mistake(
    BLOCK,
    "second-residual-from-the-input",
    caught_by="residual",
    loses=4,
    misconception=(
        "You add what the feed-forward gave to the block's input, so that attention's part is lost"
        " but for what the feed-forward makes of it."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + feed_forward(norm_2(x + attend(norm_1(x))))


@mistake(
    BLOCK,
    "input-added-twice",
    caught_by="residual",
    loses=4,
    misconception="You add the block's input once more at the end. It is in the sum already.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    seen = x + attend(norm_1(x))
    return x + seen + feed_forward(norm_2(seen))


@mistake(
    BLOCK,
    "halved",
    caught_by="residual",
    loses=4,
    misconception="You take the mean of x and what a sublayer gives. It is the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = (x + attend(norm_1(x))) / 2
    return (x + feed_forward(norm_2(x))) / 2


@mistake(
    BLOCK,
    "attention-left-out",
    caught_by="residual",
    loses=4,
    misconception="You never use attention.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "feed-forward-left-out",
    caught_by="residual",
    loses=3,
    misconception="You never use the feed-forward.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + attend(norm_1(x))


@mistake(
    BLOCK,
    "attention-fed-raw",
    caught_by="fed",
    loses=3,
    misconception="You feed attention with x itself. It gets norm_1 of x.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(x)
    return x + feed_forward(norm_2(x))


@mistake(BLOCK, "nothing-normed", caught_by="fed", loses=3, misconception="You use neither norm.")
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(x)
    return x + feed_forward(x)


@mistake(
    BLOCK,
    "norms-exchanged",
    caught_by="fed",
    loses=3,
    misconception=(
        "You exchange the norms: norm_1 belongs to attention, norm_2 to the feed-forward."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_2(x))
    return x + feed_forward(norm_1(x))


@mistake(
    BLOCK,
    "sublayers-swapped",
    caught_by="fed",
    loses=3,
    misconception="The feed-forward comes first in your block. Attention does.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + feed_forward(norm_1(x))
    return x + attend(norm_2(x))


@mistake(
    BLOCK,
    "normed-twice",
    caught_by="fed",
    loses=3,
    misconception="You put both norms before attention. Each stands before its own sublayer.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_2(norm_1(x)))
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "the-first-sequence-only",
    caught_by="fed",
    loses=3,
    misconception="Every sequence of your batch gets what attention gave to the first one.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x[:1]))
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "token-by-token",
    caught_by="fed",
    loses=3,
    misconception="You feed attention with one token at a time, so that it has nobody to look at.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = torch.cat([one + attend(norm_1(one)) for one in x.split(1, 1)], 1)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "axes-exchanged",
    caught_by="fed",
    loses=3,
    misconception="You exchange sequences and tokens before attention: it mixes different texts.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x).transpose(0, 1)).transpose(0, 1)
    return x + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "one-norm-twice",
    caught_by="both",
    loses=2,
    misconception="You use norm_1 at both sublayers. The second has its own.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_1(x))


@mistake(
    BLOCK,
    "feed-forward-fed-raw",
    caught_by="both",
    loses=2,
    misconception="You feed the feed-forward with the sum itself. It gets norm_2 of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return x + feed_forward(x)


@mistake(
    BLOCK,
    "feed-forward-of-the-input",
    caught_by="both",
    loses=2,
    misconception=(
        "You feed the feed-forward with the norm of the block's input, side by side with attention,"
        " as GPT-J does. Here it comes after attention and sees what that gave."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + attend(norm_1(x)) + feed_forward(norm_2(x))


@mistake(
    BLOCK,
    "feed-forward-of-the-attention",
    caught_by="both",
    loses=2,
    misconception=(
        "You feed the feed-forward with the norm of what attention gave. It gets the norm of the"
        " sum."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    seen = attend(norm_1(x))
    return x + seen + feed_forward(norm_2(seen))


@mistake(
    BLOCK,
    "feed-forward-of-the-old-norm",
    caught_by="both",
    loses=2,
    misconception=(
        "You feed the feed-forward with what attention was fed with. It gets norm_2 of the sum."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    normed = norm_1(x)
    return x + attend(normed) + feed_forward(normed)


@mistake(
    BLOCK,
    "feed-forward-of-both-norms",
    caught_by="both",
    loses=2,
    misconception="You put both norms before the feed-forward. It gets norm_2 of the sum.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_2(norm_1(x)))


@mistake(
    BLOCK,
    "cut",
    caught_by="both",
    loses=2,
    misconception=(
        "You cut large numbers off. Nothing is cut: what goes past the sublayers may grow."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x = x + attend(norm_1(x))
    return (x + feed_forward(norm_2(x))).clamp(-50, 50)


@mistake(
    BLOCK,
    "attention-asked-twice",
    caught_by="once",
    loses=0.5,
    misconception=(
        "You compute the first half twice, once for the sum and once for the feed-forward. Keep it"
        " under a name: it is the dearest part."
    ),
)
def _(x, attend, feed_forward, norm_1, norm_2):
    return x + attend(norm_1(x)) + feed_forward(norm_2(x + attend(norm_1(x))))


@mistake(
    BLOCK,
    "written-into-x",
    caught_by="residual",
    loses=1,
    misconception="`x += ...` writes into the argument, which belongs to the caller.",
)
def _(x, attend, feed_forward, norm_1, norm_2):
    x += attend(norm_1(x))
    x += feed_forward(norm_2(x))
    return x.clone()


@mistake(
    BLOCK,
    "line-1",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 1 norms what attention is fed with, as it should.",
)
def _():
    return 1


@mistake(
    BLOCK,
    "line-2",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 2 is right: attention is fed the norm of x.",
)
def _():
    return 2


@mistake(
    BLOCK,
    "line-4",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception=(
        "Line 4 is right: it takes the second norm of whatever x is by then. Look at what it is."
    ),
)
def _():
    return 4


@mistake(
    BLOCK,
    "line-5",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception="Line 5 is right: the feed-forward is fed the second norm.",
)
def _():
    return 5


@mistake(
    BLOCK,
    "line-6",
    replaces="wrong_line",
    caught_by="line",
    loses=1,
    misconception=(
        "Line 6 is right: it adds to x as it is by then, and not to its norm. Another line does not"
        " do so."
    ),
)
def _():
    return 6
