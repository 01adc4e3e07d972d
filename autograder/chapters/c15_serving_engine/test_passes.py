"""Checks of chapter 15, part 2: what the model reads in a step, and the verdict on guesses."""

import torch

from autograder.chapters.c15_serving_engine.scheduling import laid_out
from autograder.chapters.c15_serving_engine.withholding import OURS, RIVALS
from autograder.checks.inputs.draws import counts, distinct, whole
from autograder.checks.protocol import exercise, expect, expect_frequencies

BOOK = "15-serving-engine"
PARTS = ("ids", "positions", "slots", "lengths", "cu_seqlens")

prepare = exercise(
    "15.prepare",
    function="prepare",
    points=6,
    see=f"{BOOK}/engine#one-flat-pass",
    withhold=OURS | RIVALS,
)


def scheduled(rng, tokens: int, computed: int, count: int, size: int, spare: int = 0) -> dict:
    """A request with drawn tokens and blocks; spare: so many blocks more than it needs."""
    blocks = -(-(computed + count) // size) + spare
    return {
        "ids": counts(rng, 0, 49_151, tokens).tolist(),
        "computed": computed,
        "count": count,
        "table": distinct(rng, blocks, max(200, 2 * blocks)),
    }


def ask_prepare(student, many: list[dict], size: int, parts: tuple[str, ...], cause: str) -> None:
    """Compare some of the five tensors."""
    given = (
        f"{len(many)} requests that compute {[one['count'] for one in many][:8]} tokens behind"
        f" {[one['computed'] for one in many][:8]}, blocks of {size}"
    )
    came = expect(student.prepare(many, size), given=given).unpacks(5)
    for name, one, right in zip(PARTS, came, laid_out(many, size), strict=True):
        if name in parts:
            expect(one, f"`{name}`", given).equals(
                torch.tensor(right, dtype=torch.int64), cause=cause
            )


@prepare.stage("ids and positions", points=1.5)
def test_ids_and_positions_of_one_request(student, rng):
    rule = (
        "This step's tokens start at `computed`. Positions count from 0 in each sequence, also"
        " when prefill is chunked."
    )
    for size, computed, count in (
        (4, 0, 1),
        (4, 0, 4),
        (4, 2, 4),
        (4, 4, 1),
        (16, 500, 300),
        (1, 3, 2),
        (1000, 5, 1),
        (3, 7, 2),
        (16, 0, 3000),
        (4, 2, 1),
    ):
        for more in (0, 5):
            ask_prepare(
                student,
                [scheduled(rng, computed + count + more, computed, count, size)],
                size,
                PARTS[:2],
                rule,
            )


@prepare.stage("slots", points=1.5)
def test_slots_of_one_request(student, rng):
    rule = (
        "The slot of position t is table[t // block_size] * block_size + t % block_size, with"
        " t the position in the sequence, not in the step."
    )
    for size, computed, count in (
        (4, 0, 1),
        (4, 0, 9),
        (4, 2, 4),
        (4, 3, 1),
        (4, 4, 1),
        (16, 500, 300),
        (1, 3, 2),
        (1000, 5, 9),
        (3, 7, 2),
        (2, 1, 6),
        (4, 8, 8),
    ):
        for spare in (0, 3):
            ask_prepare(
                student,
                [scheduled(rng, computed + count, computed, count, size, spare)],
                size,
                PARTS[:3],
                rule,
            )
    tiny = scheduled(rng, 9, 1, 7, 1, 1)
    for size in (1, 2, 4, 3, 16):
        ask_prepare(student, [tiny], size, PARTS[:3], f"{rule} Blocks have `block_size` tokens.")
    same = scheduled(rng, 8, 0, 8, 4)
    for table in ([7, 2], [2, 7], [0, 1], [99_999, 100_000]):
        ask_prepare(student, [{**same, "table": table}], 4, PARTS[:3], rule)
    ask_prepare(
        student,
        [{**scheduled(rng, 1001, 998, 3, 1000), "table": [99_999, 99_997]}],
        1000,
        PARTS[:3],
        rule,
    )


@prepare.stage("lengths and borders", points=1)
def test_lengths_and_ends_of_one_request(student, rng):
    rule = (
        "`lengths` counts the cached tokens after this step, this step's included."
        " `cu_seqlens` starts with 0 and ends with T."
    )
    for size, computed, count in (
        (4, 0, 1),
        (4, 0, 4),
        (4, 2, 4),
        (16, 500, 300),
        (1, 3, 2),
        (3, 7, 1),
    ):
        ask_prepare(
            student,
            [scheduled(rng, computed + count + 3, computed, count, size, 1)],
            size,
            PARTS,
            rule,
        )


@prepare.stage("batch order", points=2)
def test_several_requests_in_their_order(student, rng):
    rule = (
        "Requests that compute one token come first, then all others, each in the order of the"
        " list. All five tensors use this order, without padding."
    )
    hand = [
        {"ids": [3, 1, 4, 1, 5, 9], "computed": 2, "count": 4, "table": [1, 3]},
        {"ids": [7, 9, 8, 7, 2], "computed": 4, "count": 1, "table": [2, 0]},
    ]
    whole_prompts = [
        {"ids": [3, 1, 4], "computed": 0, "count": 3, "table": [1]},
        {"ids": [8], "computed": 0, "count": 1, "table": [4]},
        {"ids": [2, 7], "computed": 0, "count": 2, "table": [0]},
    ]
    for many in (
        hand,
        hand[::-1],
        hand[:1] * 2,
        hand[1:] * 3,
        whole_prompts,
        whole_prompts[::2],
        whole_prompts[1:],
    ):
        ask_prepare(student, many, 4, PARTS, rule)
    for size, pairs in (
        (4, ((3, 2), (5, 3), (0, 7))),
        (4, ((5, 1), (3, 1), (9, 1))),
        (4, ((5, 3), (3, 1), (0, 1), (4, 4), (8, 1))),
        (1, ((2, 1), (1, 2), (0, 1))),
        (16, ((40, 20), (3, 1), (31, 1), (0, 5))),
        (7, tuple((whole(rng, 0, 30), 1 + (place % 3) * whole(rng, 0, 12)) for place in range(9))),
        (5, tuple((whole(rng, 0, 9), whole(rng, 1, 2)) for _ in range(100))),
    ):
        ask_prepare(
            student,
            [
                scheduled(
                    rng,
                    computed + count + whole(rng, 0, 2),
                    computed,
                    count,
                    size,
                    whole(rng, 0, 1),
                )
                for computed, count in pairs
            ],
            size,
            PARTS,
            rule,
        )
    ask_prepare(
        student,
        [],
        4,
        PARTS,
        "Without requests, four tensors are empty and int64, and `cu_seqlens` is a single 0.",
    )


verify = exercise(
    "15.verify",
    function="verify",
    points=7,
    see=f"{BOOK}/speculative#by-hand-three-tokens",
    withhold=OURS | RIVALS,
)
GAP = 1e-3


def rows(rng, number: int, V: int) -> torch.Tensor:
    """Distributions, some shares of which are 0, float32 (number, V)."""
    made = torch.rand(number, V, generator=rng, dtype=torch.float64) ** 3
    made = (
        made * (torch.rand(number, V, generator=rng) > 0.2)
        + torch.nn.functional.one_hot(counts(rng, 0, V - 1, number), V) * 0.3
        if V > 1
        else made + 1
    )
    return (made / made.sum(1, keepdim=True)).float()


def judged(
    p: torch.Tensor, q: torch.Tensor, guesses: list[int], u: list[float]
) -> tuple[list[int], float]:
    """What is said, in float64, and the least distance of a number from what it is
    compared with.
    """
    p, q, said, near, shares = (
        p.double().tolist(),
        q.double().tolist(),
        [],
        1.0,
        p.double()[-1].tolist(),
    )
    for place, guess in enumerate(guesses):
        near = min(near, abs(u[place] * q[place][guess] - p[place][guess]))
        if u[place] * q[place][guess] >= p[place][guess]:
            shares = [max(a - b, 0.0) for a, b in zip(p[place], q[place])]
            break
        said.append(guess)
    total, below = sum(shares), 0.0
    for token, share in enumerate(shares):
        below += share / total if total else 0.0
        near = min(near, abs(below - u[-1])) if token < len(shares) - 1 else near
        if below > u[-1]:
            return [*said, token], near if total > 2 * GAP else 0.0
    return [*said, len(shares) - 1], 0.0


def ask_verify(
    student, p: torch.Tensor, q: torch.Tensor, guesses: list[int], u: list[float], cause: str
) -> None:
    """Compare what is said."""
    given = f"{len(guesses)} draft tokens, a vocabulary of {p.shape[1]}" + (
        f", p = {p.tolist()}, q = {q.tolist()}, drafts {guesses}, u = {u}" if p.numel() < 10 else ""
    )
    came, right = (
        expect(student.verify(p, q, guesses, torch.tensor(u)), given=given).is_a(list),
        judged(p, q, guesses, torch.tensor(u).tolist())[0],
    )
    expect(len(came) == len(right)).is_true(
        cause=cause,
        detail=f"Given {given}: {len(came)} tokens are returned, {len(right)} were expected",
    )
    expect(came, given=given).equals(right, cause=cause)


def clear_numbers(
    rng, p: torch.Tensor, q: torch.Tensor, guesses: list[int], tries: int = 60
) -> list[float] | None:
    """Numbers in u that are not near to what they are compared with."""
    for _ in range(tries):
        u = [one / 1024 for one in counts(rng, 0, 1000, len(guesses) + 1).tolist()]
        if judged(p, q, guesses, u)[1] > 2e-4:
            return u
    return None


P, Q = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), torch.tensor([[0.25, 0.5, 0.25]])


