"""Checks of chapter 8, part 3: a step of AdamW, and many small batches made one."""

import torch

from autograder.chapters.c08_gpt.withholding import LIBRARIES, OPTIMIZERS, OURS
from autograder.checks.inputs.draws import (
    look_alike,
    look_alikes,
    normal,
    one_changed,
    uniform,
    whole,
)
from autograder.checks.protocol import exercise, expect

BOOK = "08-gpt"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

adamw_step = exercise(
    "08.adamw_step",
    function="adamw_step",
    points=5,
    see=f"{BOOK}/training#adamw",
    withhold=OURS | LIBRARIES | OPTIMIZERS,
)


def stepped(
    p, g, m, v, t: int, rate: float, betas: tuple[float, float], eps: float, decay: float
) -> tuple:
    """The right step, in float64."""
    p, g, m, v = (one.double() for one in (p, g, m, v))
    first, second = betas
    m, v = first * m + (1 - first) * g, second * v + (1 - second) * g * g
    quotient = (m / (1 - first**t)) / ((v / (1 - second**t)).sqrt() + eps)
    return tuple(one.float() for one in (p - rate * quotient - rate * decay * p, m, v))


SHAPES = ((1,), (3,), (2, 3), (3, 3), (1, 4), (4, 1), (2, 2, 3), (2, 1, 3), (300, 2), (2, 300))


def state(
    rng,
    shape: tuple[int, ...],
    t: int,
    rate: float = 0.1,
    betas: tuple[float, float] = (0.9, 0.99),
    eps: float = 1e-8,
    decay: float = 0.0,
    size: float = 1.0,
) -> tuple:
    """The nine arguments, as they could be before step t: both means are 0 before the first one.

    No gradient is near 0, where even the smallest eps shows: that is asked in a stage of its own.
    """
    p, g = normal(rng, *shape), normal(rng, *shape)
    g = size * (g + 0.1 * g.sign())
    m, v = (
        (0.5 * size * normal(rng, *shape), size**2 * uniform(rng, 0.1, 1.0, *shape))
        if t > 1
        else (torch.zeros(shape), torch.zeros(shape))
    )
    return p, g, m, v, t, rate, betas, eps, decay


def ask(student, cause: str, case: tuple, places: tuple[int, ...] = (0, 1, 2)) -> None:
    """Compare the new parameter, the mean and the mean of squares, or some of the three."""
    given = (
        f"shape {tuple(case[0].shape)}, t {case[4]}, rate {case[5]:g}, betas {case[6]}, eps"
        f" {case[7]:g}, decay {case[8]:g}"
    )
    came, right = expect(student.adamw_step(*case), given=given).unpacks(3), stepped(*case)
    for place in range(3):
        if place in places:
            near = CLOSE if place < 2 else {"rtol": 1e-4, "atol": 1e-12}
            expect(came[place], ("The new p", "The new m", "The new v")[place], given).close(
                right[place], **near, cause=cause
            )
        else:
            expect(came[place], ("The new p", "The new m", "The new v")[place], given).is_tensor(
                shape=tuple(case[0].shape), dtype=torch.float32, cause=cause
            )


@adamw_step.stage("means", points=1)
def test_two_running_means(student, rng):
    rule = (
        "m is the running mean of the gradient, v of its square, each with its own beta. Return"
        " them without bias correction and without decay."
    )
    for shape in SHAPES:
        ask(student, rule, state(rng, shape, whole(rng, 2, 30)), (1, 2))
    for betas in ((0.0, 0.0), (0.5, 0.9), (0.9, 0.5), (0.99, 0.999), (0.999, 0.99)):
        ask(student, rule, state(rng, (2, 3), 4, betas=betas, decay=0.5), (1, 2))
    ask(student, f"{rule} This is the first step.", state(rng, (2, 3), 1), (1, 2))
    for none in (torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), torch.zeros(2, 3)):
        p, g, *rest = state(rng, (2, 3), 5)
        ask(
            student,
            f"{rule} Where the gradient is 0 in this step both means shrink all the same.",
            (p, none * g, *rest),
            (1, 2),
        )


