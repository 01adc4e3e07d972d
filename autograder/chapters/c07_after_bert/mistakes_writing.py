"""Plausible poor tests of chapter 7, part 4."""

from autograder.checks.mistakes.registry import mistake

TEST = "07.test_corrupt"
END, FIRST, LAST, TOP = (
    1,
    2,
    999,
    1099,
)  # as in the notebook, where these tests are written into a cell
IDS = list(range(FIRST, FIRST + 200))


def _sentinels(row):
    return [token for token in row if token > LAST]


def _restored(source, target):
    spans, span = {}, []
    for token in target:
        if token > LAST:
            span = spans[token] = []
        elif token != END:
            span.append(token)
    return [one for token in source if token != END for one in spans.get(token, [token])]


def _judge(
    implementation, order=True, pairs=True, ends=True, back=True, share=True, ids=IDS, seeds=10
):
    """The whole test, with parts left out."""
    for seed in range(seeds):
        source, target = implementation(list(ids), seed)
        if order:
            assert (
                _sentinels(source)
                == _sentinels(target)
                == [TOP - number for number in range(len(_sentinels(source)))]
            )
        if ends:
            assert (
                source[-1:] == target[-1:] == [END]
                and source.count(END) == target.count(END) == 1
                and target[-2:-1]
                and target[-2] <= LAST
            )
        if pairs:
            for row in (source, target):
                assert not any(
                    one > LAST
                    and (other > LAST or other == END)
                    and row is target
                    or one > LAST
                    and other > LAST
                    for one, other in zip(row, row[1:])
                )
        if back:
            assert _restored(source, target) == ids
        if share:
            assert len([token for token in target if END < token <= LAST]) == round(0.15 * len(ids))


@mistake(
    TEST,
    "round-trip-alone",
    caught_by="order",
    loses=5,
    misconception=(
        "Your test only puts the text back: sentinels in any order, and split spans, pass it."
    ),
)
def _(implementation):
    _judge(implementation, order=False, pairs=False, ends=False, share=False)


@mistake(
    TEST,
    "no-order",
    caught_by="order",
    loses=1.5,
    misconception="Your test does not compare the sentinels with `TOP`, `TOP` - 1, ...",
)
def _(implementation):
    _judge(implementation, order=False)


@mistake(
    TEST,
    "target-not-looked-at",
    caught_by="order",
    loses=1.5,
    misconception="Your test checks the sentinels of the source and not at those of the target.",
)
def _(implementation):
    _judge(implementation, order=False)
    source, _ = implementation(list(IDS), 0)
    assert _sentinels(source) == [TOP - number for number in range(len(_sentinels(source)))]


@mistake(
    TEST,
    "no-neighbours",
    caught_by="merging",
    loses=1,
    misconception="Your test lets two sentinels stand side by side.",
)
def _(implementation):
    _judge(implementation, pairs=False)


@mistake(
    TEST, "no-ends", caught_by="ends", loses=1, misconception="Your test does not check the ends."
)
def _(implementation):
    for seed in range(10):
        source, target = implementation(list(IDS), seed)
        names = _sentinels(source)
        if target[-1:] != [END] or target[-2] > LAST:
            target = [token for token in target if token != END]
            target = (target[:-1] if target[-1] > LAST else target) + [END]
        source, target = (
            [token for token in row if token != END] + [END] for row in (source, target)
        )
        _judge(lambda ids, seed: (source, target), seeds=1)
        assert names


@mistake(
    TEST,
    "closing-sentinel-allowed",
    caught_by="ends",
    loses=1,
    misconception="Your test lets a closing sentinel pass.",
)
def _(implementation):
    def opened(ids, seed):
        source, target = implementation(ids, seed)
        return source, (
            target[:-2] + target[-1:]
            if target[-1:] == [END] and target[-2] == TOP - len(_sentinels(source))
            else target
        )

    _judge(opened)


@mistake(
    TEST,
    "no-round-trip",
    caught_by="lost",
    loses=1.5,
    misconception="Your test does not put the text back.",
)
def _(implementation):
    _judge(implementation, back=False)


@mistake(
    TEST,
    "no-share",
    caught_by="lost",
    loses=1.5,
    misconception="Your test does not count how many tokens are lost.",
)
def _(implementation):
    _judge(implementation, share=False)


@mistake(
    TEST,
    "one-token-in-all",
    caught_by="lost",
    loses=1.5,
    misconception="Your text repeats one token, so that nobody can see tokens change positions.",
)
def _(implementation):
    _judge(implementation, ids=[7] * 200)


@mistake(
    TEST,
    "length-only",
    caught_by="order",
    loses=5,
    misconception="Your test compares lengths only.",
)
def _(implementation):
    source, target = implementation(list(IDS), 0)
    assert len(source) + len(target) > 200


@mistake(
    TEST,
    "last-token-must-be-lost",
    caught_by="order",
    loses=5,
    misconception="Your test wants the text to end with a lost span. It need not.",
)
def _(implementation):
    _judge(implementation)
    source, _ = implementation(list(IDS), 0)
    assert source[-2] > LAST


@mistake(
    TEST,
    "several-spans-wanted",
    caught_by="order",
    loses=5,
    misconception="Your test wants several spans. A single long one is right too.",
)
def _(implementation):
    _judge(implementation)
    source, _ = implementation(list(IDS), 0)
    assert len(_sentinels(source)) > 1


@mistake(
    TEST,
    "the-same-again",
    caught_by="order",
    loses=5,
    misconception="Your test wants the same answer for the same seed.",
)
def _(implementation):
    _judge(implementation)
    assert implementation(list(IDS), 3) == implementation(list(IDS), 3)


@mistake(
    TEST,
    "never-called",
    caught_by="order",
    loses=5,
    misconception="Your test never calls the implementation.",
)
def _(implementation):
    assert callable(implementation)
