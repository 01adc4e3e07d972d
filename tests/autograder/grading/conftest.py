"""The sample class, graded once for all tests of this folder, with traps that the hostile submissions aim at."""
import hashlib
import json
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.classroom.gradebook import prepare_course_root
from autograder.classroom.whole_class import Summary, grade_class
from autograder.grading.schedule import Batch, grade_all
from autograder.grading.submissions import find_submissions
from autograder.grading.verdict import SECRET_FILE, Assignment, Verdict, load_assignment
from course.sample_class import make_sample_class


@dataclass
class Graded:
    """What the tests look at."""

    folder: Path
    root: Path
    submitted: Path
    assignment: Assignment
    expected: dict
    batch: Batch
    summary: Summary
    canary: Path
    visitors: list
    files_before: dict
    files_after: dict

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return self.batch.verdicts


def fingerprints(folder: Path, *left_out: str) -> dict[str, str]:
    """Hash of every file below `folder`, but for some top-level names."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.relative_to(folder).parts[0] not in left_out}


@pytest.fixture(scope="session")
def graded(tmp_path_factory) -> Graded:
    """The whole sample class, graded in the sandbox with two jobs."""
    folder = tmp_path_factory.mktemp("class")
    root, canary, visitors = folder / "course", folder / "canary", []
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept_all, args=(listener, visitors), daemon=True).start()
    submitted = make_sample_class(folder / "sample", traps={
        "listener": str(listener.getsockname()[1]), "canary": str(canary), "course": str(root)})
    assignment = load_assignment("01")
    prepare_course_root(root, assignment)
    # Hidden inputs are drawn from it: with a fixed one, every run of the tests asks the same.
    (root / SECRET_FILE).write_bytes(b"the sample class's fixed secret.")
    (root / SECRET_FILE).chmod(0o600)
    before = fingerprints(root, "verdicts", ".course-secret")
    batch = grade_all(find_submissions(submitted, assignment.name), assignment, root, jobs=2)
    after = fingerprints(root, "verdicts", ".course-secret")
    summary = grade_class(submitted, "01", root, folder / "report", jobs=2)
    yield Graded(folder, root, submitted, assignment, json.loads((folder / "sample" / "expected.json").read_text()), batch,
                 summary, canary, visitors, before, after)
    listener.close()


def accept_all(listener: socket.socket, visitors: list) -> None:
    """Write down whoever connects, until the listener closes."""
    while True:
        try:
            connection, address = listener.accept()
        except OSError:
            return
        visitors.append(address)
        connection.close()
