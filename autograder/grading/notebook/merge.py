"""Put a student's work into the pristine notebook, and leave everything else behind.

What is taken: the source of each solution cell, by grade id, and the code cells that the student
added, each after the same cell of ours that it followed; of a written answer, the pictures that it
shows. Locked, graded and explaining cells always come from the pristine notebook, so renaming,
repeating, deleting or editing them changes nothing.

A solution cell that occurs several times (JupyterLab copies the metadata when a cell is split or
pasted) counts with all its parts in order, as "run all" would run them, and it is said which
counted; untouched copies of the stub are skipped, and so are copies that were turned into text.
When it does not occur at all, or was emptied, its stub runs before the student's own cells, which
may define the function anew. What a student wrote where it does not count is no zero: see
review_flags.py for functions, relocated_answers.py for written answers.
"""

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.grading.notebook.definitions import definition_lines, functions_of
from autograder.grading.notebook.magics import without_magics
from autograder.grading.notebook.parse import MAX_CELL_CHARACTERS, SubmittedCell
from autograder.grading.notebook.pictures import LEFT_OUT, checked, mentioned, not_held
from autograder.grading.notebook.relocated_answers import Unclaimed, copied, with_text
from autograder.grading.notebook.review_flags import flags_from_cells
from autograder.grading.notebook.review_kinds import MAX_NAMED, ReviewItem, ReviewKind, numbers

NO_CELL = new_code_cell()
MAX_ADDED_CELLS = 150
NOT_SHOWN = "A picture in the answer `{}` is left out: {}."
# What stands between the fences of a text: code that an editor, or its author, turned into text.
FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Piece:
    """One cell for the sandbox, in running order.

    grade_id: the solution or setup cell it belongs to, or None.
    """

    grade_id: str | None
    source: str


@dataclass(frozen=True)
class Part:
    """One cell of the submission that claims to be a solution cell of ours.

    place: its number in the notebook, from 1.
    """

    place: int
    kind: str
    source: str


@dataclass
class Transplant:
    """The result: `notebook` for nbgrader and people, `pieces` for the sandbox, `ignored` sentences
    for the feedback.

    own: source of each solution cell that the student changed, by grade id (magics included, as
    they wrote it). added: the code cells that the student added, each with the grade id of the cell
    of ours that it followed, or None. untouched: solution cells that are there and are as they were
    given, by grade id. review: by grade id, why a person looks at an exercise that loses points, or
    at a written answer. errors: filled in by who runs the pieces: what those that failed said, by
    their place. found: by grade id, for an answer that waits so, a copy of the text elsewhere, as
    Markdown. pictures: those that `own` and `found` name, see `pictures.checked`.
    """

    notebook: NotebookNode
    pieces: list[Piece]
    own: dict[str, str] = field(default_factory=dict)
    added: list[tuple[str | None, str]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    review: dict[str, ReviewItem] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, dict[str, str]] = field(default_factory=dict)


def marks(cell: NotebookNode) -> dict:
    """The nbgrader metadata of a cell of ours, or an empty dictionary."""
    return cell.metadata.get("nbgrader", {})


def is_setup(cell: NotebookNode) -> bool:
    """Whether a pristine cell runs in the sandbox before the student's: locked code named
    `setup...`.
    """
    mark = marks(cell)
    return (
        cell.cell_type == "code"
        and not mark.get("solution")
        and str(mark.get("grade_id", "")).startswith("setup")
    )


