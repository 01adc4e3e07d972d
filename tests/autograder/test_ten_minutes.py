"""CONTRIBUTING's "An exercise in ten minutes", followed to the letter in a copy of the
repository.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.catalogue import ROOT

COPIED = (
    "autograder",
    "course",
    "solutions",
    "exercises",
    "tests/autograder",
    "tests/conftest.py",
    "tests/signatures.py",
    "pyproject.toml",
    "requirements.lock",
)
PIECES = 4
RUN = """
import shlex, sys
from course.cli import main
for line in sys.argv[1:]:
    print("$", line, flush=True)
    code = main(shlex.split(line))
    if code:
        sys.exit(f"{line}: exit {code}")
"""


def section() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition("## An exercise in ten minutes\n")[2].partition("\n## ")[0]


def pieces(text: str) -> list[tuple[str, str]]:
    """Each block of Python, with the file that the words before it name last."""
    found, before = [], ""
    for words, code in re.findall(r"(.*?)```python\n(.*?)```", text, re.DOTALL):
        before += words
        found.append((re.findall(r"`((?:solutions|autograder)/[^`]+\.py)`", before)[-1], code))
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The repository with the pieces of the section at the ends of their files."""
    folder = tmp_path_factory.mktemp("ten-minutes")
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
    for name in ("reference_impl", "book", "bench"):
        (folder / name).symlink_to(ROOT / name)
    written = pieces(section())
    assert len(written) == PIECES and len({file for file, _ in written}) == PIECES
    for file, code in written:
        with (folder / file).open("a", encoding="utf-8") as end:
            end.write("\n\n" + code)
    return folder


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_what_is_printed_there_builds_and_is_judged_as_it_says(copy):
    """All but the sweep for importable answers, which has tests of its own."""
    [shell] = re.findall(r"```sh\n(.*?)```", section(), re.DOTALL)
    lines = [shlex.split(line, comments=True) for line in shell.strip().split("\n")]
    course = [
        shlex.join(words[1:])
        for words in lines
        if words[0] == ".venv/bin/course" and "withheld" not in words
    ]
    assert len(course) == 4
    said = run(copy, "-c", RUN, *course)
    assert "2 of 2" in said and "0 of " in said.rpartition("mutants survive")[0].rpartition("\n")[2]
    [tests] = [words[1:] for words in lines if words[0] == ".venv/bin/python"]
    assert re.search(
        r"\d passed", run(copy, *tests, "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    )
