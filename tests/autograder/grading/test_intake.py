"""What may be in an .ipynb, and what is taken from it."""

import json
import os
import subprocess
import sys

import pytest

from autograder.grading.notebook.outputs import without_outputs
from autograder.grading.notebook.parse import (
    MAX_CELLS,
    MAX_NOTEBOOK_BYTES,
    RAISE_LIMIT,
    IntakeError,
    SubmittedCell,
    odd_version,
    read_cells,
    read_regular_file,
)


def notebook(*cells, **more):
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)} | more
    ).encode()


def code(source, grade_id=None, **more):
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": []} | more


def test_a_cell_keeps_kind_grade_id_and_joined_source():
    cells = read_cells(
        notebook(code(["a = 1\n", "b = 2"], "ppmi"), {"cell_type": "markdown", "source": "text"})
    )
    assert cells == [
        SubmittedCell("code", "ppmi", "a = 1\nb = 2"),
        SubmittedCell("markdown", None, "text"),
    ]


def test_format_3_is_read_from_its_worksheets():
    old = {
        "nbformat": 3,
        "worksheets": [
            {"cells": [{"cell_type": "code", "input": ["x = 1\n"]}]},
            {"cells": [{"cell_type": "heading", "source": "Title"}]},
        ],
    }
    assert read_cells(json.dumps(old).encode()) == [
        SubmittedCell("code", None, "x = 1\n"),
        SubmittedCell("markdown", None, "Title"),
    ]


@pytest.mark.parametrize("minor", [0, 2, 4, 5, 99])
def test_every_minor_version_of_format_4_is_read(minor):
    assert read_cells(notebook(code("x"), nbformat_minor=minor))[0].source == "x"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"\x89PNG\r\n\x1a\n", "does not start as JSON"),
        (notebook(code("x")).decode().encode("utf-16"), "UTF-16 text, and a notebook is UTF-8"),
        (notebook(code("x")).decode().encode("utf-16-be"), "UTF-16 text, and a notebook is UTF-8"),
        (b"null", "JSON, but not a notebook"),
        (b" [1]", "JSON, but not a notebook"),
        (b'{"cells": [', "broken JSON"),
        (b'{"cells": "\\ud8', "broken JSON"),
        (b'{"cells": "\xff\xfe"}', "not UTF-8"),
        (b'{"nbformat": 5}', "nbformat 5"),
        (b'{"cells": 3}', "no cells"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "broken JSON"),
        (b'{"a": ' + b"[" * 101, "nested"),
        (b'{"a": ' + b'{"a":' * 100_000, "nested"),
        (b'{"a": [' + b"1," * 500_000, "values"),
        (b'{"a": [' + b"[]," * 500_000, "values"),
        (b'{"' + b'\\"' * 2_000_000, "broken JSON"),
        (
            b'{"a": "' + b"x" * MAX_NOTEBOOK_BYTES + b'"}',
            "bytes; at most 20,971,520 are read. Remove large pictures, save, and hand in again",
        ),
        (notebook(*[{}] * (MAX_CELLS + 1)), "cells"),
        (notebook(*[code("x" * 50_000)] * 45), "characters"),
    ],
)
def test_a_file_beyond_the_limits_is_refused_with_its_reason(data, says):
    with pytest.raises(IntakeError, match=says):
        read_cells(data)


def test_brackets_inside_strings_do_not_count_as_nesting():
    assert read_cells(notebook(code('"' + "[" * 5_000)))[0].source.endswith("[")


@pytest.mark.parametrize("cell", [None, 3, "cell", [], [[]]])
def test_what_is_no_cell_keeps_its_place_and_says_so(cell):
    assert read_cells(notebook(cell, code("x"))) == [
        SubmittedCell("raw", None, "", unread="it is no cell"),
        SubmittedCell("code", None, "x"),
    ]


@pytest.mark.parametrize("source", [7, None, [1, 2, None], ["x = 1", None], {}, [["x"]], True])
def test_a_source_that_is_no_text_is_not_read_in_part(source):
    (cell,) = read_cells(notebook(code(source, "ppmi")))
    assert cell == SubmittedCell("raw", "ppmi", "", unread="its source is no text")


@pytest.mark.parametrize("kind", [7, None, ["code"], {}])
def test_a_cell_of_no_type_is_not_taken_for_a_text(kind):
    (cell,) = read_cells(notebook(code("x", "ppmi", cell_type=kind)))
    assert cell.unread == "its type is no word" and cell.grade_id == "ppmi"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (4, ""),
        (3, "of nbformat 3, an old format"),
        (5, "says nbformat 5, which is not known"),
        ("4", 'says nbformat "4"'),
        (True, "says nbformat true"),
        (4.5, "nbformat 4.5"),
        (None, "says no nbformat"),
        ([4] * 100, "says nbformat [4, 4"),
    ],
)
def test_another_format_than_four_is_named(version, said):
    found = odd_version({"nbformat": version, "cells": []})
    assert said in found and bool(found) == bool(said) and len(found) < 200


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        3,
        [],
        {"nbgrader": 3},
        {"nbgrader": {"grade_id": 3}},
        {"nbgrader": {"grade_id": "x" * 300}},
    ],
)
def test_metadata_of_any_shape_gives_no_grade_id(metadata):
    assert (
        read_cells(notebook({"cell_type": "code", "source": "x", "metadata": metadata}))[0].grade_id
        is None
    )