@adamw_step.stage("step", points=1.5, after="means")
def test_the_parameter_moves_by_the_quotient_of_the_corrected_means(student, rng):
    rule = (
        "Without decay, p falls by the learning rate times corrected m over the root of corrected"
        " v. Correct by dividing by 1 - beta ** t; t is 1 at first."
    )
    for t in (1, 2, 3, 10, 300, 1_000_000):
        ask(student, rule, state(rng, (2, 3), t))
    for t in (100, 3000, 1_000_000):
        ask(student, rule, state(rng, (2, 3), t, betas=(0.99, 0.999)))
    for shape in SHAPES:
        ask(student, rule, state(rng, shape, whole(rng, 1, 9), size=5.0))
    for rate, betas in (
        (0.0, (0.9, 0.99)),
        (1.0, (0.5, 0.9)),
        (0.003, (0.0, 0.999)),
        (0.2, (0.999, 0.0)),
        (0.5, (0.0, 0.0)),
    ):
        for t in (1, 4):
            ask(student, rule, state(rng, (2, 3), t, rate, betas, size=3.0))


@adamw_step.stage("eps", points=0.5, after="step")
def test_eps_is_added_to_the_root(student, rng):
    rule = (
        "eps is added to the root of the corrected v, and does not stand under the root; a large"
        " one shows it."
    )
    for eps, size in ((1.0, 1.0), (0.1, 0.2), (1e-3, 1e-3), (1e-6, 1e-6)):
        for t in (1, 5):
            ask(student, rule, state(rng, (2, 3), t, eps=eps, size=size))
    p, *_ = state(rng, (4,), 1)
    for t in (1, 7):
        ask(
            student,
            "The gradient was 0 from the first step on: the quotient is 0, not 0 / 0.",
            (p, torch.zeros(4), torch.zeros(4), torch.zeros(4), t, 0.1, (0.9, 0.99), 1e-8, 0.0),
        )


@adamw_step.stage("decay", points=2, after="step")
def test_the_decay_acts_on_the_parameter_alone(student, rng):
    rule = (
        "Weight decay subtracts learning rate times decay times the old parameter, outside Adam's"
        " quotient."
    )
    one, two = torch.tensor([1.0]), torch.tensor([2.0])
    ask(
        student,
        f"{rule} This is the case by hand.",
        (one, two, 0 * one, 0 * one, 1, 0.1, (0.9, 0.99), 1e-8, 0.5),
    )
    for rate, decay in ((0.1, 0.5), (0.5, 0.1), (1.0, 1.0), (0.01, 1.0), (0.3, 0.01)):
        for t in (1, 6):
            ask(student, rule, state(rng, (2, 3), t, rate, decay=decay, size=3.0))
    for shape in SHAPES:
        ask(student, rule, state(rng, shape, whole(rng, 1, 9), decay=0.5))
    p, *_ = state(rng, (4,), 1)
    ask(
        student,
        f"{rule} The gradient is 0 here, and the decay acts all the same.",
        (10 * p, torch.zeros(4), torch.zeros(4), torch.zeros(4), 3, 0.1, (0.9, 0.99), 1e-8, 0.5),
    )
    first, second = (
        state(rng, (2, 4), 3, 0.1, (0.9, 0.99), 0.1, 0.5),
        state(rng, (2, 4), 7, 0.2, (0.8, 0.95), 0.3, 0.25),
    )
    for case in [*one_changed(first, second), *look_alikes(first)]:
        ask(student, rule, case)


combine = exercise(
    "08.combine",
    function="combine",
    points=5,
    see=f"{BOOK}/training#the-gradient-of-a-step",
    withhold=OURS | LIBRARIES | OPTIMIZERS,
)
Parts = list[dict[str, torch.Tensor]]


