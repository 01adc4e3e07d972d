"""Checks of chapter 7, part 5: attention in a window, with global tokens, without the whole table
of scores.
"""

import torch
from torch import Tensor

from autograder.chapters.c07_after_bert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.protocol import MIB, CheckFailed, StudentError, exercise, expect

BOOK = "07-after-bert"
CLOSE = {"rtol": 1e-4, "atol": 2e-5}
HIDDEN = dict.fromkeys(
    (
        "torch.nn.functional.scaled_dot_product_attention",
        "torch.nn.attention.flex_attention",
        "torch.nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward",
    ),
    "it hides which scores are made, and that is what this exercise is about",
)
window_attention = exercise(
    "07.window_attention",
    function="window_attention",
    points=9,
    see=f"{BOOK}/longformer#a-mask-saves-nothing",
    withhold=OURS | LIBRARIES | HIDDEN,
)


def attended(q: Tensor, k: Tensor, v: Tensor, side: int, is_global: Tensor) -> Tensor:
    """The right answer in float64, from all scores and a mask."""
    q, k, v = q.double(), k.double(), v.double()
    places = torch.arange(q.shape[1])
    seen = ((places[:, None] - places).abs() <= side) | is_global | is_global[:, None]
    return (
        (q @ k.transpose(1, 2) / q.shape[2] ** 0.5).masked_fill(~seen, -torch.inf).softmax(2) @ v
    ).float()


def near_only(q: Tensor, k: Tensor, v: Tensor, side: int, is_global: Tensor) -> Tensor:
    """The right answer for the rows that are not global, offset by offset: for texts whose table is
    too large.
    """
    q = q / q.shape[2] ** 0.5
    places = torch.arange(q.shape[1])
    scores, mixed = [], []
    for offset in range(-side, side + 1):
        keys = (places + offset).clamp(0, len(places) - 1)
        seen = (places + offset == keys) & ~is_global[keys]
        scores.append((q * k[:, keys]).sum(2).masked_fill(~seen, -torch.inf))
        mixed.append(keys)
    chosen = is_global.nonzero()[:, 0]
    weights = torch.cat((torch.stack(scores, 2), q @ k[:, chosen].transpose(1, 2)), 2).softmax(
        2
    )  # (H, T, 2 side + 1 + G)
    near = sum(weights[:, :, [place]] * v[:, keys] for place, keys in enumerate(mixed))
    return near + weights[:, :, len(mixed) :] @ v[:, chosen]


def drawn(
    rng, heads: int, places: int, width: int, side: int, chosen: tuple[int, ...] = ()
) -> tuple:
    """The five arguments; chosen: the positions of the global tokens."""
    is_global = torch.zeros(places, dtype=torch.bool)
    is_global[list(chosen)] = True
    return (
        1.5 * normal(rng, heads, places, width),
        1.5 * normal(rng, heads, places, width),
        normal(rng, heads, places, width),
        side,
        is_global,
    )


def ask(student, cause: str, case: tuple, rows: Tensor | slice = slice(None)) -> None:
    """Compare some rows of the answer."""
    given = (
        "H = {}, T = {}, D = {}, ".format(*case[0].shape)
        + f"side {case[3]}, {int(case[4].sum())} global"
    )
    came = expect(student.window_attention(*case), given=given).is_tensor(
        shape=tuple(case[0].shape), dtype=torch.float32, cause=cause
    )
    expect(came[:, rows], "What these rows of your result hold", given).close(
        attended(*case)[:, rows], **CLOSE, cause=cause
    )


@window_attention.stage("window", points=2.5)
def test_a_token_sees_its_neighbours_to_both_sides(student, rng):
    rule = (
        "No token is global, and only tokens whose window lies inside the text are tested: each"
        " sees `side` tokens to the left, itself, and `side` to the right; scores are divided by"
        " the root of D, one softmax goes over what is seen, and each head is for itself."
    )
    for heads, places, width, side in (
        (1, 7, 2, 1),
        (1, 8, 4, 2),
        (1, 21, 3, 4),
        (2, 9, 3, 2),
        (3, 3, 3, 1),
        (2, 131, 4, 3),
        (1, 300, 2, 20),
        (300, 5, 2, 1),
        (2, 4, 300, 1),
        (2, 64, 3, 16),
        (1, 130, 2, 64),
        (whole(rng, 2, 4), whole(rng, 20, 60), whole(rng, 2, 6), whole(rng, 2, 7)),
    ):
        ask(student, rule, drawn(rng, heads, places, width, side), slice(side, places - side))


@window_attention.stage("ends", points=1)
def test_at_the_ends_a_window_is_shorter(student, rng):
    rule = (
        "No token is global. Near the ends the window is cut off: nothing before the first token or"
        " after the last is seen, no zeros, and not the other end of the text."
    )
    for heads, places, width, side in (
        (1, 5, 2, 1),
        (2, 9, 3, 3),
        (1, 64, 3, 5),
        (1, 65, 2, 5),
        (1, 127, 2, 8),
        (2, whole(rng, 20, 60), 3, whole(rng, 2, 9)),
        (1, 10, 2, 7),
    ):
        ask(student, rule, drawn(rng, heads, places, width, side))
    for case in (
        *one_changed(drawn(rng, 2, 7, 3, 2), drawn(rng, 2, 7, 3, 1)[:4]),
        *look_alikes(drawn(rng, 2, 7, 3, 2)),
    ):
        ask(student, rule, case)


