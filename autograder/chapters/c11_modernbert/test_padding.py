"""Checks of chapter 11, part 3: texts end to end, and attention that stays inside each."""

import math
from itertools import accumulate, chain

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from autograder.chapters.c11_modernbert.test_near import padding
from autograder.chapters.c11_modernbert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import MIB, CheckFailed, StudentError, exercise, expect

BOOK = "11-modernbert"
CLOSE = {"rtol": 1e-4, "atol": 1e-4}

unpad = exercise(
    "11.unpad",
    function="unpad",
    points=6,
    see=f"{BOOK}/packing#two-texts-in-one-row",
    withhold=OURS | LIBRARIES,
)
PARTS = {"tokens": "Your tokens", "cu": "Your cu_seqlens", "positions": "Your positions"}


def laid(ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """The right three, token by token."""
    texts = [
        [token for token, seen in zip(row, here) if seen]
        for row, here in zip(ids.tolist(), mask.tolist())
    ]
    ends = [*accumulate(map(len, texts), initial=0)]
    return {
        "tokens": torch.tensor([*chain(*texts)], dtype=torch.int64),
        "cu": torch.tensor(ends, dtype=torch.int32),
        "positions": torch.tensor(
            [place for text in texts for place in range(len(text))], dtype=torch.int64
        ),
    }


def ask_part(student, part: str, cause: str, ids: Tensor, mask: Tensor) -> None:
    """Compare one of the three."""
    given = "B = {}, T = {}, ".format(*mask.shape) + f"{int(mask.sum())} tokens"
    came = expect(student.unpad(ids, mask), given=given).unpacks(3)
    expect(came[list(PARTS).index(part)], PARTS[part], given).equals(
        laid(ids, mask)[part], cause=cause
    )


def ended(rng, B: int, T: int, left: bool = False) -> Tensor:
    """A mask: each text ends somewhere, the first text at the very end; left: it begins
    somewhere.
    """
    lengths = counts(rng, 1, T, B)
    lengths[0] = T
    mask = torch.arange(T) < lengths[:, None]
    return mask.flip(1) if left else mask


SIZES = ((1, 1), (1, 5), (5, 1), (2, 4), (3, 3), (4, 6), (300, 2), (2, 300), (300, 1), (7, 9))


def changed(rng) -> list[tuple[Tensor, Tensor]]:
    """Batches that differ in one argument."""
    return one_changed(
        (counts(rng, 0, 9, 3, 4), padding("###.", "####", "#...")),
        (counts(rng, 0, 9, 3, 4), padding("##..", "####", "##..")),
    )


def batches(rng, B: int, T: int) -> list[tuple[Tensor, Tensor]]:
    """A batch that is padded on the right."""
    return [(counts(rng, 0, 99, B, T), ended(rng, B, T))]


@unpad.stage("tokens", points=1)
def test_all_tokens_and_no_padding(student, rng):
    rule = (
        "`tokens` are the ids where the mask is True, text after text, each in its order. Whatever"
        " stands at padding, it is left out; a token may have the id 0."
    )
    for size in (*SIZES, (whole(rng, 2, 6), whole(rng, 4, 9))):
        for ids, mask in batches(rng, *size):
            ask_part(student, "tokens", rule, ids, mask)
            ask_part(student, "tokens", rule, ids * mask, mask)
    ids, mask = torch.tensor([[0, 5, 0, 0], [7, 7, 0, 999_999_937]]), padding("###.", "####")
    for case in ((ids, mask), (ids + 40_000, mask), (mask.long(), mask), *changed(rng)):
        ask_part(student, "tokens", rule, *case)


@unpad.stage("cu", points=1.5)
def test_where_each_text_begins(student, rng):
    rule = (
        "`cu_seqlens` says where each text begins among the tokens: 0, then the sum of the lengths"
        " so far, the last one being the number of all tokens. It has one number more than there"
        " are texts. Lengths of 3 and 2 make 0 3 5."
    )
    ask_part(
        student,
        "cu",
        f"{rule} This is the case by hand.",
        torch.tensor([[5, 6, 7, 8], [0, 0, 9, 4]]),
        padding("###.", "..##"),
    )
    for size in (*SIZES, (whole(rng, 2, 6), whole(rng, 4, 9))):
        for ids, mask in batches(rng, *size):
            ask_part(student, "cu", rule, ids, mask)
    for case in (
        *changed(rng),
        *((counts(rng, 0, 99, *mask.shape), mask) for mask in scattered(rng)),
        *look_alikes((counts(rng, 0, 9, 3, 5), padding("#####", "##...", ".###."))),
    ):
        ask_part(student, "cu", f"{rule} Padding may stand anywhere.", *case)
    ask_part(
        student,
        "cu",
        f"{rule} The mask decides what is a token, never an id: here all ids are 0.",
        torch.zeros(3, 4, dtype=torch.int64),
        padding("###.", "####", "#..."),
    )
    ask_part(
        student,
        "cu",
        f"{rule} There are 90,000 tokens less one here.",
        torch.ones(300, 300, dtype=torch.int64),
        torch.arange(300 * 300).view(300, 300) > 0,
    )


@unpad.stage("positions", points=1.5)
def test_positions_begin_anew_in_each_text(student, rng):
    rule = (
        "`positions` is each token's number in its own text: it restarts at 0 where a text begins."
    )
    for size in (*SIZES, (whole(rng, 2, 6), whole(rng, 4, 9))):
        for ids, mask in batches(rng, *size):
            ask_part(student, "positions", rule, ids, mask)
    for case in changed(rng):
        ask_part(student, "positions", rule, *case)


@unpad.stage("anywhere", points=1.5)
def test_padding_may_stand_anywhere(student, rng):
    rule = (
        "Padding stands before the texts here, or in the middle. It is not counted: a token's"
        " position is the number of tokens of its text before it."
    )
    ask_part(
        student,
        "positions",
        f"{rule} This is the case by hand.",
        torch.tensor([[5, 6, 7, 8], [0, 0, 9, 4]]),
        padding("###.", "..##"),
    )
    for mask in scattered(rng):
        ids = counts(rng, 0, 99, *mask.shape)
        for part in ("tokens", "positions"):
            ask_part(student, part, rule, ids, mask)
    for case in look_alikes((counts(rng, 0, 9, 2, 6), padding("######", "##...."))):
        for part in ("tokens", "positions"):
            ask_part(student, part, rule, *case)


def scattered(rng) -> list[Tensor]:
    """Masks with padding anywhere."""
    return [
        padding("...##", ".####", "#####"),
        padding("#.#.#", ".#.#.", "##.##"),
        padding("..#..", "#...#", ".###."),
        padding(".#"),
        padding("..##", "##..", ".##.", "#..#"),
        ended(rng, 4, 7, left=True),
        ended(rng, 2, 300, left=True),
        counts(rng, 0, 1, 5, 8).bool() | (torch.arange(8) == 3),
        counts(rng, 0, 1, 2, 300).bool() | (torch.arange(300) == 7),
    ]


@unpad.stage("empty", points=0.5, after="positions")
def test_a_text_may_have_no_token(student, rng):
    rule = (
        "A text that is all padding has its entry in `cu_seqlens`: two neighbouring numbers are"
        " equal there. Without any token the tokens and positions have the shape (0)."
    )
    for mask in (
        padding("##.", "...", "###"),
        padding("...", "###"),
        padding("#..", "...", "..."),
        padding("...", "...", ".#."),
        padding("...", "..."),
        padding("."),
        padding(".", "#"),
    ):
        ids = counts(rng, 0, 99, *mask.shape)
        for part in PARTS:
            ask_part(student, part, rule, ids, mask)


packed_attention = exercise(
    "11.packed_attention",
    function="packed_attention",
    points=8,
    see=f"{BOOK}/packing#in-code",
    withhold=OURS | LIBRARIES,
)


def attended(q: Tensor, k: Tensor, v: Tensor, cu: Tensor, window: int | None) -> Tensor:
    """The right answer in float64, by torch's operator and one table of all pairs."""
    N = q.shape[1]
    text = torch.searchsorted(cu.long(), torch.arange(N), right=True)
    seen = text[:, None] == text
    if window is not None:
        seen &= (torch.arange(N)[:, None] - torch.arange(N)).abs() <= window // 2
    return (
        scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=seen)
        if N
        else q.double()
    )


