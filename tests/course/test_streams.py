"""What a command says never stops what it does: a pipe that nobody reads, a full disk, letters that
a terminal lacks, a closed output.
"""

import json
import os
import subprocess
import sys

import pytest

from course.cli import main

LINES = "from course.streams import lasting\nimport sys\n"
MANY = (
    LINES + "with lasting() as shown:\n    for _ in range(20_000): print('a line of it')\n   "
    " print('\\u540d', flush=True)\nopen(sys.argv[1], 'w').write('done')\n"
)


def ran(program: str, folder, **options) -> tuple[int, str]:
    """The program with a file to write to when it is done; its exit code, and what stands there."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder / "done")],
        stderr=subprocess.PIPE,
        text=True,
        **options,
    ) as process:
        if process.stdout:
            process.stdout.readline()
            process.stdout.close()
        said = process.stderr.read()
    assert said == "", said
    return process.returncode, (folder / "done").read_text()


def test_a_reader_who_has_seen_enough_ends_nothing(tmp_path):
    assert ran(MANY, tmp_path, stdout=subprocess.PIPE) == (0, "done")


def test_a_full_disk_behind_the_output_ends_nothing(tmp_path):
    with open("/dev/full", "w") as full:
        assert ran(MANY, tmp_path, stdout=full) == (0, "done")


def test_a_letter_that_the_terminal_lacks_is_written_as_its_number(tmp_path):
    with open(tmp_path / "out", "w") as out:
        assert ran(
            MANY, tmp_path, stdout=out, env={**os.environ, "PYTHONIOENCODING": "latin-1"}
        ) == (0, "done")
    assert (tmp_path / "out").read_text().endswith("\\u540d\n")


def test_what_could_not_be_said_is_an_exit_code_and_a_line():
    with open("/dev/full", "w") as full:
        made = subprocess.run(
            [sys.executable, "-m", "course.cli", "hint", "ppmi"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (
        made.returncode == 2
        and made.stderr
        == "course: it is done, and what it says of that could not be written: No space left on"
        " device\n"
    )


def test_a_command_whose_output_is_closed_gets_no_file_in_its_place(tmp_path):
    program = (
        LINES
        + "import os\nwith lasting():\n    file = open(sys.argv[1], 'w')\n    assert file.fileno()"
        " > 2\n    file.write('done')\n"
    )
    assert ran(program, tmp_path, preexec_fn=lambda: (os.close(0), os.close(1))) == (0, "done")


@pytest.mark.parametrize(
    "words",
    [
        ["collect", "in", "--course-root", "afile"],
        ["submit", "work.ipynb", "--to", "afile/below/work.ipynb", "--assignment", "01"],
    ],
)
def test_a_path_that_cannot_be_made_is_named_in_one_line_and_as_json(
    words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").write_text("")
    (tmp_path / "in" / "ada").mkdir(parents=True)
    for place in (tmp_path / "work.ipynb", tmp_path / "in" / "ada" / "01-static-embeddings.ipynb"):
        place.write_text(
            json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        )
    assert main([*words, "--json"]) == 2
    said = capsys.readouterr()
    assert (
        "afile" in json.loads(said.out)["error"]
        and "afile" in said.err
        and "Traceback" not in said.err
    )


@pytest.mark.parametrize(
    "words", [["grade", "--jobs", "x"], ["export", "--to", "canva"], ["verify"]]
)
def test_a_slip_in_the_words_is_json_too(words, capsys):
    with pytest.raises(SystemExit) as end:
        main([*words, "--json"])
    assert end.value.code == 2 and json.loads(capsys.readouterr().out)["error"]


def test_a_mistyped_path_of_submissions_makes_no_class(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert (
        main(["grade", "nosuch"]) == 2
        and "nosuch: no such folder or zip" in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []
