"""Checks of chapter 3, part 1: counts of pairs, Kneser-Ney, and the three numbers that judge a
language model.
"""

import math

import torch

from autograder.chapters.c03_context_before_attention import MOST
from autograder.chapters.c03_context_before_attention.withholding import MODELS
from autograder.checks.inputs.draws import counts, distinct, look_alike, uniform, whole
from autograder.checks.protocol import exercise, expect

PAGE = "03-context-before-attention/ngrams"

bigram_counts = exercise(
    "03.bigram_counts",
    function="bigram_counts",
    points=5,
    see=f"{PAGE}#by-hand",
    withhold=MODELS,
)


INNER = slice(0, -1)  # all rows but that of the start


def by_sorting(texts: list[list[int]], size: int) -> torch.Tensor:
    """The right table, by counting the numbers of the cells in place of the cells."""
    cells = [before * size + after for text in texts for before, after in zip([size, *text], text)]
    return (
        torch.bincount(torch.tensor(cells, dtype=torch.int64), minlength=(size + 1) * size)
        .reshape(size + 1, size)
        .float()
    )


def ask_counts(
    student,
    texts: list[list[int]],
    size: int,
    cause: str,
    rows: slice = slice(None),
    given: str = "",
) -> None:
    """Compare some rows of the table."""
    given = given or f"the texts {texts}, {size} tokens"
    table = expect(student.bigram_counts(texts, size), given=given).is_tensor(
        shape=(size + 1, size), dtype=torch.float32
    )
    expect(table[rows], given=given).close(
        by_sorting(texts, size)[rows], rtol=1e-4, cause=cause
    )  # a cell of 0 is 0


def words(rng: torch.Generator, length: int, size: int) -> list[int]:
    """A text whose tokens may come again."""
    return counts(rng, 0, size - 1, length).tolist()


@bigram_counts.stage("starts of texts", points=1)
def test_the_last_row_counts_how_texts_begin(student, rng):
    rule = "The last row, number vocab_size, counts the first token of each text."
    for texts, size in (
        ([[1]], 2),
        ([[0]], 1),
        ([[2], [0], [2]], 4),
        ([[3, 1, 2], [3, 0, 1], [1, 0, 2, 4]], 6),
    ):
        ask_counts(student, texts, size, rule, slice(-1, None))
    size = whole(rng, 5, 9)
    ask_counts(student, [distinct(rng, 3, size) for _ in range(5)], size, rule, slice(-1, None))


@bigram_counts.stage("bigram counts", points=1.5)
def test_the_row_is_the_token_before_and_the_column_the_one_after(student, rng):
    rule = (
        "The row is the context and the column the next token: each position of a text adds 1 to"
        " one cell."
    )
    ask_counts(student, [[0, 1, 2]], 3, rule, INNER)
    ask_counts(
        student,
        [[2, 0]],
        4,
        f"{rule} The table has a row and a column for every token, also for those that never come.",
        INNER,
    )
    for size in (whole(rng, 6, 7), whole(rng, 8, 9)):
        ask_counts(student, [distinct(rng, whole(rng, 4, 6), size)], size, rule, INNER)
    for text, size in (
        ([0, 1], 2),
        ([0, 1, 2, 3, 0], 4),
        ([0, 2, 1, 3, 0], 4),
        ([0, 2, 1, 3, 0], 5),
    ):
        ask_counts(student, [text], size, f"{rule} Each call counts its own texts.", INNER)


@bigram_counts.stage("repeated bigrams", points=1.5, after="bigram counts")
def test_what_comes_again_counts_again(student, rng):
    rule = "A pair that comes again adds 1 again."
    ask_counts(student, [[0, 1, 0, 1, 0, 1]], 2, rule, INNER)
    ask_counts(student, [[2, 2, 2, 0]], 3, f"{rule} A token may follow itself.", INNER)
    ask_counts(student, [[0, 0, 0]], 1, f"{rule} With one token there are two rows.", INNER)
    size = whole(rng, 3, 5)
    for length in (whole(rng, 25, 40), 9):
        ask_counts(student, [words(rng, length, size)], size, rule, INNER)
    ask_counts(
        student,
        [[1] * 3000],
        2,
        f"{rule} A cell may grow to thousands.",
        INNER,
        given="one token, 3,000 times",
    )
    ask_counts(student, [[7, 7] + words(rng, 100, 90)], 90, rule, INNER, given="102 of 90 tokens")
    ask_counts(
        student,
        [[0, 100, 1, MOST - 1, 0, 256]],
        MOST,
        f"{rule} There may be some hundred tokens.",
        INNER,
    )
    ask_counts(
        student,
        [words(rng, 3000, MOST)],
        MOST,
        f"{rule} Go through the text once: there are 90,000 cells.",
        INNER,
        given="3,000 of 300 tokens",
    )
    for text in ([0, 1], [1, 0]):
        ask_counts(student, [text], 2, f"{rule} Each call counts its own texts.", INNER)


