"""`--db`: what may be given, where it is written, what becomes of the old gradebook, and what is
said when it cannot be opened.
"""

import json
import sys

import pytest
from traitlets.config import Config

from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
)
from autograder.classroom.gradebook.database import complete, given, shown
from autograder.classroom.gradebook.migrate import with_url
from course.cli import main
from tests.autograder.grading.derived import rows, scores

NAME = "90-stand-in"
pytestmark = pytest.mark.sandbox


def test_plain_urls_get_the_driver_and_limits_on_waiting_and_what_people_set_stays():
    pytest.importorskip(
        "psycopg2",
        reason="no psycopg2: install word2serve[postgresql] to test the gradebook on PostgreSQL",
    )
    assert (
        given("postgres://ada@db/grades")
        == given("postgresql+psycopg2://ada@db/grades")
        == "postgresql://ada@db/grades"
    )
    url = complete("postgresql://ada@db/grades?connect_timeout=3")
    assert (
        url.startswith("postgresql+psycopg2://ada@db/grades?")
        and "connect_timeout=3" in url
        and "lock_timeout" in url
    )
    assert (
        shown(url) == "postgresql://ada@db/grades"
        and shown("sqlite:////x/gradebook.db") == "/x/gradebook.db"
    )
    assert (
        shown("postgresql://ada:hush@db/grades?password=hush&host=/run")
        == "postgresql://ada@db/grades?host=%2Frun"
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://db/grades", "takes no mysql://"),
        ("postgresql://ada@db", "names no database"),
        ("grades", "is no URL"),
        ("postgresql://ada:hush@db/grades", "~/.pgpass"),
        ("postgresql://db/grades?password=hush", "~/.pgpass"),
    ],
)
def test_what_is_no_database_or_holds_a_password_is_refused_and_the_password_is_not_repeated(
    url, said, tmp_path, capsys
):
    assert main(["grade", "--db", url, "--course-root", str(tmp_path / "class")]) == 2
    heard = capsys.readouterr()
    assert (
        said in heard.err
        and "hush" not in heard.out + heard.err
        and not (tmp_path / "class").exists()
    )


def test_a_missing_driver_is_said_with_the_remedy(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(
        sys.modules, "psycopg2", None
    )  # Python's own sign for a package that cannot be imported
    words = ["due", "01", "--course-root", str(tmp_path)]
    assert main([*words, "--db", "postgresql://ada@db/grades"]) == 2
    assert "pip install psycopg2-binary" in capsys.readouterr().err
    (tmp_path / CONFIG_FILE).write_text(with_url(CONFIG_TEXT, "postgresql://ada@db/grades"))
    assert main(words) == 2
    assert "pip install psycopg2-binary" in capsys.readouterr().err


def test_only_the_call_of_configure_is_written_and_your_lines_stay():
    mine = CONFIG_TEXT + '\n# mine: é\nc.Exchange.root = "/srv"\n'
    there = with_url(mine, "postgresql://ada@db/grades")
    assert there == mine.replace(
        "configure(c, Path(__file__).resolve().parent)",
        "configure(c, Path(__file__).resolve().parent, db_url='postgresql://ada@db/grades')",
    )
    assert with_url(there, "") == mine


@pytest.fixture
def graded(on_sqlite, stand_in, notebook_of, tmp_path, capsys):
    """A course root on SQLite in which Ada has points and a comment by hand; `course(...)` runs a
    command on it.
    """
    root = on_sqlite.new(tmp_path / "course")
    path = tmp_path / "in" / "ada" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of())

    def course(*words):
        code = main([*words, "--course-root", str(root)])
        return code, capsys.readouterr()

    assert course("grade", str(tmp_path / "in"), "--assignment", "90")[0] == 0
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "ada").manual_score = 1.5
        gradebook.find_comment("double", NAME, NAME, "ada").manual_comment = "Why twice?"
        gradebook.db.commit()
    return root, course


def held(root):
    with open_gradebook(course_config(root)) as gradebook:
        return rows(gradebook)


def test_a_gradebook_moves_with_everything_in_it_and_every_command_then_uses_the_new_one(
    graded, server, tmp_path
):
    root, course = graded
    server.create("grades")
    before = held(root)
    code, said = course("report", "--assignment", "90", "--db", server.url("grades"))
    assert code == 0 and "1 submissions copied from" in said.err
    assert (
        "db_url='postgresql://grader@/grades" in (root / CONFIG_FILE).read_text()
        and held(root) == before
    )
    (root / "gradebook.db").unlink()
    code, said = course("grade", str(tmp_path / "in"), "--assignment", "90")
    assert "gradebook  postgresql://grader@/grades" in said.out
    assert held(root) == before and not (root / "gradebook.db").exists()
    assert course("due", "90", "--date", "2026-03-01 12:00 UTC")[0] == 0
    assert course("feedback", "folders", "--assignment", "90")[0] == course("regrade", "90")[0] == 0
    before = held(root)
    assert course("report", "--assignment", "90", "--db", "sqlite")[0] == 0
    assert "db_url" not in (root / CONFIG_FILE).read_text().partition('"""\n')[2]
    assert held(root) == before and scores(root, NAME) == {"ada": {"double-check": (3, False)}}


