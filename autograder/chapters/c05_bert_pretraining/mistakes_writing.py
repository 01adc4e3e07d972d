"""Plausible wrong tests of chapter 5, part 2."""

import torch

from autograder.checks.mistakes.registry import mistake

WRITE = "05.test_masking"
MASK, FIRST = 4, 5


def _ids(rows=200, free=80):
    ids = torch.zeros(rows, 100, dtype=torch.int64)
    ids[:, 0], ids[:, free + 1] = 2, 3
    ids[:, 1 : free + 1] = torch.arange(rows * free).reshape(rows, free) * 7 % 995 + FIRST
    return ids


def _judge(
    ids,
    new,
    labels,
    room=0.04,
    share=True,
    specials=True,
    right=True,
    others=True,
    fates=True,
    drawn=True,
):
    """All promises, less those that are switched off."""
    chosen = labels != -100
    n = (ids >= FIRST).sum(1)
    assert not share or bool((chosen.sum(1) == (15 * n / 100).round().clamp(min=1)).all())
    assert (
        not specials
        or not chosen[ids < FIRST].any()
        and torch.equal(new[ids < FIRST], ids[ids < FIRST])
    )
    assert not right or torch.equal(labels[chosen], ids[chosen])
    free = ~chosen & (ids >= FIRST)
    assert not others or torch.equal(new[free], ids[free])
    covered, kept = new[chosen] == MASK, new[chosen] == ids[chosen]
    if fates:
        for part, wanted in ((covered, 0.8), (kept, 0.1), (~covered & ~kept, 0.1)):
            assert abs(float(part.float().mean()) - wanted) <= room
    swapped = new[chosen][~covered & ~kept]
    assert not drawn or bool((swapped >= FIRST).all()) and len(swapped.unique()) > 100


def _with(implementation, ids=None, **how):
    ids = _ids() if ids is None else ids
    _judge(ids, *implementation(ids, ids < FIRST, 1), **how)


@mistake(
    WRITE,
    "looks-at-ids-only",
    caught_by="fraction",
    loses=6,
    misconception="Your test checks the new ids and never the labels.",
)
def _(implementation):
    ids = _ids()
    new, _ = implementation(ids, ids < FIRST, 1)
    assert 0.09 < float((new != ids).float().mean()) < 0.13


@mistake(
    WRITE,
    "shapes-only",
    caught_by="fraction",
    loses=6,
    misconception="Your test checks shapes and types only.",
)
def _(implementation):
    ids = _ids()
    new, labels = implementation(ids, ids < FIRST, 1)
    assert new.shape == labels.shape == ids.shape and new.dtype == labels.dtype == torch.int64


@mistake(
    WRITE,
    "never-called",
    caught_by="fraction",
    loses=6,
    misconception="Your test never calls the implementation.",
)
def _(implementation):
    assert (_ids() >= FIRST).any()


@mistake(
    WRITE,
    "share-in-the-mean",
    caught_by="fraction",
    loses=1.5,
    misconception=(
        "You check the selected fraction over the whole batch. Independent draws"
        " have the right fraction on average."
    ),
)
def _(implementation):
    ids = _ids()
    new, labels = implementation(ids, ids < FIRST, 1)
    assert abs(float((labels != -100).sum() / (ids >= FIRST).sum()) - 0.15) < 0.01
    _judge(ids, new, labels, share=False)


@mistake(
    WRITE,
    "share-of-all-places",
    caught_by="fraction",
    loses=6,
    misconception="You expect 15 % of all positions. Special tokens do not count.",
)
def _(implementation):
    ids = _ids()
    _, labels = implementation(ids, ids < FIRST, 1)
    assert bool(((labels != -100).sum(1) == 15).all())


@mistake(
    WRITE,
    "no-specials",
    caught_by="specials",
    loses=1.5,
    misconception="Your test never checks special tokens.",
)
def _(implementation):
    _with(implementation, specials=False)


