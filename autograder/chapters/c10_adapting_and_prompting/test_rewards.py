"""Checks of chapter 10, part 4: advantages, the clipped loss, and groups."""

import numpy as np
import torch

from autograder.chapters.c10_adapting_and_prompting.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "10-adapting-and-prompting"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
NEAR = {"rtol": 1e-4, "atol": 1e-4}

advantages = exercise(
    "10.advantages",
    function="advantages",
    points=6,
    see=f"{BOOK}/policy-gradients#generalized-advantage-estimation",
    withhold=OURS | LIBRARIES,
)


def estimated(
    rewards, values, mask, discount: float, decay: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both right tensors, in float64: each advantage is the sum of all errors from its token on,
    each times a power of both rates.
    """
    found, returns = np.zeros(mask.shape), np.zeros(mask.shape)
    for row, (r, v, own) in enumerate(
        zip(rewards.double().numpy(), values.double().numpy(), mask.numpy())
    ):
        r, v = r[own], v[own]
        ahead = (
            np.arange(len(r)) - np.arange(len(r))[:, None]
        )  # by how many tokens one is later than another
        weights = np.where(ahead < 0, 0.0, (discount * decay) ** np.abs(ahead).astype(float))
        found[row, own] = weights @ (r + discount * np.append(v, 0.0)[1:] - v)
        returns[row, own] = found[row, own] + v
    return torch.from_numpy(found).float(), torch.from_numpy(returns).float()


def spoken(
    rng,
    rows: int,
    places: int,
    discount: float = 1.0,
    decay: float = 1.0,
    begin: int = 0,
    end: int | None = None,
) -> tuple:
    """The five arguments, with numbers in 64ths; the answer goes from `begin` to before `end` in
    each row.
    """
    mask = torch.zeros(rows, places, dtype=torch.bool)
    mask[:, begin:end] = True
    rewards, values = ((64 * normal(rng, rows, places)).round() / 64 for _ in range(2))
    return rewards, values, mask, discount, decay


def ask_advantages(student, cause: str, case: tuple, returns: bool = False) -> None:
    """Compare the advantages; or the returns, with the right ones and, if they are others, with
    those that the student's own advantages give.
    """
    given = (
        "B = {}, T = {}, ".format(*case[0].shape)
        + f"{case[2].sum(1).tolist()[:8]} tokens in the rows, discount {case[3]:g}, decay"
        f" {case[4]:g}"
    )
    came = expect(student.advantages(*case), given=given).unpacks(2)
    right = estimated(*case)
    if not returns:
        expect(came[0], "Your advantages", given).close(right[0], **CLOSE, cause=cause)
        return
    own, back = (
        expect(one, name, given).is_tensor(shape=case[0].shape, dtype=torch.float32, cause=cause)
        for one, name in zip(came, ("Your advantages", "Your returns"))
    )
    wanted = (
        right[1]
        if torch.allclose(back, right[1], 1e-4, 1e-5)
        else torch.where(case[2], own + case[1], 0.0)
    )
    expect(back, "Your returns", given).close(wanted, **CLOSE, cause=cause)


SIZES = ((1, 1), (1, 2), (2, 1), (3, 3), (2, 5), (4, 3), (300, 2))


@advantages.stage("error", points=1.5)
def test_the_error_of_one_step(student, rng):
    rule = (
        "decay is 0 here, so that an advantage is the error of one step: the reward, plus discount"
        " times the value of the next token, less the token's own value. After the last token there"
        " is no value."
    )
    for size in (*SIZES, (1, 40), (whole(rng, 2, 6), whole(rng, 4, 9))):
        ask_advantages(student, rule, spoken(rng, *size, decay=0.0))
    for discount in (0.0, 0.5, 0.99):
        ask_advantages(student, f"{rule} discount is below 1.", spoken(rng, 3, 5, discount, 0.0))
    for case in (
        *one_changed(spoken(rng, 2, 4)[:2], spoken(rng, 2, 4)[:2]),
        *look_alikes(spoken(rng, 2, 4)[:2]),
    ):
        ask_advantages(student, rule, (*case, torch.ones(2, 4) == 1, 0.75, 0.0))


@advantages.stage("ahead", points=1.5)
def test_later_errors_count_less(student, rng):
    rule = (
        "An advantage is the error of its own step, plus discount times decay times the advantage"
        " of the next token. So it is worked out from the last token backwards."
    )
    by_hand = (
        torch.tensor([[0.0, 0.0, 4.0]]),
        torch.full((1, 3), 2.0),
        torch.ones(1, 3) == 1,
        1.0,
        0.5,
    )
    ask_advantages(student, f"{rule} This is the case by hand.", by_hand)
    for discount, decay in (
        (1.0, 1.0),
        (1.0, 0.95),
        (0.9, 1.0),
        (0.5, 0.5),
        (0.99, 0.9),
        (0.0, 1.0),
        (0.0, 0.5),
        (whole(rng, 10, 90) / 100, whole(rng, 10, 90) / 100),
    ):
        for size in ((1, 2), (3, 4), (2, 9)):
            ask_advantages(student, rule, spoken(rng, *size, discount, decay))
    for row in ([1000.0, -1000.0, 1000.0], [-1000.0, 1000.0, -1000.0]):
        ask_advantages(
            student,
            f"{rule} Rewards and values are large.",
            (torch.tensor([row]), -torch.tensor([row]), torch.ones(1, 3) == 1, 1.0, 0.5),
        )
    ask_advantages(student, f"{rule} The answer is long.", spoken(rng, 2, 300, 0.99, 0.95))
    ask_advantages(student, f"{rule} The answer is long.", spoken(rng, 1, 300, 1.0, 1.0))
    ask_advantages(
        student,
        f"{rule} The answer is long, and both rates are small: their powers are too small for"
        " float32.",
        spoken(rng, 1, 300, 0.1, 0.5),
    )
    first, second = spoken(rng, 2, 5, 0.5, 0.5), spoken(rng, 2, 5, 0.25, 0.75)
    for case in one_changed(first[:2] + first[3:], second[:2] + second[3:]):
        ask_advantages(student, rule, case[:2] + (first[2],) + case[2:])


@advantages.stage("outside", points=1.5)
def test_what_is_not_the_answers_plays_no_part(student, rng):
    rule = (
        "Only the answer's tokens count, those of `mask`, in each row its own. Elsewhere the"
        " advantage is 0, and what rewards and values hold there reaches nothing: behind the"
        " answer's last token there is no value."
    )
    for rows, places, begin, end in (
        (1, 3, 0, 2),
        (1, 3, 1, None),
        (2, 6, 2, 4),
        (3, 9, 4, 5),
        (2, 5, 0, 1),
    ):
        for discount, decay in ((1.0, 0.95), (0.5, 0.5), (1.0, 0.0)):
            rewards, values, mask, *rates = spoken(rng, rows, places, discount, decay, begin, end)
            ask_advantages(student, rule, (rewards, values, mask, *rates))
            ask_advantages(
                student,
                f"{rule} There are large numbers outside of the answers here.",
                (
                    torch.where(mask, rewards, 1000.0),
                    torch.where(mask, values, -999.0),
                    mask,
                    *rates,
                ),
            )
    mask = (
        torch.tensor(
            [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]
        )
        == 1
    )
    for decay in (0.0, 0.5, 1.0):
        rewards, values, _, *rates = spoken(rng, 5, 5, 0.75, decay)
        ask_advantages(
            student,
            f"{rule} The rows have answers of different lengths, one of none.",
            (rewards, values, mask, *rates),
        )


@advantages.stage("returns", points=1.5, after="error")
def test_what_the_critic_should_have_said(student, rng):
    rule = (
        "The return of a token is its advantage plus its value: what the critic is trained to"
        " predict. It is 0 where no answer is."
    )
    by_hand = (
        torch.tensor([[0.0, 0.0, 4.0]]),
        torch.full((1, 3), 2.0),
        torch.ones(1, 3) == 1,
        1.0,
        0.5,
    )
    ask_advantages(student, f"{rule} This is the case by hand.", by_hand, returns=True)
    for size in (*SIZES, (2, 40), (whole(rng, 2, 6), whole(rng, 4, 9))):
        ask_advantages(student, rule, spoken(rng, *size, 0.9, 0.8), returns=True)
    for begin, end in ((1, 4), (0, 3), (3, None)):
        rewards, values, mask, *rates = spoken(rng, 3, 6, 1.0, 0.5, begin, end)
        ask_advantages(
            student, rule, (rewards, torch.where(mask, values, 500.0), mask, *rates), returns=True
        )
    for case in one_changed(spoken(rng, 2, 4, 0.5, 0.5), spoken(rng, 2, 4, 0.25, 0.75, end=3)):
        ask_advantages(student, rule, case, returns=True)


clipped = exercise(
    "10.clipped_loss",
    function="clipped_loss",
    also=["wrong_line"],
    points=4,
    kind="find-line",
    see=f"{BOOK}/ppo#the-ratio-and-the-clip",
    withhold=OURS | LIBRARIES,
)


@clipped.stage("line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(
        cause=(
            "That line does what the formula says. Follow the two cases by hand through the code,"
            " line by line, and compare what each name holds with the formula."
        )
    )


def priced(logprobs, old, advantage, clip: float) -> torch.Tensor:
    """The right loss, in float64, case by case: where the ratio has left the range in the direction
    that the advantage asks for, it counts as the border.
    """
    ratio = (logprobs.double() - old.double()).exp()
    wanted = advantage.double()[:, None].expand_as(ratio)
    gone = (wanted > 0) & (ratio > 1 + clip) | (wanted < 0) & (ratio < 1 - clip)
    border = torch.where(wanted > 0, 1 + clip, 1 - clip)
    return -(torch.where(gone, border, ratio) * wanted).mean()


def moved(
    rng, rows: int, places: int, clip: float = 0.2, signs: tuple[float, ...] = (1.0, -1.0)
) -> tuple:
    """Log-probabilities whose ratios lie on both sides of the range and in it, none near its
    borders or near 1; advantages of these signs.
    """
    old = -uniform(rng, 0.5, 6.0, rows, places)
    share = torch.tensor([0.3, 0.7, 1.3, 2.5])[
        torch.randint(4, (rows, places), generator=rng)
    ]  # of the way to the border and beyond
    down = torch.rand(rows, places, generator=rng) < 0.5
    ratio = torch.where(down, 1 - (share * clip).clamp(max=0.9), 1 + share * clip)
    sign = torch.tensor(signs)[torch.randint(len(signs), (rows,), generator=rng)]
    return old + ratio.log(), old, sign * uniform(rng, 0.5, 2.0, rows), clip


def ask_clipped(student, cause: str, case: tuple) -> None:
    """Compare the loss."""
    given = "B = {}, T = {}, ".format(*case[0].shape) + f"clip {case[3]:g}"
    expect(student.clipped_loss(*case), given=given).close(
        priced(*case).float(), **NEAR, cause=cause
    )


GRIDS = ((1, 1), (1, 3), (3, 1), (2, 2), (3, 4), (2, 300), (300, 2))


@clipped.stage("gain", points=1)
def test_a_good_answer(student, rng):
    rule = (
        "All advantages are positive here. Up to a ratio of 1 + clip the ratio counts, above it 1 +"
        " clip does: there is nothing more to gain. Below 1 - clip the ratio itself counts."
    )
    ask_clipped(
        student,
        f"{rule} This is the first case by hand.",
        (torch.tensor([[1.5]]).log(), torch.zeros(1, 1), torch.tensor([2.0]), 0.2),
    )
    for size in (*GRIDS, (whole(rng, 2, 6), whole(rng, 2, 6))):
        for clip in (0.2, 0.05, 0.5):
            ask_clipped(student, rule, moved(rng, *size, clip, (1.0,)))
    ask_clipped(
        student,
        f"{rule} The policy is sure of some tokens: a logarithm of 0.",
        (torch.tensor([[0.0, -1.0, 0.0]]), torch.tensor([[0.0, 0.0, -1.0]]), torch.ones(1), 0.2),
    )
    for ratio in (0.007, 0.05, 0.79, 0.81, 1.0, 1.19, 1.21, 30.0, 145.0):
        ask_clipped(
            student,
            rule,
            (
                torch.full((2, 3), ratio).log() - 6,
                torch.full((2, 3), -6.0),
                torch.tensor([0.5, 100.0]),
                0.2,
            ),
        )
    ask_clipped(
        student,
        f"{rule} These tokens are most unlikely: the ratio is of the logarithms' difference, and"
        " nothing is added to a probability.",
        (torch.tensor([[-38.5, -39.0, -37.5]]), torch.full((1, 3), -38.0), torch.ones(1), 0.2),
    )


@clipped.stage("harm", points=1)
def test_a_bad_answer(student, rng):
    rule = (
        "All advantages are negative here. Down to a ratio of 1 - clip the ratio counts, below it 1"
        " - clip does. Above 1 + clip the ratio itself counts: a bad answer that became more"
        " probable keeps its full gradient."
    )
    ask_clipped(
        student,
        f"{rule} This is the second case by hand.",
        (torch.tensor([[1.5]]).log(), torch.zeros(1, 1), torch.tensor([-2.0]), 0.2),
    )
    for size in (*GRIDS, (whole(rng, 2, 6), whole(rng, 2, 6))):
        for clip in (0.2, 0.05, 0.5):
            ask_clipped(student, rule, moved(rng, *size, clip, (-1.0,)))
    for ratio in (0.007, 0.05, 0.79, 0.81, 1.0, 1.19, 1.21, 30.0, 145.0):
        ask_clipped(
            student,
            rule,
            (
                torch.full((2, 3), ratio).log() - 6,
                torch.full((2, 3), -6.0),
                torch.tensor([-0.5, -100.0]),
                0.2,
            ),
        )
    for case in (
        *one_changed(moved(rng, 3, 4), moved(rng, 3, 4, 0.3)),
        *((*one, 0.2) for one in look_alikes(moved(rng, 5, 4, 0.2, (-1.0,))[:3])),
    ):
        ask_clipped(
            student,
            "Good and bad answers are in one batch here, and each counts for itself.",
            case,
        )


@clipped.stage("gradient", points=1)
def test_where_nothing_is_gained_nothing_is_learned(student, rng):
    rule = (
        "Where the ratio has left the range in the direction that the advantage asks for, the"
        " gradient by `logprobs` is 0; everywhere else it is that of the ratio times the advantage."
    )
    for size, signs in (
        ((2, 5), (1.0,)),
        ((2, 5), (-1.0,)),
        ((6, 4), (1.0, -1.0)),
        ((1, 1), (1.0,)),
    ):
        case = moved(rng, *size, signs=signs)
        leaf = case[0].double().requires_grad_()
        priced(leaf, *case[1:]).backward()
        ask_gradients(student, "clipped_loss", case, {0: leaf.grad.float()}, rule)


groups = exercise(
    "10.group_advantages",
    function="group_advantages",
    also=["k3"],
    points=5,
    see=f"{BOOK}/grpo#by-hand-the-group-replaces-the-critic",
    withhold=OURS | LIBRARIES,
)


def standardised(rewards: torch.Tensor) -> torch.Tensor:
    """The right advantages, group by group, in float64."""
    rows = []
    for row in rewards.double():
        spread = ((row - row.mean()) ** 2).mean() ** 0.5
        rows.append(
            torch.zeros_like(row) if row.max() == row.min() else (row - row.mean()) / spread
        )
    return torch.stack(rows).float()


def ask_groups(student, cause: str, rewards: torch.Tensor) -> None:
    """Compare the advantages of groups."""
    given = "M = {}, G = {}".format(*rewards.shape)
    expect(student.group_advantages(rewards), "Your `group_advantages`", given).close(
        standardised(rewards), **NEAR, cause=cause
    )


def graded(rng, rows: int, answers: int, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
    """Rewards between two numbers, of which each group has the highest and the lowest."""
    rewards = uniform(rng, low, high, rows, answers)
    rewards[:, 0], rewards[:, -1] = low, high
    return rewards.gather(1, torch.rand(rows, answers, generator=rng).argsort(1))


@groups.stage("group", points=1)
def test_an_answer_against_its_siblings(student, rng):
    rule = (
        "One group, of at least two different rewards: each reward less the mean of the group,"
        " divided by the group's standard deviation, that of the population: the root of the mean"
        " of the squares, with G below and not G - 1."
    )
    ask_groups(student, f"{rule} This is the case by hand.", torch.tensor([[1.0, 0.0, 0.0, 1.0]]))
    for answers in (2, 3, 4, 8, 64, 300, whole(rng, 5, 30)):
        ask_groups(student, rule, graded(rng, 1, answers))
        ask_groups(student, rule, graded(rng, 1, answers, -3.0, 2.0))
    ask_groups(student, rule, torch.tensor([[1.0, 0.0]]))
    ask_groups(
        student,
        f"{rule} The rewards lie close together: nothing is added below.",
        graded(rng, 1, 4, 0.14, 0.19),
    )
    for answers in (2, 7, 50, 300):
        for low, high in ((75.0, 100.0), (-100.0, -75.0)):
            ask_groups(
                student,
                f"{rule} The rewards are large, and not far apart.",
                graded(rng, 1, answers, low, high),
            )
    ask_groups(student, f"{rule} The rewards are large.", graded(rng, 1, 5, -100.0, 100.0))
    for outlier in (0.05, 1.0, 100.0, -1.0, -100.0):
        rewards = torch.zeros(1, 300)
        rewards[0, whole(rng, 0, 299)] = outlier
        ask_groups(
            student,
            f"{rule} One answer of 300 stands out: its advantage is 17 away from 0.",
            rewards,
        )
    for (rewards,) in look_alikes((graded(rng, 1, 8),)):
        ask_groups(student, rule, rewards)


@groups.stage("groups", points=0.5, after="group")
def test_each_group_for_itself(student, rng):
    rule = (
        "Several groups: each has a mean and a deviation of its own. A row is a group, and has"
        " nothing to do with the others."
    )
    for rows, answers in (
        (2, 2),
        (3, 3),
        (2, 4),
        (5, 3),
        (300, 2),
        (3, 300),
        (whole(rng, 2, 6), whole(rng, 3, 9)),
    ):
        size = uniform(rng, 0.5, 3.0, rows, 1)
        ask_groups(
            student,
            rule,
            size * graded(rng, rows, answers, -1.0, 1.0) + uniform(rng, -2.0, 2.0, rows, 1),
        )


@groups.stage("alike", points=1, after="group")
def test_equal_rewards_teach_nothing(student, rng):
    rule = (
        "A group whose rewards are all the same has advantages of 0: nobody is better than the"
        " others. 0 / 0 is no number, and rounding may leave a tiny deviation: compare the largest"
        " with the smallest."
    )
    for value in (0.0, 1.0, 0.1, -0.3, 2 / 3, 0.7, 33.3, 99.9, 100.0, -99.99):
        for answers in (2, 3, 6, 7, 11, 300):
            ask_groups(student, rule, torch.full((1, answers), value))
    mixed = graded(rng, 4, 7)
    mixed[1], mixed[3] = 0.1, 1.0
    ask_groups(student, f"{rule} Other groups of the batch learn all the same.", mixed)


def ask_k3(student, cause: str, logprobs: torch.Tensor, reference: torch.Tensor) -> None:
    """Compare the distances."""
    difference = reference.double() - logprobs.double()
    expect(
        student.k3(logprobs, reference), "Your `k3`", "B = {}, T = {}".format(*logprobs.shape)
    ).close((difference.exp() - difference - 1).float(), **CLOSE, cause=cause)


def near(rng, rows: int, places: int, size: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities of policy and reference, in 64ths."""
    own, reference = ((64 * (-4 + size * normal(rng, rows, places))).round() / 64 for _ in range(2))
    return own, reference


@groups.stage("k3", points=1.5)
def test_the_distance_to_the_reference(student, rng):
    rule = (
        "At each token q / p - log(q / p) - 1, where p is the policy's probability and q the"
        " reference's; you get the logarithms of both. It is 0 where they agree, and positive"
        " elsewhere."
    )
    for p, q in ((1.0, 2.0), (2.0, 1.0)):
        ask_k3(
            student,
            f"{rule} These are cases by hand.",
            torch.tensor([[p / 4]]).log(),
            torch.tensor([[q / 4]]).log(),
        )
    for size in (
        (1, 1),
        (1, 2),
        (2, 1),
        (3, 3),
        (2, 5),
        (300, 2),
        (2, 300),
        (whole(rng, 2, 6), whole(rng, 2, 9)),
    ):
        ask_k3(student, rule, *near(rng, *size))
    for case in (*one_changed(near(rng, 2, 4), near(rng, 2, 4)), *look_alikes(near(rng, 2, 4))):
        ask_k3(student, rule, *case)


@groups.stage("far", points=1, after="k3")
def test_policies_far_from_the_reference_and_a_gradient(student, rng):
    rule = (
        "Policy and reference may be far apart, in either direction: q / p - log(q / p) - 1 of the"
        " logarithms' difference."
    )
    ask_k3(student, rule, *near(rng, 3, 4, 3.0))
    ask_k3(
        student,
        f"{rule} The token is millions of times more probable under the reference here.",
        torch.tensor([[-16.0, -11.0]]),
        torch.tensor([[-1.0, -1.5]]),
    )
    ask_k3(
        student,
        f"{rule} The token is hundreds of times more probable under the policy here.",
        torch.full((2, 2), -1.0),
        torch.tensor([[-300.0, -50.0], [-1000.0, -7.0]]),
    )
    own, reference = near(rng, 2, 5)
    ask_gradients(
        student,
        "k3",
        (own, reference),
        {0: 1 - (reference - own).exp()},
        "The gradient by `logprobs` is 1 - q / p: nothing is detached on the way.",
        upstream=torch.ones(2, 5),
    )
    own, reference = torch.tensor([[-1.0, -14.0]]), torch.tensor([[-40.0, -2.0]])
    ask_gradients(
        student,
        "k3",
        (own, reference),
        {0: 1 - (reference - own).exp()},
        "The gradient by `logprobs` is 1 - q / p, also where both are far apart.",
        upstream=torch.ones(1, 2),
    )


dapo = exercise(
    "10.dapo_loss",
    function="dapo_loss",
    points=4,
    see=f"{BOOK}/rlvr#dapo-token-mean-and-clip-higher",
    withhold=OURS | LIBRARIES,
)


def averaged(logprobs, old, advantage, mask, low: float, high: float) -> torch.Tensor:
    """The right loss, in float64, from the answers' tokens alone."""
    ratio = (logprobs.double()[mask] - old.double()[mask]).exp()
    weight = advantage.double()[:, None].expand_as(mask)[mask]
    bounded = torch.where(weight > 0, ratio.clamp(max=1 + high), ratio.clamp(min=1 - low))
    return -(bounded * weight).mean()


def answers(rng, rows: int, length: int, low: float = 0.2, high: float = 0.28, ragged=True):
    """Answers of different lengths, with ratios on both sides of both bounds; other positions hold
    log-probabilities that are a little apart.
    """
    old = -uniform(rng, 0.5, 6.0, rows, length)
    share = torch.tensor([0.3, 0.7, 1.3, 2.5])[torch.randint(4, (rows, length), generator=rng)]
    down = torch.rand(rows, length, generator=rng) < 0.5
    ratio = torch.where(down, 1 - (share * low).clamp(max=0.9), 1 + share * high)
    sign = torch.tensor([1.0, -1.0])[torch.randint(2, (rows,), generator=rng)]
    mask = torch.ones(rows, length, dtype=torch.bool)
    if ragged:
        starts = torch.randint(length, (rows, 1), generator=rng)
        mask = torch.arange(length) >= starts
        mask[0] = torch.arange(length) < 1
    return old + ratio.log(), old, sign * uniform(rng, 0.5, 2.0, rows), mask, low, high


def ask_dapo(student, cause: str, case: tuple) -> None:
    """Compare the loss."""
    given = "B = {}, T = {}, ".format(*case[0].shape) + f"low {case[4]:g}, high {case[5]:g}"
    expect(student.dapo_loss(*case), given=given).close(
        averaged(*case).float(), **NEAR, cause=cause
    )


@dapo.stage("two bounds", points=1.5)
def test_one_answer_with_two_bounds(student, rng):
    rule = (
        "Clip the ratio to 1 - low and 1 + high, multiply by the advantage, take the smaller of"
        " this and the unclipped product, and negate the mean."
    )
    for size in (1, 2, 7, 300, whole(rng, 3, 9)):
        for low, high in ((0.2, 0.28), (0.3, 0.1), (0.05, 0.5), (0.2, 0.2)):
            case = answers(rng, 1, size, low, high, ragged=False)
            ask_dapo(student, rule, case)
            ask_dapo(student, rule, (*case[:2], -case[2], *case[3:]))
    for ratio in (0.01, 0.75, 0.85, 1.0, 1.15, 1.25, 1.4, 100.0):
        for advantage in (1.0, -1.0, 0.0):
            logprobs = torch.full((1, 2), ratio).log() - 6
            old, ones = torch.full((1, 2), -6.0), torch.ones(1, 2, dtype=torch.bool)
            ask_dapo(student, rule, (logprobs, old, torch.tensor([advantage]), ones, 0.2, 0.28))


@dapo.stage("token mean", points=1.5, after="two bounds")
def test_all_tokens_of_the_batch_count_equally(student, rng):
    rule = (
        "Answers of different lengths: sum over all tokens of all answers and divide by their"
        " number. No mean per answer, and no padding in the number."
    )
    mask = torch.tensor([[True, False, False], [True, True, True]])
    ratio = torch.tensor([[2.0, 1.0, 1.0], [0.5, 1.0, 2.0]])
    case = (ratio.log() - 3, torch.full((2, 3), -3.0), torch.tensor([2.0, -1.0]), mask, 0.2, 0.5)
    ask_dapo(student, f"{rule} This is the case by hand.", case)
    for size in ((2, 2), (3, 5), (5, 3), (300, 2), (2, 300), (whole(rng, 2, 6), whole(rng, 3, 9))):
        ask_dapo(student, rule, answers(rng, *size))
    case = answers(rng, 4, 6)
    case[3][2] = False
    ask_dapo(student, f"{rule} One answer has no token.", case)
    case = answers(rng, 3, 7)
    case[3][1] = torch.arange(7) % 2 == 0
    ask_dapo(student, f"{rule} The tokens of one answer have gaps.", case)


@dapo.stage("outside", points=0.5, after="token mean")
def test_what_is_outside_of_the_mask_has_no_influence(student, rng):
    rule = (
        "Outside of the mask the difference of the logarithms is huge, and its exponential"
        " overflows. Replace it there before you take the exponential."
    )
    for apart in (-1000.0, -100.0):
        case = answers(rng, 3, 5)
        outside = ~case[3]
        case[0][outside], case[1][outside] = 0.0, apart
        ask_dapo(student, rule, case)
        case[0][outside], case[1][outside] = apart, 0.0
        ask_dapo(student, rule, case)
        leaf = case[0].double().requires_grad_()
        averaged(leaf, *case[1:]).backward()
        case[0][outside], case[1][outside] = 0.0, apart
        ask_gradients(student, "dapo_loss", case, {0: leaf.grad.float()}, rule)


@dapo.stage("gradient", points=0.5, after="token mean")
def test_clipped_tokens_have_no_gradient(student, rng):
    rule = (
        "The gradient by `logprobs` is 0 where clipping decides and outside of the mask; elsewhere"
        " it is minus the ratio times the advantage over the number of tokens."
    )
    for size in ((2, 5), (5, 2), (3, 8)):
        case = answers(rng, *size)
        leaf = case[0].double().requires_grad_()
        averaged(leaf, *case[1:]).backward()
        ask_gradients(student, "dapo_loss", case, {0: leaf.grad.float()}, rule)
