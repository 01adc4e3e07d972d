"""Plausible wrong tests of chapter 3, part 4."""

import torch

from autograder.checks.mistakes.registry import mistake

WRITE = "03.test_no_peeking"
IDS = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8], [3, 1, 4, 1, 5, 9, 2, 6]])


def _changed(ids, row, place):
    other = ids.clone()
    other[row, place] = (other[row, place] + 1) % 11
    return other


def _same(one, other, atol=1e-4):
    return torch.allclose(one, other, atol=atol)


@mistake(
    WRITE,
    "only-the-last-word",
    caught_by="distant token",
    loses=4,
    misconception="You change only the last token and compare only the position before it.",
)
def _(implementation):
    before, after = implementation(IDS), implementation(_changed(_changed(IDS, 0, 7), 1, 7))
    assert _same(before[:, 6], after[:, 6])


@mistake(
    WRITE,
    "only-one-word",
    caught_by="distant token",
    loses=4,
    misconception=(
        "One word in the middle is changed. What sees the words after it, or before it too early,"
        " gets through."
    ),
)
def _(implementation):
    before, after = implementation(IDS[:1]), implementation(_changed(IDS[:1], 0, 4))
    assert _same(before[:, :4], after[:, :4])


@mistake(
    WRITE,
    "one-row",
    caught_by="other sequences",
    loses=1,
    misconception="A batch of one row has no other row to look at.",
)
def _(implementation):
    before = implementation(IDS[:1])
    for place in range(8):
        assert _same(before[:, :place], implementation(_changed(IDS[:1], 0, place))[:, :place])


@mistake(
    WRITE,
    "only-the-place-before",
    caught_by="distant token",
    loses=1.5,
    misconception="You change every token in turn, but compare only the position just before it.",
)
def _(implementation):
    before = implementation(IDS)
    for row in range(2):
        for place in range(1, 8):
            after = implementation(_changed(IDS, row, place))
            assert _same(before[row, place - 1], after[row, place - 1]) and _same(
                before[1 - row], after[1 - row]
            )


@mistake(
    WRITE,
    "shapes-only",
    caught_by="next token",
    loses=5,
    misconception="Your test checks the shape of the logits and never their values.",
)
def _(implementation):
    assert implementation(IDS).shape == (2, 8, 11)


@mistake(
    WRITE,
    "nothing-is-asserted",
    caught_by="next token",
    loses=5,
    misconception="A comparison without `assert` throws its answer away.",
)
def _(implementation):
    _same(implementation(IDS)[:, :4], implementation(_changed(IDS, 0, 4))[:, :4])


@mistake(
    WRITE,
    "exactly-equal",
    caught_by="next token",
    loses=5,
    misconception=(
        "A correct model may differ in the last digits when called again. Compare with a tolerance."
    ),
)
def _(implementation):
    before = implementation(IDS)
    for place in range(8):
        assert torch.equal(before[:, :place], implementation(_changed(IDS, 0, place))[:, :place])


@mistake(
    WRITE,
    "tolerance-of-one",
    caught_by="next token",
    loses=5,
    misconception="With a tolerance of 1 hardly any difference is seen.",
)
def _(implementation):
    before = implementation(IDS)
    for row in range(2):
        for place in range(8):
            after = implementation(_changed(IDS, row, place))
            assert _same(before[row, :place], after[row, :place], 2.0) and _same(
                before[1 - row], after[1 - row], 2.0
            )


@mistake(
    WRITE,
    "asks-the-past-to-stay",
    caught_by="next token",
    loses=5,
    misconception=(
        "You require the positions after the changed token to stay the same. Those may change."
    ),
)
def _(implementation):
    before, after = implementation(IDS), implementation(_changed(IDS, 0, 2))
    assert _same(before[:, 3:], after[:, 3:]) and _same(before[:, 2], after[:, 2])


@mistake(
    WRITE,
    "asks-its-own-place-to-stay",
    caught_by="next token",
    loses=5,
    misconception=(
        "The logits at a position may depend on the token there: only earlier ones must stay."
    ),
)
def _(implementation):
    before = implementation(IDS)
    for place in range(8):
        assert _same(
            before[:, : place + 1], implementation(_changed(IDS, 0, place))[:, : place + 1]
        )


@mistake(
    WRITE,
    "asks-that-the-past-matters",
    caught_by="next token",
    loses=5,
    misconception=(
        "You require earlier tokens to make a difference. A correct model need not use them."
    ),
)
def _(implementation):
    before = implementation(IDS)
    assert not _same(before[:, -1], implementation(_changed(_changed(IDS, 0, 0), 1, 0))[:, -1])


@mistake(
    WRITE,
    "never-called",
    caught_by="next token",
    loses=5,
    misconception="The test never calls the function that it is given.",
)
def _(implementation):
    assert _same(IDS[:, :4].float(), _changed(IDS, 0, 5)[:, :4].float())


@mistake(
    WRITE,
    "only-one-logit",
    caught_by="next token",
    loses=2.5,
    misconception=(
        "You compare only the first logit of each position. A model may peek in any of them."
    ),
)
def _(implementation):
    before = implementation(IDS)
    for row in range(2):
        for place in range(8):
            after = implementation(_changed(IDS, row, place))
            assert _same(before[row, :place, 0], after[row, :place, 0]) and _same(
                before[1 - row, :, 0], after[1 - row, :, 0]
            )


@mistake(
    WRITE,
    "the-other-row-is-the-first",
    caught_by="other sequences",
    loses=1,
    misconception=(
        "Only the first row is compared when a word of the second changes. The second may see the"
        " first, too."
    ),
)
def _(implementation):
    before = implementation(IDS)
    for place in range(8):
        after = implementation(_changed(IDS, 1, place))
        assert _same(before[1, :place], after[1, :place]) and _same(before[0], after[0])


@mistake(
    WRITE,
    "only-the-first-row-changes",
    caught_by="other sequences",
    loses=1,
    misconception="Words of the first row are changed only. The first row may see the second, too.",
)
def _(implementation):
    before = implementation(IDS)
    for place in range(8):
        after = implementation(_changed(IDS, 0, place))
        assert _same(before[0, :place], after[0, :place]) and _same(before[1], after[1])


@mistake(
    WRITE,
    "returns-the-verdict",
    caught_by="next token",
    loses=1,
    misconception="What a test returns is ignored: fail with `assert`.",
)
def _(implementation):
    before = implementation(IDS)
    for row in range(2):
        for place in range(8):
            after = implementation(_changed(IDS, row, place))
            after[row, place:] = before[row, place:]
            if not _same(before, after):
                return False
    return True
