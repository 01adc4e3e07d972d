"""Checks of chapter 10, part 3: how likely an answer is, and the two losses of preferences."""

import torch

from autograder.chapters.c10_adapting_and_prompting.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "10-adapting-and-prompting"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

logprobs = exercise(
    "10.sequence_logprobs",
    function="sequence_logprobs",
    points=4,
    see=f"{BOOK}/dpo#by-hand",
    withhold=OURS | LIBRARIES,
)


def told(logits, labels) -> torch.Tensor:
    """The right sums, in float64, place by place."""
    sums = []
    for row, own in zip(logits.double(), labels.tolist()):
        sums.append(
            sum(
                row[place - 1, token] - row[place - 1].logsumexp(0)
                for place, token in enumerate(own)
                if place and token != -100
            )
        )
    return torch.stack([torch.as_tensor(one, dtype=torch.float64) for one in sums])


def asked(
    rng, rows: int, places: int, entries: int, begin: int = 1, end: int | None = None
) -> tuple:
    """Logits, and labels from `begin` to before `end` in each row: no token 0 where there are
    others.
    """
    labels = torch.full((rows, places), -100)
    labels[:, begin:end] = counts(
        rng, min(1, entries - 1), entries - 1, rows, len(range(places)[begin:end])
    )
    return 2 * normal(rng, rows, places, entries), labels


def ask_sums(
    student, cause: str, logits, labels, name: str = "Your result", close: dict = CLOSE
) -> None:
    """Compare the sums."""
    given = (
        "B = {}, T = {}, V = {}, ".format(*logits.shape)
        + f"labels in each row {(labels != -100).sum(1).tolist()[:8]}"
    )
    expect(student.sequence_logprobs(logits, labels), name, given).close(
        told(logits, labels).float(), **close, cause=cause
    )


@logprobs.stage("token", points=1.5)
def test_an_answer_of_one_token(student, rng):
    rule = (
        "Each answer is one token here: the result is the logarithm of what the softmax gives it"
        " one position earlier, since position t predicts the token at t + 1."
    )
    for size in (
        (1, 2, 3),
        (2, 2, 2),
        (3, 4, 3),
        (3, 3, 3),
        (4, 5, 2),
        (300, 2, 3),
        (2, 3, 300),
        (whole(rng, 2, 6), whole(rng, 4, 9), whole(rng, 3, 9)),
    ):
        ask_sums(student, rule, *asked(rng, *size, begin=size[1] - 1))
        ask_sums(student, rule, *asked(rng, *size, begin=1, end=2))


@logprobs.stage("answer", points=1)
def test_an_answer_of_several_tokens(student, rng):
    rule = (
        "The logarithm of a whole answer's probability is the sum over its tokens, not their mean:"
        " a longer answer is less likely."
    )
    ask_sums(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor(
            [[[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.25, 0.25, 0.5], [0.1, 0.1, 0.8]]]
        ).log(),
        torch.tensor([[-100, -100, 1, 2]]),
    )
    for size in (
        (1, 3, 3),
        (2, 4, 2),
        (3, 3, 3),
        (2, 9, 4),
        (1, 300, 3),
        (40, 5, 3),
        (whole(rng, 2, 6), whole(rng, 4, 9), whole(rng, 3, 9)),
    ):
        ask_sums(student, rule, *asked(rng, *size))
        ask_sums(student, rule, *asked(rng, *size, begin=2))


@logprobs.stage("others", points=1)
def test_nothing_else_is_asked(student, rng):
    rule = (
        "Only tokens with a label count, in each row its own: neither the prompt nor padding, nor"
        " what stands between two answers. With no label the result of a row is 0."
    )
    for size in ((2, 4, 3), (3, 9, 3), (5, 6, 2), (30, 7, 4), (2, 120, 3)):
        logits, labels = asked(rng, *size)
        gone = torch.rand(size[:2], generator=rng) < 0.5
        ask_sums(student, rule, logits, torch.where(gone, -100, labels))
        gone[0] = True
        ask_sums(student, rule, logits, torch.where(gone, -100, labels))
    logits, labels = asked(rng, 2, 7, 4, begin=3, end=5)
    for case in (
        *one_changed((logits, labels), asked(rng, 2, 7, 4, begin=2, end=6)),
        *look_alikes((logits, labels)),
    ):
        ask_sums(student, rule, *case)
    ask_sums(
        student,
        f"{rule} Token 0 is one like any other.",
        normal(rng, 2, 4, 4),
        torch.tensor([[-100, 0, -100, 2], [-100, -100, 0, 0]]),
    )
    ask_sums(
        student,
        f"{rule} A row of -100s, and no row with a label.",
        normal(rng, 1, 3, 4),
        torch.full((1, 3), -100),
    )
    ask_sums(
        student,
        f"{rule} There is one position only here: nothing is predicted.",
        normal(rng, 2, 1, 4),
        torch.full((2, 1), -100),
    )


