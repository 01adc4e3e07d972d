"""A worker that hangs, dies, floods or is left alone: what the student's checks see of it, and what
is left behind.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
QUICK = Limits(call_seconds=1.0, cell_seconds=1.0)


def answer(student, name):
    """The value of a call, or the kind of its error."""
    try:
        return student.call(name).value
    except StudentError as error:
        return error.kind


DEADLY = (
    "import os, signal, time\ndef ok(): return 1\ndef dies(): os._exit(3)\ndef hangs():"
    " time.sleep(600)\ndef crashes(): os.kill(os.getpid(), signal.SIGSEGV); import ctypes;"
    " ctypes.string_at(0)\ndef closes():\n    os.closerange(3, 100)\n    time.sleep(600)\n"
)


@pytest.mark.parametrize(
    "name, kind, says",
    [
        ("dies", "killed", "exit status 3"),
        ("hangs", "time", "more than 1 seconds"),
        ("crashes", "killed", "SIGSEGV"),
        ("closes", "killed", "closed its pipe"),
    ],
)
def test_a_death_costs_one_call_and_the_next_stage_lives(name, kind, says):
    with open_student([Cell("a", DEADLY)], limits=QUICK, warm=()) as student:
        with pytest.raises(StudentError, match=says) as caught:
            student.call(name)
        assert caught.value.kind == kind
        student.new_stage()
        assert student.ok() == 1 and student.calls[0].name == "ok"


def test_a_cell_that_hangs_is_skipped_by_name_and_the_others_run():
    cells = [
        Cell("a", "def a(): return 1"),
        Cell("slow", "import time; time.sleep(600)"),
        Cell("b", "def b(): return 2"),
        Cell("deadly", "import os; os._exit(1)"),
    ]
    with open_student(cells, limits=QUICK, warm=()) as student:
        assert [(error.grade_id, error.kind) for error in student.cell_errors] == [
            ("slow", "time"),
            ("deadly", "killed"),
        ]
        assert student.a() + student.b() == 3


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="only Linux keeps a process on one processor"
)
def test_the_time_that_a_call_waits_for_a_processor_is_not_its_own(monkeypatch):
    monkeypatch.setattr(
        "autograder.sandbox.monitor.process.PATIENCE", 120
    )  # however busy this machine is
    code = (
        "import time\ndef works():\n    while time.process_time() < 0.8: pass\n    return 1\ndef"
        " hangs(): time.sleep(600)"
    )
    before, neighbour = os.sched_getaffinity(0), None
    try:
        os.sched_setaffinity(0, {min(before)})  # what is started from here shares one processor
        neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        with open_student([Cell("a", code)], limits=QUICK, warm=()) as student:
            assert student.works() == 1
            with pytest.raises(StudentError, match="more than 1 seconds"):
                student.hangs()
    finally:
        os.sched_setaffinity(0, before)
        if neighbour:
            neighbour.kill()
            neighbour.wait()


def test_after_too_many_deaths_nothing_more_is_started():
    with open_student([Cell("a", DEADLY)], limits=replace(QUICK, restarts=1), warm=()) as student:
        for _ in range(2):
            with pytest.raises(StudentError, match="was stopped"):
                student.dies()
        with pytest.raises(StudentError, match="not called any more") as caught:
            student.ok()
        assert caught.value.kind == "killed" and student._process is None


def test_the_time_for_everything_ends_a_student_that_is_always_just_in_time():
    with open_student(
        [Cell("a", "import time\ndef nap(): time.sleep(0.4)")],
        limits=replace(QUICK, total_seconds=2.0),
        warm=(),
    ) as student:
        outcomes = [answer(student, "nap") for _ in range(12)]
    assert outcomes[0] is None and outcomes[-1] == "time" and len(set(map(str, outcomes))) == 2


def test_the_time_our_own_function_takes_counts_for_the_call():
    with open_student(
        [Cell("a", "def calls(f): return f(0.01) + f(9.0)")], limits=QUICK, warm=()
    ) as student:
        with pytest.raises(StudentError, match="more than 1 seconds") as caught:
            student.call("calls", lambda seconds: time.sleep(seconds) or 1)
        assert caught.value.kind == "time"
        student.new_stage()
        assert student.call("calls", lambda seconds: 1).value == 2


def test_what_our_own_function_allocates_is_bounded_whatever_sizes_a_student_passes():
    import torch

    code = (
        "import torch\ndef wide(f): return f(torch.ones(40_000, 1), torch.ones(1, 40_000))\ndef"
        " long(f): return f(torch.ones(9_000_000))\ndef many(f): return f(10**10)\ndef fine(f):"
        " return f(torch.ones(3))"
    )
    received = []
    with open_student([Cell("a", code)]) as student:
        for name, says in (
            ("wide", "1,600,000,000 numbers"),
            ("long", "9,000,000 numbers"),
            ("many", "memory"),
        ):
            with pytest.raises(StudentError, match=says) as caught:
                student.call(
                    name,
                    lambda *args: received.append(
                        torch.ones(args[0]) if type(args[0]) is int else args
                    ),
                )
            assert caught.value.kind in ("error", "memory")
        assert received == [] and torch.equal(student.fine(lambda x: 2 * x), torch.full((3,), 2.0))


def test_memory_is_watched_while_bytes_arrive():
    limits = replace(
        QUICK, call_seconds=30.0, cell_seconds=30.0, tree_memory=150 << 20, frame_bytes=1 << 40
    )
    flood = (
        "import os, struct, sys\ndef flood():\n    kept = bytearray(200 << 20)\n    for fd in"
        " map(int, os.listdir('/proc/self/fd')):\n        if fd > 2:\n            try:\n           "
        "     os.write(fd, struct.pack('<Q', 1 << 39))\n                while True: os.write(fd,"
        " bytes(4096))\n            except OSError: pass\n"
    )
    with open_student([Cell("a", flood)], limits=limits, warm=()) as student:
        assert answer(student, "flood") == "memory"


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_files_are_counted_wherever_one_can_write(place):
    code = (
        f"import time\ndef litter():\n    for i in range(900): open(f'{place}/{{i}}',"
        " 'w').close()\n    time.sleep(20)"
    )
    with (
        open_student(
            [Cell("a", code)], limits=replace(QUICK, call_seconds=25.0, files=500), warm=()
        ) as student,
        pytest.raises(StudentError, match="more than 500 files"),
    ):
        student.litter()


def test_calling_back_without_end_is_stopped():
    code = "def forever(f):\n    while True: f()"
    with open_student([Cell("a", code)], limits=Limits(callbacks=50), warm=()) as student:
        count = []
        with pytest.raises(StudentError, match="called back more than 50 times"):
            student.forever(lambda: count.append(1))
        assert len(count) <= 51


def test_memory_is_an_error_of_its_own_kind():
    with open_student([Cell("a", "def hog(): return len(bytearray(4 << 30))")], warm=()) as student:
        assert answer(student, "hog") == "memory"


HELD_OPEN = """
import sys, time
from autograder.sandbox import Cell, Limits, open_student
from autograder.sandbox.backends.stage import stage
cells = [Cell("a", "import ctypes, time\\ndef hang():\\n    libc = ctypes.CDLL(None)\\n"
                   "    libc.prctl(1, 0)\\n"
                   "    libc.prctl(15, b'MARK', 0, 0, 0)\\n    time.sleep(300)")]
with open_student(cells, limits=Limits(call_seconds=300), warm=()) as student:
    print(stage(), flush=True)
    student.hang()
"""


def marked(mark):
    return [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/comm")
        if path.exists() and path.read_text().strip() == mark
    ]


def wait_for(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_when_the_checker_is_killed_everything_inside_dies_with_it():
    mark = f"orphan{os.getpid()}"
    checker = subprocess.Popen(
        [sys.executable, "-c", HELD_OPEN.replace("MARK", mark)], stdout=subprocess.PIPE
    )
    folder = Path(checker.stdout.readline().decode().strip())
    assert folder.is_dir() and wait_for(lambda: marked(mark))
    checker.send_signal(signal.SIGKILL)
    checker.wait()
    assert wait_for(lambda: not marked(mark)) and wait_for(lambda: not folder.exists())
