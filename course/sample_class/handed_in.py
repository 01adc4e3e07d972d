"""One sample student: what is handed in, what it shows, and what it must earn."""

import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.student_notebook import Notebook


@dataclass(frozen=True)
class Sample:
    """make: from a fresh Notebook and the traps to the notebook's bytes (or None for no file).

    loses: points lost by grade id; "*": everything that is not named in `keeps`. human: nothing can
    be decided without a person; undecided: only these exercises. harmful: must only ever run behind
    walls. files: other files of the folder, by name. link: the notebook is a symbolic link to this
    path. links: further links in the folder. zipped: handed in as STUDENT.zip.
    """

    student: str
    shows: str
    make: Callable[[Notebook, dict[str, str]], bytes | None]
    loses: dict[str, float] = field(default_factory=dict)
    keeps: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    human: bool = False
    harmful: bool = False
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    link: str = ""
    zipped: bool = False

    def expected(self, assignment) -> dict[str, float | None]:
        """Points by exercise id; None where a person decides. An untouched written answer is 0."""
        points = {}
        for id, one in assignment.exercises.items():
            short = id.split(".", 1)[1]
            if one.kind == "manual":
                answered = not self.human and short not in self.loses and "*" not in self.loses
                points[id] = None if self.human or answered else 0.0
            elif self.human or short in self.undecided:
                points[id] = None
            elif "*" in self.loses and short not in self.keeps:
                points[id] = 0.0
            else:
                points[id] = float(one.points - self.loses.get(short, 0))
        return points

    def write(self, assignment, submitted: Path, traps: dict[str, str]) -> None:
        """Write the submission below `submitted`."""
        data = self.make(Notebook(assignment), traps)
        if self.zipped:
            _keep(submitted / f"{self.student}.zip", data)
            return
        folder = submitted / self.student / assignment.name
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{assignment.name}.ipynb"
        for path, to in [(folder / name, to) for name, to in self.links.items()] + (
            [(target, self.link)] if self.link else []
        ):
            if not path.is_symlink():
                os.symlink(to, path)
        for name, text in self.files.items():
            _keep(folder / name, text.format(**traps).encode())
        if data is not None:
            _keep(target, data)


def zip_of(members: dict[str, bytes]) -> bytes:
    """A zip with these files, the same bytes every time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(
                zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED
            )
    return buffer.getvalue()


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