@bigram_counts.stage("text boundaries", points=1)
def test_texts_are_strangers_to_each_other(student, rng):
    ask_counts(
        student,
        [[0, 1], [2, 3]],
        4,
        "The last token of a text is not before the first of the next.",
    )
    ask_counts(
        student,
        [[2, 0, 1], [1], [], [0, 2], []],
        3,
        "A text without tokens adds nothing, and does not end the counting.",
    )
    ask_counts(
        student, [[4], [2], [4]], 5, "A text of one token adds to the last row, and to no other."
    )
    ask_counts(student, [[1, 2], [1, 2], [1, 2]], 4, "A text that comes again counts again.")
    for texts, given in (
        ([], "no text at all"),
        ([[]], "one text without tokens"),
        ([[], []], "two texts without tokens"),
    ):
        ask_counts(student, texts, 3, "Without any token the table is all zeros.", given=given)
    ask_counts(student, [], 1, "Without any token the table is all zeros.")
    for texts in ([[0, 1], [2, 3]], [[0, 1, 2], [3]], [[0], [1, 2, 3]], [[0, 1, 2, 3]]):
        ask_counts(
            student,
            texts,
            4,
            "Where one text ends and the next begins makes another table of the same tokens.",
        )
    ask_counts(
        student,
        [[1] * 3000] * 10,
        2,
        "A cell may grow to tens of thousands, when many texts are counted.",
        given="one token, ten texts of 3,000",
    )
    size = whole(rng, 4, 6)
    ask_counts(
        student,
        [words(rng, number % 4, size) for number in range(MOST)],
        size,
        "There may be some hundred texts.",
        given="300 texts",
    )
    ask_counts(
        student,
        [words(rng, whole(rng, 1, 7), size) for _ in range(6)],
        size,
        "The table of several texts is the sum of the tables of each alone.",
    )


kneser_ney = exercise(
    "03.kneser_ney",
    function="kneser_ney",
    points=7,
    see=f"{PAGE}#kneser-ney-smoothing",
    withhold=MODELS,
)
SHARES = {"rtol": 1e-4, "atol": 1e-9}


def smoothed(table: torch.Tensor, discount: float) -> torch.Tensor:
    """The right probabilities, in float64, cell by cell."""
    rows, size = table.shape
    shorter = [1 / size] * size
    for row in ([int((table[:, column] > 0).sum()) for column in range(size)], None):
        levels = [row] if row else table.double().tolist()
        found = []
        for level in levels:
            total, kinds = sum(level), sum(number > 0 for number in level)
            found.append(
                [
                    max(number - discount, 0) / total + discount * kinds / total * share
                    for number, share in zip(level, shorter)
                ]
                if total
                else shorter
            )
        shorter = found[0] if row else shorter
    return torch.tensor(found, dtype=torch.float64)


def wheel(rng: torch.Generator, size: int, seen: int) -> torch.Tensor:
    """A table (size + 1, size) in which every token continues alike, by whatever count: each column
    has the same numbers.

    Each row but the last has `seen` numbers above 0, the 1 among them, each time one place further
    on; the last row has all tokens alike.
    """
    spokes = torch.cat([torch.ones(1), counts(rng, 2, 9, seen - 1), torch.zeros(size - seen)])
    turns = torch.randperm(size, generator=rng).tolist()
    return torch.stack([*(spokes.roll(turn) for turn in turns), torch.full((size,), 3.0)])


def ask_shares(student, table: torch.Tensor, discount: float) -> torch.Tensor:
    """The student's probabilities, after their type and shape were asked for."""
    return expect(student.kneser_ney(table, discount), given=_given(table, discount)).is_tensor(
        shape=tuple(table.shape), dtype=torch.float32
    )


