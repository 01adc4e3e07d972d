"""What a page read is noted while it runs, and a change asks for the pages that read it and for no
other.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course.book.build import build as book_build
from course.book.build import cache as book_cache
from course.book.build import dependencies as trace

ROOT = Path(__file__).resolve().parents[2]
HEAD = (
    "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n# Page\n\n"
)
HERE = "import sys; sys.path.insert(0, '..')\n"


@pytest.fixture
def course(tmp_path):
    """A course of two chapters: each page imports a module of its own, one of them by way of
    another module.
    """
    for name, text in {
        "alpha/__init__.py": "",
        "alpha/far.py": "x = 1\n",
        "alpha/near.py": "from alpha.far import x\n",
        "beta.py": "y = 2\n",
        "requirements.lock": "torch==1\n",
        "bench/results/one.json": "1",
        "bench/results/two.json": "2",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "book").mkdir()

    def write(**pages):
        for name, code in pages.items():
            (tmp_path / "book" / f"{name}.md").write_text(
                f"{HEAD}```{{code-cell}} python\n{HERE}{code}\n"
                f"open('{name}.ran', 'a').write('x')\n```\n"
            )
        return tmp_path

    return write


def quiet(line):
    """A listener for progress that keeps nothing."""


def times(root, *names):
    """How often each page has run."""
    return [len((root / "book" / f"{name}.ran").read_text()) for name in names]


def noted(root, code):
    """The lines that watching a process which runs `code` in `root` gives."""
    program = (
        f"from course.book.build.dependencies import watch; watch('notes', {str(root)!r});"
        f" import sys; sys.path.insert(0, '.')\n{code}"
    )
    subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=root,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return set((root / "notes").read_text().splitlines())


def test_an_edited_module_runs_only_the_pages_that_reach_it(course):
    root = course(
        one="from alpha.near import x",
        two="import beta; import json; json.load(open('../bench/results/two.json'))",
    )
    assert book_build.execute_pages(root, 2, quiet) == []
    assert book_cache.read_by_pages(root) == {
        "book/one.md": ["alpha/__init__.py", "alpha/far.py", "alpha/near.py"],
        "book/two.md": ["bench/results/two.json", "beta.py"],
    }
    (root / "alpha" / "far.py").write_text("x = 10\n")
    said = []
    assert book_build.execute_pages(root, 2, said.append) == []
    assert times(root, "one", "two") == [2, 1]
    assert any("alpha/far.py changed" in line for line in said)
    (root / "bench" / "results" / "two.json").write_text("22")
    assert book_build.execute_pages(root, 2, quiet) == []
    assert times(root, "one", "two") == [2, 2]
    (root / "bench" / "results" / "one.json").write_text("11")
    (root / "book" / "two.md").write_text(
        (root / "book" / "two.md").read_text() + "\nMore words.\n"
    )
    assert book_build.execute_pages(root, 2, quiet) == []
    assert times(root, "one", "two") == [2, 2]
    (root / "requirements.lock").write_text("torch==2\n")
    assert book_build.execute_pages(root, 2, quiet) == []
    assert times(root, "one", "two") == [3, 3]


def test_modules_reached_and_files_read_are_noted_and_what_is_written_is_not(course):
    assert noted(
        course(),
        "import alpha.near; open('bench/results/one.json').read(); open('out.txt', 'w').write('x')",
    ) == {"alpha/__init__.py", "alpha/near.py", "alpha/far.py", "bench/results/one.json"}


def test_compiled_code_counts_as_its_source(course):
    root = course()
    subprocess.run([sys.executable, "-m", "compileall", "-q", "beta.py"], cwd=root, check=True)
    assert "beta.py" in noted(root, "import beta")


def test_a_listed_folder_is_noted_and_a_new_file_in_it_is_a_change(course):
    root = course()
    assert "bench/results/" in noted(
        root, "from pathlib import Path; sorted(Path('bench/results').glob('*.json'))"
    )
    read = book_cache.fingerprints(root, ["bench/results/"], since=time.time())
    assert book_cache.changed(root, read) == []
    (root / "bench" / "results" / "three.json").write_text("3")
    assert book_cache.changed(root, read) == ["bench/results/"]


def test_weights_that_safetensors_opens_are_noted(course):
    root = course()
    code = (
        "import numpy, safetensors.numpy as s; s.save_file({'a': numpy.ones(2)}, 'w.safetensors')\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)
    assert "w.safetensors" in noted(
        root,
        "import safetensors; safetensors.safe_open('w.safetensors', framework='np').__enter__()",
    )


@pytest.mark.parametrize(
    "start",
    [
        "import subprocess; subprocess.run([sys.executable, '-c', ''])",
        "import os; os.system('true')",
        "import subprocess; subprocess.run('true', shell=True)",
        "import multiprocessing.popen_spawn_posix",
    ],
)
def test_a_page_that_starts_python_or_a_shell_is_taken_to_read_everything(course, start):
    assert trace.EVERYTHING in noted(course(), start)
    root = course()
    read = book_cache.fingerprints(root, [trace.EVERYTHING], since=time.time())
    (root / "bench" / "results" / "one.json").write_text("something else")
    assert book_cache.changed(root, read) == [trace.EVERYTHING]


def test_another_program_is_not_taken_to_read_everything(course):
    assert trace.EVERYTHING not in noted(
        course(), "import subprocess; subprocess.run(['uname'], stdout=subprocess.DEVNULL)"
    )


def test_a_file_written_while_the_page_ran_is_not_trusted(course):
    root = course()
    read = book_cache.fingerprints(root, ["beta.py"], since=time.time() - 3600)
    assert book_cache.changed(root, read) == ["beta.py", "requirements.lock"]


def test_a_file_that_was_missing_and_comes_is_a_change(course):
    root = course()
    read = book_cache.fingerprints(root, ["later.json"], since=time.time())
    assert book_cache.changed(root, read) == []
    (root / "later.json").write_text("1")
    assert book_cache.changed(root, read) == ["later.json"]


def test_a_page_that_was_run_unwatched_is_not_trusted(course):
    assert book_cache.changed(course(), None) == ["?"]


def test_a_kept_page_whose_file_is_gone_is_run_again(course):
    root = course(one="x = 1")
    assert book_build.execute_pages(root, 1, quiet) == []
    for kept in book_cache.cache_path(root).glob("executed/*/base.ipynb"):
        kept.unlink()
    assert book_build.execute_pages(root, 1, quiet) == []
    assert times(root, "one") == [2]
