"""What the hash of the checks covers: all code that decides a verdict, and no comment."""

import ast
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from autograder import dependency_hash
from autograder.authoring import catalogue
from autograder.dependency_hash import ROOT, code_of, file_of, hash_behind, is_below, modules_behind
from autograder.grading.assignment import NOT_FOLLOWED, Assignment

# Every module of ours that is not in the hash of any assignment, or the package of it, with the
# reason.
OUTSIDE = {
    "autograder.authoring.asked": "for authors: what a check asks",
    "autograder.authoring.children": "for authors: runs mutants",
    "autograder.authoring.idle": "for authors: answers without work",
    "autograder.authoring.matrix": "for authors: the table of mistakes",
    "autograder.authoring.mutants": "for authors: mutation testing",
    "autograder.authoring.notebooks": "builds exercises/, and the notebook itself is in the hash",
    "autograder.authoring.operators": "for authors: the mutants",
    "autograder.authoring.proven": "for authors: what was tried in full",
    "autograder.authoring.solution_sources": "writes the sample class and the known notebooks",
    "autograder.authoring.student_notebook": "writes the sample class",
    "autograder.authoring.sweep": "for authors: looks for names to withhold",
    "autograder.authoring.tries": "for authors: runs a folder of answers",
    "autograder.authoring.wrappers": "for authors: the mutants",
    "autograder.chapters.conftest": "runs the checks under pytest",
    "autograder.check": "the check in a student's notebook at home; a sandbox has an empty one",
    "autograder.checks.kernels.traces": "the trace of a launch for a figure",
    "autograder.checks.rubric": "report: a result as text and HTML",
    "autograder.classroom": "collects submissions, stores verdicts and reports them",
    "autograder.course_layout": "where a result is kept",
    "autograder.dependency_hash": "works out the hash",
    "autograder.golf": "scores language models for a leaderboard, no assignment",
    "autograder.grading.executors": "hand submissions to processes here or elsewhere",
    "autograder.grading.results_store": "where a result is kept",
    "autograder.grading.result_diff": "report: what differs between two verdicts",
    "autograder.grading.notebook.student_cells": "runs a graded notebook again, with questions",
    "autograder.release.personal_notebooks": "writes notebooks with drawn faults",
    "autograder.grading.known_notebooks": "refuses to grade at all, before any verdict",
    "autograder.classroom.similarity.code_overlap": "report: how alike two answers are",
    "autograder.grading.progress_lines": "report: a verdict for a terminal",
    "autograder.checks.restrictions.import_hook": "at home: refuses what is not allowed",
    "autograder.common.iri": "for pages: reads addresses of other platforms",
    "autograder.notebook_progress": "at home: points so far and the next exercise, below a check",
    "autograder.hunt": "at home: a small change in one's own function, to be found",
    "autograder.examples": "report: what a student's examples would catch",
    "autograder.viva": "asks about an answer that has its points",
    "autograder.release": "writes the archives that students get",
    "autograder.sandbox.selftest": "doctor: what this machine can hold back",
    "course": "commands, the book and the sample class",
}
EQUIVALENTS = (  # of each chapter: reasons why a mutant is right, which only authors read
    "equivalents"
)
HEURISTICS = (
    "notebook/definitions",
    "notebook/relocated_answers",
    "notebook/review_flags",
    "notebook/review_kinds",
    "intake/limited_child",
    "grade",
    "notebook/read",
)
FIRST = "autograder.grading.grade"


def every_module() -> dict[str, Path]:
    found = {}
    for path in [*ROOT.glob("autograder/**/*.py"), *ROOT.glob("course/**/*.py")]:
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@pytest.fixture(scope="module")
def inside() -> set[str]:
    """The modules that are in the hash of one assignment or more, but for what only its notebook
    imports.
    """
    found = set()
    for path in sorted(catalogue.SOLUTIONS.glob("[0-9][0-9]-*.py")):
        one = Assignment(path.stem)
        one.__dict__.update(pristine=nbformat.v4.new_notebook(), earlier={})
        found |= modules_behind(one.deciding_modules(), NOT_FOLLOWED).keys()
    return found