def _given(table: torch.Tensor, discount: float) -> str:
    shown = table.int().tolist() if table.numel() <= 24 else "many counts"
    return (
        f"{table.shape[0]} contexts, {table.shape[1]} tokens, discount {discount:.3g}, counts"
        f" {shown}"
    )


def compare_shares(student, table: torch.Tensor, discount: float, cause: str) -> None:
    """Compare all probabilities."""
    expect(ask_shares(student, table, discount), given=_given(table, discount)).close(
        smoothed(table, discount).float(), **SHARES, cause=cause
    )


@kneser_ney.stage("discounted counts", points=1.5)
def test_every_count_that_is_seen_gives_up_the_discount(student, rng):
    for size, seen, discount in (
        (4, 2, 0.5),
        (5, 3, 0.75),
        (whole(rng, 6, 8), whole(rng, 2, 4), float(uniform(rng, 0.2, 0.4))),
        (4, 3, 1.0),
        (6, 1, 0.9),
        (120, 60, 0.5),
    ):
        table = wheel(rng, size, seen)
        ask_shares(
            student, table, discount / 2
        )  # the same counts have other shares with another discount
        shares, right = ask_shares(student, table, discount), smoothed(table, discount).float()
        gap, wanted = (
            one - one.amin(1, keepdim=True) for one in (shares, right)
        )  # 0 in the last row, which has all tokens
        expect(
            gap[table > 0],
            "How much more than an unseen token a seen one has",
            _given(table, discount),
        ).close(
            wanted[table > 0],
            rtol=1e-4,
            atol=1e-6,
            cause=(
                "The discounted term is max(count - discount, 0) / (sum of the row): subtract the"
                " discount once from every positive count."
            ),
        )


@kneser_ney.stage("freed probability mass", points=1.5)
def test_what_was_saved_goes_to_the_tokens_that_were_not_seen(student, rng):
    rule = (
        "The probability mass that a row frees is the discount times its number of different"
        " tokens, divided by the row's sum."
    )
    for size, seen, discount in (
        (4, 2, 0.5),
        (5, 4, 0.75),
        (whole(rng, 6, 8), whole(rng, 2, 4), float(uniform(rng, 0.2, 0.4))),
        (4, 3, 1.0),
    ):
        table = wheel(rng, size, seen)
        shares = ask_shares(student, table, discount)
        expect(
            shares[table == 0],
            "The probability of tokens not seen after a context",
            _given(table, discount),
        ).close(smoothed(table, discount).float()[table == 0], **SHARES, cause=rule)
        expect(shares.sum(1), "The sum of each row", _given(table, discount)).close(
            torch.ones(size + 1),
            atol=1e-4,
            cause="The probabilities after a context should sum to 1.",
        )


@kneser_ney.stage("continuation counts", points=2)
def test_a_token_continues_by_the_number_of_its_contexts(student, rng):
    rule = (
        "The continuation probability counts the different contexts of a token, not its"
        " occurrences."
    )
    francisco = torch.tensor([[9.0, 1, 0, 0], [0, 0, 3, 0], [0, 1, 0, 2], [0, 1, 0, 0]])
    compare_shares(student, francisco, 0.5, rule)
    for rows, size in ((4, 3), (whole(rng, 5, 7), 4), (6, 6)):
        table = torch.where(
            counts(rng, 0, 2, rows, size) > 0, counts(rng, 1, 60, rows, size), 0
        ).float()
        table[:, 0] = 0.0
        table[-1] = 0.0
        table[-1, 0] = 40.0  # the first token: often, and after one context only
        table[0, 1:] = torch.arange(
            1.0, size
        )  # every token is seen somewhere, so that none takes a share of its own
        table[:-1, 1] += 2  # and no row is empty
        discount = float(uniform(rng, 0.3, 0.9))
        compare_shares(student, table, discount, f"{rule} All rows count, the last one too.")
        turned = table.clone()  # the same sum, sums of rows, first and last number; other contexts
        turned[1, 1:] = table[1, 1:].roll(1)
        for other in (turned, look_alike(table)):
            compare_shares(
                student,
                other,
                discount,
                f"{rule} The same counts in other cells are other contexts.",
            )