def case_of(rng, H: int, lengths: list[int], D: int, window: int | None) -> tuple:
    """The five arguments."""
    N = sum(lengths)
    return (
        *(normal(rng, H, N, D) for _ in range(3)),
        torch.tensor([0, *lengths]).cumsum(0, dtype=torch.int32),
        window,
    )


def lowest(rng, lengths: list[int], window: int | None) -> tuple:
    """The five arguments, with every score at -10,000."""
    _, _, v, cu, _ = case_of(rng, 1, lengths, 1, window)
    return torch.full_like(v, 100.0), torch.full_like(v, -100.0), v, cu, window


def ask(student, cause: str, case: tuple) -> None:
    """Compare all numbers."""
    lengths = case[3].diff().tolist()
    given = (
        "H = {}, N = {}, D = {}, ".format(*case[0].shape)
        + f"texts of {lengths[:8]}{' ...' if len(lengths) > 8 else ''} tokens, window {case[4]}"
    )
    expect(student.packed_attention(*case), given=given).close(
        attended(*case).float(), **CLOSE, cause=cause
    )


@packed_attention.stage("one", points=1)
def test_one_text_is_plain_attention(student, rng):
    rule = (
        "There is one text here, and no window: attention as in chapter 4, each head by itself,"
        " scores divided by the root of D, a softmax over the keys."
    )
    for H, N, D in (
        (1, 1, 1),
        (1, 4, 2),
        (2, 5, 3),
        (3, 3, 3),
        (4, 2, 8),
        (1, 300, 2),
        (300, 2, 2),
        (2, 3, 300),
        (2, whole(rng, 4, 9), 4),
    ):
        ask(student, rule, case_of(rng, H, [N], D, None))
    q, k = (counts(rng, -60, 60, 2, 9, 4).float() for _ in range(2))
    large = (
        "Scores may be as large as 10,000: take the softmax in one step, without an `exp` of your"
        " own that overflows."
    )
    ask(student, large, (q, k, normal(rng, 2, 9, 4), torch.tensor([0, 9], dtype=torch.int32), None))


