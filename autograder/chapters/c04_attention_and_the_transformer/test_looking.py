"""Checks of chapter 4, part 1: scaled dot-product attention, and its causal and padding masks."""

import math

import torch

from autograder.chapters.c04_attention_and_the_transformer.withholding import FUSED, LAYERS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect
from autograder.checks.shown_call import shown

PAGE = "04-attention-and-the-transformer/attention"
CLOSE = {"rtol": 1e-4, "atol": 2e-6}
DOUBLE = {"rtol": 1e-9, "atol": 1e-11}
FEW = 12  # scores that a message shows
DIGITS = (
    "Keep float64: your result must have the dtype of q and all its digits, so"
    " nothing in between may be float32."
)

attention = exercise(
    "04.attention",
    function="attention",
    points=9,
    see=f"{PAGE}#the-formula",
    withhold=LAYERS | FUSED,
)


def attended(q, k, v, mask=None) -> torch.Tensor:
    """The right answer, in float64."""
    scores = torch.einsum("bhtd,bhsd->bhts", q.double(), k.double()) / math.sqrt(q.shape[-1])
    seen = torch.ones(len(q), 1, q.shape[2], k.shape[2], dtype=torch.bool) if mask is None else mask
    scores = torch.where(seen, scores, -torch.inf)
    highest = torch.where(seen.any(-1, keepdim=True), scores.amax(-1, keepdim=True), 0.0)
    powers = (scores - highest).exp()
    return torch.einsum(
        "bhts,bhsd->bhtd", powers / powers.sum(-1, keepdim=True).clamp(min=1e-300), v.double()
    )


def in_words(q, k, v, mask) -> str:
    """The input: its name, or the scores where they are few and large, or the sizes."""
    if k.shape == (1, 1, 4, 4) and torch.equal(k[0, 0], BANK[1]):
        return "the example by hand: the query BANK and a query of zeros, KEYS, VALUES, no mask"
    scores = q @ k.mT / math.sqrt(q.shape[3])
    if scores.abs().max() > 100 and scores.shape[:2] == (1, 1) and scores.numel() <= FEW:
        seen = "no mask" if mask is None else f"mask {shown(mask[0, 0].int())}"
        return f"scores {shown(scores[0, 0])}, {seen}, D = {q.shape[3]}"
    sizes = "B = {}, H = {}, T = {}, D = {}, S = {}".format(*q.shape, k.shape[2])
    return f"{sizes}, {'no mask' if mask is None else 'a mask'}"


def ask(
    student,
    parts: tuple,
    cause: str,
    rtol: float = CLOSE["rtol"],
    atol: float = CLOSE["atol"],
    size: float = 0.0,
) -> None:
    """Compare one answer; parts: q, k, v and the mask.

    atol: where the values are of size 1. size: what the largest weighted value has, if known.
    """
    q, size = parts[0], size or max(1.0, float(parts[2].abs().max()))
    asked = expect(student.attention(*parts), given=in_words(*parts))
    asked.close(attended(*parts).to(q.dtype), rtol=rtol, atol=atol * size, cause=cause)
    if q.dtype == torch.float64 and asked.value.dtype == torch.float64:
        asked.close(attended(*parts), **DOUBLE, cause=DIGITS)


def ask_large(student, parts: tuple, cause: str) -> None:
    """Compare one answer where scores are in the thousands: float32 knows them, and the logarithm
    of a sum of their powers, to 0.001.
    """
    ask(student, parts, cause, rtol=2e-3, atol=2e-3)


def heads(
    rng: torch.Generator, batch: int, number: int, queries: int, keys: int, width: int
) -> tuple:
    """q, k and v, whose scores differ plainly."""
    return (
        1.3 * normal(rng, batch, number, queries, width),
        1.3 * normal(rng, batch, number, keys, width),
        normal(rng, batch, number, keys, width),
    )


def seen_by(rng: torch.Generator, batch: int, queries: int, keys: int) -> torch.Tensor:
    """A mask in which every query sees a key and, where there are two or more, misses one."""
    mask = torch.rand(batch, 1, queries, keys, generator=rng) < 0.5
    order = torch.rand(batch, 1, queries, keys, generator=rng).argsort(-1)
    return mask.scatter(-1, order[..., :1], False).scatter(-1, order[..., -1:], True)


