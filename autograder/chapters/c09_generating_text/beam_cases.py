"""Tables for the checks of beam search on which the wrong ways of a kind return other tokens, and
nothing hangs on a near tie.

Such tables are rare, so the seeds that give one are kept in SEEDS; `python -m
autograder.chapters.c09_generating_text.beam_cases` finds them again. A check renames the tokens and
moves each row by a number, which changes no answer but its names.
"""

from random import Random
from typing import NamedTuple

import torch

from autograder.chapters.c09_generating_text.beams import searched
from autograder.checks.inputs.draws import counts
from autograder.checks.inputs.fakes import TableModel

NEVER, CLEAR = 999, 4e-3


class Kind(NamedTuple):
    """Sizes of a search, what is added to the end token's logits (None: no end token), the wrong
    ways that must show, and those that must not.
    """

    entries: int
    width: int
    max_tokens: int
    lift: float | None
    penalty: float
    unlike: tuple[dict, ...]
    like: tuple[dict, ...] = ()


ONE, EACH, COPIES = {"width": 1}, {"best_of_each": True}, {"copies": 5}
PLAIN, NO_LENGTH = {"divide": False}, {"counted": lambda ids: 1}
ENDED, PLACES, REPLACED, GO_ON = (
    {"unfinished": False},
    {"ended": "keep their room"},
    {"ended": "replaced"},
    {"ended": "continue"},
)
OTHERS, FIRST = (ENDED, PLACES, REPLACED), {"first_end": True}
EARLIEST, LARGEST, TOGETHER = (
    {"compared": "first"},
    {"compared": "largest"},
    {"compared": "together"},
)
KINDS = {
    "beams of 2": Kind(4, 2, 4, None, 0.0, (ONE, EACH, COPIES)),
    "beams of 3": Kind(5, 3, 5, None, 0.0, (ONE, EACH, COPIES)),
    "beams of 5": Kind(6, 5, 4, None, 0.0, (ONE, EACH, {"width": 2})),
    "one too many": Kind(5, 2, 4, None, 0.0, ({"width": 3},)),
    "continue": Kind(5, 2, 4, 1.0, 0.0, (GO_ON,), OTHERS),
    "lost": Kind(5, 3, 4, 1.0, 0.0, ({"ended": "lost"},), OTHERS),
    "first": Kind(4, 2, 5, 0.0, 0.0, (FIRST,), OTHERS),
    "places": Kind(5, 3, 5, 1.0, 1.0, (PLACES,), (ENDED,)),
    "replaced": Kind(5, 2, 5, 1.0, 1.0, (REPLACED,), (ENDED,)),
    "half": Kind(5, 3, 5, 1.0, 0.5, (PLAIN, NO_LENGTH, FIRST), OTHERS),
    "whole": Kind(5, 3, 5, 1.0, 1.0, (PLAIN, NO_LENGTH, FIRST), OTHERS),
    "double": Kind(5, 3, 4, 1.0, 2.0, (PLAIN, NO_LENGTH, FIRST), OTHERS),
    "unfinished": Kind(5, 3, 3, 1.0, 0.0, (ENDED, FIRST, ONE), (GO_ON, PLACES, REPLACED, EARLIEST)),
    "unfinished mean": Kind(
        4, 2, 3, 1.0, 1.0, (ENDED, FIRST), (GO_ON, PLACES, REPLACED, LARGEST, TOGETHER, EARLIEST)
    ),
    "many ended": Kind(5, 2, 6, 1.0, 1.0, (LARGEST, TOGETHER, EARLIEST), OTHERS),
    "late": Kind(5, 2, 6, 1.0, 0.0, (EARLIEST,), OTHERS),
    "enough": Kind(5, 2, 5, 1.0, 0.0, ({"enough": True},), OTHERS),
    "patient": Kind(5, 3, 5, 1.0, 1.0, ({"early": True},), OTHERS),
    "greedy": Kind(6, 1, 5, None, 0.0, ()),
    "wide": Kind(3, 20, 2, 0.0, 0.0, (), (ENDED,)),
    "all": Kind(2, 20, 5, None, 0.0, ()),
    "single": Kind(5, 3, 1, 0.0, 0.0, (), (ENDED,)),
    "largest": Kind(3, 20, 30, -1.0, 0.0, (), (ENDED,)),
}
SEEDS: dict[str, list[int]] = {
    "beams of 2": [0, 4, 8, 9, 10, 40, 42, 50, 55, 62, 70, 73],
    "beams of 3": [8, 9, 15, 16, 23, 26, 31, 36, 42, 47, 50, 58],
    "beams of 5": [1, 38, 47, 62, 63, 92, 98, 102, 107, 133, 154, 216],
    "one too many": [6, 20, 57, 66, 85, 94, 97, 107, 115, 127, 140, 170],
    "continue": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    "lost": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12],
    "first": [6, 8, 29, 34, 36, 68, 77, 92, 117, 123, 151, 154],
    "places": [7, 44, 89, 271, 306, 408, 566, 570, 627, 683, 721, 745],
    "replaced": [22, 55, 95, 248, 268, 311, 321, 344, 353, 375, 384, 391],
    "half": [6, 27, 61, 81, 87, 112, 129, 136, 144, 181, 214, 234],
    "whole": [5, 8, 10, 11, 64, 70, 85, 116, 133, 134, 151, 157],
    "double": [1, 13, 19, 23, 30, 34, 41, 42, 53, 61, 65, 78],
    "unfinished": [83, 114, 175, 192, 263, 268, 331, 366, 555, 643, 693, 761],
    "unfinished mean": [2, 7, 8, 12, 20, 21, 22, 26, 27, 40, 50, 54],
    "many ended": [356, 364, 377, 453, 470, 596, 680, 947, 1614, 1786, 1935, 1992],
    "late": [210, 227, 414, 616, 1117, 1279, 1964, 2243, 2698, 4334, 4349, 4948],
    "enough": [208, 419, 492, 1345, 1863, 2908, 3169, 4388, 5037, 5695, 7020, 7675],
    "patient": [82, 154, 178, 193, 200, 255, 344, 345, 347, 358, 364, 424],
    "greedy": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    "wide": [2, 5, 7, 8, 9, 10, 11, 15, 17, 18, 19, 20],
    "all": [0, 1, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14],
    "single": [0, 2, 5, 7, 8, 10, 13, 14, 15, 17, 18, 20],
    "largest": [25, 34, 39],
}
STEADY = [3, 28, 60, 62, 90, 91]


