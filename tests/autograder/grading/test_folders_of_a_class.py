"""A slip in a path becomes no folder: what only reads wants its class to be there, and what writes
makes one folder and says so.
"""

import shutil

import pytest

from course.cli import main

NAME, FIRST = "90-stand-in", "01-static-embeddings"
READING = [
    ["report"],
    ["export", "gradescope"],
    ["feedback", "folders"],
    ["similar", "90"],
    ["verify", "ada", "90"],
    ["due", "90"],
    ["regrade", "90"],
    ["due", "90", "--date", "2026-03-01"],
    ["report", "--db", "sqlite"],
    ["due", "90", "--db", "sqlite"],
]


@pytest.fixture(scope="module")
def graded(graded_class):
    return graded_class("ada", "bo")


@pytest.fixture
def place(graded, tmp_path):
    shutil.copytree(graded / "root", tmp_path / "klasse")
    return tmp_path


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.sandbox
@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_command_that_reads_refuses_a_class_that_is_not_there_and_names_one_that_may_be_meant(
    place, words, capsys
):
    before = names(place)
    assert main([*words, "--course-root", str(place / "klass")]) == 2
    said = capsys.readouterr().err
    assert (
        f"{place / 'klass'}: there is no such course root; did you mean {place / 'klasse'}?" in said
        and names(place) == before
    )


@pytest.mark.sandbox
def test_dates_are_not_read_out_of_a_folder_that_is_no_course_root(place, capsys):
    (place / "home").mkdir()
    assert main(["due", "90", "--course-root", str(place / "home")]) == 2
    assert (
        f"{place / 'home'} is no course root" in capsys.readouterr().err
        and names(place / "home") == []
    )


@pytest.mark.sandbox
def test_the_first_date_of_a_new_class_makes_its_folder_and_says_so(
    stand_in, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["due", "90", "--date", "2026-03-01 12:00"]) == 0
    said = capsys.readouterr()
    assert (
        "made       class: a new course root" in said.err
        and "2026-03-01 12:00 UTC" in said.out
        and (tmp_path / "class").is_dir()
    )


@pytest.mark.sandbox
@pytest.mark.parametrize("command", ["grade", "collect"])
def test_a_new_class_is_made_and_said_once_and_not_below_a_folder_that_is_missing(
    graded, tmp_path, command, capsys
):
    new = tmp_path / "class of 2026"
    for run in (1, 2):
        assert (
            main(
                [
                    command,
                    str(graded / "in"),
                    "--assignment",
                    "90",
                    "--course-root",
                    str(new),
                    "--json",
                ]
            )
            == 0
        )
        assert (f"made       {new}: a new course root" in capsys.readouterr().err) == (run == 1)
    assert (
        main(
            [
                command,
                str(graded / "in"),
                "--assignment",
                "90",
                "--course-root",
                str(tmp_path / "clas" / "2026"),
            ]
        )
        == 2
    )
    assert (
        f"there is no folder {tmp_path / 'clas'}" in capsys.readouterr().err
        and not (tmp_path / "clas").exists()
    )


WRITING = [
    (["export", "moodle", "--assignment", "90", "--out"], "x.csv"),
    (["export", "gradescope", "--assignment", "90", "--out"], ""),
    (["feedback", "folders", "--assignment", "90", "--out"], "x.zip"),
    (["report", "--assignment", "90", "--report"], ""),
    (["similar", "90", "--report"], ""),
    (["grade", "--assignment", "90", "--report"], ""),
]


@pytest.mark.sandbox
@pytest.mark.parametrize(("words", "file"), WRITING, ids=[" ".join(words) for words, _ in WRITING])
def test_one_missing_folder_is_made_and_said_and_two_are_refused_by_name(
    place, words, file, capsys
):
    root = ["--course-root", str(place / "klasse")]
    assert main([*words, str(place / "out" / "deep" / file), *root]) == 2
    said = capsys.readouterr().err
    assert (
        f"{words[-1]} {place / 'out' / 'deep' / file}: there is no folder {place / 'out'}" in said
        and not (place / "out").exists()
    )
    assert main([*words, str(place / "out" / file), *root]) in (0, 1)
    assert (
        f"made       {place / 'out'}: a new folder" in capsys.readouterr().err
        and (place / "out").is_dir()
    )
    main([*words, str(place / "out" / file), *root])
    assert "made" not in capsys.readouterr().err