@kneser_ney.stage("uniform distribution", points=1)
def test_a_token_that_was_never_seen_gets_its_share_of_the_uniform(student, rng):
    rule = (
        "Step 1 frees mass as well: discount times the number of tokens seen, divided by the sum"
        " of n. All V tokens share it equally."
    )
    compare_shares(student, torch.tensor([[0.0, 3, 1, 0], [2, 0, 2, 0]]), 0.5, rule)
    compare_shares(student, torch.tensor([[0.0, 0, 7]]), 0.4, rule)
    compare_shares(
        student,
        torch.tensor([[1.0, 0], [1, 0]]),
        1.0,
        f"{rule} With the discount 1 nothing is left of counts of 1, which were seen all the same.",
    )
    for size in (whole(rng, 4, 6), whole(rng, 7, 9)):
        table = torch.where(counts(rng, 0, 2, 3, size) > 1, counts(rng, 1, 9, 3, size), 0).float()
        table[:, 2], table[:, 1] = 0.0, torch.arange(1.0, 4)
        compare_shares(student, table, float(uniform(rng, 0.2, 0.9)), rule)


@kneser_ney.stage("unseen contexts", points=1)
def test_a_context_that_was_never_seen_takes_the_tokens_by_themselves(student, rng):
    rule = "A row without any count gets p of step 1, and no NaN."
    compare_shares(student, torch.tensor([[0.0, 3, 1, 0], [2, 0, 2, 0], [0, 0, 0, 0]]), 0.5, rule)
    table = wheel(rng, whole(rng, 4, 6), 2)
    table[whole(rng, 0, 1)] = 0.0
    table[-1] = 0.0
    compare_shares(student, table, 0.7, rule)
    for rows, size in ((2, 3), (1, 4), (3, 1), (1, 1)):
        compare_shares(
            student,
            torch.zeros(rows, size),
            0.5,
            "Where the whole table is 0 every row is uniform, 1 / V.",
        )
    one = "With a single token its probability is 1 after every context."
    compare_shares(student, torch.tensor([[5.0], [0.0], [1.0]]), 0.3, one)
    compare_shares(student, torch.tensor([[1.0]]), 1.0, one)
    for row in ([3.0, 0.0], [0.0, 3.0]):
        compare_shares(student, torch.tensor([row]), 0.5, "Each call has its own counts.")
    many = torch.stack([torch.ones(MOST), (torch.arange(MOST) == 0).float()], 1)
    compare_shares(student, many, 0.5, "There may be some hundred contexts.")
    for table in (many.T, many.T + 1, torch.ones(1, MOST), torch.ones(MOST, 1)):
        compare_shares(
            student,
            table.contiguous(),
            0.5,
            "There may be some hundred tokens, or some hundred contexts.",
        )
    compare_shares(
        student,
        torch.full((2, 5), 1_000_000.0).cumsum(1).clamp(max=1_000_000.0),
        0.9,
        "Counts may be a million each, ten million in all.",
    )
    compare_shares(
        student,
        torch.tensor([[1.0, 4, 0], [0, 2, 0]]),
        0.01,
        "The discount may be as small as 0.01: what it frees is small, and not nothing.",
    )
    compare_shares(
        student,
        torch.tensor([[1_000_000.0, 0.0], [0.0, 5.0]]),
        0.01,
        "Small probabilities keep their precision next to a count of a million.",
    )
    large = torch.where(counts(rng, 0, 2, 12, 40) > 1, counts(rng, 1, 20_000, 12, 40), 0).float()
    large[3], large[:, 5], large[0, 0] = 0.0, 0.0, 1_000_000.0
    compare_shares(
        student,
        large,
        0.5,
        "Small probabilities keep their precision next to a count of a million.",
    )


judge = exercise(
    "03.judge",
    function="judge",
    points=4,
    see=f"{PAGE}#perplexity-and-bits-per-byte",
    withhold=MODELS,
)
KEYS = ("nats_per_token", "perplexity", "bits_per_byte")


