"""Checks of chapter 3, part 2: one step of an LSTM, and a reader from the right."""

import torch

from autograder.chapters.c03_context_before_attention import MOST
from autograder.chapters.c03_context_before_attention.withholding import CELLS, MODELS
from autograder.checks.assertions.slips import note
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.inputs.strided import FAILS, strided
from autograder.checks.protocol import StudentError, exercise, expect

PAGE = "03-context-before-attention/lstm"
CLOSE = {"rtol": 1e-4, "atol": 2e-6}
PARTS = ("i", "f", "g", "o", "c", "h")
NAMES = ("x", "h", "c", "w_x", "w_h", "b")

lstm_step = exercise(
    "03.lstm_step",
    function="lstm_step",
    points=6,
    see=f"{PAGE}#the-lstm-cell",
    withhold=MODELS | CELLS,
)


def true_step(x, h, c, w_x, w_h, b) -> dict[str, torch.Tensor]:
    """The right six parts, in float64."""
    blocks = (
        torch.einsum("bd,kd->bk", x.double(), w_x.double())
        + torch.einsum("br,kr->bk", h.double(), w_h.double())
        + b.double()
    )
    size = c.shape[1]
    i, f, g, o = (blocks[:, size * place : size * (place + 1)] for place in range(4))
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    kept = f * c.double() + i * g
    return {"i": i, "f": f, "g": g, "o": o, "c": kept, "h": o * torch.tanh(kept)}


def ask_step(student, parts: tuple, which: str, causes: dict[str, str] | str) -> None:
    """Compare the parts whose letters stand in `which`, in this order."""
    x, h, c = parts[:3]
    given = f"B = {len(x)}, D = {x.shape[1]}, R = {h.shape[1]}, H = {c.shape[1]}"
    right = true_step(*parts)
    asked = expect(student.lstm_step(*parts), given=given).only_keys(PARTS)
    for name in PARTS:
        asked.has(name)
    for name in which:
        asked.has(name).close(
            right[name].float(), **CLOSE, cause=causes if type(causes) is str else causes[name]
        )


def by_biases(rng: torch.Generator, size: int, c: torch.Tensor, content: bool = True) -> tuple:
    """A step whose weights are all 0, so that the biases alone decide."""
    b = normal(rng, 4, size) * 1.2 + torch.tensor([0.4, -0.7, 0.9, -0.3])[:, None]
    if not content:
        b[2] = 0.0
    return (
        uniform(rng, 0.5, 1, 1, 2),
        uniform(rng, 0.5, 1, 1, size),
        c,
        torch.zeros(4 * size, 2),
        torch.zeros(4 * size, size),
        b.flatten(),
    )


@lstm_step.stage("forget gate", points=1)
def test_the_keep_gate_says_how_much_of_the_old_state_stays(student, rng):
    for size in (1, whole(rng, 2, 5)):
        ask_step(
            student,
            by_biases(rng, size, normal(rng, 1, size) + 2, content=False),
            "fgc",
            {
                "f": (
                    "The second block, through a sigmoid and with nothing added, is the forget"
                    " gate f."
                ),
                "g": "The third block is the candidate g, through tanh: a sum of 0 gives 0.",
                "c": "Where the candidate is 0, the new c is f times the old c, elementwise.",
            },
        )


@lstm_step.stage("input gate", points=1)
def test_the_write_gate_says_how_much_of_the_content_is_written(student, rng):
    for size in (1, whole(rng, 2, 5)):
        ask_step(
            student,
            by_biases(rng, size, torch.zeros(1, size)),
            "igc",
            {
                "i": "The first block, through a sigmoid, is the input gate i.",
                "g": "The third block, through tanh, is the candidate g: it may be negative.",
                "c": "Where the old c is 0, the new c is i times g.",
            },
        )
        ask_step(
            student,
            by_biases(rng, size, normal(rng, 1, size) + 2),
            "c",
            "The new c is f times the old c plus i times g: both products, then the sum.",
        )


@lstm_step.stage("output gate", points=1)
def test_the_show_gate_says_how_much_of_the_new_state_is_shown(student, rng):
    for size in (1, whole(rng, 2, 5)):
        ask_step(
            student,
            by_biases(rng, size, normal(rng, 1, size) + 2),
            "oh",
            {
                "o": "The fourth block, through a sigmoid, is the output gate o.",
                "h": (
                    "h is o times the tanh of the new c: not of the old one, and not without tanh."
                ),
            },
        )