def table(kind: Kind, name: str, seed: int) -> tuple:
    """The arguments of a search: model, prompt, width, max_tokens, end_id, penalty.

    Python's `random` gives the same for ever.
    """
    chance, V = Random(f"{name} {seed}"), kind.entries
    rows = torch.tensor([[round(6 * chance.random() - 3, 3) for _ in range(V)] for _ in range(V)])
    endings = {
        (int(V * chance.random()), int(V * chance.random())): torch.tensor(
            [round(6 * chance.random() - 3, 3) for _ in range(V)]
        )
        for _ in range(2)
    }
    end = NEVER if kind.lift is None else int(V * chance.random())
    if kind.lift is not None:
        rows[:, end] += kind.lift
    return (
        TableModel(rows, endings),
        [int(V * chance.random()) for _ in range(1 + seed % 3)],
        kind.width,
        kind.max_tokens,
        end,
        kind.penalty,
    )


def fits(kind: Kind, arguments: tuple) -> bool:
    """Whether no choice is a near tie, every wrong way that must show returns other tokens, and
    every one that must not the same.
    """
    right = searched(*arguments)
    model, prompt, width, *more = arguments

    def same(wrong: dict) -> bool:
        return (
            searched(
                model,
                prompt,
                wrong.get("width", width),
                *more,
                **{key: one for key, one in wrong.items() if key != "width"},
            ).ids
            == right.ids
        )

    return right.margin > CLEAR and not any(map(same, kind.unlike)) and all(map(same, kind.like))


def drawn(rng: torch.Generator, name: str) -> tuple:
    """One of the tables of a kind, with its tokens renamed."""
    kind = KINDS[name]
    model, prompt, width, max_tokens, end, penalty = table(
        kind, name, SEEDS[name][int(counts(rng, 0, len(SEEDS[name]) - 1))]
    )
    old = torch.randperm(kind.entries, generator=rng)  # by the new name the old one
    new = old.argsort().tolist()
    moved = counts(rng, -8, 8, kind.entries, 1) / 4
    endings = {
        tuple(new[token] for token in ending): row[old] for ending, row in model.endings.items()
    }
    return (
        TableModel(model.rows[old][:, old] + moved, endings),
        [new[token] for token in prompt],
        width,
        max_tokens,
        end if end == NEVER else new[end],
        penalty,
    )


def steady(number: int) -> TableModel:
    """A table of five tokens that may be searched after [0, 2] with any of the sizes of
    `sizes()`.
    """
    return table(Kind(5, 1, 1, None, 0.0, ()), "steady", STEADY[number % len(STEADY)])[0]


def sizes() -> list[tuple[int, int, int, float]]:
    """Width, max_tokens, end_id, penalty."""
    return (
        [(width, new, NEVER, 0.0) for width in (1, 2, 3, 5) for new in (2, 4)]
        + [(3, 4, end, 0.0) for end in range(5)]
        + [(3, 5, 1, penalty) for penalty in (0.0, 1.0, 1.5)]
    )


def find() -> None:
    """Print the two tables of seeds."""
    for name, kind in KINDS.items():
        good = (seed for seed in range(100_000) if fits(kind, table(kind, name, seed)))
        print(
            f'    "{name}": {[next(good) for _ in range(3 if name == "largest" else 12)]},',
            flush=True,
        )
    kind = Kind(5, 1, 1, None, 0.0, (), OTHERS)
    good = (
        seed
        for seed in range(100_000)
        if all(
            fits(kind, (table(kind, "steady", seed)[0], prompt, *more))
            for prompt in ([0, 2], [1, 2])
            for more in sizes()
        )
    )
    print("STEADY =", [next(good) for _ in range(6)])


if __name__ == "__main__":
    torch.set_num_threads(1)
    find()
