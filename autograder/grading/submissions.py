"""Find what a class handed in: nbgrader's folders, or a folder of zips. Nothing is extracted to disk.

Two layouts: `STUDENT/ASSIGNMENT/NOTEBOOK.ipynb`, and `STUDENT.zip` with the notebook anywhere inside. The name of the
zip decides who it belongs to, whatever the folders inside are called: otherwise one student could hand in for another.
One zip of the whole class, in nbgrader's layout, can be given in place of a folder.
"""
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from autograder.errors import CourseError
from autograder.grading.intake import MAX_NOTEBOOK_BYTES, IntakeError, read_regular_file

MAX_ZIP_BYTES = 50 * 2**20
MAX_ZIP_MEMBERS = 2_000
MAX_DIRECTORY_BYTES = 2**20         # the zip's list of members
MAX_UNPACKED_BYTES = 200 * 2**20    # all members together, as they declare themselves
MAX_RATIO = 200                     # notebooks shrink about 5 to 20 times

_QUIET = {"__MACOSX", ".ipynb_checkpoints", ".DS_Store", "__pycache__", "timestamp.txt"}


@dataclass(frozen=True)
class Submission:
    """Where one student's notebook lies, or why there is none that can be read.

    `member` is the name inside the zip at `path`, or None for a file. `notes` are sentences for the feedback.
    """

    student: str
    path: Path
    member: str | None = None
    problem: str | None = None
    notes: tuple[str, ...] = field(default=())
    timestamp: str | None = None

    def read(self) -> bytes:
        """The notebook's bytes, capped. Raises IntakeError when there is a problem."""
        if self.problem:
            raise IntakeError(self.problem)
        if self.member is None:
            return read_regular_file(self.path)
        with _open_zip(self.path) as archive:
            return _read_member(archive, archive.getinfo(self.member))


def find_submissions(where: Path, assignment: str, notebook: str | None = None) -> list[Submission]:
    """One Submission per student, sorted by name. Raises CourseError if `where` holds none at all."""
    notebook = notebook or assignment
    if where.is_file():
        found = _class_zip(where, assignment, notebook)
    elif where.is_dir():
        found = [submission for entry in sorted(where.iterdir())
                 if (submission := _entry(entry, assignment, notebook)) is not None]
    else:
        raise CourseError(f"{where}: no such folder or zip. Give the folder that holds STUDENT/{assignment}/ "
                          "or STUDENT.zip")
    if not found:
        raise CourseError(f"{where}: no submission of {assignment} here. Expected STUDENT/{assignment}/"
                          f"{notebook}.ipynb, or STUDENT.zip")
    return sorted(_without_twins(found), key=lambda submission: submission.student)


def student_id(name: str) -> str:
    """A name that is safe in a path, a glob and a page: letters, digits, `_ . @ -`, at most 80 characters."""
    return re.sub(r"[^\w.@-]+", "_", name).strip("._")[:80] or "unnamed"


def _without_twins(found: list[Submission]) -> Iterator[Submission]:
    """Two submissions of one student become one that needs a human: choosing for them would be guessing."""
    # Names that differ only in case are one file on macOS, so they are one student here.
    by_student: dict[str, list[Submission]] = {}
    for submission in found:
        by_student.setdefault(submission.student.casefold(), []).append(submission)
    for group in by_student.values():
        names = ", ".join(sorted(s.path.name if s.member is None else f"{s.path.name}:{s.member}" for s in group))
        yield group[0] if len(group) == 1 else replace(
            group[0], problem=f"there are {len(group)} submissions under this name ({names}); keep the one that counts")