def full_step(rng: torch.Generator, rows: int, inward: int, shown: int, size: int) -> tuple:
    """A step in which everything takes part."""
    return (
        normal(rng, rows, inward),
        normal(rng, rows, shown),
        normal(rng, rows, size),
        normal(rng, 4 * size, inward) / inward**0.5,
        normal(rng, 4 * size, shown) / shown**0.5,
        normal(rng, 4 * size) / 2,
    )


@lstm_step.stage("gate inputs", points=1.5)
def test_the_gates_read_the_word_and_what_was_shown_before(student, rng):
    for inward, shown, size in (
        (1, 1, 1),
        (2, 1, 3),
        (4, 4, 4),
        (whole(rng, 2, 3), 5, 4),
        (3, 3, 1),
        (6, 2, 2),
        (2, 3, 9),
    ):
        silent = full_step(rng, 1, inward, shown, size)
        rule = (
            "Each block is x times the transpose of w_x, plus h times the transpose of w_h, plus b."
        )
        ask_step(
            student, (silent[0], torch.zeros(1, shown), *silent[2:]), "ifgo", f"{rule} Here h is 0."
        )
        ask_step(
            student,
            (torch.zeros(1, inward), *silent[1:]),
            "ifgo",
            f"{rule} Here x is 0, and h is not.",
        )
        ask_step(student, silent, "ifgoch", rule)
    for inward, shown, size in ((8, 8, 2), (MOST, 2, 2), (2, MOST, 2), (2, 3, MOST)):
        ask_step(student, full_step(rng, 1, inward, shown, size), "ifgoch", rule)
    for parts in look_alikes(full_step(rng, 1, 5, 5, 5)):
        ask_step(
            student,
            parts,
            "ifgoch",
            f"{rule} The same numbers in another order are other arguments.",
        )
    for parts in [*one_changed(full_step(rng, 1, 2, 3, 3), full_step(rng, 1, 2, 3, 3))]:
        ask_step(student, parts, "ifgoch", rule)
    wide = full_step(rng, 1, 3, 2, 2)
    wide[-1][:] = torch.tensor([8.0, -9.0]).repeat(4)
    ask_step(student, wide, "ifgoch", f"{rule} No sum is clamped.")


@lstm_step.stage("independent sequences", points=0.5, after="gate inputs", at_most=0.5)
def test_each_row_of_a_batch_is_for_itself(student, rng):
    for rows, inward, shown, size in (
        (2, 3, 2, 2),
        (whole(rng, 3, 5), 2, 3, 4),
        (4, 1, 1, 1),
        (3, 3, 3, 3),
        (4, 4, 4, 1),
        (8, 8, 8, 2),
        (8, 2, 3, 2),
        (MOST, 2, 1, 3),
    ):
        ask_step(
            student,
            full_step(rng, rows, inward, shown, size),
            "ifgoch",
            "Each sequence is independent: row b of the result depends on row b alone.",
        )


@lstm_step.stage("large pre-activations", points=1)
def test_large_sums_give_gates_of_0_and_1_and_nothing_infinite(student, rng):
    rule = (
        "Sums of a few hundred should give gates of 0 or 1 and a candidate of -1 or 1: exp of 89"
        " is infinite in float32."
    )
    for sums in (95.0, float(uniform(rng, 150, 390))):
        for sign in (1, -1):
            for block in range(4):
                parts = by_biases(rng, 2, normal(rng, 1, 2) + 2)
                parts[-1][2 * block : 2 * block + 2] = sign * sums
                ask_step(student, parts, "ifgoch", rule)
    digits = (
        "Small gates and candidates keep their digits: use torch.sigmoid and torch.tanh, and clamp"
        " nothing."
    )
    for sums in (
        [0.0, -14.0, 0.0, 0.0],
        [-12.0, 0.0, 1.0, -13.0],
        [-29.0, -21.0, 1e-5, -25.0],
        [0.0, -29.0, -3e-4, 0.0],
    ):
        b = torch.tensor(sums)
        parts = (
            torch.zeros(1, 2),
            torch.zeros(1, 1),
            torch.zeros(1, 1),
            torch.zeros(4, 2),
            torch.zeros(4, 1),
            b,
        )
        came, right = student.lstm_step(*parts), true_step(*parts)
        for name in PARTS[:4]:
            expect(came).has(name).close(right[name].float(), rtol=1e-4, atol=1e-16, cause=digits)
    for kept in (3.0, -250.0):
        parts = by_biases(rng, 2, torch.tensor([[kept, 1.0]]))
        parts[-1][:4] = torch.tensor([-390.0, -390.0, 390.0, 390.0])
        ask_step(
            student,
            parts,
            "ifgoch",
            "With the forget gate at 1 and the input gate at 0, the new c equals the old one, in"
            " a new tensor.",
        )
    for kept in (30.0, 400.0):
        parts = by_biases(rng, 2, torch.tensor([[kept, -kept]]))
        ask_step(
            student,
            parts,
            "ch",
            "c may be a few hundred: it is kept as it is, and its tanh is 1 or -1.",
        )
    sources = full_step(rng, 2, 3, 2, 2)
    ask_step(
        student,
        (sources[0] * 90, sources[1] * 90, *sources[2:]),
        "ifgoch",
        f"{rule} x and h may be large too.",
    )


