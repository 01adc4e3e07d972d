"""The default walls: bubblewrap (https://github.com/containers/bubblewrap), set up so that it holds
for root too.

Inside there are Python, the installed packages, /usr and the stage (see stage.py), all read-only,
and a small /tmp in memory. There is no network, no other process, no environment, no capability,
and a filter on system calls.

Two ways in, because the obvious one is unsafe for root:

- An ordinary user gets a user namespace, in which the student is uid 65534 and the worker is
  process 1: bubblewrap's own helper would run as the same user without the filter, and its memory
  could be written through /proc.
- Root does not. In a user namespace made by root, "nobody" is still the machine's root as far as
  files are concerned: /proc/sys/kernel/core_pattern could be opened for writing, and the kernel
  does not count root's processes. So bubblewrap sets up the mounts as root and setpriv then really
  becomes a user that owns nothing, a fresh number for each sandbox, without capabilities and with
  no way back (no_new_privs).

Not held: a fault in the kernel itself; processor time, which only the clock ends; the size of
kernel objects (socket pairs, pipes), which only the number of open files and processes bounds; what
code can learn of the machine from /proc (its processor, memory and load) and from the packages,
which it must be able to read.
"""

import functools
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.common.errors import CourseError
from autograder.sandbox.api.limits import Limits
from autograder.sandbox.backends import seccomp
from autograder.sandbox.backends.base import ENVIRONMENT, Backend, Launch, worker_command
from autograder.sandbox.backends.rootfs import STAGE, binds, packages_inside, python_inside

NOBODY = 65534
FIRST_UID = (
    2_000_000_000  # far from any user that a machine has; the kernel keeps its accounts by number
)
INSTALL = (
    "Install it with `apt-get install bubblewrap` (Debian, Ubuntu) or `dnf install bubblewrap`"
    " (Fedora)."
)


class BubblewrapBackend(Backend):
    """Namespaces, an unprivileged user and a system-call filter."""

    name = "bubblewrap"
    isolates = True
    tier = (
        "full: own mounts, processes, network and user, a system-call filter, limits from the"
        " kernel and outside"
    )

    def unavailable(self) -> str | None:
        """None if a sandbox really starts here; otherwise what stands in the way."""
        return _probe()

    def launch(
        self, stage: Path, limits: Limits, warm: Sequence[str], read: int, write: int
    ) -> Launch:
        """bwrap, then setpriv if we are root, then the worker."""
        filter_fd = _pipe_with(seccomp.program())
        command, data = around(stage, limits)
        command += [
            "--seccomp",
            str(filter_fd),
            "--",
            *become_nobody(),
            *worker_command(
                STAGE,
                limits,
                warm,
                read,
                write,
                sites=packages_inside(),
                count_processes=True,
                python=(python_inside(), "-I", "-S", "-B"),
            ),
        ]
        fds = (filter_fd, *data)
        return Launch(command, (read, write, *fds), {}, close=fds)


def around(
    stage: Path, limits: Limits, extra_capabilities: Sequence[str] = ()
) -> tuple[list[str], tuple[int, ...]]:
    """bwrap's command up to what it is to start, and the file descriptors that it reads."""
    data = tuple(
        _pipe_with(f"student:x:{NOBODY}:{extra}\n".encode())
        for extra in (f"{NOBODY}::/tmp:/bin/false", "")
    )
    command = [*walls(limits, extra_capabilities), *binds(stage)]
    for descriptor, path in zip(data, ("/etc/passwd", "/etc/group")):
        command += ["--perms", "0444", "--ro-bind-data", str(descriptor), path]
    return [*command, "--remount-ro", "/"], data


def walls(limits: Limits, extra_capabilities: Sequence[str] = ()) -> list[str]:
    """The namespaces, /proc, /dev and the two places in memory that can be written to."""
    command = [
        _bwrap() or "bwrap",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
        "--new-session",
        "--die-with-parent",
        "--clearenv",
    ]
    for name, value in ENVIRONMENT.items():
        command += ["--setenv", name, value]
    if os.geteuid() == 0:
        command += ["--cap-drop", "ALL"]
        for capability in (
            "CAP_SETUID",
            "CAP_SETGID",
            "CAP_SETPCAP",
            *extra_capabilities,
        ):  # given up before student code
            command += ["--cap-add", capability]
    else:
        command += [
            "--unshare-user",
            "--uid",
            str(NOBODY),
            "--gid",
            str(NOBODY),
            "--cap-drop",
            "ALL",
            "--as-pid-1",
        ]
        command += [word for capability in extra_capabilities for word in ("--cap-add", capability)]
    return command + [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        # An uncapped tmpfs is half of the machine's memory, so /dev is closed and /dev/shm is
        # small.
        "--perms",
        "1777",
        "--size",
        str(limits.tmp),
        "--tmpfs",
        "/dev/shm",
        "--remount-ro",
        "/dev",
        "--perms",
        "1777",
        "--size",
        str(limits.tmp),
        "--tmpfs",
        "/tmp",
        "--chdir",
        "/tmp",
    ]


def become_nobody() -> list[str]:
    """For root: give up root for a number that nothing belongs to. For others: nothing to do."""
    if os.geteuid() != 0:
        return []
    uid = str(FIRST_UID + secrets.randbelow(2**27))
    return [
        "/usr/bin/setpriv",
        "--reuid",
        uid,
        "--regid",
        uid,
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--no-new-privs",
        "--",
    ]


def _pipe_with(data: bytes) -> int:
    """The reading end of a pipe that holds `data`, which must fit into its buffer of 64 KiB."""
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    return read


def _bwrap() -> str | None:
    return shutil.which("bwrap", path=os.environ.get("PATH", "") + ":/usr/bin:/bin")


@functools.cache
def _probe() -> str | None:
    """Start the smallest sandbox with the same walls, once per process."""
    if sys.platform != "linux":
        return (
            f"it needs Linux, this is {sys.platform}; grade other people's work on a Linux machine."
        )
    if _bwrap() is None:
        return f"bwrap is not installed. {INSTALL}"
    if os.geteuid() == 0 and not os.access("/usr/bin/setpriv", os.X_OK):
        return (
            "setpriv is missing, which root needs to become nobody. Install it with `apt-get"
            " install util-linux`."
        )
    try:
        filter_fd = _pipe_with(seccomp.program())
    except CourseError as error:
        return str(error)
    command = [
        *walls(Limits()),
        "--seccomp",
        str(filter_fd),
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
    ]
    for name in ("lib", "lib64"):
        if Path("/", name).is_dir():
            command += ["--ro-bind", f"/{name}", f"/{name}"]
    done = subprocess.run(
        [*command, "--", *become_nobody(), "/usr/bin/true"],
        env={},
        capture_output=True,
        text=True,
        pass_fds=(filter_fd,),
    )
    os.close(filter_fd)
    if done.returncode == 0:
        return None
    return (
        f"bwrap does not start here ({done.stderr.strip()[:200]}). Inside a container it needs "
        "`--security-opt seccomp=unconfined --cap-add SYS_ADMIN`; on Ubuntu 24.04 see "
        "`sysctl kernel.apparmor_restrict_unprivileged_userns`."
    )