@packed_attention.stage("apart", points=2.5)
def test_no_text_hears_another(student, rng):
    rule = (
        "A token sees the tokens of its own text, and none of another: text b has the rows"
        " cu_seqlens[b] to cu_seqlens[b + 1] - 1 of q, k and v. The result stands in the same"
        " order."
    )
    none = torch.zeros(1, 5, 1)
    ask(
        student,
        f"{rule} This is the case by hand.",
        (
            none,
            none,
            torch.tensor([[[1.0], [3.0], [10.0], [20.0], [60.0]]]),
            torch.tensor([0, 2, 5], dtype=torch.int32),
            None,
        ),
    )
    for H, lengths, D in (
        (1, [2, 3], 2),
        (2, [3, 1, 4], 3),
        (2, [4, 4], 4),
        (1, [1, 1, 1], 2),
        (3, [5, 2, 2, 6], 2),
        (1, [1] * 300, 1),
        (2, [3, 90, 7, 200], 2),
        (4, [2, 2, 4], 4),
        (2, [whole(rng, 1, 9) for _ in range(5)], 4),
    ):
        ask(student, rule, case_of(rng, H, lengths, D, None))
    first, second = case_of(rng, 2, [2, 5, 3], 4, None), case_of(rng, 2, [4, 1, 5], 4, None)
    for case in (
        *one_changed(first[:4], second[:4]),
        *((*case, first[3]) for case in look_alikes(first[:3])),
    ):
        ask(student, rule, (*case, None))
    low = torch.full((1, 6, 1), 90.0)
    ask(
        student,
        f"{rule} The scores of its own text are far below those of the other here.",
        (
            low,
            torch.where(torch.arange(6)[:, None] < 3, -low, low),
            normal(rng, 1, 6, 1),
            torch.tensor([0, 3, 6], dtype=torch.int32),
            None,
        ),
    )
    for lengths in ([3, 3], [1] * 6):
        ask(
            student,
            f"{rule} All scores are -10,000 here, and what is not seen plays no part: minus"
            " infinity is lower.",
            lowest(rng, lengths, None),
        )
    ask_trained(student, rng, None)


def ask_trained(student, rng, window: int | None) -> None:
    """Compare the gradients of three texts."""
    case, upstream = case_of(rng, 2, [3, 1, 4], 4, window), normal(rng, 2, 8, 4)
    leaves = [one.double().requires_grad_() for one in case[:3]]
    (attended(*leaves, *case[3:]) * upstream).sum().backward()
    ask_gradients(
        student,
        "packed_attention",
        case,
        {place: leaf.grad.float() for place, leaf in enumerate(leaves)},
        "The result is differentiated: a gradient reaches q, k and v. `.item()`, `.detach()` and"
        " `no_grad` cut it off.",
        atol=1e-4,
        upstream=upstream,
    )