def transplant(pristine: NotebookNode, submitted: list[SubmittedCell]) -> Transplant:
    """Build the notebook to grade from the pristine one and what was handed in.

    Neither argument is changed.
    """
    ours = {marks(cell)["grade_id"]: cell for cell in pristine.cells if "grade_id" in marks(cell)}
    # A copy of a cell as it is given runs nowhere: below an answer it would replace it.
    unmarked = {
        cell.source.strip()
        for cell in pristine.cells
        if "grade_id" not in marks(cell) or marks(cell).get("solution")
    }
    submitted = _in_this_wording(ours, _with_lost_ids(ours, submitted))
    parts, added, unclaimed, notes = _sort_cells(ours, unmarked, submitted)
    result = Transplant(
        pristine,
        [],
        ignored=notes.sentences(),
        review={
            cell.grade_id: ReviewItem(ReviewKind.UNREAD, (cell.unread,))
            for cell in submitted
            if cell.unread and marks(ours.get(cell.grade_id, NO_CELL)).get("solution")
        },
    )
    pieces: list[Piece] = []
    absent: list[Piece] = []

    def take_added(anchor: str | None) -> None:
        for source in added.get(anchor, []):
            result.added.append((anchor, source))
            pieces.append(Piece(None, source))

    take_added(None)
    for cell in pristine.cells:
        grade_id = marks(cell).get("grade_id")
        if is_setup(cell):
            absent.append(Piece(grade_id, cell.source))
        if marks(cell).get("solution"):
            own = _own_source(grade_id, parts.get(grade_id, []), cell, result)
            if cell.cell_type == "code":
                target = (
                    pieces if own or grade_id in result.untouched else absent
                )  # who emptied it wrote it elsewhere, or not at all
                target.extend(Piece(grade_id, source) for source in own or [cell.source])
            if own:
                result.own[grade_id] = "\n\n".join(own)
        if grade_id is not None:
            take_added(grade_id)
    result.pieces = _plain(absent + pieces, result)
    _ask_for_answers(pristine, parts, unclaimed, result)
    given = [cell.source for cell in pristine.cells]
    flags = flags_from_cells(_stubs(pristine), given, submitted, result)
    result.review = flags | result.review
    _take_pictures(pristine, submitted, result)
    result.notebook = assemble(pristine, result.own, result.added, result.found, result.pictures)
    return result


def _take_pictures(
    pristine: NotebookNode, submitted: list[SubmittedCell], result: Transplant
) -> None:
    """Keep the pictures of written answers, and say which are left out."""
    handed_in: dict[str, str] = {}
    for cell in submitted:
        handed_in |= cell.pictures
    answers = [marks(cell).get("grade_id") for cell in pristine.cells if cell.cell_type != "code"]
    texts = {id: result.own.get(id, "") + result.found.get(id, "") for id in answers}
    shown = [name for name in mentioned(texts.values()) if name in handed_in]
    result.pictures = checked({name: handed_in[name] for name in shown})
    for grade_id, text in texts.items():
        reasons = [result.pictures.get(name, {}).get(LEFT_OUT) for name in mentioned([text])]
        for reason in filter(None, dict.fromkeys([*reasons, *not_held(text)])):
            result.ignored.append(NOT_SHOWN.format(grade_id, reason))


def _ask_for_answers(
    pristine: NotebookNode,
    parts: dict[str, list[Part]],
    unclaimed: list[Unclaimed],
    result: Transplant,
) -> None:
    """Let a written answer wait whose cell holds none of the student's words, unless the cell is
    there and the words are nowhere else.
    """
    asked = [
        cell for cell in pristine.cells if marks(cell).get("solution") and marks(cell).get("grade")
    ]
    missing = [
        id
        for id in (marks(cell)["grade_id"] for cell in asked)
        if id not in result.own and id not in result.review
    ]
    if not missing:
        return
    answers = {name for names in _stubs(pristine).values() for name in names}
    unclaimed = [
        cell
        for cell in unclaimed
        if cell.kind != "code" or not answers & {name for name, _ in definition_lines(cell.source)}
    ]  # that is no text: see review_flags.py
    for cell in pristine.cells:
        claims = parts.get(marks(cell).get("grade_id"), [])
        unclaimed += [
            Unclaimed(part.place, "markdown", part.source)
            for part in claims
            if part not in _fitting(claims, cell)
        ]
    places = with_text(unclaimed, [cell.source for cell in pristine.cells])
    for grade_id in missing:
        how = (
            "as it was given"
            if grade_id in result.untouched
            else "empty"
            if grade_id in parts
            else "not in the notebook"
        )
        if places:
            where = numbers(places)
            result.review[grade_id] = ReviewItem(ReviewKind.ANSWER_ELSEWHERE, (how, where))
            result.found[grade_id] = copied(unclaimed, places, how)
        elif grade_id not in parts:
            result.review[grade_id] = ReviewItem(ReviewKind.ANSWER_GONE)


def _stubs(pristine: NotebookNode) -> dict[str, dict[str, str]]:
    """By exercise, the functions and classes that its code cell defines as it is given, with their
    code.
    """
    return {
        marks(cell)["grade_id"]: functions_of(cell.source)
        for cell in pristine.cells
        if marks(cell).get("solution") and cell.cell_type == "code"
    }


