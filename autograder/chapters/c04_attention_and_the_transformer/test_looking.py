"""Checks of chapter 4, part 1: a query takes the mean of what it may see, and which keys it may
see.
"""

import math

import torch

from autograder.chapters.c04_attention_and_the_transformer.withholding import FUSED, LAYERS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

PAGE = "04-attention-and-the-transformer/attention"
CLOSE = {"rtol": 1e-4, "atol": 2e-6}
DOUBLE = {"rtol": 1e-9, "atol": 1e-11}
DIGITS = (
    "float64 comes in and float64 goes out, with all its digits: nothing on the way is float32."
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
    (q, k), size = parts[:2], size or max(1.0, float(parts[2].abs().max()))
    given = "B = {}, H = {}, T = {}, D = {}, S = {}, {}".format(
        *q.shape, k.shape[2], "no mask" if parts[3] is None else "a mask"
    )
    asked = expect(student.attention(*parts), given=given)
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


@attention.stage("one-key", points=0.5)
def test_a_single_key_is_all_that_there_is_to_see(student, rng):
    for sizes in (
        (1, 1, 2, 1, 1),
        (1, 1, 3, 1, 4),
        (2, 3, 4, 1, 5),
        (3, 2, whole(rng, 3, 6), 1, 2),
    ):
        ask(
            student,
            (*heads(rng, *sizes), None),
            "With one key the weight is 1, whatever the score: each query gets that key's value as"
            " it is.",
        )


AXIS = (
    "The weights of a query are e to its scores, divided by their sum over the keys; then each"
    " value is multiplied by the weight of its own key. Here D is 1, and the scale too."
)


@attention.stage("axis", points=2)
def test_the_weights_of_a_query_add_up_to_1_over_the_keys(student, rng):
    for sizes in ((1, 1, 2, 3, 1), (1, 1, 4, 2, 1), (1, 1, 3, 3, 1)):
        ask(student, (*heads(rng, *sizes), None), AXIS)
    ask(
        student,
        (torch.zeros(1, 1, 2, 1), *heads(rng, 1, 1, 2, 5, 1)[1:], None),
        "A query of zeros fits all keys alike: it gets the mean of the values.",
    )
    for sizes in (
        (2, 3, 4, 5, 1),
        (3, 2, 5, 4, 1),
        (2, 2, 2, 2, 1),
        (2, 4, whole(rng, 6, 9), whole(rng, 3, 5), 1),
    ):
        ask(student, (*heads(rng, *sizes), None), f"{AXIS} Each head of each text is for itself.")


BANK = (
    2 * math.log(2) * torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 0]]),
    torch.tensor([[0.0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]),
    torch.tensor([[0.0, 8, 0, 0], [0, 0, 0, 0], [4, 4, 0, 0], [8, 0, 0, 0]]),
)