def drawn(rng: torch.Generator, *sizes: int) -> tuple:
    """q, k, v and a mask."""
    return *heads(rng, *sizes), seen_by(rng, sizes[0], sizes[2], sizes[3])


@attention.stage("single key", points=0.5)
def test_a_single_key_has_the_weight_1(student, rng):
    for sizes in (
        (1, 1, 2, 1, 1),
        (1, 1, 3, 1, 4),
        (2, 3, 4, 1, 5),
        (3, 2, whole(rng, 3, 6), 1, 2),
    ):
        ask(
            student,
            (*heads(rng, *sizes), None),
            (
                "Give a single key the weight 1, whatever its score: each query returns that"
                " key's value."
            ),
        )


AXIS = (
    "Exponentiate the scores of each query and divide by their sum over the keys;"
    " weight each value with its own key's weight."
)


@attention.stage("softmax over keys", points=2)
def test_the_weights_of_a_query_add_up_to_1_over_the_keys(student, rng):
    for sizes in ((1, 1, 2, 3, 1), (1, 1, 4, 2, 1), (1, 1, 3, 3, 1)):
        ask(student, (*heads(rng, *sizes), None), AXIS)
    ask(
        student,
        (torch.zeros(1, 1, 2, 1), *heads(rng, 1, 1, 2, 5, 1)[1:], None),
        (
            "Give a query of zeros the mean of the values: all its scores are 0, so all"
            " weights are equal."
        ),
    )
    for sizes in (
        (2, 3, 4, 5, 1),
        (3, 2, 5, 4, 1),
        (2, 2, 2, 2, 1),
        (2, 4, whole(rng, 6, 9), whole(rng, 3, 5), 1),
    ):
        ask(
            student,
            (*heads(rng, *sizes), None),
            (
                "Keep heads and sequences independent: softmax over the keys of the same head"
                " and sequence, then weight their values."
            ),
        )


BANK = (
    2 * math.log(2) * torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 0]]),
    torch.tensor([[0.0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]),
    torch.tensor([[0.0, 8, 0, 0], [0, 0, 0, 0], [4, 4, 0, 0], [8, 0, 0, 0]]),
)


@attention.stage("scaling by root D", points=1.5)
def test_scores_are_divided_by_the_square_root_of_d(student, rng):
    rule = (
        "Divide the dot product of query and key by the square root of D, the"
        " dimension of one head."
    )
    ask(
        student,
        (*(one[None, None] for one in BANK), None),
        (
            "Divide the dot product of query and key by the square root of D, as in the"
            " example by hand."
        ),
    )
    for sizes in (
        (1, 1, 3, 2, 2),
        (1, 1, 2, 4, 3),
        (1, 2, 3, 5, 4),
        (2, 3, 4, 5, 7),
        (2, 3, 5, 4, 16),
        (1, 2, 3, 6, 64),
        (2, 2, 4, 3, whole(rng, 20, 40)),
        (3, 3, 3, 3, 3),
        (2, 9, 3, 2, 4),
        (1, 1, 2, 2, 130),
    ):
        ask(student, (*heads(rng, *sizes), None), rule)


@attention.stage("masked keys", points=2)
def test_masked_keys_have_no_influence(student, rng):
    rule = (
        "Leave out keys where the mask is False, so that the other weights add up to 1; each"
        " query has its own mask row."
    )
    for sizes in (
        (1, 1, 2, 3, 1),
        (1, 1, 3, 2, 1),
        (1, 3, 4, 5, 1),
        (3, 1, 4, 6, 1),
        (3, 2, 5, 4, 1),
        (2, 2, 3, 3, 1),
        (4, 4, 4, 4, 1),
    ):
        ask(student, drawn(rng, *sizes), rule)
    for parts in one_changed(drawn(rng, 2, 3, 4, 5, 1), drawn(rng, 2, 3, 4, 5, 1)):
        ask(student, parts, rule)
    three = torch.rand(2, 1, 3, 5, generator=rng).argsort(-1) < 3
    for parts in look_alikes((*heads(rng, 2, 2, 3, 5, 1), three)):
        ask(
            student,
            parts,
            (
                "Use every element of q, k, v and mask at its own index: your result must"
                " depend on all of them."
            ),
        )
    q, k, v, mask = drawn(rng, 2, 2, 4, 6, 1)
    ask(student, (q, k, v, None), "Let every query attend to every key when the mask is None.")
    ask(
        student, (q, k, v, torch.ones_like(mask)), "Mask nothing where the mask is True everywhere."
    )
    ask(
        student,
        (torch.zeros_like(q), k, v, mask),
        (
            "Treat a score of 0 like any other: a query of zeros returns the mean of its"
            " unmasked values."
        ),
    )
    ask(
        student,
        (q, k, 1000 * v, mask),
        (
            "Leave masked keys out entirely: values may be large, so even a tiny weight"
            " on a masked key shows."
        ),
    )
    ask(
        student,
        (q, k, v, torch.ones(4, 6, dtype=torch.bool).tril(2).expand(2, 1, 4, 6).clone()),
        rule,
    )
    padded = torch.arange(6) < torch.tensor([[[[5]]], [[[2]]]])
    ask(student, (q, k, v, padded.expand(2, 1, 4, 6).clone()), rule)


