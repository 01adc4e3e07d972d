"""Checks of chapter 9, part 2: the draw, and what is forbidden before it."""

import torch
from torch import Tensor

from autograder.chapters.c09_generating_text.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

BOOK = "09-generating-text"
BY_HAND = torch.tensor([[16.0, 9.0, 4.0, 1.0]]).log()
LAST = 1 - 2**-24  # the largest float32 below 1

draw = exercise(
    "09.draw",
    function="draw",
    points=6,
    see=f"{BOOK}/sampling#drawing-a-token",
    withhold=OURS | LIBRARIES,
)


def drawn(logits: Tensor, temperature: float, u: Tensor) -> Tensor:
    """The right tokens, in float64."""
    if temperature == 0:
        return logits.argmax(1)
    probs = (logits.double() / temperature).softmax(1)
    over, last = probs.cumsum(1) > u.double()[:, None], (probs > 0).int().flip(1).argmax(1)
    return torch.where(over.any(1), over.int().argmax(1), logits.shape[1] - 1 - last)


def ask_draw(student, cause: str, logits: Tensor, temperature: float, u: Tensor) -> None:
    """Compare the tokens."""
    given = (
        "B = {}, V = {}, ".format(*logits.shape)
        + f"temperature {temperature:g}"
        + (f", u = {u.tolist()}" if len(u) < 5 else "")
    )
    expect(student.draw(logits, temperature, u), "Your tokens", given).equals(
        drawn(logits, temperature, u), cause=cause
    )


def aimed(rng, logits: Tensor, temperature: float, above: float | None = None) -> Tensor:
    """For each row a u that falls into the share of a token which was drawn among those with enough
    of it, or so much above its lower end, or below its upper one.
    """
    probs = (logits.double() / temperature).softmax(1)
    token = (probs > 0.002).float().multinomial(1, generator=rng)
    share, sums = probs.gather(1, token), probs.cumsum(1).gather(1, token)
    part = uniform(rng, 0.2, 0.8, len(logits), 1)
    return (sums - (share * part if above is None else share - above if above > 0 else -above))[
        :, 0
    ].float()


@draw.stage("sums", points=2)
def test_the_first_token_whose_sum_passes_u(student, rng):
    rule = (
        "One row at temperature 1: add up the probabilities from token 0 on. The draw is the first"
        " token whose sum is greater than u, neither the most probable one nor the last below u."
    )
    for number in (0.1, 0.5, 0.6, 0.8, 0.9, 0.99):
        ask_draw(student, rule, BY_HAND, 1.0, torch.tensor([number]))
    for entries in (2, 3, 7, 40, 300, whole(rng, 4, 30)):
        logits = 1.5 * normal(rng, 1, entries)
        for above in (None, None, None, 0.0002):
            ask_draw(student, rule, logits, 1.0, aimed(rng, logits, 1.0, above))
    for number in (0.05, 0.95):
        ask_draw(
            student, rule, torch.tensor([[2.0, 0.0, 0.0, 1.0, 3.0]]), 1.0, torch.tensor([number])
        )
    for case in look_alikes((normal(rng, 1, 6), 1.0, torch.tensor([0.5]))):
        ask_draw(student, rule, case[0], 1.0, aimed(rng, case[0], 1.0))


