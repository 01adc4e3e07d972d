"""How alike the code of students is: token k-grams as in MOSS, by the library copydetect, with what
was given out and what many have taken away.

Names of variables do not count, and neither do comments and spacing; the order of functions and
cells does not matter. A k-gram that stands in the released notebook, or that more than COMMON of
the class have, says nothing and is left out. So a common idiom makes no pair, and neither does a
solution that a large group shares: that is told by nothing here.

Likeness is a reason to read two notebooks, and no more: a short function has few forms, and people
may learn together.
"""

import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

LENGTH = 25  # characters of a k-gram, each name one character: about one line
COMMON = 0.1  # of the class: what more have says nothing
FEW = 3  # so many may share a k-gram in the smallest class
ENOUGH = 60  # rare k-grams that two must share: about three lines
SHARE = 0.5  # of the rarer code of the one who has less of it
MOST_CHARACTERS = 30_000  # of one student's code that are read

Cells = Mapping[str, str]


@dataclass(frozen=True)
class Pair:
    """Two students, the k-grams that only few have and both of them, and their share of the one's
    who has fewer such.
    """

    one: str
    other: str
    common: frozenset[int]
    share: float


def kgrams(cells: Cells) -> set[int]:
    """Every k-gram of some cells, whatever the cell.

    Slow or endless for hostile text: call it within limits, in a fork.

    They are hashes with this process's seed, so that they can be compared with those of its forks
    and with no others.
    """
    return {int(key) for _, made in _fingerprints(cells) for key in made.hash_idx}


def places(cells: Cells, wanted: Iterable[int]) -> dict[str, list[tuple[int, int]]]:
    """Where some k-grams lie, by cell: stretches of characters, in order.

    Within limits, as `kgrams`.
    """
    wanted = set(wanted)
    return {
        name: _stretches(
            (_place(made, int(start)), _place(made, int(start) + LENGTH))
            for key in wanted & made.hash_idx.keys()
            for start in made.hash_idx[key]
        )
        for name, made in _fingerprints(cells)
    }


def _fingerprints(cells: Cells) -> Iterator[tuple[str, object]]:
    from copydetect import CodeFingerprint

    left = MOST_CHARACTERS
    for name, source in cells.items():
        source, left = source[:left], max(0, left - len(source))
        if source.strip():
            # A window of 1 keeps every k-gram: which ones a larger one keeps hangs on the seed of
            # Python's own hash.
            yield (
                name,
                CodeFingerprint("cell.py", LENGTH, 1, language="python", fp=io.StringIO(source)),
            )


def _place(made: object, index: int) -> int:
    """From a place in the filtered code to the one in the source."""
    before = made.offsets[:, 0].searchsorted(index, side="right") - 1
    return index + int(made.offsets[max(0, before), 1])


def rare(by_student: Mapping[str, set[int]], released: set[int]) -> dict[str, set[int]]:
    """Of each student's k-grams, what neither was given out nor is common in the class."""
    everybody = {student: some - released for student, some in by_student.items()}
    held = Counter(key for keys in everybody.values() for key in keys)
    most = max(FEW, int(COMMON * len(by_student)))
    return {
        student: {key for key in keys if held[key] <= most} for student, keys in everybody.items()
    }


def pairs(rarely: Mapping[str, set[int]], share: float = SHARE) -> list[Pair]:
    """The pairs that are worth a look, the most alike first."""
    holders: dict[int, list[str]] = defaultdict(list)
    for student, keys in sorted(rarely.items()):
        for key in keys:
            holders[key].append(student)
    shared = Counter(pair for some in holders.values() for pair in combinations(some, 2))
    found = []
    for (one, other), count in shared.items():
        part = count / min(len(rarely[one]), len(rarely[other]))
        if count >= ENOUGH and part >= share:
            found.append(Pair(one, other, frozenset(rarely[one] & rarely[other]), part))
    return sorted(found, key=lambda pair: (-pair.share, -len(pair.common), pair.one, pair.other))


def _stretches(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made
