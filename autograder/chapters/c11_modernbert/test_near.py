"""Checks of chapter 11, part 2: the window, what it saves, and the block, by handle."""

import math

import numpy as np
import torch
from torch import Tensor

from autograder.chapters.c11_modernbert.test_turning import gated, turned
from autograder.chapters.c11_modernbert.withholding import LIBRARIES, OURS
from autograder.checks.assertions.slips import note
from autograder.checks.inputs.draws import normal, one_changed, whole
from autograder.checks.inputs.strided import FAILS, strided
from autograder.checks.protocol import CheckFailed, StudentError, exercise, expect, inside

BOOK = "11-modernbert"
CLOSE = {"rtol": 1e-3, "atol": 1e-3}

local_mask = exercise(
    "11.local_mask",
    function="local_mask",
    points=4,
    see=f"{BOOK}/local-global#counting-pairs",
    withhold=OURS | LIBRARIES,
)


def window(T: int, width: int) -> Tensor:
    """The right table, row by row."""
    side = width // 2
    table = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        table[i, max(i - side, 0) : i + side + 1] = True
    return table


def ask_mask(student, cause: str, T: int, width: int) -> None:
    """Compare the tables."""
    expect(student.local_mask(T, width), given=f"T = {T}, window {width}").equals(
        window(T, width), cause=cause
    )


@local_mask.stage("band", points=2)
def test_half_the_window_to_each_side(student, rng):
    rule = (
        "True where two tokens are at most window // 2 positions apart, before or after: a window"
        " of"
        " 4 is two to the left, two to the right, and the token itself."
    )
    for T, width in (
        (4, 2),
        (8, 4),
        (9, 6),
        (12, 8),
        (40, 16),
        (300, 128),
        (1000, 128),
        (1000, 1996),
        (whole(rng, 20, 60), 2 * whole(rng, 2, 8)),
    ):
        ask_mask(student, rule, T, width)


@local_mask.stage("border", points=1, after="band")
def test_odd_windows_and_none(student, rng):
    rule = (
        "window // 2 to each side, rounded down: an odd window is as wide as the even one below it,"
        " and with 0 or 1 each token sees itself alone."
    )
    for T, width in (
        (6, 0),
        (6, 1),
        (6, 3),
        (9, 5),
        (30, 7),
        (1, 0),
        (2, 1),
        (300, 1),
        (40, 2 * whole(rng, 2, 9) + 1),
    ):
        ask_mask(student, rule, T, width)


@local_mask.stage("short", points=1, after="band")
def test_a_text_that_ends_inside_the_window(student, rng):
    rule = (
        "The text is hardly longer than the window reaches, or shorter: a window is cut at the"
        " ends, and continues at neither."
    )
    for T, width in (
        (1, 2),
        (1, 128),
        (2, 2),
        (3, 4),
        (4, 4),
        (5, 8),
        (5, 10),
        (64, 128),
        (65, 128),
        (66, 128),
        (130, 128),
        (1000, 1998),
        (999, 100_000),
        (7, 100_000),
        (9, 65_540),
        (whole(rng, 5, 9), 12),
    ):
        ask_mask(student, rule, T, width)


count_pairs = exercise(
    "11.count_pairs",
    function="count_pairs",
    points=4,
    kind="predict",
    see=f"{BOOK}/local-global#counting-pairs",
    withhold=OURS | LIBRARIES,
)


def counted(T: int, layers: int, width: int, every: int) -> dict[str, int]:
    """The right numbers, token by token and layer by layer."""
    places, side = np.arange(T), width // 2
    local = int((np.minimum(places + side, T - 1) - np.maximum(places - side, 0) + 1).sum())
    far = len(range(0, layers, every))
    return {
        "local": local,
        "global_layers": far,
        "total": sum(T * T if layer % every == 0 else local for layer in range(layers)),
    }


def ask_number(student, key: str, cause: str, cases: tuple) -> None:
    """Compare one of the three numbers."""
    for case in cases:
        given, right = "T = {}, {} layers, window {}, every {}".format(*case), counted(*case)
        came = expect(student.count_pairs(*case), given=given).only_keys(right)
        came.has(key).equals(right[key], cause=cause)


LONG = (
    (8, 4, 2, 3),
    (8192, 22, 128, 3),
    (512, 22, 128, 3),
    (100, 6, 10, 2),
    (100_000, 28, 128, 3),
    (300, 300, 7, 300),
    (9_999, 5, 2, 4),
    (100_000, 28, 199_996, 3),
    (90_000, 5, 70_000, 2),
    (40, 3, 1, 2),
    (50, 7, 0, 3),
    (12, 6, 5, 3),
)
SHORT = (
    (1, 1, 2, 1),
    (1, 5, 128, 3),
    (64, 22, 128, 3),
    (65, 22, 128, 3),
    (66, 4, 128, 3),
    (2, 3, 2, 2),
    (2, 3, 4, 3),
    (9, 4, 200_000, 3),
    (100_000, 4, 200_000, 3),
    (5, 2, 10, 1),
    (5, 4, 8, 3),
    (1, 3, 0, 2),
)


@count_pairs.stage("local", points=1)
def test_the_pairs_of_a_local_layer(student, rng):
    ask_number(
        student,
        "local",
        "Each token sees window // 2 tokens to each side and itself, as far as the text goes: at"
        " both ends some are missing. 8 tokens with one to each side make 22 pairs.",
        (*LONG, (whole(rng, 50, 5000), 5, whole(rng, 4, 40), 3)),
    )


@count_pairs.stage("short", points=1, after="local")
def test_a_text_shorter_than_the_window(student, rng):
    ask_number(
        student,
        "local",
        "The text is hardly longer than the window reaches, or shorter: no token sees more than the"
        " text has.",
        (*SHORT, (whole(rng, 3, 30), 5, 64, 3)),
    )


KINDS = (
    (8, 4, 2, 3),
    (8, 3, 2, 3),
    (8, 5, 2, 3),
    (8, 1, 2, 3),
    (9, 22, 4, 3),
    (9, 28, 4, 3),
    (9, 24, 4, 3),
    (9, 7, 4, 1),
    (9, 7, 4, 7),
    (9, 7, 4, 8),
    (9, 300, 2, 300),
    (9, 300, 2, 2),
)


@count_pairs.stage("global_layers", points=1)
def test_how_many_layers_are_global(student, rng):
    ask_number(
        student,
        "global_layers",
        "Layer 0 is global, and then each layer whose number is a multiple of `every`: of 4 layers"
        " with every = 3 these are 0 and 3.",
        (*KINDS, *LONG[:3], (20, whole(rng, 10, 60), 4, whole(rng, 2, 6))),
    )


@count_pairs.stage("total", points=1)
def test_the_pairs_of_all_layers(student, rng):
    rule = (
        "A global layer has T times T pairs, each of the others as many as a local one; add up all"
        " layers."
    )
    ask_number(
        student,
        "total",
        rule,
        (
            *LONG,
            *SHORT,
            *KINDS,
            *one_changed((40, 7, 6, 3), (50, 9, 10, 2)),
            (whole(rng, 50, 5000), whole(rng, 10, 60), whole(rng, 4, 40), 3),
        ),
    )


block = exercise(
    "11.Block",
    function="Block",
    points=6,
    see=f"{BOOK}/block#the-block",
    withhold=OURS | LIBRARIES,
)
NAMES = (
    "Numbers cannot be loaded into your block: it should be an nn.Module whose `state_dict` has"
    " `attention_norm.weight` (C), but not in layer 0, `qkv.weight` (3C, C), `out.weight` (C, C),"
    " `feed_forward_norm.weight` (C), `gate_up.weight` (2F, C) and `down.weight` (C, F), and"
    " nothing else: no bias anywhere."
)


def normed(x: Tensor, weight: Tensor) -> Tensor:
    """LayerNorm without a bias."""
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight


def right(w: dict[str, Tensor], x: Tensor, mask: Tensor, H: int, layer: int, width: int) -> Tensor:
    """The right vectors in float64, head by head."""
    w, x = {name: tensor.double() for name, tensor in w.items()}, x.double()
    B, T, C = x.shape
    positions, base = torch.arange(T).repeat(B, 1), 10_000.0 if layer % 3 else 160_000.0
    seen = mask[:, None] & (window(T, width) if layer % 3 else torch.ones(T, T, dtype=torch.bool))
    read = normed(x, w["attention_norm.weight"]) if layer else x
    mixed = []
    for q, k, v in zip(*(part.chunk(H, 2) for part in (read @ w["qkv.weight"].T).chunk(3, 2))):
        q, k = (turned(one[:, None], positions, base)[:, 0] for one in (q, k))
        weights = (q @ k.mT / math.sqrt(C // H)).masked_fill(~seen, -math.inf).softmax(2)
        mixed.append(weights.nan_to_num(0.0) @ v)
    x = x + torch.cat(mixed, 2) @ w["out.weight"].T
    return x + gated(
        normed(x, w["feed_forward_norm.weight"]), w["gate_up.weight"], w["down.weight"]
    )


def drawn(
    rng, C: int, F: int, layer: int, attends: float = 1.0, thinks: float = 1.0, sharp: float = 1.5
) -> dict[str, Tensor]:
    """Weights by name.

    attends, thinks: how much either half of the block adds, 0 for nothing; sharp: how far scores
    spread.
    """

    def matrix(out: int, into: int, scale: float) -> Tensor:
        return scale * normal(rng, out, into) / into**0.5

    w = {"attention_norm.weight": 1 + 0.3 * normal(rng, C)} if layer else {}
    qkv = matrix(3 * C, C, 1.0)
    qkv[: 2 * C] *= sharp
    return w | {
        "qkv.weight": qkv,
        "out.weight": matrix(C, C, 1.3 * attends),
        "feed_forward_norm.weight": 1 + 0.3 * normal(rng, C),
        "gate_up.weight": matrix(2 * F, C, 1.2),
        "down.weight": matrix(C, F, 1.5 * thinks),
    }


def made(student, w: dict[str, Tensor], shape: tuple[int, int, int, int, int]):
    """A block with these very weights."""
    one = student.build("Block", *shape)
    try:
        inside(one).load(w)
    except StudentError as error:
        if error.kind != "unreadable":
            raise
        raise CheckFailed(NAMES, error.text) from None
    return one


def compare(one, w: dict[str, Tensor], shape: tuple, x: Tensor, mask: Tensor, cause: str) -> None:
    """Compare the vectors of the tokens; those at padding are finite."""
    given = "C {}, F {}, H {}, layer {}, window {}, ".format(*shape) + "B {}, T {}".format(
        *mask.shape
    )
    came = expect(one(x, mask), "Your vectors", given).is_tensor(
        shape=tuple(x.shape), dtype=torch.float32, cause=cause
    )
    if not bool(mask.all()):
        expect(came, "Your vectors", given).is_finite(
            cause=f"What stands at padding is yours to choose, but not NaN or infinity. {cause}"
        )
    expect(
        torch.where(mask[..., None], came, 0.0), "Your vectors at tokens, with 0 at padding", given
    ).close(
        torch.where(mask[..., None], right(w, x, mask, *shape[2:]), 0.0).float(),
        **CLOSE,
        cause=cause,
    )


def spread(x: Tensor) -> Tensor:
    """Each vector with a standard deviation of at least a half: what stands under a norm's root
    plays a part only where `size` is small.
    """
    mean, wide = x.mean(2, keepdim=True), x.std(2, keepdim=True, correction=0)
    return mean + (x - mean) * (0.5 / wide).clamp(min=1.0)


def ask(
    student,
    rng,
    cause: str,
    shape: tuple[int, int, int, int, int],
    texts: tuple[int, int],
    mask: Tensor | None = None,
    size: float = 1.0,
    **weights,
) -> None:
    """Build a block, put weights in, and compare; size: how large x is."""
    w, x = (
        drawn(rng, shape[0], shape[1], shape[3], **weights),
        size * spread(normal(rng, *texts, shape[0])),
    )
    compare(
        made(student, w, shape),
        w,
        shape,
        x,
        torch.ones(texts, dtype=torch.bool) if mask is None else mask,
        cause,
    )


@block.stage("first", points=1.5)
def test_layer_0_attends_to_all_and_has_no_norm_before(student, rng):
    rule = (
        "Layer 0, without padding: its feed-forward adds nothing here. No norm before attention;"
        " queries and keys are rotated by positions with base 160,000, scores divided by the root"
        " of"
        " D; every token sees its whole row; the heads, side by side, go through `out`, and x is"
        " added."
    )
    w = {
        "qkv.weight": torch.eye(2).repeat(3, 1),
        "out.weight": torch.eye(2),
        "feed_forward_norm.weight": torch.ones(2),
        "gate_up.weight": torch.zeros(2, 2),
        "down.weight": torch.ones(2, 1),
    }
    compare(
        made(student, w, (2, 1, 1, 0, 8)),
        w,
        (2, 1, 1, 0, 8),
        torch.tensor([[[1.0, 3.0]]]),
        torch.ones(1, 1, dtype=torch.bool),
        f"{rule} This is the case by hand.",
    )
    for (C, F, H, width), texts in (
        ((4, 3, 1, 2), (1, 3)),
        ((8, 3, 1, 4), (2, 12)),
        ((8, 5, 2, 2), (2, 9)),
        ((12, 2, 3, 0), (1, 7)),
        ((4, 4, 2, 1), (4, 4)),
        ((6, 6, 1, 1000), (1, 300)),
        ((6, 3, 1, 2), (300, 2)),
        ((300, 2, 3, 4), (1, 5)),
        ((6 * whole(rng, 1, 3), 4, 3, 2), (2, 6)),
    ):
        ask(student, rng, rule, (C, F, H, 0, width), texts, thinks=0.0)


@block.stage("norm", points=1)
def test_all_other_layers_norm_first(student, rng):
    rule = (
        "All layers but the first have `attention_norm` before attention: LayerNorm with 1e-5 under"
        " the root, a weight and no bias. x itself is added as it came. Layers 3, 6, 9 and so on"
        " are global: they see the whole row, with base 160,000."
    )
    for (C, F, H, layer), texts in (
        ((4, 3, 1, 3), (1, 3)),
        ((8, 3, 2, 6), (2, 9)),
        ((8, 5, 2, 9), (2, 12)),
        ((6, 4, 3, 39), (3, 5)),
    ):
        ask(student, rng, rule, (C, F, H, layer, 2), texts, thinks=0.0)
    ask(
        student,
        rng,
        f"{rule} The numbers are small here, so that it shows.",
        (8, 3, 2, 3, 2),
        (2, 5),
        size=0.003,
        thinks=0.0,
    )


@block.stage("feed-forward", points=1)
def test_the_feed_forward_is_geglu_after_a_norm(student, rng):
    rule = (
        "Attention adds nothing here: x plus GeGLU of `feed_forward_norm` of x, in every layer, the"
        " gate in the first F rows of `gate_up`, and the exact GELU."
    )
    for (C, F, H, layer), texts in (
        ((4, 3, 1, 0), (1, 3)),
        ((4, 4, 2, 1), (2, 4)),
        ((8, 20, 2, 3), (3, 5)),
        ((2, 1, 1, 2), (1, 1)),
        ((6, 300, 1, 5), (2, 2)),
        ((2 * whole(rng, 2, 5), 7, 1, 0), (2, 6)),
    ):
        ask(student, rng, rule, (C, F, H, layer, 4), texts, attends=0.0)
    for layer in (0, 1, 3):
        ask(
            student,
            rng,
            f"{rule} The numbers are small here.",
            (8, 5, 2, layer, 2),
            (2, 5),
            size=0.003,
            attends=0.0,
        )
    w = drawn(rng, 2, 1, 0, attends=0.0) | {
        "feed_forward_norm.weight": torch.ones(2),
        "gate_up.weight": torch.tensor([[-2.2, 0.0], [30.0, 0.0]]),
        "down.weight": torch.tensor([[1.0], [0.5]]),
    }
    compare(
        made(student, w, (2, 1, 1, 0, 2)),
        w,
        (2, 1, 1, 0, 2),
        torch.tensor([[[3.0, 1.0], [1.0, 3.0], [0.0, -2.0]]]),
        torch.ones(1, 3, dtype=torch.bool),
        f"{rule} The approximation by tanh shows here.",
    )
    ask(
        student,
        rng,
        "Both halves work here: the feed-forward reads what attention has added to.",
        (8, 5, 2, 0, 4),
        (2, 7),
    )


@block.stage("local", points=1.5)
def test_layers_between_see_their_neighbours_by_another_base(student, rng):
    rule = (
        "Layers 1, 2, 4, 5 and so on are local: a token sees those at most window // 2 positions"
        " away,"
        " and its positions have the base 10,000."
    )
    for (C, H, layer, width), texts in (
        ((4, 1, 1, 2), (1, 6)),
        ((8, 2, 2, 4), (2, 12)),
        ((8, 1, 4, 1000), (2, 12)),
        ((8, 2, 5, 0), (1, 5)),
        ((12, 3, 7, 7), (2, 20)),
        ((4, 2, 1, 128), (1, 200)),
        ((6, 1, 40, 6), (1, 300)),
        ((4, 1, 2, 590), (1, 300)),
        ((4, 1, 2, 8), (2, 4)),
        ((8, 2, 38, 5), (1, whole(rng, 8, 20))),
    ):
        ask(student, rng, rule, (C, 3, H, layer, width), texts, thinks=0.0)


def padding(*rows: str) -> Tensor:
    """A mask: # for a token."""
    return torch.tensor([[one == "#" for one in row] for row in rows])


@block.stage("padding", points=1, after="first")
def test_nobody_sees_padding(student, rng):
    rule = (
        "Nobody sees a token of padding, wherever it stands: its scores are minus infinity."
        " Positions are counted from the left edge of the row, padding or not."
    )
    for layer in (0, 1, 3, 5):
        ask(
            student,
            rng,
            rule,
            (8, 3, 2, layer, 4),
            (6, 5),
            padding("###..", "#####", "..###", ".#.#.", "#..#.", "....#"),
            thinks=0.0,
        )
        ask(
            student,
            rng,
            "A row without a token has nobody to look at: the softmax of nothing but minus infinity"
            " is NaN, and must not come out. In a local layer padding far from every token has"
            " nobody, too.",
            (8, 3, 2, layer, 2),
            (3, 9),
            padding(".........", "##.......", "#########"),
            thinks=0.0,
        )
    ask(
        student,
        rng,
        rule,
        (4, 3, 1, 3, 2),
        (2, 300),
        torch.arange(300) < torch.tensor([[40], [300]]),
        thinks=0.0,
    )
    for layer, of_keys in ((0, -10.0), (1, -10.0), (0, 10.0)):
        shape, w = (2, 1, 1, layer, 6), drawn(rng, 2, 1, layer, thinks=0.0)
        w["qkv.weight"][:4] = torch.eye(2).repeat(2, 1) * torch.tensor(
            [[1400.0], [0.0], [of_keys], [0.0]]
        )
        x = torch.tensor([[[1.0, -1.0], [1.0, -1.0], [-1.8, 1.8]]])
        w = w | ({"attention_norm.weight": torch.ones(2)} if layer else {})
        compare(
            made(student, w, shape),
            w,
            shape,
            x,
            padding("##."),
            "Scores are in the thousands here, below 0 and above, and what is hidden lies on the"
            " other side: set it to minus infinity, and leave the others as they are.",
        )
    for layer in (0, 1):
        shape, w = (2, 1, 1, layer, 6), drawn(rng, 2, 1, layer, thinks=0.0)
        w["qkv.weight"][:4] = torch.eye(2).repeat(2, 1) * torch.tensor(
            [[1000 * math.sqrt(2)], [0.0], [-10.0], [0.0]]
        )
        w = w | ({"attention_norm.weight": torch.ones(2)} if layer else {})
        x = torch.where(
            padding("#..", ".#.", "..#")[..., None],
            torch.tensor([1.0, -1.0]),
            torch.tensor([-1.0, 1.0]),
        )
        compare(
            made(student, w, shape),
            w,
            shape,
            x,
            padding("#..", ".#.", "..#"),
            "What is seen has a score of -10,000 here, and what is hidden plays no part: set it to"
            " minus infinity.",
        )
    for layer in (0, 1):
        ask(
            student,
            rng,
            "Scores are in the hundreds here, up and down: the softmax takes them as they are.",
            (8, 3, 2, layer, 4),
            (2, 5),
            padding("###..", "#####"),
            thinks=0.0,
            sharp=12.0,
        )
    together(student, rng)
    in_turns(student, rng)


def in_turns(student, rng) -> None:
    """Blocks of several kinds, all made before one is called, and called in turns."""
    shapes, x = (
        ((8, 3, 2, 1, 4), (8, 3, 2, 3, 4), (8, 3, 4, 1, 4), (8, 3, 2, 1, 2), (8, 5, 1, 0, 2)),
        normal(rng, 2, 6, 8),
    )
    masks = (
        padding("######", "####.."),
        padding("######", "..####"),
        padding("####..", "######"),
        padding("##.###", "#####."),
    )
    weights = [drawn(rng, *shape[:2], shape[3], thinks=0.1) for shape in shapes]
    blocks = [made(student, w, shape) for w, shape in zip(weights, shapes)]
    for number in (0, 1, 2, 3, 4, 0):
        compare(
            blocks[number],
            weights[number],
            shapes[number],
            x,
            masks[0],
            "Two blocks share nothing: each keeps its own number of heads, its own layer and its"
            " own window.",
        )
    for number, mask in ((0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)):
        compare(
            blocks[number],
            weights[number],
            shapes[number],
            x,
            masks[mask],
            "The mask is another one than in the call before, of the same shape.",
        )


def together(student, rng) -> None:
    """Two blocks in turns, in training mode too, and the gradients of one."""
    shape, mask = (8, 3, 2, 1, 4), padding("######", "####..")
    weights, x = [drawn(rng, 8, 3, 1, thinks=0.1) for _ in range(2)], normal(rng, 2, 6, 8)
    blocks = [made(student, w, shape) for w in weights]
    for number in (0, 1, 0):
        inside(blocks[number]).train(number == 0)
        compare(
            blocks[number],
            weights[number],
            shape,
            x,
            mask,
            "Two blocks share nothing, and in training mode the numbers are the same: there is no"
            " dropout.",
        )
    try:
        came = blocks[1](strided(x), strided(mask))
    except StudentError as error:
        if error.kind != "error":
            raise
        note(FAILS)
    else:
        expect(
            torch.where(
                mask[..., None],
                expect(came, "Your vectors").is_tensor(shape=(2, 6, 8), dtype=torch.float32),
                0.0,
            ),
            "Your vectors",
        ).close(
            torch.where(mask[..., None], right(weights[1], x, mask, *shape[2:]), 0.0).float(),
            **CLOSE,
            cause=(
                "x and `mask` may be views of larger tensors: read them by their indices, and not"
                " the memory under them."
            ),
        )
    inside(blocks[0]).load(weights[1])
    inside(blocks[1]).load(weights[0])
    for number in (0, 1):  # the second is not in training mode
        compare(
            blocks[number],
            weights[1 - number],
            shape,
            2 * x,
            mask,
            "Other weights were loaded into the block: those count.",
        )
    upstream = normal(rng, 2, 6, 8) * mask[..., None]
    leaves, inputs = (
        {name: one.double().requires_grad_() for name, one in weights[1].items()},
        x.double().requires_grad_(),
    )
    (right(leaves, inputs, mask, *shape[2:]) * upstream).sum().backward()
    more = torch.zeros(1, 6, 8)  # a row of padding, of which nothing is asked
    found = inside(blocks[0]).gradients(
        "",
        torch.cat((x, 1 + more)),
        torch.cat((mask, more[..., 0] > 0)),
        upstream=torch.cat((upstream, more)),
        wrt=(0,),
    )
    rule = (
        "The block is trained: a gradient reaches x and every parameter, and nothing on the way is"
        " detached or created again."
    )
    for name, leaf in leaves.items():
        expect(found.parameters.get(name) is not None).is_true(cause=f"{rule} `{name}` has none.")
        expect(found.parameters[name], f"The gradient of `{name}`").close(
            leaf.grad.float(), rtol=1e-2, atol=0.01, cause=rule
        )
    expect(found.arguments[0] is not None).is_true(cause=rule)
    expect(found.arguments[0], "The gradient of x").close(
        torch.cat((inputs.grad.float(), more)),
        rtol=1e-2,
        atol=0.01,
        cause=f"{rule} A row without a token makes no NaN on the way back either.",
    )
