"""`course viva --class`: a page for each student, and a key that no student's page shows."""

import csv
import json

from autograder.authoring.solution_sources import reference_sources
from autograder.checks.results import ExerciseResult
from autograder.classroom.gradebook.course import CONFIG_FILE, CONFIG_TEXT
from autograder.grading.assignment import course_secret, load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.results_store import save_verdict
from autograder.sandbox.api.student import MachineBusy
from autograder.viva import class_pages
from autograder.viva.ask import functions_of
from course.cli import main


def test_a_class_gets_pages_and_a_key_that_no_student_page_shows(new_root, tmp_path, capsys):
    first = load_assignment("01")
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT)
    course_secret(root)
    own = reference_sources(first)
    full = [
        ExerciseResult(one.id, one.points, one.points if number else 0.0).to_json()
        for number, one in enumerate(functions_of(first))
    ]
    for name in ("ada", "bo"):
        save_verdict(root, Verdict(name, first.name, "", "", results=full, own=own))
    where = ["--course-root", str(root), "--report", str(tmp_path / "pages")]
    code = main(["viva", "01", "--class", *where])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "ada: 15 questions on 5 functions with full points" in out
    pages = {path.name: path.read_text() for path in (tmp_path / "pages").glob("*.html")}
    assert set(pages) == {f"{first.name}-ada.html", f"{first.name}-bo.html", "key.html"}
    key = pages.pop("key.html")
    assert key.count("(right)") == 30 and "ada" in key and "bo" in key
    assert pages[f"{first.name}-ada.html"] != pages[f"{first.name}-bo.html"].replace("bo", "ada")
    for page in pages.values():
        assert "(right)" not in page and "<script" not in page
        assert functions_of(first)[0].id not in page, "it earned no points"
        assert "<strong>15.</strong>" in page, "the questions of a page are numbered through"
    ada, bo = csv.DictReader((tmp_path / "pages" / "answers.csv").read_text().split("\n"))
    assert f"Sheet {ada['sheet']}" in pages[f"{first.name}-ada.html"]
    right = json.loads((tmp_path / "pages" / "key.json").read_text())["ada"]["right"]
    rows = [
        "student,name,sheet,answers",
        f"ada,ada,{ada['sheet']},{right}",
        f"bo,bo,{bo['sheet']},{'-' * 15}",
    ]
    (tmp_path / "pages" / "answers.csv").write_text("\n".join(rows))
    assert main(["viva", "01", "--record", *where]) == 0
    out = capsys.readouterr().out
    assert "ada: 15 of 15 right" in out and "  bo: 0 of 15 right, p = 1.00" in out
    assert "a reason to talk, never a verdict" in out and "2 students in viva-01" in out


def test_a_student_whose_questions_fail_is_named_and_stops_nobody(
    new_root, tmp_path, capsys, monkeypatch
):
    first = load_assignment("01")
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT)
    course_secret(root)
    for name in ("ada", "bo"):
        save_verdict(root, Verdict(name, first.name, "", ""))

    def asked_of(_, verdict, *given):
        if verdict.student == "ada":
            raise MachineBusy("stopped")
        return []

    monkeypatch.setattr(class_pages, "asked_of", asked_of)
    where = ["--course-root", str(root), "--report", str(tmp_path / "pages")]
    assert main(["viva", "01", "--class", *where]) == 1
    out = capsys.readouterr().out
    assert "no page    ada" in out and "bo: 0 questions" in out
    assert (tmp_path / "pages" / f"{first.name}-bo.html").exists()