def _entry(entry: Path, assignment: str, notebook: str) -> Submission | None:
    """The submission at one entry of the class folder, or None when it is not one."""
    mode = os.lstat(entry).st_mode
    if stat.S_ISREG(mode) and entry.suffix.lower() == ".zip":
        return _student_zip(entry, assignment, notebook)
    if stat.S_ISLNK(mode) and (entry.suffix.lower() == ".zip" or entry.is_dir()):
        return Submission(student_id(entry.stem), entry, problem=f"{entry.name} is a link. Links are not followed")
    if not stat.S_ISDIR(mode) or entry.name.startswith("."):
        return None
    folder = entry / assignment
    if not os.path.lexists(folder):
        return None
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        return Submission(student_id(entry.name), folder,
                          problem=f"{entry.name}/{assignment} is a link or a file, not a folder. Links are not followed")
    return _student_folder(student_id(entry.name), folder, notebook)


def _student_folder(student: str, folder: Path, notebook: str) -> Submission:
    links, others, notebooks = [], [], []
    for entry in sorted(folder.iterdir()):
        mode = os.lstat(entry).st_mode
        if entry.name in _QUIET:
            continue
        if stat.S_ISLNK(mode) and entry.suffix != ".ipynb":
            links.append(entry.name)
        elif entry.suffix == ".ipynb":
            notebooks.append(entry.name)
        else:
            others.append(entry.name)
    chosen, problem, notes = _choose([(name, name) for name in notebooks], notebook)
    notes += [f"{_names(links)}: links to other files are not followed"] if links else []
    notes += [f"{_names(others)}: only the notebook is graded; other files are left out"] if others else []
    return Submission(student, folder / (chosen or f"{notebook}.ipynb"), problem=problem, notes=tuple(notes),
                      timestamp=_timestamp(folder / "timestamp.txt"))


def _choose(notebooks: list[tuple[str, str]], wanted: str) -> tuple[str | None, str | None, list[str]]:
    """Of (base name, full name) pairs: the full name to grade, or the problem; and notes about the others."""
    exact = [full for base, full in notebooks if base == f"{wanted}.ipynb"]
    if len(exact) == 1:
        rest = [full for _, full in notebooks if full != exact[0]]
        return exact[0], None, [f"{_names(rest)}: only {wanted}.ipynb is graded"] if rest else []
    if not notebooks:
        return None, f"there is no notebook; expected {wanted}.ipynb", []
    if len(notebooks) == 1:
        return notebooks[0][1], None, [f"{_names([notebooks[0][0]])}: taken for {wanted}.ipynb, the only notebook here"]
    return None, f"there are {len(notebooks)} notebooks and it is not clear which is {wanted}.ipynb: " \
                 f"{_names([full for _, full in notebooks])}", []


