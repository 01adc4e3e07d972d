"""Implementations of masking that a student's test must tell apart (exercise 05.test_masking).

Each takes ids (B, T), a table of special places and a seed, and gives new ids and labels. RIGHT
holds five that keep all promises of the card, WRONG those that break one, by kind. A student never
sees this.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

MASK, FIRST, VOCAB = 4, 5, 1000
Implementation = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
_unseeded = torch.Generator().manual_seed(11)


def refuse(ids: Tensor, special: Tensor, seed: int) -> None:
    """Raise ValueError for what the exercise rules out."""
    if (
        type(ids) is not Tensor
        or ids.dtype != torch.int64
        or ids.dim() != 2
        or not 1 <= ids.shape[0] <= 400
        or not 1 <= ids.shape[1] <= 100
        or not 0 <= int(ids.min()) <= int(ids.max()) < VOCAB
    ):
        raise ValueError(
            f"int64 ids of 0 to {VOCAB - 1} in 1 to 400 rows and 1 to 100 columns are needed"
        )
    if type(special) is not Tensor or not torch.equal(special, ids < FIRST):
        raise ValueError(
            f"special is a bool tensor as large as ids, True exactly where the id is below {FIRST}"
        )
    if type(seed) is not int or not 0 <= seed <= 1_000_000:
        raise ValueError("the seed is an int from 0 to a million")


def ranked(free: Tensor, number: Tensor, generator: torch.Generator) -> Tensor:
    """So many free places of each row, by chance.

    Sorted once, and by numpy: it keeps to one thread. This runs thousands of times, and torch's
    threads cost more than they save on tables of this size. In float64, because in float32 two
    places may draw the same number.
    """
    order = torch.rand(free.shape, generator=generator, dtype=torch.float64).masked_fill(~free, 2.0)
    last = np.take_along_axis(
        np.sort(order.numpy(), 1), (number - 1).clamp(min=0)[:, None].numpy(), 1
    )
    return free & (order <= torch.from_numpy(last)) & (number[:, None] > 0)


def rounded(free: Tensor, per_cent: int = 15) -> Tensor:
    """The share of each row, to the nearest whole number, a half to the even one; at least one."""
    n = free.sum(1)
    return (per_cent * n / 100).round().long().maximum(n.clamp(max=1))


def finished(
    ids: Tensor,
    chosen: Tensor,
    fate: Tensor,
    generator: torch.Generator,
    covered: float = 0.8,
    swapped: float = 0.1,
) -> tuple[Tensor, Tensor]:
    """New ids and labels, once it is known which places are chosen."""
    others = torch.randint(FIRST, VOCAB, ids.shape, generator=generator)
    blank = chosen & (fate < covered)
    swap = chosen & ~blank & (fate < covered + swapped)
    return torch.where(swap, others, ids).masked_fill(blank, MASK), ids.masked_fill(~chosen, -100)


def masking(
    choose: Callable = lambda free, generator: ranked(free, rounded(free), generator),
    covered: float = 0.8,
    swapped: float = 0.1,
    change: Callable | None = None,
) -> Implementation:
    """An implementation with its own choice, its own shares, or a change at the end: change(ids,
    special, new, labels, generator).
    """

    def implementation(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        refuse(ids, special, seed)
        generator = torch.Generator().manual_seed(seed)
        chosen = choose(~special, generator)
        new, labels = finished(
            ids, chosen, torch.rand(ids.shape, generator=generator), generator, covered, swapped
        )
        return change(ids, special, new, labels, generator) if change else (new, labels)

    return implementation


def dealt(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Right: the fates are dealt from a deck, so that their shares are exact over the batch."""
    refuse(ids, special, seed)
    generator = torch.Generator().manual_seed(seed)
    chosen = ranked(~special, rounded(~special), generator)
    deck = (torch.randperm(int(chosen.sum()), generator=generator) + 0.5) / max(
        int(chosen.sum()), 1
    )
    fate = torch.zeros(ids.shape)
    fate[chosen] = deck
    return finished(ids, chosen, fate, generator)