@mistake(
    WRITE,
    "special-labels-only",
    caught_by="specials",
    loses=1.5,
    misconception="Your test checks the labels of special tokens and not their new ids.",
)
def _(implementation):
    ids = _ids()
    new, labels = implementation(ids, ids < FIRST, 1)
    assert not (labels != -100)[ids < FIRST].any()
    _judge(ids, new, labels, specials=False)


@mistake(
    WRITE,
    "labels-against-new-ids",
    caught_by="fraction",
    loses=6,
    misconception="You compare labels with the new ids. They are the original ids.",
)
def _(implementation):
    ids = _ids()
    new, labels = implementation(ids, ids < FIRST, 1)
    assert torch.equal(labels[labels != -100], new[labels != -100])


@mistake(
    WRITE,
    "labels-not-compared",
    caught_by="labels",
    loses=1.5,
    misconception="Your test counts labels and does not compare them with the ids.",
)
def _(implementation):
    _with(implementation, right=False)


@mistake(
    WRITE,
    "unlabelled-places-not-compared",
    caught_by="labels",
    loses=1.5,
    misconception="Your test does not check that tokens without a label stay unchanged.",
)
def _(implementation):
    _with(implementation, others=False)


@mistake(
    WRITE,
    "no-fates",
    caught_by="replacement",
    loses=1.5,
    misconception="Your test does not check how selected tokens are replaced.",
)
def _(implementation):
    _with(implementation, fates=False, drawn=False)


@mistake(
    WRITE,
    "only-covered-counted",
    caught_by="replacement",
    loses=1.5,
    misconception=(
        "You check only the fraction of `MASK`: an implementation without"
        " unchanged or random tokens passes."
    ),
)
def _(implementation):
    ids = _ids()
    new, labels = implementation(ids, ids < FIRST, 1)
    assert abs(float((new == MASK)[labels != -100].float().mean()) - 0.8) < 0.04
    _judge(ids, new, labels, fates=False, drawn=False)


@mistake(
    WRITE,
    "swapped-never-looked-at",
    caught_by="replacement",
    loses=1.5,
    misconception="Your test does not check the random tokens.",
)
def _(implementation):
    _with(implementation, drawn=False)


@mistake(
    WRITE,
    "too-wide",
    caught_by="replacement",
    loses=1.5,
    misconception="You allow 0.15 on either side, so other fractions pass.",
)
def _(implementation):
    _with(implementation, room=0.15)


@mistake(
    WRITE,
    "exact-shares",
    caught_by="fraction",
    loses=6,
    misconception="You expect exactly 80, 10 and 10 %. Fractions vary by chance.",
)
def _(implementation):
    _with(implementation, room=0.002)


@mistake(
    WRITE,
    "covers-all",
    caught_by="fraction",
    loses=6,
    misconception="You expect every selected token to become `MASK`.",
)
def _(implementation):
    ids = _ids()
    new, labels = implementation(ids, ids < FIRST, 1)
    assert bool((new == MASK)[labels != -100].all())


@mistake(
    WRITE,
    "a-half-rounds-down",
    caught_by="fraction",
    loses=6,
    misconception=(
        "You use ten ordinary tokens, where correct implementations may round either way."
    ),
)
def _(implementation):
    ids = _ids(free=30)
    _, labels = implementation(ids, ids < FIRST, 1)
    assert bool(((labels != -100).sum(1) == 4).all())
    _with(implementation)


@mistake(
    WRITE,
    "same-seed-same-answer",
    caught_by="fraction",
    loses=6,
    misconception="You expect the same result for the same seed, which is not promised.",
)
def _(implementation):
    ids = _ids()
    assert torch.equal(
        implementation(ids, ids < FIRST, 1)[1], implementation(ids, ids < FIRST, 1)[1]
    )
    _with(implementation)


@mistake(
    WRITE,
    "returns-the-verdict",
    caught_by="fraction",
    loses=1.2,
    misconception="You return a value. A test complains with `assert`.",
)
def _(implementation):
    try:
        _with(implementation)
    except AssertionError:
        return False
    return True