read_backward = exercise(
    "03.read_backward",
    function="read_backward",
    also=["wrong_line"],
    points=5,
    kind="find-line",
    see="03-context-before-attention/lstm#padding-and-direction",
    withhold=MODELS,
)


@read_backward.stage("wrong line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(
        cause=(
            "That line does what the statement says. Trace the text 4, 2, padding with the start 8"
            " through the code, line by line."
        )
    )


def halve_and_add(inputs, state):
    """The reader of the case by hand."""
    return state / 2 + inputs


def last_word(inputs, state):
    """A reader that forgets."""
    return inputs + 0 * state


def for_some_rows(inputs, state):
    """The reader of the case by hand, which refuses to read for nobody."""
    if len(inputs) == 0 or len(inputs) != len(state):
        raise ValueError("step is made for the same number of rows in both arguments, at least one")
    return state / 2 + inputs


def bent(inputs, state):
    """A reader whose state is two numbers wide and its words three."""
    weight = torch.tensor([[0.7, -0.4], [0.3, 0.9], [-0.6, 0.5]])
    return torch.tanh(inputs @ weight + state @ torch.tensor([[0.8, 0.5], [-0.5, 0.6]]) + 0.1)


def averaged(inputs, state):
    """A reader for words and states of any width."""
    return state / 2 + inputs.mean(1, keepdim=True)


def mirrored(inputs, state):
    """Another reader of the same widths."""
    return bent(inputs.flip(1), state.flip(1))


def read(step, x, mask, start) -> torch.Tensor:
    """The right output, row by row and word by word."""
    out = torch.zeros(*x.shape[:2], start.shape[1])
    for row in range(len(x)):
        state = start[row : row + 1]
        for place in range(x.shape[1] - 1, -1, -1):
            if mask[row, place]:
                state = step(x[row : row + 1, place], state)
                out[row, place] = state[0]
    return out


def ask_reading(
    student,
    rng,
    rows: list[list[int]],
    cause: str,
    step=bent,
    start: float | None = None,
    widths: tuple[int, int] | None = None,
) -> None:
    """Compare the output for a mask; words are drawn, and what stands in the filling is large.

    start: 0, or drawn.

    widths: of words and states, for a step of any width.
    """
    mask = torch.tensor(rows, dtype=torch.bool)
    inward, size = widths or ((3, 2) if step is bent else (1, 1))
    x = torch.where(mask[..., None], normal(rng, *mask.shape, inward), 7.0)
    first = (
        normal(rng, len(rows), size) + 1.5
        if start is None
        else torch.full((len(rows), size), start)
    )
    expect(student.read_backward(step, x, mask, first), given=f"the mask {rows}").close(
        read(step, x, mask, first), **CLOSE, cause=cause
    )


def ask_with_views(student, rng) -> None:
    """The same reading with views of larger tensors: who fails there only makes a slip."""
    x, mask, first = (
        normal(rng, 2, 3, 3),
        torch.tensor([[True, True, False], [True, True, True]]),
        normal(rng, 2, 2),
    )
    try:
        came = student.read_backward(bent, *map(strided, (x, mask, first)))
    except StudentError as error:
        if error.kind != "error":
            raise
        note(FAILS)
        return
    expect(came).close(
        read(bent, x, mask, first),
        **CLOSE,
        cause="Read the tensors by their indices, and not the memory under them.",
    )


FULL = (
    "Without padding, the output at each position is the state after reading from the last"
    " token back to that one."
)
MEETS = (
    "Padding must leave the state unchanged: a shorter text's last token is read with its"
    " own row of `start`."
)
SILENT = "At padding the output is zeros, whatever the state is."