@draw.stage("temperature", points=1.5)
def test_logits_are_divided_before_the_softmax(student, rng):
    rule = (
        "One row: the logits are divided by the temperature, before the softmax. Above 1 the"
        " probabilities"
        " come nearer to each other, below 1 the largest takes more."
    )
    for temperature, number in (
        (2.0, 0.6),
        (2.0, 0.75),
        (2.0, 0.85),
        (2.0, 0.95),
        (0.5, 0.6),
        (0.5, 0.74),
        (0.5, 0.97),
        (100.0, 0.3),
        (100.0, 0.7),
    ):
        ask_draw(student, rule, BY_HAND, temperature, torch.tensor([number]))
    for temperature in (0.01, 0.1, 0.3, 0.7, 1.3, 2.0, 5.0, 100.0, float(uniform(rng, 0.2, 3.0))):
        for entries in (3, 20, 300):
            logits = min(temperature, 3.0) * (1.5 * normal(rng, 1, entries) + normal(rng, 1, 1))
            ask_draw(student, rule, logits, temperature, aimed(rng, logits, temperature))
    logits = normal(rng, 1, 6)
    for temperature in (0.25, 4.0, 1.0):
        ask_draw(student, rule, logits, temperature, aimed(rng, logits, temperature))
    for case in one_changed(
        (torch.tensor([[0.0, 3.0, 0.0]]), 1.0, torch.tensor([0.3])),
        (torch.tensor([[3.0, 0.0, 0.0]]), 8.0, torch.tensor([0.99])),
    ):
        ask_draw(student, rule, *case)


@draw.stage("greedy", points=0.5, after="sums")
def test_temperature_zero_is_the_likeliest(student, rng):
    rule = (
        "At temperature 0 the draw is the token with the largest logit, whatever u is: nothing is"
        " divided."
    )
    for entries in (1, 2, 5, 300):
        for number in (0.0, 0.3, LAST):
            ask_draw(
                student,
                rule,
                torch.randperm(entries, generator=rng)[None].float(),
                0.0,
                torch.tensor([number]),
            )
    ask_draw(
        student,
        rule,
        torch.rand(300, 4, generator=rng).argsort(1).float(),
        0.0,
        torch.rand(300, generator=rng),
    )
    near = torch.tensor([[500.0, 500.002, -3.0], [-0.002, -9.0, 0.0], [-900.0, -899.998, -900.002]])
    for number in (0.0, 0.7, LAST):
        ask_draw(
            student,
            f"{rule} The largest may be only 0.001 above the next.",
            near,
            0.0,
            torch.full((3,), number),
        )
    ask_draw(
        student,
        rule,
        torch.tensor(
            [[-torch.inf, -5.0, -3.0], [900.0, 1000.0, -1000.0], [0.0, -torch.inf, -torch.inf]]
        ),
        0.0,
        torch.tensor([0.1, 0.9, 0.5]),
    )


@draw.stage("rows", points=1, after="sums")
def test_each_row_has_its_own_logits_and_its_own_u(student, rng):
    rule = "Several rows: each is drawn from its own logits with its own u."
    for rows, entries in (
        (2, 3),
        (3, 3),
        (5, 2),
        (4, 30),
        (300, 3),
        (2, 300),
        (whole(rng, 3, 9), whole(rng, 3, 9)),
    ):
        logits = 1.5 * normal(rng, rows, entries)
        ask_draw(student, rule, logits, 1.0, aimed(rng, logits, 1.0))
    same = BY_HAND.repeat(5, 1)
    ask_draw(
        student,
        f"{rule} The logits are the same here.",
        same,
        1.0,
        torch.tensor([0.9, 0.1, 0.6, 0.99, 0.3]),
    )
    ask_draw(
        student,
        f"{rule} The u are the same here.",
        torch.stack([BY_HAND[0].roll(turn) for turn in range(4)]),
        1.0,
        torch.full((4,), 0.6),
    )
    sides = torch.tensor([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 3.0], [1.0, 1.5, -1.0]])
    for case in one_changed(
        (sides, 1.0, torch.tensor([0.7, 0.7, 0.7, 0.7])),
        (sides.flip(0), 1.0, torch.tensor([0.7, 0.01, 0.4, 0.1])),
    ):
        ask_draw(student, rule, *case)
    logits, u = (
        torch.tensor([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 1.0]]),
        torch.tensor([0.25, 0.75, 0.5, 0.125]),
    )
    for case in ((logits, u), (logits, u[[0, 2, 1, 3]]), (logits[[0, 2, 1, 3]], u)):
        ask_draw(student, rule, case[0], 1.0, case[1])