def one_hot(*tokens: int, V: int = 4) -> torch.Tensor:
    """All on one token, in each row."""
    return torch.nn.functional.one_hot(torch.tensor(tokens), V).float()


@verify.stage("acceptance", points=1.5)
def test_what_is_kept_and_one_more(student, rng):
    rule = (
        "Accept a draft token where u q < p. If all are accepted, the last"
        " of u samples one more from p's last row."
    )
    for u in ([0.4, 0.6], [0.4, 0.1], [0.0, 0.3], [0.45, 0.9]):
        ask_verify(student, P, Q, [1], u, rule)
    for u in ([0.99, 0.6], [0.7, 0.3], [0.3, 0.1]):
        ask_verify(student, P, Q, [0], u, rule)
    for u in ([0.999, 0.999, 0.0, 0.8], [0.0, 0.0, 0.999, 0.3], [0.5, 0.1, 0.2, 0.6]):
        same = torch.tensor([[0.125, 0.5, 0.125, 0.25]]).repeat(4, 1)
        ask_verify(
            student,
            same,
            same[:3],
            [1, 0, 3],
            u,
            (
                "With the same distribution in p and q no draft token is rejected;"
                " the last of u samples one more."
            ),
        )
        ask_verify(student, one_hot(2, 0, 3, 1), one_hot(2, 0, 3), [2, 0, 3], u, rule)
    ask_verify(
        student,
        torch.ones(3, 1),
        torch.ones(2, 1),
        [0, 0],
        [0.9, 0.5, 0.3],
        (
            "The vocabulary may have one token: both draft tokens are accepted, and"
            " one more is sampled."
        ),
    )
    for k, V in ((1, 2), (3, 5), (20, 40), (8, 1000), (20, 3)):
        q = rows(rng, k, V)
        p = torch.cat((0.97 * q + 0.03 / V, rows(rng, 1, V)))
        guesses = q.argmax(1).tolist()
        for _ in range(3):
            u = clear_numbers(rng, p, q, guesses)
            if u is not None:
                u = [*(min(one, 0.9) for one in u[:-1]), u[-1]]
                ask_verify(student, p, q, guesses, u, rule)


