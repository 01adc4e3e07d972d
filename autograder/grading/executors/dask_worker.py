"""What a Dask worker runs: `grade_there`, one submission at a time, in a local executor with one
process, which has its own limits and is replaced when it dies.
"""

import json
import multiprocessing
import os
import tempfile
import threading
from collections import deque
from pathlib import Path

from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from autograder.grading.executors import messages
from autograder.grading.executors.local import Here
from autograder.grading.grade import Verdict
from autograder.sandbox import choose_backend

OTHER = "it has another course than the command: {}. Bring both to the same commit and environment"
NANNY = (
    "its nanny started it as a daemon, which may have no child: start it with `course worker`, or"
    " set DASK_DISTRIBUTED__WORKER__DAEMON=False"
)

_ONE_AT_A_TIME = threading.Lock()
# Of this worker, at most one: the terms, its local executor, and that one's folder for logs.
_CREWS: list[tuple[dict, Here, tempfile.TemporaryDirectory]] = []


def grade_there(request: bytes) -> bytes:
    """Grade one submission on a worker; return JSON with a verdict, or why there is none."""
    from distributed import get_worker

    asked, answer = json.loads(request), {}
    with _ONE_AT_A_TIME:
        try:
            verdict = _graded(_crew(asked["terms"]), messages.unpacked(asked["task"]))
            answer = {"verdict": verdict.to_json()} if verdict else {"died": "its process died"}
        except CourseError as error:  # MachineError too: this machine cannot grade
            _let_go()
            answer = {"refused": str(error)}
        except BaseException:
            _let_go()  # it may be half begun
            raise
    answer["worker"] = get_worker().address
    return json.dumps(answer, allow_nan=False).encode()


def _graded(crew: Here, sent: messages.Sent) -> Verdict | None:
    """Return the result, or None when the process died; that of the known notebooks comes first."""
    crew.hand_out(deque([sent]))
    found = []
    while crew.busy():
        found += [verdict for _, verdict in crew.answers()]
    return found[0]


def _crew(wanted: dict) -> Here:
    """Return this worker's local executor, started for these terms. Raises CourseError."""
    if _CREWS and _CREWS[0][0] == wanted:
        return _CREWS[0][1]
    _let_go()
    if multiprocessing.current_process().daemon:
        raise CourseError(NANNY)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    assignment = load_assignment(wanted["assignment"])
    backend = choose_backend(wanted["isolation"], cold=wanted["cold"])
    mine = messages.terms(assignment, backend.name, wanted["cold"], wanted.get("budget"))
    if differing := messages.differences(wanted, mine):
        raise CourseError(OTHER.format("; ".join(differing)))
    crew = Here(1, backend, wanted["budget"])
    _CREWS.append((wanted, crew, tempfile.TemporaryDirectory(prefix="word2serve-worker-")))
    crew.begin(assignment, Path(_CREWS[0][2].name), 1)
    return crew


def _let_go() -> None:
    while _CREWS:
        _, crew, folder = _CREWS.pop()
        crew.close()
        folder.cleanup()