@draw.stage("borders", points=1, after="sums")
def test_zeros_halves_ends_and_huge_logits(student, rng):
    greater = (
        "The sum must be greater than u: with two equal logits and u = .5 the draw is token 1."
    )
    for temperature in (1.0, 2.0, 0.5):
        ask_draw(student, greater, torch.tensor([[0.0, 0.0]]), temperature, torch.tensor([0.5]))
    ask_draw(student, greater, torch.tensor([[7.0, -torch.inf, 7.0]]), 1.0, torch.tensor([0.5]))
    never = (
        "A token with the logit minus infinity is never drawn, by u = 0 neither: then it is the"
        " first one that can come."
    )
    inf = torch.inf
    for row in ([-inf, 0.0, 1.0], [-inf, -inf, -inf, 2.0], [0.0, -inf, 1.0], [1.0, 0.0, -inf]):
        for number in (0.0, LAST):
            ask_draw(
                student,
                (
                    never
                    if number == 0
                    else f"{never} With u just below 1 it is the last one that can."
                ),
                torch.tensor([row]),
                1.0,
                torch.tensor([number]),
            )
    ask_draw(
        student,
        f"{never} All others are far below 0 here.",
        torch.tensor([[-inf, -990.0, -995.0]]),
        100.0,
        torch.tensor([0.0]),
    )
    end = (
        "With u just below 1 the draw is the last token that can come, also where sums in floating"
        " point end below 1: no number as large as V."
    )
    for entries in (1, 2, 3, 100, 300):
        for row in (
            torch.zeros(1, entries),
            torch.cat((torch.zeros(1, entries), torch.tensor([[-inf]])), 1)[:, :300],
            (uniform(rng, -0.5, 0.5, 1, entries)),
        ):
            for temperature in (1.0, 0.7):
                ask_draw(student, end, row, temperature, torch.tensor([LAST]))
    falls = torch.zeros(300, 300).masked_fill(torch.arange(300) > torch.arange(300)[:, None], -inf)
    for temperature in (1.0, 3.0):
        ask_draw(
            student,
            f"{end} Row n has n equal ones here, and then those that cannot come.",
            falls,
            temperature,
            torch.full((300,), LAST),
        )
        ask_draw(
            student,
            f"{never} The same from the other end.",
            falls.flip(1),
            temperature,
            torch.zeros(300),
        )
    near = "u may be as near to a sum as 0.0001, and nothing is rounded: work in float32 or better."
    for temperature, above in ((1.0, 1.5e-4), (1.0, -1.5e-4), (0.5, 1.5e-4), (4.0, -1.5e-4)):
        logits = temperature * 1.5 * normal(rng, 100, 12)
        ask_draw(student, near, logits, temperature, aimed(rng, logits, temperature, above))
    huge = (
        "Logits may be a thousand, and a hundred times as large after the division: let `softmax`"
        " take the exponentials, it survives them."
    )
    for row in (
        [1000.0, 998.0, -1000.0],
        [-1000.0, -998.0, -999.0],
        [1000.0, 1000.0, -inf],
        [-1000.0, -inf, 1000.0],
    ):
        for temperature in (1.0, 0.0625, 16.0):
            logits = torch.tensor([row])
            ask_draw(student, huge, logits, temperature, aimed(rng, logits, temperature))
    for temperature in (1.0, 0.01, 100.0):
        for number in (0.1, 0.45, 0.95):
            ask_draw(
                student,
                f"{never} No finite number may stand for minus infinity: others are as small.",
                torch.tensor([[-inf, -1000.0, -inf, -1000.0, -inf, -1000.0, -inf]]),
                temperature,
                torch.tensor([number]),
            )
    for temperature in (16.0, 1.0):
        ask_draw(
            student,
            huge,
            torch.tensor([[1000.0, 998.0, -1000.0]]),
            temperature,
            torch.tensor([0.7]),
        )
    ask_draw(student, huge, torch.tensor([[900.0, 1000.0, 800.0]]), 0.01, torch.tensor([0.25]))
    for number in (0.0, 0.6):
        ask_draw(
            student,
            "With one entry in the vocabulary the draw is token 0.",
            torch.tensor([[-3.0]]),
            1.0,
            torch.tensor([number]),
        )


