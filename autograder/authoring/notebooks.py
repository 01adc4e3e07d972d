"""From `solutions/NN-name.py` to the student's notebook: the same bytes at every build.

Solutions file -> nbgrader source notebook -> `nbgrader generate_assignment`, in this process and
without a database -> `exercises/NN-name/NN-name.ipynb`. What lies between is in
`_build/exercises/`. A course root and its gradebook are made by `course grade` (see gradebook.py),
from the same source notebook. Cell ids come from the grade id, or from the position.
"""

import filecmp
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from traitlets.config import Config

from autograder.authoring.catalogue import EXERCISES, ROOT, Assignment, bare, grade_id_of
from autograder.common.errors import CourseError

BUILD_ROOT = ROOT / "_build" / "exercises"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
CODE_STUB = 'raise NotImplementedError("replace this line with your code.")'
TEXT_STUB = "*Write your answer here.*"


def build(one: Assignment, build_root: Path = BUILD_ROOT, exercises: Path = EXERCISES) -> Path:
    """Make the student notebook of one assignment and return its path.

    Raises CourseError when notebook and checks disagree, when nbgrader refuses, or when a solution
    would leak.
    """
    problems = one.problems()
    if problems:
        raise CourseError(f"{one.path}: " + "; ".join(problems))
    source = build_root / "source" / one.name / f"{one.name}.ipynb"
    write_notebook(source_notebook(one), source)
    release = generate(one.name, build_root)
    leaked = leaks(one, release.parent)
    if leaked:
        raise CourseError("a solution would reach the students: " + "; ".join(leaked))
    target = exercises / one.name / f"{one.name}.ipynb"
    keep_work(target, exercises.parent / "mywork")
    write_notebook(nbformat.read(release, as_version=4), target)
    return target


def keep_work(notebook: Path, folder: Path) -> Path | None:
    """Copy a notebook that somebody has worked in to `folder` before the build writes over it;
    returns the copy.

    Worked in means: a cell was run, or a solution cell is no longer the stub. Students should copy
    the notebook first, but who forgets must not lose an afternoon. The name carries a hash, so that
    no copy replaces another.
    """
    if not notebook.exists():
        return None
    content = notebook.read_bytes()
    try:
        cells = nbformat.reads(content.decode("utf-8"), as_version=4).cells
    except (ValueError, AttributeError):  # not a notebook any more: keep it all the same
        cells = None
    if cells is not None and not any(map(worked_in, cells)):
        return None
    copy = folder / f"{notebook.stem}-{hashlib.sha256(content).hexdigest()[:8]}.ipynb"
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        print(f"{notebook} had work in it: a copy is in {copy}")
    return copy


def worked_in(cell: NotebookNode) -> bool:
    """Whether a cell of a student notebook was run, or holds an answer where the stub was."""
    if cell.cell_type == "code" and (cell.get("execution_count") or cell.get("outputs")):
        return True
    stub = TEXT_STUB if cell.cell_type == "markdown" else CODE_STUB
    return cell.metadata.get("nbgrader", {}).get("solution", False) and stub not in cell.source


def stale(one: Assignment, exercises: Path = EXERCISES) -> str:
    """Why the committed notebook is not what the sources give, in a sentence; "" when it is.

    Changes nothing.
    """
    committed = exercises / one.name / f"{one.name}.ipynb"
    if not committed.exists():
        return f"{committed} does not exist; `course generate-assignment {one.number}` makes it"
    with tempfile.TemporaryDirectory() as folder:
        fresh = build(one, Path(folder, "build"), Path(folder, "exercises"))
        same = filecmp.cmp(committed, fresh, shallow=False)
    leaked = leaks(one, committed.parent)
    if leaked:
        return "; ".join(leaked)
    return (
        ""
        if same
        else (
            f"{committed} is not what {one.path.name} gives; `course generate-assignment"
            f" {one.number}` makes it anew"
        )
    )


def source_notebook(one: Assignment) -> NotebookNode:
    """The nbgrader source notebook, solutions included, with an id for every cell that never
    changes by itself.
    """
    notebook = nbformat.from_dict(one.notebook)
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for position, cell in enumerate(notebook.cells):
        cell.id = grade_id_of(cell) or f"cell-{position:03}"
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.cell_type = cell.cell_type
    return notebook


def generate(name: str, build_root: Path) -> Path:
    """Run `nbgrader generate_assignment` for one assignment, without a gradebook; returns the
    release notebook.
    """
    from nbgrader.apps import NbGraderAPI  # takes 1 s
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import SaveCells

    config = course_config(build_root)
    config.GenerateAssignment.no_database = True
    config.GenerateAssignment.preprocessors = [
        step for step in GenerateAssignment.preprocessors.default() if step is not SaveCells
    ]
    with interpreter_on_path():
        result = NbGraderAPI(config=config).generate_assignment(name)
    release = build_root / "release" / name / f"{name}.ipynb"
    if not result["success"] or not release.exists():
        raise CourseError(f"nbgrader generate_assignment {name} failed:\n{result.get('log')}")
    return release


@contextmanager
def interpreter_on_path() -> Iterator[None]:
    """Put this interpreter's folder first on PATH: nbgrader runs `alembic` by name when it makes a
    gradebook.
    """
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def sqlite_url(course_root: Path) -> str:
    """The URL of gradebook.db in a course root.

    A path may hold what ends a path in a URL, or stands for another letter there.
    """
    return f"sqlite:///{course_root}/gradebook.db".replace("%", "%25").replace("?", "%3F")


def course_config(course_root: Path) -> Config:
    """nbgrader's settings that the build needs; the grader adds its own to them."""
    config = Config()
    config.CourseDirectory.root = str(course_root)
    config.CourseDirectory.db_url = sqlite_url(course_root)
    config.ClearSolutions.code_stub = {"python": CODE_STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    return config


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write canonical JSON (sorted keys, UTF-8, one final newline), and only when it changes a
    byte.
    """
    nbformat.validate(notebook)
    text = nbformat.writes(notebook)
    text = text if text.endswith("\n") else text + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def leaks(one: Assignment, folder: Path) -> list[str]:
    """Every line of a solution or hidden test that some file under `folder` contains, as "FILE:
    line".
    """
    secret = one.secret_lines()
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".ipynb":
            lines = "\n".join(
                cell.source for cell in nbformat.read(path, as_version=4).cells
            ).split("\n")
        else:
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        found += [f"{path.name}: {line.strip()}" for line in lines if bare(line) in secret]
    return found