@attention.stage("scale", points=1.5)
def test_the_scores_are_divided_by_the_root_of_the_width(student, rng):
    rule = (
        "A score is the product of query and key, summed over their D numbers and divided by the"
        " square root of D, the width of one head."
    )
    ask(
        student,
        (*(one[None, None] for one in BANK), None),
        f"{rule} This is the case by hand, and a query of zeros.",
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


@attention.stage("mask", points=2)
def test_a_hidden_key_has_no_part_in_the_answer(student, rng):
    rule = (
        "Where the mask is False the key is left out for that query, and the weights of the others"
        " add up to 1. True means seen; each text and each query has a row of its own in the mask,"
        " which all heads share. Here D is 1, and the scale too."
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
            f"{rule} What a call returns depends on all of its numbers, and on the place of each.",
        )
    q, k, v, mask = drawn(rng, 2, 2, 4, 6, 1)
    ask(student, (q, k, v, None), "Without a mask, None, every query sees every key.")
    ask(student, (q, k, v, torch.ones_like(mask)), "A mask that is True everywhere hides nothing.")
    ask(
        student,
        (torch.zeros_like(q), k, v, mask),
        "A query of zeros gets the mean of the values that it may see: a score of 0 is a score like"
        " any other.",
    )
    ask(student, (q, k, 1000 * v, mask), f"{rule} Values may be large.")
    ask(
        student,
        (q, k, v, torch.ones(4, 6, dtype=torch.bool).tril(2).expand(2, 1, 4, 6).clone()),
        rule,
    )
    padded = torch.arange(6) < torch.tensor([[[[5]]], [[[2]]]])
    ask(student, (q, k, v, padded.expand(2, 1, 4, 6).clone()), rule)


@attention.stage("empty", points=1)
def test_a_query_that_may_see_nothing_gets_zeros(student, rng):
    rule = (
        "A query that may see no key gets zeros: no NaN, and no mean of the values that it may not"
        " see. The other queries are as before."
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
        f"{rule} Here no query of any text sees anything.",
    )
    ask(
        student,
        (3000 * q.sign(), k.sign(), v, torch.zeros_like(mask)),
        f"{rule} The scores are large here.",
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


@attention.stage("large", points=1)
def test_scores_of_ten_thousand_give_finite_weights(student, rng):
    rule = (
        "Scores go up to 10,000, above 0 and below. e to the 89 is infinite in float32 and e to the"
        " -104 is 0, so only how far the scores of a query are from the largest one that it may see"
        " can go into the exponential."
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
        "A hidden key is left out however large its score: the largest score that counts is that of"
        " a key which the query may see."
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
        "A hidden key weighs nothing, also where all that may be seen has scores near -10,000.",
    )
    ask_large(
        student, (q, k, 10_000 * normal(rng, 1, 1, 4, 4), None), f"{rule} Values may be large too."
    )
    ramp = (torch.arange(600) * 30.0 - 9000).tolist()
    q, k = scored([ramp, ramp[::-1]])
    ask_large(
        student,
        (q, k, normal(rng, 1, 1, 600, 4), None),
        f"{rule} Here 600 keys score more and more, or less and less.",
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
            "A key with a low score has a small weight, and not none: the value that it gives may"
            " be large.",
            size=1.0,
        )


@attention.stage("sizes", points=1)
def test_every_axis_may_be_short_or_long_and_the_numbers_float64(student, rng):
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
        parts = drawn(rng, *sizes)
        if max(sizes) > 100:
            parts[3][-1, 0, -1] = False
        ask(student, parts, "Any axis may have length 1, or hundreds: the rules are the same.")
        if max(sizes) < 100:
            ask(student, (*parts[:3], None), "Any axis may have length 1, without a mask too.")
    q, k, v = heads(rng, 1, 1, 2, 600, 2)
    ask(student, (0 * q, k, v, None), "Two queries of zeros get the mean of all 600 values.")
    for sizes in ((1, 1, 1, 1, 1), (2, 1, 1, 4, 2)):
        parts = drawn(rng, *sizes)
        ask(
            student,
            (*parts[:3], torch.zeros_like(parts[3])),
            "One query alone may see nothing too: zeros.",
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
            "The numbers may be float64: the same rules, and a float64 answer.",
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


@masks.stage("causal", points=1)
def test_no_query_sees_a_later_key(student, rng):
    rule = (
        "A query sees its own place and those before it, and none after: a triangle with its"
        " diagonal. Here there is no padding, and as many queries as keys."
    )
    for number, keys in ((1, 2), (1, 4), (2, 3), (3, 5), (2, whole(rng, 6, 9))):
        ask_mask(student, [keys] * number, keys, keys, rule)


@masks.stage("last", points=1.5)
def test_the_queries_are_the_last_of_the_keys(student, rng):
    rule = (
        "The queries are the last T of the S places: query t stands at place S - T + t, and the"
        " last query sees every key."
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


@masks.stage("padding", points=1)
def test_the_padding_is_hidden(student, rng):
    rule = (
        "Key s of text b is hidden from lengths[b] on: there the padding begins. Here the only"
        " query is the last, and all keys are before it."
    )
    for lengths, keys in (
        ([2], 3),
        ([3, 1], 4),
        ([4, 2, 5, 1], 6),
        ([1, 6, 6, 2], 8),
        ([whole(rng, 1, 3), whole(rng, 4, 6)], 7),
    ):
        ask_mask(student, lengths, 1, keys, rule)


@masks.stage("joined", points=1)
def test_a_key_is_seen_where_both_rules_allow_it(student, rng):
    rule = (
        "A key is seen where it is a word and not later than the query. A query whose own place is"
        " padding has a row like any other: it sees the words before it."
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
            "A text without a word has nothing to see: its rows are False, all of them.",
        )
    for lengths, queries, keys in one_changed(([4, 2, 3], 3, 5), ([1, 5, 4], 4, 6)):
        ask_mask(student, lengths, queries, keys, rule)
    for lengths, queries, keys in look_alikes((torch.tensor([4, 1, 3, 2, 5]), 3, 5)):
        ask_mask(
            student, lengths.tolist(), queries, keys, f"{rule} The order of the lengths counts."
        )
    ask_mask(student, [whole(rng, 1, 4), whole(rng, 5, 8), 0], whole(rng, 2, 6), 8, rule)


@masks.stage("sizes", points=0.5)
def test_there_may_be_one_text_one_query_one_key_or_hundreds(student, rng):
    rule = "Any of the three sizes may be 1, or hundreds: the rules are the same."
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