def ask_kept(student, name: str, cause: str, right: Tensor, *arguments: Tensor) -> None:
    """Compare which logits stay, and then that they stay what they were."""
    given = (
        "B = {}, V = {}, ".format(*right.shape) + f"{'k' if name == 'keep_top_k' else 'p'} ="
        f" {[round(one, 6) for one in arguments[1].tolist()[:6]]}"
    )
    came = expect(getattr(student, name)(*arguments), given=given).is_tensor(
        shape=tuple(right.shape), dtype=torch.float32, cause=cause
    )
    expect(came != -torch.inf, "Where your result is no minus infinity", given).equals(
        right != -torch.inf, cause=cause
    )  # NaN is none
    stays = right > -torch.inf
    expect(torch.where(stays, came, 0), "What your result holds there", given).equals(
        torch.where(stays, right, 0), cause=f"{cause} What stays keeps its logit."
    )


def apart(rng, rows: int, entries: int) -> Tensor:
    """Logits of which no two in a row are nearer than 0.01."""
    return (
        torch.rand(rows, entries, generator=rng).argsort(1)
        - entries / 2
        + 0.01 * counts(rng, -40, 40, rows, 1)
    ) * (6.0 / entries if entries > 40 else 0.4)


keep_top_k = exercise(
    "09.keep_top_k",
    function="keep_top_k",
    points=4,
    see=f"{BOOK}/sampling#top-k-top-p-min-p-and-typical-sampling",
    withhold=OURS | LIBRARIES,
)


def ask_k(student, cause: str, logits: Tensor, k: Tensor) -> None:
    """The right answer, row by row: what is as large as the k-th stays."""
    least = [
        sorted(row, reverse=True)[min(one, len(row)) - 1]
        for row, one in zip(logits.tolist(), k.tolist())
    ]
    right = torch.where(logits >= torch.tensor(least)[:, None], logits, -torch.inf)
    ask_kept(student, "keep_top_k", cause, right, logits, k)


@keep_top_k.stage("kept", points=1.5)
def test_the_k_largest_stay(student, rng):
    rule = (
        "One row of different logits: the k largest stay what they are, and exactly the others are"
        " minus infinity."
    )
    ask_k(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor([[2.0, 5.0, 1.0, 3.0]]),
        torch.tensor([2]),
    )
    for entries, k in (
        (2, 1),
        (3, 1),
        (3, 2),
        (5, 3),
        (40, 7),
        (300, 1),
        (300, 50),
        (300, 299),
        (whole(rng, 6, 30), whole(rng, 1, 5)),
    ):
        ask_k(student, rule, apart(rng, 1, entries), torch.tensor([k]))
    ask_k(
        student, f"{rule} All logits may be negative.", -500 + apart(rng, 1, 9), torch.tensor([4])
    )
    ask_k(
        student,
        f"{rule} Two logits may be as near as 0.001.",
        torch.tensor([[1.0, 1.002, 0.998, -1.0]]),
        torch.tensor([2]),
    )
    for k in range(1, 8):
        ask_k(
            student,
            f"{rule} The difference of two may be 2,000, so that a softmax makes both of two"
            " unlikely ones 0: compare logits.",
            torch.tensor([[-900.0, 1000.0, -1000.0, -999.0, 400.0, -899.0, 200.0, -1.0]]),
            torch.tensor([k]),
        )
    for (logits,) in look_alikes((apart(rng, 1, 8),)):
        ask_k(student, rule, logits, torch.tensor([3]))
        ask_k(student, rule, logits, torch.tensor([5]))