def assemble(
    pristine: NotebookNode,
    own: dict[str, str],
    added: Iterable[Sequence],
    found: dict[str, str] | None = None,
    pictures: dict[str, dict[str, str]] | None = None,
) -> NotebookNode:
    """The pristine notebook with a student's work in it, as a record holds it: see Transplant."""
    texts, pictures = (found or {}) | own, pictures or {}
    notebook = copy.deepcopy(pristine)
    by_anchor: dict[str | None, list[NotebookNode]] = {}
    for number, (anchor, source) in enumerate(added, start=1):
        by_anchor.setdefault(anchor, []).append(
            new_code_cell(source, id=f"added-{number}", metadata={"tags": ["added-by-student"]})
        )
    cells = by_anchor.pop(None, [])
    for cell in notebook.cells:
        grade_id = marks(cell).get("grade_id")
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cell.source = texts.get(grade_id, cell.source) if grade_id else cell.source
        shown = mentioned([cell.source]) if cell.cell_type != "code" else []
        if attachments := {name: pictures[name] for name in shown if name in pictures}:
            cell.attachments = attachments
        cells += [cell, *by_anchor.pop(grade_id, [])] if grade_id else [cell]
    notebook.cells = cells
    return notebook


def _own_source(
    grade_id: str, parts: list[Part], cell: NotebookNode, result: Transplant
) -> list[str]:
    """The student's parts of one solution cell; empty when it is untouched, absent or over
    the cap.
    """
    fitting = _fitting(parts, cell)
    written = [
        part
        for part in fitting
        if part.source.strip() and part.source.strip() != cell.source.strip()
    ]
    written = [
        part
        for part, before in zip(written, [None, *written])
        if before is None or part.source != before.source
    ]
    own = [part.source for part in written]
    if len(parts) > 1:
        result.ignored.append(
            _which_counts(
                grade_id, parts, fitting, [part.place for part in written], cell.cell_type == "code"
            )
        )
    most = cell.metadata.get("max_characters", MAX_CELL_CHARACTERS)
    if sum(map(len, own)) > most:
        result.review[grade_id] = ReviewItem(ReviewKind.TOO_LONG)
        result.ignored.append(
            f"The cell of {grade_id} holds {sum(map(len, own)):,} characters; at most "
            f"{most:,} are read, so it was left out and a human will look at it."
        )
        return []
    if not own and any(part.source.strip() == cell.source.strip() for part in fitting):
        result.untouched.append(grade_id)
    return own


def _fitting(parts: list[Part], cell: NotebookNode) -> list[Part]:
    """The parts that can count for a solution cell: those of its kind, or all where none is."""
    return [part for part in parts if part.kind == cell.cell_type] or parts


def _which_counts(
    grade_id: str, parts: list[Part], fitting: list[Part], written: list[int], code: bool
) -> str:
    """A sentence on a solution cell that occurs several times.

    written: the places of those that count.
    """
    said = (
        f"The cell of `{grade_id}` occurs {len(parts)} times in the notebook, as cells"
        f" {numbers([part.place for part in parts])}."
    )
    others = [part.place for part in parts if part not in fitting]
    if others:
        said += f" What is no {'code' if code else 'text'} does not count ({numbers(others)})."
    if not written:
        return f"{said} None of them was changed."
    if len(written) == 1:
        return f"{said} Cell {written[0]} counts; the rest is as it was given, or the same."
    if not code:
        return (
            f"{said} What is written in cells {numbers(written)} is read together, in this order."
        )
    return (
        f"{said} Cells {numbers(written)} ran in this order: where they define the same name, the"
        f" last one counts, cell {written[-1]}."
    )


def _plain(pieces: list[Piece], result: Transplant) -> list[Piece]:
    """The pieces as plain Python; what was dropped from them is named in `ignored`."""
    plain, dropped = [], []
    for piece in pieces:
        source, names = without_magics(piece.source)
        dropped += names
        if source.strip():
            plain.append(Piece(piece.grade_id, source))
    if dropped:
        result.ignored.append(
            "Magics and shell commands do not run in grading: " + _some(dropped) + "."
        )
    return plain


