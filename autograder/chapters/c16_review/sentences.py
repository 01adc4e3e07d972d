"""Six false sentences of chapter 16, as predicates over a student's data, and what makes data
worthless.

A predicate returns how clearly its sentence holds: below 0 it is broken by so much.
"""

import torch
from torch import Tensor

from autograder.checks.protocol import Ids, Numbers

NEAR = 0.01


def wide(value: object) -> Tensor:
    """Numbers in float64, whatever they came in."""
    return torch.as_tensor(value).double()


def off_sum(*tables: object) -> bool:
    """Whether some row of probabilities does not add up to 1."""
    return any(bool((wide(one).sum(-1) - 1).abs().max() > 1e-4) for one in tables)


def beams(first: Tensor, then: Tensor, words: int, width: int) -> tuple[float, float]:
    """The probability of what a beam finds, and by how much the nearest decision about what is kept
    was taken.
    """
    found, last, nearest = wide(first), torch.arange(len(first)), 1.0
    for word in range(1, words):
        ordered = found.sort(descending=True)
        if len(found) > width:
            nearest = min(nearest, float(ordered.values[width - 1] - ordered.values[width]))
        kept = ordered.indices[:width]
        found = (found[kept][:, None] * wide(then)[last[kept]]).flatten()
        last = torch.arange(len(then)).repeat(len(kept))
    return float(found.max()), nearest


def not_square(first: object, then: object) -> bool:
    """Whether `then` has another number of words than `first`."""
    return wide(then).shape != (len(first), len(first))


def beam_holds(first: object, then: object) -> float:
    """The beam of three finds the likeliest text of two words."""
    return beams(first, then, 2, 3)[0] - float((wide(first)[:, None] * wide(then)).max())


def wider_holds(first: object, then: object) -> float:
    """Of three words, a beam of two finds nothing less likely than the greedy text."""
    return beams(first, then, 3, 2)[0] - beams(first, then, 3, 1)[0]


def top_p_holds(p: object) -> float:
    """The five likeliest have 0.9 together."""
    return float(wide(p).sort(descending=True).values[:5].sum()) - 0.9


def nearest_pair(p: object) -> float:
    """The smallest difference of two probabilities."""
    return float(wide(p).sort().values.diff().min())


def padding_of(vectors: object, real: list) -> Tensor:
    """The rows of padding."""
    return wide(vectors)[torch.tensor(list(real)) == 0]


def pooling_holds(vectors: object, real: list) -> float:
    """The mean over all rows is the mean over the tokens."""
    rows = wide(vectors)
    return -float((rows.mean(0) - rows[torch.tensor(list(real)) == 1].mean(0)).abs().max())


def rotary_holds(x: object, places: list) -> float:
    """The nearer key scores higher, in parts of the vector's square."""
    pairs = wide(x).view(2, -1).square().sum(0)  # (D / 2,)
    speeds = 10_000.0 ** (-2 * torch.arange(len(pairs)).double() / len(x))
    near, far = (
        float((pairs * (distance * speeds).cos()).sum() / pairs.sum()) for distance in places
    )
    return near - far


def of_truth(table: object, right: list) -> Tensor:
    """What a model gave to the true tokens."""
    return wide(table)[torch.arange(len(right)), torch.tensor(list(right))]


def loss_of(table: object, right: list) -> float:
    """The mean loss in nats."""
    return float(-of_truth(table, right).log().mean())


def right_guesses(table: object, right: list) -> int:
    """How many true tokens were the likeliest."""
    return int((wide(table).argmax(1) == torch.tensor(list(right))).sum())


def loss_holds(one: object, other: object, right: list) -> float:
    """`one` guesses at least as many tokens right; in tokens."""
    return float(right_guesses(one, right) - right_guesses(other, right))


def unlike(one: object, other: object, right: list) -> bool:
    """Whether shapes and true tokens do not fit."""
    return (
        wide(one).shape != wide(other).shape
        or len(right) != len(one)
        or max(right) >= wide(one).shape[1]
    )


def top_tie(*tables: object) -> bool:
    """Whether the two likeliest tokens of a row are nearer than 0.01."""
    return any(
        bool((best[:, 0] - best[:, 1] < NEAR - 1e-7).any())
        for best in (wide(one).topk(2, 1).values for one in tables)
    )