@keep_top_k.stage("rows", points=1, after="kept")
def test_each_row_has_its_own_k(student, rng):
    rule = "Several rows: each keeps as many as its own k says."
    for k in (
        [1, 2],
        [2, 1],
        [3, 1, 2],
        [1, 5, 2, 4],
        counts(rng, 1, 6, whole(rng, 3, 9)).tolist(),
        [2, 3] * 150,
    ):
        ask_k(student, rule, apart(rng, len(k), 7), torch.tensor(k))
    ask_k(student, rule, apart(rng, 2, 300), torch.tensor([150, 3]))
    ask_k(student, rule, apart(rng, 3, 3), torch.tensor([2, 2, 2]))
    for case in (
        *one_changed(
            (apart(rng, 3, 6), torch.tensor([2, 4, 1])), (apart(rng, 3, 6), torch.tensor([1, 4, 2]))
        ),
        # Of an odd number of rows the look-alike exchanges two in one row, which makes no tie.
        *look_alikes((apart(rng, 5, 4), torch.tensor([2, 1, 3, 2, 4]))),
    ):
        ask_k(student, rule, *case)


@keep_top_k.stage("ties", points=1, after="kept")
def test_all_as_large_as_the_k_th_stay(student, rng):
    rule = "What is as large as the k-th largest stays, too, so that more than k may stay."
    ask_k(student, rule, torch.tensor([[2.0, 5.0, 2.0, 1.0]]), torch.tensor([2]))
    for entries, k in ((2, 1), (6, 2), (6, 3), (40, 5), (300, 9)):
        ask_k(student, rule, counts(rng, 0, 3, 1, entries).float(), torch.tensor([k]))
        ask_k(
            student, f"{rule} All are equal here.", torch.full((1, entries), 0.7), torch.tensor([k])
        )


@keep_top_k.stage("borders", points=0.5, after="kept")
def test_large_k_and_minus_infinity(student, rng):
    rule = "k may be as large as V, or larger: then the row stays as it is. The other rows do not."
    for entries in (1, 2, 5, 300):
        for k in (entries, entries + 1, 65_537, 1_000_000):
            ask_k(student, rule, apart(rng, 1, entries), torch.tensor([k]))
            ask_k(student, rule, apart(rng, 2, entries), torch.tensor([1, k]))
    ask_k(
        student,
        "Logits that differ by 0.001 are not equal, however large they are.",
        torch.tensor([[999.0, 999.001, 998.0], [-999.001, -999.0, -999.5]]),
        torch.tensor([1, 1]),
    )
    low = "Minus infinity is smaller than every number, and there may be fewer than k of these."
    row = torch.tensor([[-torch.inf, 3.0, -torch.inf, 1.0, 2.0]])
    for k in (1, 2, 3, 4, 5, 6):
        ask_k(student, low, row, torch.tensor([k]))
    ask_k(
        student,
        low,
        torch.tensor([[-torch.inf, -torch.inf, -1000.0], [1000.0, -1000.0, -torch.inf]]),
        torch.tensor([2, 1]),
    )


keep_top_p = exercise(
    "09.keep_top_p",
    function="keep_top_p",
    points=6,
    see=f"{BOOK}/sampling#top-k-top-p-min-p-and-typical-sampling",
    withhold=OURS | LIBRARIES,
)


def clear_of(sums: Tensor, p: float) -> float:
    """p, or where it is too near a sum of the likeliest tokens the middle of a step nearby."""
    if p == 1 or bool(((sums - p).abs() > 2e-4).all()):
        return p
    steps = torch.cat((sums[:1], sums.diff()))
    wide = (steps > 1e-3).nonzero()[:, 0]
    step = wide[(wide - int((sums < p).sum())).abs().argmin()]
    return float(sums[step] - steps[step] / 2)


def ask_p(student, cause: str, logits: Tensor, p: Tensor) -> None:
    """The right answer, row by row in float64."""
    p, right = p.clone(), torch.full_like(logits, -torch.inf)
    for row, scores in enumerate(logits.double()):
        probs, order = scores.softmax(0).sort(descending=True)
        p[row] = clear_of(probs.cumsum(0), p[row].item())
        number = len(order) if p[row] == 1 else int((probs.cumsum(0) < p[row].double()).sum()) + 1
        right[row, order[:number]] = logits[row, order[:number]]
    ask_kept(student, "keep_top_p", cause, right, logits, p)


