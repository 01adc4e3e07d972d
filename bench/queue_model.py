"""How long a large class takes on many machines: a simulated queue with measured times, checked
against a real run.

The real run is a scheduler of Dask and four workers on this machine, honest notebooks of chapter 1,
`course grade`'s own way through them. From it come the seconds of each submission in its worker, of
a worker until it is ready, and of the one writer for a verdict (journal, gradebook, the next
submission handed out). The simulation is then asked for the same run, and for classes and numbers
of workers that are not here.

    python bench/queue_model.py [--students 16] [--workers 4]
"""

import argparse
import heapq
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from grading import put
from record import save

from autograder.authoring.student_notebook import Notebook
from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import prepare_course_root
from autograder.grading.assignment import load_assignment
from autograder.grading.executors.dask import DaskExecutor

CLASS = 100_000
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


def simulate(
    count: int,
    workers: int,
    seconds: Sequence[float],
    ready: Sequence[float],
    writer: Sequence[float],
    seed: int = 0,
) -> float:
    """Seconds until the last of `count` submissions is written; a discrete-event simulation.

    seconds, ready, writer: measured values to draw from, of a submission in its worker, of a
    worker's start, of the writer for one verdict. The writer takes answers one at a time in the
    order of their arrival, hands the next submission to the worker that answered, and then writes.
    """
    draw = random.Random(seed)
    events = [
        (draw.choice(ready), worker) for worker in range(min(workers, count))
    ]  # (moment, worker): it wants to be heard
    heapq.heapify(events)
    handed_out, written, free, judged = 0, 0, 0.0, set()
    while written < count:
        moment, worker = heapq.heappop(events)
        now = max(moment, free)
        answered = worker in judged
        if handed_out < count:
            handed_out += 1
            judged.add(worker)
            heapq.heappush(events, (now + draw.choice(seconds), worker))
        if answered:
            free, written = now + draw.choice(writer), written + 1
    return free


class Watched:
    """A crew that notes when workers are ready, what each submission takes, and what the writer
    takes for a verdict.
    """

    def __init__(self, crew: DaskExecutor):
        self._crew, self.name = crew, crew.name
        self.ready, self.seconds, self.writer, self.begun = [], [], [], 0.0

    def begin(self, *anything: object) -> None:
        self.begun = time.perf_counter()
        self._crew.begin(*anything)

    def busy(self) -> bool:
        return self._crew.busy()

    def hand_out(self, todo: object) -> None:
        self._crew.hand_out(todo)
        at_work = len(self._crew._sent)
        self.ready += [time.perf_counter() - self.begun] * max(0, at_work - len(self.ready))

    def answers(self) -> object:
        for submission, verdict in self._crew.answers():
            self.seconds.append(verdict.seconds)
            begun = time.perf_counter()
            yield submission, verdict
            self.writer.append(time.perf_counter() - begun)

    def close(self) -> None:
        self.taken = time.perf_counter() - self.begun
        self._crew.close()


def measure(students: int, workers: int) -> Watched:
    """Grade honest notebooks on `workers` workers here."""
    assignment, dask = load_assignment("01"), [sys.executable, "-m", "dask"]
    with tempfile.TemporaryDirectory(prefix="w2s-queue-") as folder:
        root, submitted, file = (
            Path(folder, "course"),
            Path(folder, "submitted"),
            Path(folder, "scheduler.json"),
        )
        prepare_course_root(root, assignment)
        for number in range(students):
            notebook = Notebook(assignment).solve()
            notebook.cell("ppmi").source += f"\n# student {number}"
            put(submitted, number, assignment.name, notebook.data().decode())
        running = [
            subprocess.Popen(
                [
                    *dask,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    str(file),
                ],
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
        ]
        try:
            while not file.exists():
                time.sleep(0.05)
            address = json.loads(file.read_text())["address"]
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "course.cli", "worker", address, "--jobs", str(workers)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                )
            )
            watched = Watched(DaskExecutor(address))
            summary = grade_class(submitted, "01", root, root / "report", crew=watched)
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()
    if summary.people:
        raise SystemExit(f"{summary.people} of {students} wait for a person: nothing was measured")
    return watched


def main() -> None:
    """Measure, check the simulation against the run that was measured, and simulate what is not
    here.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--students", type=int, default=16)
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    seen = measure(args.students, args.workers)
    again = [
        simulate(args.students, args.workers, seen.seconds, seen.ready, seen.writer, seed)
        for seed in range(200)
    ]
    large = [
        {
            "workers": workers,
            "hours": round(
                simulate(CLASS, workers, seen.seconds, seen.ready, seen.writer) / 3600, 3
            ),
        }
        for workers in WORKERS
    ]
    save(
        "queue_model",
        versions=("torch", "distributed", "nbgrader"),
        students=args.students,
        workers=args.workers,
        measured_seconds=round(seen.taken, 2),
        simulated_seconds=round(statistics.median(again), 2),
        simulated_between=[round(value, 2) for value in (min(again), max(again))],
        seconds_a_submission=round(statistics.mean(seen.seconds), 3),
        seconds_until_ready=round(statistics.mean(seen.ready), 2),
        seconds_of_the_writer=round(statistics.mean(seen.writer), 4),
        submissions=CLASS,
        simulated=large,
    )


if __name__ == "__main__":
    main()
