"""Plausible poor tests of chapter 8, part 1."""

import torch

from autograder.checks.mistakes.registry import mistake

TEST = "08.test_causal"
SIZE, PLACES = 9, 6  # as in the notebook, where these tests are written into a cell


def _judge(
    model,
    lengths=range(1, PLACES + 1),
    changed=lambda T: range(T),
    ahead=True,
    blind=True,
    own=True,
    limit=1e-3,
    columns=slice(None),
    only_next=False,
):
    """The whole test, with parts left out."""
    for T in lengths:
        ids = torch.arange(T)[None]
        before = model(ids)
        for place in changed(T):
            other = ids.clone()
            other[0, place] = SIZE - 1
            moved = (model(other) - before)[0].abs()[:, columns].amax(1) > limit
            if ahead:
                assert not moved[max(place - 1, 0) if only_next else 0 : place].any()
            if blind:
                assert bool(moved[place if own else place + 1 :].all())


@mistake(
    TEST,
    "shapes-only",
    caught_by="ahead",
    loses=5,
    misconception="Your test checks the shape of the logits and never a value.",
)
def _(model):
    assert model(torch.arange(5)[None]).shape == (1, 5, SIZE)


@mistake(
    TEST,
    "nothing-asserted",
    caught_by="ahead",
    loses=5,
    misconception="A comparison without `assert` throws its answer away.",
)
def _(model):
    before, after = model(torch.tensor([[0, 1, 2]])), model(torch.tensor([[0, 1, 3]]))
    torch.equal(before[:, :2], after[:, :2])


@mistake(
    TEST,
    "first-token-only",
    caught_by="ahead",
    loses=5,
    misconception=(
        "You change the first token alone: nothing stands before it that could see it too early."
    ),
)
def _(model):
    _judge(model, changed=lambda T: [0])


@mistake(
    TEST,
    "last-token-only",
    caught_by="some",
    loses=2.5,
    misconception="You change the last token alone.",
)
def _(model):
    _judge(model, changed=lambda T: [T - 1])


@mistake(
    TEST,
    "middle-token-only",
    caught_by="some",
    loses=2.5,
    misconception="You change one token in the middle.",
)
def _(model):
    _judge(model, changed=lambda T: [T // 2])


@mistake(
    TEST,
    "exactly-equal",
    caught_by="ahead",
    loses=5,
    misconception=(
        "You ask that numbers are equal to the last digit, which right models need not keep."
    ),
)
def _(model):
    _judge(model, limit=0.0)


@mistake(
    TEST,
    "too-wide",
    caught_by="some",
    loses=1,
    misconception="Your tolerance lets moves of a few hundredths pass.",
)
def _(model):
    _judge(model, limit=0.3, blind=False)
    _judge(model, ahead=False)


@mistake(
    TEST, "one-length", caught_by="lengths", loses=2.5, misconception="You ask for one length only."
)
def _(model):
    _judge(model, lengths=[4])


@mistake(
    TEST,
    "longest-only",
    caught_by="lengths",
    loses=2.5,
    misconception="You ask for the longest texts only.",
)
def _(model):
    _judge(model, lengths=[PLACES])


@mistake(
    TEST,
    "not-the-longest",
    caught_by="lengths",
    loses=1,
    misconception="You never ask for a text of the largest length.",
)
def _(model):
    _judge(model, lengths=range(1, PLACES))


@mistake(
    TEST,
    "nothing-blind",
    caught_by="blind",
    loses=1.5,
    misconception=(
        "You ask that nothing moves too early, and not that anything moves: a model that sees"
        " nothing passes."
    ),
)
def _(model):
    _judge(model, blind=False)


@mistake(
    TEST,
    "own-token-not-asked",
    caught_by="blind",
    loses=1.5,
    misconception="You don't test whether a position sees its own token.",
)
def _(model):
    _judge(model, own=False)


@mistake(
    TEST,
    "moves-somewhere",
    caught_by="blind",
    loses=1.5,
    misconception="You require a change at one position after the changed token, not at each.",
)
def _(model):
    _judge(model, blind=False)
    for T in range(1, PLACES + 1):
        ids = torch.arange(T)[None]
        for place in range(T):
            other = ids.clone()
            other[0, place] = SIZE - 1
            assert not torch.allclose(model(other), model(ids), atol=1e-3)


@mistake(
    TEST,
    "itself-forbidden",
    caught_by="ahead",
    loses=5,
    misconception=(
        "You reject models in which a position sees its own token. Only later tokens are masked."
    ),
)
def _(model):
    for T in range(2, PLACES + 1):
        ids = torch.arange(T)[None]
        before = model(ids)
        for place in range(T):
            other = ids.clone()
            other[0, place] = SIZE - 1
            assert torch.allclose(model(other)[:, : place + 1], before[:, : place + 1], atol=1e-3)


@mistake(
    TEST,
    "only-the-place-before",
    caught_by="some",
    loses=1,
    misconception=(
        "You compare only the position just before the change. A model that sees two tokens "
        "ahead passes."
    ),
)
def _(model):
    _judge(model, only_next=True)


@mistake(
    TEST,
    "first-column",
    caught_by="ahead",
    loses=5,
    misconception="You compare one column of the logits.",
)
def _(model):
    _judge(model, columns=slice(0, 1))


@mistake(
    TEST,
    "every-column-moves",
    caught_by="ahead",
    loses=5,
    misconception="You ask that every column moves. One is enough.",
)
def _(model):
    _judge(model, blind=False)
    for T in range(1, PLACES + 1):
        ids = torch.arange(T)[None]
        for place in range(T):
            other = ids.clone()
            other[0, place] = SIZE - 1
            assert bool(((model(other) - model(ids)).abs()[0, place:] > 0.01).all())


@mistake(
    TEST,
    "likeliest-token",
    caught_by="ahead",
    loses=4,
    misconception=(
        "You compare the argmax of the logits. Logits change long before the argmax does."
    ),
)
def _(model):
    for T in range(1, PLACES + 1):
        ids = torch.arange(T)[None]
        before = model(ids).argmax(2)
        for place in range(T):
            other = ids.clone()
            other[0, place] = SIZE - 1
            assert torch.equal(model(other).argmax(2)[:, :place], before[:, :place])


@mistake(
    TEST,
    "never-called",
    caught_by="ahead",
    loses=5,
    misconception="Your test never calls the model.",
)
def _(model):
    assert callable(model)