SUM = "the probabilities do not add up to 1 in each row"
TIE = "a tie decides, or what is nearly one: what is kept and what is dropped are nearer than 0.01"
WORDS = {
    "`then` should have one row and one column for each word of `first`": not_square,
    SUM: lambda first, then: off_sum(first, then),
}
FORMS = {
    "beam": {
        "first": Numbers(((4, 6),), low=0, high=1),
        "then": Numbers(((4, 6), (4, 6)), low=0, high=1),
    },
    "wider": {
        "first": Numbers(((3, 8),), low=0, high=1),
        "then": Numbers(((3, 8), (3, 8)), low=0, high=1),
    },
    "top_p": {"p": Numbers(((6, 40),), low=0, high=1)},
    "pooling": {"vectors": Numbers(((2, 8), (1, 4)), low=-10, high=10), "real": Ids((2, 8), 0, 1)},
    "rotary": {"x": Numbers(((2, 8),), low=-10, high=10), "places": Ids((2, 2), 0, 1000)},
    "loss": {
        "one": Numbers(((1, 10), (2, 6)), low=0, high=1),
        "other": Numbers(((1, 10), (2, 6)), low=0, high=1),
        "right": Ids((1, 10), 0, 5),
    },
}
WORTHLESS = {
    "beam": WORDS | {TIE: lambda first, then: beams(first, then, 2, 3)[1] < NEAR - 1e-7},
    "wider": (
        WORDS
        | {
            TIE: lambda first, then: (
                min(beams(first, then, 3, width)[1] for width in (1, 2)) < NEAR - 1e-7
            )
        }
    ),
    "top_p": {
        SUM: lambda p: off_sum(p),
        "two probabilities are nearer than 0.001: which of them is kept would be a tie": lambda p: (
            nearest_pair(p) < 0.001 - 1e-7
        ),
    },
    "pooling": {
        "`real` should have one number for each row of `vectors`": lambda vectors, real: (
            len(real) != len(vectors)
        ),
        "there is no padding in it": lambda vectors, real: 0 not in real,
        "there is no token in it": lambda vectors, real: 1 not in real,
        "a row of padding is not all zeros, as the sentence has it": lambda vectors, real: bool(
            padding_of(vectors, real).any()
        ),
    },
    "rotary": {
        "a vector that is turned has an even number of numbers": lambda x, places: len(x) % 2 == 1,
        "the vector is all zeros, or shorter than 0.1": lambda x, places: (
            float(wide(x).norm()) < 0.1 - 1e-7
        ),
        "the second distance should be larger than the first": lambda x, places: (
            places[1] <= places[0]
        ),
    },
    "loss": {
        (
            "`one` and `other` should have the same shape, a row for each true token, and the true "
            "tokens among their columns"
        ): (unlike),
        SUM: lambda one, other, right: off_sum(one, other),
        "a true token has less than 0.001, so that the loss is infinite or nearly": (
            lambda one, other, right: bool(
                torch.cat((of_truth(one, right), of_truth(other, right))).min() < 0.001 - 1e-7
            )
        ),
        (
            "the two most probable tokens of a row are nearer than 0.01: a tie would decide what "
            "is predicted"
        ): lambda one, other, right: top_tie(one, other),
        "`one` should be the model with the smaller loss, by 0.01 at least": (
            lambda one, other, right: loss_of(other, right) - loss_of(one, right) < NEAR - 1e-7
        ),
    },
}
HOLDS = {
    "beam": beam_holds,
    "wider": wider_holds,
    "top_p": top_p_holds,
    "pooling": pooling_holds,
    "rotary": rotary_holds,
    "loss": loss_holds,
}
CLEARLY = {
    "beam": NEAR - 1e-6,
    "wider": NEAR - 1e-6,
    "top_p": NEAR - 1e-6,
    "pooling": 0.1 - 1e-6,
    "rotary": 0.1 - 1e-6,
    "loss": 0.5,
}
CAUSES = {
    "beam": (
        "A beam of three finds the most probable text here. It misses it only by dropping its"
        " first word: that word should rank fourth or later, and its continuation should make up"
        " for it."
    ),
    "wider": (
        "With a beam of two the text that is found is as probable as the greedy one here. The wider"
        " beam has to drop the greedy prefix: after two words, two other prefixes should be more"
        " probable, and their continuations poor."
    ),
    "top_p": (
        "Five tokens are enough for 0.9 here. The flatter the distribution, the more tokens top-p"
        " keeps."
    ),
    "pooling": (
        "The two means are the same here, or nearly. By how many rows does each of them divide?"
    ),
    "rotary": (
        "The nearer key scores higher here. A score is a sum of cosines of the distance: where does"
        " a cosine rise again?"
    ),
    "loss": (
        "`one` guesses as many tokens right as `other`, or more. The loss counts how sure a model"
        " is of the truth; to guess it needs to be first only."
    ),
}