def combined(
    parts: Parts, counts: list[int], max_norm: float
) -> tuple[dict[str, torch.Tensor], float]:
    """The right answer, in float64."""
    total = {
        name: torch.zeros(tensor.shape, dtype=torch.float64) for name, tensor in parts[0].items()
    }
    for part in parts:
        for name, tensor in part.items():
            total[name] += tensor.double()
    mean = {name: tensor / sum(counts) for name, tensor in total.items()}
    length = float(torch.cat([tensor.flatten() for tensor in mean.values()]).norm())
    return {
        name: (tensor * (max_norm / length if length > max_norm else 1.0)).float()
        for name, tensor in mean.items()
    }, length


def batch(
    rng,
    number: int,
    shapes: tuple[tuple[int, ...], ...] = ((2, 3), (3,)),
    counts: list[int] | None = None,
) -> tuple[Parts, list[int]]:
    """Parts and their counts; a part's gradients are sums over as many bets."""
    counts = [whole(rng, 1, 9) for _ in range(number)] if counts is None else counts
    return [
        {f"layer.{at}": 2 * count * normal(rng, *shape) for at, shape in enumerate(shapes)}
        for count in counts
    ], counts


def ask_mean(
    student, cause: str, parts: Parts, counts: list[int], max_norm: float, length_too: bool = False
) -> None:
    """Compare the gradients, or both answers."""
    given = (
        f"{len(parts)} parts with {sum(counts)} targets, {len(parts[0])} names,"
        f" max_norm {max_norm:g}"
    )
    came, right = (
        expect(student.combine(parts, counts, max_norm), given=given).unpacks(2),
        combined(parts, counts, max_norm),
    )
    gradients = expect(came[0], "Your dictionary", given).only_keys(right[0])
    gradients.close(right[0], **CLOSE, cause=cause)
    if length_too:
        expect(came[1], "Your length", given).close(right[1], **CLOSE, cause=cause)


@combine.stage("mean", points=2)
def test_the_sum_over_all_parts_by_the_number_of_all_bets(student, rng):
    rule = (
        "Sum the gradients of all parts by name and divide by the number of all targets. max_norm"
        " is out of reach here."
    )
    for number in (1, 2, 3, 5, whole(rng, 4, 9)):
        ask_mean(student, rule, *batch(rng, number), 1e6)
    for shapes in (((1,),), ((4,),), ((3, 3), (3,), (1, 3)), ((300, 2), (2,)), ((2, 300),)):
        ask_mean(student, rule, *batch(rng, 2, shapes), 1e6)
    ask_mean(
        student,
        f"{rule} This is the case by hand.",
        [{"w": torch.tensor([4.0])}, {"w": torch.tensor([3.0])}],
        [1, 3],
        1e6,
    )
    ask_mean(
        student,
        f"{rule} A part without a target adds nothing.",
        *batch(rng, 3, counts=[3, 0, 4]),
        1e6,
    )
    parts, counts = batch(rng, 3)
    ask_mean(
        student,
        f"{rule} The names come in another order in each part.",
        [parts[0], dict(reversed(parts[1].items())), parts[2]],
        counts,
        1e6,
    )
    for shapes in (((2, 3), (2, 3)), ((2,), (3,), (2,))):
        parts, counts = batch(rng, 2, shapes)
        turned = dict(reversed(parts[1].items()))
        ask_mean(
            student,
            f"{rule} Names come in another order in the second part, and some shapes are equal.",
            [parts[0], turned],
            counts,
            1e6,
        )
    first, second = batch(rng, 3, counts=[1, 2, 4]), batch(rng, 3, counts=[3, 1, 5])
    for case in one_changed(first, second):
        ask_mean(student, rule, *case, 1e6)
    ask_mean(student, rule, first[0], [4, 2, 2], 1e6)
    ask_mean(
        student,
        rule,
        [
            first[0][0],
            {
                name: look_alike(one) if one.numel() > 3 else one
                for name, one in first[0][1].items()
            },
            first[0][2],
        ],
        [1, 2, 4],
        1e6,
    )
    ask_mean(student, f"{rule} There are many parts.", *batch(rng, 300, ((2,),)), 1e6)
    ask_mean(student, f"{rule} There are many names.", *batch(rng, 2, ((2,),) * 300), 1e6)


