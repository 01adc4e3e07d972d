"""Read an untrusted notebook file and take from it only a list of `SubmittedCell`.

Everything else that a notebook can hold (metadata, tags, kernels) is never looked at, so it cannot
matter. Of the outputs one line is read, for the instructor's report; large ones are cut out before
anything is measured. nbformat is not used here: it validates and upgrades whole documents, and each
of those steps is code that a hostile document reaches.

Limits are checked before the JSON parser runs: bytes, nesting, number of values. What is beyond
them raises `IntakeError` with a sentence for a human; no limit turns silently into a lower mark.
"""

import codecs
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from autograder.checks.restrictions import reference_imports as borrowed
from autograder.grading.notebook.outputs import without_outputs
from autograder.grading.notebook.pictures import gathered

RAISE_LIMIT = "WORD2SERVE_MAX_NOTEBOOK_MIB"  # in the environment; nbgrader has it, too
MAX_FILE_BYTES = 200 * 2**20  # of a notebook with its outputs
MAX_DEPTH = 100  # nesting of the JSON document
MAX_VALUES = (
    400_000  # commas, brackets and braces outside strings: bounds what the parser allocates
)
MAX_CELLS = 400
MAX_CELL_CHARACTERS = 60_000  # one cell's source, unless our cell's metadata allow more
MAX_TOTAL_CHARACTERS = 2_000_000  # all sources together; the run of chapter 17 has 1,250,000

MAX_OUTPUTS, MAX_OUTPUT_LINES, MAX_OUTPUT_CHARACTERS = (
    10,
    200,
    4_000,
)  # of a cell: where the line is looked for

CLEAR = "Clear the outputs (in Jupyter: Edit, Clear Outputs of All Cells), save, and hand in again"
SHRINK = (
    "Remove large pictures, save, and hand in again. An instructor can raise the limit with "
    f"the environment variable {RAISE_LIMIT}"
)
TOO_LARGE = "without its large outputs the notebook has {:,} bytes; at most {:,} are read. {}"

# Windows has neither links of this kind nor pipes among files, and opens text unless told
# otherwise.
_OPENING = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
# An unterminated string matches to the end: a pattern that could fail there would be tried again at
# every quote.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_CONTROL = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r\x1b"} | {127: "\ufffd"}


class IntakeError(Exception):
    """A submission that cannot be read.

    The message says why, and a human decides what it is worth.
    """


def _max_notebook_bytes() -> int:
    """The size that a notebook may have without its outputs: 20 MiB, or what RAISE_LIMIT says."""
    said = os.environ.get(RAISE_LIMIT, "")
    return min(int(said) * 2**20, MAX_FILE_BYTES) if said.isdecimal() else 20 * 2**20


MAX_NOTEBOOK_BYTES = _max_notebook_bytes()


@dataclass(frozen=True)
class SubmittedCell:
    """One cell as the student handed it in: what it claims to be, unverified.

    unread: why nothing of it could be read, or "". as_released: whether it has the checksum that
    nbgrader gave it in some release, so that nobody wrote into it since.
    """

    kind: str  # "code", "markdown" or "raw"
    grade_id: str | None  # what its nbgrader metadata claims
    source: str
    borrowed: tuple[str, ...] = ()  # the chapters in its check's line; see `checks.borrowed`
    unread: str = ""
    pictures: dict[str, str] = field(default_factory=dict, hash=False)  # `pictures.gathered`
    as_released: bool = False


def fingerprint(data: bytes) -> str:
    """SHA-256 of the bytes that were handed in: the identity of a submission in its record."""
    return hashlib.sha256(data).hexdigest()


