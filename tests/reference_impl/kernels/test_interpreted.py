"""Runs the tests of `interpreted` in a process of their own, where Triton interprets kernels, and
reports each file's.

Triton reads TRITON_INTERPRET once, when it is imported. In this process kernels must stay as they
are for a GPU.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only: the twins are tested here")
FOLDER = Path(__file__).parent / "interpreted"
FILES = sorted(path.stem for path in FOLDER.glob("test_*.py"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """(file, case, what went wrong or None) for each test that the other process ran, and what it
    printed.
    """
    report = tmp_path_factory.mktemp("interpreted") / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        str(FOLDER),
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    run = subprocess.run(
        command,
        env={**environment, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        timeout=600,
    )
    printed = run.stdout[-6000:] + run.stderr[-6000:]
    if not report.exists():  # the process died: a kernel that reads far outside does that
        return [], printed
    cases = []
    for case in ElementTree.parse(report).iter("testcase"):
        problems = [child for child in case if child.tag in ("failure", "error", "skipped")]
        cases.append(
            (
                case.get("classname").split(".")[-1],
                case.get("name"),
                problems[0].text if problems else None,
            )
        )
    return cases, printed


@pytest.mark.parametrize("file", FILES)
def test_kernels_in_the_interpreter(results, file):
    cases, printed = results
    ours = [(name, problem) for where, name, problem in cases if where == file]
    assert ours, f"no test of {file} ran:\n{printed}"
    failed = [f"{name}\n{problem}" for name, problem in ours if problem is not None]
    assert not failed, f"{len(failed)} of {len(ours)} failed:\n" + "\n\n".join(failed)


def test_every_kernel_is_launched_by_these_tests():
    launched = "".join((FOLDER / f"{name}.py").read_text() for name in FILES)
    kernels = Path(__file__).resolve().parents[3] / "reference_impl" / "kernels"
    with_kernels = {path.stem for path in kernels.glob("*.py") if "kernel[" in path.read_text()}
    imported = {
        name
        for name in with_kernels
        if f"reference_impl.kernels.{name} import" in launched
        or f"reference_impl.kernels import {name}" in launched
    }
    assert with_kernels - imported == {
        "flash_attention_backward"
    }  # run by flash_attention's gradients
