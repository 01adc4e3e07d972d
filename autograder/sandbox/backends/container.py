"""A container per submission, for machines with docker or podman and without bubblewrap.

The image must have this Python's major and minor version with the packages of requirements.lock;
its name comes from W2S_SANDBOX_IMAGE. Nothing of the host is mounted but the stage, read-only. The
engine keeps the limits on memory and processes by control groups. Slower than bubblewrap: an engine
takes a few hundred milliseconds for an empty container.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from autograder.sandbox.api.limits import Limits
from autograder.sandbox.backends.base import ENVIRONMENT, Backend, Launch, worker_command

DEFAULT_IMAGE = "word2serve-sandbox"
INSIDE = "/course"


class ContainerBackend(Backend):
    """docker or podman, whichever answers."""

    name = "container"
    isolates = True
    tier = "container: the engine's walls, no network, limits from control groups and outside"

    def __init__(self, engine: str | None = None, image: str | None = None):
        self.engine = engine or next(
            (one for one in ("podman", "docker") if shutil.which(one)), None
        )
        self.image = image or os.environ.get("W2S_SANDBOX_IMAGE", DEFAULT_IMAGE)

    def unavailable(self) -> str | None:
        """None if the engine answers and has the image."""
        if self.engine is None:
            return "neither podman nor docker is installed."
        done = subprocess.run(
            [self.engine, "image", "inspect", self.image], capture_output=True, text=True
        )
        if done.returncode == 0:
            return None
        return (
            f"{self.engine} has no image {self.image!r} or does not answer"
            f" ({done.stderr.strip()[:120]}). Build an image with the packages of requirements.lock"
            " and name it in W2S_SANDBOX_IMAGE."
        )

    def launch(
        self, stage: Path, limits: Limits, warm: Sequence[str], read: int, write: int
    ) -> Launch:
        """`engine run` with the pipe as standard input and output: an engine passes no other
        descriptor on.
        """
        environment = [part for item in ENVIRONMENT.items() for part in ("--env", "=".join(item))]
        tmpfs = f"rw,nosuid,nodev,noexec,size={limits.tmp},mode=1777"
        name = f"word2serve-{secrets.token_hex(8)}"
        command = [
            self.engine,
            "run",
            "--rm",
            "--name",
            name,
            "--interactive",
            "--pull",
            "never",
            "--network",
            "none",
            "--read-only",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            "--user",
            "65534:65534",
            "--pids-limit",
            str(limits.processes),
            "--memory",
            str(limits.tree_memory),
            "--memory-swap",
            str(limits.tree_memory),
            "--ipc",
            "none",
            "--hostname",
            "sandbox",
            "--tmpfs",
            f"/tmp:{tmpfs}",
            "--workdir",
            "/tmp",
            "--volume",
            f"{stage}:{INSIDE}:ro",
            *environment,
            self.image,
            *worker_command(
                INSIDE,
                limits,
                warm,
                0,
                1,
                sites=[],
                count_processes=False,
                python=("python3", "-I", "-B"),
            ),
        ]  # the image's own packages need its site module
        # The engine itself needs its own environment: where its socket is, and whose it is.
        # Killing `run` only ends the messenger; the container is ended by name.
        return Launch(
            command, (), dict(os.environ), stop=(self.engine, "rm", "--force", name), stdio=True
        )