@packed_attention.stage("window", points=2, after="apart")
def test_the_window_ends_with_the_text(student, rng):
    rule = (
        "With a window a token sees those of its own text that are at most window // 2 positions"
        " away:"
        " the window ends where the text does."
    )
    none = torch.zeros(1, 5, 1)
    ask(
        student,
        f"{rule} This is the case by hand.",
        (
            none,
            none,
            torch.tensor([[[1.0], [3.0], [10.0], [20.0], [60.0]]]),
            torch.tensor([0, 2, 5], dtype=torch.int32),
            2,
        ),
    )
    for H, lengths, D, window in (
        (1, [5], 2, 2),
        (2, [9], 3, 4),
        (2, [3, 8, 5], 4, 4),
        (1, [4, 4], 2, 3),
        (2, [6, 2], 2, 0),
        (2, [6, 2], 2, 1),
        (1, [3, 9, 1], 2, 100_000),
        (1, [300], 2, 16),
        (1, [150, 1, 149], 2, 128),
        (1, [64, 65, 66], 2, 128),
        (1, [129, 130], 2, 128),
        (3, [3, 3, 3], 3, 6),
        (1, [1] * 300, 1, 2),
        (1, [2] * 150, 2, 2),
        (2, [whole(rng, 1, 9) for _ in range(5)], 4, 2 * whole(rng, 1, 4)),
    ):
        ask(student, rule, case_of(rng, H, lengths, D, window))
    for case in one_changed(case_of(rng, 2, [5, 5], 4, 4), case_of(rng, 2, [3, 7], 4, 2)):
        ask(student, rule, case)
    ask(
        student,
        f"{rule} All scores are -10,000 here, and what is not seen plays no part: minus infinity is"
        " lower.",
        lowest(rng, [6, 6], 2),
    )
    ask_trained(student, rng, 2)
    low = torch.full((1, 12, 1), 90.0)
    ask(
        student,
        f"{rule} Some of what is hidden has far higher scores here.",
        (
            low,
            torch.where(torch.arange(12)[:, None] % 6 < 3, -low, low),
            normal(rng, 1, 12, 1),
            torch.tensor([0, 7, 12], dtype=torch.int32),
            2,
        ),
    )


@packed_attention.stage("empty", points=1, after="apart")
def test_texts_may_be_empty(student, rng):
    rule = (
        "An empty text has no rows: two neighbouring numbers of `cu_seqlens` are equal. The others"
        " are as they would be without it."
    )
    for lengths in ([2, 0, 3], [0, 4], [4, 0], [0, 0, 3, 0, 0, 2, 0], [0, 1]):
        for window in (None, 100_000):
            ask(student, rule, case_of(rng, 2, lengths, 3, window))
    for lengths in ([0], [0, 0, 0]):
        for window in (None, 4):
            ask(
                student,
                "There is no token at all here: the result has shape (H, 0, D).",
                case_of(rng, 2, lengths, 3, window),
            )


LONG = 8192


def neighbours(q: Tensor, k: Tensor, v: Tensor, side: int) -> Tensor:
    """The right answer for one head and one long text, from each token's neighbours alone."""
    near_k, near_v = (
        pad(one[0].double(), (0, 0, side, side)).unfold(0, 2 * side + 1, 1) for one in (k, v)
    )  # (N, D, 2 side + 1)
    reach = torch.arange(q.shape[1])[:, None] + torch.arange(-side, side + 1)
    scores = torch.einsum("nd,ndr->nr", q[0].double(), near_k) / math.sqrt(q.shape[2])
    return torch.einsum(
        "nr,ndr->nd",
        scores.masked_fill((reach < 0) | (reach >= q.shape[1]), -math.inf).softmax(1),
        near_v,
    )[None]


@packed_attention.stage("memory", points=1.5, after="apart")
def test_no_table_of_all_tokens_by_all(student, rng):
    rule = (
        "8,192 tokens in 32 MiB: a table of all tokens by all, of Booleans, has 64. Go through the"
        " texts one by one; where a text is long and there is a window, through some of its queries"
        " at a time, with the keys that these can see."
    )
    for lengths, window in (([512] * 15 + [300, 212], None), ([LONG], 64)):
        case = case_of(rng, 1, lengths, 4, window)
        try:
            with student.capped(32 * MIB):
                came = expect(student.packed_attention(*case)).is_tensor(
                    shape=(1, LONG, 4), dtype=torch.float32
                )
        except StudentError as error:
            if error.kind != "memory":
                raise
            raise CheckFailed(
                f"Your function takes more memory than it is given here. {rule}", error.text
            ) from None
        if window is not None:
            expect(came).close(neighbours(*case[:3], window // 2).float(), **CLOSE, cause=rule)
            continue
        bounds = case[3].tolist()
        for start, stop in [*zip(bounds, bounds[1:])][::5]:
            right = attended(
                *(one[:, start:stop] for one in case[:3]),
                torch.tensor([0, stop - start], dtype=torch.int32),
                None,
            )
            expect(came[:, start:stop], "The rows of a text").close(
                right.float(), **CLOSE, cause=rule
            )