@attention.stage("fully masked queries", points=1)
def test_a_fully_masked_query_returns_zeros(student, rng):
    rule = (
        "Return zeros for a fully masked query, not NaN and not an average of masked"
        " values; other queries are unaffected."
    )
    for sizes, empty in (
        ((1, 1, 3, 2, 1), [1]),
        ((1, 2, 4, 5, 1), [0, 3]),
        ((2, 3, 4, 3, 1), [2]),
        ((1, 1, 2, 1, 1), [0]),
        ((2, 2, 4, 4, 1), [0, 1, 2, 3]),
    ):
        q, k, v, mask = drawn(rng, *sizes)
        mask[-1, 0, :, :2] = True  # of one key alone the score does not matter
        mask[-1, 0, empty] = False
        ask(student, (q, k, v, mask), rule)
        ask(student, (q, k, 300 * (v + 2), mask), rule)
    q, k, v, mask = drawn(rng, 2, 2, 3, 4, 1)
    ask(
        student,
        (q, k, v, torch.zeros_like(mask)),
        ("Return zeros for fully masked queries, also where every query of every sequence is one."),
    )
    ask(
        student,
        (3000 * q.sign(), k.sign(), v, torch.zeros_like(mask)),
        (
            "Return zeros for fully masked queries, also where exp of their scores overflows:"
            " infinity times 0 is NaN."
        ),
    )


