"""What runs inside a worker of Dask: `serve`, which hands a request to the judging process beside
it.

The worker has many threads and Dask's own life; the judge (judge.py) has one thread and a sandbox
pool, is one process a worker, and is replaced when it dies, grows too large, is silent for too long
or is asked about another assignment. A request and an answer are bytes of JSON. Nothing here
raises: an exception would be pickled and put into Dask's logs.
"""

import json
import os
import select
import subprocess
import sys
import threading
import time

from autograder.grading.executors.local import LOOK_EVERY, WORKER_MEMORY, patience
from autograder.grading.executors.messages import MAX_ANSWER, line
from autograder.grading.grade import BUDGET_SECONDS
from autograder.sandbox.monitor.procfs import resident

JUDGE = [sys.executable, "-m", "autograder.grading.executors.worker_process"]


class Judge:
    """The judging process and the terms that it was started with."""

    def __init__(self, terms: dict):
        self.terms = terms
        self._process = subprocess.Popen(
            [*JUDGE, str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, request: dict) -> dict | None:
        """Its answer; None when it died, grew too large or was silent: then it is ended."""
        try:
            self._process.stdin.write(line(request))
            self._process.stdin.flush()
            return self._answer()
        except (OSError, ValueError):
            self.end()
            return None

    def _answer(self) -> dict | None:
        data, pipe, until = (
            bytearray(),
            self._process.stdout.fileno(),
            time.monotonic() + patience(self.terms.get("budget", BUDGET_SECONDS)),
        )
        while not data.endswith(b"\n"):
            heard = select.select([pipe], [], [], LOOK_EVERY)[0]
            piece = os.read(pipe, 1 << 20) if heard else b""
            data += piece
            if (
                heard
                and not piece
                or len(data) > MAX_ANSWER
                or time.monotonic() > until
                or resident(self._process.pid) > WORKER_MEMORY
            ):
                self.end()
                return None
        return json.loads(data)

    def end(self) -> None:
        """End it, whatever it is at; its sandboxes go with it."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


_ONE_AT_A_TIME = threading.Lock()
_JUDGES: list[Judge] = []  # the one of this worker, or none yet


def serve(request: bytes) -> bytes:
    """Answer a request, {"terms": ..., "task": ... or None}, as JSON.

    The answer is one of {"ready"}, {"refused": words}, {"machine": words}, {"died": words} and
    {"verdict": ...}.
    """
    with _ONE_AT_A_TIME:
        asked = json.loads(request)
        if _JUDGES and _JUDGES[0].terms != asked["terms"]:
            _JUDGES.pop().end()
        answer = {"ready": True}
        if not _JUDGES:
            judge = Judge(asked["terms"])
            answer = judge.ask(asked["terms"])
            if answer and "ready" in answer:
                _JUDGES.append(judge)
            elif answer:
                judge.end()
        if _JUDGES and asked["task"]:
            answer = _JUDGES[0].ask(asked["task"])
        if answer is None:
            _JUDGES.clear()
        return line(
            answer
            or {"died": "the judging process ended, grew too large or was silent for too long"}
        )
