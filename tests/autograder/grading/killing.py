"""A run of the grader that is killed as a machine kills it: at once, with its workers and their
sandboxes.
"""

import os
import pkgutil
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import prepare_course_root
from autograder.classroom.reports.run_summary import Summary
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import Assignment
from tests.autograder.grading.derived import everything

# A kill may come before each of these, and so between any two writes.
STEPS = (
    "os.replace",
    "shutil.rmtree",
    "nbconvert.writers.FilesWriter.write",
    "sqlalchemy.orm.Session.commit",
    "os.unlink",
)


class Disturbed:
    """A small class that is graded from a new course root again and again, and what its first,
    undisturbed run leaves (`wanted`).
    """

    def __init__(
        self,
        books: object,
        folder: Path,
        assignment: Assignment,
        handed_in: dict[str, bytes],
        jobs: int = 1,
    ):
        self.books, self.folder, self.jobs, self.number = books, folder, jobs, assignment.number
        self.root, self.report, self.start = folder / "course", folder / "report", folder / "start"
        for student, notebook in handed_in.items():
            path = folder / "in" / student / assignment.name / f"{assignment.name}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(notebook)
        books.new(self.start)
        prepare_course_root(self.start, assignment)
        (self.start / SECRET_FILE).write_bytes(b"the same hidden inputs each time")
        (self.start / SECRET_FILE).chmod(0o600)
        self.reset()
        self.run()
        self.wanted = self.found()

    def run(self) -> Summary:
        """`course grade`, in this process."""
        return grade_class(self.folder / "in", self.number, self.root, self.report, self.jobs)

    def reset(self) -> None:
        """The course root and the gradebook as they were before the first run."""
        for place in (self.root, self.report):
            shutil.rmtree(place, ignore_errors=True)
        self.books.copy(self.start, self.root)

    def found(self) -> dict:
        """What a run has left."""
        return everything(self.root, self.report)


def killed_run(
    run: Callable[[], object], kill_before: str | None = None, after: float | None = None
) -> list[str]:
    """`run()` in a fork that is killed: before the step of this label, or after so many seconds.

    Returns the labels met.

    Every process that the fork has started ends with it, and this returns when they are gone.
    Raises RuntimeError if `run` raised or the fork ended otherwise than by that kill.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            os.close(read)
            for step in STEPS:
                _mark(step, kill_before, write)
            run()
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    process = psutil.Process(child)
    if after is not None:
        time.sleep(after)  # the moment is what was asked for
        _kill(process)
    status = _ended(process, stop=kill_before is not None)
    with os.fdopen(read) as file:
        labels = list(dict.fromkeys(file.read().split("\n")[:-1]))
    if status not in ((0,) if kill_before is None and after is None else (0, -signal.SIGKILL)):
        raise RuntimeError(f"the run ended with {status}, after {labels[-1:]}")
    return labels


def _kill(process: psutil.Process) -> None:
    """SIGKILL to a process, its group and all that they have started, also in other sessions."""
    try:
        process.suspend()  # it starts nothing more while we look
        family = [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return
    for one in family:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family[:-1], timeout=60)


def _ended(process: psutil.Process, stop: bool) -> int:
    """Wait for the end; one that stops itself (stop) is killed there, with its family."""
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED if stop else 0)
        if os.WIFSTOPPED(status):
            _kill(process)
            continue
        return os.waitstatus_to_exitcode(status)


def _mark(step: str, kill_before: str | None, write: int) -> None:
    """Have a function write its label, and stop this process, to be killed, where the label is
    `kill_before`.
    """
    owner, name = step.rsplit(".", 1)
    owner = pkgutil.resolve_name(owner)
    function, main = getattr(owner, name), os.getpid()

    def marked(*args: object, **kwargs: object) -> object:
        target = (
            args[-1]
            if step == "os.replace"
            else args[0]
            if step.startswith(("os", "shutil"))
            else ""
        )
        label = f"{step} {Path(str(target)).name}"
        if step.startswith("sqlalchemy"):
            label += str(sys._getframe(1).f_code.co_name)
        if ".case-" not in label and os.getpid() == main:
            os.write(write, f"{label}\n".encode())
            if label == kill_before:
                os.kill(os.getpid(), signal.SIGSTOP)
        return function(*args, **kwargs)

    setattr(owner, name, marked)


def kind_of(label: str) -> tuple[str, str]:
    """The function, and which kind of file it is about: two pages are written in the same way."""
    step, _, target = label.partition(" ")
    return step, Path(target).suffix or target