def test_a_source_holds_nothing_that_a_database_or_a_page_cannot_store():
    (cell,) = read_cells(
        b'{"cells": [{"cell_type": "code", "source": "a\\u0000b\\ud800c\\r\\nd"}]}'
    )
    assert cell.source == "a\ufffdb?c\nd"


def test_a_link_a_pipe_and_a_folder_are_not_read(tmp_path):
    (tmp_path / "link.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name, says in (
        ("link", "link"),
        ("pipe", "ordinary"),
        ("folder", "ordinary"),
        ("missing", "opened"),
    ):
        with pytest.raises(IntakeError, match=says):
            read_regular_file(tmp_path / f"{name}.ipynb")


def test_a_file_over_the_size_is_refused_before_it_is_read(tmp_path):
    huge = tmp_path / "huge.ipynb"
    with huge.open("wb") as file:
        file.truncate(50 * 2**30)  # sparse: takes no disk, would take 50 GiB of memory
    with pytest.raises(
        IntakeError, match="53,687,091,200 bytes; at most 209,715,200 are read. Clear the outputs"
    ):
        read_regular_file(huge)


@pytest.mark.parametrize(
    "output",
    [
        {"data": {"image/png": "A" * 2 * MAX_NOTEBOOK_BYTES}},
        {"text": ["]}" * 1_000_000]},
        {"data": {"plotly": {"x": [[1, 2]] * 250_000, "s": '\\"]'}}},
        {"data": {"a": {"outputs": [{"b": "x" * 30_000}] * 3}}},
    ],
)
def test_large_outputs_are_taken_out_before_anything_is_measured(output):
    first = code(
        "x = '\"outputs\": ['",
        "ppmi",
        outputs=[{"text": "Borrowed from the reference: chapter 01."}, output, output],
    )
    last = {
        "cell_type": "markdown",
        "source": "text",
        "attachments": {"a": {"image/png": "A" * 100_000}},
    }
    data = notebook(first, last, metadata={"outputs": 3})
    assert read_cells(data) == [
        SubmittedCell("code", "ppmi", first["source"], ("01",)),
        SubmittedCell("markdown", None, "text"),
    ]
    assert json.loads(without_outputs(data)) == json.loads(
        notebook(first | {"outputs": [first["outputs"][0], {}, {}]}, last, metadata={"outputs": 3})
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"outputs": [',
        b'{"outputs": [{"a": "' + b"x" * 50_000,
        b"]}]}" * 10_000,
        b'"outputs": [{}]',
        b'{"outputs": [{' + b"}" * 50_000,
        notebook(code("x")),
    ],
)
def test_bytes_without_large_outputs_stay_as_they_are(data):
    assert without_outputs(data) == data


def test_an_instructor_can_raise_the_limit(tmp_path):
    notebook_of_30_mib, code = (
        tmp_path / "large.ipynb",
        (
            "import sys, pathlib, autograder.grading.notebook.parse as intake;"
            " intake.parse(pathlib.Path(sys.argv[1]).read_bytes())"
        ),
    )
    notebook_of_30_mib.write_bytes(b'{"cells": [], "a": "' + b"x" * 30 * 2**20 + b'"}')
    for limit, works in (("", False), ("31", True), ("no number", False)):
        done = subprocess.run(
            [sys.executable, "-c", code, notebook_of_30_mib],
            env=os.environ | {RAISE_LIMIT: limit},
            capture_output=True,
        )
        assert (done.returncode == 0) == works


@pytest.mark.parametrize(
    ("outputs", "numbers"),
    [
        ([{"text": "Borrowed from the reference: chapter 02."}], ("02",)),
        (
            [
                {
                    "data": {
                        "text/plain": [
                            "01.ppmi: 1 of 5\\n",
                            "Borrowed from the reference: chapters 01, 02.",
                        ]
                    }
                }
            ],
            ("01", "02"),
        ),
        ([{"text": "Borrowed from the reference: chapter 01."}, {"text": "x" * 100_000}], ("01",)),
        ([{"text": "Borrowed from the reference: chapters " + "01, " * 50_000}], ()),
        ([{"text": {"a": 1}}, 7, None], ()),
        ("text", ()),
        ([{"data": []}], ()),
        ([{"text": ["Borrowed", 3, " from the reference: chapter 0x"]}], ()),
    ],
)
def test_of_the_outputs_only_the_line_about_borrowing_is_read(outputs, numbers):
    [cell] = read_cells(
        json.dumps(
            {"nbformat": 4, "cells": [{"cell_type": "code", "source": "x", "outputs": outputs}]}
        ).encode()
    )
    assert cell.borrowed == numbers and cell.source == "x"
