"""`course package`: the student's functions as a package, and the reference in their place."""

import importlib
import subprocess
import sys

import nbformat
import pytest

from autograder.authoring import package
from autograder.authoring.catalogue import ROOT, assignment
from autograder.checks.restrictions import reference_imports as borrowed
from autograder.common.errors import CourseError
from autograder.sandbox import Cell, open_student
from course.cli import main

CELLS = [
    (
        'import math\nfrom math import sqrt as root\nunused = open("nowhere") if False else'
        " 1\nLIMIT = 2"
    ),
    "def twice(x):\n    return LIMIT * x",
    "x = = 1",
    (
        "# What it is for.\n@staticmethod\ndef helper(x):\n    ### BEGIN SOLUTION\n    return"
        " root(x)\n    ### END SOLUTION"
    ),
    "def ppmi(x):\n    return helper(x) + twice(x)",
    "def twice(x):\n    return x + x\nprint('side effect')\nLIMIT += 1",
]


def test_what_a_function_needs_is_collected_and_nothing_else():
    source = package.collect(CELLS, ["ppmi"])
    namespace = {}
    exec(source, namespace)
    assert namespace["ppmi"](9.0) == 21.0  # the later `twice` counts
    assert (
        "unused" not in source
        and "print" not in source
        and "SOLUTION" not in source
        and "import math\n" not in source
    )
    assert "# What it is for." in source
    with pytest.raises(CourseError, match="no cell defines `pmi`"):
        package.collect(CELLS, ["pmi"])


@pytest.fixture
def mywork(tmp_path, monkeypatch):
    """An empty mywork/, instead of the real one."""
    monkeypatch.setattr(borrowed, "PACKAGE", tmp_path / "word2serve_me")
    for function in (package.save, package.use_reference, package.use_own):
        defaults = tuple(
            tmp_path / "word2serve_me" if value == package.PACKAGE else value
            for value in function.__defaults__
        )
        monkeypatch.setattr(function, "__defaults__", defaults)
    return tmp_path


def notebook(path, **changed):
    """The reference's notebook with some functions replaced."""
    made = nbformat.v4.new_notebook(cells=[cell.copy() for cell in assignment("01").notebook.cells])
    for cell in made.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = changed.get(name, cell.source)
    nbformat.write(made, path)
    return path


def test_what_passes_is_saved_and_can_be_imported_and_what_does_not_is_named(mywork, capsys):
    path = notebook(mywork / "mine.ipynb", ppmi="def ppmi(counts):\n    return counts")
    assert main(["save", "01", str(path)]) == 1
    out = capsys.readouterr().out
    assert "not saved: 01.ppmi" in out and "keep_probability" in out
    code = (
        "import torch\nfrom word2serve_me.c01_static_embeddings import noise_distribution as"
        " f\nimport word2serve_me.c01_static_embeddings as m\nprint(f(torch.tensor([1,"
        " 1])).tolist(), hasattr(m, 'ppmi'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=mywork, capture_output=True, text=True)
    assert done.stdout.split("\n")[0].endswith("False"), done.stderr


def test_the_reference_can_be_borrowed_and_given_back(mywork, capsys):
    main(
        [
            "save",
            "01",
            str(notebook(mywork / "mine.ipynb", ppmi="def ppmi(counts):\n    return counts")),
        ]
    )
    path = mywork / "word2serve_me" / "c01_static_embeddings.py"
    own = path.read_text()
    assert main(["use", "reference", "01"]) == 0
    assert "Borrowed from the reference: chapter 01." in capsys.readouterr().out
    assert (
        borrowed.borrowed() == ["01"] and "def ppmi" in path.read_text() and "def ppmi" not in own
    )
    assert main(["use", "reference", "01"]) == 0 and main(["use", "mine", "01"]) == 0
    assert path.read_text() == own and borrowed.borrowed() == []
    assert main(["use", "mine", "01"]) == 2 and "you have saved nothing" in capsys.readouterr().err


def test_a_module_that_cannot_be_imported_leaves_the_old_one(mywork):
    one = assignment("01")
    package.save(one, [("a", "def ppmi(): return 1")], ["ppmi"])
    path = mywork / "word2serve_me" / "c01_static_embeddings.py"
    before = path.read_text()
    with pytest.raises(CourseError, match="NameError"):
        package.save(one, [("a", "LIMIT = nowhere\ndef ppmi(): return LIMIT")], ["ppmi"])
    assert path.read_text() == before and sorted(one.name for one in path.parent.glob("*.py")) == [
        "__init__.py",
        "c01_static_embeddings.py",
    ]


@pytest.mark.sandbox
def test_in_grading_earlier_chapters_are_the_reference():
    assert package.earlier_chapters("01").keys() == {"word2serve_me/__init__.py"}
    files = package.earlier_chapters("02")
    cells = [
        Cell(
            "a",
            "import torch\nfrom word2serve_me.c01_static_embeddings import ppmi\ndef f(x): return"
            " ppmi(x)",
        )
    ]
    import torch

    from reference_impl.embeddings.counts import ppmi

    counts = torch.tensor([[4.0, 1.0], [0.0, 3.0]])
    with open_student(cells, extra=files) as student:
        assert student.cell_errors == []
        assert torch.allclose(student.f(counts), ppmi(counts))


def test_a_notebook_finds_the_package_wherever_it_lies():
    importlib.import_module("autograder.check")
    assert str(ROOT / "mywork") in sys.path
