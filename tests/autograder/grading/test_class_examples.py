"""`course examples`: the examples of a class, read in the sandbox, of hostile students too."""

import json

import pytest

from autograder import course_layout
from autograder.authoring.solution_sources import reference_sources
from autograder.classroom.gradebook.course import CONFIG_FILE, CONFIG_TEXT
from autograder.classroom.reports.examples_column import examples_column
from autograder.grading.assignment import course_secret, load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.results_store import save_verdict
from course.cli import main

IMPORT = "from autograder.examples import examples\n"
RIGHT = (
    IMPORT
    + """examples("04.masks", [((torch.tensor([1]), 1, 1), torch.ones(1, 1, 1, 1).bool())])
WORDS[0]
"""
)
CELLS = {
    "ada": RIGHT,
    "bo": "x = 1",
    "hugo": IMPORT + 'examples("04.masks", [((torch.tensor([1]), 10**7, 10**7), torch.zeros(1))])',
    "ivan": IMPORT + 'examples("04.masks", [((object(),), 1)])',
    "kim": IMPORT + 'examples("04.masks", 7); examples("04.nothing", [])',
    "lou": IMPORT + 'examples("04.masks", [((1,), 1)] * 10**6)',
    "mal": IMPORT + "import os; os._exit(0)",
    "zoe": IMPORT + 'w2s_pairs = lambda id: __import__("os").kill(0, 9)\n' + RIGHT,
}


@pytest.fixture
def class_root(new_root, tmp_path):
    fourth = load_assignment("04")
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT)
    course_secret(root)
    results = [{"exercise": "04.masks", "points": 5.0, "earned": 3.0, "stages": []}]
    for name, cell in CELLS.items():
        verdict = Verdict(name, fourth.name, "", "", own=reference_sources(fourth))
        verdict.results, verdict.added = results, [("", cell)]
        save_verdict(root, verdict)
    return root


def test_each_student_gets_a_row_and_nobody_stops_another(class_root, capsys):
    main(["examples", "04", "--course-root", str(class_root), "--json"])
    out, err = capsys.readouterr()
    found = json.loads(out)
    rows = {one["student"]: one for one in found["rows"]}
    assert found["not_judged"] == {}, err
    ada = rows["ada"]
    assert (ada["examples"], ada["holding"], ada["points"]) == (1, 1, 3.0), err
    assert 0 < ada["caught"] < ada["mistakes"]
    assert "bo" not in rows
    assert (rows["hugo"]["holding"], rows["hugo"]["caught"]) == (0, 0)
    assert "cannot be read" in rows["ivan"]["reason"]
    assert "give a list" in rows["kim"]["reason"]
    assert "at most 20" in rows["lou"]["reason"]
    column = examples_column(class_root, load_assignment("04").name)
    assert column["ada"] == f"1 exercise: 1 of 1 hold, catch {ada['caught']} of {ada['mistakes']}"
    assert "bo" not in column
    assert main(["report", "--assignment", "04", "--course-root", str(class_root)]) == 0
    page = next((class_root / "report").glob("04-*.html")).read_text(encoding="utf-8")
    assert ">Examples</th>" in page and f"<td>{column['ada']}</td>" in page
    assert page.count("<td>none</td>") == 2  # bo, and mal whose cell ends its process
    assert "mal" not in rows and "cannot be read" in rows["zoe"]["reason"]


def test_a_damaged_file_of_examples_is_no_column(new_root, tmp_path):
    root = new_root(tmp_path / "root")
    assert examples_column(root, "04-a") is None
    path = course_layout.examples(root, "04-a")
    path.parent.mkdir(parents=True, exist_ok=True)
    for text in ("{", '[{"student": "ada"}]', "7", '["x"]'):
        path.write_text(text)
        assert examples_column(root, "04-a") is None