def falling(rng, entries: int) -> Tensor:
    """One row of logits, largest first."""
    return apart(rng, 1, entries).sort(1, descending=True).values


@keep_top_p.stage("crossing", points=2)
def test_the_token_that_reaches_p_stays(student, rng):
    rule = (
        "One row in descending order: tokens stay until their probabilities add up to p or more,"
        " and"
        " the one with which they do also stays."
    )
    for p in (0.2, 0.5, 0.6, 0.8, 0.84, 0.95, 0.98):
        ask_p(
            student,
            f"{rule} The weights are those of the case by hand.",
            BY_HAND,
            torch.tensor([p]),
        )
    for entries in (2, 3, 7, 40, 300, whole(rng, 4, 30)):
        for p in (0.1, 0.35, 0.6, 0.85, 0.97):
            ask_p(student, rule, falling(rng, entries), torch.tensor([p]))
    ask_p(student, rule, BY_HAND / 2, torch.tensor([0.8]))
    row = torch.tensor([[0.6, 0.3, 0.1]]).log()
    ask_p(
        student,
        f"{rule} p may be close to 1.",
        torch.tensor([[0.999, 0.0008, 0.0002]]).log(),
        torch.tensor([0.9995]),
    )
    ask_p(
        student,
        f"{rule} p may be small, and all tokens too.",
        torch.arange(300)[None] * -0.002,
        torch.tensor([0.0085]),
    )
    for p in (0.6003, 0.5997, 0.9003, 0.8997):
        ask_p(
            student, f"{rule} p may be close to a sum: nothing is rounded.", row, torch.tensor([p])
        )


@keep_top_p.stage("order", points=1.5, after="crossing")
def test_the_row_keeps_its_order(student, rng):
    rule = "One row in any order: the most probable tokens stay, each at its own index of the row."
    for turn in range(1, 4):
        for p in (0.3, 0.8, 0.9):
            ask_p(
                student,
                f"{rule} The weights are those of the case by hand.",
                BY_HAND.roll(turn, 1),
                torch.tensor([p]),
            )
    ask_p(student, rule, BY_HAND.flip(1), torch.tensor([0.8]))
    for entries in (3, 5, 9, 40, 300, whole(rng, 4, 30)):
        for p in (0.2, 0.5, 0.8, 0.95):
            ask_p(student, rule, apart(rng, 1, entries), torch.tensor([p]))
    for (logits,) in look_alikes((apart(rng, 1, 8),)):
        for p in (0.4, 0.9):
            ask_p(student, rule, logits, torch.tensor([p]))


@keep_top_p.stage("rows", points=1, after="crossing")
def test_each_row_has_its_own_p(student, rng):
    rule = "Several rows: each keeps what its own p asks for."
    for p in (
        [0.2, 0.9],
        [0.9, 0.2],
        [0.5, 0.1, 0.95],
        [0.3, 1.0, 0.6],
        uniform(rng, 0.05, 0.95, whole(rng, 3, 9)).tolist(),
        [0.3, 0.8] * 150,
    ):
        ask_p(student, rule, torch.cat([falling(rng, 7) for _ in p]), torch.tensor(p))
        ask_p(student, rule, apart(rng, len(p), 6), torch.tensor(p))
    ask_p(student, rule, apart(rng, 2, 300), torch.tensor([0.9, 0.3]))
    for case in (
        *one_changed(
            (apart(rng, 3, 6), torch.tensor([0.3, 0.9, 0.6])),
            (apart(rng, 3, 6), torch.tensor([0.9, 0.1, 0.6])),
        ),
        # Of an odd number of rows the look-alike exchanges two in one row, which makes no tie.
        *look_alikes((apart(rng, 5, 4), torch.tensor([0.25, 0.5, 0.875, 0.75, 0.625]))),
    ):
        ask_p(student, rule, *case)


