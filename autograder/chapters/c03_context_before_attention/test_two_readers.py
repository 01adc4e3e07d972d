"""Checks of chapter 3, part 3: a word's vector from its letters, the mix of layers, the targets of
two readers.
"""

import torch

from autograder.chapters.c03_context_before_attention import MOST
from autograder.chapters.c03_context_before_attention.withholding import MODELS
from autograder.checks.inputs.draws import (
    counts,
    distinct,
    look_alike,
    look_alikes,
    normal,
    one_changed,
    uniform,
    whole,
)
from autograder.checks.protocol import exercise, expect

PAGE = "03-context-before-attention/elmo"
CLOSE = {"rtol": 1e-4, "atol": 2e-6}

letter_patterns = exercise(
    "03.letter_patterns",
    function="letter_patterns",
    points=5,
    see=f"{PAGE}#character-input",
    withhold=MODELS,
)


def scores_of(letters: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """The right scores (F, places), by one product of all windows."""
    windows = letters.double().unfold(0, filters.shape[1], 1)  # (places, D, K)
    return torch.einsum("pdk,fkd->fp", windows, filters.double())


def ask_patterns(student, letters, filters, bias, cause: str) -> None:
    """Compare the answers of all filters."""
    right = (scores_of(letters, filters).amax(1) + bias.double()).clamp(min=0).float()
    given = "W = {}, D = {}, F = {}, K = {}".format(*letters.shape, *filters.shape[:2])
    expect(student.letter_patterns(letters, filters, bias), given=given).close(
        right, **CLOSE, cause=cause
    )


def positive(rng: torch.Generator, letters: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """Biases that bring every answer well above 0, of either sign."""
    return (
        uniform(rng, 0.5, 2.0, len(filters)) - scores_of(letters, filters).amax(1).float()
    ).float()


def above(letters: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """The filters, turned round where their largest score is not above 0."""
    sign = torch.where(scores_of(letters, filters).amax(1) > 0, 1.0, -1.0).float()
    return filters * sign[:, None, None]


@letter_patterns.stage("single position", points=1)
def test_a_filter_as_long_as_the_word_has_one_score(student, rng):
    for width, dim, number in (
        (1, 1, 1),
        (2, 1, 2),
        (3, 3, 3),
        (whole(rng, 3, 5), 2, whole(rng, 3, 5)),
        (2, 4, 1),
        (MOST, 2, 2),
        (2, MOST, 2),
        (2, 2, MOST),
    ):
        letters = normal(rng, width, dim)
        filters = above(letters, normal(rng, number, width, dim))
        ask_patterns(
            student,
            letters,
            filters,
            torch.zeros(number),
            "At its only position, a filter's score is the sum of the elementwise products: row 1"
            " of the filter meets character 1.",
        )
    ask_patterns(
        student,
        torch.ones(2, 1),
        torch.tensor([[[3.0], [-1.0]], [[-1.0], [3.0]]]),
        torch.zeros(2),
        "A filter is applied only where all of it fits: the word is not padded.",
    )


@letter_patterns.stage("maximum over positions", points=1.5)
def test_the_largest_of_all_places_counts(student, rng):
    rule = (
        "The result uses the largest score of all W - K + 1 positions, the first"
        " and the last among them."
    )
    for length, width, dim, number in (
        (4, 2, 1, 3),
        (whole(rng, 6, 9), 3, whole(rng, 2, 3), 4),
        (5, 1, 2, 3),
        (9, 4, 3, 2),
        (3, 2, 2, 2),
        (30, 2, 4, 5),
        (MOST, 2, 2, 2),
        (MOST, 150, 1, 2),
        (6, 2, 5, 5),
        (6, 4, 3, 3),
    ):
        letters, filters = normal(rng, length, dim), normal(rng, number, width, dim)
        ask_patterns(student, letters, above(letters, filters), torch.zeros(number), rule)
    for place in (0, 3, whole(rng, 1, 2)):  # places 0 to 3
        letters, pattern = uniform(rng, -0.2, 0.2, 5, 2), uniform(rng, 1, 2, 2, 2)
        letters[place : place + 2] += pattern
        ask_patterns(student, letters, pattern[None], torch.zeros(1), rule)
    ask_patterns(
        student,
        torch.ones(3, 1),
        torch.tensor([[[3.0], [-1.0]], [[-1.0], [3.0]]]),
        torch.zeros(2),
        rule,
    )
    for parts in look_alikes(
        (uniform(rng, 0, 2, 6, 2), uniform(rng, 0, 2, 3, 2, 2), torch.zeros(3))
    )[:3]:
        ask_patterns(
            student,
            *parts,
            f"{rule} The same numbers in another order are another word, or another filter.",
        )
    twice = torch.tensor([[1.0], [0.0], [1.0], [0.0]])
    ask_patterns(
        student,
        twice,
        torch.tensor([[[3.0], [1.0]]]),
        torch.zeros(1),
        "The same largest score at two positions counts once.",
    )


@letter_patterns.stage("bias after maximum", points=1)
def test_the_bias_is_added_before_the_cut_at_zero(student, rng):
    rule = (
        "Each filter's own bias is added once, to its largest score, and the ReLU comes after it."
    )
    for length, width, dim, number in (
        (3, 3, 2, 1),
        (6, 2, 2, 4),
        (whole(rng, 5, 8), 2, 3, whole(rng, 3, 5)),
        (1, 1, 1, 2),
        (5, 3, 2, 3),
        (4, 1, 2, 4),
        (3, 2, 2, MOST),
    ):
        letters, filters = normal(rng, length, dim), normal(rng, number, width, dim)
        ask_patterns(student, letters, filters, positive(rng, letters, filters), rule)
    ask_patterns(
        student,
        torch.tensor([[1.0], [1.0]]),
        torch.tensor([[[-2.0]], [[2.0]]]),
        torch.tensor([3.0, -1.5]),
        rule,
    )
    drawn = [(normal(rng, 4, 2), normal(rng, 2, 2, 2), uniform(rng, 40, 60, 2)) for _ in range(2)]
    many = normal(rng, 5, 2), normal(rng, 4, 2, 2), uniform(rng, 40, 60, 4)
    for parts in [*one_changed(*drawn), *look_alikes(many)[::3]]:
        ask_patterns(student, *parts, rule)
    uneven = torch.tensor([[1e6], [1.0], [2.0], [1.5], [2.5], [1e5]])
    ask_patterns(
        student,
        uneven,
        torch.tensor([[[-1.0]], [[-3.0]]]),
        torch.tensor([9.0, 5.0]),
        "Each position has its own score: a large value elsewhere must not cost precision.",
    )
    letters, filters = (
        uniform(rng, 1, 2, 4, 2),
        -uniform(rng, 1, 2, 3, 2, 2),
    )  # all scores are below 0
    ask_patterns(student, letters, filters, positive(rng, letters, filters), rule)


@letter_patterns.stage("ReLU at zero", points=1.5)
def test_what_stays_below_zero_becomes_zero_and_nothing_is_added_to_the_word(student, rng):
    for length, width, number in ((4, 2, 3), (2, 2, 1), (whole(rng, 5, 8), 1, 4)):
        letters, filters = normal(rng, length, 2), normal(rng, number, width, 2)
        bias = positive(rng, letters, filters) - 3.0
        ask_patterns(student, letters, filters, bias, "A sum below 0 becomes exactly 0.")
    for length, width, number in ((4, 2, 3), (3, 3, 2), (whole(rng, 5, 8), 3, 4), (5, 4, 2)):
        letters, filters = uniform(rng, 1, 2, length, 2), -uniform(rng, 1, 2, number, width, 2)
        ask_patterns(
            student,
            letters,
            filters,
            positive(rng, letters, filters),
            "All scores are negative here: take their maximum without padding the word, and apply"
            " the ReLU after adding the bias.",
        )
    ask_patterns(
        student,
        torch.tensor([[1.0], [2.0]]),
        torch.tensor([[[-150.0]]]),
        torch.tensor([200.0]),
        "A score may be as low as it likes.",
    )
    ask_patterns(
        student,
        torch.tensor([[1e5], [2e5]]),
        torch.tensor([[[-1e5]]]),
        torch.tensor([3e10]),
        "A score may be as low as it likes.",
    )
    for _ in range(2):
        ask_patterns(
            student,
            torch.zeros(2, 2),
            normal(rng, 3, 1, 2),
            uniform(rng, 1, 2, 3),
            "Where all scores are 0 the biases are left, in a tensor of its own.",
        )
    ask_patterns(
        student,
        torch.full((2, 1), 0.01),
        torch.tensor([[[0.001]], [[-1.0]]]),
        torch.zeros(2),
        "A small answer is not 0.",
    )
    letters, filters = 300 * normal(rng, 6, 3), normal(rng, 3, 2, 3) / 50
    ask_patterns(
        student,
        letters,
        above(letters, filters),
        torch.zeros(3),
        "Embeddings may be large and filters small: nothing is squashed or normalized.",
    )


mix_layers = exercise(
    "03.mix_layers", function="mix_layers", points=4, see=f"{PAGE}#the-scalar-mix", withhold=MODELS
)


def ask_mix(student, layers, weights, gamma: float, cause: str) -> None:
    """Compare the mix."""
    exponent = (weights.double() - weights.double().max()).exp()
    right = gamma * torch.einsum("l,ltc->tc", exponent / exponent.sum(), layers.double())
    given = "L = {}, T = {}, C = {}, gamma {:.3g}".format(*layers.shape, gamma)
    expect(student.mix_layers(layers, weights, gamma), given=given).close(
        right.float(), **CLOSE, cause=cause
    )


SIZES = (
    (3, 4, 2),
    (2, 1, 1),
    (3, 3, 3),
    (1, 2, 3),
    (2, 5, 1),
    (4, 1, 6),
    (4, 4, 2),
    (4, 2, 4),
    (MOST, 2, 1),
    (2, MOST, 1),
    (2, 1, MOST),
)


@mix_layers.stage("equal weights", points=1)
def test_equal_weights_give_the_mean_of_the_layers(student, rng):
    for size in (*SIZES, (whole(rng, 2, 5), whole(rng, 2, 5), whole(rng, 2, 5))):
        for weight in (0.0, float(uniform(rng, 0.5, 2)), -1.5):
            ask_mix(
                student,
                normal(rng, *size) + 1,
                torch.full(size[:1], weight),
                1.0,
                "Equal weights, whatever they are, give the mean over the layers, at"
                " each position by itself.",
            )


@mix_layers.stage("softmax over layers", points=1.5)
def test_the_shares_are_the_softmax_of_the_weights(student, rng):
    rule = (
        "Apply a softmax to the weights, multiply each layer by its own"
        " result, and sum over the layers."
    )
    for size in (*SIZES, (whole(rng, 3, 5), whole(rng, 2, 5), whole(rng, 2, 5))):
        ask_mix(student, normal(rng, *size) + 0.5, normal(rng, size[0]), 1.0, rule)
    layers = normal(rng, 2, 130, 1)
    for _ in range(2):
        ask_mix(student, layers, normal(rng, 2), 1.0, rule)
    first = normal(rng, 4, 2, 3) + 0.5, normal(rng, 4), 1.0
    for parts in look_alikes(first):
        ask_mix(student, *parts, f"{rule} The same numbers in another order are another mix.")
    ask_mix(
        student,
        torch.tensor([[[4.0]], [[2.0]], [[0.0]]]),
        torch.tensor([0.0, 2.0, 0.0]).log1p(),
        1.0,
        rule,
    )


@mix_layers.stage("scale gamma", points=0.5)
def test_gamma_multiplies_the_whole(student, rng):
    layers, weights = normal(rng, 3, 2, 4) + 0.5, normal(rng, 3)
    for gamma in (2.0, 3.0):
        ask_mix(
            student,
            layers,
            weights,
            gamma,
            "gamma multiplies the whole mix, once, and is not in the softmax.",
        )
    ask_mix(
        student,
        normal(rng, 1, 2, 3),
        normal(rng, 1),
        3.0,
        "gamma multiplies the mix of a single layer too.",
    )
    for gamma in (2.5, -1.5, 0.0, float(uniform(rng, 0.2, 0.8)), 100.0, -1e6, 1e-4):
        ask_mix(
            student,
            normal(rng, 3, 2, 4) + 0.5,
            normal(rng, 3),
            gamma,
            "gamma multiplies the whole mix, once, and is not in the softmax."
            if gamma
            else "gamma may be 0: then the mix is all zeros.",
        )


@mix_layers.stage("large weights", points=1)
def test_large_weights_give_finite_shares(student, rng):
    rule = (
        "Weights may be several hundred: subtract the largest one before you exponentiate, and"
        " clamp nothing."
    )
    for base in (100.0, -150.0, 400.0, -400.0):
        ask_mix(student, normal(rng, 3, 2, 2) + 0.5, base + normal(rng, 3), 1.0, rule)
    ask_mix(
        student,
        torch.tensor([[[1e8]], [[0.0]]]),
        torch.tensor([-16.0, 0.0]),
        1.0,
        "A small weight on a large layer still shows in the mix.",
    )
    for weights in ([800.0, 0.0], [300.0, -300.0], [-200.0, 0.0], [0.0, 250.0]):
        ask_mix(student, normal(rng, 2, 3, 2) + 0.5, torch.tensor(weights), 1.0, rule)
    for weights in (
        [-800.0, -799.0],
        [-12.0, -12.5],
        [0.0, 0.0, -800.0],
        [300.0] * 3,
        [-14.0, 0.0],
    ):
        ask_mix(student, uniform(rng, 1, 2, len(weights), 2, 2), torch.tensor(weights), 1.0, rule)
    ask_mix(
        student,
        torch.tensor([[[1e8, 1e7]], [[0.0, 0.0]]]),
        torch.tensor([-25.0, 0.0]),
        1.0,
        "A small weight on a large layer still shows in the mix.",
    )
    ask_mix(
        student,
        1000 * uniform(rng, 1, 2, 3, 2, 2),
        normal(rng, 3),
        1.0,
        "Layers may hold large numbers: they are not normalized.",
    )


both_targets = exercise(
    "03.both_targets",
    function="both_targets",
    points=4,
    see=f"{PAGE}#the-bidirectional-language-model",
    withhold=MODELS,
)
NONE = -100


def targets(
    rows: list[list[int]], columns: int, filling: int
) -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """Ids, mask and the two right tables for these texts."""
    ids = torch.tensor([row + [filling] * (columns - len(row)) for row in rows])
    mask = torch.tensor([[True] * len(row) + [False] * (columns - len(row)) for row in rows])
    ahead = torch.tensor([[*row[1:], *[NONE] * (columns - len(row[1:]))] for row in rows])
    behind = torch.tensor(
        [
            ([NONE] + row[:-1] + [NONE] * (columns - len(row)) if row else [NONE] * columns)
            for row in rows
        ]
    )
    return ids, mask, {"ahead": ahead, "behind": behind}


def ask_targets(
    student,
    rows: list[list[int]],
    which: tuple[str, ...],
    cause: str,
    columns: int = 0,
    filling: int = 0,
) -> None:
    """Compare one or both tables."""
    ids, mask, right = targets(rows, columns or max(map(len, rows)), filling)
    asked = expect(
        student.both_targets(ids, mask), given=f"the texts {rows}, padded with {filling}"
    ).only_keys(right)
    for name in right:
        asked.has(name)
    for name in which:
        asked.has(name).equals(right[name], cause=cause)


def texts(rng: torch.Generator, *lengths: int) -> list[list[int]]:
    """Texts of different words, numbered from 1."""
    return [[1 + word for word in distinct(rng, length, 40)] for length in lengths]


@both_targets.stage("next-token targets", points=1)
def test_the_target_ahead_is_the_next_word(student, rng):
    for rows in (
        texts(rng, 3),
        texts(rng, 4, 4),
        texts(rng, *[whole(rng, 5, 7)] * 3),
        texts(rng, 2),
        texts(rng, 2, 2),
    ):
        ask_targets(
            student,
            rows,
            ("ahead",),
            "`ahead` holds, at each position, the id of the next token, and -100 at the last.",
        )


@both_targets.stage("previous-token targets", points=1)
def test_the_target_behind_is_the_word_before(student, rng):
    for rows in (
        texts(rng, 3),
        texts(rng, 4, 4),
        texts(rng, *[whole(rng, 5, 7)] * 3),
        texts(rng, 2),
        texts(rng, 2, 2),
    ):
        ask_targets(
            student,
            rows,
            ("behind",),
            "`behind` holds, at each position, the id of the previous token, and -100 at"
            " the first.",
        )


@both_targets.stage("padding ignored", points=1.5)
def test_the_filling_is_nobodys_target_and_has_none(student, rng):
    for lengths in ((4, 2), (2, 5, 3), (6, whole(rng, 2, 4))):
        for filling in (0, 7, -1, 50_000):
            ask_targets(
                student,
                texts(rng, *lengths),
                ("ahead",),
                "The last token of a text has -100 ahead: only mask tells what is padding, which is"
                " never a target.",
                filling=filling,
            )
            ask_targets(
                student,
                texts(rng, *lengths),
                ("behind",),
                "A padded position has no target: the one after a text's last token does not "
                "predict that token.",
                filling=filling,
            )
    for rows in ([[1, 2, 3]], [[1, 2, 3, 4]]):
        ask_targets(
            student,
            rows,
            ("ahead", "behind"),
            "The same ids have other targets with another mask.",
            columns=4,
            filling=4,
        )
    for rows in ([[*range(1, MOST + 1)], [7]], [[9], [*range(1, MOST + 1)]]):
        ask_targets(
            student,
            rows,
            ("ahead", "behind"),
            "Each text is shifted as a whole, however long it is.",
        )
    ask_targets(
        student,
        texts(rng, *(2 + number % 3 for number in range(MOST))),
        ("ahead", "behind"),
        "Each text is shifted by itself, however many there are.",
    )
    ids = torch.tensor([[5, 3, 8, 2], [9, 4, 7, 1], [6, 2, 3, 5]])
    for table in (ids, look_alike(ids)):
        for lengths in ([2, 3, 2], [3, 2, 2]):
            cut = [row[:length] for row, length in zip(table.tolist(), lengths)]
            mask, right = targets(cut, 4, 0)[1:]
            asked = expect(
                student.both_targets(table, mask),
                given=f"the ids {table.tolist()}, texts of {lengths} tokens",
            )
            for name in right:
                asked.has(name).equals(
                    right[name],
                    cause="The same ids in another order, or cut elsewhere, have other targets.",
                )
    zeros = [[5, 0, 0, 3], [0, 4], [0, 0, 0]]
    ask_targets(
        student,
        zeros,
        ("ahead", "behind"),
        "Id 0 is a token like any other: only mask tells what is padding.",
        filling=0,
    )
    ask_targets(
        student,
        [[3, 3, 3], [3, 3]],
        ("ahead", "behind"),
        "The same token may occur again, and may be in the padding as well.",
        filling=3,
    )
    ask_targets(
        student,
        texts(rng, 2, 3),
        ("ahead", "behind"),
        "Every text may be shorter than the table is wide.",
        columns=6,
        filling=9,
    )


@both_targets.stage("short texts", points=0.5)
def test_texts_of_one_word_or_none_have_no_target(student, rng):
    rule = "A text of one token, or of none, has -100 everywhere."
    for rows, columns in (
        ([[4]], 1),
        ([[4], [0]], 1),
        ([[4], []], 1),
        ([[], []], 3),
        ([[6], [], [2, 8]], 2),
        ([[5], []], 4),
    ):
        ask_targets(student, rows, ("ahead", "behind"), rule, columns)
    large = counts(rng, 100_000, 3_000_000, 2, 4).tolist()
    for rows in (
        [*large, [2**40, 2**40 + 1]],
        [[2**24 + 1, 2**31 + 1, 2**53 + 1, 2**62 + 1], [2**63 - 1, 2**53 + 3]],
    ):
        ask_targets(
            student,
            rows,
            ("ahead", "behind"),
            "Ids may be large: the targets are int64, and exact.",
        )
