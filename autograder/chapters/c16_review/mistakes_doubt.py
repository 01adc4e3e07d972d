"""Plausible wrong solutions of chapter 16, part 3."""

import torch

from autograder.checks.mistakes.registry import mistake

BLOCK, FALSE, TEST = "16.broken_block", "16.counterexamples", "16.test_attention"


@mistake(
    BLOCK,
    "line-3",
    replaces="wrong_line",
    caught_by="line",
    loses=1.5,
    misconception="Line 3 is right: the mean is taken over the dimensions of a token.",
)
def _():
    return 3


@mistake(
    BLOCK,
    "line-6",
    replaces="wrong_line",
    caught_by="line",
    loses=1.5,
    misconception="Line 6 is right: it marks what comes later than the token.",
)
def _():
    return 6


@mistake(
    BLOCK,
    "line-7",
    replaces="wrong_line",
    caught_by="line",
    loses=1.5,
    misconception="Line 7 is right: the weights of a query add up to 1 over the keys.",
)
def _():
    return 7


@mistake(
    BLOCK,
    "line-8",
    replaces="wrong_line",
    caught_by="line",
    loses=1.5,
    misconception="Line 8 is right: it lays the heads side by side again.",
)
def _():
    return 8


@mistake(
    BLOCK,
    "line-12",
    replaces="wrong_line",
    caught_by="line",
    loses=1.5,
    misconception="Line 12 is right: silu of the gate, times what `up` says.",
)
def _():
    return 12


@mistake(
    BLOCK,
    "line-13",
    replaces="wrong_line",
    caught_by="line",
    loses=1.5,
    misconception="Line 13 is right: it adds to y, which is not normed.",
)
def _():
    return 13


def _block(
    x,
    weights,
    heads,
    scale=lambda C, heads: (C / heads) ** 0.5,
    later=lambda T: torch.ones(T, T).triu(1) > 0,
    axis=2,
    moved=True,
    stream=lambda y, b: y,
    gate=lambda z: z * z.sigmoid(),
    eps=1e-6,
    causal=True,
):
    """The answer with one part replaced."""
    T, C = x.shape
    a = x / (x.square().mean(1, keepdim=True) + eps).sqrt()
    q, k, v = (
        (a @ weights[name].T).reshape(T, heads, -1).transpose(0, 1)
        for name in ("query", "key", "value")
    )
    scores = q @ k.mT / scale(C, heads)
    shares = (scores.masked_fill(later(T), -torch.inf) if causal else scores).softmax(axis) @ v
    y = x + (shares.transpose(0, 1) if moved else shares).reshape(T, C) @ weights["output"].T
    b = y / (y.square().mean(1, keepdim=True) + eps).sqrt()
    return stream(y, b) + (gate(b @ weights["gate"].T) * (b @ weights["up"].T)) @ weights["down"].T


@mistake(
    BLOCK,
    "as-it-was",
    caught_by="repaired",
    loses=2.5,
    misconception=(
        "The block is as it was: its scores are divided by the root of C. A head has C / h numbers."
    ),
)
def _(x, weights, heads):
    return _block(x, weights, heads, scale=lambda C, heads: C**0.5)


@mistake(
    BLOCK,
    "scale-is-the-heads",
    caught_by="repaired",
    loses=2.5,
    misconception=(
        "You divide the scores by the root of the number of heads. It is the root of the head"
        " dimension."
    ),
)
def _(x, weights, heads):
    return _block(x, weights, heads, scale=lambda C, heads: heads**0.5)