@verify.stage("rejection", points=2)
def test_the_first_refused_guess_ends_it(student, rng):
    rule = (
        "At the first rejection, sample from the residual, max(p - q, 0)"
        " normalized, and drop all later draft tokens."
    )
    for u in ([0.6, 0.9], [0.6, 0.1], [0.9, 0.5]):
        ask_verify(student, P, Q, [1], u, rule)
    p = torch.tensor(
        [
            [0.125, 0.375, 0.25, 0.25],
            [0.25, 0.25, 0.25, 0.25],
            [0.5, 0.0, 0.0, 0.5],
            [0.0, 1.0, 0.0, 0.0],
        ]
    )
    q = torch.tensor(
        [[0.625, 0.125, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25], [0.25, 0.5, 0.25, 0.0]]
    )
    twice = torch.tensor([[0.25, 0.75], [0.25, 0.75], [0.5, 0.5]])
    for last in (0.1, 0.3, 0.49, 0.51, 0.6, 0.7, 0.8, 0.99):
        ask_verify(student, twice, torch.full((2, 2), 0.5), [0, 0], [0.25, 0.75, last], rule)
        ask_verify(student, p, q, [0, 2, 1], [0.5, 0.5, 0.5, last], rule)
        ask_verify(student, p, q, [1, 2, 1], [0.1, 0.9, 0.1, last], rule)
        ask_verify(
            student,
            p,
            q,
            [0, 2, 1],
            [0.1, 0.9, 0.0, last],
            f"{rule} With p = 0, always reject.",
        )
        ask_verify(
            student,
            one_hot(2, 1, 3),
            one_hot(2, 3),
            [2, 3],
            [0.2, 0.4, last],
            f"{rule} p may be one-hot.",
        )
        ask_verify(
            student,
            torch.tensor([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]]),
            one_hot(1),
            [1],
            [0.5, last],
            f"{rule} q may be one-hot.",
        )
    little = 1 / 512
    for last in (0.2, 0.7):
        ask_verify(
            student,
            torch.tensor([[0.5, 0.5], [1.0, 0.0]]),
            torch.tensor([[0.5 + little, 0.5 - little]]),
            [0],
            [0.998, last],
            f"{rule} It may be small.",
        )
    for k, V in ((1, 2), (2, 3), (5, 6), (20, 9), (6, 300), (4, 1000), (12, 30)):
        for _ in range(6):
            p, q = rows(rng, k + 1, V), rows(rng, k, V)
            guesses = q.multinomial(1, generator=rng)[:, 0].tolist()
            u = clear_numbers(rng, p, q, guesses)
            if u is not None and len(judged(p, q, guesses, u)[0]) <= k:  # one is rejected
                ask_verify(student, p, q, guesses, u, rule)


