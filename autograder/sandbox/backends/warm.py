"""bubblewrap's walls with torch imported once: each submission gets a fresh fork of a process that
has seen no student.

A cold start is almost all `import torch`. Here a zygote (zygote.py) stands inside bubblewrap's
walls, and forks a worker on request, behind walls of the same kind: own processes, mounts and
shared memory, another user, no capability, the same system-call filter. What a student does ends
with that fork. The cold backend is the reference: both pass the same attempts to escape and give
the same verdicts.

A zygote serves one set of withheld names, for the process that started it and for the forks of
that: torch is imported once, however many workers there are. Each request carries the socket for
its answer, so that none hears another's. A zygote that does not answer is replaced by one of the
worker's own; if that does not either, the sandbox starts cold.
"""

import atexit
import base64
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograder.sandbox.api.limits import Limits
from autograder.sandbox.backends import seccomp
from autograder.sandbox.backends.base import Child
from autograder.sandbox.backends.bubblewrap import FIRST_UID, BubblewrapBackend, around
from autograder.sandbox.backends.rootfs import STAGE, packages_inside, python_inside

SLOW = (
    "sandbox: warm sandboxes do not start here ({}), so each submission starts a cold one, which"
    " takes seconds longer"
)
MOST = 2  # zygotes that a process uses at a time, each as large as what it has imported


class WarmBackend(BubblewrapBackend):
    """Bubblewrap, with forks of a process that has imported what is slow to import."""

    def start(
        self, stage: Path, limits: Limits, warm: Sequence[str], read: int, write: int, errors: int
    ) -> tuple[Child, tuple[str, ...]]:
        """A worker forked from the zygote of this process or of the one that it was forked from;
        cold, where none answers.
        """
        key = (stage, tuple(warm))
        for _ in range(2):
            try:
                return self._zygote(stage, limits, warm).fork(limits, read, write, errors), ()
            except (OSError, EOFError, subprocess.TimeoutExpired):
                if key in _ZYGOTES:
                    _ZYGOTES.pop(key).end()
        return super().start(stage, limits, warm, read, write, errors)

    def share(self, stage: Path, limits: Limits, warm: Sequence[str], wait: bool = True) -> None:
        """Start the zygote that the forks of this process use, and wait for it.

        Where it does not start, that is said once, and each sandbox starts cold.
        """
        try:
            self._zygote(stage, limits, warm, wait)
        except (OSError, EOFError, subprocess.TimeoutExpired) as error:
            print(SLOW.format(error), file=sys.stderr, flush=True)

    def _zygote(
        self, stage: Path, limits: Limits, warm: Sequence[str], wait: bool = True
    ) -> "Zygote":
        key = (stage, tuple(warm))
        if key not in _ZYGOTES:
            while len(_ZYGOTES) >= MOST:
                _ZYGOTES.pop(next(iter(_ZYGOTES))).retire()
            _ZYGOTES[key] = Zygote(stage, limits, warm)
        if wait and not _ZYGOTES[key].ready:
            try:
                _ZYGOTES[key].wait_until_ready(limits)
            except BaseException:
                _ZYGOTES.pop(key)
                raise
        return _ZYGOTES[key]


