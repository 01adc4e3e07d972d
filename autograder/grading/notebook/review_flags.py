"""Which exercises that lost points need review, because the answer may be in another place.

An exercise with all its points never does, nor does a wrong answer in a cell that ran.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from autograder.grading.notebook.definitions import (
    NOT_WRITTEN,
    changed_below,
    definition_lines,
    functions_of,
)
from autograder.grading.notebook.magics import is_python
from autograder.grading.notebook.review_kinds import ReviewItem, ReviewKind, numbers


def review_items(work, results: list[dict], exercises: Iterable[str]) -> dict[str, ReviewItem]:
    """The exercises that need review. work: Reading or Transplant; results: as JSON.

    A written answer, of which no check has a result, is among it where its cell is missing, cannot
    be read or is as it was given.
    """
    full = {one["exercise"] for one in results if one["earned"] >= one["points"] - 1e-9}
    shorts = {id: id.split(".", 1)[1] for id in exercises if id not in full}
    items = {id: work.review.get(short) or _raised(short, work) for id, short in shorts.items()}
    return {id: item for id, item in items.items() if item}


def _raised(exercise: str, work) -> ReviewItem | None:
    """Whether the exercise's cell, or a cell of the student's above it, stopped with an error."""
    own = [place for place, piece in enumerate(work.pieces) if piece.grade_id == exercise]
    if exercise not in work.own or not own:
        return None
    above = False
    for place in sorted(place for place in work.errors if 0 <= place <= own[-1]):
        piece = work.pieces[place]
        # Who called a function that is not written yet has no answer that such an error could hide.
        unwritten = work.errors[place].rpartition("\n")[2].startswith(NOT_WRITTEN)
        if place in own and not (unwritten and NOT_WRITTEN in piece.source):
            return ReviewItem(ReviewKind.RAISED)
        above |= not unwritten and (piece.grade_id is None or piece.grade_id in work.own)
    return ReviewItem(ReviewKind.RAISED_ABOVE) if above else None


def flags_from_cells(
    stubs: Mapping[str, Mapping[str, str]], given: Iterable[str], cells: list, work
) -> dict[str, ReviewItem]:
    """By exercise, what its cells say before they run; it counts where the exercise loses points.

    stubs: by exercise the functions of its cell as given, with their code; given: the sources of
    the notebook as given; cells: those that were submitted; work: the Transplant of them.
    """
    given = tuple(given)
    ours = _lines_given(given)
    written = [
        set()
        if cell.source in given
        else {name for name, _ in definition_lines(cell.source) - ours}
        for cell in cells
    ]
    flags = {one: _flag(one, names, cells, written, work) for one, names in stubs.items()}
    return {exercise: item for exercise, item in flags.items() if item}


@lru_cache(maxsize=2)  # the same for each submission
def _lines_given(sources: tuple[str, ...]) -> set[tuple[str, str]]:
    return set().union(*map(definition_lines, sources))


def _flag(
    exercise: str, functions: Mapping[str, str], cells: list, written: list[set[str]], work
) -> ReviewItem | None:
    pieces = [piece.source for piece in work.pieces]
    own = [place for place, piece in enumerate(work.pieces) if piece.grade_id == exercise]
    judged = [functions_of(pieces[place]) for place in own]
    for name, stub in functions.items():
        places = [place for place, names in enumerate(written) if name in names]
        outside = all(cells[place].grade_id != exercise for place in places)
        several = len({cells[place].source for place in places}) > 1
        stub_is_judged = [one[name] for one in judged if name in one][-1:] == [stub]
        if places and (outside or several or stub_is_judged):
            where = numbers([place + 1 for place in places])
            return ReviewItem(ReviewKind.DEFINED_ELSEWHERE, (name, where))
    if all(cell.grade_id != exercise for cell in cells):
        return ReviewItem(ReviewKind.MISSING)
    if exercise not in work.own or not own:  # as it was given, or emptied
        return None
    below = "".join(pieces[own[-1] + 1 : own[-1] + 2])
    split = not is_python(below, 0) and is_python(f"{pieces[own[-1]]}\n{below}", 0)
    if split or not all(is_python(pieces[place], 0) for place in own):
        return ReviewItem(ReviewKind.INVALID)
    name = changed_below(pieces, own, set(functions))
    return ReviewItem(ReviewKind.CHANGED_BELOW, (name,)) if name else None