def test_every_module_is_in_the_hash_or_listed_with_the_reason(inside):
    missing = [
        name
        for name in every_module()
        if name not in inside
        and not is_below(name, OUTSIDE)
        and name.rpartition(".")[2] != EQUIVALENTS
    ]
    assert not missing, (
        f"in no hash: {missing}. Let grading import it, or list it with the reason in OUTSIDE."
    )


def test_nothing_that_is_listed_decides_a_verdict(inside):
    reached = {name for name in inside if is_below(name, OUTSIDE)}
    assert not reached, "these are imported where verdicts are decided: take them from OUTSIDE"
    assert all(file_of(name) for name in OUTSIDE), "a module that is listed is gone"


def test_no_module_in_the_hash_reads_its_docstrings_or_comments(inside):
    """Those are not hashed.

    `compiled` reads the source of kernels, in which they change nothing.
    """
    readers = re.compile(r"\b(__doc__|getdoc|getsource|getsourcelines|getcomments)\b")
    found = {name for name in inside if readers.search(file_of(name).read_text(encoding="utf-8"))}
    assert found <= {"autograder.checks.kernels.compiler"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the code, to change."""
    root = tmp_path_factory.mktemp("copy")
    for package in ("autograder", "reference_impl"):
        shutil.copytree(
            ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__", "chapters")
        )
    return root


def hash_after(change, path: Path, root: Path) -> tuple[str, str]:
    """The hash of grading in a copy, before and after a file of it is changed; the file is then as
    it was.
    """
    modules = [FIRST, "autograder.sandbox.inside.worker"]
    before, text = hash_behind(modules, NOT_FOLLOWED, root), path.read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    try:
        return before, hash_behind(modules, NOT_FOLLOWED, root)
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "name", [*(f"grading/{name}" for name in HEURISTICS), "sandbox/inside/worker", "checks/runner"]
)
def test_another_line_of_code_changes_the_hash(name, copy):
    before, after = hash_after(
        lambda text: f"{text}\nLAST = 1\n", copy / f"autograder/{name}.py", copy
    )
    assert before != after


@pytest.mark.parametrize(
    "name", ["grading/notebook/review_flags", "sandbox/monitor/process", "checks/runner"]
)
def test_a_comment_a_docstring_or_another_layout_leaves_the_hash_as_it_is(name, copy):
    def change(text: str) -> str:
        return "# A remark.\n" + ast.unparse(documented(text)) + "\n\n\n# Another.\n"

    before, after = hash_after(change, copy / f"autograder/{name}.py", copy)
    assert before == after


def documented(text: str) -> ast.Module:
    """The syntax tree of a module in which every function begins with another docstring."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            rest = node.body[1:] if ast.get_docstring(node) is not None else node.body
            node.body = [ast.Expr(ast.Constant("Another docstring.")), *rest]
    return tree


def test_a_remark_in_the_doctor_leaves_the_hash_as_it_is(inside):
    assert (
        "autograder.sandbox.selftest.doctor" not in inside
        and "autograder.sandbox.inside.worker" in inside
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 'a'", "x = 'b'"),
        ("x = 1", "x = 1.0"),
        ("x = y", "y = x"),
        ("def f(): 'd'; 'text'", "def f(): 'text'; 'd'"),
        ("f(a, b)", "f(a)(b)"),
        ("x = f'{a}'", "x = f'{b}'"),
        ("x: int", "x: str"),
        ("f(*a)", "f(a)"),
        ("-x", "+x"),
    ],
)
def test_different_code_has_different_hashes(one, other):
    assert code_of(one).digest != code_of(other).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 'a'  # why", 'x = ("a")'),
        ("def f(): 'd'; return 1", "def f(): return 1"),
        ("f(a,\n  b)", "f(a, b,)"),
        ("class A:\n 'd'\n x = 1", "class A:\n x = 1"),
        ("'m'\nx = 1", "x = 1"),
        ("x = 'a' 'b'", "x = 'ab'"),
    ],
)
def test_the_same_code_has_the_same_hash(one, other):
    assert code_of(one).digest == code_of(other).digest


