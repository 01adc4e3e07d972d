"""How the grader's own processes start: as forks, or anew where a thread would make a fork hang."""

import os
import signal
import threading

import pytest

from autograder.authoring.student_notebook import Notebook
from autograder.grading.assignment import load_assignment
from autograder.grading.executors import local as schedule
from autograder.grading.intake.discovery import Submission
from autograder.sandbox import choose_backend

may_fork = schedule.may_fork  # as imported: the fixtures of this folder put another in its place


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
    assert {result["exercise"] for result in results} == {
        id for id, one in assignment.exercises.items() if one.stages
    }
    assert {stage["status"] for result in results for stage in result["stages"]} == {
        "not_attempted"
    }


@pytest.mark.sandbox
def test_a_ctrl_c_before_a_worker_ignores_it_does_not_end_it(
    stand_in, new_root, tmp_path, monkeypatch, capfd
):
    """On a busy machine a worker has only just started when others have judged already."""
    monkeypatch.setattr(
        "autograder.sandbox.monitor.lifetime.die_with",
        lambda parent: os.kill(os.getpid(), signal.SIGINT),
    )
    assignment, root = load_assignment("90"), new_root(tmp_path / "course")
    schedule.course_secret(root)
    worker = schedule._hire(assignment, root, choose_backend(), 60.0, [])
    worker.pipe.close()
    worker.process.join(60)
    assert worker.process.exitcode == 0 and "Traceback" not in capfd.readouterr().err
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
