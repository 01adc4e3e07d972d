"""The archive that students get: one notebook, what its cells and its visible checks import, and nothing that answers it.

Imports are read, not carried out (see grading/closure.py). Left out are solutions, other right answers, known mistakes, the
grader, tests, other chapters' checks. What an exercise withholds stands there without its body, and says so when it is
called; so cells after the exercises that need the reference itself end in that sentence. The checks work right answers out
too: what of that does not depend on the student is recorded when the archive is made, and stands there without its body (see
`recording`). What has to stay is named in `kept`, with the reason; so is a function of the reference that a check still calls.

The same sources give the same bytes.
"""
import ast
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from autograder.authoring.catalogue import ROOT, bare
from autograder.checks.withholding import in_chapter
from autograder.classroom.recording import Recording, chapter_modules, recorded
from autograder.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.closure import file_of, imports, modules_in
from autograder.grading.files import write_whole
from autograder.sandbox.stage import without

TOPS = ("autograder", "course", "reference_impl")
COMPARES = "a check compares with it"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
NEVER = ("autograder/grading/", "autograder/classroom/", "autograder/sandbox/", "course/sample_class/", "solutions/")
DATA = ("reference_impl/**/*.toml", "reference_impl/**/*.json", "requirements.lock", "LICENSE", "LICENSE-TEXT")
AS_THEY_ARE = "left as it is, with what works right values out, as --checks-as-they-are asks"
FIGURES = "course/book/figures.py"      # draws with the scripts in book/assets/
STAND_IN = '''"""Withheld in this archive: {why}."""
from autograder.checks.withheld import StandIn


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return StandIn({module!r}, {why!r})
'''
README = """\
# {title}

Open `{notebook}` in JupyterLab, write your code in the cells that ask for it, and run the check below each: it says what
holds, what does not, and what probably causes that. Hand in the notebook.

You need Python 3.11 to 3.13 with the packages of `requirements.lock`:

    python -m venv .venv
    .venv/bin/pip install -r requirements.lock
    .venv/bin/jupyter lab {notebook}

Where a cell needs a text or vectors, it names them; `.venv/bin/python -c "from reference_impl import corpora; corpora.fetch()"`
fetches all of them once. What the exercises ask for is left out of `reference_impl/`: the cells after the exercises that
run your functions inside the course's own models say so and need the whole course.
"""


@dataclass
class Release:
    """The archive, the files in it, and what became of what could answer an exercise.

    withheld: of the reference, what was left without its body. recorded: functions of the checks that give recorded results
    instead, with how many; expressions: so many more within functions. kept: functions that stay as they are, with the reason.
    compared: so many answers got the same from the archive's checks as from the repository's.
    """

    path: Path
    files: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    recorded: dict[str, int] = field(default_factory=dict)
    expressions: int = 0
    compared: int = 0
    kept: dict[str, str] = field(default_factory=dict)


def release(assignment: Assignment, path: Path, with_reference: bool = False, checks_as_they_are: bool = False) -> Release:
    """Write the archive of one assignment. with_reference: leave what is withheld as it is, and the checks. checks_as_they_are: leave
    these alone as they are, working-out included: nothing is recorded.

    Raises CourseError for an assignment in which faults are drawn (each student has a notebook of their own), and where a
    line of a solution stands in the notebook or in the course's own files. Checks and reference may share a line with one.
    """
    if any(one.faults for one in assignment.exercises.values()):
        raise CourseError(f"{assignment.name} has an exercise with a fault drawn for each student: `course author hand-out "
                          f"{assignment.number} ROSTER` writes one for each")
    leaked = leaks(assignment, sources(assignment, Release(path), with_reference))
    if leaked:
        raise CourseError(f"{assignment.name}: a line of a solution would reach the students: {'; '.join(leaked)}")
    made, taken = Release(path), Recording() if with_reference or checks_as_they_are else recorded(assignment)
    made.recorded, made.expressions, made.compared, made.kept = taken.recorded, taken.expressions, taken.compared, dict(taken.kept)
    if checks_as_they_are and not with_reference:
        made.kept = dict.fromkeys(sorted(path.removesuffix(".py").replace("/", ".") for path in chapter_modules(list(
            sources(assignment, Release(path), True)))), AS_THEY_ARE)
    texts = sources(assignment, made, with_reference, taken.texts)
    write_whole(path, _zipped(f"word2serve-{assignment.name}", texts))
    made.files = sorted(texts)
    return made


