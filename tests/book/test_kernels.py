"""Kernels forked from a process that has loaded the libraries: warm, apart from each other, and
gone when they should be.
"""

import os
from contextlib import nullcontext

import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from course.book.build import build, cache
from course.book.build import kernel_pool as kernels

pytestmark = pytest.mark.skipif(not kernels.POSSIBLE, reason="kernels start warm on Linux only")


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    """One process with the libraries for all tests of this file; a kernel that outlives it is an
    error.
    """
    folder = tmp_path_factory.mktemp("left")
    with kernels.Nursery() as started:
        yield started
        left = kernels.Fork(
            started.address,
            {
                "arguments": ["-f", str(folder / "kernel.json")],
                "cwd": str(folder),
                "env": dict(os.environ),
            },
        )
        assert left.poll() is None
    left.wait(timeout=120)


def run(nursery, folder, *cells):
    """What each cell printed."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    NotebookClient(
        notebook,
        kernel_manager_class=nursery.manager,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream").strip()
        for cell in notebook.cells
    ]


def test_a_kernel_has_the_libraries_and_none_of_our_modules(nursery, tmp_path):
    names = "('torch', 'scipy.sparse', 'course', 'reference_impl', 'autograder')"
    assert run(
        nursery, tmp_path, f"import sys\nprint([name for name in {names} if name in sys.modules])"
    ) == ["['torch', 'scipy.sparse']"]


def test_a_kernel_runs_in_its_page_s_folder_with_the_builder_s_environment(
    nursery, tmp_path, monkeypatch
):
    monkeypatch.setenv("W2S_BOOK", "1")
    assert run(nursery, tmp_path, "import os; print(os.getcwd(), os.environ['W2S_BOOK'])") == [
        f"{tmp_path} 1"
    ]


def test_a_kernel_draws_into_its_page_as_one_that_starts_cold_does(nursery, tmp_path):
    draw = (
        "import sys\nprint('matplotlib.pyplot' in sys.modules)\nimport matplotlib.pyplot as"
        " plt\nplt.figure()\nprint(plt.get_backend())"
    )
    assert run(nursery, tmp_path, draw) == ["True\nmodule://matplotlib_inline.backend_inline"]


def test_a_value_of_one_page_is_not_seen_by_the_next_and_random_numbers_start_anew(
    nursery, tmp_path
):
    draw = "import torch; print(torch.rand(1).item(), hasattr(torch, 'left'))\ntorch.left = 1"
    assert run(nursery, tmp_path, draw) == run(nursery, tmp_path, draw)
    assert run(nursery, tmp_path, draw)[0].endswith("False")


def test_its_clock_counts_the_page_s_work_and_not_the_libraries(nursery, tmp_path):
    spent = float(run(nursery, tmp_path, "import time, torch; print(time.process_time())")[0])
    assert spent < nursery.cpu_seconds / 2


def test_a_page_that_ends_its_own_process_is_told_and_the_next_one_runs(nursery, tmp_path):
    with pytest.raises(DeadKernelError):
        run(nursery, tmp_path, "import os; os._exit(3)")
    assert run(nursery, tmp_path, "print(1)") == ["1"]


def test_of_a_page_in_a_warm_kernel_it_is_known_what_it_read(nursery, tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "Nursery", lambda: nullcontext(nursery))
    (tmp_path / "book").mkdir()
    (tmp_path / "near.py").write_text("import json\njson.load(open('../far.json'))\n")
    (tmp_path / "far.json").write_text("1")
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
    for name, code in (
        ("one", "import sys; sys.path.insert(0, '..'); import near"),
        ("two", "import torch"),
    ):
        (tmp_path / "book" / f"{name}.md").write_text(
            f"{head}```{{code-cell}} python\n{code}\n```\n"
        )
    said = []
    assert build.execute_pages(tmp_path, 1, said.append) == []
    assert any("libraries loaded once" in line for line in said)
    assert cache.read_by_pages(tmp_path) == {
        "book/one.md": ["far.json", "near.py"],
        "book/two.md": [],
    }


def test_a_kernel_that_asks_for_it_interprets_triton(nursery, tmp_path):
    triton = (
        "import os; os.environ['TRITON_INTERPRET'] = '1'\nimport torch, triton, triton.language"
        " as tl"
    )
    kernel = (
        "@triton.jit\ndef total(x, out, N: tl.constexpr):\n    tl.store(out, tl.sum(tl.load(x +"
        " tl.arange(0, N)), 0))"
    )
    call = "x, out = torch.arange(4.0), torch.zeros(1)\ntotal[(1,)](x, out, N=4)\nprint(out.item())"
    assert run(nursery, tmp_path, triton, kernel, call)[2] == "6.0"
