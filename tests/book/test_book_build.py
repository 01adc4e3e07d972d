"""The cache of executed pages and the questions `has anything changed?` and `is this page in
order?`.
"""

from pathlib import Path

import pytest

from autograder.common.errors import CourseError
from course.book.build import build as book_build

ROOT = Path(__file__).resolve().parents[2]
HEAD = (
    "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n# Page\n\n"
)


@pytest.fixture
def course(tmp_path):
    """A course with one page of the given code, and a line of reference code."""
    for folder in ("book", "reference_impl"):
        (tmp_path / folder).mkdir()
    (tmp_path / "reference_impl" / "a.py").write_text("x = 1\n")
    (tmp_path / "_config.yml").write_text("title: t\n")

    def write(code, name="page"):
        (tmp_path / "book" / f"{name}.md").write_text(
            f"{HEAD}```{{code-cell}} python\n{code}\n```\n"
        )
        return tmp_path

    return write


def quiet(line):
    """A listener for progress that keeps nothing."""


@pytest.mark.parametrize("name", ["book/page.md", "_config.yml", "reference_impl/a.py"])
def test_any_changed_input_changes_the_hash_of_the_inputs(course, name):
    root = course("1")
    before = book_build.input_hash(root)
    (root / name).write_text((root / name).read_text() + "\n")
    assert book_build.input_hash(root) != before


def test_a_page_runs_once_and_then_comes_from_the_cache(course):
    root = course("open('ran.txt', 'a').write('x')")
    assert book_build.execute_pages(root, 2, quiet) == []
    assert book_build.execute_pages(root, 2, quiet) == []
    assert (root / "book" / "ran.txt").read_text() == "x"


def test_a_page_that_fails_or_warns_is_named_and_not_kept(course):
    course("raise ValueError('planted')", "fails")
    root = course("import warnings; warnings.warn('planted')", "warns")
    for _ in range(2):
        found = sorted(book_build.execute_pages(root, 2, quiet))
        assert [line.split(":")[0] for line in found] == ["book/fails.md", "book/warns.md"]
        assert "ValueError: planted" in found[0] and "UserWarning: planted" in found[1]


def test_a_page_knows_that_it_runs_for_the_book(course):
    root = course("from course.book.build.cache import in_book; assert in_book()")
    assert book_build.execute_pages(root, 1, quiet) == []


def test_a_fault_in_the_sources_stops_the_build_before_any_page_runs(course):
    root = course("open('ran.txt', 'a').write('x')")
    (root / "_config.yml").write_text("titel: t\n")
    (root / "book" / "_toc.yml").write_text("format: jb-book\nroot: page\n")
    with pytest.raises(CourseError, match="unknown key 'titel'"):
        book_build.build_book(root, say=quiet)
    assert not (root / "book" / "ran.txt").exists()


def test_a_label_may_move_to_another_page_between_two_builds(course):
    root = course("1")
    (root / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: page\nchapters:\n- file: a\n- file: z\n"
    )

    def labelled(page, other):
        (root / "book" / f"{page}.md").write_text("# One\n\n(moved)=\n## Here\n")
        (root / "book" / f"{other}.md").write_text("# Other\n\nSee [it](#moved).\n")
        book_build.run_jupyter_book(root, True, quiet)

    labelled("z", "a")
    labelled("a", "z")


def test_a_label_on_two_pages_stops_every_build(course):
    root = course("1")
    (root / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: page\nchapters:\n- file: a\n- file: z\n"
    )
    for page in "az":
        (root / "book" / f"{page}.md").write_text(f"# {page}\n\n(twice)=\n## Here\n")
    for _ in range(2):
        with pytest.raises(CourseError, match="duplicate label twice"):
            book_build.run_jupyter_book(root, True, quiet)


def test_an_unchanged_book_is_not_built_again(html):
    said = []
    assert book_build.build_book(ROOT, say=said.append) == html / "index.html"
    assert said == ["book: nothing has changed"]


def test_the_plain_command_writes_the_book_without_a_warning_and_runs_no_page_again(html):
    """`course book` writes the pages by the command that anybody may type, `jupyter-book build book
    -W --keep-going -n`.
    """
    log = (ROOT / "_build" / "book.log").read_text()
    assert "build succeeded." in log and "Executing notebook" not in log
    assert "WARNING" not in log and "-W" in book_build.plain_command(strict=True)


def test_a_line_that_a_busy_kernel_sent_in_pieces_is_one_line(course):
    from jupyter_cache import get_cache

    pieces = (
        "import sys, time\nfor piece in ('right of 16:', ' 8', chr(10), 'next'):\n    print(piece,"
        " end='', flush=True)\n    time.sleep(0.3)"
    )
    root = course(pieces)
    assert book_build.execute_pages(root, 1, quiet) == []
    (kept,) = get_cache(root / "_build" / "executed_pages").list_cache_records()
    (cell,) = get_cache(root / "_build" / "executed_pages").get_cache_bundle(kept.pk).nb.cells[-1:]
    assert [output.text for output in cell.outputs] == ["right of 16: 8\nnext"]