@combine.stage("length", points=1)
def test_the_length_of_all_together_before_it_is_cut(student, rng):
    rule = (
        "The length is the root of the sum of all squares, of all names together, of the mean"
        " gradient: after dividing, and before it is shortened."
    )

    def ask_length(parts: Parts, counts: list[int], max_norm: float, cause: str = rule) -> None:
        given = (
            f"{len(parts)} parts with {sum(counts)} targets, {len(parts[0])} names, max_norm"
            f" {max_norm:g}"
        )
        came = expect(student.combine(parts, counts, max_norm), given=given).unpacks(2)
        expect(came[1], "Your length", given).close(
            combined(parts, counts, max_norm)[1], **CLOSE, cause=cause
        )

    for max_norm in (1e6, 0.5):
        for number in (1, 2, 4):
            ask_length(*batch(rng, number), max_norm)
        for shapes in (((1,),), ((3, 3), (3,), (1, 3)), ((300, 2), (2,)), ((2, 300),)):
            ask_length(*batch(rng, 2, shapes), max_norm)
        ask_length(
            [{"a": torch.tensor([3.0]), "b": torch.tensor([[4.0]])}],
            [1],
            max_norm,
            f"{rule} This is the case by hand.",
        )


@combine.stage("clip", points=1.5, after="mean")
def test_what_is_too_long_is_shortened_together(student, rng):
    rule = (
        "The mean gradient is longer than max_norm here: all names are multiplied by one and the"
        " same factor, max_norm divided by the length of all together, so that its direction stays."
        " First divide, then measure."
    )
    ask_mean(
        student,
        f"{rule} This is the case by hand.",
        [{"a": torch.tensor([3.0]), "b": torch.tensor([[4.0]])}],
        [1],
        1.0,
        length_too=True,
    )
    for max_norm in (0.01, 0.3, 1.0, uniform(rng, 0.2, 0.9).item()):
        for number in (1, 2, 4):
            ask_mean(student, rule, *batch(rng, number), max_norm)
        ask_mean(student, rule, *batch(rng, 2, ((3, 3), (3,), (1, 3))), max_norm)
    for max_norm in (2.5, 40.0):
        parts, counts = batch(rng, 2)
        ask_mean(
            student,
            f"{rule} max_norm is above 1.",
            [{name: 1000 * one for name, one in part.items()} for part in parts],
            counts,
            max_norm,
            length_too=True,
        )
    parts, counts = batch(rng, 2, ((2,),) * 300)
    ask_mean(student, f"{rule} There are many names.", parts, counts, 0.1, length_too=True)
    parts, counts = batch(rng, 2, ((4, 3), (3, 2)))
    ask_mean(
        student,
        f"{rule} The gradients are transposes.",
        [{name: one.T for name, one in part.items()} for part in parts],
        counts,
        0.1,
        length_too=True,
    )
    for case in one_changed(
        (*batch(rng, 2, counts=[1, 3]), 0.5), (*batch(rng, 2, counts=[2, 5]), 0.7)
    ):
        ask_mean(student, rule, *case)


@combine.stage("short", points=0.5, after="clip")
def test_what_is_short_enough_stays(student, rng):
    rule = "A gradient that is not longer than max_norm stays as it is: it is never made longer."
    for factor in (1.05, 2.0, 30.0):
        parts, counts = batch(rng, 2)
        ask_mean(
            student, rule, parts, counts, factor * combined(parts, counts, 1e6)[1], length_too=True
        )
    ask_mean(
        student,
        f"{rule} It is exactly as long here.",
        [{"a": torch.tensor([3.0]), "b": torch.tensor([[4.0]])}],
        [1],
        5.0,
        length_too=True,
    )
    zero = "All gradients are 0, and stay so: their length is 0.0, by which nothing can be divided."
    ask_mean(
        student,
        zero,
        [{"a": torch.zeros(2, 2), "b": torch.zeros(3)}] * 2,
        [1, 2],
        1.0,
        length_too=True,
    )