@pytest.mark.sandbox
def test_a_regrade_that_writes_nothing_makes_no_folder_and_refuses_a_path_all_the_same(
    place, capsys
):
    root = ["--course-root", str(place / "klasse")]
    assert (
        main(["regrade", "90", "--report", str(place / "out" / "deep"), *root]) == 2
        and f"there is no folder {place / 'out'}" in capsys.readouterr().err
    )
    assert main(["regrade", "90", "--report", str(place / "out"), *root]) == 0
    assert "made" not in capsys.readouterr().err and not (place / "out").exists()


def test_a_release_is_not_written_below_a_folder_that_is_missing(tmp_path, capsys):
    assert main(["release", "01", "--out", str(tmp_path / "no" / "deep" / "01.zip")]) == 2
    assert (
        f"there is no folder {tmp_path / 'no'}" in capsys.readouterr().err and names(tmp_path) == []
    )
    assert (
        main(["release", "01", "--with-reference", "--out", str(tmp_path / "out" / "01.zip")]) == 0
    )
    assert f"made       {tmp_path / 'out'}: a new folder" in capsys.readouterr().err and names(
        tmp_path
    ) == ["out", "out/01.zip"]


@pytest.mark.parametrize(
    "words",
    [
        ["IN"],
        ["--regrade"],
        ["--assignment", "02"],
        ["--dask", "tcp://127.0.0.1:1"],
        ["--backend", "process"],
        ["--cold"],
        ["--time-limit", "90"],
    ],
    ids=" ".join,
)
def test_what_the_sample_class_would_pass_over_is_refused_beside_it(tmp_path, words, capsys):
    assert main(["grade", *words, "--sample", "--course-root", str(tmp_path / "root")]) == 2
    assert (
        f"leave out {' '.join(words)}, or leave out --sample" in capsys.readouterr().err
        and names(tmp_path) == []
    )


def test_a_column_is_canvas_own(tmp_path, capsys):
    assert main(["export", "moodle", "--column", "Week (7)", "--course-root", str(tmp_path)]) == 2
    assert "only Canvas" in capsys.readouterr().err


@pytest.mark.sandbox
def test_what_is_written_of_one_assignment_is_not_written_over_by_another(
    graded, place, notebook_of, capsys
):
    """Two assignments through every command; only the table of the last one and the page over all
    are shared.
    """
    from autograder.authoring.student_notebook import Notebook
    from autograder.grading.assignment import load_assignment

    root, shared = place / "klasse", {"report/grades.csv", "report/index.html"}

    def everything(number):
        main(["grade", "--assignment", number, "--course-root", str(root)])
        for words in (
            ["export", "canvas"],
            ["export", "moodle"],
            ["export", "gradescope"],
            ["feedback", "canvas"],
            ["feedback", "moodle"],
            ["feedback", "folders"],
        ):
            main([*words, "--assignment", number, "--course-root", str(root)])
        main(["similar", number, "--course-root", str(root)])
        main(["regrade", number, "--apply", "--course-root", str(root)])

    def files():
        return {
            name: (root / name).read_bytes()
            for folder in (
                "report",
                "feedback",
                "verdicts",
                "autograded",
                "submitted",
                "source",
                "release",
            )
            for name in (f"{folder}/{one}" for one in names(root / folder))
            if (root / name).is_file() and name not in shared
        }

    everything("90")
    first = files()
    for student in ("ada", "bo"):
        path = root / "submitted" / student / FIRST / f"{FIRST}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(Notebook(load_assignment("01")).data())
    everything("01")
    assert {name for name, data in first.items() if files().get(name) != data} == set()
    assert {
        f"report/{kind}{FIRST}{ending}"
        for kind, ending in (
            ("", ".csv"),
            ("", ".html"),
            ("canvas-", ".csv"),
            ("feedback-moodle-", ".zip"),
            ("", "-similar.html"),
        )
    } <= set(files())