@window_attention.stage("columns", points=1.5)
def test_everybody_sees_a_global_token_once(student, rng):
    rule = (
        "Some tokens are global. The rows of the others are tested, inside the text: each sees"
        " its window and every global token, in one softmax, and a global token that lies in the"
        " window is seen once."
    )
    for heads, places, width, side, chosen in (
        (1, 9, 2, 1, (0,)),
        (2, 12, 3, 2, (0, 6)),
        (1, 30, 4, 3, (29,)),
        (2, 70, 2, 4, (0, 1, 35)),
        (1, 16, 3, 2, (5, 6, 7)),
        (3, 130, 2, 5, (64, 128)),
        (2, whole(rng, 20, 60), 3, 3, (0, whole(rng, 2, 19))),
    ):
        case = drawn(rng, heads, places, width, side, chosen)
        rows = torch.arange(side, places - side)
        ask(student, rule, case, rows[~case[4][rows]])


@window_attention.stage("rows", points=1.5)
def test_a_global_token_sees_everybody(student, rng):
    rule = (
        "The rows of the global tokens alone: each of them sees every token of the text once, near"
        " and far."
    )
    for heads, places, width, side, chosen in (
        (1, 9, 2, 1, (0,)),
        (2, 12, 3, 2, (0, 6)),
        (1, 30, 4, 3, (29,)),
        (2, 70, 2, 4, (0, 1, 35)),
        (3, 130, 2, 5, (64, 128)),
        (2, whole(rng, 20, 60), 3, 2, (0, whole(rng, 2, 19))),
    ):
        case = drawn(rng, heads, places, width, side, chosen)
        ask(student, rule, case, case[4])


@window_attention.stage("borders", points=1, after="window")
def test_no_side_a_large_side_one_token_and_huge_scores(student, rng):
    alone = "With `side` 0 each token sees itself and the global ones."
    for places, chosen in ((1, ()), (1, (0,)), (6, ()), (6, (2,)), (70, (0, 69))):
        ask(student, alone, drawn(rng, 2, places, 3, 0, chosen))
    far = "`side` may be T - 1, T or more: then everybody sees everybody, and nobody twice."
    for places, side, chosen in (
        (1, 1, ()),
        (1, 5, (0,)),
        (5, 4, ()),
        (5, 5, (1,)),
        (5, 300, ()),
        (70, 69, ()),
        (70, 1000, (3,)),
        (300, 180, ()),
        (300, 299, (3,)),
        (300, 1_000_000_000, ()),
    ):
        ask(student, far, drawn(rng, 2, places, 3, side, chosen))
    for places in (9, 300):
        ask(
            student,
            "All tokens are global: everybody sees everybody.",
            drawn(rng, 2, places, 3, 1, tuple(range(places))),
        )
    ask(
        student,
        "A third of the tokens is global here.",
        drawn(rng, 2, 300, 3, 1, tuple(range(0, 300, 3))),
    )
    ask(student, "A token may be one number in each head.", drawn(rng, 3, 9, 1, 2, (0,)))
    q, k = (counts(rng, -60, 60, 2, 12, 4).float() for _ in range(2))
    ask(
        student,
        "Scores may be as large as 10,000: take the softmax in one step, without an `exp` of your"
        " own that overflows.",
        (q, k, normal(rng, 2, 12, 4), 2, torch.arange(12) == 7),
    )
    low = torch.full((1, 12, 1), 100.0)
    ask(
        student,
        "Scores may be as low as -10,000, and what is not seen is lower still: minus infinity.",
        (
            low,
            torch.where(torch.arange(12)[:, None] < 6, -low, low),
            normal(rng, 1, 12, 2)[..., :1],
            2,
            torch.arange(12) == 0,
        ),
    )
    for case in (
        *one_changed(drawn(rng, 2, 8, 3, 2, (4,)), drawn(rng, 2, 8, 3, 1, (1, 5))),
        *look_alikes(drawn(rng, 2, 9, 3, 2, (4,))),
    ):
        ask(student, "The answer depends on all five arguments.", case)


@window_attention.stage("memory", points=1.5, after="window")
def test_a_long_text_fits_into_little_memory(student, rng):
    rule = (
        "2,000 tokens, and less memory than one table of 2,000 x 2,000 floats takes: make the"
        " scores of some queries at a time, with the keys that these can see. The rows of ordinary"
        " tokens inside the text are tested."
    )
    case = drawn(rng, 1, 2000, 8, 16, (0, whole(rng, 100, 1900)))
    try:
        with student.capped(14 * MIB):
            came = expect(student.window_attention(*case)).is_tensor(
                shape=(1, 2000, 8), dtype=torch.float32
            )
    except StudentError as error:
        if error.kind != "memory":
            raise
        raise CheckFailed(
            f"Your function takes more memory than it is given here. {rule}", error.text
        ) from None
    rows = torch.arange(16, 1984)
    rows = rows[~case[4][rows]]
    expect(came[:, rows], "What these rows of your result hold").close(
        near_only(*case)[:, rows], **CLOSE, cause=rule
    )