@verify.stage("acceptance threshold", points=1)
def test_how_often_a_guess_is_kept(student, rng):
    rule = (
        "Draft token x is accepted if u q(x) < p(x), with u, p and q of its own position; at"
        " equality it is rejected."
    )
    p, q = (
        torch.tensor([[0.25, 0.75, 0.0, 0.0], [0.125, 0.125, 0.25, 0.5], [0.0, 0.0, 0.5, 0.5]]),
        torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 0.5, 0.25, 0.25]]),
    )
    for first in (0.45, 0.49, 0.5, 0.51, 0.55):
        for second in (0.2, 0.24, 0.25, 0.26, 0.3, 0.0):
            for last in (0.0, 0.5, 0.2, 0.9):
                if judged(p, q, [0, 1], [first, second, last])[1] > 2e-4 or last in (0.0, 0.5):
                    ask_verify(student, p, q, [0, 1], [first, second, last], rule)
    other = torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.0, 0.25, 0.5, 0.25]])
    for draft, guesses in (
        (q, [0, 1]),
        (other, [0, 1]),
        (other, [1, 1]),
        (other, [1, 2]),
        (q, [1, 2]),
        (q, [1, 1]),
        (q, [2, 1]),
    ):
        for u in ([0.55, 0.3, 0.2], [0.45, 0.6, 0.7]):
            ask_verify(student, p, draft, guesses, u, rule)
    fine = torch.tensor([[0.37512, 0.62488], [0.5, 0.5]])
    for u in (0.37501, 0.37523):
        ask_verify(
            student,
            fine,
            one_hot(0, V=2),
            [0],
            [u, 0.7],
            f"{rule} Use full float32.",
        )
        ask_verify(
            student,
            fine[:1],
            torch.zeros(0, 2),
            [],
            [u],
            (
                "The token is the first whose cumulative probability is larger than u, in full"
                " float32 precision."
            ),
        )