class _Notes:
    """What was left out, kind by kind, so that a hundred repeated cells give one sentence."""

    KINDS = {
        "unread": "Cells that cannot be read were left out, by their number in the notebook ({}).",
        "edited": "Locked cells were changed ({}); the original ones were used.",
        "repeated": "Locked cells occur more than once ({}); each counts once, as the original.",
        "missing": "Cells are missing ({}); the original ones were put back.",
        "long": "Added cells that are too long were left out (characters: {}).",
        "many": "Only the first {} added cells were used.",
    }

    def __init__(self):
        self.found: dict[str, list[str]] = {kind: [] for kind in self.KINDS}

    def sentences(self) -> list[str]:
        return [
            self.KINDS[kind].format(_some(names)) for kind, names in self.found.items() if names
        ]


def _some(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    shown = ", ".join(f"`{name}`" for name in distinct[:MAX_NAMED])
    return shown + (f" and {len(distinct) - MAX_NAMED} more" if len(distinct) > MAX_NAMED else "")


def _sort_cells(
    ours: dict, unmarked: set[str], submitted: list[SubmittedCell]
) -> tuple[dict[str, list[Part]], dict[str | None, list[str]], list[Unclaimed], _Notes]:
    """Split what was handed in: parts of solution cells by grade id; added code by the cell it
    follows; all that is no part; notes.
    """
    parts: dict[str, list[Part]] = {}
    added: dict[str | None, list[str]] = {}
    unclaimed: list[Unclaimed] = []
    notes, seen, anchor, count = _Notes(), set(), None, 0
    for place, cell in enumerate(submitted, start=1):
        mine = ours.get(cell.grade_id)
        added_code = (
            mine is None
            and cell.kind == "code"
            and bool(cell.source.strip())
            and cell.source.strip() not in unmarked
        )
        if not cell.as_released and (mine is None or not marks(mine).get("solution")):
            unclaimed.append(
                Unclaimed(place, cell.kind, cell.source, bool(cell.unread), cell.grade_id or "")
            )
        if cell.unread:
            notes.found["unread"].append(f"{place}: {cell.unread}")
            if mine is not None:
                seen.add(cell.grade_id)
                anchor = cell.grade_id
        elif mine is not None:
            if marks(mine).get("solution"):
                source = (
                    _unfenced(cell.source)
                    if mine.cell_type == "code" and cell.kind != "code"
                    else cell.source
                )
                parts.setdefault(cell.grade_id, []).append(Part(place, cell.kind, source))
            elif cell.grade_id in seen:
                notes.found["repeated"].append(cell.grade_id)
            elif cell.source.strip() != mine.source.strip():
                notes.found["edited"].append(cell.grade_id)
            seen.add(cell.grade_id)
            anchor = cell.grade_id
        elif added_code:
            if len(cell.source) > MAX_CELL_CHARACTERS:
                notes.found["long"].append(f"{len(cell.source):,}")
            elif count == MAX_ADDED_CELLS:
                notes.found["many"] = [str(MAX_ADDED_CELLS)]
            else:
                count += 1
                added.setdefault(anchor, []).append(cell.source)
    notes.found["missing"] = [grade_id for grade_id in ours if grade_id not in seen]
    return parts, added, unclaimed, notes


def _unfenced(text: str) -> str:
    """What stands between the fences of a text, or the text where there are none."""
    blocks = [block.rstrip("\n") for _, block in FENCED.findall(text)]
    return "\n".join(blocks) if blocks else text


def _in_this_wording(ours: dict, submitted: list[SubmittedCell]) -> list[SubmittedCell]:
    """The cells; those that are as an older release gave them, as this one gives them."""
    return [
        (
            replace(cell, source=ours[cell.grade_id].source)
            if cell.as_released and cell.kind == ours.get(cell.grade_id, NO_CELL).cell_type
            else cell
        )
        for cell in submitted
    ]


def _with_lost_ids(ours: dict, submitted: list[SubmittedCell]) -> list[SubmittedCell]:
    """The cells, with the grade id back where an editor took it away from a solution cell that is
    as it was given.
    """
    claimed = {cell.grade_id for cell in submitted}
    lost = {
        (cell.cell_type, cell.source.strip()): grade_id
        for grade_id, cell in ours.items()
        if marks(cell).get("solution") and grade_id not in claimed
    }
    return [
        (
            replace(cell, grade_id=lost[cell.kind, cell.source.strip()])
            if cell.grade_id not in ours and (cell.kind, cell.source.strip()) in lost
            else cell
        )
        for cell in submitted
    ]