def test_two_gradebooks_with_different_grades_are_never_mixed_and_a_move_that_was_cut_short_goes_on(
    graded, server, tmp_path
):
    root, course = graded
    server.create("grades")
    assert course("due", "90", "--db", server.url("grades"))[0] == 0
    config = (root / CONFIG_FILE).read_text()
    (root / CONFIG_FILE).write_text(
        with_url(config, "")
    )  # as when a kill came before the file was written
    assert (
        course("due", "90", "--db", server.url("grades"))[0] == 0
        and (root / CONFIG_FILE).read_text() == config
    )
    (root / CONFIG_FILE).write_text(with_url(config, ""))
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "ada").manual_score = 2
        gradebook.db.commit()
    before = held(root)
    code, said = course("due", "90", "--db", server.url("grades"))
    assert code == 2 and "holds other grades than" in said.err and held(root) == before
    assert course_config(root).CourseDirectory.db_url.startswith("sqlite")


def test_a_line_of_your_own_that_sets_the_database_is_named(graded, server):
    root, course = graded
    server.create("grades")
    text = (
        root / CONFIG_FILE
    ).read_text() + f"c.CourseDirectory.db_url = 'sqlite:///{root}/gradebook.db'\n"
    (root / CONFIG_FILE).write_text(text)
    code, said = course("due", "90", "--db", server.url("grades"))
    assert (
        code == 2
        and "in a line of its own" in said.err
        and (root / CONFIG_FILE).read_text() == text
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://grader@/grades?host=/nowhere", "Start the server"),
        ("postgresql://grader@127.0.0.1:1/grades", "Start the server"),
        ("postgresql://teacher@/postgres?host={folder}", "~/.pgpass"),
        ("postgresql://grader@/nothing?host={folder}", "createdb"),
    ],
)
def test_a_database_that_cannot_be_opened_is_said_with_the_remedy_and_nothing_changes(
    url, said, graded, server, monkeypatch
):
    root, course = graded
    server.execute("DROP ROLE IF EXISTS teacher", "CREATE ROLE teacher LOGIN PASSWORD 'right'")
    monkeypatch.setenv("PGPASSWORD", "hush-wrong")
    before = (root / CONFIG_FILE).read_text()
    code, heard = course("report", "--assignment", "90", "--db", url.format(folder=server.folder))
    assert (
        code == 2 and said in heard.err and "Traceback" not in heard.err and "hush" not in heard.err
    )
    assert (root / CONFIG_FILE).read_text() == before


def test_a_password_from_pgpass_is_used_and_stands_in_no_file_of_the_course(
    graded, server, tmp_path, monkeypatch
):
    root, course = graded
    server.create("grades")
    server.execute(
        "DROP ROLE IF EXISTS teacher",
        "CREATE ROLE teacher LOGIN PASSWORD 'right-one'",
        "ALTER DATABASE grades OWNER TO teacher",
    )
    (tmp_path / "pgpass").write_text("*:*:grades:teacher:right-one\n")
    (tmp_path / "pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    try:
        code, heard = course(
            "report", "--assignment", "90", "--db", server.url("grades", "teacher")
        )
        assert code == 0 and "right-one" not in heard.out + heard.err
        assert not [
            path for path in root.rglob("*") if path.is_file() and b"right-one" in path.read_bytes()
        ]
    finally:
        server.execute("DROP DATABASE grades WITH (FORCE)", "DROP ROLE teacher")


def test_nbgraders_own_commands_use_the_same_database(graded, server):
    from nbgrader.apps import NbGraderAPI

    root, course = graded
    server.create("grades")
    assert course("due", "90", "--db", server.url("grades"))[0] == 0
    api = NbGraderAPI(config=Config(course_config(root)))
    assert api.coursedir.db_url.startswith("postgresql+psycopg2://")
    with api.gradebook as gradebook:
        assert gradebook.find_grade("double-check", NAME, NAME, "ada").manual_score == 1.5
    code, said = course("export", "moodle", "--assignment", "90", "--json")
    assert json.loads(said.out)["students"] + len(json.loads(said.out)["left_out"]) == 1
