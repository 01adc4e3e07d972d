"""How the grader's own processes start: as forks, or anew where a thread would make a fork hang."""
import threading

import pytest

from autograder.grading import schedule
from autograder.grading.assignment import load_assignment
from autograder.grading.submissions import Submission
from course.sample_class.handed_in import Notebook

may_fork = schedule.may_fork        # as imported: the fixtures of this folder put another in its place


def test_a_process_with_a_thread_at_work_is_not_forked():
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert not may_fork()
    finally:
        end.set()
        other.join()


@pytest.mark.sandbox
def test_a_worker_that_starts_anew_finds_the_checks_and_grades(tmp_path, monkeypatch):
    monkeypatch.setattr(schedule, "may_fork", lambda: False)
    notebook = tmp_path / "notebook.ipynb"
    notebook.write_bytes(Notebook(load_assignment("01")).data())
    assignment = load_assignment("01")
    batch = schedule.grade_all([Submission("ada", notebook)], assignment, tmp_path)
    results = batch.verdicts["ada"].results
    assert {result["exercise"] for result in results} == {id for id, one in assignment.exercises.items() if one.stages}
    assert {stage["status"] for result in results for stage in result["stages"]} == {"not_attempted"}
