"""The process that judges on a worker's machine: requests in by lines of JSON, answers out, one at
a time.

    python -m autograder.grading.executors.worker_process PARENT

It has one thread, as forking needs (see limited.py), and its own sandboxes; a worker of Dask, which
has many threads, starts it and asks it (elsewhere.py). It ends with its parent. First come the
terms: where this machine's course differs, it refuses.
"""

import json
import os
import sys
import traceback
from typing import BinaryIO

from autograder.common.errors import CourseError, MachineError
from autograder.grading.assignment import load_assignment
from autograder.grading.executors import messages as parcels
from autograder.grading.grade import grade_submission, sandboxes, undecided
from autograder.grading.known_notebooks import examine, refuse
from autograder.sandbox import choose_backend
from autograder.sandbox.monitor.lifetime import die_with

OTHER = (
    "This worker has another course than the command: {}. Bring both to the same commit and"
    " environment"
)
FAILED = "The grader failed while grading: {}; the traceback is in the log of the worker."


def main() -> None:
    """Answer until the input ends. What anything else prints goes to the log."""
    die_with(int(sys.argv[1]))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """One line in, one line out. The first request has the terms, the others a task."""

    def say(message: dict) -> None:
        answers.write(parcels.line(message))
        answers.flush()

    wanted = json.loads(requests.readline() or "null")
    if wanted is None:
        return
    try:
        assignment, backend = (
            load_assignment(wanted["assignment"]),
            choose_backend(wanted["isolation"], cold=wanted["cold"]),
        )
        differing = parcels.differences(
            wanted, parcels.terms(assignment, backend.name, wanted["cold"], wanted.get("budget"))
        )
    except CourseError as error:
        return say({"refused": str(error)})
    if differing:
        return say({"refused": OTHER.format("; ".join(differing))})
    assignment.load()
    with sandboxes(assignment, backend, wanted["budget"]) as pool:
        pool.prepare()
        try:
            refuse(assignment, examine(assignment, pool, wanted["budget"]))
        except CourseError as error:
            return say({"refused": str(error)})
        say({"ready": True})
        for request in requests:
            submission, seeds = parcels.unpacked(json.loads(request))
            try:
                verdict = grade_submission(
                    submission, assignment, seeds, pool, budget=wanted["budget"]
                )
            except MachineError as error:
                say({"machine": str(error)})
                continue
            except (
                Exception
            ) as error:  # a fault of ours costs this submission a look by a human, and nothing else
                traceback.print_exc()
                verdict = undecided(submission, assignment, FAILED.format(type(error).__name__))
            say({"verdict": verdict.to_json()})


if __name__ == "__main__":
    main()
