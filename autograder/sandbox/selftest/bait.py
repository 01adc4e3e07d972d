"""What a machine that grades has to lose, laid out as bait: secrets, a listener, a process, places
to write to.

Each escape leaves a trace that is seen from outside: the secret comes back, the listener gets a
visitor, the process is gone, the file is there, a process with our mark is still running. The
secret itself is never sent inside.
"""

import ctypes
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import autograder

REPOSITORY = Path(autograder.__file__).parents[1]
VARIABLE = "W2S_DOCTOR_SECRET"
SLEEPER = "import sys, time; time.sleep(600)"


class Bait:
    """`with Bait() as bait:` lays everything out and takes all of it away again."""

    def __enter__(self) -> "Bait":
        self.mark = "w2s" + secrets.token_hex(
            5
        )  # names things; may be known inside; fits in a process name
        self.secret = "secret-" + secrets.token_hex(16)  # must never come back
        self._memory = ctypes.create_string_buffer(self.secret.encode())
        self.canaries = []
        for folder in (
            REPOSITORY,
            REPOSITORY / "_build" / "course",
            Path.home(),
            Path(tempfile.gettempdir()),
        ):
            if folder.is_dir() and os.access(folder, os.W_OK):
                self.canaries.append(folder / f".{self.mark}-canary")
                self.canaries[-1].write_text(self.secret)
                self.canaries[-1].chmod(0o644)  # only the walls stand before it, not its mode
        self.targets = [canary.with_name(f".{self.mark}-written") for canary in self.canaries]
        os.environ[VARIABLE] = self.secret
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        if sys.platform == "linux":
            self.abstract.bind(f"\0{self.mark}")
            self.abstract.listen()
        self.leaked = os.open(self.canaries[0], os.O_RDONLY)
        os.set_inheritable(self.leaked, True)  # the classic slip: a descriptor that children get
        self._victim = None
        self.renew()
        return self

    def __exit__(self, *error: object) -> None:
        os.environ.pop(VARIABLE, None)
        os.close(self.leaked)
        self.listener.close()
        self.abstract.close()
        self._victim.kill()
        self._victim.wait()
        for path in (*self.canaries, *self.targets):
            path.unlink(missing_ok=True)

    def renew(self) -> None:
        """A fresh victim if the last one is gone."""
        if self._victim is None or self._victim.poll() is not None:
            self._victim = subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEPER, self.mark])

    def facts(self) -> dict:
        """What an attacker might know or guess about this machine."""
        return {
            "port": self.listener.getsockname()[1],
            "abstract": f"\0{self.mark}",
            "mark": self.mark,
            "canaries": list(map(str, self.canaries)),
            "targets": list(map(str, self.targets)),
            "victim": self._victim.pid,
            "checker": os.getpid(),
            "variable": VARIABLE,
            "address": ctypes.addressof(self._memory),
            "length": len(self.secret),
            "repository": str(REPOSITORY),
            "home": str(Path.home()),
        }

    def traces(self, said: str) -> list[str]:
        """What a finished attempt left behind, as sentences; everything found is cleared away."""
        found = []
        if self.secret in said:
            found.append("a secret of this machine came out")
        for server, name in ((self.listener, "on a port"), (self.abstract, "of this machine")):
            while sys.platform == "linux" and select.select([server], [], [], 0)[0]:
                server.accept()[0].close()
                found.append(f"the listener {name} was reached")
        for path in self.targets:
            if path.exists():
                path.unlink()
                found.append(f"{path} was written")
        if self._victim.poll() is not None:
            found.append("a process of this machine was killed")
        for pid in self._marked():
            found.append(f"process {pid} outlived its sandbox")
            os.kill(pid, signal.SIGKILL)
            while self.mark in _read(Path(f"/proc/{pid}/comm")):
                time.sleep(0.01)
        return found

    def _marked(self) -> list[int]:
        """Processes whose name is our mark."""
        names = {path: _read(path) for path in Path("/proc").glob("[0-9]*/comm")}
        return [int(path.parent.name) for path, name in names.items() if name.strip() == self.mark]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # it ended while we looked