def batch(
    rng: torch.Generator, lengths: list[int], columns: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logarithms of probabilities and a mask, with texts of these lengths; the filling is
    harmless.
    """
    mask = torch.arange(columns) < torch.tensor(lengths)[:, None]
    return torch.where(mask, uniform(rng, 0.02, 0.9, len(lengths), columns).log(), -1.0), mask


def ask_judge(
    student, key: str, log_probs: torch.Tensor, mask: torch.Tensor, num_bytes: int, cause: str
) -> None:
    """Compare one of the three numbers."""
    nats = -log_probs.double()[mask].sum().item()
    mean = nats / int(mask.sum())
    right = {
        "nats_per_token": mean,
        "perplexity": math.exp(mean),
        "bits_per_byte": nats / math.log(2) / num_bytes,
    }[key]
    given = f"{len(mask)} texts with {mask.sum(1).tolist()} tokens, {num_bytes} bytes"
    came = student.judge(log_probs, mask, num_bytes)
    asked = expect(came, given=given).only_keys(KEYS)
    for name in KEYS:
        asked.has(name)
    asked.has(key).close(right, rtol=1e-4, cause=cause)


@judge.stage("mean loss", points=1)
def test_the_loss_is_the_mean_over_the_tokens(student, rng):
    rule = (
        "nats_per_token is the sum of -log_probs over all tokens, divided by their number: the"
        " logarithms are natural already."
    )
    for rows, columns in (
        (1, 1),
        (1, MOST),
        (MOST, 1),
        (MOST, 110),
        (1, whole(rng, 3, 9)),
        (whole(rng, 3, 5), 1),
        (whole(rng, 2, 4), whole(rng, 5, 8)),
        (4, 4),
    ):
        log_probs, mask = batch(rng, [columns] * rows, columns)
        ask_judge(student, "nats_per_token", log_probs, mask, whole(rng, 20, 90), rule)
    for row in ([-2.0, 0.0], [0.0, 0.0, -3.0]):
        ask_judge(
            student,
            "nats_per_token",
            torch.tensor([row]),
            torch.ones(1, len(row), dtype=torch.bool),
            7,
            f"{rule} A token with the probability 1 is a token too.",
        )
    for small in (-1e-4, -1e-6, -1.2e-7):
        ask_judge(
            student,
            "nats_per_token",
            torch.tensor([[small, 2 * small]]),
            torch.ones(1, 2, dtype=torch.bool),
            7,
            f"{rule} A loss may be close to 0: stay with the logarithms, which have their digits"
            " there.",
        )
    for row in ([-150.0, -1.0], [-1100.0] + [-1.0] * 30, [-20_000.0] + [-1.0] * (MOST - 1)):
        ask_judge(
            student,
            "nats_per_token",
            torch.tensor([row]),
            torch.ones(1, len(row), dtype=torch.bool),
            7,
            "The loss of one token may be hundreds of nats: stay with logarithms, and do not"
            " clamp them.",
        )
    ask_judge(
        student,
        "nats_per_token",
        torch.tensor([[-1.0, -torch.inf]]),
        torch.ones(1, 2, dtype=torch.bool),
        9,
        "A token with the probability 0 makes the loss infinite.",
    )


@judge.stage("perplexity formula", points=1)
def test_the_perplexity_is_taken_of_the_mean(student, rng):
    rule = "The perplexity is e to the mean of all tokens: one mean, then one exp."
    for rows, columns in ((1, 1), (1, 6), (whole(rng, 3, 5), whole(rng, 5, 8)), (3, 3)):
        log_probs, mask = batch(rng, [columns] * rows, columns)
        ask_judge(student, "perplexity", log_probs, mask, whole(rng, 20, 90), rule)
    small = torch.tensor([[-750.0] + [-1.0] * 9])
    ask_judge(
        student,
        "perplexity",
        small,
        torch.ones(1, 10, dtype=torch.bool),
        9,
        f"{rule} A single probability may be too small for any float.",
    )
    ask_judge(
        student,
        "perplexity",
        torch.full((1, 300), -3.0),
        torch.ones(1, 300, dtype=torch.bool),
        300,
        f"{rule} The sum may be large.",
    )
    for mean in (60.0, 79.0, 80.0):
        ask_judge(
            student,
            "perplexity",
            torch.tensor([[-mean, -mean]]),
            torch.ones(1, 2, dtype=torch.bool),
            9,
            f"{rule} It may be as large as e to the 80, and the product of the probabilities too"
            " small for any float.",
        )
    ask_judge(
        student,
        "perplexity",
        torch.full((3, 90), -2.5),
        torch.ones(3, 90, dtype=torch.bool),
        500,
        f"{rule} The product of hundreds of probabilities is too small for a float.",
    )
    log_probs, mask = batch(rng, [3, 3], 3)
    log_probs[1, 1] = -torch.inf
    ask_judge(
        student,
        "perplexity",
        log_probs,
        mask,
        30,
        "A token with the probability 0 makes the perplexity infinite.",
    )


@judge.stage("padding excluded", points=1)
def test_every_token_counts_alike_and_the_filling_not_at_all(student, rng):
    rule = (
        "Every token counts alike, whichever text it stands in: sum over all, divide once by the"
        " number of tokens."
    )
    empty = "A text may have no token: its own mean is 0 / 0, so sum over all texts first."
    for lengths in ([1, 6], [whole(rng, 4, 6), whole(rng, 1, 2), 3], [0, 5], [2, 0, 0]):
        log_probs, mask = batch(rng, lengths, 6)
        for key in ("nats_per_token", "perplexity"):
            ask_judge(student, key, log_probs, mask, 40, rule if all(lengths) else empty)
    filled = (
        "What stands where mask is False plays no part, whatever it is: 0 times minus infinity is"
        " NaN."
    )
    for filling, key in (
        (0.0, KEYS[0]),
        (-3.0, KEYS[0]),
        (50.0, KEYS[1]),
        (torch.inf, KEYS[0]),
        (-torch.inf, KEYS[0]),
        (torch.nan, KEYS[0]),
        (torch.nan, KEYS[1]),
    ):
        log_probs, mask = batch(rng, [2, 5, 1], 5)
        log_probs = torch.where(mask, log_probs, filling)
        ask_judge(student, key, log_probs, mask, 40, filled)
        expect(student.judge(log_probs, mask, 40)).has("bits_per_byte").is_finite(cause=filled)
    log_probs, mask = batch(rng, [2, 4], 4)
    for one in (mask, torch.ones_like(mask)):
        ask_judge(
            student,
            "nats_per_token",
            log_probs,
            one,
            40,
            f"{rule} The same numbers with another mask have another mean.",
        )
    log_probs, mask = batch(rng, [4, 4], 4)
    for rows in (
        [[1, 0, 1, 0], [0, 1, 1, 0]],
        [[1, 1, 0, 0], [0, 1, 1, 0]],
        [[1, 0, 0, 1], [1, 0, 1, 0]],
    ):
        for table in (
            log_probs,
            log_probs.flip(1),
            torch.cat([log_probs[:, :2], log_probs[:, 2:] - 1], 1),
        ):
            ask_judge(
                student,
                "nats_per_token",
                table,
                torch.tensor(rows).bool(),
                7,
                "The mask tells which positions hold tokens: padding may be anywhere in a row.",
            )
    log_probs, mask = batch(rng, [2, 6, 6], 6)
    turned = mask.flip(1)
    ask_judge(
        student,
        "nats_per_token",
        torch.where(turned, log_probs.flip(1), -9.0),
        turned,
        40,
        "Padding may come first: mask tells where.",
    )


@judge.stage("bits per byte", points=1)
def test_bits_per_byte_are_bits_and_over_all_bytes(student, rng):
    rule = (
        "bits_per_byte is the sum of -log_probs over all tokens, divided by ln 2 and by num_bytes."
    )
    for lengths, num_bytes in (
        ([4], 4),
        ([1], 1),
        ([6, 2, 5], whole(rng, 30, 60)),
        ([3, 3], 1_000_000),
        ([0, 4], 17),
        ([2, 3], 10**12),
    ):
        log_probs, mask = batch(rng, lengths, max(lengths))
        ask_judge(student, "bits_per_byte", log_probs, mask, num_bytes, rule)
    for num_bytes in (9, 18, 1):
        ask_judge(
            student,
            "bits_per_byte",
            torch.full((1, 3), -2.0),
            torch.ones(1, 3, dtype=torch.bool),
            num_bytes,
            rule,
        )
    log_probs, mask = batch(rng, [3, 2], 4)
    ask_judge(
        student,
        "bits_per_byte",
        torch.where(mask, -torch.inf, 0.0),
        mask,
        9,
        "A token with the probability 0 makes the bits infinite.",
    )
    one = torch.tensor([[-1.0, -torch.inf], [-2.0, -0.5]])
    ask_judge(
        student,
        "bits_per_byte",
        one,
        torch.ones(2, 2, dtype=torch.bool),
        9,
        "A token with the probability 0 makes the bits infinite.",
    )
    ask_judge(
        student,
        "bits_per_byte",
        torch.zeros(2, 3),
        torch.ones(2, 3, dtype=torch.bool),
        9,
        "A model that was sure and right needs 0 bits.",
    )