@keep_top_p.stage("borders", points=1.5, after="crossing")
def test_tiny_p_whole_p_and_minus_infinity(student, rng):
    tiny = "However small p is, the most probable token stays."
    for entries in (1, 2, 5, 300):
        for p in (1e-6, 0.001):
            ask_p(student, tiny, apart(rng, 1, entries), torch.tensor([p]))
    everything = (
        "With p = 1 the row stays as it is, and the unlikeliest token too, whatever rounding makes"
        " of the sums."
    )
    for logits in (
        apart(rng, 1, 1),
        apart(rng, 1, 5),
        apart(rng, 1, 300),
        torch.tensor([[1000.0, -1000.0, 0.0]]),
        torch.tensor([[-5.0, 40.0, -torch.inf, -90.0]]),
    ):
        ask_p(student, everything, logits, torch.tensor([1.0]))
    ask_p(
        student,
        everything,
        torch.tensor([[0.0, -30.0, -20.0], [0.0, -30.0, -20.0]]),
        torch.tensor([1.0, 0.5]),
    )
    low = "A minus infinity has no probability and stays one."
    row = torch.tensor([[-torch.inf, 3.0, -torch.inf, 1.0, 2.0]])
    for p in (0.3, 0.8, 0.97, 1.0):
        ask_p(student, low, row, torch.tensor([p]))
    ask_p(student, low, torch.tensor([[-torch.inf, -torch.inf, -7.0]]), torch.tensor([0.9]))
    ask_p(
        student,
        "With one entry in the vocabulary it stays.",
        torch.tensor([[5.0]]),
        torch.tensor([0.4]),
    )
    huge = "Logits may be as large as a thousand: let `softmax` take the exponentials."
    for row in ([1000.0, 999.0, -1000.0], [-1000.0, -999.0, -998.0], [700.0, -700.0, 699.5]):
        for p in (0.4, 0.8, 0.95):
            ask_p(student, huge, torch.tensor([row]), torch.tensor([p]))


penalise = exercise(
    "09.penalise",
    function="penalise",
    points=3,
    see=f"{BOOK}/penalties#by-hand",
    withhold=OURS | LIBRARIES,
)


def ask_penalty(student, cause: str, logits: Tensor, text: Tensor, penalty: float) -> None:
    """The right answer, number by number."""
    right = logits.clone()
    for row, ids in enumerate(text.tolist()):
        for token in set(ids):
            right[row, token] = (
                right[row, token] / penalty
                if right[row, token] > 0
                else right[row, token] * penalty
            )
    given = "B = {}, V = {}, ".format(*logits.shape) + f"T = {text.shape[1]}, penalty {penalty:g}"
    expect(student.penalise(logits, text, penalty), given=given).close(
        right, rtol=1e-4, atol=1e-5, cause=cause
    )


@penalise.stage("signs", points=1.5)
def test_the_sign_decides_between_division_and_product(student, rng):
    rule = (
        "One row, each token of the text once: a logit above 0 is divided by the penalty, one below"
        " 0 is multiplied with it. Tokens that are not in the text stay as they are."
    )
    ask_penalty(
        student,
        f"{rule} The logits are those of the case by hand.",
        torch.tensor([[2.0, -2.0, 1.0, 0.0]]),
        torch.tensor([[1, 0]]),
        2.0,
    )
    for entries, length, penalty in (
        (2, 1, 2.0),
        (5, 2, 1.3),
        (9, 4, 3.0),
        (40, 20, 1.1),
        (300, 30, 10.0),
        (whole(rng, 8, 30), 5, float(uniform(rng, 1.2, 4.0))),
    ):
        logits = 3 * normal(rng, 1, entries)
        ask_penalty(
            student, rule, logits, torch.randperm(entries, generator=rng)[None, :length], penalty
        )
        ask_penalty(
            student,
            rule,
            logits.abs() + 1,
            torch.randperm(entries, generator=rng)[None, :length],
            penalty,
        )
        ask_penalty(
            student,
            rule,
            -logits.abs() - 1,
            torch.randperm(entries, generator=rng)[None, :length],
            penalty,
        )