@verify.stage("no draft tokens", points=0.5)
def test_without_guesses_one_token_is_drawn(student, rng):
    rule = (
        "Without draft tokens, sample one token from the only row of p: the first whose"
        " cumulative probability is larger than u."
    )
    for V in (1, 2, 5, 300, 1000):
        for _ in range(4):
            p, q = rows(rng, 1, V), torch.zeros(0, V)
            u = clear_numbers(rng, p, q, [])
            if u is not None:
                ask_verify(student, p, q, [], u, rule)
    quarters = torch.tensor([[0.25, 0.0, 0.25, 0.5, 0.0]])
    for u in (0.0, 0.2, 0.25, 0.3, 0.5, 0.6, 0.999):
        ask_verify(
            student,
            quarters,
            torch.zeros(0, 5),
            [],
            [u],
            f"{rule} A token of probability 0 is never sampled.",
        )
    ask_verify(
        student,
        torch.tensor([[0.0, 0.0, 1.0]]),
        torch.zeros(0, 3),
        [],
        [0.0],
        f"{rule} A token of probability 0 is never sampled.",
    )


@verify.stage("distribution", points=2, after="rejection")
def test_the_text_is_the_model_s(student, rng):
    rule = (
        "Over many calls, the tokens are not distributed as the target model's. The acceptance"
        " rule or the sampled distribution is wrong."
    )
    p = torch.tensor([[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.4, 0.2], [0.25, 0.25, 0.2, 0.3]])
    for q in (
        torch.tensor([[0.2, 0.5, 0.1, 0.2], [0.4, 0.1, 0.4, 0.1]]),
        torch.tensor([[0.05, 0.05, 0.1, 0.8], [0.25, 0.25, 0.25, 0.25]]),
    ):
        drawn = torch.stack(
            [row.multinomial(500, replacement=True, generator=rng) for row in q], 1
        ).tolist()
        numbers = torch.rand(500, 3, generator=rng).clamp(max=0.999)
        found = []
        for one in student.script(
            [("verify", p, q, guesses, u) for guesses, u in zip(drawn, numbers)]
        ):
            expect(one.raised, "What `verify` raised").equals(
                "", cause=f"`verify` raises {one.raised}."
            )
            found.append(
                [
                    expect(token, "A returned token").is_a(int)
                    for token in expect(one.value, "What `verify` said").is_a(list)
                ]
            )
        expect(
            all(1 <= len(one) <= 3 and all(0 <= token < 4 for token in one) for one in found)
        ).is_true(cause="`verify` returns 1 to k + 1 tokens, ints from 0 to V - 1.")
        for place in range(2):
            tokens = [one[place] for one in found if len(one) > place]
            if place == 0 or len(tokens) > 50:
                expect_frequencies(
                    [tokens.count(token) for token in range(4)],
                    p[place],
                    cause=rule,
                    name=f"How often each token came at position {place}",
                    false_alarms=2.5e-7,
                )