@read_backward.stage("padding after text", points=2)
def test_filling_behind_a_text_does_not_move_the_state(student, rng):
    for rows in ([[1, 1, 1]], [[1]], [[1, 1], [1, 1], [1, 1]], [[1] * whole(rng, 4, 6)] * 2):
        ask_reading(student, rng, rows, FULL)
    ask_reading(student, rng, [[1, 1, 0]], MEETS, halve_and_add, 8.0)
    for rows in (
        [[1, 1, 0, 0], [1, 1, 1, 1]],
        [[1, 0], [1, 1], [1, 0]],
        [[1, 0, 0, 0, 0]],
        [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]],
    ):
        ask_reading(student, rng, rows, MEETS)
    ask_reading(student, rng, [[1] * MOST], FULL)
    ask_reading(student, rng, [[1]] * MOST, FULL)
    for size in ((MOST, 2), (2, MOST), (3, 3)):
        ask_reading(student, rng, [[1, 1, 1]] * 3, FULL, averaged, widths=size)
    no_filling = torch.ones(1, 2, dtype=torch.bool)
    for word, cause in (
        (0.0, "A token whose numbers are all 0 is a token: only mask tells what is padding."),
        (0.001, "A small state may follow a large one, and keeps its digits."),
    ):
        parts = (
            halve_and_add if word == 0 else last_word,
            torch.tensor([[[word], [100_000.0 if word else 4.0]]]),
            no_filling,
            torch.zeros(1, 1),
        )
        expect(student.read_backward(*parts)).close(read(*parts), rtol=1e-4, atol=1e-8, cause=cause)
    masks = torch.tensor([[True, True, True]]), torch.tensor([[True, True, False]])
    for parts in one_changed(
        (bent, normal(rng, 1, 3, 3), masks[0], normal(rng, 1, 2)),
        (mirrored, normal(rng, 1, 3, 3), masks[1], normal(rng, 1, 2)),
    ):
        expect(student.read_backward(*parts)).close(read(*parts), **CLOSE, cause=MEETS)
    lengths = [torch.arange(4) < torch.tensor(one)[:, None] for one in ([2, 3, 2], [3, 2, 2])]
    alike = look_alikes((bent, normal(rng, 3, 4, 3), normal(rng, 3, 2)))
    for step, x, first in alike:
        for parts in ((step, x, mask, first) for mask in lengths):
            expect(student.read_backward(*parts)).close(
                read(*parts),
                **CLOSE,
                cause=f"{MEETS} The same numbers in another order are another text.",
            )
    length = whole(rng, 3, 5)
    ask_reading(student, rng, [[1] * length + [0] * 3, [1] * (length + 2) + [0]], MEETS)


@read_backward.stage("padding before or inside", points=2)
def test_filling_before_and_inside_a_text_does_not_move_the_state_either(student, rng):
    inside = (
        "The state passes unchanged across padding inside a text as well: the next token is read"
        " with the state after the last one."
    )
    for rows in ([[1, 0, 1]], [[1, 0, 0, 1, 1], [1, 1, 1, 0, 1]], [[1, 0, 1, 0]]):
        for start in (0.0, None):
            ask_reading(student, rng, rows, inside, start=start)
    ask_reading(
        student,
        rng,
        [[0, 1, 1], [1, 1, 1], [0, 0, 1]],
        f"{SILENT} Padding may also precede a text.",
    )
    for rows in ([[0, 0], [1, 1]], [[0]], [[0, 0, 0]], [[1], [0], [1]]):
        ask_reading(student, rng, rows, f"{SILENT} A row may have no token at all.")
    parts = (
        for_some_rows,
        torch.tensor([[[4.0], [2.0], [9.0]]]),
        torch.tensor([[True, True, False]]),
        torch.tensor([[8.0]]),
    )
    expect(student.read_backward(*parts)).close(
        read(*parts), **CLOSE, cause=f"{MEETS} `step` takes at least one row."
    )
    for rows in ([[0, 0, 0]], [[0, 0, 0]] * 3, [[1, 0, 0], [0, 0, 0], [0, 0, 1]]):
        for size in ((2, 4), (3, 1)):
            ask_reading(
                student, rng, rows, f"{SILENT} It is as wide as the state.", averaged, widths=size
            )
    ask_reading(student, rng, [[1] + [0] * (MOST - 3) + [1, 0]], inside)
    drawn = (torch.rand(3, 7, generator=rng) < 0.6).int().tolist()
    ask_reading(student, rng, [*drawn, [0, 1, 0, 1, 0, 1, 0]], inside)
    ask_with_views(student, rng)
