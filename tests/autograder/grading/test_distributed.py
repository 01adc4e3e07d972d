"""Grading on other machines: a real scheduler of Dask and real workers on the loopback address,
some of which die.
"""

import contextlib
import copy
import hashlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.common.errors import CourseError, MachineError
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import course_secret
from autograder.grading.executors import messages
from autograder.grading.executors.dask import DaskExecutor
from autograder.grading.executors.local import grade_all
from autograder.grading.intake.discovery import Submission
from autograder.grading.seeds import Seeds
from course.cli import main
from tests.autograder.grading import stored

pytestmark = pytest.mark.sandbox
HERE = Path(__file__).parent
STAND_IN = "90-stand-in"
RIGHT = "def double(x):\n    return x + x"
HANDED_IN = {
    "ada": RIGHT,
    "bo": "def double(x):\n    return x + abs(x)",
    "eve": (
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\ndef double(x):\n    os.kill(-1,"
        " signal.SIGKILL)"
    ),
    "fay": "def double(x):\n    raise ValueError(x)",
    "gil": f"# hold\n{RIGHT}",
    "hal": "print('{\"verdict\": {}}')\ndef double(x):\n    return 2 * x",
}


@pytest.fixture(scope="module")
def handed_in(stand_in, notebook_of, tmp_path_factory):
    """A class of eight in which one is held while it is judged, one is hostile, one is no zip, one
    is something else.
    """
    folder = tmp_path_factory.mktemp("handed-in")
    for student, source in HANDED_IN.items():
        put(folder / student / STAND_IN / f"{STAND_IN}.ipynb", notebook_of(source))
    put(folder / "cy.zip", b"PK no zip")
    put(
        folder / "dee" / STAND_IN / f"{STAND_IN}.ipynb",
        json.dumps({"nbformat": 4, "cells": []}).encode(),
    )
    return folder


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.fixture(scope="module")
def here(handed_in, new_root, tmp_path_factory):
    """The same class graded by processes of this machine."""
    root = rooted(new_root, tmp_path_factory.mktemp("here"))
    return root, grade_class(handed_in, "90", root, root / "report")


def rooted(new_root, folder):
    """A course root with the secret that all of these tests share."""
    root = new_root(folder / "course")
    (root / SECRET_FILE).write_bytes(b"one secret for both ways to judge")
    (root / SECRET_FILE).chmod(0o600)
    return root


class Dask:
    """A scheduler and workers, real processes on the loopback address."""

    def __init__(self, folder, stand_in_folder):
        self.folder, self.stand_in, self.workers, self.started = folder, stand_in_folder, {}, []
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
        )
        wait_for(file.exists)
        self.address = json.loads(file.read_text())["address"]

    def _start(self, name, *arguments, **environment):
        log = (self.folder / f"{name}-{len(self.started)}.log").open("wb")
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", name, *arguments, "--no-dashboard"],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ
                | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
                | {"STAND_IN_FOLDER": str(self.stand_in), "PYTHONPATH": str(HERE.parents[2])}
                | environment,
            )
        )
        return self.started[-1]

    def worker(self, *arguments, **environment):
        """Start one more."""
        process = self._start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--memory-limit",
            "0",
            "--preload",
            "tests.autograder.grading.stand_in_worker",
            *arguments,
            **environment,
        )
        self.workers[process.pid] = process

    def with_workers(self, count):
        """The same with at least so many workers: those that live, and new ones."""
        while len(self.workers) < count:
            self.worker()
        return self

    def end_who_judges(self, times):
        """Wait until a worker of ours judges the one that is held, and kill it; so many times, then
        nobody is held any more.
        """
        for _ in range(times):
            wait_for(lambda: self._at_it())
            process = self.workers.pop(self._at_it()[0])
            process.kill()
            process.wait()
        (self.stand_in / "hold").unlink()

    def _at_it(self):
        began = [int(path.name.removeprefix("began-")) for path in self.stand_in.glob("began-*")]
        return [pid for pid in began if pid in self.workers]

    def close(self):
        """End what still runs."""
        for process in self.started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def dask(stand_in_folder, tmp_path_factory):
    """The scheduler that most of the tests share."""
    made = Dask(tmp_path_factory.mktemp("dask"), stand_in_folder)
    yield made
    made.close()


@contextlib.contextmanager
def killing(dask, times):
    """While the block runs, those who judge the one that is held are killed."""
    (dask.stand_in / "hold").touch()
    thread = threading.Thread(target=dask.end_who_judges, args=(times,), daemon=True)
    thread.start()
    yield
    thread.join()
    began = list(dask.stand_in.glob("began-*"))
    assert len(began) == (2 if times == 1 else times)  # it began anew on another worker
    for path in began:
        path.unlink()