@logprobs.stage("borders", points=0.5, after="answer")
def test_large_and_impossible_logits_and_a_gradient(student, rng):
    huge = (
        "Logits may be as large as 10,000, and -infinity for a token that cannot come: the"
        " logarithm of the softmax is taken in one step, and what is not asked is left out, not"
        " multiplied by 0."
    )
    logits, labels = asked(rng, 3, 6, 4, begin=2, end=5)
    ask_sums(student, huge, 2500 * logits.clamp(-4, 4), labels)
    impossible = logits.clone()
    impossible[:, :, 0] = -torch.inf  # token 0 never comes, and no label is 0
    ask_sums(student, huge, impossible, labels)
    lowest = (logits.clamp(-2, 2) - 9998).clamp(min=-10_000)
    lowest[:, :, 0] = -torch.inf
    ask_sums(
        student,
        f"{huge} The others are as low as can be here.",
        lowest,
        labels,
        close={"rtol": 1e-2, "atol": 1e-2},
    )
    ask_sums(
        student,
        f"{huge} What is asked is as good as impossible.",
        torch.tensor([[[10_000.0, -10_000.0]] * 2]),
        torch.tensor([[-100, 1]]),
    )
    ask_sums(student, "A vocabulary of one token: it is sure.", *asked(rng, 2, 4, 1))
    upstream, kept = torch.tensor([1.0, -2.0, 0.5]), labels[:, 1:] != -100
    for given in (logits, impossible):
        leaf = given.clone().requires_grad_()
        right = leaf.log_softmax(2)[:, :-1].gather(2, labels[:, 1:, None].clamp(min=0))[..., 0]
        (torch.where(kept, right, 0.0).sum(1) * upstream).sum().backward()
        rule = (
            "The gradient reaches the logits: nothing is detached, or made a Python number, on the"
            " way."
        )
        ask_gradients(
            student, "sequence_logprobs", (given, labels), {0: leaf.grad}, rule, upstream=upstream
        )


preferences = exercise(
    "10.dpo_loss",
    function="dpo_loss",
    also=["reward_loss"],
    points=6,
    see=f"{BOOK}/dpo#by-hand",
    withhold=OURS | LIBRARIES,
)


def priced(margins: torch.Tensor) -> torch.Tensor:
    """The mean of -log sigmoid, in float64."""
    return torch.logaddexp(-margins.double(), torch.zeros(len(margins), dtype=torch.float64)).mean()


def margins(chosen, rejected, ref_chosen, ref_rejected, beta: float) -> torch.Tensor:
    """How much surer the policy is of the chosen answer than the reference, in float64."""
    return beta * (
        (chosen.double() - ref_chosen.double()) - (rejected.double() - ref_rejected.double())
    )


def ask_reward(student, cause: str, chosen, rejected) -> None:
    """Compare the loss of a reward model."""
    expect(student.reward_loss(chosen, rejected), "Your `reward_loss`", f"N = {len(chosen)}").close(
        priced(chosen.double() - rejected.double()).float(), **CLOSE, cause=cause
    )


def ask_dpo(student, cause: str, *case) -> None:
    """Compare DPO's loss."""
    expect(
        student.dpo_loss(*case), "Your `dpo_loss`", f"N = {len(case[0])}, beta = {case[4]:g}"
    ).close(priced(margins(*case)).float(), **CLOSE, cause=cause)


def sums(rng, number: int, beta: float = 1.0, size: float = 1.0) -> tuple:
    """Log-probabilities of answers by policy and reference, in 64ths: from -40 up, and up to `size`
    times normal numbers apart.
    """
    ref = -20 + 4 * normal(rng, 2, number).clamp(-3, 3)
    own = ref + size * normal(rng, 2, number)
    return (*((64 * one).round() / 64 for one in (*own, *ref)), beta)


NUMBERS = (1, 2, 3, 5, 40, 300)


@preferences.stage("reward", points=2)
def test_the_loss_of_a_reward_model(student, rng):
    rule = (
        "The loss of a pair is minus the logarithm of the probability that the chosen answer wins,"
        " sigmoid(chosen - rejected); the loss is the mean over the pairs."
    )
    three = torch.tensor(3.0).log()[None]
    ask_reward(student, f"{rule} This is the case by hand.", three, torch.zeros(1))
    for number in (*NUMBERS, whole(rng, 4, 30)):
        ask_reward(student, rule, 2 * normal(rng, number), 2 * normal(rng, number))
    for case in (
        *one_changed((normal(rng, 6), normal(rng, 6)), (normal(rng, 6), normal(rng, 6))),
        *look_alikes((normal(rng, 6), normal(rng, 6))),
    ):
        ask_reward(student, rule, *case)
    ask_reward(student, f"{rule} The two rewards of a pair are the same: log 2.", three, three)