@mistake(
    BLOCK,
    "scale-without-root",
    caught_by="repaired",
    loses=2.5,
    misconception="You divide the scores by the head dimension, without the root.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, scale=lambda C, heads: C / heads)


@mistake(
    BLOCK,
    "no-scale",
    caught_by="repaired",
    loses=2.5,
    misconception="Your scores are not divided at all.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, scale=lambda C, heads: 1.0)


@mistake(
    BLOCK,
    "looks-ahead",
    caught_by="repaired",
    loses=2.5,
    misconception="Your tokens see what comes, and not what was.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, later=lambda T: torch.ones(T, T).tril(-1) > 0)


@mistake(
    BLOCK,
    "sees-all",
    caught_by="repaired",
    loses=2.5,
    misconception="Your tokens see all others. They see themselves and those before.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, causal=False)


@mistake(
    BLOCK,
    "softmax-over-queries",
    caught_by="repaired",
    loses=2.5,
    misconception="Your softmax runs over the queries. It runs over the keys.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, axis=1)


@mistake(
    BLOCK,
    "heads-mixed",
    caught_by="repaired",
    loses=2.5,
    misconception="You lay tokens and heads side by side in the wrong order.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, moved=False)


@mistake(
    BLOCK,
    "normed-stream",
    caught_by="repaired",
    loses=2.5,
    misconception="Your last residual adds to the normed tokens. It adds to y.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, stream=lambda y, b: b)


@mistake(
    BLOCK,
    "sigmoid-for-silu",
    caught_by="repaired",
    loses=2.5,
    misconception="Your gate is a sigmoid. silu(z) is z times it.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, gate=torch.sigmoid)


@mistake(
    BLOCK,
    "larger-eps",
    caught_by="repaired",
    loses=2.5,
    misconception="Your eps is 0.00001. It is 0.000001.",
)
def _(x, weights, heads):
    return _block(x, weights, heads, eps=1e-5)


def _examples(**changed):
    """Right data, with those of some sentences replaced."""
    words = {
        "first": torch.tensor([0.3, 0.28, 0.26, 0.16]),
        "then": torch.tensor(
            [[0.4, 0.2, 0.2, 0.2], [0.4, 0.2, 0.2, 0.2], [0.4, 0.2, 0.2, 0.2], [1.0, 0.0, 0.0, 0.0]]
        ),
    }
    wider = {
        "first": torch.tensor([0.55, 0.45, 0.0, 0.0, 0.0]),
        "then": torch.tensor(
            [
                [0.0, 0.0, 0.36, 0.32, 0.32],
                [0.0, 0.0, 0.0, 0.52, 0.48],
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [0.2] * 5,
                [0.2] * 5,
            ]
        ),
    }
    return {
        "beam": words,
        "wider": wider,
        "top_p": {"p": torch.arange(9.0, 17.0) / 100},
        "pooling": {"vectors": torch.tensor([[2.0], [0.0]]), "real": [1, 0]},
        "rotary": {"x": torch.tensor([1.0, 0.0]), "places": [3, 6]},
        "loss": {
            "one": torch.tensor([[0.45, 0.55], [0.45, 0.55]]),
            "other": torch.tensor([[0.55, 0.45], [0.05, 0.95]]),
            "right": [0, 0],
        },
    } | changed


@mistake(
    FALSE,
    "beam-by-a-tie",
    caught_by="beam",
    loses=1,
    misconception="Your beam drops a word that is as likely as one that it keeps.",
)
def _():
    return _examples(
        beam={
            "first": torch.tensor([0.3, 0.3, 0.2, 0.2]),
            "then": torch.tensor(
                [
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [1.0, 0.0, 0.0, 0.0],
                ]
            ),
        }
    )


@mistake(
    FALSE,
    "beam-of-two",
    caught_by="beam",
    loses=1,
    misconception="Your table breaks the sentence for a beam of two. One of three finds the text.",
)
def _():
    return _examples(
        beam={
            "first": torch.tensor([0.35, 0.3, 0.25, 0.1]),
            "then": torch.tensor(
                [
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [1.0, 0.0, 0.0, 0.0],
                    [1.0, 0.0, 0.0, 0.0],
                ]
            ),
        }
    )


@mistake(
    FALSE,
    "beam-of-more-than-one",
    caught_by="beam",
    loses=1,
    misconception="Your probabilities add up to more than 1.",
)
def _():
    return _examples(
        beam={
            "first": torch.tensor([0.3, 0.28, 0.26, 0.2]),
            "then": torch.tensor(
                [
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [1.0, 0.0, 0.0, 0.0],
                ]
            ),
        }
    )


@mistake(
    FALSE,
    "beam-hardly",
    caught_by="beam",
    loses=1,
    misconception="Your text is less likely by less than 0.01.",
)
def _():
    return _examples(
        beam={
            "first": torch.tensor([0.3, 0.28, 0.26, 0.16]),
            "then": torch.tensor(
                [
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [0.4, 0.2, 0.2, 0.2],
                    [0.78, 0.22, 0.0, 0.0],
                ]
            ),
        }
    )


@mistake(
    FALSE,
    "beam-of-the-page",
    caught_by="beam",
    loses=1,
    misconception=(
        "That is the page's table, which has three words: a beam of three keeps them all."
    ),
)
def _():
    return _examples(
        beam={
            "first": torch.tensor([0.4, 0.35, 0.25]),
            "then": torch.tensor([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]]),
        }
    )


@mistake(
    FALSE,
    "wider-as-beam",
    caught_by="wider",
    loses=1,
    misconception="The wider beam finds what the greedy one finds, or better, in your table.",
)
def _():
    return _examples(
        wider={
            "first": torch.tensor([0.4, 0.35, 0.25]),
            "then": torch.tensor([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]]),
        }
    )


@mistake(
    FALSE,
    "wider-by-a-tie",
    caught_by="wider",
    loses=1,
    misconception="In your table a tie decides which beginnings the wider beam keeps.",
)
def _():
    return _examples(
        wider={
            "first": torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0]),
            "then": torch.tensor(
                [
                    [0.0, 0.0, 0.36, 0.32, 0.32],
                    [0.0, 0.0, 0.0, 0.52, 0.48],
                    [1.0, 0.0, 0.0, 0.0, 0.0],
                    [0.2] * 5,
                    [0.2] * 5,
                ]
            ),
        }
    )


@mistake(
    FALSE,
    "all-alike",
    caught_by="top_p",
    loses=1,
    misconception="All of your tokens are equally likely: which of them are kept is a tie.",
)
def _():
    return _examples(top_p={"p": torch.full((10,), 0.1)})


@mistake(
    FALSE,
    "half-a-distribution",
    caught_by="top_p",
    loses=1,
    misconception="Your probabilities add up to less than 1.",
)
def _():
    return _examples(top_p={"p": torch.arange(9.0, 17.0) / 200})


@mistake(
    FALSE,
    "peaked",
    caught_by="top_p",
    loses=1,
    misconception="Your distribution is peaked: top-p keeps fewer than five.",
)
def _():
    return _examples(top_p={"p": torch.tensor([0.8, 0.1, 0.05, 0.03, 0.015, 0.005])})


@mistake(
    FALSE,
    "just-six",
    caught_by="top_p",
    loses=1,
    misconception="Your five most probable tokens have 0.895 together: it is a matter of rounding.",
)
def _():
    return _examples(top_p={"p": torch.tensor([0.2, 0.19, 0.18, 0.17, 0.155, 0.105])})


@mistake(
    FALSE, "no-padding", caught_by="pooling", loses=1, misconception="Your text has no padding."
)
def _():
    return _examples(pooling={"vectors": torch.tensor([[2.0], [1.0]]), "real": [1, 1]})


@mistake(
    FALSE,
    "padding-not-zeros",
    caught_by="pooling",
    loses=1,
    misconception="Your padding is not zeros.",
)
def _():
    return _examples(pooling={"vectors": torch.tensor([[2.0], [8.0]]), "real": [1, 0]})


@mistake(FALSE, "padding-nan", caught_by="pooling", loses=1, misconception="Your padding is NaN.")
def _():
    return _examples(pooling={"vectors": torch.tensor([[2.0], [torch.nan]]), "real": [1, 0]})


@mistake(
    FALSE,
    "tokens-are-zeros",
    caught_by="pooling",
    loses=1,
    misconception="The tokens' mean is zero: with more rows of zeros it stays so.",
)
def _():
    return _examples(pooling={"vectors": torch.tensor([[2.0], [-2.0], [0.0]]), "real": [1, 1, 0]})


@mistake(
    FALSE, "no-token", caught_by="pooling", loses=1, misconception="Your text is padding alone."
)
def _():
    return _examples(pooling={"vectors": torch.zeros(2, 1), "real": [0, 0]})


@mistake(
    FALSE,
    "rotary-half-turn",
    caught_by="rotary",
    loses=1,
    misconception="Your cosine is still falling: half a rotation is about three positions.",
)
def _():
    return _examples(rotary={"x": torch.tensor([1.0, 0.0]), "places": [1, 3]})


@mistake(
    FALSE,
    "rotary-exchanged",
    caught_by="rotary",
    loses=1,
    misconception="Your first distance is the larger one.",
)
def _():
    return _examples(rotary={"x": torch.tensor([1.0, 0.0]), "places": [6, 3]})


@mistake(
    FALSE,
    "rotary-zeros",
    caught_by="rotary",
    loses=1,
    misconception="Your vector is zeros: all scores are 0.",
)
def _():
    return _examples(rotary={"x": torch.zeros(4), "places": [3, 6]})


@mistake(
    FALSE,
    "rotary-slow-pair",
    caught_by="rotary",
    loses=1,
    misconception="Your vector has the slow pair alone, which has hardly turned.",
)
def _():
    return _examples(rotary={"x": torch.tensor([0.0, 1.0, 0.0, 1.0]), "places": [3, 6]})


@mistake(
    FALSE,
    "loss-exchanged",
    caught_by="loss",
    loses=1,
    misconception="Your models are exchanged: `one` has the larger loss.",
)
def _():
    return _examples(
        loss={
            "other": torch.tensor([[0.45, 0.55], [0.45, 0.55]]),
            "one": torch.tensor([[0.55, 0.45], [0.05, 0.95]]),
            "right": [0, 0],
        }
    )


@mistake(
    FALSE,
    "loss-as-many",
    caught_by="loss",
    loses=1,
    misconception="Both of your models guess as many tokens right.",
)
def _():
    return _examples(
        loss={"one": torch.tensor([[0.9, 0.1]]), "other": torch.tensor([[0.6, 0.4]]), "right": [0]}
    )


@mistake(
    FALSE,
    "loss-by-a-tie",
    caught_by="loss",
    loses=1,
    misconception="Your `one` has a tie between truth and another token.",
)
def _():
    return _examples(
        loss={
            "one": torch.tensor([[0.5, 0.5], [0.5, 0.5]]),
            "other": torch.tensor([[0.45, 0.55], [0.05, 0.95]]),
            "right": [1, 0],
        }
    )


@mistake(
    FALSE,
    "loss-infinite",
    caught_by="loss",
    loses=1,
    misconception="Your `other` gives a true token nothing: its loss is infinite.",
)
def _():
    return _examples(
        loss={
            "one": torch.tensor([[0.45, 0.55], [0.45, 0.55]]),
            "other": torch.tensor([[0.55, 0.45], [0.0, 1.0]]),
            "right": [0, 0],
        }
    )


def _exact(q, k, v, mask, scale=2.0, blind=0.0):
    scores = torch.where(mask, q.double() @ k.double().mT / scale, -torch.inf)
    return scores.softmax(3).nan_to_num(blind) @ v.double()


def _judge(
    attention,
    shapes=((3, 5), (4, 4), (5, 3)),
    sizes=(1.0, 100.0),
    blinds=(True, False),
    near=1e-4,
    hidden=0.4,
    texts=2,
    heads=2,
    alike=False,
    nan=False,
    summed=False,
):
    """The whole test, with parts left out."""
    chance = torch.Generator().manual_seed(4)
    for T, S in shapes:
        for size in sizes:
            for blind in blinds:
                q, k, v = (
                    torch.randn(texts, heads, length, 4, generator=chance) for length in (T, S, S)
                )
                v = torch.ones_like(v) if alike else v
                mask = torch.rand(texts, 1, T, S, generator=chance) >= hidden
                mask[..., 0] = True
                mask = mask[:1].expand(mask.shape).clone() if summed else mask
                if blind:
                    mask[:, :, 1] = False
                came, right = attention(size * q, k, v, mask).double(), _exact(size * q, k, v, mask)
                limit = near if size == 1 else max(near, 3e-3)
                if nan:
                    assert not (came - right).abs().max() > limit
                else:
                    assert torch.allclose(came, right, rtol=0.0, atol=limit)


@mistake(
    TEST,
    "square-only",
    caught_by="scale",
    loses=4,
    misconception="You always have as many keys as queries.",
)
def _(attention):
    _judge(attention, shapes=((3, 3), (4, 4)))


@mistake(
    TEST,
    "never-square",
    caught_by="scale",
    loses=4,
    misconception="You never have as many keys as queries.",
)
def _(attention):
    _judge(attention, shapes=((3, 5), (5, 3)))


@mistake(
    TEST,
    "nothing-hidden",
    caught_by="mask",
    loses=2,
    misconception="Nothing is hidden in your masks.",
)
def _(attention):
    _judge(attention, hidden=-1.0, blinds=(False,))


@mistake(
    TEST, "values-alike", caught_by="scale", loses=2, misconception="Your values are all alike."
)
def _(attention):
    _judge(attention, alike=True)


@mistake(
    TEST,
    "one-mask-for-all",
    caught_by="mask",
    loses=1,
    misconception="Both of your texts have the same mask.",
)
def _(attention):
    _judge(attention, summed=True)


@mistake(TEST, "one-head", caught_by="mask", loses=1, misconception="You ask with one head.")
def _(attention):
    _judge(attention, heads=1)


@mistake(
    TEST,
    "nobody-blind",
    caught_by="edges",
    loses=1,
    misconception="Each of your queries sees a key.",
)
def _(attention):
    _judge(attention, blinds=(False,))


@mistake(
    TEST,
    "always-blind",
    caught_by="edges",
    loses=1,
    misconception="Some query of yours is always blind.",
)
def _(attention):
    _judge(attention, blinds=(True,))


@mistake(TEST, "small-scores", caught_by="edges", loses=1, misconception="Your scores are small.")
def _(attention):
    _judge(attention, sizes=(1.0,))


@mistake(
    TEST,
    "nan-passes",
    caught_by="scale",
    loses=2,
    misconception="You ask `assert not difference > limit`: with NaN that holds.",
)
def _(attention):
    _judge(attention, nan=True)


@mistake(TEST, "exact", caught_by="scale", loses=4, misconception="You want all digits equal.")
def _(attention):
    q, k, v = torch.randn(3, 2, 2, 4, 4, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 1, 4, 4, dtype=torch.bool)
    assert torch.equal(attention(q, k, v, mask), _exact(q, k, v, mask).float())


@mistake(
    TEST,
    "blind-means-mean",
    caught_by="scale",
    loses=4,
    misconception="You want a query that sees no key to see all of them.",
)
def _(attention):
    q, k, v = torch.randn(3, 2, 2, 4, 4, generator=torch.Generator().manual_seed(1))
    mask = torch.zeros(2, 1, 4, 4, dtype=torch.bool)
    assert torch.allclose(
        attention(q, k, v, mask), v.mean(2, keepdim=True).expand(v.shape), atol=1e-4
    )


@mistake(
    TEST,
    "never-called",
    caught_by="scale",
    loses=4,
    misconception="Your test never calls what it is given.",
)
def _(attention):
    assert callable(attention)
