"""Checks of chapter 1, part 2, training: the skip-gram loss, its gradient, and CBOW."""

import torch
from torch.nn.functional import softplus

from autograder.chapters.c01_static_embeddings import LONG
from autograder.checks.inputs.draws import distinct, look_alike, normal, uniform, whole
from autograder.checks.protocol import exercise, expect

PAGE = "01-static-embeddings/word2vec"
SKIPGRAM = ["reference_impl.embeddings.skipgram"]

sgns_loss = exercise(
    "01.sgns_loss",
    function="sgns_loss",
    points=5,
    see=f"{PAGE}#the-gradient-by-hand",
    withhold=SKIPGRAM,
)
LOSS = {"rtol": 1e-4, "atol": 1e-4}
ALIKE = torch.tensor([[0.5, -1.0, 0.8, 0.3, -0.2]]), torch.tensor([[1.0, 0.5, -0.75, 0.25, 2.0]])
OTHERS = "Different vectors give different scores, even if their sum, first and last entries agree."


def true_loss(center: torch.Tensor, context: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
    """The mean loss in float64, by softplus: -log sigmoid(x) = softplus(-x)."""
    center, context, negatives = center.double(), context.double(), negatives.double()
    wrong_pair = torch.einsum("bd,bkd->bk", center, negatives)
    return (
        softplus(-torch.einsum("bd,bd->b", center, context)) + softplus(wrong_pair).sum(1)
    ).mean()


def ask_loss(student, parts: tuple, cause: str) -> None:
    """Compare the student's loss with the true one."""
    given = "B = {}, K = {}, D = {}".format(*parts[2].shape)
    expect(student.sgns_loss(*parts), "Your loss", given).close(
        true_loss(*parts).float(), **LOSS, cause=cause
    )


@sgns_loss.stage("untrained loss", points=0.5)
def test_zero_vectors_cost_log_two_for_each_score(student, rng):
    for negatives, dim in (
        (1, 1),
        (1, whole(rng, 2, 6)),
        (whole(rng, 3, 7), whole(rng, 2, 6)),
        (LONG, 2),
    ):
        zeros = torch.zeros(1, dim)
        ask_loss(
            student,
            (zeros, zeros, torch.zeros(1, negatives, dim)),
            (
                "With all vectors zero, each of the 1 + K scores costs log 2 = 0.693; sum them "
                "inside one pair."
            ),
        )


def of_length_two(rng: torch.Generator, dim: int) -> torch.Tensor:
    """One vector, so that its scores with 1.5 times itself are 6 for every seed: large ones have a
    stage of their own.
    """
    center = normal(rng, 1, dim) + 0.5
    return 2 * center / center.norm()


@sgns_loss.stage("true context", points=1)
def test_a_true_context_should_score_high(student, rng):
    for dim in (1, whole(rng, 3, 6), LONG):
        center, nothing = of_length_two(rng, dim), torch.zeros(1, 1, dim)
        for context in (center * 1.5, center * -0.5):
            ask_loss(
                student,
                (center, context, nothing),
                (
                    "The true context costs -log sigmoid(v . u), with this sign: the higher the "
                    "score, the lower the loss."
                ),
            )
    parts = (
        torch.tensor([[12 / 7]]),
        torch.tensor([[-23 / 9]]),
        torch.zeros(1, 1, 1),
    )  # half precision errs by 0.0004
    ask_loss(
        student, parts, "The true context should cost -log sigmoid(v . u), to float32's digits."
    )
    for context in (ALIKE[1], look_alike(ALIKE[1])):
        ask_loss(
            student,
            (ALIKE[0], context, torch.zeros(1, 1, 5)),
            f"The true context should cost -log sigmoid(v . u). {OTHERS}",
        )


@sgns_loss.stage("negative samples", points=1)
def test_every_negative_should_score_low(student, rng):
    for number, dim in ((1, 2), (2, 2), (whole(rng, 3, 6), whole(rng, 3, 6)), (LONG, 2)):
        center, nothing, share = (
            of_length_two(rng, dim),
            torch.zeros(1, dim),
            uniform(rng, 0.3, 1.5, 1, number, 1),
        )
        share[0, 0] = 1.5
        negatives = center * share
        for one in (center, -center):
            ask_loss(
                student,
                (one, nothing, negatives),
                (
                    "Each negative costs -log sigmoid(-(v . n)): check the minus inside, the centre"
                    " v, and the sum over K."
                ),
            )
    ask_loss(
        student,
        (torch.tensor([[2.0, 0.0]]), torch.zeros(1, 2), torch.tensor([[[1.5, 0.0], [0.25, 1.0]]])),
        "Each negative has one score, the sum over D of its products with the centre, also where K"
        " and D are equal.",
    )
    for negatives in (ALIKE[1], look_alike(ALIKE[1])):
        ask_loss(
            student,
            (ALIKE[0], torch.zeros(1, 5), negatives[None]),
            f"Each negative should cost -log sigmoid(-(v . n)). {OTHERS}",
        )


def batches(rng: torch.Generator) -> list[tuple]:
    """Batches of several pairs: B equal to K and D, and B, K and D all different."""
    return [
        (normal(rng, b, d), normal(rng, b, d), normal(rng, b, k, d))
        for b, k, d in (
            (2, 2, 2),
            (whole(rng, 5, 6), whole(rng, 3, 4), whole(rng, 7, 8)),
            (3, 5, 2),
            (3, 1, 1),
        )
    ]


def many(parts: tuple) -> tuple[tuple, torch.Tensor]:
    """LONG pairs, each one of the few of a batch, and which: the first comes 500 times, then the
    others in turn.
    """
    few = len(parts[0])
    which = torch.tensor([0] * 500 + [1 + place % (few - 1) for place in range(LONG - 500)])
    return tuple(part[which] for part in parts), which


ONE_NUMBER = (
    "The loss is one number: inside a pair the terms are summed, and the batch is averaged."
)


@sgns_loss.stage("every pair", points=0.5, after="true context", at_most=0.5)
def test_every_pair_of_a_batch_takes_part(student, rng):
    for center, context, negatives in batches(rng):
        nothing = torch.zeros_like(negatives)
        before = expect(
            student.sgns_loss(center, context, nothing), "Your loss of a batch"
        ).is_tensor(shape=(), dtype=torch.float32, cause=ONE_NUMBER)
        for pair in range(len(center)):
            changed = context.clone()
            changed[pair] = -3 * center[pair] / center[pair].norm() ** 2
            after = expect(
                student.sgns_loss(center, changed, nothing), "Your loss of a batch"
            ).is_tensor(shape=(), dtype=torch.float32, cause=ONE_NUMBER)
            moved = true_loss(center, changed, nothing) - true_loss(center, context, nothing)
            expect(bool((after - before).abs() > 0.3 * moved.abs())).is_true(
                cause=(
                    "The loss of a batch of several pairs should change when any one of its pairs"
                    " does."
                )
            )


@sgns_loss.stage("batch mean", points=1, after="true context")
def test_the_loss_of_a_batch_is_the_mean_of_its_pairs(student, rng):
    for parts in batches(rng):
        losses = [
            expect(
                student.sgns_loss(*(part[i : i + 1] for part in parts)),
                "Your loss of a single pair",
            ).is_tensor(shape=(), dtype=torch.float32, cause=ONE_NUMBER)
            for i in range(len(parts[0]))
        ]
        expect(bool(torch.stack(losses).abs().min() > 0)).is_true(
            cause="The loss of a random pair should not be 0."
        )
        expect(student.sgns_loss(*parts), "Your loss of a batch").close(
            torch.stack(losses).mean(),
            **LOSS,
            cause="The loss of a batch should be the mean of the losses of its pairs, one by one.",
        )
    together, which = many(parts)
    expect(student.sgns_loss(*together), "Your loss of a batch", f"{LONG} pairs").close(
        torch.stack(losses)[which].mean(),
        **LOSS,
        cause="The loss of a large batch should be the mean of the losses of its pairs too.",
    )


ONE_STEP = (
    "Your loss overflows at scores of a few hundred: in float32 the sigmoid of -104"
    " is 0. Use `logsigmoid` or `softplus`."
)
LARGE = {
    True: {
        True: (
            "A large score of the wrong sign costs its size, and yours costs less: an "
            "epsilon inside a logarithm or a clamp limits the loss."
        ),
        False: (
            "A large score of the wrong sign costs its size, and yours costs more: a lower "
            "bound under a sigmoid that rounds to 0 can do that."
        ),
    },
    False: {
        True: (
            "A large score of the right sign costs nearly 0, and never less; the other "
            "score, 0, still costs log 2."
        ),
        False: "A large score of the right sign costs nearly 0, and yours costs more.",
    },
}


@sgns_loss.stage("large scores", points=1)
def test_large_scores_give_a_large_loss_and_not_infinity(student, rng):
    for score in (20, 95, 300, whole(rng, 150, 400), 500):
        center = torch.tensor([[1.0, 0.0]])
        for context, negative, wrong in (
            (-score, 0.0, True),
            (score, 0.0, False),
            (0.0, score, True),
            (0.0, -score, False),
        ):
            parts = center, torch.tensor([[context, 0.0]]), torch.tensor([[[negative, 0.0]]])
            loss = expect(student.sgns_loss(*parts), "Your loss").is_tensor(
                shape=(), dtype=torch.float32
            )
            less = bool(loss < true_loss(*parts))
            expect(loss, "Your loss").close(
                true_loss(*parts).float(),
                **LOSS,
                cause=LARGE[wrong][less] if loss.isfinite() else ONE_STEP,
            )
    for factor, first, last in (
        (400.0, 400.0, 399.25),
        (400.0, 400.0, 400.75),  # products of 160,000, scores of 300 and -300
        (1.0, 300_000.0, 300_200.0),
        (1.0, 300_200.0, 300_000.0),
    ):
        parts = torch.full((1, 2), factor), torch.tensor([[first, -last]]), torch.zeros(1, 1, 2)
        ask_loss(
            student,
            parts,
            (
                "A score of 300 may be the sum of much larger products, and half precision ends"
                " at 65,504."
            ),
        )


sgns_gradients = exercise(
    "01.sgns_gradients",
    function="sgns_gradients",
    points=5,
    see=f"{PAGE}#the-gradient-by-hand",
    withhold=SKIPGRAM,
)
NAMES = ("d_center", "d_context", "d_negatives")


def true_gradients(*parts: torch.Tensor) -> list[torch.Tensor]:
    """The three gradients of the mean loss, by autograd in float64."""
    leaves = [part.double().requires_grad_() for part in parts]
    return [gradient.float() for gradient in torch.autograd.grad(true_loss(*leaves), leaves)]


def gradients(student, parts: tuple, which: tuple[int, ...] = (0, 1, 2)) -> list[torch.Tensor]:
    """Those of the student's three gradients, after their type and shape were asked for."""
    answers = expect(student.sgns_gradients(*parts)).unpacks(3)
    return [
        expect(answers[one], f"`{NAMES[one]}`").is_tensor(
            shape=tuple(parts[one].shape), dtype=torch.float32
        )
        for one in which
    ]


def ask_gradient(student, which: int, parts: tuple, cause: str) -> None:
    """Compare one of the student's three gradients with autograd's."""
    given = "B = {}, K = {}, D = {}".format(*parts[2].shape)
    expect(*gradients(student, parts, (which,)), f"`{NAMES[which]}`", given).close(
        true_gradients(*parts)[which], rtol=1e-4, atol=1e-5, cause=cause
    )


def single(rng: torch.Generator, zero: str = "") -> list[tuple]:
    """Batches of one pair: D and K 1, drawn, and many negatives. zero: which part is all zeros."""
    found = []
    for number, dim in ((1, 1), (1, 3), (whole(rng, 2, 5), whole(rng, 4, 6)), (1, LONG), (LONG, 2)):
        size = min(1.0, 2 / dim**0.5)  # scores of about 1 in long vectors too
        parts = {
            "center": size * (normal(rng, 1, dim) + 0.5),
            "context": size * (normal(rng, 1, dim) + 0.5),
            "negatives": size * normal(rng, 1, number, dim),
        }
        found.append(
            tuple(torch.zeros_like(part) if name == zero else part for name, part in parts.items())
        )
    return found


@sgns_gradients.stage("context gradient", points=1)
def test_the_true_context_is_pulled_towards_the_centre(student, rng):
    for parts in single(rng):
        ask_gradient(
            student,
            1,
            parts,
            (
                "The gradient of the context is (sigmoid(v . u) - 1) times the centre v: no "
                "other factor, and v before any update."
            ),
        )
    for context in (ALIKE[1], look_alike(ALIKE[1])):
        ask_gradient(student, 1, (ALIKE[0], context, torch.zeros(1, 1, 5)), OTHERS)
    nothing = torch.zeros(1, 2)
    ask_gradient(
        student,
        1,
        (nothing, torch.tensor([[1.0, 2.0]]), nothing[None]),
        "A centre of zeros gives the context the gradient zero.",
    )
    for score in (7.0, 9.0, 12.0, -12.0):
        parts = torch.tensor([[1.0, -0.5]]), torch.tensor([[score, 0.0]]), torch.zeros(1, 1, 2)
        ask_gradient(
            student,
            1,
            parts,
            (
                "A small error is an error: a score of 7 leaves -0.0009. Do not clip scores "
                "before the sigmoid or set errors to 0."
            ),
        )


@sgns_gradients.stage("gradient of negatives", points=1)
def test_each_negative_is_pushed_away_from_the_centre(student, rng):
    for parts in single(rng):
        ask_gradient(
            student,
            2,
            parts,
            (
                "The gradient of each negative is sigmoid(v . n) times the centre v, without a "
                "minus."
            ),
        )
    for negatives in (ALIKE[1], look_alike(ALIKE[1])):
        ask_gradient(student, 2, (ALIKE[0], torch.zeros(1, 5), negatives[None]), OTHERS)
    nothing = torch.zeros(1, 2)
    ask_gradient(
        student,
        2,
        (nothing, nothing, torch.tensor([[[1.0, 2.0]]])),
        "A centre of zeros gives the negatives the gradient zero.",
    )
    for score in (-7.0, -8.0):
        small = torch.tensor([[1.0, -0.5]]), torch.zeros(1, 2), torch.tensor([[[score, 0.0]]])
        ask_gradient(
            student,
            2,
            small,
            (
                "A negative with a score of -7 still has an error of 0.0009: do not set small "
                "errors to 0."
            ),
        )


@sgns_gradients.stage("centre from context", points=0.5)
def test_the_centre_is_pulled_towards_its_context(student, rng):
    for parts in single(rng, zero="negatives"):
        ask_gradient(
            student,
            0,
            parts,
            (
                "With zero negatives the gradient of the centre is (sigmoid(v . u) - 1) times "
                "the context u."
            ),
        )


@sgns_gradients.stage("centre from negatives", points=0.5)
def test_the_centre_is_pushed_away_from_all_its_negatives(student, rng):
    for parts in single(rng, zero="context"):
        ask_gradient(
            student,
            0,
            parts,
            (
                "With a zero context the gradient of the centre is the sum over all negatives "
                "of sigmoid(v . n) times n."
            ),
        )
    parts = single(rng, zero="context")[-1]
    for center in (parts[0], -parts[0]):
        ask_gradient(
            student,
            0,
            (center, *parts[1:]),
            "Other centres with the same contexts and negatives have other gradients.",
        )
    row = normal(rng, 1, 3) + 0.5
    for negatives in (torch.stack([row, row, -row], 1), torch.stack([row, row], 1)):
        ask_gradient(
            student,
            0,
            (normal(rng, 1, 3), torch.zeros(1, 3), negatives),
            "A negative may equal another one, and both count: each is a draw of its own.",
        )


def together_and_alone(student, parts: tuple) -> list[tuple]:
    """For each of the three: the gradient of the batch, and those of its pairs asked one by one."""
    pairs = [tuple(part[i : i + 1] for part in parts) for i in range(len(parts[0]))]
    alone = zip(*(gradients(student, pair) for pair in pairs))
    return list(zip(NAMES, gradients(student, parts), map(torch.cat, alone)))


def direction(rows: torch.Tensor) -> torch.Tensor:
    """Each pair's gradient divided by its own length."""
    flat = rows.flatten(1)
    return flat / flat.norm(dim=1, keepdim=True).clamp(min=1e-12)


@sgns_gradients.stage("every pair", points=0.5, after="context gradient", at_most=0.5)
def test_every_pair_of_a_batch_gets_its_own_gradient(student, rng):
    for parts in batches(rng):
        for name, together, alone in together_and_alone(student, parts):
            expect(bool((together.flatten(1).norm(dim=1) > 0).all())).is_true(
                cause=f"In a batch of several pairs no row of `{name}` should be all 0."
            )
            expect(direction(together), f"The direction of each row of `{name}`").close(
                direction(alone),
                rtol=1e-3,
                atol=1e-3,
                cause=f"In a batch, row b of `{name}` should come from pair b alone.",
            )


@sgns_gradients.stage("batch mean", points=1, after="context gradient")
def test_the_gradients_of_a_mean_are_divided_by_the_batch(student, rng):
    for parts in batches(rng):
        for name, together, alone in together_and_alone(student, parts):
            expect(bool(alone.abs().sum() > 0)).is_true(
                cause=f"`{name}` of random vectors should not be all 0."
            )
            expect(together, f"`{name}`").close(
                alone / len(alone),
                rtol=1e-4,
                atol=1e-6,
                cause=(
                    "The loss is a mean over the batch, so every gradient is that of the pair alone"
                    " divided by B."
                ),
            )
    large, which = many(parts)
    for name, together, (_, _, alone) in zip(
        NAMES, gradients(student, large), together_and_alone(student, parts)
    ):
        expect(together, f"`{name}`", f"{LONG} pairs").close(
            alone[which] / LONG,
            rtol=1e-4,
            atol=1e-7,
            cause=(
                "In a large batch as well, every gradient is that of the pair alone divided by B."
            ),
        )


@sgns_gradients.stage("large scores", points=0.5)
def test_large_scores_give_finite_gradients(student, rng):
    for score in (95, 300, whole(rng, 150, 400), 500):
        center = torch.tensor([[1.0, 0.5]])
        for context, negative in ((-score, score), (score, -score)):
            parts = (
                center,
                torch.tensor([[float(context), 0.0]]),
                torch.tensor([[[float(negative), 0.0]]]),
            )
            for which in range(3):
                ask_gradient(
                    student,
                    which,
                    parts,
                    (
                        "At scores of a few hundred exp is infinite in float32 and a sigmoid may"
                        " be 0: use `torch.sigmoid`, without its logarithm."
                    ),
                )
    row = of_length_two(rng, 3)
    for which, centre in (
        (0, -row / 4),
        (2, -row / 4),
        (0, row / 4),
    ):  # scores of 1 and -1 for every seed
        ask_gradient(
            student,
            which,
            (centre, row, row[:, None]),
            "A negative may equal the context: the centre's gradient contains both terms.",
        )


cbow_scores = exercise(
    "01.cbow_scores",
    function="cbow_scores",
    also=["wrong_line"],
    points=3,
    kind="find-line",
    see=f"{PAGE}#cbow",
    withhold=["reference_impl.embeddings.cbow"],
)


@cbow_scores.stage("wrong line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(  # without the number in the message
        cause=(
            "The line that you name does what the statement says: trace the row [1, -1] "
            "through the code."
        )
    )


def ask_cbow(
    student,
    rng: torch.Generator,
    rows: list[list[int]],
    slots: int,
    words: int,
    cause: str,
    zero: int | None = None,
    front: bool = False,
    dim: int = 0,
) -> None:
    """Compare the scores of `rows` of word numbers, filled with -1 to `slots`.

    zero: a word whose vector is all zeros. front: one -1 of the first row comes first. dim: drawn,
    if it is 0.
    """
    dim = dim or whole(rng, 2, 5)
    inward, outward = normal(rng, words, dim), normal(rng, words, dim)
    if zero is not None:
        inward[zero] = 0.0
    padded = torch.tensor([row + [-1] * (slots - len(row)) for row in rows])
    if front:
        padded[0] = padded[0].roll(1)
    right = (
        torch.stack([inward[[word for word in row if word >= 0]].mean(0) for row in rows])
        @ outward.T
    )
    expect(student.cbow_scores(inward, outward, padded), given=f"contexts {padded.tolist()}").close(
        right, rtol=1e-4, atol=1e-5, cause=cause
    )


@cbow_scores.stage("mean without padding", points=2)
def test_only_the_words_that_are_there_are_averaged(student, rng):
    words, slots = whole(rng, 6, 9), whole(rng, 4, 5)

    def ask(rows: list[list[int]], cause: str, **more: object) -> None:
        ask_cbow(student, rng, rows, slots, words, cause, **more)

    full = [[1 + one for one in distinct(rng, slots, words - 1)] for _ in range(2)]
    for rows in (full, full[:1]):
        ask(
            rows,
            (
                "Rows without padding were right before the repair and must stay right: the "
                "mean of all positions, times the output vectors."
            ),
        )
    ask([[0, *full[0][1:]]], "Word 0 is a word like any other; only -1 is padding.")
    pair, one = full[0][:2], full[1][:1]
    rule = "The mean is over the words that are present: their sum divided by their number"
    for rows in ([pair], [one], [[0]]):
        ask(rows, f"{rule}.")
    ask([pair], f"{rule}. Padding may come first.", front=True)
    ask([one, [*pair, 0], pair, [0, 0]], f"{rule}. Each row has its own number.")
    for rows in ([one, pair], [pair, one, [0, 0, words - 1]]):
        ask(
            rows,
            f"{rule}. Each row has its own number, also with as many rows as dimensions.",
            dim=len(rows),
        )
    ask(
        [[words - 1, words - 1, 0], [words - 1]],
        f"{rule}. A word that occurs twice counts twice.",
        front=True,
    )
    ask([[1, 2], [1]], "A word whose vector is all zeros is still present, and counts.", zero=1)
    tables = [normal(rng, 5, 3) for _ in range(3)]
    tables += map(look_alike, tables[:2])
    contexts = [
        torch.tensor(rows)
        for rows in ([[0, 1], [2, -1]], [[3, 4], [1, -1]], [[0, 1], [2, 3]], [[0, 2], [1, 3]])
    ]
    for inward, outward, padded in (
        (0, 1, 0),
        (3, 1, 0),
        (0, 4, 0),
        (0, 1, 1),
        (0, 2, 1),
        (2, 1, 1),
        (0, 1, 2),
        (0, 1, 3),
    ):
        right = (
            torch.stack([tables[inward][row[row >= 0]].mean(0) for row in contexts[padded]])
            @ tables[outward].T
        )
        expect(student.cbow_scores(tables[inward], tables[outward], contexts[padded])).close(
            right,
            rtol=1e-4,
            atol=1e-5,
            cause=(
                "Different vectors or contexts give different scores: nothing is kept from an "
                "earlier call."
            ),
        )
    ask_cbow(student, rng, [[words - 1]], 1, words, "A row may have one position only.")
    ask_cbow(
        student,
        rng,
        [[*pair, -1, 0, -1, words - 1]],
        6,
        words,
        f"{rule}. Padding may be between words.",
    )
    ask_cbow(
        student,
        rng,
        [[place % words for place in range(LONG - 1)], [0]],
        LONG,
        words,
        f"{rule}. There may be many.",
    )
    ask_cbow(
        student,
        rng,
        [[place % words, 0][: 1 + place % 2] for place in range(LONG)],
        2,
        words,
        f"{rule}. There may be many rows.",
        dim=2,
    )
    ask_cbow(
        student,
        rng,
        [[0, LONG - 1], [200, 999 - 200]],
        3,
        LONG,
        "Word numbers go up to V - 1, and V may be large.",
        dim=2,
    )
    ask_cbow(student, rng, [[0, 2], [1]], 3, 3, f"{rule}. Vectors may be long.", dim=LONG)
    for size in (3, 4):
        ask_cbow(
            student,
            rng,
            [[0, 2], [1]],
            3,
            size,
            (
                "The mean is multiplied with every output vector, also where there are as many "
                "of them as dimensions."
            ),
            dim=size,
        )
    square, each = normal(rng, 3, 3), torch.arange(3)[:, None]
    for inward, outward in ((square, torch.eye(3)), (torch.eye(3), square)):
        expect(
            student.cbow_scores(inward, outward, each),
            given="vectors that are the rows of an identity matrix",
        ).close(
            inward @ outward.T,
            rtol=1e-4,
            atol=1e-5,
            cause="One word in a row is its own mean.",
        )