def unseeded(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Right: draws anew in each call, whatever the seed."""
    refuse(ids, special, seed)
    chosen = ranked(~special, rounded(~special), _unseeded)
    return finished(ids, chosen, torch.rand(ids.shape, generator=_unseeded), _unseeded)


def half_up(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Right: rounds a half up."""
    refuse(ids, special, seed)
    generator, n = torch.Generator().manual_seed(seed + 1), (~special).sum(1)
    chosen = ranked(~special, ((15 * n + 50) // 100).maximum(n.clamp(max=1)), generator)
    return finished(ids, chosen, torch.rand(ids.shape, generator=generator), generator)


def half_down(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Right: rounds a half down."""
    refuse(ids, special, seed)
    generator, n = torch.Generator().manual_seed(seed + 2), (~special).sum(1)
    chosen = ranked(~special, ((15 * n + 49) // 100).maximum(n.clamp(max=1)), generator)
    return finished(ids, chosen, torch.rand(ids.shape, generator=generator), generator)


def changed(new: Tensor, ids: Tensor) -> Tensor:
    """Where a token became another one that is not MASK."""
    return (new != ids) & (new != MASK)


def one_more(
    ids: Tensor, special: Tensor, new: Tensor, labels: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Covers a free token of each row that has no label."""
    more = ranked(~special & (labels == -100), (~special).any(1).long(), generator)
    return new.masked_fill(more & ~special, MASK), labels


def touches(kinds: Callable, cover: bool) -> Implementation:
    """Special tokens of the kinds(ids), one in every eighth row or so: each covered without a
    label, or labelled and left as it is.
    """

    def change(
        ids: Tensor, special: Tensor, new: Tensor, labels: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        of_kind = special & kinds(ids)
        more = (
            of_kind
            & ranked(of_kind, of_kind.any(1).long(), generator)
            & (torch.rand(len(ids), 1, generator=generator) < 0.125)
        )
        return (
            (new.masked_fill(more, MASK), labels)
            if cover
            else (new, torch.where(more, ids, labels))
        )

    return masking(change=change)


def wrong_where(places: Callable) -> Implementation:
    """The label is the neighbouring token number where places(ids, new) says so."""

    def change(
        ids: Tensor, special: Tensor, new: Tensor, labels: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        return new, torch.where((labels != -100) & places(ids, new), ids + 1, labels)

    return masking(change=change)


def of_everything(free: Tensor, generator: torch.Generator) -> Tensor:
    """As many as are right, from all places, special ones too."""
    return ranked(torch.ones_like(free), rounded(free), generator)


def ends_too(free: Tensor, generator: torch.Generator) -> Tensor:
    """As many as are right, from the free places and the first and the last special one of a row,
    which are [CLS] and [SEP] or padding.
    """
    first = torch.zeros_like(free)
    first[:, 0] = True
    return ranked(free | first, rounded(free), generator)


def swaps_in(tokens: Callable) -> Implementation:
    """What is swapped in is tokens(how many, generator)."""

    def change(
        ids: Tensor, special: Tensor, new: Tensor, labels: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        swap = changed(new, ids)
        new[swap] = tokens(int(swap.sum()), generator)
        return new, labels

    return masking(change=change)


def partly(special: list[int]) -> Callable:
    """Ordinary tokens, and in three of ten places one of the special ones."""

    def tokens(number: int, generator: torch.Generator) -> Tensor:
        drawn = torch.tensor(special)[
            torch.randint(0, len(special), (number,), generator=generator)
        ]
        return torch.where(
            torch.rand(number, generator=generator) < 0.3,
            drawn,
            torch.randint(FIRST, VOCAB, (number,), generator=generator),
        )

    return tokens


def nothing(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Chooses nothing at all."""
    refuse(ids, special, seed)
    return ids.clone(), torch.full_like(ids, -100)


def noise(ids: Tensor, special: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Numbers that have nothing to do with the ids."""
    refuse(ids, special, seed)
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCAB, ids.shape, generator=generator), torch.randint(
        0, VOCAB, ids.shape, generator=generator
    )


def to_the_ends(
    ids: Tensor, special: Tensor, new: Tensor, labels: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The first and the last ordinary token are among those swapped in, which draws alone give for
    some seeds only.
    """
    places = ((labels != -100) & (new != ids) & (new != MASK)).flatten().nonzero().flatten()
    if len(places) > 20:
        new = new.clone()
        new.flatten()[places[0]], new.flatten()[places[-1]] = FIRST, VOCAB - 1
    return new, labels


by_chance = masking()
ends_drawn = masking(change=to_the_ends)
RIGHT: list[Implementation] = [dealt, by_chance, unseeded, half_up, half_down, ends_drawn]
# What a test asks for that accepts another right implementation and rejects this one.
POOR: dict[str, Implementation] = {
    (
        "It rejects an implementation that draws each replacement independently:"
        " fractions vary by chance, so leave them room, about 0.04 in some"
        " thousand chosen tokens."
    ): (by_chance),
    (
        "It rejects an implementation that draws new numbers in each call. The"
        " same seed need not give the same answer: judge each call by itself."
    ): (unseeded),
    (
        f"It rejects an implementation that swaps in the first and the last ordinary token, "
        f"{FIRST} and {VOCAB - 1}: each of them may be drawn."
    ): (ends_drawn),
    (
        "It rejects an implementation that rounds an exact half up, as it may: ask about other "
        "numbers of free tokens."
    ): (half_up),
    (
        "It rejects an implementation that rounds an exact half down, as it may: ask about other "
        "numbers of free tokens."
    ): (half_down),
}
WRONG: dict[str, list[Implementation]] = {
    "fraction": [
        masking(lambda free, generator: ranked(free, rounded(free, 10), generator)),
        masking(lambda free, generator: ranked(free, rounded(free, 20), generator)),
        masking(
            lambda free, generator: free & (torch.rand(free.shape, generator=generator) < 0.15)
        ),
        masking(lambda free, generator: ranked(free, rounded(torch.ones_like(free)), generator)),
        masking(lambda free, generator: ranked(free, rounded(free) - 1, generator)),
    ],
    "specials": [
        masking(of_everything),
        masking(ends_too),
        *(
            touches(kinds, cover)
            for cover in (True, False)
            for kinds in (lambda ids: ids == 0, lambda ids: ids > 0)
        ),
    ],
    "labels": [
        masking(
            change=lambda ids, special, new, labels, generator: (
                new,
                new.masked_fill(labels == -100, -100),
            )
        ),
        masking(
            change=lambda ids, special, new, labels, generator: (
                new,
                torch.where(changed(new, ids), new, labels),
            )
        ),
        masking(
            change=lambda ids, special, new, labels, generator: (
                new,
                torch.where(labels == -100, -100, ids.roll(-1, 1)),
            )
        ),
        wrong_where(lambda ids, new: new == ids),
        wrong_where(lambda ids, new: new == MASK),
        masking(change=one_more),
    ],
    "replacement": [
        masking(covered=1.0, swapped=0.0),
        masking(covered=0.8, swapped=0.2),
        masking(covered=0.8, swapped=0.0),
        masking(covered=0.9, swapped=0.1),
        masking(covered=0.6, swapped=0.2),
        masking(covered=0.9, swapped=0.05),
        swaps_in(lambda number, generator: 1),
        swaps_in(lambda number, generator: FIRST + 70),
        *(swaps_in(partly(special)) for special in ([0], [1, 2, 3])),
    ],
}
# What a test lacks that lets such a function through, the most absurd first.
PROBES: dict[str, Implementation] = {
    (
        "Your test accepts numbers that have nothing to do with the ids: it never"
        " complains, or checks shapes only. Is there an `assert` that is reached,"
        " outside of `try`, without parentheses round condition and text?"
    ): (noise),
    (
        "Your test accepts an implementation that chooses nothing and changes nothing: count the "
        "labels of each row."
    ): (nothing),
}
# What a test takes for right that rejects every right implementation.
MISTAKEN: dict[str, Implementation] = {
    (
        "It accepts an implementation that covers every chosen token: 10 % of them are swapped, "
        "and 10 % stay as they are."
    ): WRONG["replacement"][0],
    (
        "It accepts an implementation that never keeps a chosen token: 10 % of them stay as they "
        "are."
    ): WRONG["replacement"][1],
    (
        "It accepts an implementation whose labels are read after the change: a label is the id "
        "that stood there before."
    ): WRONG["labels"][0],
    (
        "It accepts an implementation that counts special tokens as well: 15 % of the free ones "
        "are to be chosen."
    ): WRONG["fraction"][3],
    (
        "It accepts an implementation that rounds an exact half up, and those that round it to the "
        "even number are right too: ask about other numbers of free tokens."
    ): (half_up),
}
