"""A forked sandbox is as closed as one that was started: nothing passes from one submission to the
next, nothing is left.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, open_student
from autograder.sandbox.api.opening import WARM
from autograder.sandbox.backends.stage import stage
from autograder.sandbox.backends.warm import _ZYGOTES, WarmBackend, Zygote, end_all
from autograder.sandbox.monitor.process import Process
from autograder.sandbox.monitor.procfs import children, descendants

pytestmark = pytest.mark.sandbox
LEAVES = """
import builtins, gc, os, random, subprocess, sys, torch
open("/tmp/left", "w").write("x")
open("/dev/shm/left", "w").write("x")
torch.left = builtins.left = os.environ["LEFT"] = sys.left = "x"
torch.manual_seed(7); torch.set_default_dtype(torch.float64)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time
        while True: time.sleep(1)
    os._exit(0)
def done(): return True
"""
FINDS = """
import builtins, os, random, sys, torch
def found():
    return [os.listdir("/tmp"), os.listdir("/dev/shm"), hasattr(torch, "left"),
            hasattr(builtins, "left"), "LEFT" in os.environ, hasattr(sys, "left"),
            str(torch.get_default_dtype()),
            [int(name) for name in os.listdir("/proc") if name.isdigit()]]
def who(): return [os.getuid(), random.random(), float(torch.rand(()))]
"""


@pytest.fixture(autouse=True)
def zygotes_end():
    end_all()
    yield
    end_all()


def answer(backend, source, name):
    with open_student([Cell("a", source)], backend=backend) as student:
        assert student.cell_errors == []
        return getattr(student, name)()


def test_nothing_of_one_submission_is_found_by_the_next():
    backend = WarmBackend()
    before = answer(backend, FINDS, "found")
    assert answer(backend, LEAVES, "done")
    assert (
        answer(backend, FINDS, "found")
        == before
        == [[], [], False, False, False, False, "torch.float32", [1]]
    )
    assert len(_ZYGOTES) == 1  # it was one zygote that forked all three


def test_two_sandboxes_are_different_users_with_random_numbers_of_their_own():
    (first, *drawn), (second, *other) = (answer(WarmBackend(), FINDS, "who") for _ in range(2))
    assert not set(drawn) & set(other) and (first != second or os.geteuid() != 0)


def test_what_a_submission_leaves_running_ends_with_it():
    process = Process(WarmBackend(), stage(), Limits(), ())
    process.wait_until_ready()
    inside = children(process.pid)
    assert len(inside) == 1
    overseer = process.pid
    process.kill()
    stats = [Path(f"/proc/{pid}/stat") for pid in (overseer, *inside)]
    assert not [stat for stat in stats if stat.exists() and "Z" not in stat.read_text().split()[2]]


def test_a_crash_costs_the_call_and_the_next_fork_comes_from_the_same_zygote():
    source = "import ctypes\ndef crash(): ctypes.string_at(0)\ndef fine(): return 1"
    with open_student([Cell("a", source)], backend=WarmBackend()) as student:
        with pytest.raises(StudentError, match="SIGSEGV"):
            student.crash()
        student.new_stage()
        assert student.fine() == 1
    assert len(_ZYGOTES) == 1


def test_a_zygote_that_was_killed_is_replaced():
    backend = WarmBackend()
    assert answer(backend, FINDS, "found")
    (zygote,) = _ZYGOTES.values()
    zygote._child.kill()
    zygote._child.wait()
    assert answer(backend, FINDS, "found")
    assert list(_ZYGOTES.values()) != [zygote]


def test_forks_of_a_process_share_its_zygote_and_each_hears_its_own_answers():
    backend = WarmBackend()
    backend.share(stage(), Limits(), WARM)
    (zygote,) = _ZYGOTES.values()
    forks = []
    for number in range(3):
        fork = os.fork()
        if fork == 0:
            try:
                right = all(
                    answer(backend, f"def f(): return {number}", "f") == number for _ in range(3)
                )
                os._exit(0 if right and list(_ZYGOTES.values()) == [zygote] else 1)
            finally:
                os._exit(2)
        forks.append(fork)
    assert [os.waitpid(fork, 0)[1] for fork in forks] == [0, 0, 0]
    assert zygote._child.poll() is None and answer(backend, "def f(): return 3", "f") == 3


def test_a_fork_goes_on_with_a_zygote_of_its_own_when_the_shared_one_is_gone():
    backend = WarmBackend()
    backend.share(stage(), Limits(), WARM)
    (zygote,) = _ZYGOTES.values()
    zygote._child.kill()
    zygote._child.wait()
    fork = os.fork()
    if fork == 0:
        try:
            os._exit(
                0
                if answer(backend, "def f(): return 1", "f") == 1
                and list(_ZYGOTES.values()) != [zygote]
                else 1
            )
        finally:
            os._exit(2)
    assert os.waitpid(fork, 0)[1] == 0


def test_where_no_zygote_answers_the_sandbox_starts_cold(monkeypatch):
    def refuses(*arguments):
        raise OSError("no zygote here")

    monkeypatch.setattr(Zygote, "__init__", refuses)
    assert answer(WarmBackend(), FINDS, "found")[-1] != [
        1
    ]  # cold, there is bubblewrap's own process


WALLS = {
    "an own /proc": (
        '_call("mount", b"proc"',
        '_call("mount", b"x", b"/nowhere", b"proc", 0, None) or _call("mount", b"proc"',
    ),
    "the system-call filter": (
        '_call("prctl", PR_SET_SECCOMP',
        '(lambda *_: 0)("prctl", PR_SET_SECCOMP',
    ),
    "no capability to regain": (
        "while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:",
        "while number < 0:",
    ),
}


@pytest.mark.parametrize("wall", WALLS)
def test_a_fork_whose_walls_do_not_stand_never_serves(wall):
    file = (
        stage({"reference_impl.embeddings.counts": "another folder than the other tests have"})
        / "autograder"
        / "sandbox"
        / "inside"
        / "zygote.py"
    )
    text = file.read_text()
    broken = text.replace(*WALLS[wall])
    assert broken != text
    file.write_text(broken)
    try:
        with pytest.raises(OSError, match="could not put up its walls"):
            Zygote(file.parents[3], Limits(), ()).wait_until_ready(Limits())
    finally:
        file.write_text(text)


def test_a_zygote_ends_with_the_process_that_started_it():
    read, write = os.pipe()
    starter = os.fork()
    if starter == 0:
        backend = WarmBackend()
        process = Process(backend, stage(), Limits(), ())
        process.wait_until_ready()
        os.write(write, " ".join(map(str, descendants(os.getpid()))).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(starter, 0)
    pids = [int(pid) for pid in os.read(read, 1000).split()]
    for fd in (read, write):
        os.close(fd)
    until = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < until, "something of the sandbox lives on"
        time.sleep(0.05)
    assert len(pids) >= 3
