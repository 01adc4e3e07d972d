"""One `course` command in a process of its own, watched from outside: what it says and when, its
memory, and Ctrl-C at a chosen place.

It gets a session of its own, and the interrupt goes to the whole of it, as from a terminal: to the
command, its workers and their sandboxes.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
LINE = re.compile(
    r"(?:(?P<place>\d+)/(?P<places>\d+) (?P<assignment>\S+) +)?(?P<done>\d+) of (?P<total>\d+) "
    r" (?P<student>\S+) .*?"
    r" [\d.]+ s(?: +about (?P<left>[^,]*) left)?(?:,? +all in about (?P<whole>.*))?"
)
LOOK_EVERY = 1.0
GONE_WITHIN = 5.0
GROUPS = (Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup"))
PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
SHARE = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """A line of progress: when it came, and what it says.

    left, whole: the estimates in seconds, of the assignment's rest and of all; None where there is
    no rest.
    """

    at: float
    assignment: str
    done: int
    total: int
    student: str
    left: float | None
    whole: float | None


@dataclass
class Ran:
    """What one run did.

    stop: seconds from the interrupt to the end, None where none came before it. cpu: processor
    seconds of the command and all that it started, sandboxes too, where a control group may count
    them, else None.

    own_mib: the most that the command itself had resident; workers_mib: the most that all it had
    started had together, pages that several share counted once, and workers: how many processes
    those were. stayed: of its session, what was still there GONE_WITHIN seconds after its end.
    """

    code: int = 0
    seconds: float = 0.0
    stop: float | None = None
    cpu: float | None = None
    own_mib: float = 0.0
    workers_mib: float = 0.0
    workers: int = 0
    stayed: list[str] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    lines: list[tuple[float, str]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)


def course(*arguments: object, stop_at: int | None = None, delay: float = 0.0) -> Ran:
    """Run `course`; stop_at: send SIGINT so many seconds (`delay`) after so many lines of
    progress.
    """
    ran, group = Ran(), _group()
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "course.cli", *map(str, arguments)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    if group:
        (group / "cgroup.procs").write_text(str(process.pid))  # before it has started anything
    reached = threading.Event()

    def read() -> None:
        for line in process.stdout:
            ran.lines.append((time.monotonic() - begun, line.rstrip("\n")))
            if found := LINE.fullmatch(line.strip()):
                ran.told.append(
                    Told(
                        ran.lines[-1][0],
                        found["assignment"] or "",
                        int(found["done"]),
                        int(found["total"]),
                        found["student"],
                        seconds_said(found["left"]),
                        seconds_said(found["whole"]),
                    )
                )
                if len(ran.told) == stop_at:
                    reached.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while process.poll() is None and not reached.wait(LOOK_EVERY):
        _look(process.pid, ran)
    stopped = None
    if reached.is_set():
        time.sleep(delay)  # the moment is what was asked for
        if process.poll() is None:
            stopped = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
    process.wait()
    ended = time.monotonic()
    reader.join(timeout=10)
    code = (
        process.returncode
    )  # of an interrupt that meets its last moments it dies; a shell calls that 130, too
    ran.code, ran.seconds, ran.stop = (
        128 - code if code < 0 else code,
        ended - begun,
        ended - stopped if stopped is not None else None,
    )
    while (there := _of_session(process.pid)) and time.monotonic() < ended + GONE_WITHIN:
        time.sleep(0.1)
    if group:
        ran.cpu = _used(group)
        with contextlib.suppress(OSError):  # somebody is still in it
            group.rmdir()
    ran.stayed = [" ".join(one.info["cmdline"] or [one.info["name"]])[:200] for one in there]
    return ran


def seconds_said(said: str | None) -> float | None:
    """ "40 s", "3 min" or "2 h 10 min" in seconds."""
    if not said:
        return None
    numbers = re.findall(r"(\d+) (s|min|h)", said)
    return float(
        sum(int(number) * {"s": 1, "min": 60, "h": 3600}[unit] for number, unit in numbers)
    )


def _group() -> Path | None:
    """A fresh control group of the kernel's, which counts what its processes and all of theirs use;
    None where we may not have one.
    """
    for base in GROUPS:
        folder = base / f"w2s-{os.getpid()}-{time.monotonic_ns()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        with contextlib.suppress(OSError):
            _used(folder)
            return folder
        folder.rmdir()
    return None


def _used(group: Path) -> float:
    """Processor seconds; the older and the newer kind of group say it otherwise."""
    old = group / "cpuacct.usage"
    return (
        int(old.read_text()) / 1e9
        if old.exists()
        else int((group / "cpu.stat").read_text().split()[1]) / 1e6
    )


def _look(pid: int, ran: Ran) -> None:
    """Memory and load now; of a process that has just ended, what was seen before."""
    ran.load.append(os.getloadavg()[0])
    try:
        ran.own_mib = max(
            ran.own_mib, int(PEAK.search(Path(f"/proc/{pid}/status").read_text())[1]) / 1024
        )
        below = psutil.Process(pid).children(recursive=True)
    except (OSError, TypeError, psutil.Error):
        return
    shares = []
    for one in below:
        try:
            shares.append(
                int(SHARE.search(Path(f"/proc/{one.pid}/smaps_rollup").read_text())[1]) / 1024
            )
        except (OSError, TypeError):
            continue
    ran.workers_mib, ran.workers = max(ran.workers_mib, sum(shares)), max(ran.workers, len(shares))


def _of_session(leader: int) -> list[psutil.Process]:
    """The processes of a session that are there."""
    found = []
    for one in psutil.process_iter(["cmdline", "name"]):
        try:
            if os.getsid(one.pid) == leader:
                found.append(one)
        except OSError:
            continue
    return found
