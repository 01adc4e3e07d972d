"""What holds for every command: exit codes in the help, JSON for results, completion, and an answer
to slips.
"""

import argparse
import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from autograder.common.errors import CourseError
from course.cli import COMMANDS, build_parser, main
from course.commands.return_ import platform_of
from course.completion import described, script
from course.renamed import modern


def every_help(capsys):
    """What --help says, by command, those of parts such as `author matrix` included."""
    found = {}
    for command in COMMANDS:
        parts = next(
            (
                action.choices
                for action in parser_of(command)._actions
                if isinstance(action, argparse._SubParsersAction)
            ),
            {},
        )
        for words in [[command], *([command, part] for part in parts)]:
            with pytest.raises(SystemExit) as end:
                main([*words, "--help"])
            found[" ".join(words)] = capsys.readouterr().out
            assert end.value.code == 0
    return found


def parser_of(command):
    [commands] = [
        action
        for action in build_parser(command)._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return commands.choices[command]


def test_the_help_of_every_command_says_its_exit_codes_and_that_it_speaks_json(capsys):
    helps = every_help(capsys)
    assert set(COMMANDS) < set(helps) and "author hand-out" in helps
    for command, text in helps.items():
        assert "Exit codes:" in text, command
        # The first has parts, which have it; the second prints nothing of its own.
        assert "--json" in text or command in ("author", "formgrader"), command


@pytest.mark.parametrize(
    "words",
    [
        ["completion", "--json"],
        ["hint", "01.ppmi", "--json"],
        ["hint", "ppmi", "--json"],
        ["author", "build", "01", "--check", "--json"],
        ["fetch", "--list", "--json"],
    ],
)
def test_what_is_said_as_json_is_json_and_nothing_else(words, capsys):
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["grade", "--jbos", "2"], "did you mean --jobs?"),
        (["report", "--course-rot=x"], "did you mean --course-root?"),
        (["gradee"], "did you mean `course grade`?"),
        (["export", "--to", "mooodle"], "did you mean moodle?"),
        (["author", "matirx"], "did you mean matrix?"),
        (["hint", "01.ppmu"], "did you mean ppmi?"),
        (["release-assignment", "01-static-embeding"], "did you mean 01-static-embeddings?"),
    ],
)
def test_a_mistyped_word_is_answered_with_what_was_probably_meant(words, said, capsys):
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"null", "JSON, but not a notebook"),
        (b"", "the file is empty"),
        (b'{"cells": [', "broken JSON"),
        (
            b'\xef\xbb\xbf{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
            "begins with a byte-order mark",
        ),
    ],
)
def test_a_student_is_told_before_handing_in_what_the_grader_or_jupyter_cannot_read(
    data, said, tmp_path, capsys
):
    (tmp_path / "01-mine.ipynb").write_bytes(data)
    assert main(["check", str(tmp_path / "01-mine.ipynb")]) == 2 and said in capsys.readouterr().err


@pytest.fixture(scope="module")
def commands():
    return described(COMMANDS, build_parser)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["course", "reg"], ["regrade"]),
        (["course", "grade", "--jo"], ["--jobs"]),
        (["course", "export", "mo"], ["moodle"]),
        (["course", "grade", "exp"], []),
        (["course", "report", "--assignment", "01", "--js"], ["--json"]),
    ],
)
def test_bash_completes_commands_options_and_choices(commands, tmp_path, line, offered):
    asked = " ".join(f"'{word}'" for word in line)
    program = (
        f"{script('bash', commands)}\nCOMP_WORDS=({asked})\nCOMP_CWORD={len(line) - 1}\n_course\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ran = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stderr == "" and ran.stdout.split() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_for_another_shell_names_everything_and_is_a_program_of_that_shell(
    commands, shell, tmp_path
):
    text = script(shell, commands)
    for one in commands:
        assert one.name in text and all(option.removeprefix("--") in text for option in one.options)
    if shutil.which(shell):
        path = tmp_path / "completion"
        path.write_text(text)
        assert subprocess.run([shell, "-n", path], capture_output=True, text=True).stderr == ""


def test_the_command_prints_the_script(commands, capsys):
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == script("bash", commands)


OLD_AND_NEW = {
    "submit 01.ipynb --dry-run": "validate 01.ipynb",
    "submit 01.ipynb": "validate 01.ipynb --to hand-in/",
    "submit 01.ipynb --to copy.ipynb": "validate 01.ipynb --to copy.ipynb",
    "author build 01": "generate-assignment 01",
    "fetch --list": "download-data --list",
    "release 01": "release-assignment 01",
    "save 03": "package 03",
    "use reference 03": "package 03 --from reference",
    "use mine 03 --json": "package 03 --from mine --json",
    "feedback moodle --assignment 01": "release-feedback --lms moodle --assignment 01",
    "export --assignment 01 canvas": "export --to canvas --assignment 01",
    "verify ada 01": "regrade 01 --student ada",
    "verify --course-root x ada 01": "regrade --course-root x 01 --student ada",
    "regrade --write --budget 9": "regrade --apply --time-limit 9",
    "grade x --hand-in last --budget=9": "grade x --attempts latest --time-limit=9",
    "grade x --hand-in=best --scheduler tcp://a": "grade x --attempts=best --dask tcp://a",
}


@pytest.mark.parametrize("old", OLD_AND_NEW)
def test_an_old_name_is_said_in_its_new_words_and_means_the_same(old):
    new, said = modern(old.split())
    assert new == OLD_AND_NEW[old].split()
    assert said == f"course: `course {old}` is now `course {OLD_AND_NEW[old]}`"
    build_parser(new[0]).parse_args(new)


@pytest.mark.parametrize("new", OLD_AND_NEW.values())
def test_a_new_name_is_left_as_it_is(new):
    assert modern(new.split()) == (new.split(), "")


def test_what_goes_back_is_for_the_platform_that_the_submissions_came_from(tmp_path, monkeypatch):
    def rows(*entries):
        made = [(SimpleNamespace(entry=entry), None) for entry in entries]
        monkeypatch.setattr("autograder.classroom.grade_class.records", lambda *_: (None, made))

    moodle = "Ada L_123456_assignsubmission_file_/01-static-embeddings.ipynb"
    rows(f"download/{moodle.partition('/')[0]}", "bo")
    assert platform_of(tmp_path, "01-static-embeddings") == "moodle"
    rows("lovelaceada_LATE_102_9002_01-static-embeddings-1.ipynb")
    assert platform_of(tmp_path, "01-static-embeddings") == "canvas"
    rows("ada", "bo")
    with pytest.raises(CourseError, match="give --lms canvas or --lms moodle"):
        platform_of(tmp_path, "01-static-embeddings")


def test_a_notebook_that_was_begun_is_never_written_over(tmp_path, capsys):
    assert main(["start", "12", "--to", str(tmp_path / "work")]) == 0
    path = tmp_path / "work" / "12-llama.ipynb"
    path.write_text("mine")
    assert main(["start", "12", "--to", str(tmp_path / "work")]) == 2
    assert "was left as it is" in capsys.readouterr().err
    assert path.read_text() == "mine"
