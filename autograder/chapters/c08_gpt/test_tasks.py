"""Checks of chapter 8, part 4: tasks as texts, the joint loss, and answers by bets alone."""

import torch

from autograder.chapters.c08_gpt.test_next import graded, mean_price
from autograder.chapters.c08_gpt.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import Watched, exercise, expect

BOOK = "08-gpt"

task_rows = exercise(
    "08.task_rows",
    function="task_rows",
    points=5,
    see=f"{BOOK}/tasks#a-task-is-a-text",
    withhold=OURS | LIBRARIES,
)
TASKS = ("classification", "entailment", "similarity", "choice")


def written(
    task: str, texts: list[list[int]], markers: tuple[int, int, int], pad: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The right rows, and where they end."""
    start, between, end = markers
    first, *others = texts
    bodies = {
        "classification": lambda: [first],
        "entailment": lambda: [first + [between] + others[0]],
        "similarity": lambda: [first + [between] + others[0], others[0] + [between] + first],
        "choice": lambda: [first + [between] + other for other in others],
    }[task]()
    T = max(map(len, bodies)) + 2
    ids = torch.full((len(bodies), T), pad)
    for row, body in zip(ids, bodies):
        row[: len(body) + 2] = torch.tensor([start, *body, end])
    return ids, torch.tensor([len(body) + 1 for body in bodies])


def drawn_text(rng, size: int) -> list[int]:
    """A text of so many ids."""
    return counts(rng, 0, 60, size).tolist()


def ask_rows(
    student,
    cause: str,
    task: str,
    texts: list[list[int]],
    markers: tuple[int, int, int] = (90, 91, 92),
    pad: int = 0,
    last: bool = False,
) -> None:
    """Compare the rows, or the places of their ends."""
    given = (
        f"task {task!r}, texts of {[len(one) for one in texts][:8]} ids, markers {markers}, pad"
        f" {pad}"
    )
    came, right = (
        expect(student.task_rows(task, texts, markers, pad), given=given).unpacks(2),
        written(task, texts, markers, pad),
    )
    if last:
        expect(came[1], "Your `last`", given).equals(right[1], cause=cause)
    else:
        expect(came[0], "Your ids", given).equals(right[0], cause=cause)


@task_rows.stage("markers", points=1.5)
def test_a_text_and_a_pair_get_their_markers(student, rng):
    one = "One text: the start marker, the text, the end marker, and nothing between."
    pair = "A premise and a hypothesis: start, premise, between, hypothesis, end, in one row."
    for size in (1, 2, 5, 300, whole(rng, 6, 20)):
        ask_rows(student, one, "classification", [drawn_text(rng, size)])
        ask_rows(
            student, pair, "entailment", [drawn_text(rng, size), drawn_text(rng, whole(rng, 1, 9))]
        )
        ask_rows(student, pair, "entailment", [drawn_text(rng, 2), drawn_text(rng, size)])
    ask_rows(
        student,
        f"{pair} Both are as long as they may be.",
        "entailment",
        [drawn_text(rng, 300), drawn_text(rng, 300)],
    )
    for markers, pad in (((7, 8, 9), 3), ((999_999_999, 5, 6), 0), ((2, 2, 2), 2)):
        ask_rows(
            student,
            f"{one} The markers are those of the argument.",
            "classification",
            [drawn_text(rng, 3)],
            markers,
            pad,
        )
        ask_rows(
            student,
            f"{pair} The markers are those of the argument.",
            "entailment",
            [drawn_text(rng, 3), drawn_text(rng, 2)],
            markers,
            pad,
        )


@task_rows.stage("orders", points=1)
def test_what_has_no_order_is_written_in_both(student, rng):
    rule = (
        "Similarity: two rows, the pair as it is and the pair turned round, each with all three"
        " markers."
    )
    for sizes in ((1, 1), (3, 3), (1, 4), (5, 2), (whole(rng, 2, 9), whole(rng, 2, 9))):
        ask_rows(student, rule, "similarity", [drawn_text(rng, size) for size in sizes])
    ask_rows(
        student,
        f"{rule} Both are as long as they may be.",
        "similarity",
        [drawn_text(rng, 300), drawn_text(rng, 300)],
    )
    same = drawn_text(rng, 3)
    ask_rows(
        student,
        f"{rule} Both texts are equal here, and there are two rows all the same.",
        "similarity",
        [same, list(same)],
    )


@task_rows.stage("choices", points=1)
def test_each_answer_has_a_row(student, rng):
    rule = (
        "Choice: a row for each answer, in their order, with the context in front of it; no row has"
        " two answers."
    )
    for number in (1, 2, 3, 5, whole(rng, 4, 8)):
        ask_rows(
            student,
            rule,
            "choice",
            [drawn_text(rng, whole(rng, 1, 6)), *(drawn_text(rng, 3) for _ in range(number))],
        )
    same = drawn_text(rng, 2)
    ask_rows(
        student,
        f"{rule} Some answers are equal, and equal to the context.",
        "choice",
        [same, list(same), [5, 6], list(same), [5, 6]],
    )
    ask_rows(
        student,
        f"{rule} There are many answers.",
        "choice",
        [[5], *([id] for id in drawn_text(rng, 299))],
    )


@task_rows.stage("padding", points=1, after="choices")
def test_short_rows_are_filled_up_behind_their_end(student, rng):
    rule = (
        "All rows are as long as the longest. A shorter one is filled with `pad`, and behind its"
        " end marker, not in front and not between."
    )
    ask_rows(student, f"{rule} This is the case by hand.", "choice", [[5, 6], [7], [8, 9]])
    for pad in (0, 17, 91, 92):
        ask_rows(
            student,
            rule,
            "choice",
            [drawn_text(rng, 3), *(drawn_text(rng, size) for size in (4, 1, 6, 2))],
            pad=pad,
        )
    ask_rows(
        student,
        rule,
        "choice",
        [drawn_text(rng, 1), drawn_text(rng, 300), drawn_text(rng, 300), drawn_text(rng, 2)],
    )
    ask_rows(
        student,
        f"{rule} Ids, and `pad`, may be large: neither 16 bits nor a float hold them.",
        "choice",
        [[40_000], [50_001, 65_000], [33_000]],
        (60_000, 60_001, 60_002),
        45_001,
    )
    ask_rows(
        student,
        f"{rule} Ids, and `pad`, may be large: neither 16 bits nor a float hold them.",
        "choice",
        [[999_999_937], [5, 999_999_999], [8]],
        pad=999_999_931,
    )


@task_rows.stage("last", points=0.5, after="markers")
def test_the_vector_is_read_at_the_end_marker(student, rng):
    rule = (
        "`last` is the position of each sequence's end marker, from 0, before the padding. An"
        " empty text still has its markers."
    )
    ask_rows(
        student, f"{rule} This is the case by hand.", "choice", [[5, 6], [7], [8, 9]], last=True
    )
    for pad in (0, 92, 91):
        ask_rows(
            student,
            rule,
            "choice",
            [drawn_text(rng, 3), *(drawn_text(rng, size) for size in (4, 1, 6, 2))],
            pad=pad,
            last=True,
        )
        ask_rows(
            student,
            f"{rule} The end marker stands in a text, too.",
            "choice",
            [[92, 1], [92, 92], [92], [3, 92, 4]],
            pad=pad,
            last=True,
        )
        for task, texts in (
            ("classification", [[]]),
            ("entailment", [[], []]),
            ("similarity", [[], [4]]),
            ("choice", [[], [], [4, 5]]),
            ("classification", [drawn_text(rng, 4)]),
        ):
            for last in (False, True):
                ask_rows(student, rule, task, texts, pad=pad, last=last)
    first, second = (
        ("choice", [[5, 6, 7], [8, 9]], (90, 91, 92), 0),
        ("similarity", [[5, 7, 6], [9, 8]], (93, 94, 95), 1),
    )
    for task, texts, markers, pad in [*one_changed(first, second), ("entailment", *first[1:])]:
        ask_rows(student, rule, task, texts, markers, pad)


joint_loss = exercise(
    "08.joint_loss",
    function="joint_loss",
    points=6,
    see=f"{BOOK}/tasks#the-joint-loss",
    withhold=OURS | LIBRARIES,
)
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def joint(x, table, head, ids, last, labels, weight: float) -> torch.Tensor:
    """The right loss, in float64, row by row."""
    rows = [x[row, place].double() @ head.double().T for row, place in enumerate(last.tolist())]
    label = torch.stack(
        [one.logsumexp(0) - one[truth] for one, truth in zip(rows, labels.tolist())]
    ).mean()
    return (
        label
        + weight
        * mean_price(
            x.double() @ table.double().T, ids, torch.arange(x.shape[1]) <= last[:, None]
        ).double()
    ).float()


def tuned(
    rng,
    B: int,
    T: int,
    C: int,
    V: int,
    K: int,
    ragged: bool = False,
    weight: float = 0.0,
    size: float = 1.0,
) -> tuple:
    """The seven arguments; ragged: each row ends somewhere, one at the end and one before it where
    there are two.
    """
    last = counts(rng, 0, T - 1, B) if ragged else torch.full((B,), T - 1)
    if ragged:
        last[0] = min(1, T - 1)
        last[-1] = T - 1 if B > 1 else last[-1]
    return (
        size * normal(rng, B, T, C),
        normal(rng, V, C),
        normal(rng, K, C),
        counts(rng, 0, V - 1, B, T),
        last,
        counts(rng, 0, K - 1, B),
        weight,
    )


def ask_joint(student, cause: str, case: tuple) -> None:
    """Compare the loss."""
    given = (
        "B = {}, T = {}, C = {}, ".format(*case[0].shape)
        + f"V = {len(case[1])}, K = {len(case[2])}, last {case[4].tolist()[:8]}, weight {case[6]:g}"
    )
    expect(student.joint_loss(*case), "Your loss", given).close(joint(*case), **CLOSE, cause=cause)


@joint_loss.stage("label", points=1.5)
def test_the_label_is_read_from_the_last_token(student, rng):
    rule = (
        "The weight is 0 here and there is no padding: the last token's vector times the rows of"
        " `head` are the logits of the labels, and the mean over the rows of their cross-entropy is"
        " the loss."
    )
    for sizes in (
        (1, 1, 2, 3, 2),
        (1, 3, 4, 5, 2),
        (3, 3, 3, 3, 3),
        (4, 2, 3, 5, 6),
        (300, 2, 2, 3, 2),
        (2, 300, 2, 3, 2),
        (2, 2, 300, 3, 4),
        (whole(rng, 2, 6), whole(rng, 4, 9), 5, 7, 3),
    ):
        ask_joint(student, rule, tuned(rng, *sizes, size=0.5))
    x, table, head, *rest = tuned(rng, 4, 2, 2, 3, 300)
    head[-1] = 10.0
    ask_joint(
        student,
        f"{rule} There are 300 labels, and the last one has the highest logit.",
        (x.abs(), table, head, *rest),
    )


@joint_loss.stage("padding", points=1.5, after="label")
def test_the_last_token_is_not_the_last_place(student, rng):
    rule = (
        "The weight is 0 and sequences are padded: read the label at the position `last`. "
        "What follows has no influence."
    )
    for sizes in (
        (1, 3, 4, 5, 2),
        (3, 3, 3, 3, 3),
        (4, 5, 3, 5, 4),
        (whole(rng, 3, 6), whole(rng, 4, 9), 5, 7, 3),
    ):
        case = tuned(rng, *sizes, ragged=True)
        ask_joint(student, rule, case)
        behind = (torch.arange(sizes[1]) > case[4][:, None])[..., None]
        ask_joint(
            student,
            f"{rule} The vectors there are very large.",
            (torch.where(behind, 1000 * case[0], case[0]), *case[1:]),
        )
    first, second = tuned(rng, 3, 4, 5, 6, 3, ragged=True), tuned(rng, 3, 4, 5, 6, 3)
    for place in (0, 2, 4, 5):
        ask_joint(student, rule, first[:place] + second[place : place + 1] + first[place + 1 :])


@joint_loss.stage("language", points=1.5)
def test_the_next_tokens_are_bet_on(student, rng):
    rule = (
        "With one label, only the next-token loss remains: exercise 1's, on `x @ table.T`. "
        "Padding is no target, and all targets have the same weight."
    )
    for sizes in (
        (1, 2, 2, 3),
        (1, 5, 4, 5),
        (3, 3, 3, 3),
        (4, 5, 3, 5),
        (300, 2, 2, 3),
        (2, 300, 2, 3),
        (2, 3, 2, 300),
        (whole(rng, 3, 6), whole(rng, 4, 9), 5, 7),
    ):
        for ragged in (False, True):
            ask_joint(student, rule, tuned(rng, *sizes, 1, ragged=ragged, weight=1.0))
    x, table, *rest = tuned(rng, 2, 3, 2, 300, 1, weight=1.0)
    table[-1] = 10.0
    ask_joint(
        student, f"{rule} The last of 300 tokens has the highest logit.", (x.abs(), table, *rest)
    )
    first, second = tuned(rng, 3, 5, 4, 6, 1, True, 1.0), tuned(rng, 3, 5, 4, 6, 1, False, 1.0)
    for case in [*one_changed(first, second), *look_alikes(second)]:
        ask_joint(student, rule, case)


@joint_loss.stage("joint", points=1, after="label")
def test_the_weight_belongs_to_the_bets(student, rng):
    rule = (
        "The loss is the label loss plus `weight` times the next-token loss, each with its "
        "own mean."
    )
    for weight in (0.5, 2.0, 10.0, 0.1 * whole(rng, 3, 30)):
        for ragged in (False, True):
            ask_joint(
                student,
                rule,
                tuned(rng, whole(rng, 2, 5), whole(rng, 3, 6), 4, 5, 3, ragged, weight),
            )
    first, second = tuned(rng, 3, 5, 4, 6, 3, True, 0.5), tuned(rng, 3, 5, 4, 6, 3, True, 2.0)
    for case in [*one_changed(first, second), *look_alikes(tuned(rng, 6, 5, 4, 6, 4, True, 0.5))]:
        ask_joint(student, rule, case)


@joint_loss.stage("borders", points=0.5, after="joint")
def test_there_may_be_no_bet_logits_may_be_huge_and_all_learn(student, rng):
    none = (
        "No sequence has a second token, so there is no target, and the loss is the label "
        "loss. The mean of no numbers is NaN."
    )
    ask_joint(student, none, tuned(rng, 3, 1, 4, 5, 3, weight=0.5))
    case = tuned(rng, 3, 4, 4, 5, 3, weight=0.5)
    ask_joint(student, none, (*case[:4], torch.zeros(3, dtype=torch.int64), *case[5:]))
    huge = (
        "Logits may be as large as 10,000, up or down: let `cross_entropy` or `log_softmax` take"
        " the logarithm."
    )
    ask_joint(student, huge, tuned(rng, 3, 4, 4, 5, 3, True, 0.5, size=600.0))
    for weight in (0.0, 0.5):
        answers, last, labels = (
            counts(rng, 0, 3, 3, 4),
            torch.tensor([1, 3, 2]),
            counts(rng, 0, 3, 3),
        )
        x = 2.0 * torch.nn.functional.one_hot((answers.roll(-1, 1) + 1) % 4, 4) - 1.0
        x[torch.arange(3), last] = 2.0 * torch.nn.functional.one_hot((labels + 1) % 4, 4) - 1.0
        ask_joint(
            student,
            f"{huge} The right answers are the least likely here.",
            (100 * x, 100 * torch.eye(4), 100 * torch.eye(4), answers, last, labels, weight),
        )
    ask_joint(
        student,
        "With one token in the vocabulary every prediction is certain.",
        tuned(rng, 3, 4, 4, 1, 3, True, 0.5),
    )
    rule = (
        "The gradient reaches the vectors, the table and the new matrix, each from all of its uses."
        " `.item()`, `.detach()` and `no_grad` cut it off."
    )
    x, table, head, ids, last, labels, weight = tuned(rng, 3, 4, 3, 5, 2, True, 0.5)
    bets = weight * graded(x @ table.T, ids, torch.arange(4) <= last[:, None])
    own = x[torch.arange(3), last]
    wrong = ((own @ head.T).softmax(1) - torch.nn.functional.one_hot(labels, 2)) / 3
    vectors = bets @ table
    vectors[torch.arange(3), last] += wrong @ head
    ask_gradients(
        student,
        "joint_loss",
        (x, table, head, ids, last, labels, weight),
        {0: vectors, 1: torch.einsum("btv,btc->vc", bets, x), 2: wrong.T @ own},
        rule,
    )


best_answer = exercise(
    "08.best_answer",
    function="best_answer",
    points=4,
    see=f"{BOOK}/tasks#zero-shot-scoring",
    withhold=OURS | LIBRARIES,
)
ENTRIES = 7


class Reader:
    """A model that reads from the left: its logits hang on the last token, on its place, and on a
    sum over all so far.
    """

    def __init__(self, rng, scale: float = 1.0):
        self.own, self.place, self.past = (
            2 * scale * normal(rng, ENTRIES, ENTRIES),
            scale * normal(rng, 12, ENTRIES),
            scale * normal(rng, ENTRIES, ENTRIES),
        )
        self.shift = scale * normal(rng, 5, 1)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits (1, T, V); raises ValueError for what the statement rules out."""
        if (
            type(ids) is not torch.Tensor
            or ids.dtype != torch.int64
            or ids.dim() != 2
            or ids.shape[0] != 1
            or ids.shape[1] < 1
            or not 0 <= int(ids.min()) <= int(ids.max()) < ENTRIES
        ):
            raise ValueError("one text is wanted, int64 ids of shape (1, T)")
        far, places = ids.cumsum(1), torch.arange(ids.shape[1])
        return (
            self.own[ids]
            + self.past[far % ENTRIES]
            + self.place[places % 12]
            + 3 * self.shift[far % 5]
        )


class Table(Reader):
    """A model whose logits hang on the last token alone; where no row is given they are 0."""

    def __init__(self, rows: dict[int, list[float]]):
        self.own = torch.zeros(ENTRIES, ENTRIES)
        for token, row in rows.items():
            self.own[token] = torch.tensor(row)
        self.place, self.past, self.shift = (
            torch.zeros(12, ENTRIES),
            torch.zeros(ENTRIES, ENTRIES),
            torch.zeros(5, 1),
        )


def quotients(
    reader, prompt: list[int], answers: list[list[int]], num_bytes: list[int]
) -> list[float]:
    """The right numbers, in float64."""
    found = []
    for answer, size in zip(answers, num_bytes):
        text = torch.tensor([prompt + answer])
        log_p = reader(text)[0, len(prompt) - 1 : -1].double().log_softmax(1)
        found.append(float(log_p.gather(1, text[0, len(prompt) :, None]).sum()) / size)
    return found


def question(
    rng,
    prompt: int,
    lengths: list[int],
    num_bytes: list[int],
    scale: float = 1.0,
    margin: float = 0.02,
    rival=None,
    accept=lambda found: True,
) -> tuple:
    """The four arguments; the best answer is clear, is not the one that `rival`, a wrong way, would
    take, and the quotients are as `accept` wants them.
    """
    for _ in range(200):
        reader = Reader(rng, scale)
        case = (
            reader,
            counts(rng, 0, ENTRIES - 1, prompt).tolist(),
            [counts(rng, 0, ENTRIES - 1, length).tolist() for length in lengths],
            num_bytes,
        )
        found = quotients(*case)
        ordered = sorted(found, reverse=True)
        if (
            len(found) == 1
            or ordered[0] - ordered[1] > margin
            and (rival is None or rival(*case) != found.index(ordered[0]))
            and accept(found)
        ):
            break
    return case


def ask_answer(student, cause: str, case: tuple, calls: int = 200) -> None:
    """Compare the choice."""
    reader, prompt, answers, num_bytes = case
    found = quotients(*case)
    given = (
        f"a prompt of {len(prompt)} ids, answers of {[len(one) for one in answers][:9]} ids, bytes"
        f" {num_bytes[:9]}"
    )
    watched = Watched(reader, calls=calls)
    came = student.best_answer(watched, prompt, answers, num_bytes)
    expect(came, "Your answer", given).equals(found.index(max(found)), cause=cause)
    texts = [(prompt + one) for one in answers]
    for (ids,) in watched.asked:
        ids = ids[0].tolist()
        expect(any(text[: len(ids)] == ids for text in texts), given=given).is_true(
            cause=(
                "Call `logits_of` with the prompt and an answer behind it, or with the beginning of"
                " such a text: without padding, and without leaving out what the prompt begins"
                " with."
            )
        )


def by_first_token(reader, prompt, answers, num_bytes) -> int:
    """A wrong way: the first token of each answer alone."""
    found = quotients(reader, prompt, [answer[:1] for answer in answers], num_bytes)
    return found.index(max(found))


def by_text(reader, prompt, answers, num_bytes) -> int:
    """A wrong way: one place too late."""
    sums = []
    for answer in answers:
        logits = reader(torch.tensor([prompt + answer]))[0].log_softmax(1)
        sums.append(float(sum(logits[len(prompt) + t, token] for t, token in enumerate(answer))))
    return sums.index(max(sums))


def by_sum(reader, prompt, answers, num_bytes) -> int:
    """A wrong way: not divided."""
    return by_first_longest(quotients(reader, prompt, answers, [1] * len(answers)))


def by_tokens(reader, prompt, answers, num_bytes) -> int:
    """A wrong way: divided by the number of tokens."""
    return by_first_longest(quotients(reader, prompt, answers, list(map(len, answers))))


def by_first_longest(found: list[float]) -> int:
    """The index of the first largest."""
    return found.index(max(found))


@best_answer.stage("answer tokens", points=2)
def test_the_answers_tokens_are_bet_on_given_all_before(student, rng):
    rule = (
        "Sum the log-softmax at the answer's tokens only. A token's logits are one position "
        "earlier; the first token's are at the prompt's last position."
    )
    for prompt, length, number in (
        (1, 1, 2),
        (3, 1, 4),
        (1, 2, 3),
        (4, 3, 4),
        (2, 5, 3),
        (whole(rng, 3, 8), 2, 5),
    ):
        for rival in (None, by_first_token if length > 1 else by_text, by_text):
            ask_answer(
                student, rule, question(rng, prompt, [length] * number, [4] * number, rival=rival)
            )
    ask_answer(
        student,
        f"{rule} There are many answers.",
        question(
            rng,
            3,
            [2] * 50,
            [4] * 50,
            margin=0.002,
            accept=lambda found: found.index(max(found)) > 30,
        ),
    )
    near = question(
        rng,
        2,
        [2] * 5,
        [8] * 5,
        margin=0.002,
        accept=lambda found: (
            sorted(found)[-1] - sorted(found)[-2] < 0.01
            and found.index(max(found)) > found.index(sorted(found)[-2])
        ),
    )
    ask_answer(student, f"{rule} Two quotients are near each other, and not equal.", near)
    ask_answer(student, f"{rule} The prompt is long.", question(rng, 300, [2] * 3, [4] * 3))
    ask_answer(
        student,
        f"{rule} They are long.",
        question(
            rng, 40, [80] * 3, [90] * 3, accept=lambda found: found[0] < max(found) < -120 / 90
        ),
    )


@best_answer.stage("bytes", points=1, after="answer tokens")
def test_the_sum_is_divided_by_the_bytes(student, rng):
    rule = (
        "Answers of different lengths: the sum over an answer's tokens is divided by the bytes of"
        " its text, neither by its tokens nor by nothing, and the largest quotient wins: the one"
        " nearest to 0."
    )
    for lengths, num_bytes in (
        ([1, 4], [2, 9]),
        ([1, 3, 2], [7, 3, 6]),
        ([2, 2, 2], [2, 5, 9]),
        ([5, 1], [12, 1]),
        ([3, 4, 1, 2], [5, 20, 6, 11]),
    ):
        for rival in (by_sum, by_tokens):
            ask_answer(
                student, rule, question(rng, whole(rng, 1, 5), lengths, num_bytes, rival=rival)
            )
    for _ in range(3):
        case = question(rng, 3, [2, 3, 1], [4, 6, 2])
        best = by_first_longest(quotients(*case))
        for _ in range(100):
            other = Reader(rng), *case[1:]
            found = quotients(*other)
            if by_first_longest(found) != best and sorted(found)[-1] - sorted(found)[-2] > 0.02:
                break
        ask_answer(student, rule, case)
        ask_answer(student, f"{rule} The same question, put to another model.", other)
    reader = Reader(rng)
    for num_bytes in ([3, 8, 5], [8, 5, 3], [5, 3, 8]):
        ask_answer(
            student,
            f"{rule} The answers are the same ids here, with bytes of their own.",
            (reader, [1, 2], [[3, 4], [3, 4], [3, 4]], num_bytes),
        )
    first, second = question(rng, 3, [2, 3, 1], [4, 9, 2]), question(rng, 3, [2, 3, 1], [8, 3, 5])
    for case in one_changed(first, second):
        found = sorted(quotients(*case), reverse=True)
        if found[0] - found[1] > 0.02:
            ask_answer(student, rule, case)
    for answers in (
        [[0, 1, 2, 3, 4], [5, 6]],
        [[1, 0, 2, 3, 4], [6, 5]],
        [[0, 2, 1, 3, 4], [5, 6]],
        [[0, 1, 2, 4, 3], [5, 6]],
    ):
        case = reader, [1, 2, 3], answers, [6, 2]
        if abs(quotients(*case)[0] - quotients(*case)[1]) > 0.02:
            ask_answer(student, rule, case)


@best_answer.stage("borders", points=1, after="answer tokens")
def test_ties_single_answers_and_huge_logits(student, rng):
    tie = "Of equal quotients the first counts."
    for _ in range(3):
        reader, prompt, (answer, other), _ = question(rng, 2, [2, 2], [4, 4])
        ask_answer(
            student, tie, (reader, prompt, [other, answer, list(answer), list(other)], [4, 4, 4, 4])
        )
        ask_answer(
            student, tie, (reader, prompt, [answer, other, list(other), list(answer)], [4, 4, 4, 4])
        )
    for lengths in ([1, 2], [2, 1], [4, 2, 1], [2, 4, 1]):
        ask_answer(
            student,
            f"{tie} The longer answers have as many more bytes here.",
            (Table({}), [1, 2], [[3, 4, 5, 6][:length] for length in lengths], lengths),
        )
    for row in ([0, 0, 9.001, 9.003, 0, 0, 0], [0, 0, 9.001, 9.003, 20.0, 0, 0]):
        for answers in ([[2], [3]], [[3], [2]]):
            ask_answer(
                student,
                "The quotients differ by 0.002: they are not equal, and float32 tells them apart.",
                (Table({1: row}), [5, 1], answers, [1, 1]),
            )
    for length in (1, 4):
        ask_answer(
            student, "There is a single answer: its index is 0.", question(rng, 2, [length], [3])
        )
    huge = (
        "Logits reach 10,000 and differ in size between positions: use `log_softmax`, not logits"
        " and not the log of a softmax."
    )
    for scale in (200.0, 900.0):
        for lengths in ([2, 2, 2], [1, 1], [4, 4, 4, 4]):
            ask_answer(student, huge, question(rng, 2, lengths, [3] * len(lengths), scale=scale))
    sure = Table({1: [10_000.0, 0, 0, 0, 0, 0, 0]})
    for answers in ([[0], [2], [3]], [[2], [0], [3]]):
        ask_answer(
            student,
            "The model is sure of one answer: its quotient is exactly 0, a number like any other,"
            " and the largest.",
            (sure, [5, 1], answers, [1, 1, 1]),
        )
    low = Table(dict.fromkeys(range(ENTRIES), [10_000.0, 0, -10_000.0, -9_000.0, 0, 0, 0]))
    for answers in ([[2] * 60, [3] * 60], [[3] * 60, [2] * 60]):
        ask_answer(
            student,
            "No answer is likely here: all sums are far below -1,000,000, and the largest counts"
            " all the same.",
            (low, [1], answers, [1, 1]),
        )
    first = "Answers may begin alike."
    for _ in range(4):
        reader, prompt, (answer, other), _ = question(rng, 3, [3, 3], [5, 5])
        case = reader, prompt, [other[:1] + answer[1:], other[:2] + answer[2:], other], [5, 5, 5]
        if (
            len(set(map(tuple, case[2]))) == 3
            and sorted(quotients(*case))[-1] - sorted(quotients(*case))[-2] > 0.02
        ):
            ask_answer(student, first, case)