def test_a_string_that_students_are_shown_is_code():
    assert (
        code_of("def f():\n 'd'\n x = 'for @ students'").digest
        != code_of("def f():\n 'd'\n x = 'for students'").digest
    )


def test_imports_of_all_kinds_are_followed(tmp_path):
    files = {
        "p/__init__.py": "",
        "p/a.py": "import p.b\nfrom . import c\ndef f():\n    from .q import d\n",
        "p/b.py": "",
        "p/c.py": "",
        "p/q/__init__.py": "from ..e import x",
        "p/q/d.py": "from p.q import g as h",
        "p/q/g.py": "",
        "p/e.py": "x = 1",
        "p/alone.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = modules_behind(["p.a"], root=tmp_path)
    assert sorted(found) == ["p", "p.a", "p.b", "p.c", "p.e", "p.q", "p.q.d", "p.q.g"]
    assert sorted(modules_behind(["p.a"], ["p.q"], tmp_path)) == ["p", "p.a", "p.b", "p.c"]


def test_what_was_parsed_is_kept_for_the_next_run(tmp_path, monkeypatch):
    monkeypatch.setattr(dependency_hash, "STORE", tmp_path / "_build" / "hashes.json")
    forget()
    try:
        first = hash_behind([FIRST])
        forget()
        monkeypatch.setattr(dependency_hash, "_parsed", None)
        assert hash_behind([FIRST]) == first
    finally:
        forget()


def forget() -> None:
    dependency_hash._store.cache_clear()
    dependency_hash._code_of_file.cache_clear()


def names(*modules) -> set[str]:
    return {name.rpartition(".")[2] for name in modules_behind(modules)}


def test_the_checks_of_chapter_1_stand_on_the_protocol_and_not_on_later_chapters():
    behind = names("autograder.chapters.c01_static_embeddings.test_counting")
    assert {"test_counting", "protocol", "runner", "expect", "values"} <= behind
    assert not behind & {"bpe_training", "tokenizer", "hub", "notebooks"}


def test_from_a_package_import_module_leads_to_the_module():
    source = (
        "import os.path\nfrom reference_impl.embeddings import counts\n\ndef f():\n    import"
        " json\n"
    )
    assert list(code_of(source).imports) == [
        "os.path",
        "reference_impl.embeddings",
        "reference_impl.embeddings.counts",
        "json",
    ]
    assert (
        file_of("reference_impl.embeddings.counts").name == "counts.py" and file_of("json") is None
    )


CELL = (
    '# %% nbgrader={"grade": false, "grade_id": "f", "locked": false, "schema_version": 3,'
    ' "solution": true, "task": false}\n'
)


@pytest.mark.parametrize(
    ("changed", "old", "new", "differs"),
    [
        ("01-first", "x + 1", "x + 2", True),
        ("03-third", "x + 1", "x + 2", False),
        ("01-first", "x + 1", "x + 1  # one", False),
    ],
)
def test_a_change_in_an_earlier_chapters_reference_changes_the_checks_hash_and_one_in_a_later_or_a_remark_does_not(  # noqa: E501
    tmp_path, monkeypatch, changed, old, new, differs
):
    for name in ("01-first", "02-second", "03-third"):
        (tmp_path / f"{name}.py").write_text(
            CELL + "def helper(x):\n    return x + 1\n\ndef f(x):\n    return helper(x)\n"
        )
    monkeypatch.setattr(catalogue, "SOLUTIONS", tmp_path)
    monkeypatch.setattr("autograder.authoring.package.function_names", lambda one: ["f"])
    before = hash_of_second()
    assert hash_of_second() == before
    file = tmp_path / f"{changed}.py"
    file.write_text(file.read_text().replace(old, new))
    assert (hash_of_second() != before) is differs


def hash_of_second() -> str:
    """The checks' hash of the second chapter, with an empty notebook, worked out anew."""
    one = Assignment("02")
    one.__dict__["pristine"] = nbformat.v4.new_notebook()
    return one.checks_hash
