"""Plausible poor tests of chapter 13, part 4."""

import torch

from autograder.checks.mistakes.registry import mistake

TEST = "13.test_flash"
SHAPES = ((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))


def _exact(q, k, v, causal):
    table = q.double() @ k.double().mT / q.shape[2] ** 0.5
    place = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    table = table.masked_fill((torch.arange(k.shape[1]) > place) & torch.tensor(causal), -torch.inf)
    return table.softmax(2).nan_to_num(0.0) @ v.double(), table.logsumexp(2)


def _judge(
    flash,
    shapes=SHAPES,
    causals=(False, True),
    sizes=((1.0, 0.0), (75.0, 0.0), (1.0, 300.0), (1.0, -300.0)),
    width=16,
    tile=16,
    near=1e-4,
    far=4e-3,
    lse=True,
    nan=False,
):
    """The whole test, with parts left out."""
    chance = torch.Generator().manual_seed(4)
    for T, S in shapes:
        for causal in causals:
            for size, lift in sizes:
                q, k, v = (torch.randn(2, length, width, generator=chance) for length in (T, S, S))
                if lift:
                    q, k = lift / 10 + q / 10, 2.5 + k / 10
                came = flash(size * q, k, v, tile, tile, causal)
                for mine, right in list(zip(came, _exact(size * q, k, v, causal)))[: 1 + lse]:
                    if nan:
                        assert not (mine - right).abs().max() > (
                            near if size == 1 and not lift else far
                        )
                    else:
                        assert mine.shape == right.shape and torch.allclose(
                            mine.double(),
                            right,
                            rtol=1e-5,
                            atol=near if size == 1 and not lift else far,
                        )


@mistake(
    TEST,
    "the-published-input",
    caught_by="running maximum",
    loses=5,
    misconception=(
        "You test one input, with lengths that are multiples of the tiles, to two digits."
    ),
)
def _(flash):
    _judge(
        flash,
        shapes=((64, 64),),
        causals=(False,),
        sizes=((1.0, 0.0),),
        width=64,
        near=1e-2,
        lse=False,
    )


@mistake(
    TEST,
    "full-tiles-only",
    caught_by="incomplete tiles",
    loses=2.5,
    misconception="All of your lengths are multiples of the tiles.",
)
def _(flash):
    _judge(flash, shapes=((16, 16), (32, 32), (16, 48)))


@mistake(
    TEST,
    "square-only",
    caught_by="attention masks",
    loses=1,
    misconception="You always have as many keys as queries.",
)
def _(flash):
    _judge(flash, shapes=((1, 1), (17, 17), (33, 33), (20, 20)))


@mistake(
    TEST,
    "small-scores-only",
    caught_by="running maximum",
    loses=1.5,
    misconception="All of your scores are near 0.",
)
def _(flash):
    _judge(flash, sizes=((1.0, 0.0),))


@mistake(
    TEST,
    "no-negative-scores",
    caught_by="running maximum",
    loses=1.5,
    misconception="None of your inputs has scores that are all far below 0.",
)
def _(flash):
    _judge(flash, shapes=((33, 33), (5, 37), (37, 5), (20, 5)), sizes=((1.0, 0.0), (1.0, 300.0)))


@mistake(
    TEST,
    "never-causal",
    caught_by="running maximum",
    loses=5,
    misconception="You never test `causal=True`.",
)
def _(flash):
    _judge(flash, causals=(False,))


@mistake(
    TEST,
    "always-causal",
    caught_by="running maximum",
    loses=4,
    misconception="You never test `causal=False`.",
)
def _(flash):
    _judge(flash, causals=(True,))


@mistake(
    TEST,
    "two-digits",
    caught_by="precision and scale",
    loses=1,
    misconception="You compare only two digits, so half precision passes.",
)
def _(flash):
    _judge(flash, near=1e-2, far=1e-2)


@mistake(
    TEST,
    "no-log-sum-exp",
    caught_by="precision and scale",
    loses=1,
    misconception="You do not check the log-sum-exp.",
)
def _(flash):
    _judge(flash, lse=False)


@mistake(
    TEST,
    "one-tile",
    caught_by="running maximum",
    loses=1.5,
    misconception="Your tiles are larger than your sequences: nothing is ever merged.",
)
def _(flash):
    _judge(flash, tile=64)


@mistake(
    TEST,
    "nan-passes",
    caught_by="running maximum",
    loses=2.5,
    misconception="You assert `not difference > limit`, which is true for NaN.",
)
def _(flash):
    _judge(flash, nan=True)


@mistake(
    TEST,
    "exact",
    caught_by="running maximum",
    loses=5,
    misconception="You require equal digits, but sums in another order round differently.",
)
def _(flash):
    q, k, v = torch.randn(3, 2, 33, 16, generator=torch.Generator().manual_seed(1))
    assert torch.equal(flash(q, k, v, 16, 16, False)[0], _exact(q, k, v, False)[0].float())


@mistake(
    TEST,
    "never-called",
    caught_by="running maximum",
    loses=5,
    misconception="Your test never calls the function that it is given.",
)
def _(flash):
    assert callable(flash)