def sources(assignment: Assignment, made: Release, with_reference: bool, instead: Mapping[str, bytes] = MappingProxyType({})) -> dict[str, bytes]:
    """The files of the archive by path; notes in `made` what is withheld and what is kept. instead: files in another form."""
    tests = sorted(ROOT.glob(f"autograder/chapters/c{assignment.number}_*/test_*.py"))
    named = [name for cell in assignment.pristine.cells if cell.cell_type == "code" for name in modules_in(cell.source)]
    named += [_module(path) for path in tests]
    texts = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in behind(named, instead)} | dict(instead)
    for pattern in (*DATA, f"autograder/chapters/c{assignment.number}_*/withheld.json"):
        texts |= {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted(ROOT.glob(pattern))}
    if FIGURES in texts:
        texts |= _drawings("".join(cell.source for cell in assignment.pristine.cells) + texts.get("course/demo.py", b"").decode())
    if not with_reference:
        checks = [text.decode() for path, text in texts.items() if path.startswith("autograder/chapters/") and path.endswith(".py")]
        _withhold(assignment, texts, {name for text in checks for name in modules_in(text)}, made)
    notebook = f"{assignment.name}.ipynb"
    texts[notebook] = (json.dumps(assignment.pristine, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
    texts["README.md"] = README.format(title=assignment.name, notebook=notebook).encode()
    return texts


def _drawings(text: str) -> dict[str, bytes]:
    """The scripts of the figures that a text names, the kit that they stand on, and the colours."""
    folder = ROOT / "book" / "assets"
    named = [path for path in folder.glob("figures/*.js") if f'"{path.stem}"' in text]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in (*named, *folder.glob("figures/kit/*.js"), folder / "palette.css")}


def behind(named: list[str], instead: Mapping[str, bytes]) -> list[Path]:
    """The files of modules of ours, of all that they import, directly or not, and of the packages that they are in."""
    found: set[Path] = set()
    todo = list(named)
    while todo:
        name = todo.pop()
        if name.partition(".")[0] not in TOPS:
            continue
        path = file_of(name)
        if path is not None and path not in found:
            found.add(path)
            text = instead.get(path.relative_to(ROOT).as_posix())
            todo += imports(path) if text is None else modules_in(text.decode())
        todo += [name.rpartition(".")[0]] if "." in name and path is not None else []
    return sorted(path for path in found if not path.relative_to(ROOT).as_posix().startswith(NEVER))


def _withhold(assignment: Assignment, texts: dict[str, bytes], by_checks: set[str], made: Release) -> None:
    """Take out of the texts what the exercises withhold, but for the functions that the checks compare with."""
    for name, why in in_chapter(assignment.exercises.values()).items():
        if not name.startswith("reference_impl."):
            continue
        made.withheld.append(name)
        place = file_of(name)
        if place is None:
            module, _, function = name.rpartition(".")
            _rewrite(texts, file_of(module), module, {function: why})
            continue
        below = [place] if place.name != "__init__.py" else sorted(place.parent.rglob("*.py"))
        for path in below:
            module = _module(path)
            asked = {one.removeprefix(f"{module}.") for one in by_checks if one.startswith(f"{module}.")}
            key = path.relative_to(ROOT).as_posix()
            if asked:
                made.kept |= {f"{module}.{one}": COMPARES for one in sorted(asked)}
                _rewrite(texts, path, module, dict.fromkeys(_functions(path) - _used(path, asked), why))
            elif key in texts:
                texts[key] = STAND_IN.format(module=module, why=why).encode()


def _rewrite(texts: dict[str, bytes], path: Path, module: str, gone: dict[str, str]) -> None:
    key = path.relative_to(ROOT).as_posix()
    if key in texts:
        texts[key] = without(texts[key].decode(), module, gone).encode()


def _functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def _used(path: Path, names: set[str]) -> set[str]:
    """Of the functions at the top of a module, `names` and those that they call."""
    bodies = {node.name: {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
              for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}
    found, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name in bodies and name not in found:
            found.add(name)
            todo += bodies[name]
    return found


def leaks(assignment: Assignment, texts: dict[str, bytes]) -> list[str]:
    """Lines of this assignment's solutions in the notebook or in what comes from the course's own folders, as "FILE: line"."""
    secret = assignment.entry.secret_lines()
    return [f"{path}: {line.strip()}" for path, text in sorted(texts.items())
            if path.endswith(".ipynb") or path.startswith("course/") for line in _lines(path, text) if bare(line) in secret]


def _lines(path: str, text: bytes) -> Iterator[str]:
    if path.endswith(".ipynb"):
        for cell in json.loads(text)["cells"]:
            source = cell["source"]
            yield from (source if isinstance(source, str) else "".join(source)).split("\n")
    else:
        yield from text.decode("utf-8", errors="replace").split("\n")


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def laid_out(folder: Path, texts: dict[str, bytes]) -> None:
    """Write the files of an archive into a folder."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)


def _zipped(top: str, texts: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(texts.items()):
            info = zipfile.ZipInfo(f"{top}/{path}", LONG_AGO)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, text)
    return data.getvalue()