@penalise.stage("once", points=0.5, after="signs")
def test_a_token_counts_once(student, rng):
    rule = (
        "A token counts once, however often it stands in the text, and wherever: first or last, in"
        " the prompt or in the output."
    )
    ask_penalty(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor([[2.0, -2.0, 1.0, 0.0]]),
        torch.tensor([[0, 1, 0]]),
        2.0,
    )
    for entries, length in ((3, 9), (5, 40), (2, 2), (4, 300)):
        ask_penalty(
            student, rule, 2 * normal(rng, 1, entries), counts(rng, 0, entries - 2, 1, length), 1.7
        )
    order = torch.randperm(300, generator=rng)
    long = torch.cat((order[:40], order[40].expand(220), order[20:60]))[None]
    for text in (long, long.flip(1), order[None], order[None, :299]):
        ask_penalty(
            student, f"{rule} Up to 300 tokens may stand there.", 2 * normal(rng, 1, 300), text, 1.7
        )


@penalise.stage("rows", points=0.5, after="signs")
def test_each_row_has_its_own_text(student, rng):
    rule = "Several rows: each is punished for its own text only."
    for rows, entries, length in (
        (2, 4, 2),
        (3, 3, 1),
        (5, 9, 3),
        (300, 5, 2),
        (2, 300, 40),
        (whole(rng, 2, 6), whole(rng, 4, 9), 3),
    ):
        ask_penalty(
            student,
            rule,
            2 * normal(rng, rows, entries),
            counts(rng, 0, entries - 1, rows, length),
            1.5,
        )
    first = 2 * normal(rng, 3, 7), torch.tensor([[0, 1, 2], [3, 4, 4], [5, 0, 5]]), 2.0
    for case in (
        *look_alikes((2 * normal(rng, 2, 6), torch.tensor([[0, 1], [2, 3]]), 2.0)),
        *look_alikes((2 * normal(rng, 4, 6), torch.tensor([[0], [1], [2], [3]]), 2.0)),
    ):
        ask_penalty(student, rule, *case)
    row = 2 * normal(rng, 1, 8)
    for text in ([3, 1, 5, 2], [3, 0, 6, 2], [3, 6, 0, 2], [3, 3, 3, 2]):
        ask_penalty(
            student,
            rule.replace("Several rows", "One row or several"),
            row,
            torch.tensor([text]),
            2.0,
        )
    for case in (
        *one_changed(
            first, (2 * normal(rng, 3, 7), torch.tensor([[0, 1, 2], [3, 4, 6], [5, 0, 5]]), 3.0)
        ),
        *look_alikes(first),
    ):
        ask_penalty(student, rule, *case)


@penalise.stage("borders", points=0.5, after="signs")
def test_zero_minus_infinity_and_other_penalties(student, rng):
    row = torch.tensor([[0.0, -torch.inf, 3.0, -3.0, 1000.0, -1000.0]])
    for penalty in (1.0, 0.5, 0.1, 2.0, 10.0):
        ask_penalty(
            student,
            "0 and minus infinity stay what they are. A penalty of 1 changes nothing, and one below"
            " 1 makes tokens of the text more probable.",
            row,
            torch.tensor([[0, 1, 2, 3]]),
            penalty,
        )
        ask_penalty(
            student,
            "Every token of the vocabulary stands in the text here.",
            row,
            torch.arange(6)[None],
            penalty,
        )
    for penalty in (1.5, 0.3):
        ask_penalty(
            student,
            "With one entry in the vocabulary it stands in every text.",
            torch.tensor([[2.0], [-2.0]]),
            torch.tensor([[0, 0], [0, 0]]),
            penalty,
        )