def _names(names: list[str]) -> str:
    shown = [re.sub(r"[^\w./@ -]", "?", name)[:60] for name in names[:6]]
    return ", ".join(shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _timestamp(path: Path) -> str | None:
    """nbgrader's timestamp.txt if it is a small ordinary file that holds a date, else None."""
    from nbgrader.utils import parse_utc
    try:
        text = read_regular_file(path, limit=100).decode("ascii").strip()
        parse_utc(text)
        return text
    except (IntakeError, ValueError, OverflowError, TypeError):
        return None


def _open_zip(path: Path) -> zipfile.ZipFile:
    """A zip whose list of members is small enough to be read. Raises IntakeError."""
    if path.stat().st_size > MAX_ZIP_BYTES:
        raise IntakeError(f"{path.name} has {path.stat().st_size:,} bytes; at most {MAX_ZIP_BYTES:,} are read")
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65_557))
        tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise IntakeError(f"{path.name} is not a zip, or it is cut off")
    count, directory_bytes = struct.unpack("<HI", tail[end + 10 : end + 16])
    # The reader believes a zip64 record over these numbers; no honest notebook needs one.
    if tail[max(0, end - 20) : end].startswith(b"PK\x06\x07") or directory_bytes > MAX_DIRECTORY_BYTES \
            or count > MAX_ZIP_MEMBERS:
        raise IntakeError(f"{path.name} lists more than {MAX_ZIP_MEMBERS:,} files")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error, EOFError) as error:
        raise IntakeError(f"{path.name} is a broken zip: {str(error)[:100]}") from error
    infos = archive.infolist()
    unpacked = sum(info.file_size for info in infos)
    if len(infos) > MAX_ZIP_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
        archive.close()
        raise IntakeError(f"{path.name} unpacks to {len(infos):,} files and {unpacked:,} bytes: too much")
    return archive


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    name = _names([info.filename])
    if stat.S_ISLNK(info.external_attr >> 16):
        raise IntakeError(f"{name} in the zip is a link to another file. Links are not followed")
    if info.flag_bits & 1:
        raise IntakeError(f"{name} in the zip is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise IntakeError(f"{name} in the zip is packed by an unusual method; use an ordinary zip")
    if info.file_size > MAX_NOTEBOOK_BYTES:
        raise IntakeError(f"{name} in the zip has {info.file_size:,} bytes; at most {MAX_NOTEBOOK_BYTES:,} are read")
    if info.file_size > MAX_RATIO * max(1, info.compress_size):
        raise IntakeError(f"{name} in the zip unpacks to more than {MAX_RATIO} times its size: it looks like a zip bomb")
    try:
        with archive.open(info) as file:
            data = file.read(MAX_NOTEBOOK_BYTES + 1)        # what the header declares is not believed
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        raise IntakeError(f"{name} in the zip cannot be unpacked: {str(error)[:100]}") from error
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise IntakeError(f"{name} in the zip has more than {MAX_NOTEBOOK_BYTES:,} bytes")
    return data


def _members(archive: zipfile.ZipFile) -> tuple[list[zipfile.ZipInfo], list[str]]:
    """The files of a zip that count, and the names of those whose path leads out of it."""
    kept, strange = [], []
    for info in archive.infolist():
        parts = PurePosixPath(info.filename.replace("\\", "/")).parts
        if info.is_dir() or _QUIET & set(parts) or not parts:
            continue
        outside = ".." in parts or parts[0] == "/" or ":" in parts[0]
        (strange if outside else kept).append(info.filename if outside else info)
    return kept, strange


def _student_zip(path: Path, assignment: str, notebook: str) -> Submission:
    """The submission in STUDENT.zip; folders inside may be anything."""
    student = student_id(path.stem)
    try:
        with _open_zip(path) as archive:
            kept, strange = _members(archive)
    except IntakeError as error:
        return Submission(student, path, problem=str(error))
    names = [info.filename for info in kept]
    if len(set(names)) < len(names):
        twins = sorted({name for name in names if names.count(name) > 1})
        return Submission(student, path, problem=f"the zip holds two files of one name: {_names(twins)}")
    notebooks = [(PurePosixPath(name).name, name) for name in names if name.endswith(".ipynb")]
    inside = [(base, name) for base, name in notebooks if assignment in PurePosixPath(name).parts[:-1]]
    member, problem, notes = _choose(inside or notebooks, notebook)
    others = [name for name in names if not name.endswith(".ipynb")]
    notes += [f"{_names(strange)}: paths that lead out of the zip are left out"] if strange else []
    notes += [f"{_names(others)}: only the notebook is graded; other files are left out"] if others else []
    return Submission(student, path, member=member, problem=problem, notes=tuple(notes))


def _class_zip(path: Path, assignment: str, notebook: str) -> list[Submission]:
    """Every STUDENT/ASSIGNMENT/NOTEBOOK.ipynb of one zip that the instructor gave."""
    try:
        with _open_zip(path) as archive:
            kept, _ = _members(archive)
    except IntakeError as error:
        raise CourseError(f"{path}: {error}") from error
    by_student: dict[str, list[str]] = {}
    for info in kept:
        parts = PurePosixPath(info.filename).parts
        if len(parts) >= 3 and parts[-2] == assignment and parts[-1].endswith(".ipynb"):
            by_student.setdefault(student_id(parts[-3]), []).append(info.filename)
    found = []
    for student, names in by_student.items():
        member, problem, notes = _choose([(PurePosixPath(name).name, name) for name in names], notebook)
        found.append(Submission(student, path, member=member, problem=problem, notes=tuple(notes)))
    return found