def scored(scores: list[list[float]], width: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """q and k of one text and head with exactly these scores, (T, S), which are of the form a_t b_s
    or whole numbers; T is at most `width`.
    """
    wanted = torch.tensor(scores)  # (T, S)
    q = math.isqrt(width) * torch.eye(len(scores), width)
    return (
        q[None, None],
        torch.cat([wanted, torch.zeros(width - len(scores), wanted.shape[1])])
        .T[None, None]
        .clone(),
    )


@attention.stage("large scores", points=1)
def test_scores_of_ten_thousand_give_finite_weights(student, rng):
    rule = (
        "Subtract each row's own maximum before you exponentiate, or use softmax: at ±10,000 exp"
        " overflows, or underflows to 0 for a whole row."
    )
    near = [10_000.0, 9_999.0, 9_998.0, 9_990.0]
    for rows in (
        [near],
        [[-one for one in near]],
        [near, [-one for one in near], [0.0, 1.0, 2.0, -1.0]],
        [[120.0, 119.0], [-120.0, -119.0]],
        [[10_000.0, -10_000.0, 9_999.0], [-9_999.0, -10_000.0, -9_999.0]],
        [[10_000.0, 10_000.0]],
        [[-200.0, -201.0, -202.0]],
    ):
        for width in (4, 16) if len(rows) > 1 else (4,):
            q, k = scored(rows if len(rows) > 1 else [*rows, [0.0 for _ in rows[0]]], width)
            ask_large(student, (q, k, normal(rng, 1, 1, len(rows[0]), width), None), rule)
    q, k = scored([near, [3.0, 1.0, 2.0, 0.0]])
    ask_large(
        student,
        (torch.cat([q, q.flip(2)], 1), k.expand(1, 2, 4, 4).clone(), normal(rng, 1, 2, 4, 4), None),
        rule,
    )
    hidden = (
        "Take the row's maximum over unmasked keys only: a masked key must not count,"
        " however large its score."
    )
    for gap in (14.0, 60.0, 300.0, 10_000.0):
        for seen in ([0.0, 1.0, 2.0], [-1.0, -2.0, 0.0], [-gap, -gap + 1, -gap - 1]):
            q, k = scored([[*seen, gap], [gap, *seen]])
            mask = torch.tensor([[True, True, True, False], [False, True, True, True]])[None, None]
            ask_large(student, (q, k, normal(rng, 1, 1, 4, 4), mask), hidden)
    q, k = scored([[-10_000.0, -9_999.0, 0.0, 5.0], [-9_997.0, -9_998.0, 10_000.0, 0.0]])
    ask_large(
        student,
        (q, k, normal(rng, 1, 1, 4, 4), torch.tensor([[True, True, False, False]] * 2)[None, None]),
        "Mask with minus infinity: unmasked scores can be near -10,000 themselves.",
    )
    ask_large(
        student,
        (q, k, 10_000 * normal(rng, 1, 1, 4, 4), None),
        (
            "Subtract each row's own maximum before you exponentiate, or use softmax; values"
            " may be large too."
        ),
    )
    ramp = (torch.arange(600) * 30.0 - 9000).tolist()
    q, k = scored([ramp, ramp[::-1]])
    ask_large(
        student,
        (q, k, normal(rng, 1, 1, 600, 4), None),
        (
            "Subtract each row's own maximum before you exponentiate, or use softmax: scores"
            " of 600 keys rise or fall here."
        ),
    )
    half = torch.arange(600) < 300
    ask_large(
        student, (q, k, normal(rng, 1, 1, 600, 4), torch.stack([half, ~half])[None, None]), hidden
    )
    for gap in (12.0, 16.0, 20.0):
        q, k = scored([[gap + 1, 1.0, 1.0], [-1.0, -gap - 1, -gap - 1]])
        ask(
            student,
            (
                q,
                k,
                torch.tensor([[0.0, 0, 0, 1], [1e5, -9e4, 0, 0], [2e4, 0, 7e4, 0]])[None, None],
                None,
            ),
            "Keep the small weight of a key with a low score: its value may be large.",
            size=1.0,
        )


@attention.stage("sizes and float64", points=1)
def test_axes_may_be_short_or_long_and_the_arguments_float64(student, rng):
    for sizes in (
        (1, 1, 1, 1, 1),
        (1, 2, 3, 4, 5),
        (3, 1, 2, 4, 5),
        (2, 3, 1, 4, 5),
        (2, 3, 4, 1, 5),
        (2, 3, 4, 5, 1),
        (1, 1, 1, 7, 3),
        (2, 2, 2, 2, 2),
        (5, 5, 5, 5, 5),
        (1, 1, 600, 3, 2),
        (2, 1, 3, 600, 2),
        (1, 1, 2, 3, 600),
        (1, 600, 1, 3, 2),
        (600, 1, 1, 3, 2),
        (1, 1, 70, 70, 2),
        (2, 3, whole(rng, 2, 6), whole(rng, 2, 6), 3),
    ):
        q, *others = drawn(rng, *sizes)
        parts = (q / 2, *others)  # small scores: large ones have a stage of their own
        if max(sizes) > 100:
            parts[3][-1, 0, -1] = False
        ask(
            student,
            parts,
            "Support axes of length 1 and of several hundred: the rules are the same.",
        )
        if max(sizes) < 100:
            ask(student, (*parts[:3], None), "Support axes of length 1 without a mask too.")
    q, k, v = heads(rng, 1, 1, 2, 600, 2)
    ask(
        student,
        (0 * q, k, v, None),
        "Give a query of zeros the mean of the values, also over 600 keys.",
    )
    for sizes in ((1, 1, 1, 1, 1), (2, 1, 1, 4, 2)):
        parts = drawn(rng, *sizes)
        ask(
            student,
            (*parts[:3], torch.zeros_like(parts[3])),
            "Return zeros for a single fully masked query too.",
        )
    q, k, v, mask = drawn(rng, 2, 3, 4, 5, 3)
    mask[1, 0, 2] = False
    for seen in (mask, None):
        ask(
            student,
            (
                q.double() + 1e-9 * uniform(rng, 0, 1, *q.shape).double(),
                k.double() / 3,
                v.double() / 7,
                seen,
            ),
            "Support float64: the same rules, and a float64 result.",
        )


masks = exercise(
    "04.masks",
    function="masks",
    points=5,
    see=f"{PAGE}#attention-masks",
    withhold=LAYERS | FUSED,
)


def right_mask(lengths: list[int], queries: int, keys: int) -> torch.Tensor:
    """The right mask, cell by cell as the statement says it."""

    def row(length: int, place: int) -> list[bool]:
        return (
            [key < length and key <= place for key in range(keys)]
            if keys < 200
            else [True] * (n := min(length, place + 1)) + [False] * (keys - n)
        )

    return torch.tensor(
        [[[row(length, keys - queries + query) for query in range(queries)]] for length in lengths]
    )


def ask_mask(student, lengths: list[int], queries: int, keys: int, cause: str) -> None:
    """Compare one mask."""
    came = student.masks(torch.tensor(lengths), queries, keys)
    expect(came, given=f"lengths {lengths}, {queries} queries, {keys} keys").equals(
        right_mask(lengths, queries, keys), cause=cause
    )


@masks.stage("causal mask", points=1)
def test_no_query_attends_to_a_later_key(student, rng):
    rule = (
        "Let each query attend to its own position and all earlier ones, and to no"
        " later one: a triangle with its diagonal."
    )
    for number, keys in ((1, 2), (1, 4), (2, 3), (3, 5), (2, whole(rng, 6, 9))):
        ask_mask(student, [keys] * number, keys, keys, rule)


@masks.stage("last T positions", points=1.5)
def test_the_queries_are_at_the_last_positions(student, rng):
    rule = (
        "Put query t at position S - T + t: the queries are the last T positions, and"
        " the last query attends to every key."
    )
    for number, queries, keys in (
        (1, 2, 3),
        (1, 2, 5),
        (2, 3, 4),
        (3, 2, 6),
        (1, 4, 9),
        (2, whole(rng, 2, 4), whole(rng, 5, 9)),
    ):
        ask_mask(student, [keys] * number, queries, keys, rule)


@masks.stage("padding mask", points=1)
def test_the_padding_is_masked(student, rng):
    rule = "Mask key s of sequence b from lengths[b] on, where the padding begins."
    for lengths, keys in (
        ([2], 3),
        ([3, 1], 4),
        ([4, 2, 5, 1], 6),
        ([1, 6, 6, 2], 8),
        ([whole(rng, 1, 3), whole(rng, 4, 6)], 7),
    ):
        ask_mask(student, lengths, 1, keys, rule)


@masks.stage("both masks together", points=1)
def test_both_conditions_hold(student, rng):
    rule = (
        "Combine both conditions with and: the key is no padding and not after the"
        " query, for queries at padding positions too."
    )
    for lengths, queries, keys in (
        ([3, 2], 2, 3),
        ([2], 4, 4),
        ([4, 1, 3], 4, 4),
        ([1, 5, 3], 3, 5),
        ([6, 2, 4, 5], 2, 6),
        ([1, 1], 3, 3),
    ):
        ask_mask(student, lengths, queries, keys, rule)
    for lengths, queries, keys in (([0], 3, 3), ([0, 3], 2, 3), ([2, 0, 0], 1, 4)):
        ask_mask(
            student,
            lengths,
            queries,
            keys,
            "Return False everywhere for a sequence of length 0.",
        )
    for lengths, queries, keys in one_changed(([4, 2, 3], 3, 5), ([1, 5, 4], 4, 6)):
        ask_mask(student, lengths, queries, keys, rule)
    for lengths, queries, keys in look_alikes((torch.tensor([4, 1, 3, 2, 5]), 3, 5)):
        ask_mask(
            student,
            lengths.tolist(),
            queries,
            keys,
            (
                "Combine both conditions with and, using lengths[b] for sequence b: their"
                " order matters."
            ),
        )
    ask_mask(student, [whole(rng, 1, 4), whole(rng, 5, 8), 0], whole(rng, 2, 6), 8, rule)


@masks.stage("small and large sizes", points=0.5)
def test_sizes_from_one_to_hundreds(student, rng):
    rule = "Support sizes from 1 to several hundred: the rules are the same."
    for lengths, queries, keys in (
        ([1], 1, 1),
        ([0], 1, 1),
        ([0, 1, 0], 1, 1),
        ([1, 2], 1, 2),
        ([2, 0, 1], 2, 2),
        ([130, 7], 3, 130),
        ([300, 7], 2, 400),
        ([101], 130, 130),
        ([300], 300, 300),
        ([600, 300, 599], 3, 600),
        ([260], 120, 600),
        ([whole(rng, 0, 3) for _ in range(600)], 2, 3),
    ):
        ask_mask(student, lengths, queries, keys, rule)