def read_regular_file(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of an ordinary file of at most `limit` bytes; links, devices and pipes are refused,
    never opened.
    """
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise IntakeError(f"{path.name} is a link to another file. Links are not followed")
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        descriptor = os.open(path, _OPENING)
    except OSError as error:
        raise IntakeError(f"{path.name} cannot be opened: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise IntakeError(f"{path.name} is not an ordinary file")
        if found.st_size > limit:
            remedy = f". {CLEAR}" if limit == MAX_FILE_BYTES else ""
            raise IntakeError(
                f"{path.name} has {found.st_size:,} bytes; at most {limit:,} are read" + remedy
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def read_cells(data: bytes) -> list[SubmittedCell]:
    """The cells of a notebook of nbformat 3 or 4, any minor version, in order. Raises IntakeError.

    What cannot be read as a cell is among them and says why, so that a place is never lost without
    a word.
    """
    return cells_of(parse(data))


def cells_of(document: object) -> list[SubmittedCell]:
    """As `read_cells`, from the JSON that is parsed already."""
    cells = [_cell(raw) for raw in raw_cells(document)]
    total = sum(len(cell.source) for cell in cells)
    if total > MAX_TOTAL_CHARACTERS:
        raise IntakeError(
            f"the cells hold {total:,} characters; at most {MAX_TOTAL_CHARACTERS:,} are read"
        )
    return cells


def odd_version(document: object) -> str:
    """A sentence on a notebook that says another format than nbformat 4, else ""."""
    version = document.get("nbformat") if isinstance(document, dict) else None
    if type(version) is int and version in (3, 4):
        return (
            ""
            if version == 4
            else (
                "The notebook is of nbformat 3, an old format; look whether all of its cells were"
                " read."
            )
        )
    said = _clean(f"nbformat {json.dumps(version)[:20]}") if version is not None else "no nbformat"
    return (
        f"The notebook says {said}, which is not known here; its cells were read as those of"
        " nbformat 4."
    )


def raw_cells(document: object) -> list:
    """The list of cells in a notebook's JSON, whatever is in it.

    Raises IntakeError where there is none, or too many.
    """
    if not isinstance(document, dict):
        raise IntakeError("the file is JSON, but not a notebook")
    version = document.get("nbformat")
    if "worksheets" in document and not isinstance(document.get("cells"), list):
        sheets = document["worksheets"]
        raw = (
            [
                cell
                for sheet in sheets
                if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
                for cell in sheet["cells"]
            ]
            if isinstance(sheets, list)
            else []
        )
    elif isinstance(document.get("cells"), list):
        raw = document["cells"]
    else:
        raise IntakeError(
            f"the file is not a notebook that can be read (nbformat {str(version)[:20]}, no cells)"
        )
    if len(raw) > MAX_CELLS:
        raise IntakeError(f"the notebook has {len(raw):,} cells; at most {MAX_CELLS} are read")
    return raw


def parse(data: bytes) -> object:
    """The JSON in a file, within the limits. Raises IntakeError."""
    if not data.strip():
        raise IntakeError("the file is empty")
    data = without_outputs(data)
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise IntakeError(TOO_LARGE.format(len(data), MAX_NOTEBOOK_BYTES, SHRINK))
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"{\0", b"\0{")):
        raise IntakeError("the file is UTF-16 text, and a notebook is UTF-8 text: save it as UTF-8")
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begins.startswith((b"[", b'"')) or begins.strip() in (b"null", b"true", b"false"):
        raise IntakeError("the file is JSON, but not a notebook")
    if not begins.startswith(b"{"):
        raise IntakeError("the file is not a notebook: it does not start as JSON does")
    skeleton = _STRING.sub(b"", data)
    if sum(map(skeleton.count, (b",", b"[", b"]", b"{", b"}"))) > MAX_VALUES:
        raise IntakeError(f"the JSON holds more than {MAX_VALUES:,} values")
    deepest = max(
        accumulate(
            (1 if byte in b"[{" else -1 for byte in re.findall(rb"[\[\]{}]", skeleton)), initial=0
        )
    )
    if deepest > MAX_DEPTH:
        raise IntakeError(
            f"the JSON is nested {deepest:,} deep; at most {MAX_DEPTH} levels are read"
        )
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise IntakeError("the file is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise IntakeError(f"the file is broken JSON: {str(error)[:120]}") from error


def _cell(raw: object) -> SubmittedCell:
    """One cell of either format; with `unread` what has another shape than a cell's."""
    if not isinstance(raw, dict):
        return SubmittedCell("raw", None, "", unread="it is no cell")
    grade_id, kind, source = _grade_id(raw.get("metadata")), raw.get("cell_type"), source_of(raw)
    if source is None or not isinstance(kind, str):
        return SubmittedCell(
            "raw",
            grade_id,
            "",
            unread="its source is no text" if source is None else "its type is no word",
        )
    kind = kind if kind in ("code", "markdown", "raw") else "markdown"  # nbformat 3's headings
    as_released = grade_id is not None and _as_released(kind, source, raw["metadata"]["nbgrader"])
    source, pictures = gathered(source, raw.get("attachments")) if kind != "code" else (source, {})
    said = tuple(_borrowed(raw.get("outputs")))
    return SubmittedCell(
        kind, grade_id, _clean(source), said, pictures=pictures, as_released=as_released
    )


def _as_released(kind: str, source: str, mark: dict) -> bool:
    """Whether a cell has the checksum that nbgrader writes when it makes a release.

    A student who forges it only declares their own work untouched.
    """
    grade, solution = mark.get("grade", False), mark.get("solution", False)
    locked = not solution and (grade or mark.get("locked", False))
    parts = [source, kind, str(grade), str(solution), str(locked), mark["grade_id"]]
    if grade and isinstance(mark.get("points"), (int, float)):
        parts.append(str(float(mark["points"])))
    whole = "".join(parts).encode("utf-8", "replace")
    return mark.get("checksum") == hashlib.md5(whole, usedforsecurity=False).hexdigest()


def source_of(raw: dict) -> str | None:
    """The source of a cell, a text or a list of texts; None for anything else, and where there is
    none.
    """
    source = raw.get("source", raw.get("input"))  # nbformat 3 says `input` for code
    lines = source if isinstance(source, list) else [source]
    return "".join(lines) if all(isinstance(line, str) for line in lines) else None


def _borrowed(outputs: object) -> list[str]:
    """The numbers in the line of the last output that has one; only the end of each text
    is read.
    """
    found: list[str] = []
    last = outputs[-MAX_OUTPUTS:] if isinstance(outputs, list) else []
    for output in filter(lambda one: isinstance(one, dict), last):
        data = output.get("data")
        for text in (output.get("text"), data.get("text/plain") if isinstance(data, dict) else ""):
            lines = text if isinstance(text, list) else [text]
            whole = "".join(line for line in lines[-MAX_OUTPUT_LINES:] if isinstance(line, str))
            found = borrowed.said(whole[-MAX_OUTPUT_CHARACTERS:]) or found
    return found


def _grade_id(metadata: object) -> str | None:
    claimed = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = claimed.get("grade_id") if isinstance(claimed, dict) else None
    return grade_id if isinstance(grade_id, str) and 0 < len(grade_id) <= 200 else None


def _clean(source: str) -> str:
    """Text that every later step can store: no lone surrogates, no NUL or other control
    characters.
    """
    source = source.encode("utf-8", "replace").decode("utf-8")
    return source.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROL)