class Zygote:
    """The process inside that forks workers, once it is ready.

    Raises OSError or EOFError where it does not answer.
    """

    def __init__(self, stage: Path, limits: Limits, warm: Sequence[str]):
        self._owner = os.getpid()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stderr = tempfile.TemporaryFile()  # what Python says when it cannot start
        config = {
            "control": theirs.fileno(),
            "path": [STAGE, *packages_inside()],
            "warm": list(warm),
        }
        command, data = around(stage, limits, extra_capabilities=("CAP_SYS_ADMIN", "CAP_SETPCAP"))
        command += [
            "--",
            python_inside(),
            "-I",
            "-S",
            "-B",
            f"{STAGE}/autograder/sandbox/inside/zygote.py",
            json.dumps(config),
        ]
        try:
            # It dies with the thread that starts it, so that must be one that lives on.
            self._child = subprocess.Popen(
                command,
                env={},
                pass_fds=(theirs.fileno(), *data),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                start_new_session=True,
            )
        finally:
            theirs.close()
            for fd in data:
                os.close(fd)
        self.ready = False

    def wait_until_ready(self, limits: Limits) -> None:
        """Wait until it has imported what it shares, and see one fork of it put up its walls.

        Where that fails it is ended.
        """
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            self._control.settimeout(limits.start_seconds)
            said = self._control.recv(200)
            if said != b"ready":
                raise OSError(
                    "the zygote did not start:"
                    f" {said.decode(errors='replace') or self._complaint()}"
                )
            self.ready = True
            if (
                self.fork(limits, nothing, nothing, nothing, only_try=True).wait(
                    limits.start_seconds
                )
                != 0
            ):
                raise OSError("a fork of the zygote could not put up its walls")
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.end()
            raise
        finally:
            os.close(nothing)

    def _complaint(self) -> str:
        """The last line of what the zygote wrote before it ended, or ""."""
        self._stderr.seek(0)
        lines = self._stderr.read(10_000).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def fork(
        self, limits: Limits, read: int, write: int, errors: int, only_try: bool = False
    ) -> "Forked":
        """A worker, behind its walls before it reads its first request; only_try: it ends there."""
        request = {
            "limits": limits.to_json(),
            "tmp": limits.tmp,
            "filter": base64.b64encode(seccomp.program()).decode(),
            "uid": FIRST_UID + secrets.randbelow(2**27) if os.geteuid() == 0 else None,
            "only_try": only_try,
        }
        if self._owner == os.getpid() and self._child.poll() is not None:
            raise EOFError("the zygote is gone")
        ending, theirs = os.pipe()
        hears, says = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with hears:
                try:
                    socket.send_fds(
                        self._control,
                        [json.dumps(request).encode()],
                        [read, write, errors, theirs, says.fileno()],
                    )
                finally:
                    os.close(theirs)
                    says.close()
                hears.settimeout(limits.start_seconds)
                said, descriptors, _, _ = socket.recv_fds(hears, 100, 1)
        except OSError:
            os.close(ending)
            raise
        if said != b"forked" or len(descriptors) != 1:
            os.close(ending)
            raise EOFError("the zygote is gone")
        return Forked(descriptors[0], ending)

    def retire(self) -> None:
        """Ask it for no more forks; it ends with the last of its workers, when nobody else can ask
        it either.
        """
        self._control.close()
        if self._owner == os.getpid():
            _RETIRED[:] = [one for one in (*_RETIRED, self._child) if one.poll() is None]

    def end(self) -> None:
        """End it and whatever it has forked; in a fork of the process that started it, only stop
        using it.
        """
        self.retire()
        if self._owner == os.getpid():
            self._child.kill()
            self._child.wait()


class Forked:
    """The overseer of a forked worker, as subprocess.Popen would show it."""

    def __init__(self, pidfd: int, ending: int):
        self._pidfd, self._ending, self._code = pidfd, ending, None
        self.pid = next(
            int(line.split()[1])
            for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
            if line.startswith("Pid:")
        )

    def wait(self, timeout: float | None = None) -> int:
        """How the worker ended: its exit status, or 128 and the signal's number; -9 if the overseer
        was killed.
        """
        if self._code is None:
            if not select.select([self._pidfd], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked worker", timeout)
            said = os.read(self._ending, 10)
            self._code = int(said) if said.isdigit() else -9
            os.close(self._ending)
            os.close(self._pidfd)
        return self._code


_ZYGOTES: dict[tuple, Zygote] = {}  # by stage and imports; a fork finds those of its parent here
_RETIRED: list[subprocess.Popen] = []


@atexit.register
def end_all() -> None:
    """End the zygotes of this process.

    The kernel would, a moment after our own end; then nobody waits for them.
    """
    while _ZYGOTES:
        _ZYGOTES.popitem()[1].end()