def wait_for(condition):
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def rows(root):
    """Every score of the gradebook."""
    with open_gradebook(course_config(root)) as gradebook:
        return {
            (submission.student.id, grade.name): (
                grade.auto_score,
                grade.manual_score,
                grade.needs_manual_grade,
            )
            for submission in gradebook.assignment_submissions(STAND_IN)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def verdicts(root):
    """Every record but for what judging took."""
    return {
        student: json.loads(record) | {"seconds": 0, "memory": 0}
        for student, record in stored.records(root, STAND_IN).items()
    }


def test_four_workers_give_the_gradebook_of_this_machine_though_one_is_killed_while_it_judges(
    here, handed_in, dask, new_root, tmp_path
):
    root, said = rooted(new_root, tmp_path), []
    with killing(dask.with_workers(4), times=1):
        grade_class(
            handed_in,
            "90",
            root,
            tmp_path / "report",
            crew=DaskExecutor(dask.address, note=said.append),
        )
    assert len(dask.workers) == 3  # and Dask gave the submission to another worker
    assert not [line for line in said if not line.startswith("waiting for a worker")]
    assert rows(root) == rows(here[0]) and verdicts(root) == verdicts(here[0])
    assert {student: one["fault"] for student, one in verdicts(root).items()} == dict.fromkeys(
        [*HANDED_IN, "cy", "dee"], False
    )


def test_a_submission_over_which_two_workers_die_waits_for_a_human_and_the_rest_is_graded(
    handed_in, dask, stand_in, new_root, tmp_path
):
    wanted = [
        Submission(student, handed_in / student / STAND_IN / f"{STAND_IN}.ipynb")
        for student in ("gil", "ada")
    ]
    with killing(dask.with_workers(3), times=2):
        batch = grade_all(
            wanted, stand_in, rooted(new_root, tmp_path), crew=DaskExecutor(dask.address)
        )
    ada, gil = batch.verdicts["ada"], batch.verdicts["gil"]
    assert ada.readable and not ada.fault and len(dask.workers) == 1
    assert gil.fault and "Every worker that was given" in gil.human[0]["reason"]


@pytest.mark.long
def test_the_budget_of_the_command_holds_on_its_workers(
    dask, stand_in, notebook_of, new_root, tmp_path
):
    put(
        tmp_path / "ada.ipynb",
        notebook_of("import time\ndef double(x):\n    time.sleep(0.6)\n    return x + x"),
    )
    dask.with_workers(1)
    root, ada = rooted(new_root, tmp_path), Submission("ada", tmp_path / "ada.ipynb")
    short, long = (
        grade_all([ada], stand_in, root, crew=DaskExecutor(dask.address, budget=budget)).verdicts[
            "ada"
        ]
        for budget in (1.0, 60.0)
    )
    assert (
        "The 1 seconds that one submission may use did not suffice" in short.waits("90.double")
        and not short.fault
    )
    assert long.human == [] and long.results[0]["earned"] == 3


def test_a_scheduler_that_goes_away_is_said_and_a_rerun_with_another_completes(
    here, handed_in, dask, stand_in_folder, new_root, tmp_path, capfd
):
    root, address = rooted(new_root, tmp_path), dask.with_workers(1).address

    def kill_the_scheduler(done, total, verdict):
        if verdict.readable:
            dask.scheduler.kill()
            dask.scheduler.wait()

    with pytest.raises(
        MachineError, match=f"the Dask scheduler at {address} is lost. What was graded is kept"
    ):
        grade_class(
            handed_in,
            "90",
            root,
            tmp_path / "report",
            progress=kill_the_scheduler,
            crew=DaskExecutor(address),
        )
    kept = verdicts(root)
    assert 1 <= len(kept) < len(verdicts(here[0]))
    with contextlib.closing(Dask(tmp_path, stand_in_folder)) as other:
        other.worker()
        assert (
            main(
                [
                    "grade",
                    str(handed_in),
                    "--assignment",
                    "90",
                    "--course-root",
                    str(root),
                    "--scheduler",
                    other.address,
                ]
            )
            == 1
        )
    assert f"({len(kept)} unchanged)" in capfd.readouterr().out
    assert rows(root) == rows(here[0]) and verdicts(root) == verdicts(here[0])


def test_a_worker_with_other_checks_refuses_and_another_one_grades(
    handed_in, stand_in, stand_in_folder, new_root, tmp_path
):
    root = rooted(new_root, tmp_path)
    ada = Submission("ada", handed_in / "ada" / STAND_IN / f"{STAND_IN}.ipynb")
    with contextlib.closing(Dask(tmp_path, stand_in_folder)) as dask:
        dask.worker(OTHER_CHECKS="1")
        said = r"checks is f+ here and \w+ at the command.*same commit"
        with pytest.raises(MachineError, match=f"no worker at {dask.address} can grade.*{said}"):
            grade_class(handed_in, "90", root, tmp_path / "report", crew=DaskExecutor(dask.address))
        assert not [one for one in verdicts(root).values() if one["results"]]
        dask.worker()
        notes, crew = [], DaskExecutor(dask.address, note=lambda text: notes.append(text))
        wait_for(lambda: len(workers_of(dask.address)) == 2)
        verdict = grade_all([ada], stand_in, root, regrade=True, crew=crew).verdicts["ada"]
    assert verdict.results[0]["earned"] == 3 and not verdict.fault


def workers_of(address):
    """The workers that a scheduler knows."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return client.ncores()


def test_no_scheduler_is_said_with_the_remedy(handed_in, stand_in, new_root, tmp_path):
    root = rooted(new_root, tmp_path)
    with pytest.raises(
        MachineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1 .*`dask scheduler`"
    ):
        grade_class(
            handed_in, "90", root, tmp_path / "report", crew=DaskExecutor("tcp://127.0.0.1:1")
        )


def test_without_the_package_the_remedy_is_said(monkeypatch):
    monkeypatch.setattr("autograder.grading.executors.dask.find_spec", lambda name: None)
    with pytest.raises(
        CourseError, match=r"`distributed`, which is not installed here: .*\[cluster\]"
    ):
        DaskExecutor("tcp://127.0.0.1:1")
    with pytest.raises(CourseError, match="with isolation or not at all"):
        monkeypatch.undo() or DaskExecutor("tcp://127.0.0.1:1", "process")


@pytest.fixture
def parcel(stand_in, here, notebook_of, tmp_path):
    """A submission on its way, and what an honest worker sends back."""
    source = tmp_path / "ada.ipynb"
    source.write_bytes(notebook_of(HANDED_IN["bo"]))
    secret = course_secret(here[0])
    made = messages.packed(
        Submission("Ada Lovelace", source, name="Ada Lovelace", lms_id="9002"),
        Seeds.drawn(stand_in, "Ada Lovelace", secret),
    )
    token = made.sent.student
    record = verdicts(here[0])["bo"] | {
        "student": token,
        "name": token,
        "seed_ids": made.sent.seeds.ids,
    }
    return made, record, secret


def test_a_request_names_nobody_and_does_not_hold_the_secret(parcel, stand_in):
    made, _, secret = parcel
    terms = messages.terms(stand_in, "bubblewrap", False, 60.0)
    text = messages.request(terms, made.sent).decode()
    assert not [
        word
        for word in ("Ada", "Lovelace", "9002", "ada.ipynb", secret.hex(), repr(secret)[2:-1])
        if word in text
    ]
    assert messages.unpacked(json.loads(text)["task"]) == made.sent
    assert hashlib.sha256(made.sent.content).hexdigest() not in made.sent.student


def test_an_answer_to_what_was_sent_is_taken_and_the_student_put_back(parcel, stand_in):
    made, record, _ = parcel
    verdict = messages.opened(record, made, stand_in, "bubblewrap")
    assert (verdict.student, verdict.name, verdict.lms_id) == (
        "Ada Lovelace",
        "Ada Lovelace",
        "9002",
    )
    assert verdict.results == record["results"] and verdict.source == made.submission.identity()


def test_large_outputs_are_not_sent_and_the_verdict_is_about_what_was_handed_in(
    parcel, stand_in, notebook_of, tmp_path
):
    _, record, secret = parcel
    document = json.loads(notebook_of(HANDED_IN["bo"]))
    document["cells"][1]["outputs"] = [{"data": {"image/png": "A" * 30 * 2**20}}]
    whole, source = json.dumps(document).encode(), tmp_path / "ada.ipynb"
    source.write_bytes(whole)
    made = messages.packed(Submission("Ada", source), Seeds.drawn(stand_in, "Ada", secret))
    digest = hashlib.sha256(made.sent.content).hexdigest()
    assert len(made.sent.content) < 2_000
    record |= {"student": made.sent.student, "seed_ids": made.sent.seeds.ids, "submission": digest}
    verdict = messages.opened(record, made, stand_in, "bubblewrap")
    assert verdict.submission == hashlib.sha256(whole).hexdigest()


def stage(**changes):
    return lambda one: one["results"][0]["stages"][0].update(changes)


TAMPERED = {
    "another student's": lambda one: one.update(student="bo"),
    "another assignment's": lambda one: one.update(assignment="01-static-embeddings"),
    "other checks'": lambda one: one.update(checks="0" * 64),
    "other seeds'": lambda one: one["seed_ids"].update({"90.double": "0"}),
    "no isolation": lambda one: one.update(tier="process"),
    "more points than there are": stage(earned=5, points=5),
    "a sum of its own": lambda one: one["results"][0].update(earned=3.0),
    "not a number": lambda one: one["results"][0].update(earned=math.nan),
    "a test twice": lambda one: one["results"][0]["stages"].append(one["results"][0]["stages"][0]),
    "no results": lambda one: one.update(results=[]),
    "points for what cannot be read": lambda one: one.update(
        human=[{"exercise": None, "reason": "x"}]
    ),
    "a text for a number": stage(earned="1"),
    "another field": lambda one: one.update(more=1),
    "no dictionary": lambda one: one.clear(),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_an_answer_to_anything_else_is_refused(parcel, stand_in, how):
    made, record, _ = parcel
    changed = copy.deepcopy(record)
    TAMPERED[how](changed)
    with pytest.raises(messages.BadAnswer):
        messages.opened(changed, made, stand_in, "bubblewrap")