@preferences.stage("sure", points=1, after="reward")
def test_rewards_far_apart_and_a_gradient(student, rng):
    rule = (
        "Rewards may be thousands apart: the logarithm of a sigmoid is taken in one step"
        " (`logsigmoid`), since the sigmoid of -1000 is 0 and has none."
    )
    for size in (100.0, 5000.0):
        for _ in range(3):
            ask_reward(
                student,
                rule,
                size * normal(rng, 5).clamp(-2, 2),
                size * normal(rng, 5).clamp(-2, 2),
            )
    far, few = torch.tensor([10_000.0, -10_000.0, 3000.0, 0.0, 2.0]), normal(rng, 1)
    ask_reward(student, rule, far, -far)
    for pair in (
        (few, normal(rng, 1)),
        (normal(rng, 5), normal(rng, 5)),
        (few, few),
        (far, -far),
        (far[:1], -far[:1]),
        (far[1:2], -far[1:2]),
    ):
        number, rewards = len(pair[0]), [one.double().requires_grad_() for one in pair]
        torch.logaddexp(
            rewards[1] - rewards[0], torch.zeros(number, dtype=torch.float64)
        ).mean().backward()
        ask_gradients(
            student,
            "reward_loss",
            tuple(one.detach().float() for one in rewards),
            {place: one.grad.float() for place, one in enumerate(rewards)},
            "The gradient raises the chosen answer's reward and lowers the other's. Nothing is"
            " detached on the way.",
        )


@preferences.stage("ratios", points=1)
def test_policy_against_reference(student, rng):
    rule = (
        "beta is 1 here. What counts is how much more probable the chosen answer is for the"
        " policy than for the reference, less the same of the rejected one; the loss is the mean"
        " of -log sigmoid of that."
    )
    for number in (*NUMBERS, whole(rng, 4, 30)):
        ask_dpo(student, rule, *sums(rng, number))
    chosen, rejected, ref_chosen, ref_rejected, beta = sums(rng, 4)
    ask_dpo(
        student,
        f"{rule} At the start the policy is the reference: log 2, whatever the answers are.",
        ref_chosen,
        ref_rejected,
        ref_chosen,
        ref_rejected,
        beta,
    )
    first, second = sums(rng, 6), sums(rng, 6)
    for case in (*one_changed(first[:4], second[:4]), *(one[:4] for one in look_alikes(first))):
        ask_dpo(student, rule, *case, 1.0)


@preferences.stage("beta", points=1)
def test_beta_is_inside(student, rng):
    rule = "beta multiplies the difference of the two log-ratios, inside of the sigmoid."
    three = torch.tensor(3.0).log()[None]
    ask_dpo(
        student,
        f"{rule} This is the case by hand.",
        three - 5,
        -three - 4,
        torch.tensor([-5.0]),
        torch.tensor([-4.0]),
        0.5,
    )
    for beta in (0.01, 0.1, 0.5, 2.0, 5.0, whole(rng, 2, 90) / 64):
        for number in (1, 5):
            ask_dpo(student, rule, *sums(rng, number, beta, 2.0))


@preferences.stage("borders", points=0.5, after="ratios")
def test_policies_far_away(student, rng):
    rule = (
        "The policy may be far from the reference, and answers may be long: `logsigmoid` and"
        " float32 bear that."
    )
    for size in (40.0, 100.0):
        for number in (1, 4):
            ask_dpo(student, rule, *sums(rng, number, 1.0, size))
            chosen, rejected, ref_chosen, ref_rejected, beta = sums(rng, number, 1.0, size)
            ask_dpo(
                student,
                rule,
                chosen - 600,
                rejected - 300,
                ref_chosen - 600,
                ref_rejected - 300,
                beta,
            )
    for chosen in (0.0, -1000.0):
        ends = torch.tensor([chosen]), torch.tensor([-1000.0 - chosen])
        ask_dpo(
            student,
            f"{rule} Policy and reference are as far apart as they can be.",
            *ends,
            *ends[::-1],
            1.0,
        )
    down = torch.tensor([-900.0, -100.0])
    ask_dpo(
        student,
        f"{rule} One pair is quite wrong here, by hundreds.",
        down,
        down.flip(0),
        down.flip(0),
        down,
        1.0,
    )


@preferences.stage("gradient", points=0.5)
def test_what_is_learned(student, rng):
    rule = (
        "The gradient raises the chosen answer and lowers the rejected one, the more the surer the"
        " loss finds the pair to be wrong. Nothing is detached on the way."
    )
    start, far = -20 + normal(rng, 2, 3), torch.tensor([-1000.0, 0.0, -10.0])
    for case in (
        sums(rng, 1, 1.0),
        sums(rng, 4, 0.5),
        sums(rng, 30, 0.1),
        (*start, *start, 0.5),
        (far, far.flip(0), far.flip(0), far, 5.0),
    ):
        leaves = [one.clone().double().requires_grad_() for one in case[:2]]
        priced(margins(*leaves, *case[2:])).backward()
        ask_gradients(
            student,
            "dpo_loss",
            case,
            {place: leaf.grad.float() for place, leaf in enumerate(leaves)},
            rule,
        )
